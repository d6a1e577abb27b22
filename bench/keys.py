#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recall of `candidates`, F1 of `match` without a model, and time, with and without keys.

    python3 bench/keys.py LEXFORMER FOLDER [DEMO]

FOLDER has abt-buy, dblp-acm and walmart-amazon as docs/results uses them. DEMO is a folder of tools/make_demo_data.py: its records get a
postcode, one of 2,000 and one of 50,000, the same for both records of a match."""
import random
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from pair_data import read, read_matches, write

KEYS = {
    "abt-buy": [[], ["--also", "price"]],
    "dblp-acm": [[], ["--same", "year"], ["--same", "authors"]],
    "walmart-amazon": [[], ["--same", "brand"], ["--same", "brand", "--missing-key", "none"], ["--same", "brand", "--also", "modelno"], ["--also", "modelno"]],
}


def candidates(program, a, b, matches, options, out):
    """What `candidates` says, and its user time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([program, "candidates", a, b, "--matches", matches, "--out", out, *options], capture_output=True, text=True, check=True)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return re.search(r"^\d+", done.stdout)[0], re.search(r"recall ([0-9.]+)", done.stdout)[1], seconds


def main(program, data, demo=None):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, keys in KEYS.items():
            matches = read_matches(data / title)
            write(folder / "matches.csv", matches)
            gold = {(r["ltable_id"], r["rtable_id"]) for r in matches}
            tables = data / title / "tableA.csv", data / title / "tableB.csv"
            for options in keys:
                count, recall, seconds = candidates(program, *tables, folder / "matches.csv", ["--threads", "1", *options], folder / "c.csv")
                subprocess.run([program, "match", *tables, "--out", folder / "out.csv", "--matches-only", "--quiet", "--overwrite", *options], check=True)
                found = {(r["left_id"], r["right_id"]) for r in read(folder / "out.csv")}
                f1 = 200 * len(found & gold) / (len(found) + len(gold))
                print(f"{title} {' '.join(options)}: {count} candidates, recall {recall}, F1 {f1:.1f}, {seconds:.2f} s", flush=True)
        if demo is None:
            return
        rng, tables = random.Random(1), [read(demo / f"table_{t}.csv") for t in "ab"]
        for table in tables:
            for record in table:
                record["few"], record["many"] = rng.randrange(2000), rng.randrange(50000)
        left = {record["id"]: record for record in tables[0]}
        right = {record["id"]: record for record in tables[1]}
        for match in read(demo / "matches.csv"):
            a, b = left[match["ltable_id"]], right[match["rtable_id"]]
            b["few"], b["many"] = a["few"], a["many"]
        for t, table in zip("ab", tables):
            write(folder / f"{t}.csv", table)
        for options in ([], ["--same", "few"], ["--same", "many"], ["--also", "many"]):
            count, recall, seconds = candidates(program, folder / "a.csv", folder / "b.csv", demo / "matches.csv", ["--columns", "title", *options], folder / "c.csv")
            print(f"demo {' '.join(options)}: {count} candidates, recall {recall}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:]))
