#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the floors of include/lexformer and the arrows between them, computed from the includes of the headers.

usage: include_graph.py [--root DIR] [--svg FILE]
  --root   the repository (default: this one)
  --svg    also draw the floors

An arrow goes from a folder to one whose files it includes. The floors have the order of FLOORS in tests/house/test_floors.py (a
folder that is missing there is on top). An arrow up goes to the same or a higher floor; a circle is a group of folders, or of files,
that include each other. Prints the lines of each folder; the exit code is 1 if there is an arrow up or a circle."""
import argparse
import re
import sys
from collections import Counter
from pathlib import Path


def floor_order(root):
    """The folders from the lowest floor up, as listed by the house rules."""
    rules = root / "tests/house/test_floors.py"
    table = re.search(r"^FLOORS = \{(.*?)^\}", rules.read_text(encoding="utf-8"), flags=re.M | re.S) if rules.exists() else None
    allowed = {name: set(below.split()) for name, below in re.findall(r'"([\w/]+)": "([\w/ ]*)"', table.group(1))} if table else {}

    def floor(name, above=()):
        below = [floor(other, (*above, name)) for other in allowed[name] if other in allowed and other not in (*above, name)]
        return 1 + max(below, default=-1)
    return {name: floor(name) for name in allowed}


def read_includes(root):
    """{header: (lines, headers that it includes)}; names are relative to include/lexformer."""
    include = root / "include/lexformer"
    found = {}
    for path in sorted(include.rglob("*.hpp")):
        text = path.read_text(encoding="utf-8")
        targets = re.findall(r'^\s*#\s*include\s*"lexformer/([^"]+)"', text, flags=re.M)
        found[str(path.relative_to(include))] = (text.count("\n"), targets)
    return found


def circles(arrows):
    """Groups of two nodes or more that reach each other (Tarjan's strongly connected components), and nodes that include themselves."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for other in sorted(arrows.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on_stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
                on_stack.discard(group[-1])
            if len(group) > 1 or node in arrows.get(node, ()):
                found.append(sorted(group))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return sorted(found)


def graph(root):
    headers = read_includes(root)
    if not headers:
        sys.exit(f"include_graph.py: {root}: there are no headers in include/lexformer")

    def folder(name):
        return str(Path(name).parent) if "/" in name else ""
    files, lines, arrows = Counter(), Counter(), Counter()
    for name, (length, targets) in headers.items():
        files[folder(name)] += 1
        lines[folder(name)] += length
        for target in targets:
            if folder(name) and folder(target) and folder(target) != folder(name):
                arrows[folder(name), folder(target)] += 1
    order = floor_order(root)
    floors = {name: order.get(name, 1 + max(order.values(), default=-1)) for name in files if name}
    up = sorted(pair for pair in arrows if floors[pair[1]] >= floors[pair[0]])
    between_files = circles({name: {t for t in targets if t in headers} for name, (_, targets) in headers.items()})
    between_folders = circles({name: {b for a, b in arrows if a == name} for name in floors})
    return {"files": files, "lines": lines, "arrows": arrows, "floors": floors, "up": up, "circles": between_folders + between_files}


def as_text(g):
    out = []
    for floor in sorted(set(g["floors"].values()), reverse=True):
        for name in sorted(n for n, f in g["floors"].items() if f == floor):
            below = ", ".join(f"{b} {count}" for (a, b), count in sorted(g["arrows"].items(), key=lambda item: -g["floors"][item[0][1]]) if a == name)
            out.append(f"{floor}  {name:10} {g['files'][name]:3} files {g['lines'][name]:6} lines  -> {below or 'nothing'}")
    if g["files"][""]:
        out.append(f"   {'(alone)':10} {g['files']['']:3} files {g['lines']['']:6} lines")
    out.append(f"{len(g['floors'])} folders on {len(set(g['floors'].values()))} floors, {sum(g['files'].values())} headers, {sum(g['lines'].values())} lines, "
               f"{len(g['arrows'])} arrows ({sum(g['arrows'].values())} includes), {len(g['up'])} up, {len(g['circles'])} circles")
    out += [f"arrow up: {a} -> {b}" for a, b in g["up"]]
    out += ["circle: " + " <-> ".join(group) for group in g["circles"]]
    return "\n".join(out) + "\n"


def as_svg(g):
    """Floors as rows, the lowest at the bottom; an arrow up is red. Arrows implied by paths of others are omitted."""
    levels = sorted(set(g["floors"].values()), reverse=True)
    rows = [sorted(n for n, f in g["floors"].items() if f == level) for level in levels]
    box, height, gap, step = 150, 44, 60, 104
    width = max(len(row) for row in rows) * (box + gap) + gap
    place = {name: (width * (k + 1) / (len(row) + 1), 30 + step * r) for r, row in enumerate(rows) for k, name in enumerate(row)}
    total = 30 + step * len(rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{total}" viewBox="0 0 {width} {total}" font-family="sans-serif">',
             f'<rect width="{width}" height="{total}" fill="#ffffff"/>',
             '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#666666"/></marker></defs>']
    below = {name: {b for a, b in g["arrows"] if a == name} for name in g["floors"]}

    def reaches(a, b):
        return any(c == b or (g["floors"][c] < g["floors"][a] and reaches(c, b)) for c in below[a])
    for (a, b), count in sorted(g["arrows"].items()):
        if (a, b) not in g["up"] and any(c != b and (c, b) not in g["up"] and reaches(c, b) for c in below[a] if g["floors"][c] < g["floors"][a]):
            continue
        (x1, y1), (x2, y2) = place[a], place[b]
        start, end = (y1 + height, y2) if y2 > y1 else (y1, y2 + height)
        bend = 0 if abs(y2 - y1) <= step else (80 if x1 + x2 >= width else -80)
        colour = "#c0392b" if (a, b) in g["up"] else "#666666"
        parts.append(f'<path d="M{x1:.0f},{start} Q{(x1 + x2) / 2 + bend:.0f},{(start + end) / 2:.0f} {x2:.0f},{end}" fill="none" stroke="{colour}" '
                     f'stroke-opacity="0.6" marker-end="url(#tip)"><title>{a} -&gt; {b}: {count}</title></path>')
    for name, (x, y) in place.items():
        parts.append(f'<rect x="{x - box / 2:.0f}" y="{y}" width="{box}" height="{height}" rx="4" fill="#f2f2f2" stroke="#888888"/>')
        parts.append(f'<text x="{x:.0f}" y="{y + 18}" text-anchor="middle" font-size="14" font-weight="bold">{name}</text>')
        parts.append(f'<text x="{x:.0f}" y="{y + 35}" text-anchor="middle" font-size="11">{g["files"][name]} files, {g["lines"][name]} lines</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--svg", type=Path)
    arguments = parser.parse_args()
    g = graph(arguments.root)
    sys.stdout.write(as_text(g))
    if arguments.svg:
        arguments.svg.write_text(as_svg(g), encoding="utf-8")
    return 1 if g["up"] or g["circles"] else 0


if __name__ == "__main__":
    sys.exit(main())
