# SPDX-License-Identifier: MIT
"""distill: contextual vectors of the words of a text against the hidden states that encode writes; what reads them; what is refused."""
import json
import shutil
import tempfile
import unittest
from pathlib import Path

from support import Refusals, pairs, program, start_model


class Distill(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        rows = [line.split("\t")[0] for line in pairs(60, 1).splitlines()]
        (cls.folder / "vocabulary.txt").write_text("\n".join(rows) + "\n")
        cls.model = start_model(cls.folder, cls.folder / "vocabulary.txt")
        # Words of several pieces, and unknown ones: the vocabulary has neither Greek letters nor the comma.
        cls.lines = [f"{row} Phonelcd {'αβ ' * (i % 2)}tvoven, {row.split()[0]}" for i, row in enumerate(rows)]
        cls.text = cls.folder / "texts.txt"
        cls.text.write_text("\n\n".join(cls.lines) + "\n", encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def distill(self, *more, text=None):
        """The words and their vectors, and what the program said."""
        out = self.folder / "out.txt"
        done = program("distill", "--model", self.model, "--text", text or self.text, "--output", out, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        head, *lines = out.read_text(encoding="utf-8").splitlines()
        self.assertEqual(head, f"{len(lines)} 16")
        return {line.split()[0]: [float(x) for x in line.split()[1:]] for line in lines}, done.stderr

    def occurrences(self, *more):
        """The vectors of all occurrences of each word, computed from the output of tokenize and encode."""
        states, text = self.folder / "states.tsv", "".join(line + "\n" for line in self.lines)
        done = program("encode", "--model", self.model, "--pool", "none", "--output", states, *more, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [[float(x) for x in line.split("\t")] for line in states.read_text().splitlines()]
        done = program("tokenize", "--model", self.model, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        words, first = {}, 0
        for line, encoded in zip(self.lines, map(json.loads, done.stdout.splitlines())):
            ids, offsets = encoded["word_ids"], encoded["offsets"]
            for word in range(max(i for i in ids if i is not None) + 1):
                tokens = [t for t, w in enumerate(ids) if w == word]
                spelled = line[offsets[tokens[0]][0]:offsets[tokens[-1]][1]].lower()
                if "α" not in spelled and spelled != ",":
                    words.setdefault(spelled, []).append([sum(rows[first + t][j] for t in tokens) / len(tokens) for j in range(16)])
            first += len(ids)
        self.assertEqual(first, len(rows))
        return words

    def same(self, found, expected):
        self.assertEqual(list(found), list(expected))
        for word, row in expected.items():
            for x, y in zip(found[word], row):
                self.assertAlmostEqual(x, y, places=4, msg=word)

    def test_values(self):
        for options in ([], ["--layer", 1]):
            all_words = self.occurrences(*options)
            frequent = sorted((w for w in all_words if len(all_words[w]) >= 5), key=lambda w: (-len(all_words[w]), w.encode()))
            self.assertIn("phonelcd", frequent)
            mean = {w: [sum(x) / len(x) for x in zip(*all_words[w])] for w in frequent}
            found, said = self.distill(*options)
            self.same(found, mean)
            self.assertIn(f"{len(frequent)} of {len(all_words)} words, each 5 times or more", said)
            self.same(self.distill("--pool", "max", "--max-words", 7, *options)[0], {w: [max(x) for x in zip(*all_words[w])] for w in frequent[:7]})
            few = {w: [sum(x) / len(x) for x in zip(*all_words[w][:3])] for w in all_words if len(all_words[w]) >= 20}
            few = {w: few[w] for w in frequent if w in few}
            self.same(self.distill("--min-count", 20, "--max-occurrences", 3, *options)[0], few)

    def test_threads(self):
        one, two, three = (self.distill("--threads", n, "--batch", 4)[0] for n in (1, 2, 3))
        self.assertEqual(one, two)
        self.assertEqual(one, three)

    def test_readers(self):
        self.distill()
        vectors = self.folder / "out.txt"
        units = self.folder / "units.txt"
        units.write_text("".join(f"{t}\n" for t in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", *"abcdefghijklmnopqrstuvwxyz"]))
        done = program("train_love", "--targets", vectors, "--vocab", units, "--out", self.folder / "love", "--epochs", 1, "--negatives", 1, "--query-size", 16, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "pairs.tsv").write_text("camera\tphone\t3\ncamera\toven\t1\nlcd\ttv\t5\n")
        done = program("evaluate_words", "--vectors", vectors, "--similarity", self.folder / "pairs.tsv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.splitlines()[1], r" 3 +3 ")

    def test_refusals(self):
        def refused(code, part, *more, text=self.text, out="no.txt"):
            self.refused(code, program("distill", "--model", self.model, "--text", text, "--output", self.folder / out, *more), part)
            self.assertFalse((self.folder / "no.txt").exists())

        refused(2, "would be overwritten", out="texts.txt")
        refused(2, "is written as text", out="no.npy")
        refused(2, "--layer: 3 of a model with 2 layers", "--layer", 3)
        refused(2, "--pool", "--pool", "median")
        refused(2, "--min-count", "--min-count", 0)
        refused(3, "absent.txt: cannot be opened", text=self.folder / "absent.txt")
        empty = self.folder / "empty.txt"
        empty.write_text("\n\n")
        refused(3, "none of its 0 words occurs 5 times or more; choose a lower --min-count", text=empty)
        refused(3, "words occurs 1000 times or more", "--min-count", 1000)
        empty.write_bytes(b"a\0b\n")
        refused(3, "zero byte", text=empty)


if __name__ == "__main__":
    unittest.main()
