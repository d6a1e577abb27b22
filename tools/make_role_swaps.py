#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes pairs of sentences that only their structure tells apart: does a model see who does what?

    make_role_swaps.py TABLE ... --parses TREES.conllu --wordnet DIR --out DIR [--labels NEUTRAL,ENTAILMENT] [--seed 1]

For each sentence S of the tables that has a subject and a direct object which are both nouns of the same number, two pairs: (S, S with the two
noun phrases exchanged), which S does not entail, and (S, S with one word replaced by a WordNet synonym), which it does. So the pair without
entailment has the larger word overlap. Writes DIR/role_swaps.tsv with the columns left, right, label, kind (swap, synonym) and animate (1: both
nouns name people or animals, so that the swapped sentence also makes sense), and DIR/role_swaps.conllu with the trees of all these texts; the trees
of the new ones are derived from TREES, not parsed. A model of three classes is right about a swap with NEUTRAL and with CONTRADICTION.

Left out: negated sentences, "there is", verbs that hold both ways (fight, meet, ...), noun phrases with a comma, a possessive pronoun or a
gap. One adjective or singular noun, drawn with --seed, is replaced by its most frequent synonym: a word that shares its first sense. In
WordNet's counts both have that sense three times or more, and in at least half of their uses. Trees: spaCy's (parse_pairs.py) or Stanford's
(trees_to_conllu.py); those have no parts of speech, so there a noun is a word with a determiner.

