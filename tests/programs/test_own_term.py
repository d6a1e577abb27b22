# SPDX-License-Identifier: MIT
"""Examples that a user begins with: an attention term of one's own, in the library and on the command line, and a task of one's own."""
import shutil
import tempfile
import unittest
from pathlib import Path

from support import BIN, pairs, program, start_model

BINARY = BIN.resolve()


class Own(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "train.tsv").write_text(pairs(60, 1))
        (self.folder / "unlabelled.tsv").write_text("".join(line.rsplit("\t", 1)[0] + "\n" for line in pairs(8, 2).splitlines()))
        self.model = start_model(self.folder, self.folder / "train.tsv")

    def test_the_example(self):
        done = program(BINARY / "05_attention_term", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in ("equal after loading: yes", "the attention term 'nearness' is not known", "gradients of 2 slopes: correct"):
            self.assertIn(part, done.stdout)

    def test_on_the_command_line(self):
        train = self.folder / "train.tsv"
        done = program("05_attention_term", "--attention", "lea,nearness", "--model", self.model, "--train", train, "--valid", train, "--max-steps", 4,
                       "--out", self.folder / "run", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        resumed = program("05_attention_term", "--attention", "lea,nearness", "--model", self.model, "--train", train, "--valid", train, "--max-steps", 4,
                          "--out", self.folder / "run", "--quiet", "--resume")
        self.assertEqual((resumed.returncode, resumed.stdout), (0, done.stdout))
        for name, arguments in (("score_pairs", []), ("evaluate", ["--test", train])):
            refused = program(name, "--model", self.folder / "run" / "model.lxf", *arguments, text=(self.folder / "unlabelled.tsv").read_text())
            self.assertEqual(refused.returncode, 3)
            self.assertIn("the attention term 'nearness' is not known; this program has: alibi", refused.stderr)
        unknown = program("train_matcher", "--attention", "lea,nearness", "--model", self.model, "--train", train, "--valid", train, "--out", self.folder / "x")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("nearness", unknown.stderr)
        idle = program("train_matcher", "--lea-levels", 5, "--model", self.model, "--train", train, "--valid", train, "--out", self.folder / "x")
        self.assertEqual(idle.returncode, 2)
        self.assertIn("add it: --attention lea", idle.stderr)

    def test_another_task(self):
        done = program("06_own_task", self.model, self.folder / "words")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("mean squared error", done.stdout)


if __name__ == "__main__":
    unittest.main()
