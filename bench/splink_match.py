#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`match` without labels beside Splink 5 (expectation maximisation on DuckDB): F1, calibration error and seconds, on the same tables.

    python3 bench/splink_match.py LEXFORMER FOLDER...

FOLDER has tableA.csv, tableB.csv and pairs of ids with labels (train.csv, valid.csv, test.csv); the matches of all three are the truth.
Splink compares the words of each text, the words with digits (model numbers), and the other columns by Jaro-Winkler; pairs with a word in
common that at most 20 records have are its candidates; it is trained on the pairs with the same rarest word. A pair of Splink matches from a probability of one half on; "mutual best": and if neither record has a likelier pair, as `match` decides.

F1: over all pairs. Calibration error: the mean of |mean probability - share of matches| over ten intervals of the probability of equal
width, weighed by their pairs, for the pairs with a probability of 0.05 or more. Expected: the mean probability of the matched pairs, which
is what the precision should be."""
import collections
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pandas
import splink.comparison_library as cl
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

from pair_data import read, read_matches


def truth(folder):
    return {(r["ltable_id"], r["rtable_id"]) for r in read_matches(folder)}


def words(text):
    return sorted(set(re.findall(r"[a-z0-9]+(?:[-./][a-z0-9]+)*", text.lower())))


def by_lexformer(program, folder):
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "matches.csv"
        start = time.time()
        subprocess.run([program, "match", folder / "tableA.csv", folder / "tableB.csv", "--out", out, "--quiet"], check=True)
        seconds = time.time() - start
        return {(r["left_id"], r["right_id"]): (float(r["probability"]), r["match"] == "1") for r in read(out)}, seconds


def by_splink(folder):
    start = time.time()
    tables = [read(folder / "tableA.csv"), read(folder / "tableB.csv")]
    columns = [c for c in tables[0][0] if c != "id"]
    length = {c: sum(len(words(r[c])) for t in tables for r in t) / sum(len(r[c]) > 0 for t in tables for r in t) for c in columns}
    texts = [c for c in columns if length[c] >= 2.5]
    frames = []
    count = collections.Counter(word for table in tables for r in table for word in words(" ".join(r[c] for c in columns)))
    for table in tables:
        rows = []
        for r in table:
            all_words = words(" ".join(r[c] for c in columns))
            row = {"unique_id": r["id"], "models": [w for w in all_words if len(w) >= 4 and re.search(r"\d", w)] or None,
                   "rare": [w for w in all_words if count[w] <= 20] or ["-" + r["id"]],
                   "rarest": min((w for w in all_words if count[w] > 1), key=lambda w: (count[w], w), default=None)}
            row.update({f"{c}_words": words(r[c]) or None for c in texts})
            row.update({c: r[c].lower() or None for c in columns if c not in texts})
            rows.append(row)
        frames.append(pandas.DataFrame(rows))
    comparisons = [cl.ArrayIntersectAtSizes("models", [1])] + [cl.ArrayIntersectAtSizes(f"{c}_words", [6, 4, 3, 2, 1]) for c in texts]
    comparisons += [cl.JaroWinklerAtThresholds(c, [0.95, 0.85]) for c in columns if c not in texts]
    rare = block_on("rare", arrays_to_explode=["rare"])
    api = DuckDBAPI(duckdb.connect())
    inputs = [api.register(frame, dataset_display_name=name) for frame, name in zip(frames, ("a", "b"))]
    linker = Linker(inputs, SettingsCreator("link_only", comparisons=comparisons, blocking_rules_to_generate_predictions=[rare]), log_level=40)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    linker.training.estimate_probability_two_random_records_match([block_on("models", arrays_to_explode=["models"])], recall=0.5)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("rarest"), record_sample_proportion=1.0)
    found = linker.inference.predict().as_pandas_dataframe()
    pairs = {}
    for left, right, p, source in zip(found["unique_id_l"], found["unique_id_r"], found["match_probability"], found["source_dataset_l"]):
        pairs[(left, right) if source == "a" else (right, left)] = (p, p >= 0.5)
    return pairs, time.time() - start


def figures(pairs, matches):
    decided = [pair for pair, (_, match) in pairs.items() if match]
    right = sum(pair in matches for pair in decided)
    bins = collections.defaultdict(list)
    for pair, (p, _) in pairs.items():
        if p >= 0.05:
            bins[min(9, int(10 * p))].append((p, pair in matches))
    total = sum(map(len, bins.values()))
    error = sum(abs(sum(p for p, _ in b) - sum(y for _, y in b)) for b in bins.values()) / total
    return {"candidates": len(pairs), "precision": 100 * right / len(decided), "recall": 100 * right / len(matches),
            "F1": 200 * right / (len(decided) + len(matches)), "expected precision": 100 * sum(pairs[p][0] for p in decided) / len(decided),
            "calibration error": 100 * error}


def mutual_best(pairs):
    """The matches whose records have no likelier pair."""
    best = collections.defaultdict(float)
    for (left, right), (p, _) in pairs.items():
        best["a", left] = max(best["a", left], p)
        best["b", right] = max(best["b", right], p)
    return {(left, right): (p, match and p == best["a", left] == best["b", right]) for (left, right), (p, match) in pairs.items()}


def main():
    program, *folders = sys.argv[1:]
    for folder in map(Path, folders):
        matches = truth(folder)
        ours, theirs = by_lexformer(program, folder), by_splink(folder)
        for name, (pairs, seconds) in (("lexformer", ours), ("splink", theirs), ("splink, mutual best", (mutual_best(theirs[0]), theirs[1]))):
            print(folder.name, name, *(f"{key} {value:.1f}" for key, value in figures(pairs, matches).items()), f"{seconds:.1f} s", sep="; ", flush=True)


if __name__ == "__main__":
    main()
