#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recall of `candidates` and F1 of `match` with all columns alike, with columns that the data weigh, and with the title alone.

    python3 bench/columns.py LEXFORMER FOLDER

FOLDER has abt-buy, dblp-acm and walmart-amazon as docs/results uses them. Beside these, titles get a long column `text`: on each side
about 60 words of descriptions of Abt-Buy, with the title in half of them, the same text less 30 % of its words for 3 in 10 matches, and
nothing in a quarter of the records."""
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pair_data import read, read_matches, write


def add_text(left, right, matches, pool):
    rng = random.Random(7)

    def text(record):
        parts = [record["title"]] if rng.random() < 0.5 else []
        while sum(len(part.split()) for part in parts) < 60 * rng.uniform(0.5, 1.5):
            parts.append(rng.choice(pool))
        return " ".join(parts)

    left, right = ([{"id": r["id"], "title": r["title"], "text": text(r)} for r in table] for table in (left, right))
    of_left, of_right = ({r["id"]: r for r in table} for table in (left, right))
    for match in matches:
        if rng.random() < 0.3:
            of_right[match["rtable_id"]]["text"] = " ".join(w for w in of_left[match["ltable_id"]]["text"].split() if rng.random() > 0.3)
    for record in left + right:
        if rng.random() < 0.25:
            record["text"] = ""
    return left, right


def measure(program, folder):
    a, b, matches = folder / "a.csv", folder / "b.csv", folder / "matches.csv"
    columns = list(read(a)[0])[1:]
    gold = {(r["ltable_id"], r["rtable_id"]) for r in read(matches)}
    for name, options in (("alike", ["--columns", ",".join(columns)]), ("weighed", []), ("title alone", ["--columns", columns[0]])):
        recalls = []
        for typos in ([], *(["--typo-share", "0.2", "--seed", str(seed)] for seed in (1, 2, 3))):
            done = subprocess.run([program, "candidates", a, b, "--matches", matches, *options, *typos], capture_output=True, text=True, check=True)
            recalls.append(re.search(r"recall ([0-9.]+)", done.stdout)[1])
        subprocess.run([program, "match", a, b, "--out", folder / "out.csv", "--matches-only", "--quiet", "--overwrite", *options], check=True)
        found = {(r["left_id"], r["right_id"]) for r in read(folder / "out.csv")}
        print(f"  {name}: recall {recalls[0]}, with 20 % typos {', '.join(recalls[1:])}; F1 {200 * len(found & gold) / (len(found) + len(gold)):.1f}", flush=True)


def main(program, data):
    pool = [r["description"] for r in read(data / "abt-buy" / "tableA.csv")]
    for name in ("abt-buy", "dblp-acm", "walmart-amazon"):
        left, right = read(data / name / "tableA.csv"), read(data / name / "tableB.csv")
        matches = read_matches(data / name)
        sets = [(name, left, right)]
        if name != "abt-buy":
            sets.append((f"{name}, titles and texts", *add_text(left, right, matches, pool)))
        for title, a, b in sets:
            with tempfile.TemporaryDirectory() as folder:
                for file, rows in (("a", a), ("b", b), ("matches", matches)):
                    write(Path(folder) / f"{file}.csv", rows)
                print(title)
                measure(program, Path(folder))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]))
