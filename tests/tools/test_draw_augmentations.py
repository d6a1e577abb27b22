# SPDX-License-Identifier: MIT
"""tools/draw_augmentations.py: the cells of both matrices from result files, what is missing, and an empty folder."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

TOOL = Path(__file__).resolve().parents[2] / "tools/draw_augmentations.py"


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


class DrawAugmentations(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.out = Path(self.temporary.name, "out")
        self.out.mkdir()

    def draw(self, *more):
        file = Path(self.temporary.name, "a.svg")
        done = subprocess.run([sys.executable, TOOL, self.out, file, *more], capture_output=True, encoding="utf-8")
        texts = [e.text for e in ElementTree.parse(file).getroot() if e.tag.endswith("}text")] if file.exists() else []
        return done, texts

    def words(self, name, spearman):
        write(self.out / f"words/{name}.json", {"similarity": [{"file": "d/men.txt", "on_all": {"spearman": 1}}, {"file": "d/rw.txt", "on_all": {"spearman": spearman}}]})

    def test_cells(self):
        self.words("swap-1", 30)
        self.words("swap-2", 31)
        self.words("swap-1-with-target", 90)  # not of LOVE alone
        self.words("swap+drop-1", 40.25)
        for rate, valid, test in (("1e-3", 0.7, 0.6), ("3e-3", 0.8, 0.5)):
            write(self.out / f"static/sst2/drop-only/seed-1/lr-{rate}/all_results.json", {"valid": {"accuracy": valid}, "test": [{"accuracy": test}, {"accuracy": 0}]})
        done, texts = self.draw()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, second = texts[:36], texts[36:]
        self.assertEqual(first[0], "RareWord: Spearman x 100 (0 to 2 seeds)")
        numbers = [t for t in first[1:] if t not in ("swap", "drop", "insert", "keyboard", "synonym")]
        self.assertEqual((numbers[0], numbers[1], numbers[5], numbers.count("-")), ("30.5", "40.2", "40.2", 22))
        self.assertEqual(second[0], "SST2: accuracy in percent (0 to 1 seeds)")
        self.assertEqual([t for t in second if t[0].isdigit()], ["50.0"])  # the rate that is best on dev

    def test_only_what_is_there(self):
        self.words("swap-1", 30)
        done, texts = self.draw()
        self.assertEqual(done.returncode, 0)
        self.assertIn("no run for 'SST2", done.stderr)
        self.assertEqual(len(texts), 36)

    def test_nothing(self):
        done, texts = self.draw()
        self.assertEqual((done.returncode, texts), (1, []))
        self.assertIn("nothing to draw", done.stderr)
        self.assertIn("usage", self.draw("more")[0].stderr)


unittest.main()
