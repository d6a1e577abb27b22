# SPDX-License-Identifier: MIT
"""tools/draw_typos.py: the points from result files, the picture where matplotlib is installed, and a folder without runs."""
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/draw_typos.py"


class DrawTypos(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.out = Path(self.temporary.name)

    def run_of(self, row, seed, rate, valid, **tests):
        folder = self.out / f"static/sst2/{row}/seed-{seed}/lr-{rate}"
        folder.mkdir(parents=True)
        result = {"valid": {"accuracy": valid}, "test": [{"file": f"d/{name}.txt", "accuracy": value} for name, value in tests.items()]}
        (folder / "all_results.json").write_text(json.dumps(result))

    def draw(self, table):
        return subprocess.run([sys.executable, TOOL, self.out, table, self.out / "t.svg"], capture_output=True, encoding="utf-8")

    def test_points(self):
        self.run_of("love", 1, "1e-3", 0.7, test=0.5, typo_test_10=0.4)
        self.run_of("love", 1, "3e-3", 0.8, typo_test_90=0.25, test=0.75, typo_test_10=0.5)  # better on dev
        self.run_of("love", 2, "1e-3", 0.7, test=0.25, typo_test_10=0.125, typo_test_90=0.5)
        self.run_of("none", 1, "1e-3", 0.7, test=0.5, typo_test_10=0.125)
        self.run_of("love-only", 1, "1e-3", 0.7, test=0.5)  # clean text alone is no line
        spec = importlib.util.spec_from_file_location("draw_typos", TOOL)
        tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tool)
        self.assertEqual(list(tool.accuracies(self.out / "static/sst2/love").items()), [(0, [75, 25]), (10, [50, 12.5]), (90, [25, 50])])
        if importlib.util.find_spec("matplotlib"):
            done = self.draw("static")
            self.assertEqual(done.returncode, 0, done.stderr)
            picture = (self.out / "t.svg").read_text(encoding="utf-8")
            for said in ("LOVE", "no vectors for unknown words", "CNN over word vectors (1 to 2 seeds)", "words with a typo, %"):
                self.assertIn(said, picture)
            self.assertNotIn("(only)", picture)

    def test_nothing_to_draw(self):
        done = self.draw("sst2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("sst2 has no run that was tested with typos; tools/reproduce_love.sh sst2 --out", done.stderr)
        self.assertFalse((self.out / "t.svg").exists())


if __name__ == "__main__":
    unittest.main()
