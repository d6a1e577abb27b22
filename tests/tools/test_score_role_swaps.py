# SPDX-License-Identifier: MIT
"""tools/score_role_swaps.py on results made here. Needs Python alone."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/score_role_swaps.py"


class ScoreRoleSwaps(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def result(self, name, scores, **changes):
        """Two sentences; their swaps have class 0, their synonyms class 1; the second one's nouns are animate."""
        entry = {"labels": [0, 1, 0, 1], "scores": scores, "columns": {"kind": ["swap", "synonym"] * 2, "animate": ["0", "0", "1", "1"]}, **changes}
        (self.folder / name).write_text(json.dumps({"test": [entry]}))
        return self.folder / name

    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, TOOL, *map(str, arguments)], capture_output=True, text=True)

    def test_shares(self):
        # Three classes: a swap is right with 0 and with 2. First run: swap and synonym of the second sentence; second run: all but a synonym.
        a, b = self.result("a.json", [1, 0, 2, 1]), self.result("b.json", [0, 0, 2, 1])
        done = self.run_tool(f"x={a}", f"x={b}", f"y={b}")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = done.stdout.splitlines()
        self.assertEqual(rows[0], "| right, % | runs | swap | synonym | both right | animate swap |")
        self.assertEqual(rows[2], "| x | 2 | 75.0 ± 35.4 | 50.0 ± 0.0 | 50.0 ± 0.0 | 100.0 ± 0.0 |")
        self.assertEqual(rows[3], "| y | 1 | 100.0 | 50.0 | 50.0 | 100.0 |")
        two = self.result("two.json", [0.3, 0.7, 0.3, 0.2], threshold=0.25)  # probabilities of two classes
        self.assertIn("| z | 1 | 0.0 | 50.0 | 0.0 | 0.0 |", self.run_tool(f"z={two}").stdout)

    def test_refused(self):
        short = self.result("short.json", [0, 1])
        other = self.result("other.json", [0, 1, 0, 1], columns={"kind": ["swap"] * 4, "animate": ["0"] * 4})
        (self.folder / "text.json").write_text("{")
        for path, part in ((short, "2 scores"), (other, "not those of make_role_swaps.py"), (self.folder / "text.json", "JSONDecodeError"),
                           (self.folder / "none.json", "FileNotFoundError")):
            done = self.run_tool(f"x={path}")
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
            self.assertIn(part, done.stderr)
        self.assertEqual(self.run_tool(str(short)).returncode, 2)


if __name__ == "__main__":
    unittest.main()
