#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws Figures A3 and A4 of the LOVE paper: each augmentation alone (the diagonal) and each two, on RareWord and on SST2.

usage: draw_augmentations.py OUT FILE.svg

OUT is the folder of tools/reproduce_love.sh: table augmentations measures the words, table static with rows as swap+drop-only measures SST2.
A cell is the mean over the seeds that are there: Spearman's correlation x 100 over all pairs of rw.txt; accuracy in percent on SST2's clean
test sentences, of the learning rate that is best on dev. A matrix without any value is not drawn.
"""
import json
import statistics
import sys
from pathlib import Path

NAMES = ("swap", "drop", "insert", "keyboard", "synonym")
CELL, LEFT, TOP, GAP = 72, 84, 72, 40
DARK, GREY, FONT = "#1f2328", "#59636e", 13


def row(i, j):
    """The row of two augmentations, of one if they are the same."""
    return NAMES[i] if i == j else f"{NAMES[min(i, j)]}+{NAMES[max(i, j)]}"


def rare_words(out, name):
    found = []
    for file in sorted(out.glob(f"words/{name}-[0-9]*.json")):
        if file.stem.removeprefix(name + "-").isdigit():  # others: with the rows of the target
            result = json.loads(file.read_text(encoding="utf-8"))
            found += [s["on_all"]["spearman"] for s in result["similarity"] if Path(s["file"]).stem == "rw"]
    return found


def sst2(out, name):
    found = []
    for seed in sorted(out.glob(f"static/sst2/{name}-only/seed-*")):
        runs = [json.loads(f.read_text(encoding="utf-8")) for f in sorted(seed.glob("lr-*/all_results.json"))]
        if runs:
            found.append(100 * max(runs, key=lambda r: r["valid"]["accuracy"])["test"][0]["accuracy"])
    return found


def shade(x):
    """White for 0, blue for 1."""
    return "#" + "".join(f"{round(255 + (blue - 255) * x):02x}" for blue in (0x0B, 0x4F, 0x9E))


def text(x, y, content, anchor="middle", weight="normal", fill=DARK):
    return f'<text x="{x:g}" y="{y:g}" font-size="{FONT}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}">{content}</text>'


def matrix(title, values, left):
    """values[i][j]: the numbers of the seeds, perhaps none."""
    means = [[statistics.mean(v) if v else None for v in line] for line in values]
    all_means = [m for line in means for m in line if m is not None]
    low, high = min(all_means), max(all_means)
    yield text(left, 26, title, "start", "bold")
    for i, name in enumerate(NAMES):
        yield text(left + LEFT + CELL * (i + 0.5), TOP - 10, name)
        yield text(left + LEFT - 8, TOP + CELL * (i + 0.5) + 5, name, "end")
        for j, mean in enumerate(means[i]):
            share = 0 if mean is None else (mean - low) / (high - low) if high > low else 0.5
            x, y = left + LEFT + CELL * j, TOP + CELL * i
            yield f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}" fill="{shade(share)}" stroke="{GREY}"/>'
            yield text(x + CELL / 2, y + CELL / 2 + 5, "-" if mean is None else f"{mean:.1f}", fill="#ffffff" if share > 0.5 else DARK)


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit("usage: draw_augmentations.py OUT FILE.svg")
    out, parts, left = Path(sys.argv[1]), [], 16
    for title, read in (("RareWord: Spearman x 100", rare_words), ("SST2: accuracy in percent", sst2)):
        values = [[read(out, row(i, j)) for j in range(len(NAMES))] for i in range(len(NAMES))]
        counts = {len(v) for line in values for v in line}
        if counts == {0}:
            print(f"draw_augmentations.py: {out} has no run for '{title}'", file=sys.stderr)
            continue
        seeds = f"{max(counts)} seed" + ("s" if max(counts) > 1 else "") if len(counts) == 1 else f"{min(counts)} to {max(counts)} seeds"
        parts += matrix(f"{title} ({seeds})", values, left)
        left += LEFT + CELL * len(NAMES) + GAP
    if not parts:
        sys.exit(f"draw_augmentations.py: nothing to draw; tools/reproduce_love.sh augmentations --out {out} ... makes the runs")
    width, height = left - GAP + 16, TOP + CELL * len(NAMES) + 16
    picture = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
               'font-family="Helvetica, Arial, sans-serif">', "<title>LOVE: one augmentation (diagonal) and each two</title>",
               f'<rect x="0" y="0" width="{width}" height="{height}" fill="#ffffff"/>', *parts, "</svg>"]
    Path(sys.argv[2]).write_text("\n".join(picture) + "\n", encoding="utf-8")


main()
