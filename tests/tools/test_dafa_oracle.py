# SPDX-License-Identifier: MIT
"""tests/oracles/dafa_oracle.py on known pairs, and the matrices, gates and masks in tests/golden/models that it made. Needs Python alone."""
import array
import json
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/oracles")]
sys.dont_write_bytecode = True
from convert.files import read_bytes
from convert.safetensors import parse_safetensors
import dafa_oracle as oracle


class Golden:
    def __init__(self, path):
        self.tensors, metadata = parse_safetensors(read_bytes(str(path)), str(path))
        self.about = json.loads(metadata["about"])
        self.trees = [[self.tree(text) for text in pair] for pair in self.about["pairs"]]
        self.places = []
        for pair in self.about["pairs"]:
            left, right = ([(side, word) for word, count in enumerate(text["pieces"]) for _ in range(count)] for side, text in enumerate(pair))
            self.places.append([None, *left, None, *right, None])

    @staticmethod
    def tree(text):
        rows = [zip(s["words"], s["lemmas"], map(str, s["heads"]), s["relations"]) for s in text["sentences"]]
        return oracle.read_text([" ".join(map("/".join, sentence)) for sentence in rows])

    def values(self, name):
        t = self.tensors[name]
        return array.array({"F64": "d", "I64": "q"}[t.dtype], bytes(t.data)).tolist()


def joined(matrices):
    return [x for m in matrices for row in m for x in row]


class DafaOracle(unittest.TestCase):
    def test_known_pairs(self):
        oracle.check()

    def test_golden_matrices(self):
        paths = sorted((ROOT / "tests/golden/models").glob("dafa*.safetensors"))
        self.assertGreaterEqual(len(paths), 11)
        default = Golden(next(p for p in paths if p.stem == "dafa"))
        for path in paths:
            with self.subTest(path.stem):
                golden = Golden(path)
                training = [text for pair in golden.trees[:golden.about["first_batch"]] for text in pair]
                total, counts = oracle.document_counts(training)
                self.assertEqual(golden.about["documents"], {"count": total, "words": counts})
                self.assertEqual([len(p) for p in golden.places], golden.values("lengths"))
                m, s, left, right, fused = zip(*(oracle.matrices(*trees, (total, counts), golden.about["dafa"]) for trees in golden.trees))
                holder = golden if "gate" in golden.tensors else default
                for name, found in (("M", joined(m)), ("S", joined(s)), ("left", sum(left, [])), ("right", sum(right, [])), ("MF", joined(fused)),
                                    ("gate", joined(oracle.expand(f, p, golden.about["dafa"]["expand"]) for f, p in zip(fused, golden.places)))):
                    self.assertEqual(len(found), len(holder.values(name)), name)
                    self.assertLess(max(abs(x - y) for x, y in zip(found, holder.values(name))), 1e-14, name)

    def test_golden_masks(self):
        golden = Golden(ROOT / "tests/golden/models/syntax.safetensors")
        types, codes, first = golden.values("types"), [], 0
        for trees, places in zip(golden.trees, golden.places):
            codes.append(oracle.syntax_codes(trees, places, types[first:first + len(places)], golden.about["syntax"]["depth"]))
            first += len(places)
        self.assertEqual(joined(codes), golden.values("codes"))


unittest.main()
