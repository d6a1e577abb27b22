#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Accuracy of models on the pairs of make_role_swaps.py, as a Markdown table.

    evaluate --model M.lxf --test role_swaps.tsv --columns left,right,label --keep kind,animate --parses ... --scores --output R.json
    score_role_swaps.py NAME=R.json ...

A swap is right if the predicted class is not the synonyms' class (of three classes, NEUTRAL and CONTRADICTION both count). `both right`: the
share of the sentences whose swap and synonym are both right; a model that predicts entailment from word overlap alone has 0. `animate`: swaps whose
two nouns name people or animals, so that the swapped sentence also makes sense. Files of the same NAME are runs of one system: mean and sample
standard deviation over them. Needs Python 3.9 and nothing else. Exit codes: 0 success, 2 wrong usage, 3 bad file.
"""
import argparse
import json
import statistics
import sys

COLUMNS = ("swap", "synonym", "both right", "animate swap")


def shares(path):
    """The shares of right predictions in a file of `evaluate --scores`, one for each of COLUMNS."""
    try:
        test = json.load(open(path, encoding="utf-8"))["test"][0]
        labels, predicted, kinds, animate = test["labels"], test["scores"], test["columns"]["kind"], test["columns"]["animate"]
        if "threshold" in test:
            predicted = [int(score > test["threshold"]) for score in predicted]
        if not len(labels) == len(predicted) == len(kinds) == len(animate):
            raise ValueError(f"{len(labels)} labels, {len(predicted)} scores, {len(kinds)} kinds and {len(animate)} animate")
        entailed = {label for label, kind in zip(labels, kinds) if kind == "synonym"}
        if len(entailed) != 1 or kinds != ["swap", "synonym"] * (len(kinds) // 2):
            raise ValueError("the rows are not those of make_role_swaps.py")
    except (OSError, ValueError, KeyError, IndexError, TypeError) as e:
        print(f"score_role_swaps.py: {path}: {type(e).__name__}: {e}; expected the output of evaluate --scores --keep kind,animate", file=sys.stderr)
        sys.exit(3)
    right = [(p in entailed) == (kind == "synonym") for p, kind in zip(predicted, kinds)]
    swaps, synonyms = right[0::2], right[1::2]
    lively = [r for r, a in zip(swaps, animate[0::2]) if str(a) == "1"]
    both = [a and b for a, b in zip(swaps, synonyms)]
    return [100 * sum(part) / len(part) if part else float("nan") for part in (swaps, synonyms, both, lively)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", metavar="NAME=R.json")
    systems = {}
    for argument in parser.parse_args().results:
        name, equals, path = argument.partition("=")
        if not name or not equals:
            parser.error(f"'{argument}' is not of the form NAME=R.json")
        systems.setdefault(name, []).append(shares(path))
    print("| right, % | runs | " + " | ".join(COLUMNS) + " |\n| --- | --- |" + " --- |" * len(COLUMNS))
    for name, runs in systems.items():
        cells = []
        for values in zip(*runs):
            cells.append(f"{statistics.mean(values):.1f}" + (f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""))
        print(f"| {name} | {len(runs)} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
