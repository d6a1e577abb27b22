# SPDX-License-Identifier: MIT
"""tools/make_role_swaps.py on sentences and a WordNet of a few words, both made here. Needs Python alone."""
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
import make_role_swaps

# Synset: (number, file, words); the first sense of each word is the first synset that has it. Counts: of (word, sense).
NOUNS = [("01", "18", ["doctor", "physician", "doc", "medico"]), ("02", "18", ["patient"]), ("03", "05", ["dog"]), ("04", "06", ["ball"]),
         ("05", "18", ["man"]), ("06", "06", ["doc", "docket"]), ("07", "18", ["men", "manpower"])]
ADJECTIVES = [("11", "00", ["big", "large", "huge(a)"]), ("12", "00", ["small", "little", "big"])]
COUNTS = ["doctor%1:18:00:: 1 9", "physician%1:18:00:: 1 4", "doc%1:18:00:: 1 5", "doc%1:06:00:: 2 6", "medico%1:18:00:: 1 2",
          "big%3:00:00:: 1 8", "big%3:00:01:: 2 3", "large%3:00:00:: 1 7", "huge%5:00:00:large:00 1 6", "men%1:18:00:: 1 9", "manpower%1:18:00:: 1 9"]


def write_wordnet(folder):
    for name, synsets in (("noun", NOUNS), ("adj", ADJECTIVES)):
        first = {}
        for number, _, words in synsets:
            for w in words:
                first.setdefault(w.split("(")[0], []).append(number)
        header = "  1 a licence\n"
        (folder / ("index." + name)).write_text(header + "".join("%s n %d 1 @ %d 0 %s\n" % (w, len(s), len(s), " ".join(s)) for w, s in first.items()))
        (folder / ("data." + name)).write_text(header + "".join("%s %s n %02x %s 000 | a gloss\n" % (n, f, len(words), " ".join(w + " 0" for w in words))
                                                                for n, f, words in synsets))
    (folder / "cntlist.rev").write_text("\n".join(COUNTS) + "\n")
    (folder / "noun.exc").write_text("men man\n")


def tokens(rows):
    """word/part of speech/head/relation ..."""
    found = []
    for row in rows.split():
        form, upos, head, relation = row.split("/")
        found.append(conllu.Token(form, form.lower() if upos != "_" else "_", upos, "_", int(head), relation))
    return found


HELPS = "The/DET/2/det doctor/NOUN/4/nsubj is/AUX/4/aux helping/VERB/0/root a/DET/7/det big/ADJ/7/amod patient/NOUN/4/dobj now/ADV/4/advmod"


