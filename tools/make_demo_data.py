#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes synthetic product titles, in the style of two shops, to train.tsv, valid.tsv and test.tsv, one pair per line:

    left <tab> right <tab> label          (1 = the same product, 0 = not)

Shop A writes long titles ("halvek 1.6 cu. ft. stainless steel over-the-range microwave oven hm-ov163sk"), shop B terse ones
("halvek ovenette microwave hmov163sk ss"): another order, dropped or abbreviated words, the model number with or without its
hyphen, or no number. The hard negatives are siblings of the product (same brand, kind and line; another
model number, size or colour), the others share the brand, the kind or nothing. Product lines are drawn anew for each file.
Same seed, same bytes.

easy_train.tsv and easy_valid.tsv hold one to four details of a product (brand, kind, size, colour, number, line) in the words of
either shop, half of the pairs from the same product, half from any two. From these short pairs a model learns within seconds that
equal words matter; from only the long titles a plain model takes very long to learn this.

With --records N, also two tables of N records each, table_a.csv (long titles) and table_b.csv (terse ones), with the columns id and
title, and matches.csv (ltable_id,rtable_id,label): half of the products are in both tables.

usage: make_demo_data.py --out DIR [--train 8000] [--valid 800] [--test 800] [--easy 16000] [--records 0] [--seed 1]
"""
import argparse
import random
from pathlib import Path

BRANDS = "halvek ostrava lumenor tavion zentrel brightmoor kelvora arkand nordis veltron pinemark quorin sabrix dunmore".split()
LINES = """aero pulse verdi nimbus quattro selecta prima vista orbit lyric fjord ember zephyr cadet solara
tempo atlas mirage comet juno rondo astra delta sierra""".split()
COLOURS = {  # in the long titles -> in the terse ones
    "black": ["black", "blk", "bk"], "white": ["white", "wht", "wh"], "silver": ["silver", "slv"], "red": ["red"], "blue": ["blue", "blu"],
    "pink": ["pink", "pnk"], "stainless steel": ["stainless steel", "stainless", "ss"], "graphite": ["graphite", "gray"],
}
SMALL = ["black", "white", "silver", "red", "blue", "pink"]
LARGE = ["black", "white", "stainless steel", "graphite"]
# kind: (names in long titles), (names in terse titles), sizes, how a size is written long / terse, colours, extra words
KINDS = [
    (["digital cordless phone", "expandable cordless phone", "dect 6.0 cordless telephone"], ["cordless phone", "dect phone", "phone system"],
     ["1", "2", "3", "4"], ["with {} handsets", "{} handset"], ["{} handset", "{}-pack"], SMALL,
     ["with digital answering system", "with caller id", "with speakerphone", "with intercom"]),
    (["digital camera", "compact digital camera", "zoom digital camera"], ["digital camera", "camera", "digicam"],
     ["8.0", "10.1", "12.1", "14.1"], ["{} megapixel"], ["{}mp", "{} megapixel"], SMALL,
     ["with 3x optical zoom", "with 5x optical zoom", "with image stabilization", "with 2.7 ' lcd screen"]),
    (["lcd hdtv", "flat panel lcd television", "widescreen lcd tv"], ["lcd tv", "hdtv", "lcd television"],
     ["19", "26", "32", "40", "46", "52"], ["{} '", "{} inch"], ["{}in", "{} '", "{}-inch"], LARGE,
     ["1080p full hd", "720p", "with 120hz", "with built-in tuner"]),
    (["over-the-range microwave oven", "countertop microwave oven"], ["microwave", "microwave oven", "otr microwave"],
     ["1.1", "1.6", "1.8", "2.0"], ["{} cu. ft."], ["{} cu ft", "{} cubic feet"], LARGE,
     ["with sensor cooking", "with convection", "with turntable", "1000 watts"]),
    (["front load washer", "front loading washing machine"], ["washer", "fl washer", "washing machine"],
     ["2.7", "3.5", "4.0", "4.5"], ["{} cu. ft."], ["{} cu ft", "{} cubic feet"], LARGE,
     ["with steam", "energy star", "9 cycles", "stackable"]),
    (["side by side refrigerator", "bottom freezer refrigerator", "french door refrigerator"], ["refrigerator", "fridge", "refrig"],
     ["18.2", "21.7", "25.0", "28.5"], ["{} cu. ft."], ["{} cu ft", "{} cubic feet"], LARGE,
     ["with ice dispenser", "energy star", "with glass shelves", "counter depth"]),
    (["portable bluetooth speaker", "wireless speaker system"], ["bt speaker", "bluetooth speaker", "speaker"],
     ["5", "10", "20", "40"], ["{} watt", "{} watts"], ["{}w"], SMALL,
     ["rechargeable", "with usb charging", "water resistant", "with microphone"]),
    (["wireless broadband router", "gigabit wireless router"], ["router", "wifi router", "wlan router"],
     ["54", "150", "300", "450"], ["{} mbps"], ["{}mbps", "{}m"], ["black", "white", "silver"],
     ["with 4 port switch", "dual band", "with usb port", "802.11n"]),
    (["monochrome laser printer", "color laser printer", "all-in-one laser printer"], ["laser printer", "printer", "mfp"],
     ["18", "22", "28", "35"], ["{} pages per minute"], ["{}ppm", "{} ppm"], ["black", "white", "graphite"],
     ["with duplex", "network ready", "with scanner and fax", "600 dpi"]),
    (["usb flash drive", "usb 2.0 flash memory drive"], ["flash drive", "usb stick", "pen drive"],
     ["2", "4", "8", "16", "32"], ["{} gb"], ["{}gb"], SMALL,
     ["retractable", "with password protection", "with lanyard", "high speed"]),
    (["noise canceling headphones", "over-ear stereo headphones", "in-ear headphones"], ["headphones", "stereo headset", "earphones"],
     ["16", "32", "64"], ["{} ohm"], ["{}ohm"], SMALL,
     ["with inline remote", "with carrying case", "foldable", "with 1.2m cable"]),
    (["portable gps navigator", "automotive gps navigation system"], ["gps", "gps navigator", "sat nav"],
     ["3.5", "4.3", "5.0", "7.0"], ["{} ' touch screen", "{} inch screen"], ["{}in", "{} '"], ["black", "silver"],
     ["with lifetime maps", "with text to speech", "with traffic receiver", "north america maps"]),
    (["bagless upright vacuum cleaner", "canister vacuum cleaner"], ["vacuum", "upright vac", "vac cleaner"],
     ["8", "10", "12"], ["{} amp"], ["{}a", "{} amps"], ["red", "blue", "silver", "graphite"],
     ["with hepa filter", "with pet brush", "cyclonic", "with retractable cord"]),
    (["programmable coffee maker", "drip coffee maker", "thermal coffee maker"], ["coffeemaker", "coffee maker", "coffee machine"],
     ["4", "8", "10", "12"], ["{} cup", "{}-cup"], ["{}c", "{} cups"], LARGE,
     ["with grinder", "with auto shut off", "with glass carafe", "with water filter"]),
    (["window air conditioner", "portable air conditioner"], ["air conditioner", "a/c unit", "room ac"],
     ["5000", "8000", "10000", "12000"], ["{} btu"], ["{}btu", "{} btu"], ["white", "graphite"],
     ["with remote control", "energy star", "with heat", "115 volts"]),
    (["dvd player", "portable dvd player", "progressive scan dvd player"], ["dvd player", "dvd", "disc player"],
     ["7", "8.5", "9", "10.2"], ["with {} ' display", "{} inch lcd"], ["{}in", "{} '"], SMALL,
     ["with hdmi", "with usb input", "upconverting", "with car adapter"]),
]


class Product:
    """A member of a product line: members share brand, kind and line name and differ in number, size or colour."""

    def __init__(self, family, digits, suffix, size, colour):
        self.family, self.digits, self.suffix, self.size, self.colour = family, digits, suffix, size, colour

    def number(self, hyphen):
        first, second = self.family["prefix"]
        return f"{first}{hyphen}{second}{self.digits}{self.suffix}"


def make_family(rng):
    """A product line of three to six products."""
    kind = rng.randrange(len(KINDS))
    longs, terses, sizes, size_long, size_terse, colours, extras = KINDS[kind]
    letters = "abcdefghjklmnprstvwxz"
    family = {
        "brand": rng.choice(BRANDS), "kind": kind, "line": rng.choice(LINES), "long": rng.choice(longs),
        "terse": rng.choice(terses), "size_long": rng.choice(size_long), "size_terse": rng.choice(size_terse),
        "extras": rng.sample(extras, 2),
        "prefix": ("".join(rng.choices(letters, k=rng.choice([2, 2, 3]))), "".join(rng.choices(letters, k=rng.choice([0, 1, 2])))),
    }
    base = rng.randrange(100, 9900)
    suffixes = {colour: rng.choice(["", colour[0], colour[0] + "k", "s"]) for colour in colours}
    products = {}
    for _ in range(rng.randint(3, 6)):
        digits = base + rng.choice([0, 0, 1, 2, 3, 5, 10, 20, 100])
        size, colour = rng.choice(sizes), rng.choice(colours)
        product = Product(family, str(digits), suffixes[colour] or rng.choice(["", "x", "t"]), size, colour)
        products.setdefault(product.number("-"), product)  # one product per model number
    return list(products.values())


def title_long(product, rng):
    """Shop A: brand, line, size, colour, kind, one or two features, model number."""
    family = product.family
    size = family["size_long"].format(product.size)
    if product.size == "1":
        size = size.replace("handsets", "handset")
    parts = [family["brand"]]
    middle = [size, product.colour] if rng.random() < 0.6 else [product.colour, size]
    parts += [part for part in middle if rng.random() < 0.85]
    if rng.random() < 0.5:
        parts.insert(1, family["line"])
    parts.append(family["long"])
    parts += rng.sample(family["extras"], rng.choice([0, 1, 1, 2]))
    if rng.random() < 0.93:
        parts.append(product.number(rng.choice(["-", "", ""])))
    return " ".join(parts)


def title_terse(product, rng):
    """Shop B: brand and model number first, short words, often without size, colour or line."""
    family = product.family
    number = product.number(rng.choice(["-", "-", ""])) if rng.random() < 0.9 else ""
    kind = family["terse"] if rng.random() < 0.75 else family["long"]
    details = [family["size_terse"].format(product.size)] if rng.random() < 0.6 else []
    details += [rng.choice(COLOURS[product.colour])] if rng.random() < 0.6 else []
    details += [family["line"]] if rng.random() < 0.5 else []
    rng.shuffle(details)
    parts = [family["brand"], number, kind, *details] if rng.random() < 0.5 else [family["brand"], *details, kind, number]
    if rng.random() < 0.1:
        parts = parts[1:]  # the brand is named elsewhere on the page
    return " ".join(part for part in parts if part)


def draw_products(count, rng):
    return [product for _ in range(count) for product in make_family(rng)]


def make_pairs(count, rng):
    """`count` pairs of titles, a quarter of them positive."""
    products = draw_products(max(2, count // 14), rng)
    by_brand, by_kind, by_family = {}, {}, {}
    for product in products:
        by_brand.setdefault(product.family["brand"], []).append(product)
        by_kind.setdefault(product.family["kind"], []).append(product)
        by_family.setdefault(id(product.family), []).append(product)
    pairs = {}
    while len(pairs) < count:
        left = rng.choice(products)
        draw = rng.random()
        if draw < 0.25:
            right = left
        elif draw < 0.50:
            right = rng.choice(by_family[id(left.family)])
        elif draw < 0.60:
            right = rng.choice([p for p in by_kind[left.family["kind"]] if p.family["brand"] == left.family["brand"]])
        elif draw < 0.80:
            right = rng.choice(by_kind[left.family["kind"]])
        elif draw < 0.90:
            right = rng.choice(by_brand[left.family["brand"]])
        else:
            right = rng.choice(products)
        if draw >= 0.25 and right is left:
            continue
        pairs.setdefault((title_long(left, rng), title_terse(right, rng)), int(right is left))
    return [(left, right, label) for (left, right), label in pairs.items()]


def make_easy_pairs(count, rng):
    """`count` pairs of one to four details, half of them of the same product."""
    products = draw_products(max(2, count // 10), rng)
    pairs = []
    for _ in range(count):
        left = rng.choice(products)
        right = left if rng.random() < 0.5 else rng.choice(products)
        family, other = left.family, right.family
        details = [
            (family["brand"], other["brand"]), (family["long"], other["terse"]), (family["line"], other["line"]),
            (family["size_long"].format(left.size), other["size_terse"].format(right.size)),
            (left.colour, rng.choice(COLOURS[right.colour])), (left.number(""), right.number(rng.choice(["-", ""]))),
        ]
        chosen = rng.sample(details, rng.randint(1, 4))
        long_text = " ".join(detail[0] for detail in chosen)
        rng.shuffle(chosen)
        terse_text = " ".join(detail[1] for detail in chosen)
        pairs.append((long_text, terse_text, int(left is right or sorted(long_text.split()) == sorted(terse_text.split()))))
    return pairs


def make_tables(count, rng):
    """The titles of two tables of `count` products, and the pairs of rows of the same product."""
    products = []
    while len(products) < count + count - count // 2:
        products += make_family(rng)
    rng.shuffle(products)
    shared, rest = products[: count // 2], products[count // 2 :]
    left, right = shared + rest[: count - len(shared)], shared + rest[count - len(shared) :][: count - len(shared)]
    rng.shuffle(left)
    rng.shuffle(right)
    place = {id(product): row for row, product in enumerate(right)}
    matches = [(row, place[id(product)]) for row, product in enumerate(left) if id(product) in place]
    return [title_long(product, rng) for product in left], [title_terse(product, rng) for product in right], matches


def write_tables(folder, count, rng):
    left, right, matches = make_tables(count, rng)
    for name, titles in (("table_a", left), ("table_b", right)):
        with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="\n") as file:
            file.write("id,title\n" + "".join(f"{row},{title}\n" for row, title in enumerate(titles)))  # no title has a comma or a quote
    with open(folder / "matches.csv", "w", encoding="utf-8", newline="\n") as file:
        file.write("ltable_id,rtable_id,label\n" + "".join(f"{a},{b},1\n" for a, b in matches))
    print(f"{folder / 'table_a.csv'}, {folder / 'table_b.csv'}: {count} records each, {len(matches)} of the products in both")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path, help="folder, created if it does not exist")
    for name, default in (("train", 8000), ("valid", 800), ("test", 800), ("easy", 16000), ("records", 0), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for part, make, count in (
        ("easy_train", make_easy_pairs, options.easy), ("easy_valid", make_easy_pairs, options.easy // 20),
        ("train", make_pairs, options.train), ("valid", make_pairs, options.valid), ("test", make_pairs, options.test),
    ):
        pairs = make(count, random.Random(f"{options.seed} {part}"))
        with open(options.out / f"{part}.tsv", "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{left}\t{right}\t{label}\n" for left, right, label in pairs)
        print(f"{options.out / part}.tsv: {len(pairs)} pairs, {sum(pair[2] for pair in pairs)} of them matches")
    if options.records:
        write_tables(options.out, options.records, random.Random(f"{options.seed} records"))


if __name__ == "__main__":
    main()
