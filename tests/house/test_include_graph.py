# SPDX-License-Identifier: MIT
"""tools/include_graph.py: floors, arrows, arrows up and circles of small trees, and of this repository, which has neither."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
RULES = 'FLOORS = {\n    "core": "",\n    "ops": "core",\n    "nn": "core ops",\n}\n'
GOOD = {"core/a.hpp": [], "ops/b.hpp": ["core/a.hpp"], "nn/c.hpp": ["core/a.hpp", "ops/b.hpp", "nn/d.hpp"], "nn/d.hpp": [], "all.hpp": ["nn/c.hpp"]}


class IncludeGraph(unittest.TestCase):
    def run_tool(self, headers, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "tests/house").mkdir(parents=True)
            (root / "tests/house/test_floors.py").write_text(RULES)
            for name, includes in headers.items():
                path = root / "include/lexformer" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("#pragma once\n" + "".join(f'#include "lexformer/{other}"\n' for other in includes))
            return self.run_on(root, *arguments)

    @staticmethod
    def run_on(root, *arguments):
        done = subprocess.run([sys.executable, ROOT / "tools/include_graph.py", "--root", root, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def test_floors_and_arrows(self):
        code, text = self.run_tool(GOOD)
        self.assertEqual(code, 0, text)
        lines = [" ".join(line.split()) for line in text.splitlines()]
        self.assertEqual(lines, ["2 nn 2 files 5 lines -> ops 1, core 1", "1 ops 1 files 2 lines -> core 1", "0 core 1 files 1 lines -> nothing",
                                 "(alone) 1 files 2 lines", "3 folders on 3 floors, 5 headers, 10 lines, 3 arrows (3 includes), 0 up, 0 circles"])

    def test_what_is_wrong(self):
        for more, said in (({"ops/e.hpp": ["nn/d.hpp"]}, ["arrow up: ops -> nn", "circle: nn <-> ops"]), ({"core/e.hpp": ["ops/f.hpp"], "ops/f.hpp": []}, ["arrow up: core -> ops"]),
                           ({"nn/d.hpp": ["nn/c.hpp"]}, ["circle: nn/c.hpp <-> nn/d.hpp"]), ({"core/a.hpp": ["core/a.hpp"]}, ["circle: core/a.hpp"])):
            code, text = self.run_tool({**GOOD, **more})
            self.assertEqual(code, 1, text)
            for line in said:
                self.assertIn(line, text.splitlines())
        self.assertIn("attic", self.run_tool({**GOOD, "attic/a.hpp": ["nn/c.hpp"]})[1].splitlines()[0])  # a folder on no floor comes first, above all others
        self.assertEqual(self.run_on(Path("/nowhere"))[0], 1)

    def test_this_repository(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "floors.svg"
            code, text = self.run_on(ROOT, "--svg", picture)
            self.assertEqual(code, 0, text)
            names = [element.text for element in ElementTree.parse(picture).iter() if element.text]
        for name in ("core", "kernels/products", "models", "tables"):
            self.assertIn(name, names)
            self.assertIn(f" {name} ", text)


unittest.main()
