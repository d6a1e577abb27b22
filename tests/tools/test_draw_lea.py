# SPDX-License-Identifier: MIT
"""docs/lea.svg is what tools/draw_lea.py draws, byte for byte, and its text has at least 12 px."""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]


class DrawLea(unittest.TestCase):
    def test_picture_is_up_to_date(self):
        with tempfile.TemporaryDirectory() as folder:
            drawn = Path(folder) / "lea.svg"
            subprocess.run([sys.executable, ROOT / "tools/draw_lea.py", drawn], check=True)
            self.assertEqual(drawn.read_bytes(), (ROOT / "docs/lea.svg").read_bytes(), "run: python3 tools/draw_lea.py docs/lea.svg")

    def test_readable_on_a_dark_page(self):
        svg = (ROOT / "docs/lea.svg").read_text(encoding="utf-8")
        root = ElementTree.fromstring(svg)
        background = next(e for e in root if e.tag.endswith("}rect"))
        self.assertEqual([background.get(name) for name in ("x", "y", "width", "height", "fill")], ["0", "0", root.get("width"), root.get("height"), "#ffffff"])
        self.assertGreaterEqual(min(float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)), 12)

    def test_usage(self):
        done = subprocess.run([sys.executable, ROOT / "tools/draw_lea.py"], capture_output=True, encoding="utf-8")
        self.assertEqual((done.returncode, done.stderr), (1, "usage: draw_lea.py FILE\n"))


unittest.main()
