#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/entities.txt: random BIO tags and what PyPI's seqeval (1.2.2) makes of them in its default mode.

    python3 tests/oracles/make_golden_entities.py
    python3 tests/oracles/make_golden_entities.py --cases 20000 --seed 2 --out /tmp/entities.txt      # more cases
    LEXFORMER_ENTITIES=/tmp/entities.txt build/dev/bin/lexformer_tests --test-case='*seqeval*'

Needs seqeval. A case is a line `precision recall f1 accuracy type=precision,recall,f1,gold ...` and the lines of its sentences, gold and
predicted tags in turns; a case ends with an empty line. Tags are drawn without regard to their order, so that I- stands after O, after
another type and at the start.
"""
import argparse
import random
import sys
import warnings
from pathlib import Path

from seqeval.metrics import accuracy_score, f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities, precision_recall_fscore_support

FILE = Path(__file__).resolve().parents[2] / "tests/golden/entities.txt"
TYPES = ["LOC", "creative-work", "-x", "B"]


def tags(count, types, outside, draw):
    return ["O" if draw.random() < outside else draw.choice("BI") + "-" + draw.choice(types) for _ in range(count)]


def near(gold, types, draw):
    """The gold tags with some of them changed."""
    return [tags(1, types, 0.5, draw)[0] if draw.random() < 0.3 else tag for tag in gold]


def case(draw):
    types = TYPES[:draw.randint(1, len(TYPES))]
    outside = draw.choice([0.2, 0.6, 1.0])
    gold, predicted = [], []
    for _ in range(draw.randint(1, 4)):
        gold.append(tags(draw.randint(1, 9), types, outside, draw))
        predicted.append(near(gold[-1], types, draw) if draw.random() < 0.8 else tags(len(gold[-1]), types, outside, draw))
    return gold, predicted


def scored(gold, predicted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rates that are 0 / 0
        total = [f(gold, predicted) for f in (precision_score, recall_score, f1_score, accuracy_score)]
        names = sorted({e[0] for e in get_entities(gold) + get_entities(predicted)}, key=str.encode)
        each = list(zip(*precision_recall_fscore_support(gold, predicted, average=None))) if names else []
        assert len(each) == len(names)
    fields = [" ".join(repr(float(x)) for x in total)]
    fields += [f"{name}={float(p)!r},{float(r)!r},{float(f)!r},{int(n)}" for name, (p, r, f, n) in zip(names, each)]
    return " ".join(fields)


def text_of(number, seed):
    draw = random.Random(seed)
    cases = [([["O"]], [["O"]])] + [case(draw) for _ in range(number)]
    return "\n".join(scored(gold, predicted) + "\n" + "".join(" ".join(line) + "\n" for pair in zip(gold, predicted) for line in pair)
                     for gold, predicted in cases)


parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--cases", type=int, default=60)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--out", type=Path, default=FILE)
arguments = parser.parse_args()
arguments.out.write_text(text_of(arguments.cases, arguments.seed))
print(f"{arguments.out}: {arguments.cases + 1} cases", file=sys.stderr)
