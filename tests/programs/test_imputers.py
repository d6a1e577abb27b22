# SPDX-License-Identifier: MIT
"""train_imputer as a user runs it, and its models in the programs that read models of words. Needs the built programs (LEXFORMER_BIN) and
nothing but Python's standard library."""
import json
import math
import shutil
import signal
import struct
import tempfile
import unittest
from pathlib import Path

from support import BIN, Refusals, program, start_and_signal
from test_love import LETTERS, STEMS, WORDS, text_of, vectors

TRAINED = {"mimick": ("--unit-size", 8, "--states", 6), "bos": (), "kvq_fh": ("--kvq-fh-rows", 300, "--kvq-fh-known", 500)}


class Imputers(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        cls.rows = vectors(WORDS, 16)
        cls.targets = cls.folder / "targets.txt"
        cls.targets.write_text(text_of(WORDS, cls.rows))
        cls.vocab = cls.folder / "vocab.txt"
        cls.vocab.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", *LETTERS, *("##" + c for c in LETTERS), *STEMS]) + "\n")
        cls.typos = cls.folder / "typos.txt"
        cls.typos.write_text("halvekk\thalvek\n")
        cls.results = {}
        for method in (*TRAINED, "edit_distance"):
            done = cls.train(method)
            assert done.returncode == 0, done.stderr
            cls.results[method] = done

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def command(cls, method, out=None, *more):
        vocab = ("--vocab", cls.vocab) if method == "mimick" else ()
        trained = ("--batch", 8, "--epochs", 15, "--lr", "2e-2", "--logging-steps", 20) if method in TRAINED else ()
        return ["--method", method, "--targets", cls.targets, "--out", out or cls.folder / method, *vocab, *TRAINED.get(method, ()), *trained, *more]

    @classmethod
    def train(cls, method, out=None, *more):
        return program("train_imputer", *cls.command(method, out, *more))

    def test_each_method_learns(self):
        pieces = 67 * 8 + 2 * (24 * 8 + 24 * 6 + 48) + 16 * 12 + 16 + 16 * 16 + 16
        substrings = {f"<{w}>"[i:i + n] for w in WORDS for n in range(3, 7) for i in range(len(w) + 3 - n)}
        counts = {"mimick": pieces, "bos": 16 * (1 + len(substrings)), "kvq_fh": 16 * 300}
        for method, count in counts.items():
            with self.subTest(method):
                results = json.loads((self.folder / method / "all_results.json").read_text())
                self.assertEqual((results["train_samples"], results["epoch"], results["parameters"]), (80, 15, count))
                log = [json.loads(line) for line in (self.folder / method / "log.jsonl").read_text().splitlines()]
                measured = [e["eval_cosine"] for e in log if "eval_cosine" in e]
                self.assertEqual(len(measured), 15)
                self.assertGreater(measured[-1], measured[0] + 0.05)
                self.assertGreater(measured[-1], 0.6)
                self.assertGreater(results["eval_typo_top1"], 0.1)  # by chance: 0.0125
                self.assertIn("cosine to the target 0.", self.results[method].stdout)
                card = (self.folder / method / "README.md").read_text()
                for part in ("vectors of 16 numbers", "targets.txt`: 80 words of 16 numbers", f"train_imputer --method {method}", "- batch: 8 (default 32)"):
                    self.assertIn(part, card)

    def test_same_bytes_for_any_number_of_threads_and_after_a_kill(self):
        names = ("model.lxf", "log.jsonl")
        for number, method in enumerate(TRAINED):
            want = [(self.folder / method / name).read_bytes() for name in names]
            out = self.folder / "again"
            for threads in (1, 3):
                self.assertEqual(self.train(method, out, "--overwrite", "--threads", threads).returncode, 0)
                self.assertEqual([(out / name).read_bytes() for name in names], want, method)
            shutil.rmtree(out)
            command = self.command(method, out, "--save-steps", 7)
            start_and_signal([BIN / "lexformer", "train_imputer", *command], out / "log.jsonl", 0.02 * number, signal.SIGKILL)
            done = program("train_imputer", *command, "--resume")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([(out / name).read_bytes() for name in names], want, method)
            self.refused(2, program("train_imputer", *command, "--resume", "--batch", 9), "batch")

    def test_models_in_impute_and_evaluate_words(self):
        pairs = self.folder / "pairs.tsv"
        pairs.write_text("".join(f"{a}\t{b}\t{sum(x * y for x, y in zip(r, s)) / math.hypot(*r) / math.hypot(*s)}\n"
                                 for a, r, b, s in zip(WORDS, self.rows, WORDS[9:], self.rows[9:])))
        for method in (*TRAINED, "edit_distance"):
            with self.subTest(method):
                model = self.folder / method
                lines = program("impute", "--model", model, text="halvek\nhalvexk\nHalvek\n").stdout.splitlines()
                self.assertEqual(lines[0], "3 16")
                self.assertEqual(lines[1].split()[1:], lines[3].split()[1:])
                nearest = program("impute", "--model", model, "--nearest", 1, "--targets", self.targets, text="lumenorr\n").stdout.split("\t")
                self.assertIn("lumen", nearest[2])
                out = self.folder / "out.json"
                done = program("evaluate_words", "--imputer", model, "--imputer-only", "--similarity", pairs, "--output", out)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreater(json.loads(out.read_text())["similarity"][0]["on_all"]["spearman"], 50)

    def test_stored_settings_are_checked(self):
        for method, part, key, value, message in (
                ("mimick", "mimick", "states", 0, "'states' is 0"), ("mimick", "mimick", "layers", 2, "'layers'"), ("mimick", "units", "mode", "words", "'words'"),
                ("bos", "bos", "shortest", 9, "shortest"), ("kvq_fh", "kvq_fh", "rows", 301, "(300, 16)"), ("kvq_fh", "kvq_fh", "known", -1, "'known' is -1"),
                ("edit_distance", "edit_distance", "size", 3, "'size'")):
            with self.subTest(method + ": " + key):
                good = (self.folder / method / "model.lxf").read_bytes()
                size = 8 + struct.unpack("<Q", good[:8])[0]
                header = json.loads(good[8:size])
                config = json.loads(header["__metadata__"]["lexformer.config"])
                config["lexformer"][part][key] = value
                header["__metadata__"]["lexformer.config"] = json.dumps(config)
                text = json.dumps(header).encode()
                damaged = self.folder / "stored.lxf"
                damaged.write_bytes(struct.pack("<Q", len(text)) + text + good[size:])
                self.refused(3, program("impute", "--model", damaged, text="halvek\n"), "stored.lxf", message)

    def test_bos(self):
        # No substring of a word is known: a warning; no line of text, which other programs would refuse, no neighbours, zeros in .npy.
        texts, model, out = "qqqq\nhalvek\nx\n", self.folder / "bos", self.folder / "imputed.txt"
        warning = "warning: 2 of 3 words have no vector, because the model knows no part of them; "
        done = program("impute", "--model", model, text=texts)
        self.assertEqual((done.returncode, done.stderr), (0, warning + "they are left out\n"))
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], ["1", "halvek"])
        self.assertEqual(program("impute", "--model", model, "--output", out, text=texts).stderr, f"{warning}they are left out\n{out}: 1 words\n")
        self.assertEqual(out.read_text(), done.stdout)
        done = program("evaluate_words", "--vectors", out, "--imputer", model, "--misspellings", self.typos)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = program("impute", "--model", model, "--nearest", 1, "--targets", self.targets, text=texts)
        self.assertEqual([line.split("\t")[0] for line in done.stdout.splitlines()], ["halvek"])
        self.assertEqual(done.stderr, warning + "they are left out\n")
        out = self.folder / "imputed.npy"
        done = program("impute", "--model", model, "--output", out, text=texts)
        self.assertEqual(done.stderr, f"{warning}their rows are zeros\n{out}: 3 words\n")
        rows = struct.unpack("<48f", out.read_bytes()[-192:])
        self.assertEqual([any(rows[16 * i:16 * i + 16]) for i in range(3)], [False, True, False])
        done = program("impute", "--model", model, text="x\n")
        self.assertEqual((done.returncode, done.stdout), (0, "0 16\n"))
        out = self.folder / "hashed"
        self.assertEqual(self.train("bos", out, "--bos-buckets", 50, "--precision", "bfloat16", "--max-steps", 5).returncode, 0)
        self.assertEqual(json.loads((out / "all_results.json").read_text())["parameters"], 50 * 16)

    def test_edit_distance(self):
        model = self.folder / "edit_distance"
        self.assertIn("80 known words of 16 numbers", self.results["edit_distance"].stdout)
        self.assertIn("nothing is trained", (model / "README.md").read_text())
        results = json.loads((model / "all_results.json").read_text())
        self.assertEqual((results["known_words"], sorted(results["settings"])), (80, ["method", "targets"]))
        text = "halvex\ncamera\n"  # halvek is the first of three at distance 1; cameras
        lines = program("impute", "--model", model, text=text).stdout.splitlines()
        for line, row in zip(lines[1:], (self.rows[WORDS.index("halvek")], self.rows[WORDS.index("cameras")])):
            for found, expected in zip(line.split()[1:], row):
                self.assertAlmostEqual(float(found), expected, delta=1e-5)
        few = self.folder / "few"
        self.assertIn("3 known words", self.train("edit_distance", few, "--max-words", 3).stdout)

    def test_refusals(self):
        out = self.folder / "refused"
        self.refused(2, self.train("bos", out, "--states", 5), "--states: belongs to --method mimick, not bos")
        self.refused(2, self.train("edit_distance", out, "--bos-buckets", 5), "--bos-buckets: belongs to --method bos")
        for option in (("--lr", 3), ("--batch", 8), ("--seed", 2), ("--logging-steps", 9), ("--precision", "bfloat16")):  # nothing is trained
            self.refused(2, self.train("edit_distance", out, *option), f"{option[0]}: belongs to --method mimick, bos or kvq_fh, not edit_distance")
        self.refused(2, self.train("bos", out, "--bos-shortest", 7), "shortest is 7, more than longest, 6")
        self.refused(2, program("train_imputer", "--method", "mimick", "--targets", self.targets, "--out", out), "--vocab: is missing")
        self.refused(2, self.train("other", out), "'other'", "mimick, bos, kvq_fh, edit_distance")
        self.refused(2, self.train("bos"), "--resume", "--overwrite")
        bad = self.folder / "bad.txt"
        bad.write_text("halvek 1 2\nhalvor 1\n")
        self.refused(3, program("train_imputer", "--method", "edit_distance", "--targets", bad, "--out", out), "bad.txt: line 2")


if __name__ == "__main__":
    unittest.main()
