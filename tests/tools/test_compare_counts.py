# SPDX-License-Identifier: MIT
"""tests/support/ptx/compare_counts.py with programs that are scripts. Needs Python alone."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "support/ptx/compare_counts.py"
TABLE = "# nvcc 13.0\ncase\tkernel\tblocks\tall\na\tf\t1\t1000\n"


class CompareCounts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.table = self.folder / "table.tsv"
        self.table.write_text(TABLE)

    def compare(self, body, table=None, *options):
        program = self.folder / "counts"
        program.write_text("#!/bin/sh\n" + body)
        program.chmod(0o755)
        done = subprocess.run([sys.executable, TOOL, program, table or self.table, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stdout + done.stderr, str(program)

    def counts(self, text):
        (self.folder / "found").write_text(text)
        return f"cat '{self.folder}/found'\n"

    def test_counts_are_compared(self):
        self.assertEqual(self.compare(self.counts(TABLE))[:2], (0, f"compare_counts: 1 kernels as in {self.table}\n"))
        code, text, _ = self.compare(self.counts(TABLE.replace("1000", "1100")))
        self.assertEqual(code, 1)
        self.assertIn("all=1100 (+10.0 %)", text)
        self.assertEqual(self.compare(self.counts(TABLE.replace("13.0", "12.4")))[0], 77)

    def test_what_fails_is_one_line(self):
        code, text, program = self.compare("echo 'cuda: no kernel' >&2; exit 3\n")
        self.assertEqual((code, text), (1, f"compare_counts: {program} ended with 3: cuda: no kernel\n"))
        missing = self.folder / "missing.tsv"
        code, text, _ = self.compare(self.counts(TABLE), missing)
        self.assertEqual((code, text.count("\n")), (1, 1))
        self.assertIn(f"compare_counts: {missing}: cannot be read (", text)
        done = subprocess.run([sys.executable, TOOL, missing, self.table], stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, f"compare_counts: {missing}: cannot be started (No such file or directory); build lexformer_ptx_counts\n"))

    def test_a_program_that_fails_does_not_replace_the_table(self):
        self.assertEqual(self.compare("exit 3\n", self.table, "--write")[0], 1)
        self.assertEqual(self.table.read_text(), TABLE)


if __name__ == "__main__":
    unittest.main()
