# SPDX-License-Identifier: MIT
"""train_love, impute and --love as a user runs them: what they write, the same bytes for any thread count and after a kill, one clear line
for bad input. Needs the built programs (LEXFORMER_BIN) and nothing but Python's standard library."""
import csv
import json
import math
import random
import shutil
import signal
import tempfile
import unittest
from pathlib import Path

from support import BIN, Refusals, pairs, program, start_and_signal, start_model, write_wordnet

LETTERS = "abcdefghijklmnopqrstuvwxyz"
STEMS = ["halv", "lumen", "tavi", "zentr", "kelv", "nord", "camer", "phon", "micro", "oven"]
ENDINGS = ["ek", "or", "on", "el", "ora", "is", "as", "es"]
WORDS = [stem + ending for stem in STEMS for ending in ENDINGS]


def vectors(words, size, seed=1):
    """A stem and an ending have a vector each; a word's is their sum."""
    rng = random.Random(seed)
    parts = {part: [rng.gauss(0, 1) for _ in range(size)] for part in STEMS + ENDINGS}
    rows = [[a + 0.5 * b for a, b in zip(parts[w[:-len(e)]], parts[e])] for w in words for e in [next(e for e in ENDINGS if w.endswith(e) and w[:-len(e)] in STEMS)]]
    return rows


def text_of(words, rows):
    return f"{len(words)} {len(rows[0])}\n" + "".join(f"{w} {' '.join(f'{x:.6f}' for x in row)}\n" for w, row in zip(words, rows))


