#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns a folder of sentence pairs with dependency trees, as sick-dep or msrvid-dep (castorini/MP-CNN-Torch), into tables and trees.

    trees_to_conllu.py FOLDER --out DIR [--labels entailment|relatedness] [--random SEED]

FOLDER has the folders train, dev, test, or some of them, each with {a,b}.toks, {a,b}.parents, {a,b}.rels and sim.txt. Writes
DIR/{train,valid,test}.tsv, one pair per line: left <tab> right <tab> label, the texts being the tokens joined by a space, and
DIR/trees.conllu with the trees of all texts. Labels: the relatedness of sim.txt, or the entailment of the SICK_*.txt files in FOLDER, joined by
id.txt (NEUTRAL, ENTAILMENT, CONTRADICTION; train_matcher --labels ...). If a text occurs with different trees, its first one is taken.

--random draws another tree over the words of each text: uniform over all trees and roots. The new root gets the old root's relation, the other
relations are shuffled. The draw depends on SEED and the text alone.

Needs Python 3.9 and nothing else. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 bad file.
"""
import argparse
import heapq
import random
import sys
from pathlib import Path

import conllu

PARTS = {"train": "train", "dev": "valid", "test": "test"}


def lines(path):
    try:
        return path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
    except OSError as error:
        raise conllu.Stop(3, "%s: cannot be read: %s" % (path, error.strerror)) from None
    except UnicodeDecodeError as error:
        raise conllu.Stop(3, "%s: is not UTF-8: %s" % (path, error.reason)) from None


def sentence(words, heads, relations, where):
    if not len(words) == len(heads) == len(relations):
        raise conllu.Stop(3, "%s: %d tokens, %d heads, %d relations, expected as many of each" % (where, len(words), len(heads), len(relations)))
    if not all(head.isascii() and head.isdigit() for head in heads):
        raise conllu.Stop(3, "%s: a head is no number" % where)
    tokens = [conllu.Token(w, "_", "_", "_", int(h), r) for w, h, r in zip(words, heads, relations)]
    wrong = conllu.fault(tokens)
    if wrong:
        raise conllu.Stop(3, "%s: %s" % (where, wrong))
    return tokens


def random_parents(n, draw):
    """The head of each of n tokens, from 1, and 0 for the root: a uniform labelled tree (Pruefer's code), hung up at a uniform root."""
    code = [draw.randrange(n) for _ in range(n - 2)]
    degree = [1 + code.count(k) for k in range(n)]
    leaves, neighbours = [k for k in range(n) if degree[k] == 1], [[] for _ in range(n)]
    heapq.heapify(leaves)
    for k in code + [n - 1] * (n > 1):
        leaf = heapq.heappop(leaves)
        neighbours[leaf].append(k)
        neighbours[k].append(leaf)
        degree[k] -= 1
        if degree[k] == 1:
            heapq.heappush(leaves, k)
    root = draw.randrange(n)
    parents, stack = [None] * n, [root]
    parents[root] = 0
    while stack:
        k = stack.pop()
        for other in neighbours[k]:
            if parents[other] is None:
                parents[other] = k + 1
                stack.append(other)
    return parents


def randomised(tokens, seed):
    draw = random.Random("%d\n%s" % (seed, " ".join(t.form for t in tokens)))
    parents = random_parents(len(tokens), draw)
    root = next(t.relation for t in tokens if t.head == 0)
    others = [t.relation for t in tokens if t.head != 0]
    draw.shuffle(others)
    return [t._replace(head=head, relation=root if head == 0 else others.pop()) for t, head in zip(tokens, parents)]


def entailment(folder):
    """pair_ID -> label, of all SICK_*.txt."""
    found = {}
    for path in sorted(folder.glob("SICK_*.txt")):
        header, *rows = (line.rstrip("\r").split("\t") for line in lines(path))
        if "pair_ID" not in header or "entailment_judgment" not in header:
            raise conllu.Stop(3, "%s: line 1: expected the columns pair_ID and entailment_judgment" % path)
        number, label = header.index("pair_ID"), header.index("entailment_judgment")
        for k, row in enumerate(rows, 2):
            if len(row) != len(header):
                raise conllu.Stop(3, "%s: line %d: %d columns, expected %d" % (path, k, len(row), len(header)))
            found[row[number]] = row[label]
    if not found:
        raise conllu.Stop(2, "%s: has no SICK_*.txt with entailment labels; use --labels relatedness" % folder)
    return found


def convert(folder, out, labels, seed):
    parts = [part for part in PARTS if (folder / part / "a.toks").is_file()]
    if not parts:
        raise conllu.Stop(3, "%s: has none of train/a.toks, dev/a.toks, test/a.toks" % folder)
    judged = entailment(folder) if labels == "entailment" else None
    texts, occurrences, differing, tables = {}, 0, 0, {}
    for part in parts:
        here = folder / part
        columns = {name: lines(here / name) for name in ("sim.txt", *(f"{side}.{kind}" for side in "ab" for kind in ("toks", "parents", "rels")))}
        if judged is not None:
            columns["id.txt"] = lines(here / "id.txt")
        count = len(columns["a.toks"])
        for name, column in columns.items():
            if len(column) != count:
                raise conllu.Stop(3, "%s: %d lines, expected %d as in a.toks" % (here / name, len(column), count))
        tables[part] = []
        for k in range(count):
            pair = []
            for side in "ab":
                where = "%s: line %d" % (here / (side + ".toks"), k + 1)
                tokens = sentence(*(columns[f"{side}.{kind}"][k].split() for kind in ("toks", "parents", "rels")), where)
                pair.append(" ".join(t.form for t in tokens))
                occurrences += 1
                tree = [randomised(tokens, seed)] if seed is not None else [tokens]
                differing += texts.setdefault(pair[-1], tree) != tree
            label = columns["sim.txt"][k].strip() if judged is None else judged.get(columns["id.txt"][k].strip())
            if label is None:
                raise conllu.Stop(3, "%s: line %d: pair %s is in no SICK_*.txt" % (here / "id.txt", k + 1, columns["id.txt"][k].strip()))
            tables[part].append("\t".join([*pair, label]) + "\n")
    out.mkdir(parents=True, exist_ok=True)
    for part, rows in tables.items():
        (out / (PARTS[part] + ".tsv")).write_bytes("".join(rows).encode())
    conllu.write(out / "trees.conllu", texts)
    pairs = ", ".join("%s %d" % (PARTS[part], len(rows)) for part, rows in tables.items())
    print("%s: pairs: %s; %d texts; of %d occurrences %d with another tree than the first" % (out, pairs, len(texts), occurrences, differing))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--labels", choices=("entailment", "relatedness"), default="entailment")
    parser.add_argument("--random", type=int, metavar="SEED")
    a = parser.parse_args(arguments)
    return conllu.run(lambda: convert(a.folder, a.out, a.labels, a.random))


if __name__ == "__main__":
    sys.exit(main())