class RoleSwaps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        write_wordnet(self.folder)
        self.wordnet = make_role_swaps.WordNet(self.folder)

    def make(self, texts, *more, code=0):
        conllu.write(self.folder / "t.conllu", {text: [tokens(rows)] for text, rows in texts.items()})
        (self.folder / "t.tsv").write_text("".join("%s\t%s\tNEUTRAL\n" % (text, text) for text in texts))
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            found = make_role_swaps.main([str(self.folder / "t.tsv"), "--parses", str(self.folder / "t.conllu"), "--wordnet", str(self.folder),
                                          "--out", str(self.folder / "out"), *more])
        self.out, self.err = out.getvalue(), err.getvalue()
        self.assertEqual(found, code, self.err)
        if found == 0:
            rows = [line.split("\t") for line in (self.folder / "out/role_swaps.tsv").read_text().splitlines()]
            self.assertEqual(rows[0], ["left", "right", "label", "kind", "animate"])
            return rows[1:], conllu.read(self.folder / "out/role_swaps.conllu")

    def test_a_pair_of_pairs(self):
        text = "The doctor is helping a big patient now"
        rows, trees = self.make({text: HELPS})
        self.assertEqual(rows[0], [text, "A big patient is helping the doctor now", "NEUTRAL", "swap", "1"])
        self.assertIn(rows[1], ([text, "The physician is helping a big patient now", "ENTAILMENT", "synonym", "1"],
                                [text, "The doctor is helping a large patient now", "ENTAILMENT", "synonym", "1"]))
        self.assertEqual(set(trees), {text, rows[0][1], rows[1][1]})
        swapped = trees[rows[0][1]][0]
        self.assertEqual([(t.form, t.head, t.relation) for t in swapped],
                         [("A", 3, "det"), ("big", 3, "amod"), ("patient", 5, "nsubj"), ("is", 5, "aux"), ("helping", 0, "root"), ("the", 7, "det"),
                          ("doctor", 5, "dobj"), ("now", 5, "advmod")])
        self.assertEqual([t.head for t in trees[rows[1][1]][0]], [t.head for t in trees[text][0]])
        self.assertEqual(len({self.make({text: HELPS}, "--seed", str(seed))[0][1][1] for seed in range(20)}), 2)
        self.assertEqual([row[2] for row in self.make({text: HELPS}, "--labels", "0,1")[0]], ["0", "1"])

    def test_trees_without_parts_of_speech_and_text_without_spaces(self):
        text = "A big man sees the dog, now."
        rows, trees = self.make({text: "A/_/3/det big/_/3/amod man/_/4/nsubj sees/_/0/root the/_/6/det dog/_/4/dobj ,/_/4/punct now/_/4/advmod ./_/4/punct"})
        self.assertEqual([row[1:] for row in rows], [["The dog sees a big man, now.", "NEUTRAL", "swap", "1"],
                                                     ["A large man sees the dog, now.", "ENTAILMENT", "synonym", "1"]])

    def test_articles_and_capitals(self):
        pieces = make_role_swaps.split("An big dog", tokens("An/DET/3/det big/ADJ/3/amod dog/NOUN/0/root"))
        self.assertEqual([make_role_swaps.join(p) for p in make_role_swaps.replacements(pieces, self.wordnet)], ["A large dog"])
        pieces = make_role_swaps.split("Doctor Who", tokens("Doctor/NOUN/0/root Who/PROPN/1/dep"))
        self.assertEqual([make_role_swaps.join(p) for p in make_role_swaps.replacements(pieces, self.wordnet)], ["Physician Who"])
        pieces = make_role_swaps.split("Paris saw a dog", tokens("Paris/PROPN/2/nsubj saw/VERB/0/root a/DET/4/det dog/NOUN/2/dobj"))
        self.assertEqual(make_role_swaps.join(make_role_swaps.exchange(pieces, 1, 4)), "A dog saw Paris")

    def test_left_out(self):
        def found(rows):
            return make_role_swaps.roles(tokens(rows), self.wordnet)

        self.assertEqual(found(HELPS), (2, 7))
        for old, new in (("now/", "not/"), ("helping", "fighting"), ("a/DET", "his/DET"), ("patient/NOUN", "him/PRON"),
                         ("nsubj", "nsubjpass"), ("dobj", "pobj"), ("patient/", "dogs/"), ("a/DET", ",/PUNCT"), ("now/ADV/4", "now/ADV/2")):
            self.assertIsNone(found(HELPS.replace(old, new)), new)
        self.assertIsNone(found("The/DET/2/det dog/NOUN/3/nsubj sees/VERB/0/root the/DET/5/det dog/NOUN/3/dobj"))

    def test_wordnet(self):
        self.assertEqual([self.wordnet.synonym(w, "noun") for w in ("doctor", "physician", "doc", "patient", "none")],
                         ["physician", "doctor", None, None, None])
        self.assertEqual([self.wordnet.synonym(w, "adj") for w in ("big", "large", "huge", "small")], ["large", "big", "big", None])
        self.assertEqual([self.wordnet.singular(w) for w in ("dogs", "men", "dog", "glass")], [("dog", True), ("man", True), ("dog", False), ("glass", False)])
        self.assertEqual([self.wordnet.animate(w) for w in ("doctor", "dog", "ball", "none")], [True, True, False, False])

    def test_faults(self):
        self.make({"A dog": "A/DET/2/det dog/NOUN/0/root"}, code=1)
        self.assertIn("no sentence of the tables has", self.err)
        (self.folder / "noun.exc").unlink()
        self.make({"A dog": "A/DET/2/det dog/NOUN/0/root"}, code=2)
        self.assertIn("noun.exc: cannot be read", self.err)
        write_wordnet(self.folder)
        conllu.write(self.folder / "other.conllu", {"other": [tokens("other/NOUN/0/root")]})
        (self.folder / "t.tsv").write_text("A dog\tother\t0\n")
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(make_role_swaps.main([str(self.folder / "t.tsv"), "--parses", str(self.folder / "other.conllu"), "--wordnet", str(self.folder),
                                                   "--out", str(self.folder / "out")]), 2)
        self.assertIn("has no tree of the text 'A dog'", err.getvalue())


unittest.main()
