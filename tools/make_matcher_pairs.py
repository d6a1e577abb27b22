#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the pairs that weights/matcher-small is trained on: train.tsv and valid.tsv (left TAB right TAB label).

usage: make_matcher_pairs.py --data DIR --out DIR [--sets abt-buy,...] [--demo DIR]

--data: a folder of tools/get_data.sh.
--sets: of abt-buy, walmart-amazon, dblp-acm (DIR/tables/SET with tableA.csv, tableB.csv, train.csv, valid.csv), amazon-google and
wdc-computers (DIR/SET with train.tsv, valid.tsv); all by default, so leave out the one that a model shall be tested on. A record is
written as `match` does by default: its values, separated by spaces (of Abt-Buy's descriptions 24 words). Pairs of the two tables of
products occur twice, with all columns and with the first one only, so that the matcher knows long and short texts. --demo: a folder of
tools/make_demo_data.py, whose pairs are added. The order is random, with a fixed seed.
"""
import argparse
import csv
import random
from pathlib import Path

TABLES = {  # the columns of a text, and the most words of each
    "abt-buy": [{"name": None}, {"name": None, "description": 24, "price": None}],
    "walmart-amazon": [{"title": None}, {"title": None, "category": None, "brand": None, "modelno": None, "price": None}],
    "dblp-acm": [{"title": None, "authors": None, "venue": None, "year": None}],
}
PAIRS = {  # files of training pairs, of validation pairs
    "amazon-google": (["amazon-google/train.tsv"], ["amazon-google/valid.tsv"]),
    "wdc-computers": (["wdc-computers-small/train.tsv", "wdc-computers-large/valid.tsv"], ["wdc-computers-small/valid.tsv"]),
}


def records(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def text(record, columns):
    values = (" ".join(record[name].split()[:most]) for name, most in columns.items())
    return " ".join(value for value in values if value)


def of_tables(left, right, path, texts):
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for columns in texts:
                pair = text(left[row["ltable_id"]], columns), text(right[row["rtable_id"]], columns)
                if all(pair):
                    yield *pair, row["label"]


def of_files(files):
    for path in files:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                pair = tuple(line.rstrip("\n").split("\t")[:3])
                if len(pair) < 3:
                    raise SystemExit(f"{path}:{number}: {len(pair)} columns, expected left text, right text and label")
                yield pair


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default=",".join([*TABLES, *PAIRS]))
    parser.add_argument("--demo", type=Path)
    o = parser.parse_args()
    train, valid = [], []
    for name in filter(None, o.sets.split(",")):
        if name in TABLES:
            folder = o.data / "tables" / name
            left, right = records(folder / "tableA.csv"), records(folder / "tableB.csv")
            for pairs, part in ((train, "train"), (valid, "valid")):
                pairs += of_tables(left, right, folder / f"{part}.csv", TABLES[name])
        elif name in PAIRS:
            for pairs, files in zip((train, valid), PAIRS[name]):
                pairs += of_files(o.data / f for f in files)
        else:
            parser.error(f"--sets: there is no set '{name}', expected some of {', '.join([*TABLES, *PAIRS])}")
    if o.demo:
        train += of_files([o.demo / "train.tsv", o.demo / "easy_train.tsv"])
        valid += of_files([o.demo / "valid.tsv", o.demo / "easy_valid.tsv"])
    known = {pair[:2] for pair in valid}
    train = [pair for pair in train if pair[:2] not in known]  # WDC's sizes share pairs
    o.out.mkdir(parents=True, exist_ok=True)
    for name, pairs in (("train", train), ("valid", valid)):
        random.Random(1).shuffle(pairs)
        with open(o.out / f"{name}.tsv", "w", encoding="utf-8") as file:
            file.writelines("\t".join(pair) + "\n" for pair in pairs)
        print(f"{name}.tsv: {len(pairs)} pairs, {sum(pair[2] == '1' for pair in pairs)} matches")


if __name__ == "__main__":
    main()
