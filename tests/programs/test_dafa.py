# SPDX-License-Identifier: MIT
"""Dependency trees from CoNLL-U files in the programs: training with DAFA, resuming, scoring, and what is refused."""
import json
import random
import shutil
import tempfile
import unittest
from pathlib import Path

from support import pairs, program, start_model


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

    def train_with(self, out, *more, model=None, parses=None):
        return program("train_matcher", "--attention", "dafa", "--model", model or self.model, "--train", self.train, "--valid", self.train,
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

    def test_resume_and_threads(self):
        whole = self.train_with("whole", "--max-steps", 8)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        for threads in (1, 3):
            name = f"threads-{threads}"
            self.assertEqual(self.train_with(name, "--max-steps", 8, "--threads", threads).returncode, 0)
            self.assertEqual((self.folder / name / "model.lxf").read_bytes(), (self.folder / "whole" / "model.lxf").read_bytes())
        self.assertEqual(self.train_with("part", "--max-steps", 8, "--save-steps", 3).returncode, 0)
        for path in (self.folder / "part").iterdir():
            if path.name != "checkpoint-3":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        resumed = self.train_with("part", "--max-steps", 8, "--save-steps", 3, "--resume")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual((self.folder / "part" / "model.lxf").read_bytes(), (self.folder / "whole" / "model.lxf").read_bytes())
        # Other trees are another run.
        other = self.folder / "other.conllu"
        other.write_text(trees(self.texts, seed=2))
        self.refused(self.train_with("part", "--max-steps", 8, "--save-steps", 3, "--resume", parses=other), 2, "parses")

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
