#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes LOVE's vocabulary of letters and pieces from the vocab.txt of a BERT model.

    make_love_vocab.py VOCAB.txt OUT.txt [--digits] [--whole-words] [--top K --frequencies WORDS.txt]

OUT.txt has one token per line: [PAD], [UNK], [CLS], [SEP], [MASK] and [SUB]; then the single characters of VOCAB.txt; then its whole words,
each as its Porter stem, and its ## pieces, in their order in VOCAB.txt. All is in lower case. Each token occurs once. Characters and whole
words with the digits 0 to 9 are left out, and so are VOCAB.txt's tokens in brackets; pieces with digits stay. From BERT's uncased
vocabulary this gives 21,036 of the 21,257 tokens that were released with LOVE (Chen et al. 2022), in the same order; the other 221 are
characters and words with digits.

--digits       keep single digits, so that words with digits can be spelled
--whole-words  keep whole words as they are, with digits: the "original" vocabulary of the paper's Table A1
--top          keep the K most frequent tokens (Table A1, Top-K): the special tokens, the characters, and the words and pieces that occur
               most often where the words of WORDS.txt are split. Equal counts: the first in VOCAB.txt. WORDS.txt has a word and its count on
               each line, separated by a space or a tab. Words that cannot be split into pieces are skipped.

Needs Python 3.9 and nltk: pip install nltk (with --whole-words Python alone). Exit codes: 0 success, 1 failure, 2 wrong usage, 3 bad file.
"""
import argparse
import re
import sys
import unicodedata
from pathlib import Path

import conllu

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[SUB]"]
MAX_CHARACTERS = 100  # as in the tokenizer: longer words have no pieces


def lines(path):
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise conllu.Stop(3, "%s: cannot be read: %s" % (path, error.strerror)) from None
    except UnicodeDecodeError as error:
        raise conllu.Stop(3, "%s: is not UTF-8: %s" % (path, error.reason)) from None
    return [line.rstrip() for line in text.split("\n")]


def stemmer():
    try:
        from nltk.stem import PorterStemmer
    except ImportError:
        raise conllu.Stop(1, "make_love_vocab.py: nltk is not installed; pip install nltk, or use --whole-words") from None
    return PorterStemmer().stem


def vocabulary(tokens, stem, digits, whole_words):
    """The characters, and the words and pieces; two lists without duplicates."""
    characters, others = {}, {}
    for token in (t.lower() for t in tokens):
        if token in ("", "##") or re.fullmatch(r"\[.+\]", token):
            continue
        if token.startswith("##"):
            others[token] = None
        elif len(token) == 1:
            if digits or whole_words or token not in "0123456789":
                characters[token] = None
        elif whole_words or not re.search("[0-9]", token):
            others[stem(token)] = None
    return list(characters), [t for t in others if t not in characters]


def parts(text):
    """The parts of a word as BERT's tokenizer makes them: lower case, without accents, split at punctuation."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    return [p for p in re.split(r"([^\w]|_)", plain) if p]


def pieces(word, known):
    """The longest token that starts the word, then the longest piece that continues it, and so on; empty if a step finds none."""
    found, start = [], 0
    while start < len(word) <= MAX_CHARACTERS:
        prefix = "##" if start else ""
        end = next((e for e in range(len(word), start, -1) if prefix + word[start:e] in known), None)
        if end is None:
            return []
        found.append(prefix + word[start:end])
        start = end
    return found


def most_frequent(characters, others, count, path):
    """The `count` tokens of others that occur most often in the words of a file, in their order."""
    known, uses = {*characters, *others}, dict.fromkeys(others, 0)
    for number, line in enumerate(lines(path), 1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 2 or not re.fullmatch("[0-9]+", cells[1]):
            raise conllu.Stop(3, "%s: line %d: %r, expected a word and its count" % (path, number, line[:80]))
        for part in parts(cells[0]):
            for token in pieces(part, known):
                if token in uses:
                    uses[token] += int(cells[1])
    kept = set(sorted(others, key=lambda t: -uses[t])[:count])
    return [t for t in others if t in kept]


def make(source, out, digits, whole_words, top, frequencies):
    for path in (source, frequencies):
        if path is not None and Path(out).exists() and Path(path).exists() and Path(out).samefile(path):
            raise conllu.Stop(2, "make_love_vocab.py: %s is also an input and would be overwritten; name another file" % out)
    tokens = lines(source)
    characters, others = vocabulary(tokens, (lambda t: t) if whole_words else stemmer(), digits, whole_words)
    if not characters or not any(t.startswith("##") for t in others):
        raise conllu.Stop(3, "%s: has no %s; expected the vocab.txt of a BERT model, with one token per line and pieces that begin with ##" %
                          (source, "pieces" if characters else "single characters"))
    if top is not None:
        room = top - len(SPECIAL) - len(characters)
        if room < 1:
            raise conllu.Stop(2, "make_love_vocab.py: --top is %d, but the special tokens and characters alone are %d" % (top, top - room))
        others = most_frequent(characters, others, room, frequencies)
    Path(out).write_bytes("".join(t + "\n" for t in SPECIAL + characters + others).encode())
    count = sum(t.startswith("##") for t in others)
    print("%s: %d tokens: %d special, %d characters, %d words, %d pieces" %
          (out, len(SPECIAL) + len(characters) + len(others), len(SPECIAL), len(characters), len(others) - count, count))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabulary", metavar="VOCAB.txt")
    parser.add_argument("out", metavar="OUT.txt")
    parser.add_argument("--digits", action="store_true")
    parser.add_argument("--whole-words", action="store_true")
    parser.add_argument("--top", type=int, metavar="K")
    parser.add_argument("--frequencies", metavar="WORDS.txt")
    a = parser.parse_args(arguments)
    if (a.top is None) != (a.frequencies is None):
        parser.error("--top and --frequencies go together")
    return conllu.run(lambda: make(a.vocabulary, a.out, a.digits, a.whole_words, a.top, a.frequencies))


if __name__ == "__main__":
    sys.exit(main())
