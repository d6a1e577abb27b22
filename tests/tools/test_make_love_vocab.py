# SPDX-License-Identifier: MIT
"""tools/make_love_vocab.py on a vocabulary of a few words, and on BERT's if the data are there. The tests of stems need nltk."""
import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import make_love_vocab

DATA = Path(os.environ.get("LEXFORMER_SHARED", ROOT.parent / "shared")) / "data"
SPECIAL = "[PAD] [UNK] [CLS] [SEP] [MASK] [SUB]"
VOCABULARY = "[PAD] [unused0] [UNK] [CLS] [SEP] [MASK] [ # ## 1 a c s this because cats cat ##s ##2 2nd km\u00b2 The the ##ing ##x b"

needs_nltk = unittest.skipUnless(importlib.util.find_spec("nltk"), "needs nltk")


class MakeLoveVocab(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(self.folder / name)

    def make(self, source, *more, code=0):
        """The tokens that were written, joined by spaces; or the message of the error."""
        out = self.folder / "out.txt"
        with contextlib.redirect_stdout(io.StringIO()) as self.said, contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                found = make_love_vocab.main([source, str(out), *more])
            except SystemExit as stop:
                found = stop.code
        self.assertEqual(found, code, err.getvalue())
        if code:
            self.assertFalse(out.exists())
            return err.getvalue()
        text = out.read_text(encoding="utf-8")
        self.assertTrue(text.endswith("\n"))
        return " ".join(text[:-1].split("\n"))

    def vocabulary(self, text=VOCABULARY):
        return self.write("vocab.txt", text.replace(" ", "\n") + "\n")

    @needs_nltk
    def test_stems(self):
        made = self.make(self.vocabulary())
        self.assertEqual(made, SPECIAL + " [ # a c s b thi becaus cat ##s ##2 km\u00b2 the ##ing ##x")
        self.assertEqual(self.said.getvalue(), "%s: 21 tokens: 6 special, 6 characters, 5 words, 4 pieces\n" % (self.folder / "out.txt"))
        self.assertEqual(self.make(self.write("crlf.txt", "\ufeff" + VOCABULARY.replace(" ", " \r\n"))), made)
        self.assertEqual(self.make(self.vocabulary(), "--digits"), made.replace("# a", "# 1 a"))

    def test_whole_words(self):
        made = self.make(self.vocabulary(), "--whole-words")
        self.assertEqual(made, SPECIAL + " [ # 1 a c s b this because cats cat ##s ##2 2nd km\u00b2 the ##ing ##x")
        with mock.patch.dict(sys.modules, {"nltk": None, "nltk.stem": None}):
            self.assertEqual(self.make(self.vocabulary(), "--whole-words"), made)
            (self.folder / "out.txt").unlink()
            self.assertEqual(self.make(self.vocabulary(), code=1),
                             "make_love_vocab.py: nltk is not installed; pip install nltk, or use --whole-words\n")

    def test_the_most_frequent(self):
        source = self.vocabulary("a b c x ab abc bc ##b ##c ##bc ##x")
        # abc 5; ab ##b 7; ab ##x 9; bc and ##bc never: abx is split greedily; a word with z has no pieces.
        words = self.write("words.txt", "\ufeffabc 5\nAbb\t7\nabx 9\n\nabz 100\na 50\n" + "ab" * 60 + " 1000\n")
        kept = lambda count: self.make(source, "--whole-words", "--top", str(10 + count), "--frequencies", words).removeprefix(SPECIAL + " a b c x ")
        self.assertEqual([kept(n) for n in (1, 2, 3, 4, 5, 6, 7, 100)],
                         ["ab", "ab ##x", "ab ##b ##x", "ab abc ##b ##x", "ab abc bc ##b ##x", "ab abc bc ##b ##c ##x",
                          "ab abc bc ##b ##c ##bc ##x", "ab abc bc ##b ##c ##bc ##x"])

    def test_words_are_split_as_by_the_tokenizer(self):
        source = self.vocabulary("a b ' ab ba ##b")
        words = self.write("words.txt", "Áb'ba 5\nab 1\n")
        self.assertEqual(self.make(source, "--whole-words", "--top", "11", "--frequencies", words).removeprefix(SPECIAL + " a b ' "), "ab ba")

    def test_bad_usage(self):
        source, words = self.vocabulary(), self.write("words.txt", "the 5\n")
        self.assertIn("--top and --frequencies go together", self.make(source, "--top", "9", code=2))
        self.assertIn("--top and --frequencies go together", self.make(source, "--frequencies", words, code=2))
        for top in ("13", "0", "-4"):
            self.assertEqual(self.make(source, "--whole-words", "--top", top, "--frequencies", words, code=2),
                             "make_love_vocab.py: --top is %s, but the special tokens and characters alone are 13\n" % top)

    def test_bad_files(self):
        source = self.vocabulary()
        for text, message in ((b"a\n\xff\n", "is not UTF-8: invalid start byte"), ("the\n##s\n", "has no single characters; expected the vocab.txt"),
                              ("a\nthe\n##\n", "has no pieces; expected the vocab.txt of a BERT model"), ("", "has no single characters")):
            bad = self.write("bad.txt", text)
            self.assertIn("%s: %s" % (bad, message), self.make(bad, "--whole-words", code=3))
        for text, message in ((b"the 5\n\xff", ": is not UTF-8"), ("the 5\na b 6\n", ": line 2: 'a b 6', expected a word and its count"),
                              ("the -5\n", ": line 1: 'the -5', expected a word"), ("the\n", ": line 1: 'the', expected a word")):
            bad = self.write("bad.txt", text)
            self.assertIn(bad + message, self.make(source, "--whole-words", "--top", "15", "--frequencies", bad, code=3))
        none = str(self.folder / "none")
        self.assertEqual(self.make(none, "--whole-words", code=3), none + ": cannot be read: No such file or directory\n")
        done = subprocess.run([sys.executable, ROOT / "tools/make_love_vocab.py", source, none + "/out.txt", "--whole-words"],
                              capture_output=True, encoding="utf-8")
        self.assertEqual((done.returncode, done.stderr), (1, none + "/out.txt: No such file or directory\n"))

    @needs_nltk
    def test_the_released_vocabulary(self):
        bert, love = DATA / "bert-vocab/bert-base-uncased-vocab.txt", DATA / "love-vocab/vocab.txt"
        if not bert.exists() or not love.exists():
            self.skipTest("no %s or %s" % (bert, love))
        made, released = self.make(str(bert)).split(" "), love.read_text(encoding="utf-8").split("\n")
        self.assertEqual((len(made), len(released)), (21036, 21257))
        known = set(made)
        self.assertEqual([t for t in released if t in known], made)  # in the same order
        self.assertTrue(all(set("0123456789") & set(t) for t in released if t not in known))


unittest.main()
