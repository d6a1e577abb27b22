# SPDX-License-Identifier: MIT
"""train_text_cnn, and the programs that read its models; fastText's .bin files as word vectors. Needs the built programs (LEXFORMER_BIN) and
Python's standard library."""
import json
import random
import shutil
import signal
import struct
import tempfile
import unittest
from pathlib import Path

from support import BIN, Refusals, program, start_and_signal
from test_text import BAD, GOOD, OTHER, texts

FASTTEXT = Path(__file__).resolve().parents[1] / "golden/fasttext.bin"


class TextCnn(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        for name, count, seed in (("train", 120, 1), ("valid", 40, 2), ("test", 40, 3)):
            (cls.folder / f"{name}.tsv").write_text(texts(count, seed))
        cls.vectors = cls.folder / "vectors.txt"
        cls.write_vectors(cls.vectors, 8, 1)
        cls.trained = cls.folder / "trained"
        done = cls.train(cls.trained, "--test", cls.folder / "test.tsv", "--test-typos", 1, "--typo-mode", "love", "--typo-share", 1)
        assert done.returncode == 0, done.stderr
        cls.table = done.stdout

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def write_vectors(cls, path, size, seed):
        rng = random.Random(seed)
        path.write_text("".join(f"{word} " + " ".join(f"{rng.gauss(0, 1):.4f}" for _ in range(size)) + "\n" for word in GOOD + BAD + OTHER))

    @classmethod
    def command(cls, out, *more, vectors=None, train="train.tsv", epochs=8):
        return ["--train", cls.folder / train, "--valid", cls.folder / "valid.tsv", "--out", out, "--vectors", vectors or cls.vectors, "--filters", 6, "--epochs",
                epochs, "--batch", 8, "--lr", "2e-2", "--logging-steps", 5, "--quiet", *more]

    @classmethod
    def train(cls, out, *more, **options):
        return program("train_text_cnn", *cls.command(out, *more, **options))

    def test_training_learns_and_says_what_it_did(self):
        results = json.loads((self.trained / "all_results.json").read_text())
        self.assertGreater(results["test"][0]["accuracy"], 0.9)
        self.assertLess(results["test"][0]["typos_mean"]["accuracy"], results["test"][0]["accuracy"])
        self.assertEqual(results["parameters"], (3 + 4 + 5) * 8 * 6 + 3 * 6 + 2 * 18 + 2)
        self.assertEqual(results["train"]["texts"], 120)
        self.assertTrue(results["settings"]["vectors"].startswith("13 words of 8 numbers, crc32 "))
        self.assertEqual(self.table.split()[:3], ["accuracy", "f1", "precision"])
        log = [json.loads(line) for line in (self.trained / "log.jsonl").read_text().splitlines()]
        self.assertEqual(results["valid"]["accuracy"], max(entry["eval_accuracy"] for entry in log if "eval_accuracy" in entry))
        card = (self.trained / "README.md").read_text()
        for part in ("over fixed word vectors", "score_pairs --model model.lxf --vectors ", "vectors.txt`. They are not part", "- text_cnn/filters: 6 (default 100)"):
            self.assertIn(part, card)
        size = (self.trained / "model.lxf").stat().st_size
        self.assertLess(size, 8000)  # without the vectors

    def test_evaluate_and_score(self):
        options = ("--model", self.trained, "--vectors", self.vectors)
        done = program("evaluate", *options, "--test", self.folder / "test.tsv", "--output", self.folder / "e.json", "--scores")
        self.assertEqual(done.returncode, 0, done.stderr)
        entry = json.loads((self.folder / "e.json").read_text())["test"][0]
        saved = json.loads((self.trained / "all_results.json").read_text())["test"][0]
        for key in ("accuracy", "f1", "average_precision", "loss"):
            self.assertEqual(entry[key], saved[key])
        rows = [line.split("\t") for line in (self.folder / "test.tsv").read_text().splitlines()]
        done = program("score_pairs", *options, text="".join(row[0] + "\n" for row in rows))
        self.assertEqual(done.returncode, 0, done.stderr)
        scores = [float(s) for s in done.stdout.split()]
        self.assertEqual(len(scores), 40)
        for a, b in zip(scores, entry["scores"]):
            self.assertAlmostEqual(a, b, delta=1e-5)
        for name in ("evaluate", "score_pairs"):
            more = ("--test", self.folder / "test.tsv") if name == "evaluate" else ()
            self.refused(2, program(name, "--model", self.trained, *more, text="good\n"), "--vectors: is missing")
            other = self.folder / "other.txt"
            self.write_vectors(other, 8, 2)
            self.refused(2, program(name, "--model", self.trained, "--vectors", other, *more, text="good\n"), "was trained on other vectors: 13 words of 8 numbers")
            self.refused(2, program(name, "--model", self.trained, "--vectors", self.vectors, "--love", self.trained, *more, text="good\n"), "--love", "which an imputer can complete")
        self.write_vectors(self.folder / "wide.txt", 9, 1)
        self.refused(2, program("score_pairs", "--model", self.trained, "--vectors", self.folder / "wide.txt", text="good\n"), "reads vectors of 8 numbers, those given have 9")

    def test_resume_and_threads_give_the_same_bytes(self):
        whole, out = self.folder / "whole", self.folder / "broken"
        options = ("--save-steps", 3)
        self.assertEqual(self.train(whole, *options, "--threads", 3).returncode, 0)
        one = self.folder / "one"
        self.assertEqual(self.train(one, *options, "--threads", 1).returncode, 0)
        start_and_signal([BIN / "lexformer", "train_text_cnn", *self.command(out, *options)], out / "checkpoint-3", 0.01, signal.SIGKILL)
        done = self.train(out, *options, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("model.lxf", "log.jsonl"):
            self.assertEqual((one / name).read_bytes(), (whole / name).read_bytes())
            self.assertEqual((out / name).read_bytes(), (whole / name).read_bytes())
        other = self.folder / "others.txt"
        self.write_vectors(other, 8, 3)
        self.refused(2, self.train(out, *options, "--resume", vectors=other), "vectors")

    def test_names_of_classes_and_a_header(self):
        named = self.folder / "named.csv"
        named.write_text("label,sentence\n" + "".join(f"{['no', 'so-so', 'yes'][i % 3]},{line.split(chr(9))[0]}\n" for i, line in enumerate(texts(30, 4).splitlines())))
        out = self.folder / "classes"
        done = program("train_text_cnn", "--train", named, "--valid", named, "--vectors", self.vectors, "--out", out, "--labels", "no,so-so,yes", "--max-steps", 3, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("macro_f1", done.stdout)
        scores = program("score_pairs", "--model", out, "--vectors", self.vectors, "--logits", text="good\n\n").stdout.splitlines()
        self.assertEqual([len(line.split("\t")) for line in scores], [3, 3])
        other = self.folder / "other.tsv"
        other.write_text("a film\tmaybe\n")
        self.refused(3, program("evaluate", "--model", out, "--vectors", self.vectors, "--test", other), "unknown label 'maybe'")

    def test_fasttext(self):
        out = self.folder / "fasttext"
        done = self.train(out, "--imputer", FASTTEXT, vectors=FASTTEXT)
        self.assertEqual(done.returncode, 0, done.stderr)
        only = self.folder / "imputed"
        done = program("train_text_cnn", *self.command(only)[:6], "--imputer", FASTTEXT, "--imputer-only", "--quiet", "--max-steps", 4)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("imputed by `", (only / "README.md").read_text())
        self.refused(2, program("score_pairs", "--model", only, "--vectors", FASTTEXT, text="good\n"), "was trained on other vectors: imputed vectors of 4 numbers, crc32 of the model ")
        self.assertEqual(program("score_pairs", "--model", only, "--imputer", FASTTEXT, "--imputer-only", text="good\n").returncode, 0)
        # A word that it knows, in its own case, and one that it does not know: as fasttext prints them.
        printed = {line.split()[0]: line.split()[1:] for line in FASTTEXT.with_suffix(".txt").read_text(encoding="utf-8").splitlines()}
        lines = program("impute", "--model", FASTTEXT, text="Café\nmisspeling\n").stdout.splitlines()
        self.assertEqual(lines[0], "2 4")
        for line in lines[1:]:
            for ours, theirs in zip(line.split()[1:], printed[line.split()[0]]):
                self.assertAlmostEqual(float(ours), float(theirs), delta=1e-4 * abs(float(theirs)))
        pairs = self.folder / "pairs.tsv"
        pairs.write_text("cat\tdog\t1\nthe\tcats\t0\nred\tball\t2\n")
        results = self.folder / "words.json"
        done = program("evaluate_words", "--vectors", FASTTEXT, "--imputer", FASTTEXT, "--similarity", pairs, "--output", results)
        self.assertEqual(done.returncode, 0, done.stderr)
        measured = json.loads(results.read_text())["similarity"][0]
        self.assertEqual((measured["covered"], measured["on_all"]["pairs"]), (2, 3))
        bad = self.folder / "bad.bin"
        good = FASTTEXT.read_bytes()
        for content, message in ((b"PK" + good[2:], "bad.bin: is no fastText model"), (good[:-5], "bad.bin: is cut off in the output matrix"),
                                 (good[:4] + struct.pack("<i", 13) + good[8:], "has version 13"), (b"", "is no fastText model")):
            bad.write_bytes(content)
            self.refused(3, program("impute", "--model", bad, text="a\n"), message)
            self.refused(3, self.train(self.folder / "no", vectors=bad), message.replace("is no fastText model", "is neither a model of fastText nor"))
        self.refused(2, self.train(self.folder / "no", "--imputer", FASTTEXT), "makes vectors of 4 numbers, but those of", "have 8")

    def test_refusals(self):
        out = self.folder / "no"
        base = ["--train", self.folder / "train.tsv", "--valid", self.folder / "valid.tsv", "--out", out]
        self.refused(2, program("train_text_cnn", *base), "--vectors: is missing")
        self.refused(2, self.train(out, "--imputer-only"), "--imputer-only: needs --imputer")
        self.refused(2, self.train(out, "--first-width", 6), "first_width is 6, more than last_width, 5")
        self.refused(2, self.train(out, "--labels", "a"), "--labels: 1 class is named")
        self.refused(2, self.train(self.trained), "--resume", "--overwrite")
        (self.folder / "one.tsv").write_text("good\n")
        self.refused(3, self.train(out, train="one.tsv"), "one.tsv: line 1: the table has 1 column; column 2 (label) is missing")
        (self.folder / "model.txt").write_text("good 1\n")
        damaged = self.folder / "damaged.lxf"
        damaged.write_bytes((self.trained / "model.lxf").read_bytes()[:-40])
        self.refused(3, program("score_pairs", "--model", damaged, "--vectors", self.vectors, text="good\n"), "damaged.lxf")

    def test_typos_of_optical_character_recognition(self):
        text = "modern silver corn 1015 of\tx\n" * 50
        changed = program("add_typos", "--mode", "ocr", "--share", 1, "--columns", 1, text=text)
        self.assertEqual(changed.returncode, 0, changed.stderr)
        self.assertEqual(changed.stdout, program("add_typos", "--mode", "ocr", "--share", 1, "--columns", 1, text=text).stdout)
        self.assertNotEqual(changed.stdout, program("add_typos", "--mode", "ocr", "--share", 1, "--columns", 1, "--seed", 2, text=text).stdout)
        words = set()
        for line in changed.stdout.splitlines():
            self.assertTrue(line.endswith("\tx"))
            self.assertEqual(len(line.split("\t")[0].split(" ")), 5)
            words.update(line.split("\t")[0].split(" "))
        self.assertIn("modem", words)
        self.assertFalse(words & {"modern", "silver", "corn", "1015"})
        self.assertEqual(program("add_typos", "--mode", "ocr", "--share", 0, text=text).stdout, text)


if __name__ == "__main__":
    unittest.main()
