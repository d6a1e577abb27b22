# SPDX-License-Identifier: MIT
"""Tables of records and labelled pairs of their ids, as docs/results uses them."""
import csv


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def read_matches(folder):
    """The pairs of train.csv, valid.csv and test.csv whose label is 1."""
    return [r for part in ("train", "valid", "test") for r in read(folder / f"{part}.csv") if r["label"] == "1"]
