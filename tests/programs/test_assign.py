# SPDX-License-Identifier: MIT
"""assign as a user runs it. Needs the built programs (LEXFORMER_BIN) and nothing but Python's standard library."""
import itertools
import random
import tempfile
import unittest
from pathlib import Path

from support import Refusals, program


class Assign(Refusals, unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def pairs(self, name, rows):
        path = self.folder / name
        path.write_text("left_id,right_id,score,match\n" + "".join(f'{left},"{right}",{score},{int(score != "much" and score >= 0.5)}\n' for left, right, score in rows))
        return path

    def test_one_to_one_over_shards(self):
        rng = random.Random(1)
        rows = [(f"a{i}", f"b, {j}", round(rng.random(), 6)) for i in range(5) for j in range(5) if rng.random() < 0.7]
        files = [self.pairs("one.csv", rows[::2]), self.pairs("two.csv", rows[1::2])]
        out = self.folder / "out.csv"
        done = program("assign", *files, "--one-to-one", "--threshold", 0.3, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        score = {(left, right): s for left, right, s in rows if s >= 0.3}
        best = max(sum(score.get((f"a{i}", f"b, {j}"), 0) for i, j in enumerate(order)) for order in itertools.permutations(range(5)))
        lines = out.read_text().splitlines()
        self.assertEqual(lines[0], "left_id,right_id,score,match")
        chosen = [(line.split(",")[0], line.split('"')[1], float(line.rsplit(",", 2)[1])) for line in lines[1:]]
        self.assertEqual(len({c[0] for c in chosen}), len(chosen))
        self.assertEqual(len({c[1] for c in chosen}), len(chosen))
        for left, right, s in chosen:
            self.assertEqual(score[left, right], s)
        self.assertAlmostEqual(sum(c[2] for c in chosen), best, places=5)

    def test_clusters(self):
        pairs = self.pairs("pairs.csv", [("x", "y", 0.9), ("y", "z", 0.6), ("u", "v", 0.2), ("z", "w", 0.8)])
        out = self.folder / "out.csv"
        for more, want in (((), {"x": 1, "y": 1, "z": 1, "w": 1, "u": 2, "v": 3}), (("--max-size", 2), {"x": 1, "y": 1, "z": 2, "w": 2, "u": 3, "v": 4})):
            done = program("assign", pairs, "--clusters", "--one-table", "--out", out, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = [line.split(",") for line in out.read_text().splitlines()]
            self.assertEqual(rows[0], ["id", "cluster"])
            self.assertEqual({name: int(c) for name, c in rows[1:]}, want)
        lines = self.folder / "pairs.jsonl"
        lines.write_text('{"left_id":"x","right_id":"y","score":0.3,"match":true}\n{"left_id":"x","right_id":"z","score":0.2,"match":false}\n')
        done = program("assign", lines, "--one-to-one", "--out", out)
        self.assertEqual((done.returncode, out.read_text()), (0, "left_id,right_id,score,match\nx,y,0.3,1\n"), done.stderr)
        done = program("assign", pairs, "--clusters", "--out", out)
        self.assertEqual(out.read_text().splitlines()[:3], ["table,id,cluster", "left,x,1", "left,y,2"])
        self.assertIn("right,y,1", out.read_text())

    def test_bad_input(self):
        pairs, out = self.pairs("pairs.csv", [("x", "y", "much")]), self.folder / "out.csv"
        self.refused(3, program("assign", pairs, "--one-to-one", "--out", out), "pairs.csv: line 2: score is 'much', expected a number")
        self.refused(2, program("assign", pairs, "--out", out), "assign: command line: nothing to do; give --one-to-one or --clusters")
        for threshold in ("nan", "inf"):
            self.refused(2, program("assign", pairs, "--one-to-one", "--out", out, "--threshold", threshold), f"--threshold: must be finite, got {threshold}")
        self.refused(3, program("assign", pairs, "--one-to-one", "--out", self.folder / "no" / "out.csv"), "out.csv: cannot be written: there is no folder")
        self.refused(2, program("assign", pairs, "--one-to-one", "--out", self.folder / "out.txt"), "--out", ".csv")
        self.refused(2, program("assign", pairs, "--one-to-one", "--out", pairs), "--out")
        self.refused(3, program("assign", self.folder / "none.csv", "--clusters", "--out", out), "none.csv: cannot be opened: No such file or directory")
        (self.folder / "other.csv").write_text("left,right\na,b\n")
        self.refused(3, program("assign", self.folder / "other.csv", "--clusters", "--out", out), "other.csv", "left_id")
        scored = self.folder / "scored.csv"
        for text in ("left_id,right_id,score\na,b,0.5\n", "left_id,right_id,score,matched\na,b,0.5,1\n"):
            scored.write_text(text)
            self.refused(3, program("assign", scored, "--one-to-one", "--out", out), "scored.csv: line 1: there is no column 'match' among", "; give --threshold")
        lines = self.folder / "scored.jsonl"
        lines.write_text('{"left_id":"a","right_id":"b","score":0.5}\n')
        self.refused(3, program("assign", lines, "--one-to-one", "--out", out), "scored.jsonl: line 1: there is no key 'match'; give --threshold")
        self.assertFalse(out.exists())

    def test_files_without_pairs(self):
        out, table, lines = (self.folder / name for name in ("out.csv", "none.csv", "none.jsonl"))
        table.write_text("")
        self.refused(3, program("assign", table, "--one-to-one", "--out", out), "none.csv: is empty, expected a header with left_id, right_id and score")
        self.assertFalse(out.exists())
        table.write_text("left_id,right_id,score,match\n")
        lines.write_text("")  # as match writes it
        for path in (table, lines):
            done = program("assign", path, "--one-to-one", "--out", out)
            self.assertEqual((done.returncode, out.read_text()), (0, "left_id,right_id,score,match\n"), done.stderr)

    def test_decisions_as_other_programs_write_them(self):
        pairs, out = self.folder / "pairs.csv", self.folder / "out.csv"
        values = ("1", "1.0", "true", "True", "TRUE", "0", "0.0", "false", "False", "FALSE")
        pairs.write_text("left_id,right_id,score,match\n" + "".join(f"a{i},b{i},0.5,{value}\n" for i, value in enumerate(values)))
        done = program("assign", pairs, "--one-to-one", "--out", out)
        self.assertEqual((done.returncode, done.stderr), (0, f"{out}: 5 pairs of 5 matching pairs\n"))
        self.assertEqual([line.split(",")[0] for line in out.read_text().splitlines()[1:]], [f"a{i}" for i in range(5)])
        for value in ("yes", "", "2", "nan"):
            pairs.write_text(f"left_id,right_id,score,match\na,b,0.5,1\nc,d,0.5,{value}\n")
            self.refused(3, program("assign", pairs, "--one-to-one", "--out", out), f"pairs.csv: line 3: match is '{value}', expected 0 or 1")
        pairs.write_text("left_id,right_id,score,match\na,b,0.5,1\n")
        self.assertEqual(program("assign", pairs, "--one-to-one", "--out", out).stderr, f"{out}: 1 pair of 1 matching pair\n")


if __name__ == "__main__":
    unittest.main()
