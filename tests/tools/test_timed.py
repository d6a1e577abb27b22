# SPDX-License-Identifier: MIT
"""tools/timed.py: exit codes, and what it says of a step that takes longer than the table allows."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/timed.py"


class Timed(unittest.TestCase):
    def run_tool(self, table, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "times.txt")
            file.write_text(table)
            compiler = Path(folder, "g++")  # takes as long as the command below
            compiler.write_text("#!/bin/sh\npython3 -c 'sum(range(3000000))'\n")
            compiler.chmod(0o755)
            environment = {**os.environ, "LEXFORMER_TIMES": str(file), "PATH": f"{folder}:{os.environ['PATH']}"}
            return subprocess.run([sys.executable, TOOL, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_exit_codes(self):
        loop = ["python3", "-c", "sum(range(3000000))"]
        for table, command, code, words in (("# units\nloop 1000\n", loop, 0, "tests/times.txt has 1000"), ("loop 0.001\n", loop, 70, "loop: more than twice as much."),
                                            ("other 1\n", loop, 0, "tests/times.txt has nothing"), ("loop 0.001\n", ["sh", "-c", "exit 3"], 3, "")):
            done = self.run_tool(table, "loop", *command)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertIn(words, done.stdout)

    def test_usage(self):
        self.assertIn("usage: timed.py NAME COMMAND...", self.run_tool("", "loop").stderr)


if __name__ == "__main__":
    unittest.main()
