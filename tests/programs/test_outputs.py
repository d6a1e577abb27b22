# SPDX-License-Identifier: MIT
"""What becomes of outputs when something is in their way: another process, a link, an input of the same name, closed descriptors, an option
far too large. Needs the built programs (LEXFORMER_BIN) and Python's standard library."""
import fcntl
import os
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import BRANDS, KINDS, PROGRAM, Refusals, pairs, program, write


class Outputs(Refusals, unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = folder = Path(temporary.name)
        items = [f"{brand} {kind} {i}x{j}" for i, brand in enumerate(BRANDS) for j, kind in enumerate(KINDS)]
        self.a, self.b, self.out = folder / "a.csv", folder / "b.csv", folder / "m.csv"
        write(self.a, ("id", "name"), enumerate(items))
        write(self.b, ("id", "name"), enumerate(item.replace("camera", "camra") for item in items))

    def match(self, *more, out=None, **options):
        return program("match", self.a, self.b, "--out", out or self.out, "--quiet", *more, **options)

    def test_two_processes_with_one_output(self):
        part = self.folder / "m.csv.part"
        with open(part, "a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            for more in ((), ("--resume",), ("--overwrite",)):
                self.refused(2, self.match(*more), "m.csv.part: is in use by another process; wait for it, or name another output")
        self.assertFalse(self.out.exists())
        self.assertEqual(self.match().returncode, 0)
        whole = self.out.read_bytes()
        # Whichever comes first, the file is that of one run.
        runs = [subprocess.Popen([PROGRAM, "match", self.a, self.b, "--out", self.out, "--quiet", "--overwrite"], stderr=subprocess.DEVNULL) for _ in range(4)]
        codes = [run.wait() for run in runs]
        self.assertIn(0, codes)
        self.assertLessEqual(set(codes), {0, 2})
        self.assertEqual(self.out.read_bytes(), whole)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["a.csv", "b.csv", "m.csv"])

    def test_what_stands_in_the_place_of_the_output(self):
        part = self.folder / "m.csv.part"
        part.write_text("a file of the user")
        self.refused(2, self.match(), "m.csv.part: was not written by an interrupted run")
        self.assertEqual(part.read_text(), "a file of the user")
        part.unlink()
        other = self.folder / "other.csv"
        other.write_text("mine")
        part.symlink_to(other)
        self.refused(3, self.match(), "m.csv.part: is a link")
        self.assertEqual(other.read_text(), "mine")
        part.unlink()
        part.symlink_to(self.a)
        self.refused(2, self.match(), "m.csv.part is also an input")
        part.unlink()
        os.mkfifo(self.out)
        self.refused(3, self.match(), "m.csv: is not a regular file")
        self.out.unlink()
        # Permissions stay, and a link leads to the file that is written.
        self.out.write_text("old")
        self.out.chmod(0o600)
        (self.folder / "link.csv").symlink_to(self.out)
        self.assertEqual(self.match(out=self.folder / "link.csv").returncode, 0)
        self.assertTrue((self.folder / "link.csv").is_symlink())
        self.assertTrue(self.out.read_text().startswith("left_id,"))
        self.assertEqual(stat.S_IMODE(self.out.stat().st_mode), 0o600)
        # What a killed process left is removed.
        (self.folder / ".m.csv.part.json.tmp-1").write_text("{")
        self.assertEqual(self.match().returncode, 0)
        self.assertEqual([path.name for path in self.folder.glob(".m*")], [])

    def test_an_output_that_is_an_input_or_another_output(self):
        config = self.folder / "c.json"
        config.write_text('{"top": 1}')
        for arguments, other in ((("candidates", self.a, self.b, "--config", config, "--out", config), "c.json is also an input"),
                                 (("match", self.a, self.b, "--validation", self.folder / "m.csv.part", "--out", self.out), "m.csv.part is also an input"),
                                 (("match", self.a, self.b, "--validation", self.folder / "m.csv.part.json", "--out", self.out), "m.csv.part.json is also an input")):
            given = Path(str(arguments[-3]))
            if not given.exists():
                given.write_text("left_id,right_id,label\n0,0,1\n")
            before = given.read_bytes()
            self.refused(2, program(*arguments), "--out: ", other)
            self.assertEqual(given.read_bytes(), before)
            if given != config:
                given.unlink()
        (self.folder / "run").mkdir()
        for name in ("log.jsonl", "README.md", "all_results.json", "model.lxf"):
            train = self.folder / "run" / name
            train.write_text(pairs(9, 1))
            self.refused(2, program("train_matcher", "--model", "x.lxf", "--train", train, "--valid", train, "--out", self.folder / "run", "--overwrite"), f"--out: {train} is also an input")
            self.assertEqual(train.read_text(), pairs(9, 1))
        text = self.folder / "x.json"
        self.refused(2, program("evaluate", "--model", "x.lxf", "--test", self.a, "--valid", self.a, "--calibration", text, "--output", text), "x.json is also written by --")

    def test_two_processes_that_label(self):
        ask, labels = self.folder / "ask.csv", self.folder / "l.csv"
        write(ask, ("left_id", "right_id"), [(i, i) for i in range(4)])
        command = ("label", ask, "--left", self.a, "--right", self.b, "--out", labels)
        first = subprocess.Popen([PROGRAM, *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lock, deadline = self.folder / ".l.csv.lock", time.time() + 60
        while not (lock.exists() and lock.read_text()) and time.time() < deadline:
            time.sleep(0.01)
        self.refused(2, program(*command, text="n\n"), f"l.csv: is in use by process {first.pid}, since ")
        first.communicate(b"y\n" * 4)
        self.assertEqual(first.returncode, 0)
        self.assertFalse(lock.exists())
        wanted = "ltable_id,rtable_id,label\n" + "".join(f"{i},{i},1\n" for i in range(4))
        self.assertEqual(labels.read_text(), wanted)
        # As a spreadsheet saves the file: it is continued.
        some = wanted[: wanted.index("3,3")]
        for saved in (b"\xef\xbb\xbf" + some.encode(), some.replace("\n", "\r\n").encode(), b"\xef\xbb\xbfltable_id,rtable_id,label\r\n0,0,1"):
            labels.write_bytes(saved)
            self.assertEqual(program(*command, text="y\n" * 4).returncode, 0)
            self.assertEqual(labels.read_text(), wanted)

    def test_closed_descriptors(self):
        self.assertEqual(self.match().returncode, 0)
        whole = self.out.read_bytes()
        for closed in ("2>&-", "0<&-", "1>&-", "0<&- 1>&- 2>&-"):
            done = subprocess.run(["bash", "-c", f'"$0" match "$1" "$2" --out "$3" {closed}', PROGRAM, self.a, self.b, self.folder / "n.csv"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, closed)
            self.assertEqual((self.folder / "n.csv").read_bytes(), whole, closed)

    def test_more_candidates_than_records(self):
        self.assertEqual(self.match("--candidates", 24).returncode, 0)
        whole = self.out.read_bytes()
        for many in (25, 2**63, 2**64 - 1):
            self.assertEqual(self.match("--candidates", many).returncode, 0)
            self.assertEqual(self.out.read_bytes(), whole)


if __name__ == "__main__":
    unittest.main()
