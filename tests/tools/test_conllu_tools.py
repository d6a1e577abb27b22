# SPDX-License-Identifier: MIT
"""tools/conllu.py, tools/trees_to_conllu.py and the reading of tables in tools/parse_pairs.py on small inputs. Needs Python alone."""
import contextlib
import io
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import conllu
import parse_pairs
import trees_to_conllu


def row(number, form, head, relation="dep", columns=10):
    return "\t".join([number, form, "_", "_", "_", "_", str(head), relation, "_", "_"][:columns]) + "\n"


def sentence(*heads, words="abcdefgh"):
    return [conllu.Token(word, "_", "_", "_", head, "root" if head == 0 else "dep") for word, head in zip(words, heads)]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def run_tool(self, tool, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            code = tool.main([str(a) for a in arguments])
        self.out, self.err = out.getvalue(), err.getvalue()
        return code

    def refused(self, tool, part, code, *arguments):
        self.assertEqual(self.run_tool(tool, *arguments), code, self.out + self.err)
        self.assertIn(part, self.err.splitlines()[-1])


class Conllu(Folder):
    def test_written_is_read(self):
        path = self.folder / "t.conllu"
        for texts in ({"a b": [sentence(2, 0)], "c": [sentence(0, words="c")]}, {" a  b\tb a": [sentence(2, 0), sentence(0, 1)], "a": [sentence(0)]}):
            conllu.write(path, texts)
            self.assertEqual(conllu.read(path), texts)
            self.assertEqual("newdoc" in path.read_text(), len(texts) == 2 and " a  b\tb a" in texts)
        for text in ("a\nb", "a\rb", "a\0b"):
            with self.assertRaisesRegex(conllu.Stop, "") as caught:
                conllu.write(path, {text: [sentence(0)]})
            self.assertEqual(caught.exception.args[0], 3)

    def test_convention(self):
        path = self.put("t.conllu", "\ufeff# newdoc id = 1\n# text = a b\n" + row("1-2", "ab", "_") + row("1", "a", 0, "root") + row("1.1", "x", "_") +
                        row("2", "b", 1) + "\n# text = c\n" + row("1", "c", 0) + "\n# newdoc\r\n# document = a, b\r\n" + row("1", "a", 2) + row("2", "b", 0))
        texts = conllu.read(path)
        self.assertEqual({text: [[t.head for t in s] for s in sentences] for text, sentences in texts.items()}, {"a b c": [[0, 1], [0]], "a, b": [[2, 0]]})
        self.assertEqual(texts["a b c"][0][1], conllu.Token("b", "_", "_", "_", 1, "dep"))

    def test_faults(self):
        good = "# text = a b\n" + row("1", "a", 2) + row("2", "b", 0)
        for content, part in (("# text = a\n" + row("1", "a", 1), "line 2: the sentence has no root"),
                              ("# text = a b\n" + row("1", "a", 0) + row("2", "b", 0), "line 2: the sentence has 2 roots"),
                              ("# text = a b c\n" + row("1", "a", 2) + row("2", "b", 1) + row("3", "c", 0), "cycle"),
                              ("# text = a b\n" + row("1", "a", 3) + row("2", "b", 0), "token 1 has head 3, but the sentence has 2 tokens"),
                              ("# text = a\n" + row("1", "a", 0, columns=9), "line 2: the line has 9 columns, expected 10"),
                              (row("1", "a", 0), "line 1: the text has neither"),
                              ("# text = a b\n" + row("1", "a", 0) + row("3", "b", 1), "line 3: token '3'"),
                              ("# text = a\n" + row("1", "a", "x"), "head 'x'"),
                              (good + "\n# text = a b\n" + row("1", "a", 0) + row("2", "b", 1), "line 6: the text 'a b' has two different trees"),
                              (b"\xff\n", "is not UTF-8")):
            with self.assertRaises(conllu.Stop) as caught:
                conllu.read(self.put("t.conllu", content))
            self.assertEqual(caught.exception.args[0], 3)
            self.assertIn(part, caught.exception.args[1])
        self.assertEqual(len(conllu.read(self.put("t.conllu", good + "\n" + good))), 1)
        with self.assertRaisesRegex(conllu.Stop, "cannot be read"):
            conllu.read(self.folder / "none")


class Trees(Folder):
    def source(self, **changes):
        files = {"a.toks": "Dogs chase cats\nIt runs\n", "a.parents": "2 0 2\n2 0\n", "a.rels": "nsubj root dobj\nnsubj root\n",
                 "b.toks": "cats chase Dogs\nDogs chase cats\n", "b.parents": "2 0 2\n2 0 2\n", "b.rels": "nsubj root dobj\nnsubj root dobj\n",
                 "sim.txt": "4.5\n1.0\n", "id.txt": "7\n3\n"} | changes
        for name, content in files.items():
            self.put("in/dev/" + name, content)
        self.put("in/SICK_trial.txt", "pair_ID\tsentence_A\tentailment_judgment\r\n3\tx\tNEUTRAL\r\n7\tx\tCONTRADICTION\r\n")
        return self.folder / "in"

    def test_tables_and_trees(self):
        self.assertEqual(self.run_tool(trees_to_conllu, self.source(), "--out", self.folder / "out"), 0, self.err)
        self.assertEqual((self.folder / "out/valid.tsv").read_bytes(), b"Dogs chase cats\tcats chase Dogs\tCONTRADICTION\nIt runs\tDogs chase cats\tNEUTRAL\n")
        self.assertFalse((self.folder / "out/train.tsv").exists())
        trees = conllu.read(self.folder / "out/trees.conllu")
        self.assertEqual(list(trees), ["Dogs chase cats", "cats chase Dogs", "It runs"])
        self.assertEqual([(t.form, t.head, t.relation) for t in trees["It runs"][0]], [("It", 2, "nsubj"), ("runs", 0, "root")])
        self.assertEqual(self.run_tool(trees_to_conllu, self.folder / "in", "--out", self.folder / "out", "--labels", "relatedness"), 0)
        self.assertEqual([line.split("\t")[2] for line in (self.folder / "out/valid.tsv").read_text().splitlines()], ["4.5", "1.0"])
        self.assertIn("of 4 occurrences 0 with another tree", self.out)
        self.source(**{"b.parents": "2 0 2\n0 1 2\n", "b.rels": "nsubj root dobj\nroot dep dobj\n"})
        self.assertEqual(self.run_tool(trees_to_conllu, self.folder / "in", "--out", self.folder / "out"), 0)
        self.assertIn("of 4 occurrences 1 with another tree", self.out)
        self.assertEqual([t.head for t in conllu.read(self.folder / "out/trees.conllu")["Dogs chase cats"][0]], [2, 0, 2])

    def test_faults(self):
        for changes, part in (({"a.parents": "2 1 2\n2 0\n"}, "a.toks: line 1: the sentence has no root"),
                              ({"a.rels": "nsubj root\nnsubj root\n"}, "a.toks: line 1: 3 tokens, 3 heads, 2 relations"),
                              ({"b.parents": "2 0 2\n2 0 -2\n"}, "b.toks: line 2: a head is no number"),
                              ({"sim.txt": "1\n"}, "sim.txt: 1 lines, expected 2"), ({"id.txt": "7\n4\n"}, "line 2: pair 4 is in no SICK")):
            self.refused(trees_to_conllu, part, 3, self.source(**changes), "--out", self.folder / "out")
        (self.source() / "SICK_trial.txt").unlink()
        self.refused(trees_to_conllu, "use --labels relatedness", 2, self.folder / "in", "--out", self.folder / "out")
        self.refused(trees_to_conllu, "has none of", 3, self.folder / "none", "--out", self.folder / "out")

    def test_random_trees(self):
        def drawn(seed):
            self.assertEqual(self.run_tool(trees_to_conllu, self.source(), "--out", self.folder / "out", "--random", seed), 0, self.err)
            return conllu.read(self.folder / "out/trees.conllu")  # which checks them

        first = drawn(1)
        self.assertEqual(first, drawn(1))
        self.assertGreater(len({str(drawn(seed)) for seed in range(20)}), 5)
        for sentences in first.values():
            for token in sentences[0]:
                self.assertEqual(token.head == 0, token.relation == "root")
        self.assertEqual(sorted(t.relation for t in first["Dogs chase cats"][0]), ["dobj", "nsubj", "root"])

    def test_random_trees_are_uniform(self):
        for n, kinds in ((1, 1), (2, 2), (3, 9), (4, 64)):  # n^(n-1) rooted trees
            draw = Random(n)
            counts = Counter(tuple(trees_to_conllu.random_parents(n, draw)) for _ in range(200 * kinds))
            self.assertEqual(len(counts), kinds)
            for parents in counts:
                self.assertIsNone(conllu.fault([conllu.Token("x", "", "", "", head, "") for head in parents]))
            self.assertLess(sum((c - 200) ** 2 / 200 for c in counts.values()), kinds + 4 * (2 * kinds) ** 0.5)  # chi-squared


class Tables(Folder):
    def texts(self, name, content, columns=(), header="auto"):
        return [tuple(pair) for _, *pair in parse_pairs.pairs(self.put(name, content), columns, header)]

    def test_formats(self):
        want = [("a b", 'c "d'), ("e,f", "g")]
        self.assertEqual(self.texts("t.tsv", 'a b\tc "d\t1\r\ne,f\tg\t0\n'), want)
        self.assertEqual(self.texts("t.txt", '\ufeffid\tleft\tlabel\tright\n1\ta b\t0\tc "d\n2\te,f\t1\tg'), want)
        self.assertEqual(self.texts("t.csv", 'a b,"c ""d",1\n"e,f",g,0\n'), want)
        self.assertEqual(self.texts("t.jsonl", '{"left": "a b", "right": "c \\"d", "label": 1}\n{"left": "e,f", "right": "g"}\n'), want)
        self.assertEqual(self.texts("t.jsonl", '{"x": "a", "y": "b"}\n', ("y", "x")), [("b", "a")])
        self.assertEqual(self.texts("t.tsv", "1\tx\ty\n2\tz\tw\n", ("3", "2")), [("y", "x"), ("w", "z")])
        self.assertEqual(self.texts("t.tsv", "p\tq\nx\ty\n", ("q", "p")), [("y", "x")])
        self.assertEqual(self.texts("t.tsv", "p\tq\nx\ty\n", header="yes"), [("x", "y")])
        self.assertEqual(self.texts("t.tsv", "left\tright\nx\ty\n", header="no"), [("left", "right"), ("x", "y")])

    def test_faults(self):
        out = self.folder / "o.conllu"
        for name, content, part, code in (("t.tsv", "a\tb\nc\n", "line 2: the row has 1 column, expected 2", 3),
                                          ("t.tsv", "a\n", "line 1: there is no column '2'", 3),
                                          ("t.tsv", b"a\tb\n\xff\tb\n", "is not UTF-8", 3), ("t.tsv", "", "has no rows", 3),
                                          ("t.jsonl", '{"left": "a"}\n', "line 1: there is no text under the key 'right'", 3),
                                          ("t.jsonl", '{"left": "a\\nb", "right": "c"}\n', "line 1: the text 'a\\nb' has a line break", 3),
                                          ("t.jsonl", "{\n", "line 1: ", 3), ("t.csv", '"a,b\n', "t.csv: line", 3),
                                          ("t.csv", 'a,"b\nc"\n', "has a line break", 3), ("t.xls", "a\tb\n", "no table format", 2)):
            self.refused(parse_pairs, part, code, self.put(name, content), "--out", out)
            self.assertFalse(out.exists())
        self.refused(parse_pairs, "cannot be read", 3, self.folder / "none.tsv", "--out", out)
        self.refused(parse_pairs, "has no header", 2, self.put("t.tsv", "a\tb\n"), "--out", out, "--columns", "a,b", "--header", "no")
        self.refused(parse_pairs, parse_pairs.INSTALL, 1, self.put("t.tsv", "a\tb\n"), "--out", out, "--model", "no_such_model")


unittest.main()
