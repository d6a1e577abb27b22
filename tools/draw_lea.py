#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/lea.svg: LEA's bias on the attention scores of one pair of texts.

usage: draw_lea.py FILE

The numbers in the picture are computed here: Jaccard similarities of character sets (text/similarity.hpp) and l(s), eq. 7 and 8 of the
paper (attention/lea.hpp). tests/tools/test_draw_lea.py compares docs/lea.svg with the output of this script.
"""
import math
import re
import sys
from itertools import groupby
from pathlib import Path

# Words and their pieces, as the program tokenize prints them for weights/english-small.
LEFT = [("belkin", ["bel", "##kin"]), ("sleeve", ["sle", "##ev", "##e"]), ("macbook", ["mac", "##book"]), ("air", ["air"])]
RIGHT = [("belkin", ["bel", "##kin"]), ("sleve", ["sle", "##ve"]), ("mcbok", ["mc", "##bo", "##k"]), ("air", ["air"])]
DIMENSION = 128  # E, the default of LeaOptions
WIDTH, HEIGHT = 846, 460
LEFT_EDGE, TOP, CELL_WIDTH, CELL_HEIGHT = 134, 96, 43, 34  # of the matrix
DARK, GREY, BLUE = "#1f2328", "#59636e", "#0b4f9e"


def jaccard(a, b):
    return len(set(a) & set(b)) / len(set(a) | set(b))


def embedding(s):
    angles = [s * 2 * math.pi / 10000 ** (2 * p / DIMENSION) for p in range(DIMENSION // 2)]
    return [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]


def shade(x):
    """White for 0, blue for 1."""
    return "#" + "".join(f"{round(255 + (blue - 255) * x):02x}" for blue in (0x0B, 0x4F, 0x9E))


def text(x, y, content, size=14, anchor="start", weight="normal", fill=DARK):
    """a_{i} is a subscript, a^{2} a superscript."""
    parts, offset = [], 0
    for part in re.split(r"([_^]\{[^}]*\})", content):
        to = {"_": 4, "^": -6}[part[0]] if part[:2] in ("_{", "^{") else 0
        if to:
            parts.append(f'<tspan dy="{to - offset}" font-size="12">{part[2:-1]}</tspan>')
        elif part:
            space = 4 if offset and part.startswith(" ") else 0  # not every program shows a space at the start of a tspan
            parts.append(f'<tspan dx="{space}" dy="{-offset}">{part.lstrip() if space else part}</tspan>' if offset else part)
            offset = 0
        offset = to or offset
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}">{"".join(parts)}</text>'


def rectangle(x, y, width, height, fill, stroke="none"):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" stroke="{stroke}"/>'


def line(x1, y1, x2, y2, arrow=False):
    end = ' marker-end="url(#head)"' if arrow else ""
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{DARK}"{end}/>'


def matrix():
    yield text(16, 28, "Similarity s of the words of two word pieces", 15, weight="bold")
    x = LEFT_EDGE
    for word, pieces in RIGHT:
        width = CELL_WIDTH * len(pieces)
        yield text(x + width / 2, TOP - 36, word, anchor="middle", weight="bold")
        yield line(x + 4, TOP - 28, x + width - 4, TOP - 28)
        for j, piece in enumerate(pieces):
            yield text(x + CELL_WIDTH * (j + 0.5), TOP - 9, piece, 12, "middle")
        x += width
    y = TOP
    for word, pieces in LEFT:
        height = CELL_HEIGHT * len(pieces)
        yield text(74, y + height / 2 + 5, word, anchor="end", weight="bold")
        yield line(80, y + 4, 80, y + height - 4)
        for i, piece in enumerate(pieces):
            yield text(LEFT_EDGE - 6, y + CELL_HEIGHT * i + 21, piece, 12, "end")
        x = LEFT_EDGE
        for other, other_pieces in RIGHT:
            s, width = jaccard(word, other), CELL_WIDTH * len(other_pieces)
            yield rectangle(x, y, width, height, shade(s), GREY)
            for i in range(len(pieces)):
                for j in range(len(other_pieces)):
                    yield text(x + CELL_WIDTH * (j + 0.5), y + CELL_HEIGHT * i + 21, f"{s:.2f}", 12, "middle", fill="#ffffff" if s > 0.5 else DARK)
            x += width
        y += height
    for i, note in enumerate(("The typos in sleve and mcbok change the pieces but hardly s:",
                              "all pieces of a word have the similarity of the whole word.",
                              "Within one text, and for [CLS] and [SEP], s = 0.")):
        yield text(16, y + 32 + 21 * i, note, fill=GREY)


def steps(x):
    yield text(x, 28, "1. Similarity of two words", 15, weight="bold")
    yield text(x, 51, "s = |A &#8745; B| / |A &#8746; B|, A and B: sets of characters")
    yield text(x, 73, f"macbook, mcbok: 5 / 6 = {jaccard('macbook', 'mcbok'):.2f}")
    yield text(x, 111, f"2. Sinusoidal embedding: E = {DIMENSION} numbers", 15, weight="bold")
    yield text(x, 134, "l(s) = [sin(s &#969;_{p}) | cos(s &#969;_{p})], p = 0 ... E/2 - 1")
    yield text(x, 159, "&#969;_{p} = 2&#960; / 10000^{2p/E}")
    for row, s in enumerate((0, jaccard("macbook", "mcbok"), 1)):
        y, column = 172 + 20 * row, x + 64
        yield text(x, y + 12, f"s = {s:.2f}", 12)
        for value, run in groupby(round((v + 1) * 8) / 16 for v in embedding(s)):  # 17 shades: white is -1, blue is 1
            width = 2 * len(list(run))
            yield rectangle(column, y, width, 14, shade(value))
            column += width
        yield rectangle(x + 64, y, 2 * DIMENSION, 14, "none", GREY)
    yield text(x + 64, 241, "white: -1, dark blue: 1", 12, fill=GREY)
    yield text(x, 273, "3. Projection: one number for each head h", 15, weight="bold")
    yield text(x, 296, "w_{h} &#183; l(s), with a learned vector w_{h}")
    yield text(x, 331, "4. Bias on the attention score of tokens i and j", 15, weight="bold")
    for y, term, color in ((344, "q_{i} &#183; k_{j} / &#8730;d", DARK), (394, "&#945; w_{h} &#183; l(s_{ij})", BLUE)):
        yield rectangle(x, y, 112, 34, "#ffffff", color)
        yield text(x + 56, y + 22, term, 15, "middle", fill=color)
        yield line(x + 112, y + 17, x + 146, 381 if y < 386 else 391, True)
    yield f'<circle cx="{x + 164}" cy="386" r="12" fill="#ffffff" stroke="{DARK}"/>'
    yield text(x + 164, 391, "+", 16, "middle")
    yield line(x + 176, 386, x + 190, 386, True)
    yield text(x + 202, 391, "S_{ij}", 15)
    yield line(x + 224, 386, x + 240, 386, True)
    yield text(x + 252, 391, "softmax over j")
    yield text(x, 449, "&#945;: one number per layer, set before training", fill=GREY)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: draw_lea.py FILE")
    picture = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
               'font-family="Helvetica, Arial, sans-serif">',
               "<title>LEA: word similarities, their embedding, and the bias on the attention scores</title>",
               '<marker id="head" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
               f'<path d="M0 0L8 4L0 8Z" fill="{DARK}"/></marker>',
               rectangle(0, 0, WIDTH, HEIGHT, "#ffffff"), *matrix(), *steps(498), "</svg>"]
    Path(sys.argv[1]).write_text("\n".join(picture) + "\n", encoding="utf-8")


main()
