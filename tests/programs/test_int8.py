# SPDX-License-Identifier: MIT
"""Scoring with linear layers in 8 bits: from a model in float, from a file in 8 bits, and what is refused."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import Refusals, pairs, program, start_model

CONVERT = Path(__file__).resolve().parents[2] / "tools/convert_hf.py"


class Int8(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.train = cls.folder / "train.tsv"
        cls.train.write_text(pairs(60, 1))
        cls.start = start_model(cls.folder, cls.train)
        done = cls.train_matcher("run", "--max-steps", 8)
        assert done.returncode == 0, done.stderr
        cls.model = cls.folder / "run/model.lxf"
        cls.text = "".join(line.rsplit("\t", 1)[0] + "\n" for line in pairs(50, 3).splitlines())
        cls.small = cls.folder / "small.lxf"
        done = cls.convert(cls.model, cls.small, "--dtype", "I8", "--check")
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def train_matcher(cls, out, *more, model=None):
        return program("train_matcher", "--model", model or cls.start, "--train", cls.train, "--valid", cls.train, "--attention", "lea", "--lr", "1e-3",
                       "--out", cls.folder / out, "--quiet", *more)

    @staticmethod
    def convert(*arguments):
        return subprocess.run([sys.executable, CONVERT, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")

    def score(self, *more, model=None, **environment):
        done = program("score_pairs", "--model", model or self.model, *more, text=self.text, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_scores_are_near_those_in_float(self):
        exact, rounded = self.score("--logits"), self.score("--logits", "--precision", "int8")
        self.assertNotEqual(exact, rounded)
        for a, b in zip(exact.split(), rounded.split()):
            self.assertAlmostEqual(float(a), float(b), delta=0.05)
        for threads in (1, 3):
            self.assertEqual(self.score("--logits", "--precision", "int8", "--threads", threads), rounded)
        partly = self.score("--logits", "--precision", "int8", "--int8-skip", "0,intermediate.dense")
        self.assertEqual(len({exact, rounded, partly}), 3)

    def test_levels_of_instructions(self):
        wrong = program("score_pairs", "--version", env={**os.environ, "LEXFORMER_INSTRUCTIONS": "avx3"})
        self.refused(2, wrong, "LEXFORMER_INSTRUCTIONS: 'avx3' is not known; this processor has: ")
        here = wrong.stderr.strip().split("has: ")[1].split(", ")
        processor = Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
        slow = here[0] == "avx512_bf16" and "GenuineIntel" in processor and "avx512_fp16" in processor  # its bfloat16 is slower than float
        version = program("score_pairs", "--version").stdout
        self.assertRegex(version, rf"^lexformer [0-9.]+ \(matrix products: {here[1 if slow else 0]}\)$")
        for precision in ("float32", "int8"):  # the same bits with AVX2 and above
            scores = {self.score("--logits", "--precision", precision, env={**os.environ, "LEXFORMER_INSTRUCTIONS": level}) for level in here if level != "plain"}
            self.assertLessEqual(len(scores), 1)

    def test_a_file_in_8_bits_has_the_same_scores(self):
        header = self.small.read_bytes()
        header = json.loads(header[8:8 + int.from_bytes(header[:8], "little")])
        kinds = [tensor["dtype"] for name, tensor in header.items() if name != "__metadata__"]
        self.assertEqual((kinds.count("I8"), set(kinds)), (12, {"I8", "F32"}))
        rounded = self.score("--precision", "int8")
        self.assertEqual(self.score(model=self.small), rounded)
        self.assertEqual(self.score("--precision", "int8", model=self.small), rounded)

    def test_evaluate_and_encode(self):
        for model, more in ((self.model, ["--precision", "int8"]), (self.small, [])):
            done = program("evaluate", "--model", model, "--test", self.train, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            out = self.folder / "rows.npy"
            done = program("encode", "--model", model, "--output", out, *more, text="lcd tv\nmicrowave oven\n")
            self.assertEqual(done.returncode, 0, done.stderr)
            found = out.read_bytes()
            self.assertEqual(found, getattr(self, "rows", found))
            self.rows = found
        program("encode", "--model", self.model, "--output", out, text="lcd tv\nmicrowave oven\n")
        self.assertNotEqual(out.read_bytes(), self.rows)

    def test_what_is_refused(self):
        def refused(code, part, *more, model=self.model):
            self.refused(code, program("score_pairs", "--model", model, *more, text=self.text), part)

        refused(2, "--precision: int8 needs the device cpu", "--precision", "int8", "--device", "cuda")
        refused(2, "--int8-skip: needs --precision int8", "--int8-skip", "0")
        refused(2, "none with the number or name '2'", "--precision", "int8", "--int8-skip", "2")
        refused(2, "none is in 8 bits", "--precision", "int8", "--int8-skip", "0,1")
        refused(2, "is in 8 bits already", "--precision", "int8", "--int8-skip", "0", model=self.small)
        refused(3, "which need the CPU and float32", "--precision", "bfloat16", model=self.small)
        self.refused(2, self.train_matcher("no", "--precision", "int8"), "int8 is for scoring")
        self.refused(3, self.train_matcher("no", model=self.small), "small.lxf: holds weights in 8 bits, which can score but not be trained")
        done = self.convert(self.small, self.folder / "no.lxf", "--dtype", "BF16")
        self.assertEqual(done.returncode, 3)
        self.assertIn("holds weights in 8 bits", done.stderr)


if __name__ == "__main__":
    unittest.main()
