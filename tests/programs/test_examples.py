# SPDX-License-Identifier: MIT
"""The programs of examples/ as a user runs them, on small data. What they write is compared with what the commands of lexformer make of the same
input."""
import csv
import os
import random
import shutil
import tempfile
import unittest
from pathlib import Path

from support import BIN, BRANDS, KINDS, Refusals, pairs, program, run, start_model, write


class Examples(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        cls.train = cls.folder / "train.tsv"
        cls.train.write_text(pairs(60, 1))
        cls.valid = cls.folder / "valid.tsv"
        cls.valid.write_text(pairs(30, 2))
        cls.unlabelled = "".join(line.rsplit("\t", 1)[0] + "\n" for line in pairs(8, 3).splitlines())
        cls.model = start_model(cls.folder, cls.train)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def example(self, name, *arguments, **more):
        done = run([BIN / name], *arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def trained(self, name, rows, *more):
        """A model trained for a few steps on pairs whose labels are these."""
        lines = [line.rsplit("\t", 1)[0] for line in pairs(len(rows), 4).splitlines()]
        table = self.folder / f"{name}.tsv"
        table.write_text("".join(f"{line}\t{label}\n" for line, label in zip(lines, rows)))
        out = self.folder / name
        done = program("train_matcher", "--model", self.model, "--train", table, "--valid", table, "--max-steps", 4, "--out", out, "--quiet", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def test_scoring_a_pair(self):
        pair = ("halvek lcd tv a100", "halvek lcd tv a10")
        for name, rows, more, words in (("binary", [0, 1] * 12, (), ("probability of a match",)),
                                        ("classes", ["no", "part", "same"] * 8, ("--labels", "no,part,same"), ("class", "probability")),
                                        ("numbers", [0.5, 2, 3.25, 5] * 6, ("--task", "regression"), ("value",))):
            model = self.trained(name, rows, *more)
            shown = self.example("04_model", model / "model.lxf", *pair)
            scored = program("score_pairs", "--model", model, text="\t".join(pair) + "\n").stdout.strip()
            for word in words:
                self.assertIn(word, shown)
            if name == "classes":
                self.assertEqual(shown.split()[1], scored.strip() + ",")
                continue
            number = float(shown.removeprefix(words[0]).split()[0].rstrip(":"))
            self.assertAlmostEqual(number, float(scored), delta=1e-4)
            if name == "binary":
                threshold = float(shown.split()[-1].rstrip(")"))
                self.assertIn(": match" if float(scored) >= threshold else ": no match", shown)
        self.refused(3, run([BIN / "04_model"], self.folder / "none.lxf", *pair), "none.lxf")
        self.refused(2, run([BIN / "04_model"]), "usage: 04_model")

    def test_an_attention_term(self):
        shown = self.example("05_attention_term", env={**os.environ, "TMPDIR": str(self.folder)})
        for part in ("equal after loading: yes", "the attention term 'nearness' is not known", "gradients of 2 slopes: correct"):
            self.assertIn(part, shown)
        for name, arguments in (("score_pairs", []), ("evaluate", ["--test", self.train])):
            self.refused(3, program(name, "--model", self.folder / "nearness.lxf", *arguments, text=self.unlabelled),
                         "the attention term 'nearness' is not known; this program has: alibi")

    def test_wrong_terms_of_train_matcher(self):
        command = ("--model", self.model, "--train", self.train, "--valid", self.train, "--out", self.folder / "x")
        unknown = program("train_matcher", "--attention", "lea,nearness", *command)
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("nearness", unknown.stderr)
        idle = program("train_matcher", "--lea-levels", 5, *command)
        self.assertEqual(idle.returncode, 2)
        self.assertIn("add it: --attention lea", idle.stderr)

    def test_another_task(self):
        self.assertIn("mean squared error", self.example("06_own_task", self.model, self.folder / "words"))

    def test_matching_tables(self):
        rng = random.Random(5)
        names = [f"{rng.choice(BRANDS)} {rng.choice(KINDS)} {rng.choice('abcdk')}{rng.randrange(1000, 9999)}" for _ in range(40)]
        a, b = self.folder / "a.csv", self.folder / "b.csv"
        write(a, ("id", "name"), [(f"a{i}", name) for i, name in enumerate(names)])
        write(b, ("id", "name"), [(f"b{i}", name[:-6] + name[-5:]) for i, name in enumerate(names[:30])])
        found = [line.split("\t") for line in self.example("07_match_tables", a, b).splitlines()]
        done = program("match", a, b, "--out", self.folder / "matches.csv", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / "matches.csv", newline="", encoding="utf-8") as file:
            matches = {(row["left_id"], row["right_id"]) for row in csv.DictReader(file) if row["match"] == "1"}
        self.assertEqual({(left, right) for left, right, _ in found}, matches)
        self.assertGreater(sum(left[1:] == right[1:] for left, right, _ in found), 25)
        self.refused(3, run([BIN / "07_match_tables"], a, self.folder / "none.csv"), "none.csv")

    def test_training_with_lea(self):
        out = self.folder / "lea"
        shown = self.example("08_train_lea", self.model, self.train, self.valid, out)
        done = program("evaluate", "--model", out / "model.lxf", "--test", self.valid)
        self.assertEqual(done.returncode, 0, done.stderr)
        f1 = float(shown.split("F1 ")[1].split(",")[0])
        self.assertIn(f"{100 * f1:.1f}", done.stdout)
        self.assertIn("probability of a match", self.example("04_model", out / "model.lxf", "halvek lcd tv", "halvek lcd tv"))
        self.refused(3, run([BIN / "08_train_lea"], self.model, self.train, self.folder / "none.tsv", out), "none.tsv")

    def test_pre_training(self):
        rng, text = random.Random(1), self.folder / "text.txt"
        text.write_text("".join(f"the {rng.choice(KINDS)} by {rng.choice(BRANDS)} comes with a case and a {rng.choice(KINDS)}\n" for _ in range(60)))
        shown = self.example("09_pretrain_mth", text, self.folder / "mth")
        before, after = (float(line.split("tokens ")[1].split(",")[0]) for line in shown.splitlines()[:2])
        self.assertLess(after, before)
        self.assertIn("model.lxf: loss ", shown)
        done = program("fill_mask", "--model", self.folder / "mth" / "model.lxf", text="the [MASK] by halvek\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refused(3, run([BIN / "09_pretrain_mth"], self.folder / "none.txt", self.folder / "y"), "none.txt")

    def test_nearest_words_of_a_misspelled_one(self):
        rng = random.Random(1)
        words = sorted({rng.choice(["halv", "lumen", "tavi", "zentr", "kelv"]) + rng.choice(["ek", "or", "on", "el", "ora"]) for _ in range(60)})
        vectors, model = self.folder / "vectors.txt", self.folder / "love.lxf"
        vectors.write_text("".join(f"{word} {' '.join(f'{rng.gauss(0, 1):.4f}' for _ in range(16))}\n" for word in words))
        shown = [line.split("\t") for line in self.example("10_love", vectors, model, "lumenro").splitlines()]
        self.assertEqual(len(shown), 5)
        self.assertTrue({word for word, _ in shown} <= set(words))
        done = program("impute", "--model", model, "--targets", vectors, "--nearest", 5, text="lumenro\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word, _ in shown:
            self.assertIn(word, done.stdout)
        self.refused(3, run([BIN / "10_love"], self.folder / "none.txt", model, "x"), "none.txt")


if __name__ == "__main__":
    unittest.main()
