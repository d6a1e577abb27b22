#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables, labels and word vectors in the forms of other programs. A new member is one line: a name, the bytes, and what is read or said."""
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))
from support import Refusals, program, start_model  # noqa: E402

BOM = b"\xef\xbb\xbf"

# Tables of records: what the texts or the ids of `match TABLE TABLE --text` contain.
RECORDS = [
    ("excel.csv", BOM + b"id;name\r\n1;tavion lamp, oak\r\n2;desk steel\r\n", "tavion lamp, oak"),
    ("excel-sep.csv", b"sep=;\r\nid;name\r\n1;a;\r\n".replace(b"a;", b"tavion oak"), "tavion oak"),
    ("tabs.csv", b"id\tname\n1\ttavion oak\n", "tavion oak"),
    ("bars.txt", b"id|name\n1|tavion oak\n", "tavion oak"),
    ("commas.tsv", b'id,name\n1,"tavion, oak"\n', "tavion, oak"),
    ("semicolons.csv", b'"id";"name"\n"1";"tavion, oak"\n', "tavion, oak"),
    ("bars.csv", b'\n"id" | "na""me" \n"1"|"tavion oak"\n', "tavion oak"),
    ("pandas-tabs.csv", b'id\tname\n1\t"tavion ""oak"""\n', 'tavion ""oak""'),
    ("text-mode.csv", b'id,name\r\r\n\r\r\n1,"tavion"\r\r\n', ",tavion,tavion\n"),
    ("quoted.tsv", b'"id"\t"name"\n"1"\t"tavion ""oak"""\n', 'tavion ""oak""'),
    ("CAPITALS.TXT", b"id\tname\n1\ttavion oak\n", "tavion oak"),
    ("inches.csv", b'id,name\n1,tavion 15.6" sleeve\n', 'tavion 15.6"" sleeve'),
    ("spaces.csv", b'id, name\n1, "tavion, oak"\n', "tavion, oak"),
    ("blank.csv", b"\nid,name\n\n1,tavion oak\n\n", "tavion oak"),
    ("long-id.jsonl", b'{"id": 340282366920938463463374607431768211455, "name": "tavion"}\n', "340282366920938463463374607431768211455"),
    ("price.jsonl", b'{"id": 1, "name": "tavion", "price": 12.50}\n', "tavion 12.50"),
    ("zero.jsonl", b'{"id": 1, "name": "tavion\\u0000oak"}\n', "tavion\ufffdoak"),
    ("surrogate.jsonl", b'{"id": 1, "name": "tavion \\ud83d oak"}\n', "tavion \ufffd oak"),
]

# Tables that no one can read with certainty: the part of the message.
REFUSED = [
    ("nan.jsonl", b'{"id": 1, "name": NaN}\n', "line 1, column 19: NaN is not JSON; write null"),
    ("pretty.jsonl", b'{\n  "id": 1\n}\n', "one object in each line, as jq -c . writes them"),
    ("array.jsonl", b'[{"id": 1}]\n', "found array; a .jsonl has one object in each line"),
    ("backslash.csv", b'id,name\n1,"15\\" sleeve"\n', "sed 's/"),
    ("mac.csv", b'id,name\r1,"tavion oak"\r', "has lines that end with CR alone; convert it: tr"),
    ("huge.jsonl", b'{"id": 1, "price": 1e999}\n', "line 1: the number 1e999 is beyond 1.8e308; write it in double quotes"),
    ("mixed.csv", "id,name\n1,zażółć\n".encode() + b"2,caf\xe9\n", "the file mixes encodings"),
    ("twice.csv", b"id,name,name\n1,a,b\n", "two columns are called 'name'"),
    ("other.csv", b"nr;name\n1;a\n", "give --delimiter semicolon"),
]

# Labels of the pair (1, 1), which is a match, and (1, 2), which is none.
LABELS = [
    ("floats.csv", b"ltable_id,rtable_id,label\n1,1,1.0\n1,2,0.0\n"),
    ("python.csv", b"left_id,right_id,label\n1,1,True\n1,2,False\n"),
    ("capitals.csv", b"ltable_id;rtable_id;label\n1;1;TRUE\n1;2;FALSE \n"),
    ("booleans.jsonl", b'{"ltable_id": 1, "rtable_id": 1, "label": true}\n{"ltable_id": 1, "rtable_id": 2, "label": false}\n'),
    ("splink.csv", b"name_l,name_r,unique_id_l,unique_id_r,clerical_match_score\na,b,1,1,1.0\na,b,1,2,0.0\n"),
    ("blank.tsv", b"left_id\tright_id\tlabel\n\n1\t1\t1\n1\t2\t0\n\n"),
]

