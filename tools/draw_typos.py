#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws Figures 1 and 5 of the LOVE paper: accuracy on SST2 against the share of words with typos, a line for each row.

usage: draw_typos.py OUT TABLE FILE.svg

OUT is the folder of tools/reproduce_love.sh, TABLE static (CNN over word vectors) or sst2 (BERT). A point is the mean over the seeds that are
there, of the learning rate that is best on dev; with several seeds a band shows the standard deviation. Needs matplotlib.
"""
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

NAMES = {"none": "no vectors for unknown words", "edit_distance": "edit distance", "mimick": "MIMICK", "bos": "BoS", "kvq_fh": "KVQ-FH", "love": "LOVE"}


def accuracies(row):
    """{percent of typos: accuracies in percent, one for each seed}"""
    found = defaultdict(list)
    for seed in sorted(row.glob("seed-*")):
        runs = [json.loads(f.read_text(encoding="utf-8")) for f in sorted(seed.glob("lr-*/all_results.json"))]
        for test in max(runs, key=lambda r: r["valid"]["accuracy"])["test"] if runs else []:
            share = re.fullmatch(r"typo_test_(\d+)", Path(test["file"]).stem)
            found[int(share[1]) if share else 0].append(100 * test["accuracy"])
    return dict(sorted(found.items()))


def main():
    if len(sys.argv) != 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip().split("\n\n")[1])
    folder = Path(sys.argv[1]) / sys.argv[2] / "sst2"
    rows = {path.name: found for path in sorted(folder.glob("*")) if len(found := accuracies(path)) > 1}
    if not rows:
        sys.exit(f"draw_typos.py: {folder} has no run that was tested with typos; tools/reproduce_love.sh {sys.argv[2]} --out {sys.argv[1]} ... makes them")

    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "lexformer", "font.family": "sans-serif", "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(7.2, 4.6))
    for name, found in sorted(rows.items(), key=lambda r: -max(r[1])):
        method, _, alone = name.partition("-")
        means = [statistics.mean(v) for v in found.values()]
        line, = axes.plot(list(found), means, marker="o", markersize=4, linestyle="--" if alone == "only" else "-", linewidth=2.4 if method == "love" else 1.4,
                          label=NAMES.get(method, method) + (" for all words" if alone == "only" else f" ({alone})" if alone else ""))
        if all(len(v) > 1 for v in found.values()):
            spread = [statistics.stdev(v) for v in found.values()]
            axes.fill_between(list(found), [m - s for m, s in zip(means, spread)], [m + s for m, s in zip(means, spread)], color=line.get_color(), alpha=0.15, linewidth=0)
    seeds = sorted({len(v) for found in rows.values() for v in found.values()})
    axes.set_xlabel("words with a typo, %")
    axes.set_ylabel("accuracy on SST2, %")
    axes.set_title(f"{'BERT' if sys.argv[2] == 'sst2' else 'CNN over word vectors'} ({' to '.join(map(str, sorted({seeds[0], seeds[-1]})))} seed{'s' if seeds[-1] > 1 else ''})", fontsize=10)
    axes.legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(sys.argv[3], metadata={"Date": None})


if __name__ == "__main__":
    main()
