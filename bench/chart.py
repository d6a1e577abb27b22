#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what compare.py --json wrote: scored pairs per second by engine and precision, and by the tokens of a pair.

    chart.py ENGINES.jsonl LENGTHS.jsonl OUT.svg

ENGINES.jsonl: one run of `compare.py --task score`; LENGTHS.jsonl: several, each with --length N --label N --threads 1. Of both only scoring
by known engines and precisions is drawn. Needs matplotlib.
"""
import json
import statistics
import sys
from collections import defaultdict

import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

ENGINES = {"lexformer": ("lexformer", "#0b4f9e"), "openvino": ("OpenVINO", "#b35900"), "ctranslate2": ("CTranslate2", "#6f7d88"), "torch": ("PyTorch", "#a33b5b")}
PRECISIONS = {"": ("float32", "o"), "-bf16": ("bfloat16", "s"), "-int8": ("int8", "^")}


def split(contender):
    engine, dash, precision = contender.partition("-")
    return engine, dash + precision


def medians(path, key, threads=None):
    """{contender: {key(line): median pairs per second}}"""
    found = defaultdict(lambda: defaultdict(list))
    with open(path, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            engine, precision = split(line["contender"])
            if line["what"] == "score" and engine in ENGINES and precision in PRECISIONS and threads in (None, line["threads"]):
                found[line["contender"]][key(line)].append(line["pairs_per_second"])
    return {c: {k: statistics.median(v) for k, v in by.items()} for c, by in found.items()}


def bars(axes, speeds):
    """Groups of bars, one for each precision; each engine has one bar for each number of threads."""
    y, ticks, names = 0.0, [], []
    for precision, (title, _) in PRECISIONS.items():
        group = [c for c in speeds if split(c)[1] == precision]
        for contender in sorted(group, key=lambda c: -max(speeds[c].values())):
            engine, colour = ENGINES[split(contender)[0]]
            for threads, speed in sorted(speeds[contender].items()):
                axes.barh(y, speed, height=0.8, color=colour, alpha=0.55 if threads == 1 else 1)
                axes.text(speed + 4, y, f"{speed:.0f}", va="center", fontsize=8)
                ticks.append(y)
                names.append(f"{engine}, {title}, {threads} thread{'s' if threads > 1 else ''}")
                y += 1
        y += 0.8
    axes.set_yticks(ticks, names, fontsize=8)
    axes.invert_yaxis()
    axes.set_title("Abt-Buy pairs scored per second", fontsize=10)


def lines(axes, speeds):
    for contender, by_length in speeds.items():
        (engine, colour), (title, mark) = ENGINES[split(contender)[0]], PRECISIONS[split(contender)[1]]
        lengths = sorted(by_length)
        axes.plot(lengths, [n * by_length[n] for n in lengths], marker=mark, markersize=4, color=colour, label=f"{engine}, {title}",
                  linestyle="-" if engine == "lexformer" else "--")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sorted({n for by in speeds.values() for n in by})))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(bottom=0)
    axes.set_title("Tokens per second, by the tokens of a pair, 1 thread", fontsize=10)
    axes.legend(fontsize=8, frameon=False, ncols=2)


def main():
    engines, lengths, out = sys.argv[1:]
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "lexformer", "font.family": "sans-serif", "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.2), width_ratios=(1, 1.1))
    bars(left, medians(engines, lambda line: line["threads"]))
    lines(right, medians(lengths, lambda line: int(line["label"]), threads=1))
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__.strip())
    main()
