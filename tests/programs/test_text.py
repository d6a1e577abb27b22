# SPDX-License-Identifier: MIT
"""Models of single texts: train_text, and the programs that read what it writes. Needs the built programs (LEXFORMER_BIN) and Python's
standard library."""
import json
import random
import shutil
import signal
import tempfile
import unittest
from pathlib import Path

from support import BIN, Refusals, pairs, program, start_and_signal, start_model

GOOD, BAD, OTHER = ["good", "fine", "witty", "moving"], ["bad", "dull", "boring", "flat"], ["film", "plot", "story", "actors", "music"]


def texts(count, seed, names=("0", "1")):
    """A text with one word of its class, whose place is random."""
    rng, rows = random.Random(seed), []
    for i in range(count):
        words = [rng.choice(OTHER) for _ in range(rng.randrange(1, 6))]
        words.insert(rng.randrange(len(words) + 1), rng.choice(GOOD if i % 2 else BAD))
        rows.append(f"{' '.join(words)}\t{names[i % 2]}\n")
    return "".join(rows)


class Text(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        for name, count, seed in (("train", 120, 1), ("valid", 40, 2), ("test", 40, 3)):
            (cls.folder / f"{name}.tsv").write_text(texts(count, seed))
        cls.model = start_model(cls.folder, cls.folder / "train.tsv")
        cls.trained = cls.folder / "trained"
        done = cls.train(cls.trained, "--test", cls.folder / "test.tsv", "--test-typos", 1, "--typo-mode", "love")
        assert done.returncode == 0, done.stderr
        cls.table = done.stdout

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def command(cls, out, *more, epochs=8, train="train.tsv"):
        return ["--model", cls.model, "--train", cls.folder / train, "--valid", cls.folder / "valid.tsv", "--out", out, "--epochs", epochs, "--batch", 8,
                "--lr", "3e-3", "--logging-steps", 5, "--quiet", *more]

    @classmethod
    def train(cls, out, *more, **options):
        return program("train_text", *cls.command(out, *more, **options))

    def test_training_learns_and_says_what_it_did(self):
        results = json.loads((self.trained / "all_results.json").read_text())
        self.assertGreater(results["test"][0]["accuracy"], 0.9)
        self.assertLess(results["test"][0]["typos_mean"]["accuracy"], results["test"][0]["accuracy"])
        self.assertEqual(results["train"]["texts"], 120)
        self.assertTrue(results["settings"]["train"].startswith("120 texts, crc32 "))
        self.assertEqual(results["settings"]["encoder"]["texts"], 1)
        self.assertEqual(self.table.split()[:5], ["accuracy", "f1", "precision", "recall", "average_precision"])
        card = (self.trained / "README.md").read_text()
        for part in ("# A model that reads single texts", "score_pairs --model model.lxf < texts.tsv", "| file | texts |", "chosen on the validation texts (first row) by accuracy"):
            self.assertIn(part, card)
        self.assertNotIn("pair", card.replace("score_pairs", ""))
        self.assertNotIn("- encoder/texts", card)
        help_text = program("train_text", "--help").stdout
        for line in help_text.splitlines():
            if "dafa" not in line:
                self.assertNotIn("pair", line.replace("parse_pairs", ""))

    def test_the_best_model_by_accuracy_is_kept(self):
        log = [json.loads(line) for line in (self.trained / "log.jsonl").read_text().splitlines()]
        best = max(entry["eval_accuracy"] for entry in log if "eval_accuracy" in entry)
        results = json.loads((self.trained / "all_results.json").read_text())
        self.assertEqual(results["valid"]["accuracy"], best)
        self.assertNotIn(b"lexformer.threshold", (self.trained / "model.lxf").read_bytes()[:1 << 16])

    def test_evaluate_and_score(self):
        done = program("evaluate", "--model", self.trained, "--test", self.folder / "test.tsv", "--output", self.folder / "e.json", "--scores")
        self.assertEqual(done.returncode, 0, done.stderr)
        entry = json.loads((self.folder / "e.json").read_text())["test"][0]
        saved = json.loads((self.trained / "all_results.json").read_text())["test"][0]
        for key in ("accuracy", "f1", "average_precision", "loss"):
            self.assertEqual(entry[key], saved[key])
        rows = [line.split("\t") for line in (self.folder / "test.tsv").read_text().splitlines()]
        scores = program("score_pairs", "--model", self.trained, text="".join(row[0] + "\n" for row in rows))
        self.assertEqual(scores.returncode, 0, scores.stderr)
        scores = [float(s) for s in scores.stdout.split()]
        for a, b in zip(scores, entry["scores"]):
            self.assertAlmostEqual(a, b, delta=1e-5)
        self.assertEqual(sum((s >= 0.5) == (row[1] == "1") for s, row in zip(scores, rows)) / len(rows), entry["accuracy"])
        kept = program("score_pairs", "--model", self.trained, "--format", "csv", "--keep", "id", text="id,text\n7,good film\n").stdout
        self.assertEqual(kept.splitlines()[0], "id\tscore")
        self.assertEqual(kept.splitlines()[1].split("\t")[0], "7")
        self.assertEqual(program("compare", "--result", f"a={self.folder}/e.json", "--baseline", "a", "--output", self.folder / "c.json").returncode, 0)

    def test_report(self):
        out = self.folder / "report"
        done = program("report", "--model", self.trained, "--test", self.folder / "test.tsv", "--noise", "0,50", "--typo-mode", "love", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (out / "index.html").read_text()
        for part in ("Test texts", "Text: ", "class 1", "accuracy"):
            self.assertIn(part, page)
        for part in ("pairs", "Right: ", "no match"):
            self.assertNotIn(part, page)
        self.refused(2, program("report", "--model", self.trained, "--pair", "a", "b", "--out", out), "--pair: the models read single texts")
        self.refused(2, program("report", "--model", self.trained, "--test", self.folder / "test.tsv", "--word", "film", "--out", out), "--word: the models read single texts")
        texts_and_pairs = self.folder / "matcher"
        (self.folder / "pairs.tsv").write_text(pairs(20, 1))
        done = program("train_matcher", *self.command(texts_and_pairs, "--max-steps", 1)[:2], "--train", self.folder / "pairs.tsv", "--valid", self.folder / "pairs.tsv", "--out",
                       texts_and_pairs, "--max-steps", 1, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refused(2, program("report", "--model", texts_and_pairs, "--model", self.trained, "--out", out), "another number of texts")

    def test_resume_and_threads_give_the_same_bytes(self):
        whole, out = self.folder / "whole", self.folder / "broken"
        options = ("--augment", "--typo-mode", "love", "--save-steps", 2)
        self.assertEqual(self.train(whole, *options, "--threads", 2).returncode, 0)
        start_and_signal([BIN / "lexformer", "train_text", *self.command(out, *options)], out / "checkpoint-4", 0.05, signal.SIGKILL)
        done = self.train(out, *options, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((out / "model.lxf").read_bytes(), (whole / "model.lxf").read_bytes())
        (self.folder / "other.tsv").write_text(texts(120, 9))
        self.refused(2, self.train(out, *options, "--resume", train="other.tsv"), "train")

    def test_three_classes_a_regression_and_a_header(self):
        rows = [line.split("\t") for line in texts(30, 4).splitlines()]
        named, numbers = self.folder / "named.csv", self.folder / "numbers.jsonl"
        named.write_text("label,sentence\n" + "".join(f"{['no', 'so-so', 'yes'][i % 3]},{text}\n" for i, (text, _) in enumerate(rows)))
        numbers.write_text("".join(json.dumps({"text": text, "label": i / 4}) + "\n" for i, (text, _) in enumerate(rows)))
        for file, metric, more in ((named, "accuracy", ["--labels", "no,so-so,yes"]), (numbers, "spearman", ["--task", "regression"])):
            out = self.folder / metric
            done = program("train_text", "--model", self.model, "--train", file, "--valid", file, "--test", file, "--out", out, "--max-steps", 3, "--quiet", *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(metric, done.stdout)
            self.assertEqual(program("evaluate", "--model", out, "--test", file).returncode, 0)

    def test_refusals(self):
        for term in ("lea", "uerbert"):
            self.refused(2, self.train(self.folder / "no", "--attention", term), f"the attention term '{term}' compares the words of two texts")
        self.refused(2, self.train(self.folder / "no", "--columns", "a,b,c"), "3 columns are named, expected 2 (text, label)")
        self.refused(2, self.train(self.folder / "no", "--max-length", 2), "leaves no room for a text; the least is 3")
        (self.folder / "one.tsv").write_text("good\n")
        self.refused(3, self.train(self.folder / "no", train="one.tsv"), "one.tsv: line 1: the table has 1 column; column 2 (label) is missing")
        (self.folder / "pairs.tsv").write_text(pairs(20, 1))
        self.refused(3, program("evaluate", "--model", self.trained, "--test", self.folder / "pairs.tsv"), "pairs.tsv: line 1, column 2: unknown label")

    def test_typos_of_love(self):
        text = "".join(f"{line}\n" for line in texts(200, 5).splitlines())
        changed = program("add_typos", "--mode", "love", "--share", 0.5, "--columns", 1, text=text)
        self.assertEqual(changed.returncode, 0, changed.stderr)
        words = different = 0
        for before, after in zip(text.splitlines(), changed.stdout.splitlines()):
            self.assertEqual(before.split("\t")[1], after.split("\t")[1])
            old, new = before.split("\t")[0].split(" "), after.split("\t")[0].split(" ")
            self.assertEqual(len(old), len(new))
            for a, b in zip(old, new):
                if len(a) < 4:
                    self.assertEqual(a, b)
                words += len(a) >= 4
                different += a != b
        self.assertLess(abs(different / words - 0.5), 0.06)
        self.refused(2, program("add_typos", "--mode", "love", "--respace", text="a\n"), "mode love")


if __name__ == "__main__":
    unittest.main()
