#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/blocking.txt with scikit-learn: the cosines of texts by TF-IDF of character n-grams and of tokens.

The tests only read the file: the number of texts, the texts one per line, then for each kind of features its n (0: tokens) and the
matrix of cosines, one row per line.
"""
import re
import unicodedata
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer

TEXTS = """Sony WH-1000XM4 wireless headphones, black
sony wh1000xm4 headphones
SONY  WH 1000 XM4 (black)
Bose QuietComfort 35 II, wireless, wireless
Café Éclair 40" TV 1,299.00
cafe eclair tv tv tv 40
dht-fs5 home theatre
DHTFS5

a & b
straße naïve façade
headphones
""".splitlines()


def words(text):
    text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    return text.split()


def ngrams(n):
    def analyze(text):
        for word in words(text):
            word = re.sub(r"[\W_]", "", word)
            if word:
                word = f" {word} "
                yield from (word[i : i + n] for i in range(max(1, len(word) - n + 1)))
    return analyze


def tokens(text):
    for word in words(text):
        pieces = re.findall(r"[^\W_]+", word)
        yield from pieces
        if len(pieces) > 1:
            yield "".join(pieces)


with open(Path(__file__).resolve().parents[2] / "tests/golden/blocking.txt", "w", encoding="utf-8", newline="\n") as out:
    out.write(f"{len(TEXTS)}\n" + "".join(text + "\n" for text in TEXTS))
    for n in (3, 2, 4, 0):
        vectors = TfidfVectorizer(analyzer=ngrams(n) if n else tokens, sublinear_tf=True, smooth_idf=True, norm="l2").fit_transform(TEXTS)
        out.write(f"{n}\n" + "".join(" ".join(map(repr, row)) + "\n" for row in (vectors @ vectors.T).toarray().tolist()))
