# SPDX-License-Identifier: MIT
"""train_tagger and tag as a user runs them: what they learn and write, the same bytes for any thread count and after a kill, one clear line
for bad input. Needs the built programs (LEXFORMER_BIN) and nothing but Python's standard library."""
import json
import random
import shutil
import signal
import tempfile
import unittest
from pathlib import Path

from support import BIN, Refusals, program, start_and_signal, start_model

FIRST, LAST = ["anna", "boris", "carla", "dmitri", "emil"], ["smith", "novak", "lind", "rossi"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
CITIES, VERBS, OTHERS = ["oslo", "lima", "kyoto", "turin"], ["visits", "leaves", "likes"], ["today", "often", "the", "museum", "and"]


def sentences(count, seed, style="\t"):
    """Persons of one or two words and cities, with `new` before some; columns as in the style."""
    rng, text = random.Random(seed), []
    for _ in range(count):
        words = [(rng.choice(FIRST).capitalize(), "B-PER")]
        if rng.random() < 0.6:
            words.append((rng.choice(LAST).capitalize(), "I-PER"))
        words.append((rng.choice(VERBS), "O"))
        if rng.random() < 0.5:
            words.append((rng.choice(OTHERS), "O"))
        begins = rng.random() < 0.4
        if begins:
            words.append(("new", "B-LOC"))
        words.append((rng.choice(CITIES), "I-LOC" if begins else "B-LOC"))
        text.append("".join(f"{w}{style}{t}\n" for w, t in words))
    return "\n".join(text)


def vectors(size=12):
    """Random vectors; the words of a list share a part."""
    rng, lines = random.Random(1), []
    for words in (FIRST, LAST, CITIES, VERBS, OTHERS, ["new"]):
        shared = [rng.gauss(0, 1) for _ in range(size)]
        lines += [f"{w} " + " ".join(f"{x + 0.5 * rng.gauss(0, 1):.5f}" for x in shared) for w in words]
    return "\n".join(lines) + "\n"


def pairs_of(text):
    return [tuple(line.split("\t")) for line in text.splitlines() if line.strip()]


class Tagger(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        for name, count, seed in (("train", 80, 1), ("valid", 30, 2), ("test", 40, 3)):
            (cls.folder / f"{name}.conll").write_text(sentences(count, seed))
        cls.vectors = cls.folder / "vectors.txt"
        cls.vectors.write_text(vectors())
        text = cls.folder / "text.txt"
        text.write_text("\n".join(" ".join(w for w, _ in pairs_of(sentences(3, seed))) for seed in range(60)) + "\n")
        cls.model = start_model(cls.folder, text)
        cls.done = {}
        for kind in ("lstm", "bert", "crf"):
            cls.done[kind] = cls.train(kind, cls.folder / kind, "--test", cls.folder / "test.conll")
            assert cls.done[kind].returncode == 0, cls.done[kind].stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def command(cls, kind, out, *more, train="train.conll"):
        own = {"lstm": ("--vectors", cls.vectors, "--states", 8, "--epochs", 6, "--lr", "2e-2"),
               "bert": ("--model", cls.model, "--epochs", 10, "--lr", "1e-2"),
               "crf": ("--model", cls.model, "--crf", "--epochs", 5, "--lr", "1e-2")}[kind]
        return [*own, "--train", cls.folder / train, "--valid", cls.folder / "valid.conll", "--out", out, "--batch", 8, "--logging-steps", 5, "--quiet", *more]

    @classmethod
    def train(cls, kind, out, *more, **options):
        return program("train_tagger", *cls.command(kind, out, *more, **options))

    def tag(self, kind, *more, text=""):
        own = ("--vectors", self.vectors) if kind == "lstm" else ()
        return program("tag", "--model", self.folder / kind, *own, *more, text=text)

    def test_each_kind_learns_and_says_what_it_did(self):
        for kind in self.done:
            with self.subTest(kind):
                results = json.loads((self.folder / kind / "all_results.json").read_text())
                test = results["test"][0]
                self.assertGreater(test["f1"], 0.9)
                self.assertEqual(set(test["types"]), {"LOC", "PER"})
                self.assertEqual(test["entities"], sum(t["entities"] for t in test["types"].values()))
                self.assertEqual(results["train_samples"], 80)
                self.assertEqual(results["settings"]["train"]["sentences"], 80)
                log = [json.loads(line) for line in (self.folder / kind / "log.jsonl").read_text().splitlines()]
                best = max(entry["eval_f1"] for entry in log if "eval_f1" in entry)
                self.assertEqual(results["valid"]["f1"], best)
                lines = self.done[kind].stdout.splitlines()
                self.assertEqual(lines[0].split(), ["precision", "recall", "f1", "entities"])
                self.assertEqual([line.split()[0] for line in lines[2:4]], ["LOC", "PER"])
                self.assertIn(f"{100 * test['f1']:.1f}", lines[4].split())
                card = (self.folder / kind / "README.md").read_text()
                for part in ("# A tagger of 2 types of entities", "Tags: `O` `B-LOC` `I-LOC` `B-PER` `I-PER`", "tag --model model.lxf", "| 80 |",
                             f"| {100 * test['f1']:.1f} |", "- per_device_train_batch_size: 8 (default 32)"):
                    self.assertIn(part, card)
                self.assertEqual("conditional random field" in card, kind != "bert")

    def test_tagging_equals_evaluation(self):
        """The tags that `tag` writes give the rates that the run and `tag --evaluate` report."""
        gold = pairs_of((self.folder / "test.conll").read_text())
        for kind in self.done:
            with self.subTest(kind):
                done = self.tag(kind, text=(self.folder / "test.conll").read_text())
                self.assertEqual(done.returncode, 0, done.stderr)
                found = pairs_of(done.stdout)
                self.assertEqual([w for w, _ in found], [w for w, _ in gold])
                self.assertEqual(done.stdout.count("\n\n"), 40)
                results = json.loads((self.folder / kind / "all_results.json").read_text())["test"][0]
                self.assertAlmostEqual(results["accuracy"], sum(a == b for a, b in zip(found, gold)) / len(gold))
                line = self.tag(kind, "--evaluate", self.folder / "test.conll").stdout.splitlines()[1]
                self.assertEqual(line.split()[1:], [f"{100 * results[key]:.1f}" for key in ("precision", "recall", "f1")] + [str(results["entities"])])
                # Batches and plain lists of words change nothing.
                words = (self.folder / "test.conll").read_text().replace("\tO", "").replace("\tB-PER", "").replace("\tI-PER", "").replace(
                    "\tB-LOC", "").replace("\tI-LOC", "")
                self.assertEqual(self.tag(kind, "--batch", 3, text=words).stdout, done.stdout)

    def test_same_bytes_for_any_number_of_threads_and_after_a_kill(self):
        names = ("model.lxf", "log.jsonl")
        for number, kind in enumerate(("lstm", "crf")):
            want = [(self.folder / kind / name).read_bytes() for name in names]
            out = self.folder / "again"
            for threads in (1, 3):
                options = ["--gradient-checkpointing"] if kind == "crf" and threads == 3 else []
                self.assertEqual(self.train(kind, out, "--overwrite", "--threads", threads, *options).returncode, 0)
                self.assertEqual([(out / name).read_bytes() for name in names], want, kind)
            shutil.rmtree(out)
            command = self.command(kind, out, "--save-steps", 7)
            start_and_signal([BIN / "lexformer", "train_tagger", *command], out / "log.jsonl", 0.03 * number, signal.SIGKILL)
            done = program("train_tagger", *command, "--resume")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([(out / name).read_bytes() for name in names], want, kind)
            self.refused(2, program("train_tagger", *command, "--resume", "--clip", 9), "max_grad_norm")
            shutil.rmtree(out)

    def test_an_imputer_reads_words_with_typos(self):
        imputer = self.folder / "imputer"
        done = program("train_imputer", "--method", "edit_distance", "--targets", self.vectors, "--out", imputer)
        self.assertEqual(done.returncode, 0, done.stderr)
        typos = self.folder / "typos.conll"
        typos.write_text("".join(line.replace("a", "aq", 1).replace("i", "iq", 1) if line.strip() else line
                                 for line in (self.folder / "test.conll").read_text().replace("-", "_").splitlines(keepends=True)).replace("_", "-"))
        alone, helped = (json_of(self.tag("lstm", *more, "--evaluate", typos)) for more in ((), ("--imputer", imputer)))
        self.assertLess(alone, 70)
        self.assertGreater(helped, 90)

    def test_love_is_plugged_in_and_saved(self):
        vocab, love, out = self.folder / "love-vocab.txt", self.folder / "love", self.folder / "with-love"
        vocab.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", *LETTERS, *("##" + c for c in LETTERS)]) + "\n")
        targets = self.folder / "targets.txt"
        targets.write_text(vectors(16))
        done = program("train_love", "--targets", targets, "--vocab", vocab, "--out", love, "--epochs", 1, "--negatives", 0, "--query-size", 8, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.train("bert", out, "--love", love, "--max-steps", 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads((out / "all_results.json").read_text())["settings"]["love"]["mode"], "replace")
        self.assertIn(b"lexformer.love_vocab", (out / "model.lxf").read_bytes()[:1 << 16])
        done = program("tag", "--model", out, text="Anna\nvisits\nOsloxxyz\n")
        self.assertEqual([w for w, _ in pairs_of(done.stdout)], ["Anna", "visits", "Osloxxyz"])

    def test_a_head_for_the_same_labels_is_kept_and_one_for_others_is_new(self):
        out = self.folder / "more"
        done = program("train_tagger", "--model", self.folder / "bert", "--train", self.folder / "train.conll", "--valid", self.folder / "valid.conll",
                       "--out", out, "--lr", 0, "--max-steps", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(": 0 new tensors", done.stderr)
        self.assertGreater(json.loads((out / "all_results.json").read_text())["valid"]["f1"], 0.9)
        other = self.folder / "other.conll"
        other.write_text(sentences(20, 4).replace("-PER", "-PERSON"))
        done = program("train_tagger", "--model", self.folder / "bert", "--train", other, "--valid", other, "--out", out, "--overwrite", "--max-steps", 1)
        self.assertIn(": 2 new tensors (classifier.weight", done.stderr)

    def test_layers_projection_and_spaces_between_columns(self):
        for name in ("train", "valid"):
            (self.folder / f"{name}.spaces").write_text("-DOCSTART- X O\n\n" + sentences(20, 5, " NN "))
        done = program("train_tagger", "--vectors", self.vectors, "--states", 4, "--layers", 2, "--projection", 5, "--zero-digits", "--train",
                       self.folder / "train.spaces", "--valid", self.folder / "valid.spaces", "--out", self.folder / "spaces", "--max-steps", 2, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads((self.folder / "spaces" / "all_results.json").read_text())["train_samples"], 20)

    def test_long_sentences_are_cut_with_a_count(self):
        done = self.train("lstm", self.folder / "cut", "--max-length", 3, "--max-steps", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        words = [len(s.splitlines()) for s in (self.folder / "train.conll").read_text().split("\n\n")]
        self.assertIn(f"train.conll: {sum(n > 3 for n in words)} sentences have more than 3 words; the last {sum(max(0, n - 3) for n in words)} words are not read",
                      done.stderr)
        done = self.train("bert", self.folder / "cut", "--max-length", 5, "--max-steps", 1, "--overwrite")
        self.assertIn("sentences have more than 5 tokens", done.stderr)

    def test_bad_files(self):
        out = self.folder / "refused"
        for content, *parts in (("Anna\tB-PER\nSmith\tX-PER\n", "bad.conll: line 2: the tag 'X-PER' is not BIO; expected O, B-TYPE or I-TYPE"),
                                ("Anna\tB-\n", "bad.conll: line 1: the tag 'B-' is not BIO"),
                                ("Anna\tB-PER\n\nSmith\n", "bad.conll: line 3: expected a word and its tag"),
                                ("", "bad.conll: has no sentences"), ("Anna\tO\n", "bad.conll: has no entities: all tags are O")):
            (self.folder / "bad.conll").write_text(content)
            self.refused(3, self.train("lstm", out, train="bad.conll"), *parts)
        (self.folder / "bad.conll").write_bytes(b"Anna\tB-PER\nSm\xffith\tO\n")
        self.refused(3, self.train("bert", out, train="bad.conll"), "bad.conll: line 2: byte 3 is not UTF-8")
        (self.folder / "bad.conll").write_text("Anna PER\n")
        self.refused(3, self.train("lstm", out, "--test", self.folder / "bad.conll"), "bad.conll: line 1: the tag 'PER'")
        self.refused(3, self.train("lstm", out, train="missing.conll"), "missing.conll")
        self.refused(3, self.tag("lstm", text=""), "standard input: has no sentences")
        self.refused(3, program("tag", "--model", self.model, text="Anna\n"), "start.lxf: has no names of labels ('id2label')")

    def test_wrong_usage(self):
        out = self.folder / "refused"
        self.refused(2, self.train("lstm", out, "--crf"), "--crf: needs --model")
        self.refused(2, self.train("bert", out, "--states", 5), "--states: belongs to the LSTM")
        self.refused(2, self.train("bert", out, "--vectors", self.vectors), "train_tagger: command line: has --model and word vectors")
        self.refused(2, program("train_tagger", "--train", "a", "--valid", "b", "--out", out), "needs word vectors", "--model")
        self.refused(2, self.train("lstm", out, "--love", self.model), "--love: needs --model; with word vectors use --imputer")
        self.refused(2, self.train("lstm", out, "--schedule", "cubic"), "'cubic'", "exponential")
        self.refused(2, program("tag", "--model", self.folder / "lstm", text="Anna\n"), "--vectors: is missing")
        self.refused(2, self.tag("bert", "--vectors", self.vectors, text="Anna\n"), "has word embeddings of its own")
        short = self.folder / "short.txt"
        short.write_text("anna 1 2\n")
        self.refused(2, program("tag", "--model", self.folder / "lstm", "--vectors", short, text="Anna\n"), "have 2 numbers", "12")
        self.refused(2, self.train("lstm", self.folder / "lstm"), "--resume", "--overwrite")


def json_of(done):
    """F1 of the first row of the table."""
    assert done.returncode == 0, done.stderr
    return float(done.stdout.splitlines()[1].split()[3])


if __name__ == "__main__":
    unittest.main()