class Love(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.targets = cls.folder / "targets.txt"
        cls.targets.write_text(text_of(WORDS, vectors(WORDS, 16)))
        cls.vocab = cls.folder / "vocab.txt"
        cls.vocab.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", *LETTERS, *("##" + c for c in LETTERS), *STEMS]) + "\n")
        cls.first = cls.folder / "first"
        cls.done = cls.train(cls.first)
        assert cls.done.returncode == 0, cls.done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def command(cls, out, *more):
        given = {"--targets": cls.targets, "--vocab": cls.vocab, "--out": out, "--epochs": 12, "--batch": 8, "--lr": "5e-3", "--query-size": 8,
                 "--logging-steps": 20, **dict(zip(more[::2], more[1::2]))}
        return [x for option, value in given.items() if value is not None for x in (option, value) if x != ""]  # None: without the option

    @classmethod
    def train(cls, out, *more):
        return program("train_love", *cls.command(out, *more))

    @staticmethod
    def parameters(run):
        return json.loads((run / "all_results.json").read_text())["parameters"]

    def test_it_learns_and_writes_what_it_says(self):
        results = json.loads((self.first / "all_results.json").read_text())
        self.assertEqual((results["train_samples"], results["eval_words"], results["epoch"]), (80, 80, 12.0))
        self.assertEqual(results["parameters"], 67 * 16 + 16 * 16 * 3 + 2 * 8 * 16 + 16 * 4 + 2 * 8)
        log = [json.loads(line) for line in (self.first / "log.jsonl").read_text().splitlines()]
        self.assertEqual([e["step"] for e in log if "loss" in e], list(range(20, 121, 20)))
        rates = [e["learning_rate"] for e in log if "loss" in e]  # steps 19, 39, ... of epochs of 10 steps
        for k, rate in enumerate(rates):
            self.assertAlmostEqual(rate, 5e-3 * 0.97 ** (2 * k + 1), delta=1e-12)
        measured = [e for e in log if "eval_cosine" in e]
        self.assertEqual(len(measured), 12)
        self.assertGreater(measured[-1]["eval_cosine"], measured[0]["eval_cosine"] + 0.2)
        self.assertGreater(results["eval_typo_top1"], 0.2)  # by chance: 0.0125
        self.assertLess(results["eval_typo_cosine"], results["eval_cosine"])
        self.assertIn("80 words of 16 numbers", self.done.stderr)
        self.assertIn("cosine to the target 0.", self.done.stdout)
        card = (self.first / "README.md").read_text()
        for part in ("vectors of 16 numbers", "targets.txt`: 80 words", "nearest target is the right one", "- num_train_epochs: 12.0 (default 20.0)",
                     "- batches/batch: 8 (default 4)", "train_love --targets"):
            self.assertIn(part, card)

    def test_same_bytes_for_any_number_of_threads_and_after_a_kill(self):
        names = ("model.lxf", "log.jsonl")
        want = [(self.first / name).read_bytes() for name in names]
        for threads in (1, 3):
            out = self.folder / f"threads-{threads}"
            self.assertEqual(self.train(out, "--threads", threads).returncode, 0)
            self.assertEqual([(out / name).read_bytes() for name in names], want)
        rng = random.Random(3)
        for number, sig in enumerate([signal.SIGKILL] * 4 + [signal.SIGINT]):
            out, threads = self.folder / f"killed-{number}", 1 + number % 3
            command = self.command(out, "--save-steps", 7, "--threads", threads)
            start_and_signal([BIN / "lexformer", "train_love", *command], out / "log.jsonl", 0.3 * rng.random(), sig)
            done = self.train(out, "--save-steps", 7, "--threads", 4 - threads, "--resume", "")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([(out / name).read_bytes() for name in names], want, f"after {sig} number {number}")
        self.refused(2, self.train(out, "--resume", "", "--tau", 1), "--tau")
        self.refused(2, self.train(out, "--resume", "", "--quiet", "", "--temperature", 1), "temperature")
        self.refused(2, self.train(out), "--resume", "--overwrite")
        synonyms = self.folder / "synonyms.txt"
        for pair, code in (("halvek halvor", 0), ("halvek halvis", 2)):  # a resumed run has the same synonyms
            synonyms.write_text(pair + "\n")
            done = self.train(self.folder / "synonyms", "--max-steps", 2, "--resume", "", "--quiet", "", "--synonyms", synonyms)
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn("lists_crc32", done.stderr)

    def test_options(self):
        (self.folder / "pairs.txt").write_text("halvek halvor\nlumenas nothing\n")
        for more in (("--synonyms", "none", "--negatives", 0, "--structure", "sequential", "--scale", "sqrt", "--loss", "mse"),
                     ("--synonyms", self.folder / "pairs.txt", "--mode", "pieces", "--buckets", 20, "--loss", "align_uniform", "--precision", "bfloat16"),
                     ("--mode", "characters", "--loss", "cosine", "--schedule", "constant", "--max-words", 20, "--heads", 2, "--layers", 2),
                     ("--rank", 4, "--any-characters", ""),
                     ("--query-size", None, "--encoder", "attention", "--heads", 2, "--layers", 2, "--scale", 3),
                     ("--query-size", None, "--encoder", "cnn"),
                     ("--query-size", None, "--encoder", "rnn", "--layers", 2, "--rank", 4)):
            with self.subTest(more):
                out = self.folder / "options"
                done = self.train(out, "--max-steps", 3, "--overwrite", "", *more)
                self.assertEqual(done.returncode, 0, done.stderr)
                results = json.loads((out / "all_results.json").read_text())
                love, given = results["settings"]["love"], dict(zip(more[::2], more[1::2]))
                self.assertEqual([love[key] for key in ("encoder", "rank", "layers")],
                                 [given.get("--encoder", "pam"), given.get("--rank", 0), given.get("--layers", 1)])
                if more == ("--rank", 4, "--any-characters", ""):  # instead of 67 rows of 16 numbers
                    self.assertEqual(self.parameters(self.first) - results["parameters"], 67 * 16 - (67 + 16) * 4)
                imputed = program("impute", "--model", out, text="halvec\n")
                self.assertEqual(imputed.returncode, 0, imputed.stderr)
                numbers = [float(x) for x in imputed.stdout.splitlines()[1].split()[1:]]
                self.assertEqual(len(numbers), 16)
                self.assertAlmostEqual(math.hypot(*numbers), 1, delta=1e-5)

    def test_impute(self):
        model = self.first / "model.lxf"
        words = ["halvek", "halvrk", "Halvek", "zzz"]
        done = program("impute", "--model", model, text="\n".join(words) + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "4 16")
        self.assertEqual([line.split()[0] for line in lines[1:]], words)
        self.assertEqual(lines[1].split()[1:], lines[3].split()[1:])  # case does not matter
        out = self.folder / "imputed.npy"
        self.assertEqual(program("impute", "--model", model, "--output", out, text="halvek\n").returncode, 0)
        self.assertEqual(out.read_bytes()[-64:], __import__("struct").pack("<16f", *map(float, lines[1].split()[1:])))
        nearest = program("impute", "--model", model, "--nearest", 2, "--targets", self.targets, text="halvek\nlumenor\n").stdout.splitlines()
        self.assertEqual([line.split("\t")[:2] for line in nearest], [["halvek", "1"], ["halvek", "2"], ["lumenor", "1"], ["lumenor", "2"]])
        self.assertEqual(nearest[0].split("\t")[2], "halvek")
        self.assertEqual(nearest[2].split("\t")[2], "lumenor")
        for code, done, *parts in ((3, program("impute", "--model", model, text=""), "standard input: is empty"),
                                   (3, program("impute", "--model", model, text="a\n\nb\n"), "line 2", "the word is empty"),
                                   (3, program("impute", "--model", model, text="two words\n"), "line 1", "'two words' has a space"),
                                   (3, program("impute", "--model", self.vocab, text="a\n"), "vocab.txt"),
                                   (2, program("impute", "--model", model, "--nearest", 2, text="a\n"), "--targets")):
            self.refused(code, done, *parts)

    def test_report_words(self):
        out = self.folder / "words"
        done = program("report_words", "--model", self.first, "--targets", self.targets, "--words", "halvek,halvor,halvrk,lumenek", "--attention", "halvrk",
                       "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (out / "index.html").read_text()
        for part in ("halvrk", "Nearest known words", "positional attention", "self-attention", "of the variance", "report_words --model"):
            self.assertIn(part, page)
        points = [line.split(",") for line in (out / "components.csv").read_text().splitlines()]
        self.assertEqual([(p[0], p[3]) for p in points], [("word", "known"), ("halvek", "1"), ("halvor", "1"), ("halvrk", "0"), ("lumenek", "1")])
        weights = [line.split(",") for line in (out / "attention-1.csv").read_text().splitlines()[1:]]
        units = math.isqrt(len(weights) // 2)
        self.assertEqual(len(weights), 2 * units * units)
        for kind in ("positional attention", "self-attention"):
            self.assertAlmostEqual(sum(float(w[4]) for w in weights if w[1] == kind), units, delta=1e-4)  # each row sums to 1
        # Only LOVE's encoder pam has attention to draw.
        known, encoder = self.folder / "known", self.folder / "cnn"
        self.assertEqual(program("train_imputer", "--method", "edit_distance", "--targets", self.targets, "--out", known).returncode, 0)
        self.assertEqual(self.train(encoder, "--query-size", None, "--encoder", "cnn", "--max-steps", 1).returncode, 0)
        for model, found in ((known, "'edit_distance'"), (encoder, "encoder cnn"), (self.folder / "fasttext.bin", "fastText")):
            self.refused(2, program("report_words", "--model", model, "--words", "a,b,c", "--attention", "halvrk", "--out", out), "--attention: ", found,
                         "train_love --encoder pam")
        for done, *parts in ((program("report_words", "--model", self.first, "--words", "a,b", "--out", out), "--words", "at least 3 words, got 2"),
                             (program("report_words", "--model", self.first, "--words", "a,b c,d", "--out", out), "--words", "has a space"),
                             (program("report_words", "--model", self.first, "--words", "a,b,c", "--out", out, "--word-list", self.vocab), "--word-list", "--targets")):
            self.refused(2, done, *parts)

    def test_bad_input_of_train_love(self):
        bad = self.folder / "bad.txt"
        out = self.folder / "refused"
        for text, *parts in (("halvek 1 2\nhalvor 1\n", "bad.txt: line 2", "expected 2 numbers", "found 1"), ("a nan 1\n", "line 1", "'nan'"),
                             ("a 0 0\n", "all vectors are zero"), ("3 2\na 1 2\n", "line 1", "3 vectors", "the file has 1")):
            bad.write_text(text)
            self.refused(3, self.train(out, "--quiet", "", "--targets", bad), *parts)
        bad.write_text("a1 1 2 3 4 5 6 7 8\n3 3 4 5 6 7 8 9 9\n")
        self.refused(2, self.train(out, "--quiet", "", "--targets", bad), "none of the 2 words", "--all-words")
        # Without --quiet: the refusal is the only line, so it comes before the search for near words.
        self.refused(2, self.train(out, "--negatives", 80), "--negatives: is 80", "only 79 other words")
        self.refused(2, self.train(out, "--swap", 0.9, "--drop", 0.9), "--swap, --drop, --insert, --keyboard and --synonym add up to 2.3")
        bad.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n")
        self.refused(3, self.train(out, "--quiet", "", "--vocab", bad), "bad.txt", "[SUB]", "make_love_vocab.py")
        bad.write_text("one\n")
        self.refused(3, self.train(out, "--quiet", "", "--synonyms", bad), "bad.txt: line 1", "two words")
        self.refused(2, self.train(out, "--quiet", "", "--synonyms", "wordnet", "--wordnet", self.folder), "data.noun", "is missing")

    def test_sizes_that_do_not_fit(self):
        """The messages name options of the command line."""
        out, odd, few = self.folder / "refused", self.folder / "odd.txt", self.folder / "few-numbers.txt"
        for file, size in ((odd, 15), (few, 4)):
            file.write_text(text_of(WORDS, vectors(WORDS, size)))
        for more, *parts in ((("--heads", 3), "--heads: ", "16 numbers", "--encoder pam with 3 heads needs a multiple of 6"),
                             (("--query-size", None, "--encoder", "attention", "--heads", 3), "--heads: ", "needs a multiple of 3"),
                             (("--targets", odd), "--targets: ", "odd.txt has vectors of 15 numbers", "--encoder pam needs an even number"),
                             (("--targets", odd, "--query-size", None, "--encoder", "rnn"), "--targets: ", "--encoder rnn needs an even number"),
                             (("--targets", few), "--query-size: is 8", "few-numbers.txt has vectors of 4 numbers", "at most 4"),
                             (("--targets", few, "--query-size", None), "--query-size: is 32", "at most 4"),
                             (("--heads", 2, "--query-size", 7), "--query-size: is 7", "a multiple of --heads (2)"),
                             (("--rank", 17), "--rank: is 17", "16 numbers"), (("--scale", "half"), "--scale: ", "'half'", "quarter, sqrt or a number")):
            with self.subTest(more):
                self.refused(2, self.train(out, *more), *parts)

    def test_options_without_effect_are_refused(self):
        out, cnn, rnn = self.folder / "refused", ("--query-size", None, "--encoder", "cnn"), ("--query-size", None, "--encoder", "rnn")
        for more, message in ((("--encoder", "cnn"), "--query-size: belongs to --encoder pam, not cnn"),
                              ((*cnn, "--structure", "sequential"), "--structure: belongs to --encoder pam, not cnn"),
                              ((*cnn, "--scale", 3), "--scale: belongs to --encoder pam or attention, not cnn"),
                              ((*cnn, "--layers", 2), "--layers: belongs to --encoder pam, attention or rnn, not cnn"),
                              ((*rnn, "--heads", 2), "--heads: belongs to --encoder pam or attention, not rnn"),
                              (("--loss", "cosine", "--temperature", 3), "--temperature: belongs to --loss nt_xent, not cosine"),
                              (("--lambda", 3), "--lambda: belongs to --loss align_uniform, not nt_xent"),
                              (("--synonyms", "none", "--synonym-cosine", 0.9), "--synonym-cosine: belongs to --synonyms targets, not none"),
                              (("--synonyms", "none", "--synonym", 0.2), "--synonym: belongs to --synonyms targets, wordnet or a file, not none"),
                              (("--synonyms", "none", "--wordnet", "x"), "--wordnet: belongs to --synonyms wordnet, not none"),
                              (("--wordnet", "x"), "--wordnet: belongs to --synonyms wordnet, not targets"),
                              (("--negatives", 0, "--near-count", 9), "--near-count: belongs to --negatives 1 or more, not 0"),
                              (("--insert", 0, "--keyboard", 0, "--any-characters", ""), "--any-characters: belongs to --insert or --keyboard above 0")):
            with self.subTest(message):
                self.refused(2, self.train(out, *more), message)

    def test_synonyms_of_wordnet(self):
        """They are those of a file that pairs the same words: the lists are equal."""
        wordnet, pair, lists = self.folder / "wordnet", self.folder / "wordnet.txt", []
        write_wordnet(wordnet, ["halvek Halvor other_word", "lumenek"])
        pair.write_text("halvek halvor\n")
        for number, more in enumerate((("--synonyms", "wordnet", "--wordnet", wordnet), ("--synonyms", pair), ("--synonyms", "none"))):
            out = self.folder / f"synonyms-{number}"
            done = self.train(out, "--max-steps", 5, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"; {0 if number == 2 else 2} have synonyms", done.stderr)
            lists.append(json.loads((out / "all_results.json").read_text())["settings"]["lists_crc32"])
        self.assertEqual(lists[0], lists[1])
        self.assertNotEqual(lists[0], lists[2])

    def test_plugged_into_a_matcher(self):
        train = self.folder / "train.tsv"
        train.write_text(pairs(60, 1))
        start = start_model(self.folder, train)
        common = ["--model", start, "--train", train, "--valid", train, "--max-steps", 6, "--logging-steps", 1, "--quiet"]
        for more in ((), ("--love-mode", "add", "--love-rescale", "mean_norm"), ("--love-mode", "linear", "--love-train"), ("--attention", "lea", "--love-unk", "--love-keep-digits")):
            with self.subTest(more):
                one, two, again = (self.folder / f"{name}" for name in ("one", "two", "again"))
                for out, threads in ((one, 1), (two, 2)):
                    done = program("train_matcher", *common, "--out", out, "--overwrite", "--threads", threads, "--love", self.first, *more)
                    self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((one / "model.lxf").read_bytes(), (two / "model.lxf").read_bytes())
                shutil.rmtree(again, ignore_errors=True)
                command = [*common, "--out", again, "--love", self.first, *more, "--save-steps", 2]
                start_and_signal([BIN / "lexformer", "train_matcher", *command], again / "checkpoint-2", 0, signal.SIGKILL)
                self.assertEqual(program("train_matcher", *command, "--resume").returncode, 0)
                self.assertEqual((one / "model.lxf").read_bytes(), (again / "model.lxf").read_bytes())
                settings = json.loads((one / "all_results.json").read_text())["settings"]
                self.assertEqual(settings["love"]["mode"], "replace" if "--love-mode" not in more else more[1])
                self.assertEqual(settings["love"]["keep_digits"], "--love-keep-digits" in more)
        # A model that was trained without it, and a trained plug that needs no file.
        plain = self.folder / "plain"
        self.assertEqual(program("train_matcher", *common, "--out", plain).returncode, 0)
        rows = "halvekk oven\thalvek oven\t1\n"
        scores = [program("score_pairs", *args, text=rows) for args in (("--model", plain), ("--model", plain, "--love", self.first), ("--model", one))]
        for done in scores:
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len({done.stdout for done in scores}), 3)
        done = program("evaluate", "--model", plain, "--love", self.first, "--test", train)
        self.assertEqual(done.returncode, 0, done.stderr)
        # In a report, all seeds get what the shown one gets.
        seeds = self.folder / "seeds"
        self.assertEqual(program("train_matcher", *common, "--seeds", "1,2", "--out", seeds).returncode, 0)
        done = program("report", "--model", seeds, "--love", self.first, "--test", train, "--noise", 0, "--out", self.folder / "report")
        self.assertEqual(done.returncode, 0, done.stderr)
        f1 = []
        for seed in (1, 2):
            done = program("evaluate", "--model", seeds / f"seed-{seed}", "--love", self.first, "--test", train, "--output", self.folder / "e.json")
            f1.append(json.loads((self.folder / "e.json").read_text())["test"][0]["f1"])
        noise = list(csv.DictReader((self.folder / "report/noise.csv").read_text().splitlines()))
        self.assertAlmostEqual(float(noise[0]["y"]), 50 * sum(f1), places=3)
        npy = self.folder / "x.npy"
        lengths = []
        for more in ((), ("--love", self.first)):
            self.assertEqual(program("encode", "--model", start, "--pool", "none", "--output", npy, *more, text="halvekk oven\n").returncode, 0)
            lengths.append(len(npy.read_bytes()))
        self.assertLess(lengths[1], lengths[0])  # one token for each word
        self.refused(2, program("evaluate", "--model", plain, "--love-mode", "add", "--test", train), "--love-mode", "needs --love")
        self.refused(2, program("evaluate", "--model", one, "--love", self.first, "--test", train), "has 'love' plugged in already")
        self.refused(2, program("evaluate", "--model", plain, "--love", self.first / "model.lxf", "--test", train, "--output", self.first / "model.lxf"), "--output")
        small = self.folder / "small"
        (self.folder / "small.txt").write_text(text_of(WORDS, vectors(WORDS, 8)))
        self.assertEqual(self.train(small, "--targets", self.folder / "small.txt", "--max-steps", 1).returncode, 0)
        self.refused(2, program("evaluate", "--model", plain, "--love", small, "--test", train), "16 numbers", "8", "train_love with the targets")


if __name__ == "__main__":
    unittest.main()
