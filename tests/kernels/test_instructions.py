# SPDX-License-Identifier: MIT
"""The matrix products at each level of vector instructions of this processor, forced by LEXFORMER_INSTRUCTIONS; and no instruction of a
level is outside its namespace, where a processor without it would meet it."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = Path(os.environ.get("LEXFORMER_BIN", "build/dev/bin")) / "lexformer_tests"
CXX = os.environ.get("CXX", "c++")
LEVELS = ["plain", "avx2", "avx_vnni", "avx512", "avx512_vnni", "avx512_bf16", "amx"]


def run_tests(level):
    return subprocess.run([TESTS, "--source-file=*tests/kernels/*,*tests/attention/test_attention.cpp", "--no-intro"], env={**os.environ, "LEXFORMER_INSTRUCTIONS": level}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def disassemble(source, folder, arch):
    made = Path(folder) / "level.o"
    subprocess.run([CXX, "-std=c++20", "-O1", arch, f"-I{ROOT}/include", f"-I{ROOT}/src", "-isystem", "/usr/include/eigen3", "-c", source, "-o", made], check=True)
    return subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-C", made], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def symbols_with_vectors(text):
    """The functions of a disassembled object that use vector or tile instructions, which x86-64 without extensions lacks."""
    names, name = set(), ""
    for line in text.splitlines():
        start = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if start:
            name = start[1]
        elif re.search(r"\t(v[a-z]|tile|tdp|ldtilecfg)", line):
            names.add(name)
    return names


class Instructions(unittest.TestCase):
    @unittest.skipUnless(TESTS.exists(), "the tests are not built")
    def test_every_level_of_this_processor(self):
        done = run_tests("avx3")
        said = re.search(r"LEXFORMER_INSTRUCTIONS: 'avx3' is not known; this processor has: ([a-z0-9_, ]+)", done.stdout)
        self.assertNotEqual(done.returncode, 0)
        self.assertIsNotNone(said, done.stdout[-2000:])
        here = said[1].split(", ")
        self.assertIn("plain", here)
        for level in LEVELS:
            with self.subTest(level=level):
                done = run_tests(level)
                if level in here:
                    self.assertEqual(done.returncode, 0, done.stdout[-2000:])
                else:
                    self.assertIn(f"LEXFORMER_INSTRUCTIONS: this processor, or its system, has no '{level}', but: {said[1]}", done.stdout)

    @unittest.skipUnless(shutil.which("objdump") and os.uname().machine == "x86_64", "needs objdump and x86-64")
    def test_no_instruction_outside_its_level(self):
        with tempfile.TemporaryDirectory() as folder:
            for level in LEVELS:
                source = ROOT / ("src/products.cpp" if level == "plain" else f"src/products_{level}.cpp")
                with self.subTest(level=level):
                    text = disassemble(source, folder, "-march=x86-64")
                    names = symbols_with_vectors(text)
                    self.assertEqual([name for name in names if f"lexformer::detail::{level}::" not in name], [])
                    self.assertEqual(bool(names), level != "plain")
                    self.assertEqual("\ttdp" in text, level == "amx")
            # The check finds what it is for.
            self.assertTrue(symbols_with_vectors(disassemble(ROOT / "src/products.cpp", folder, "-march=x86-64-v3")))


if __name__ == "__main__":
    unittest.main()