# Word vectors of oak and table, and pairs of words with a score.
VECTORS = [
    ("glove.txt", b"oak 1 0\ntable 0 1\n. . . 1 1\nat name@domain.com 1 1\n"),
    ("zeros.vec", b"3 2\n</s> 0 0 \noak 1 0 \ntable 0 1 \n"),
    ("word2vec.bin", b"2 2\n" + b"oak " + struct.pack("ff", 1, 0) + b"\ntable " + struct.pack("ff", 0, 1) + b"\n"),
    ("mark.txt", BOM + b"oak 1 0\r\ntable 0 1\r\n"),
]
SIMILARITY = [
    ("SimLex.txt", b"word1\tword2\tPOS\tSimLex999\tmore\noak\ttable\tN\t4.2\t1\noak\toak\tN\t9\t1\n"),
    ("WordSim.csv", b"Word 1,Word 2,Human (mean)\noak,table,4.2\noak,oak,9\n"),
    ("MEN.txt", b"oak-n table-n 4.2\noak-n oak-n 9\n"),
    ("RG.csv", b"oak;table;4.2\noak;oak;9\n"),
]

# Columns of ids, texts and labels of which two are the same: the options of a command, and a part of the message.
TWICE = [
    (("match", "t.csv", "t.csv", "--columns", "left,left"), "--columns: 'left' is named twice"),
    (("match", "t.csv", "t.csv", "--columns", "left=right,right"), "--columns: 'right' is named twice"),
    (("candidates", "t.csv", "--columns", "left,left=left"), "--columns: 'left' is named twice"),
    (("label", "m.csv", "--left", "t.csv", "--columns", "left,left"), "--columns: 'left' is named twice"),
    (("suggest", "m.csv", "--left", "t.csv", "--columns", "left,left"), "--columns: 'left' is named twice"),
    (("suggest", "m.csv", "--left", "t.csv", "--column-words", "left=1,left=2"), "--column-words: 'left' is named twice"),
    (("train_matcher", "--columns", "left,left,label"), "--columns: 'left' is named twice"),
    (("train_matcher", "--columns", "2,2,4"), "--columns: '2' is named twice"),
    (("train_matcher", "--columns", "left,2,label"), "--columns: 'left' and '2' are one column"),
    (("train_matcher", "--columns", "left,right,right"), "--columns: 'right' is named twice"),
    (("train_matcher", "--labels", "0,1,0"), "--labels: '0' is named twice"),
    (("train_text", "--columns", "label,label"), "--columns: 'label' is named twice"),
    (("train_encoder", "--columns", "left,left"), "--columns: 'left' is named twice"),
    (("train_encoder", "--columns", "left,right", "--negative", "right"), "--negative: 'right' is also one of --columns"),
]


class Strangers(Refusals, unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out.csv"

    def file(self, name, content):
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def test_records(self):
        for name, content, expected in RECORDS:
            with self.subTest(name):
                table = self.file(name, content)
                done = program("match", table, table, "--text", "--out", self.out)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(expected, self.out.read_text(encoding="utf-8"))
                # What is written can be read again.
                again = program("assign", self.out, "--one-to-one", "--out", self.folder / "again.csv")
                self.assertEqual(again.returncode, 0, again.stderr)

    def test_refused(self):
        for name, content, part in REFUSED:
            with self.subTest(name):
                table = self.file(name, content)
                self.refused(3, program("match", table, table, "--out", self.out), name, part)

    def test_labels(self):
        table = self.file("a.csv", b"id,name\n1,tavion oak lamp\n2,desk steel\n")
        for name, content in LABELS:
            with self.subTest(name):
                done = program("candidates", table, table, "--matches", self.file(name, content))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("1 match", done.stdout + done.stderr)

    def test_columns_given_twice(self):
        table = self.file("t.csv", b"id,left,right,label\n1,tavion oak,oak,1\n2,desk,steel,0\n")
        self.file("m.csv", b"left_id,right_id,score,match\n1,2,0.5,1\n")
        model = start_model(self.folder, table)
        for (command, *options), part in TWICE:
            with self.subTest(" ".join((command, *options))):
                more = ("--model", model, "--train", table, "--valid", table, "--quiet") if command.startswith("train") else ()
                out = self.folder / ("new" if more else "new.csv")
                self.refused(2, program(command, *options, *more, "--out", out, cwd=self.folder), part)

    def test_labels_that_disagree(self):
        table = self.file("a.csv", b"id,name\n1,tavion oak lamp\n2,desk steel\n3,oak desk\n")
        labels = self.file("labels.csv", b"ltable_id,rtable_id,label\n1,2,1\n2,1,0\n")
        pairs = self.file("pairs.csv", b"left_id,right_id,score\n1,3,0.5\n")
        for command in (("candidates", table, "--matches", labels, "--out", self.out), ("label", pairs, "--left", table, "--out", labels)):
            with self.subTest(command[0]):
                self.refused(3, program(*command), "labels.csv: line 3: the pair '2', '1' has the label '0', but '1' in")
        self.assertFalse(self.out.exists(), "labels are read before the search")

    def test_words(self):
        similarity = self.file("s.tsv", b"oak\ttable\t1\noak\toak\t2\n")
        for name, content in VECTORS:
            with self.subTest(name):
                done = program("evaluate_words", "--vectors", self.file(name, content), "--similarity", similarity)
                self.assertEqual(done.returncode, 0, done.stderr)
        vectors = self.file("v.txt", b"oak 1 0\ntable 0 1\n")
        for name, content in SIMILARITY:
            with self.subTest(name):
                done = program("evaluate_words", "--vectors", vectors, "--similarity", self.file(name, content))
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