--wordnet: a folder with WordNet 3.0's index.*, data.*, noun.exc and cntlist.rev (Debian: wordnet-base, in /usr/share/wordnet).
Needs Python 3.9 and nothing else. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 bad file.
"""
import argparse
import random
import sys
from collections import namedtuple
from pathlib import Path

import conllu
from parse_pairs import pairs

BOTH_WAYS = ("accompan", "battl", "box", "embrac", "fac", "fight", "fought", "hug", "join", "kiss", "marr", "match", "meet", "met", "resembl",
             "touch", "wrestl")
POSSESSIVE = {"my", "your", "his", "her", "its", "our", "their", "whose"}
NEGATIONS = {"no", "not", "n't", "nobody", "nothing", "none", "never", "without", "neither", "nor", "hardly"}
PARTS = {"NOUN": ("noun", "1"), "ADJ": ("adj", "35")}  # WordNet's name, its digits in sense keys
# Synonyms that would not stand for the word in most sentences.
UNFIT = {"someone", "somebody", "ace", "miss", "crimson", "blackness", "thicket", "works", "older", "puncher", "scope"}
PEOPLE_AND_ANIMALS = {"18", "05"}  # lexicographer files

Piece = namedtuple("Piece", "token glued")  # glued: no space before it in the text


class WordNet:
    def __init__(self, folder):
        self.first, self.words, self.file, self.counts, self.uses, self.plurals = {}, {}, {}, {}, {}, {}
        for name, digits in PARTS.values():
            for row in self.rows(folder / ("index." + name)):
                self.first[name, row[0]] = row[6 + int(row[3])]
            for row in self.rows(folder / ("data." + name)):
                self.words[name, row[0]] = [w.split("(")[0] for w in row[4:4 + 2 * int(row[3], 16):2]]
                self.file[name, row[0]] = row[1]
        for key, sense, count in self.rows(folder / "cntlist.rev"):
            lemma, rest = key.split("%")
            name = next((n for n, digits in PARTS.values() if rest[0] in digits), None)
            if name:
                self.uses[name, lemma] = self.uses.get((name, lemma), 0) + int(count)
                if sense == "1":
                    self.counts[name, lemma] = int(count)
        for plural, single, *_ in self.rows(folder / "noun.exc"):
            self.plurals[plural] = single

    @staticmethod
    def rows(path):
        try:
            return [line.split() for line in path.read_text(encoding="latin-1").split("\n") if line and not line.startswith("  ")]
        except OSError as error:
            raise conllu.Stop(2, "%s: cannot be read: %s; --wordnet needs the files of Debian's wordnet-base" % (path, error.strerror)) from None

    def frequent(self, word, name):
        count = self.counts.get((name, word), 0)
        return count >= 3 and 2 * count >= self.uses[name, word]

    def synonym(self, word, name):
        """The most frequent word that may stand for this one, or None."""
        sense = self.first.get((name, word))
        if not sense or not self.frequent(word, name):
            return None
        found = [w for w in self.words[name, sense] if w not in UNFIT | {word} and w.isalpha() and w.islower() and self.first[name, w] == sense and
                 self.frequent(w, name)]
        return max(found, key=lambda w: (self.counts[name, w], w), default=None)

    def singular(self, word):
        """The base form of a noun, and whether the noun is a plural."""
        known = lambda w: ("noun", w) in self.first
        if self.plurals.get(word, word) != word:
            return self.plurals[word], True
        for end, new in (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("sses", "ss"), ("s", "")):
            if word.endswith(end) and not word.endswith(("ss", "us")) and known(word[:-len(end)] + new):
                return word[:-len(end)] + new, True
        return word, False

    def animate(self, noun):
        return self.file.get(("noun", self.first.get(("noun", noun)))) in PEOPLE_AND_ANIMALS


def split(text, sentence):
    """The tokens of a text that is one sentence, with their spaces; None if they are not all of it."""
    pieces, position = [], 0
    for token in sentence:
        start = text.find(token.form, position)
        if start < 0 or text[position:start].strip():
            return None
        pieces.append(Piece(token, position == start))
        position = start + len(token.form)
    return pieces if not text[position:].strip() else None


def join(pieces):
    return "".join(("" if p.glued or k == 0 else " ") + p.token.form for k, p in enumerate(pieces))


def subtree(sentence, head):
    """The numbers of a token and all below it."""
    found, stack = set(), [head]
    while stack:
        k = stack.pop()
        found.add(k)
        stack += [i for i, t in enumerate(sentence, 1) if t.head == k]
    return sorted(found)


def part_of_speech(sentence, k):
    token = sentence[k - 1]
    if token.upos != "_":
        return token.upos
    if any(t.head == k and t.relation == "det" for t in sentence):
        return "NOUN"
    return "ADJ" if token.relation == "amod" else "_"


def roles(sentence, wordnet):
    """(subject, object) of a verb that may be exchanged, or None; token numbers."""
    if any(t.form.lower() in NEGATIONS or t.relation in ("neg", "expl") for t in sentence):
        return None
    for verb, token in enumerate(sentence, 1):
        below = lambda *names: [k for k, t in enumerate(sentence, 1) if t.head == verb and t.relation in names]
        subject, direct = below("nsubj"), below("dobj", "obj")
        if len(subject) != 1 or len(direct) != 1 or subject[0] > direct[0] or token.form.lower().startswith(BOTH_WAYS):
            continue
        heads = subject[0], direct[0]
        spans = [subtree(sentence, k) for k in heads]
        if (all(part_of_speech(sentence, k) == "NOUN" for k in heads)
                and all(span[-1] - span[0] + 1 == len(span) for span in spans)
                and not any(sentence[k - 1].form.lower() in POSSESSIVE | {","} for span in spans for k in span)
                and len({wordnet.singular(sentence[k - 1].form.lower())[1] for k in heads}) == 1
                and len({join([Piece(sentence[k - 1], False) for k in span]).lower() for span in spans}) == 2):
            return heads
    return None


def capital(token, upper):
    form = token.form[:1].upper() if upper else token.form[:1].lower()
    return token if not upper and token.upos == "PROPN" else token._replace(form=form + token.form[1:])


def exchange(pieces, subject, direct):
    """The sentence with both noun phrases, and their relations, exchanged."""
    sentence = [p.token for p in pieces]
    a, b = subtree(sentence, subject), subtree(sentence, direct)
    order = [*range(1, a[0]), *b, *range(a[-1] + 1, b[0]), *a, *range(b[-1] + 1, len(sentence) + 1)]
    place = {old: new for new, old in enumerate(order, 1)} | {0: 0}
    relation = {subject: sentence[direct - 1].relation, direct: sentence[subject - 1].relation}
    glue = {b[0]: pieces[a[0] - 1].glued, a[0]: pieces[b[0] - 1].glued}
    out = []
    for old in order:
        token = sentence[old - 1]
        if place[old] == 1 != old or old == 1 != place[old]:
            token = capital(token, place[old] == 1)
        out.append(Piece(token._replace(head=place[token.head], relation=relation.get(old, token.relation)), glue.get(old, pieces[old - 1].glued)))
    return out


def replacements(pieces, wordnet):
    """Every sentence with one word replaced by a synonym, and the article before it where the new word needs another."""
    sentence = [p.token for p in pieces]
    found = []
    for k, token in enumerate(sentence, 1):
        name = PARTS.get(part_of_speech(sentence, k), ("",))[0]
        synonym = wordnet.synonym(token.form.lower(), name)
        if not synonym or name == "noun" and wordnet.singular(token.form.lower())[1]:
            continue
        new = list(pieces)
        form = synonym.capitalize() if token.form[0].isupper() else synonym
        new[k - 1] = pieces[k - 1]._replace(token=token._replace(form=form, lemma="_" if token.lemma == "_" else synonym))
        if k > 1 and sentence[k - 2].form.lower() in ("a", "an"):
            article = sentence[k - 2]
            right = article.form[0] + ("n" if synonym[0] in "aeiou" else "")
            new[k - 2] = pieces[k - 2]._replace(token=article._replace(form=right))
        found.append(new)
    return found


def make(tables, parses, folder, out, labels, seed):
    wordnet, trees = WordNet(folder), conllu.read(parses)
    texts = dict.fromkeys(text for path in tables for _, *pair in pairs(path) for text in pair)
    rows, used, animate = [], {}, 0
    for text in texts:
        if text not in trees:
            raise conllu.Stop(2, "%s: has no tree of the text %r" % (parses, text[:80]))
        pieces = split(text, trees[text][0]) if len(trees[text]) == 1 else None
        found = roles(trees[text][0], wordnet) if pieces else None
        synonyms = replacements(pieces, wordnet) if found else []
        if not synonyms:
            continue
        new = {"swap": exchange(pieces, *found), "synonym": random.Random("%d\n%s" % (seed, text)).choice(synonyms)}
        trees_of_new = {join(p): [[piece.token for piece in p]] for p in new.values()}
        if any(used.get(t, tree) != tree for t, tree in trees_of_new.items()) or used.get(text, trees[text]) != trees[text]:
            continue  # a text has one tree
        used |= {text: trees[text]} | trees_of_new
        alive = all(wordnet.animate(wordnet.singular(pieces[k - 1].token.form.lower())[0]) for k in found)
        animate += alive
        rows += ["\t".join([text, join(p), labels[kind == "synonym"], kind, str(int(alive))]) + "\n" for kind, p in new.items()]
    if not rows:
        raise conllu.Stop(1, "make_role_swaps.py: no sentence of the tables has a subject, an object and a synonym")
    out.mkdir(parents=True, exist_ok=True)
    (out / "role_swaps.tsv").write_bytes("".join(["left\tright\tlabel\tkind\tanimate\n", *rows]).encode())
    conllu.write(out / "role_swaps.conllu", used)
    print("%s: %d sentences of %d, %d pairs; %d sentences with two people or animals" % (out, len(rows) // 2, len(texts), len(rows), animate))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", metavar="TABLE")
    parser.add_argument("--parses", required=True)
    parser.add_argument("--wordnet", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--labels", default="NEUTRAL,ENTAILMENT", metavar="NO,YES", help="the labels of swaps and of synonyms")
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args(arguments)
    labels = a.labels.split(",")
    if len(labels) != 2:
        parser.error("--labels names %d labels, expected 2" % len(labels))
    return conllu.run(lambda: make(a.tables, a.parses, a.wordnet, a.out, labels, a.seed))


if __name__ == "__main__":
    sys.exit(main())
