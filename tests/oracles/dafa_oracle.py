#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Matrices of DAFA (eq. 1-5), its token gate and the masks of Syntax-BERT, written out from their definitions in plain Python.

tests/oracles/make_golden_dafa.py uses them for golden values; run alone, this file checks itself on pairs whose matrices are known. Nothing is fast here:
S is the recursion itself. A matrix is a list of rows.
"""
import math
from collections import Counter, namedtuple
from functools import lru_cache

# The words of a text, which may have several sentences. parents: index of the head in the text, None for the root of a sentence.
Text = namedtuple("Text", "words lemmas parents relations")


def read_text(sentences):
    """Sentences of tokens `word/lemma/head/relation`; a head is a number in the sentence from 1, 0 for its root."""
    words, lemmas, parents, relations = [], [], [], []
    for sentence in sentences:
        first = len(words)
        for token in sentence.split():
            word, lemma, head, relation = token.split("/")
            words.append(word)
            lemmas.append(lemma)
            parents.append(first + int(head) - 1 if int(head) else None)
            relations.append(relation)
    return Text(words, lemmas, parents, relations)


def keys(text, match):
    """What is compared of each word."""
    return [w.lower() for w in (text.words if match == "form" else text.lemmas)]


def tree_matrix(a, b, theta=2.0, match="form"):
    """M, eq. 1-3: a word is a trigram (head, relation, word). The head of a root equals only that of another root."""
    x, y = keys(a, match), keys(b, match)

    def head(text, words, i):
        return ("root",) if text.parents[i] is None else words[text.parents[i]]

    return [[((head(a, x, i) == head(b, y, j)) + (x[i] == y[j])) * (theta if a.relations[i] == b.relations[j] else 1.0) for j in range(len(y))]
            for i in range(len(x))]


def children(text, i):
    return [k for k, parent in enumerate(text.parents) if parent == i]


def subgraph_matrix(a, b, alpha=1.0, nu=0.5, kind="pairs", match="form"):
    """S, eq. 4. pairs: alpha + nu sum S(x, y) over the children x, y of i, j; children: sum (alpha [x = y] + nu S(x, y))."""
    u, v = keys(a, match), keys(b, match)

    @lru_cache(None)
    def s(i, j):
        if u[i] != v[j] or a.relations[i] != b.relations[j]:
            return 0.0
        below = [(x, y) for x in children(a, i) for y in children(b, j)]
        if kind == "pairs":
            return alpha + nu * sum(s(x, y) for x, y in below)
        return sum(alpha * (u[x] == v[y]) + nu * s(x, y) for x, y in below)

    return [[s(i, j) for j in range(len(v))] for i in range(len(u))]


def document_counts(texts):
    """Number of texts, and of the texts that hold each word; equal texts count each time."""
    counts = Counter()
    for text in texts:
        counts.update(set(keys(text, "form")))
    return len(texts), counts


def tfidf(text, documents, normalise="max"):
    """The weight of each word: its count in the text times ln((1 + documents) / (1 + those that hold it)) + 1."""
    total, counts = documents
    words = keys(text, "form")
    raw = [words.count(w) * (math.log((1 + total) / (1 + counts[w])) + 1) for w in words]
    divisor = {"off": 1.0, "max": max(raw), "mean": sum(raw) / len(raw)}[normalise]
    return [w / divisor for w in raw]


def matrices(a, b, documents, options):
    """M, S, the weights of both texts and M_F, eq. 5, with the options of attention term "dafa"."""
    without = options["without"]
    zeros = [[0.0] * len(b.words) for _ in a.words]
    m = zeros if "tree" in without else tree_matrix(a, b, options["theta"], options["match"])
    s = zeros if "subgraph" in without else subgraph_matrix(a, b, options["alpha"], options["nu"], options["subgraph"], options["match"])
    left, right = ([1.0] * len(t.words) if "tfidf" in without else tfidf(t, documents, options["tfidf"]) for t in (a, b))
    alone = "tree" in without and "subgraph" in without
    fused = [[(1.0 if alone else abs(m[i][j] + s[i][j])) * left[i] * right[j] for j in range(len(right))] for i in range(len(left))]
    return m, s, left, right, fused


def expand(fused, places, how="ones"):
    """The gate of the tokens, (n, n). places: of each token (side, word), or None for [CLS] and [SEP]; a side is 0 or 1."""
    gate = [[1.0] * len(places) for _ in places]
    for p, left in enumerate(places):
        for q, right in enumerate(places):
            if left and right and left[0] == 0 and right[0] == 1:
                gate[p][q] = gate[q][p] = fused[left[1]][right[1]] + (how == "plus_one")
    return gate


def ancestor(text, i, distance):
    for _ in range(distance):
        i = None if i is None else text.parents[i]
    return i


def syntax_codes(texts, places, types, depth):
    """Syntax-BERT: bit k of cell (i, j) says that mask k lets query i see key j. Masks: ancestor at distance 1..depth, descendant at
    distance 1..depth, sibling, other type id, all."""
    n = len(places)
    codes = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            allowed = [False] * (2 * depth + 1) + [types[i] != types[j], True]
            if places[i] and places[j] and places[i][0] == places[j][0]:
                text, x, y = texts[places[i][0]], places[i][1], places[j][1]
                for d in range(1, depth + 1):
                    allowed[d - 1] = ancestor(text, x, d) == y
                    allowed[depth + d - 1] = ancestor(text, y, d) == x
                allowed[2 * depth] = x != y and text.parents[x] is not None and text.parents[x] == text.parents[y]
            codes[i][j] = sum(1 << k for k, yes in enumerate(allowed) if yes)
    return codes


def transposed(x):
    return [list(row) for row in zip(*x)]


def check():
    """The pairs of issue 19 and laws."""
    a = read_text(["Apple/apple/2/nsubj exceeded/exceed/0/root company/company/2/obj"])
    b = read_text(["company/company/2/nsubj exceeded/exceed/0/root Apple/apple/2/obj"])
    plain = {"theta": 2.0, "alpha": 1.0, "nu": 0.5, "match": "form", "subgraph": "pairs", "tfidf": "max", "without": ["tfidf"]}
    m, s, _, _, fused = matrices(a, b, None, plain)
    assert m == [[2, 0, 2], [0, 4, 0], [2, 0, 2]], m
    assert fused == [[2, 0, 2], [0, 5, 0], [2, 0, 2]], fused
    assert matrices(a, a, None, plain)[4] == [[5, 0, 1], [0, 6, 0], [1, 0, 5]]
    assert subgraph_matrix(a, a) == [[1, 0, 0], [0, 2, 0], [0, 0, 1]]
    assert subgraph_matrix(a, a, kind="children") == [[0, 0, 0], [0, 2, 0], [0, 0, 0]]  # two equal children
    c = read_text(["The/the/2/det apple/apple/3/nsubj fell/fall/0/root", "It/it/2/nsubj fell/fall/0/root"])
    documents = document_counts([a, b, c, c])
    assert documents == (4, {"apple": 4, "exceeded": 2, "company": 2, "the": 2, "fell": 2, "it": 2})
    assert tfidf(c, documents, "off") == [1 + math.log(5 / 3), 1.0, 2 * (1 + math.log(5 / 3)), 1 + math.log(5 / 3), 2 * (1 + math.log(5 / 3))]
    assert max(tfidf(c, documents)) == 1 and abs(sum(tfidf(c, documents, "mean")) - 5) < 1e-12
    assert tfidf(c, (9, Counter()), "off")[1] == 1 + math.log(10)  # never seen
    for options in (plain, plain | {"without": []}, plain | {"subgraph": "children", "without": []}, plain | {"without": ["tree", "subgraph"]}):
        forward, backward = matrices(a, c, documents, options)[4], matrices(c, a, documents, options)[4]
        assert max(abs(x - y) for p, q in zip(forward, transposed(backward)) for x, y in zip(p, q)) < 1e-15
    places = [None, (0, 0), (0, 0), (0, 1), (0, 2), None, (1, 0), (1, 1), (1, 2), None]
    gate = expand(fused, places)
    assert gate == transposed(gate) and gate[1][6] == gate[2][6] == 2 and gate[3][7] == 5 and gate[1][7] == 0 and gate[0] == [1] * 10
    assert gate[1][2] == gate[6][7] == 1 and expand(fused, places, "plus_one")[3][7] == 6
    tokens = [None, *((0, i) for i in range(5)), None, (1, 1), None]
    codes = syntax_codes((c, a), tokens, [0] * 7 + [1] * 2, 2)
    names = ["ancestor 1", "ancestor 2", "descendant 1", "descendant 2", "sibling", "cross", "full"]
    found = {cell: [name for k, name in enumerate(names) if codes[cell[0]][cell[1]] >> k & 1] for cell in
             ((1, 2), (2, 1), (1, 3), (3, 1), (1, 1), (3, 5), (4, 5), (2, 4), (0, 1), (1, 7), (0, 8), (7, 7))}
    assert found == {(1, 2): ["ancestor 1", "full"], (2, 1): ["descendant 1", "full"], (1, 3): ["ancestor 2", "full"],
                     (3, 1): ["descendant 2", "full"], (1, 1): ["full"], (3, 5): ["full"], (4, 5): ["ancestor 1", "full"],
                     (2, 4): ["full"], (0, 1): ["full"], (1, 7): ["cross", "full"], (0, 8): ["cross", "full"], (7, 7): ["full"]}
    siblings = syntax_codes((a, b), [(0, 0), (0, 2)], [0, 0], 1)
    assert siblings == [[16, 20], [20, 16]]  # depth 1: ancestor, descendant, sibling, cross, full


if __name__ == "__main__":
    check()
    print("the matrices of all known pairs are right")
