# SPDX-License-Identifier: MIT
"""Writes a.csv, b.csv and matches.csv beside this file, or into the folder that is named: 20 products each of two shops, of which 17 are
in both. Same bytes each time.

The second shop writes short titles with typos and sizes in metric units, and leaves values out. Products are drawn by tools/make_demo_data.py.
"""
import csv
import random
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
sys.dont_write_bytecode = True
from make_demo_data import COLOURS, draw_products

PRICES = [60, 150, 500, 180, 700, 1100, 80, 70, 200, 20, 90, 160, 130, 60, 300, 90]  # of each of its kinds
METRIC = {"cu. ft.": (28.317, "{:.0f} l"), "'": (2.54, "{:.0f} cm"), "inch": (2.54, "{:.0f} cm"), "btu": (0.000293, "{:.1f} kw")}


def metric(size):
    for unit, (factor, form) in METRIC.items():
        if unit in size:
            return form.format(factor * float(re.search(r"[\d.]+", size)[0]))
    return size


def misspell(title, rng):
    """One typo in a word of letters: two letters swapped, one left out or one twice."""
    words = title.split()
    place = rng.choice([i for i, word in enumerate(words) if word.isalpha() and len(word) > 3])
    word, at = words[place], rng.randrange(1, len(words[place]) - 1)
    words[place] = rng.choice([word[:at] + word[at + 1] + word[at] + word[at + 2:], word[:at] + word[at + 1:], word[:at] + word[at] + word[at:]])
    return " ".join(words)


def size_of(product):
    return product.family["size_long"].format(product.size).removeprefix("with ")


def record_a(product, price):
    family = product.family
    title = f"{family['line']} {family['long']} {product.colour} {family['extras'][0]} {product.number('-')}"
    return [title, family["brand"], size_of(product), f"{price:.2f}"]


def record_b(product, price, rng):
    family = product.family
    words = [family["line"], family["terse"], rng.choice(COLOURS[product.colour])]
    brand, size = family["brand"], metric(size_of(product)) if rng.random() < 0.8 else ""
    if rng.random() < 0.3:
        words, brand = [brand, *words], ""
    if rng.random() < 0.7:
        words.append(product.number(""))
    title = misspell(" ".join(words), rng) if rng.random() < 0.8 else " ".join(words)
    return [title, brand, size, f"{price * rng.uniform(0.9, 1.1):.0f}" if rng.random() < 0.7 else ""]


def write(name, header, records):
    with open(Path(*sys.argv[1:2] or [HERE]) / name, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *records])


rng = random.Random(1)
families = {}
for product in draw_products(80, rng):
    families.setdefault((product.family["brand"], product.family["kind"]), product)
products = rng.sample(list(families.values()), 23)
prices = [PRICES[product.family["kind"]] * rng.uniform(0.7, 1.5) for product in products]
left = [record_a(*drawn) for drawn in zip(products[:20], prices)]
order = rng.sample(range(3, 23), 20)
right = [record_b(products[i], prices[i], rng) for i in order]
write("a.csv", ["id", "title", "brand", "size", "price"], [[f"a{i}", *record] for i, record in enumerate(left, 1)])
write("b.csv", ["id", "title", "brand", "size", "price"], [[f"b{i}", *record] for i, record in enumerate(right, 1)])
write("matches.csv", ["ltable_id", "rtable_id", "label"], [[f"a{i + 1}", f"b{order.index(i) + 1}", 1] for i in range(3, 20)])
