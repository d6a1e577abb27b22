# SPDX-License-Identifier: MIT
"""Dependency trees from CoNLL-U files in the programs: training with DAFA, resuming, scoring, and what is refused."""
import csv
import json
import random
import shutil
import tempfile
import unittest
from pathlib import Path

from support import pairs, program, start_model, write_wordnet


def trees(texts, seed=1):
    """A random tree for each text, over its words."""
    draw, lines = random.Random(seed), []
    for text in texts:
        words = text.split()
        lines.append(f"# text = {text}")
        root = draw.randrange(len(words))
        for i, word in enumerate(words):
            head = 0 if i == root else root + 1
            lines.append(f"{i + 1}\t{word}\t_\t_\t_\t_\t{head}\t{'root' if i == root else draw.choice(['nmod', 'amod'])}\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"


class Dafa(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.train, self.test = self.folder / "train.tsv", self.folder / "test.tsv"
        self.train.write_text(pairs(60, 1))
        self.test.write_text(pairs(12, 2))
        self.texts = sorted({text for file in (self.train, self.test) for line in file.read_text().splitlines() for text in line.split("\t")[:2]})
        self.parses = self.folder / "trees.conllu"
        self.parses.write_text(trees(self.texts))
        self.model = start_model(self.folder, self.train)

    def train_with(self, out, *more, attention="dafa", model=None, parses=None):
        return program("train_matcher", "--attention", attention, "--model", model or self.model, "--train", self.train, "--valid", self.train,
                       "--parses", parses or self.parses, "--out", self.folder / out, "--quiet", *more)

    def refused(self, done, code, *parts):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_train_and_score(self):
        done = self.train_with("run", "--max-steps", 6, "--test", self.test, "--dafa-output", "residual", "--dafa-without", "tfidf")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = self.folder / "run" / "model.lxf"
        unlabelled = "".join(line.rsplit("\t", 1)[0] + "\n" for line in self.test.read_text().splitlines())
        first = program("score_pairs", "--model", model, "--parses", self.parses, text=unlabelled)
        self.assertEqual((first.returncode, len(first.stdout.splitlines())), (0, 12), first.stderr)
        # Several files; a text may have the same tree twice. Other trees give other scores.
        half = len(self.texts) // 2
        (self.folder / "a.conllu").write_text(trees(self.texts[: half + 3], seed=2))
        (self.folder / "b.conllu").write_text(trees(self.texts, seed=2))
        other = program("score_pairs", "--model", model, "--parses", self.folder / "b.conllu", text=unlabelled)
        both = program("score_pairs", "--model", model, "--parses", self.folder / "a.conllu", self.folder / "b.conllu", text=unlabelled)
        self.assertEqual((both.returncode, both.stdout), (0, other.stdout), both.stderr)
        self.assertNotEqual(other.stdout, first.stdout)
        self.assertIn("score_pairs --model model.lxf --parses trees.conllu <", (self.folder / "run" / "README.md").read_text())
        evaluated = program("evaluate", "--model", model, "--test", self.test, "--parses", self.parses)
        self.assertEqual(evaluated.returncode, 0, evaluated.stderr)
        encoded = program("encode", "--pairs", "--model", model, "--parses", self.parses, "--output", self.folder / "e.npy", text=unlabelled)
        self.assertEqual(encoded.returncode, 0, encoded.stderr)

    def same_weights_however_run(self, name, *options):
        """Trains with the term `name` on two threads, on one, on three with gradient checkpointing, and with an interruption."""
        options = ["--max-steps", 8, "--save-steps", 3, *options]
        model = {}
        for threads in (2, 1, 3):
            done = self.train_with(f"{name}-{threads}", *options, "--threads", threads, *["--gradient-checkpointing"][threads < 3:], attention=name)
            self.assertEqual(done.returncode, 0, done.stderr)
            model[threads] = (self.folder / f"{name}-{threads}" / "model.lxf").read_bytes()
        self.assertEqual(model[1], model[2])
        self.assertEqual(model[1], model[3])
        for path in (self.folder / f"{name}-1").iterdir():
            if path.name != "checkpoint-3":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        resumed = self.train_with(f"{name}-1", *options, "--resume", attention=name)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual((self.folder / f"{name}-1" / "model.lxf").read_bytes(), model[1])

    def test_resume_and_threads(self):
        self.same_weights_however_run("dafa")
        # Other trees are another run.
        other = self.folder / "other.conllu"
        other.write_text(trees(self.texts, seed=2))
        self.refused(self.train_with("dafa-1", "--max-steps", 8, "--save-steps", 3, "--resume", parses=other), 2, "parses")

    def test_share_of_the_training_pairs(self):
        chosen = []
        for seed in (1, 1, 2):
            done = self.train_with("share", "--max-steps", 2, "--train-share", 0.1, "--seed", seed, "--overwrite")
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads((self.folder / "share" / "all_results.json").read_text())
            self.assertEqual(result["train"]["pairs"], 6)
            self.assertEqual(result["settings"]["train_share"], 0.1)
            chosen.append(result["settings"]["train"])
        self.assertEqual(chosen[0], chosen[1])
        self.assertNotEqual(chosen[0], chosen[2])

    def test_learning_rate_of_new_tensors(self):
        weights = {}
        for name, more in (("same", ()), ("same-given", ("--new-lr", 5e-5)), ("faster", ("--new-lr", 1e-2))):
            done = self.train_with(name, "--max-steps", 4, "--warmup-epochs", 0, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            raw = (self.folder / name / "model.lxf").read_bytes()
            size = int.from_bytes(raw[:8], "little")
            header = json.loads(raw[8:8 + size])
            weights[name] = {key: raw[8 + size + at["data_offsets"][0]:8 + size + at["data_offsets"][1]] for key, at in header.items() if key != "__metadata__"}
        self.assertEqual(weights["same"], weights["same-given"])
        changed = {key for key in weights["same"] if weights["same"][key] != weights["faster"][key]}
        self.assertTrue(any(".dafa." in key for key in changed) and any(".head." in key for key in changed), changed)
        results = json.loads((self.folder / "faster" / "all_results.json").read_text())
        self.assertEqual(results["settings"]["new_learning_rate"], 0.01)
        self.refused(self.train_with("x", "--lr", 0, "--new-lr", 1e-3), 2, "--new-lr", "--freeze")

    def test_refused(self):
        self.refused(program("train_matcher", "--attention", "dafa", "--model", self.model, "--train", self.train, "--valid", self.train, "--out",
                             self.folder / "x", "--quiet"), 2, "the model reads dependency trees: give them with --parses FILE.conllu")
        self.refused(self.train_with("x", "--augment"), 2, "--augment: cannot be used with --parses")
        self.refused(self.train_with("x", "--test", self.test, "--test-typos", 2), 2, "--test-typos: cannot be used with --parses")
        self.refused(self.train_with("x", "--dafa-without", "tree,subgraph,tfidf,cross,gate,filter"), 2, "nothing of DAFA is left")
        self.refused(self.train_with("x", "--dafa-without", "filter", "--dafa-hidden-size", 3), 2, "hidden_size must be the size of the vectors, 8")
        few = self.folder / "few.conllu"
        few.write_text(trees(self.texts[:3]))
        self.refused(self.train_with("x", parses=few), 2, "train.tsv: ", " texts have no dependency tree, the first: '", "tools/parse_pairs.py")
        missing = self.train_with("x", parses=self.folder / "none.conllu")
        self.refused(missing, 3, "none.conllu: cannot be opened")
        for text, message in (("1\ta\t_\t_\t_\t_\t0\troot\t_\n", "bad.conllu: line 1: expected 10 columns"),
                              ("# text = a b\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tb\t_\t_\t_\t_\t0\troot\t_\t_\n", "bad.conllu: line 2: the sentence has 2 roots"),
                              ("# text = x\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n", "bad.conllu: line 2: the word 'a' is not in the rest of the text 'x'")):
            bad = self.folder / "bad.conllu"
            bad.write_text(text)
            self.refused(self.train_with("x", parses=bad), 3, message)

    def test_report(self):
        for out, attention in (("plain", "none"), ("dafa", "dafa")):
            self.assertEqual(self.train_with(out, "--max-steps", 4, attention=attention).returncode, 0)
        done = program("report", "--model", f"plain={self.folder}/plain", f"dafa={self.folder}/dafa", "--test", self.test, "--parses", self.parses,
                       "--out", self.folder / "report")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual({"trees", "matrices", "semantic_and_dependency", "filter_by_class", "filter_by_prediction"},
                             {p.stem for p in (self.folder / "report").glob("*.svg")})
        result = self.folder / "scores.json"
        self.assertEqual(program("evaluate", "--model", self.folder / "dafa" / "model.lxf", "--test", self.test, "--parses", self.parses, "--scores", "--output",
                                 result).returncode, 0)
        with open(self.folder / "report" / "filter_by_class.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        for row, score in zip(rows, json.loads(result.read_text())["test"][0]["scores"], strict=True):
            self.assertAlmostEqual(float(row["score"]), score, places=6)
            self.assertTrue(0 < float(row["filter"]) < 1)
        page = (self.folder / "report" / "index.html").read_text()
        self.assertIn("Filter gate of the test pairs", page)
        self.refused(program("report", "--model", self.folder / "dafa", "--test", self.test, "--noise", 10, "--parses", self.parses, "--out",
                             self.folder / "x"), 2, "--noise: cannot be used with --parses")
        # Encoders of models with trees are analysed, too.
        text = self.folder / "texts.txt"
        text.write_text("\n".join(self.texts) + "\n")
        options = ["--model", f"dafa={self.folder}/dafa/model.lxf", "--text", text, "--out", self.folder / "analysis"]
        done = program("analyze", *options, "--parses", self.parses)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refused(program("analyze", *options), 2, "give them with --parses FILE.conllu")
        self.refused(program("analyze", *options, "--parses", self.parses, "--sentence", "no tree here"), 2, "--sentence: ", "'no tree here'")
        done = program("report", "--model", self.folder / "plain", "--test", self.test, "--out", self.folder / "report-plain")
        self.assertEqual((done.returncode, (self.folder / "report-plain" / "trees.svg").exists()), (0, False), done.stderr)

    def test_syntax_and_uerbert(self):
        self.same_weights_however_run("syntax")
        wordnet, other = self.folder / "wordnet", self.folder / "other-wordnet"
        write_wordnet(wordnet, ["camera", "phone", "oven"])
        write_wordnet(other, ["camera", "phone", "even"])
        self.same_weights_however_run("uerbert", "--wordnet", wordnet)
        again = self.train_with("uerbert-1", "--max-steps", 8, "--save-steps", 3, "--resume", "--wordnet", other, attention="uerbert")
        self.refused(again, 2, "wordnet")
        model = self.folder / "uerbert-1" / "model.lxf"
        unlabelled = "".join(line.rsplit("\t", 1)[0] + "\n" for line in self.test.read_text().splitlines())
        scores = program("score_pairs", "--model", model, "--wordnet", wordnet, text=unlabelled)
        self.assertEqual((scores.returncode, len(scores.stdout.splitlines())), (0, 12), scores.stderr)
        # The words of a text change with typos, and so does its gate.
        done = program("evaluate", "--model", model, "--test", self.test, "--test-typos", 2, "--wordnet", wordnet)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = program("report", "--model", self.folder / "uerbert-1", "--test", self.test, "--noise", "0,50", "--wordnet", wordnet, "--out", self.folder / "report")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refused(program("score_pairs", "--model", model, text=unlabelled), 2, "--wordnet DIR")
        (wordnet / "data.verb").unlink()
        self.refused(program("score_pairs", "--model", model, "--wordnet", wordnet, text=unlabelled), 2, "data.verb: is missing", "wordnet-base")
        self.refused(program("score_pairs", "--model", model, "--wordnet", self.folder / "none", text=unlabelled), 2, "none", "wordnet-base")

    def test_dependencies(self):
        parses = self.folder / "apple.conllu"
        parses.write_text("".join(f"# text = {' '.join(words)}\n" + "".join(
            f"{i + 1}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n" for i, (word, head, relation) in enumerate(zip(words, (2, 0, 2), ("nsubj", "root", "obj"))))
            + "\n" for words in (["Apple", "exceeded", "company"], ["company", "exceeded", "Apple"])))
        options = ["--parses", parses, "--pair", "Apple exceeded company", "company exceeded Apple"]
        done = program("dependencies", *options, "--json", "--dafa-tfidf", "off")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = json.loads(done.stdout)
        self.assertEqual((line["M"], line["S"]), ([[2, 0, 2], [0, 4, 0], [2, 0, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]]))
        self.assertEqual(line["left"]["weights"], [1, 1, 1])  # each word is in both texts
        self.assertEqual(line["left"]["words"][0], {"form": "Apple", "lemma": "Apple", "head": 2, "relation": "nsubj"})
        text = program("dependencies", *options)
        self.assertRegex(text.stdout, r"exceeded +\. +5\.00 +\.")
        self.refused(program("dependencies", "--parses", parses, "--pair", "Apple", "x"), 2, "--pair: 2 of 2 texts have no dependency tree")
        self.assertEqual(self.train_with("run", "--max-steps", 2, "--dafa-theta", 3).returncode, 0)
        model = self.folder / "run" / "model.lxf"
        done = program("dependencies", *options, "--json", "--model", model)
        self.assertEqual(json.loads(done.stdout)["M"][1][1], 6)
        self.refused(program("dependencies", *options, "--model", self.model), 2, "is a model without DAFA")


if __name__ == "__main__":
    unittest.main()
