# SPDX-License-Identifier: MIT
"""tools/long_checks.py in a small repository: what a check reads, directly or through other files, decides whether it has to run."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/long_checks.py"
FILES = {"tests/fuzz/a.cpp": '#include "lexformer/io/a.hpp"\n', "include/lexformer/io/a.hpp": '#include "lexformer/core/b.hpp"\n', "include/lexformer/core/b.hpp": "",
         "include/lexformer/core/c.hpp": "", "docs/a.md": "", ".gitignore": "build/\n"}


class LongChecks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in FILES.items():
            self.write(name, text)
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.run_tool("passed")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_tool(self, *arguments, name="fuzz"):
        done = subprocess.run([sys.executable, "-B", TOOL, *arguments, name], env={**os.environ, "LEXFORMER_ROOT": str(self.root)}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stdout.strip()

    def test_inputs_decide(self):
        self.assertEqual(self.run_tool("state"), (0, "same"))
        for name in ("include/lexformer/core/c.hpp", "docs/a.md", "tests/fuzz/build/x.o"):
            self.write(name, "// changed\n")
            self.assertEqual(self.run_tool("state"), (0, "same"), name)
        for name in ("tests/fuzz/a.cpp", "include/lexformer/io/a.hpp", "include/lexformer/core/b.hpp"):
            self.write(name, FILES[name] + "// changed\n")
            self.assertEqual(self.run_tool("state"), (0, "changed"), name)
            self.run_tool("passed")
            self.assertEqual(self.run_tool("state"), (0, "same"), name)
        for name in ("tests/fuzz/corpus/new", "cmake/new.cmake"):
            self.write(name, "new")
            self.assertEqual(self.run_tool("state"), (0, "changed"), name)

    def test_checks_are_noted_separately(self):
        self.assertEqual(self.run_tool("state", name="cuda"), (0, "changed"))
        self.run_tool("passed", name="cuda")
        self.assertEqual([line.split()[0] for line in (self.root / "tests/long_checks.txt").read_text().splitlines()], ["cuda", "fuzz"])
        self.assertEqual(self.run_tool("state", name="tea")[0], 1)


unittest.main()
