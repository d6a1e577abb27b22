#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables of docs/results/*.md from docs/results/data/*.csv.

A page contains a marker, the generated table and an end marker:

    <!-- table: lea.csv experiment=abt-buy label=model -->
    <!-- end of table -->

The table has a row for each setting and a column for each metric of the experiment, in the order of
the file; with `rows=metric` it is transposed. Several rows of data for one cell are joined by
commas. `label` is the header of the first column. `<!-- claims: claims.csv -->` writes the summary of README.md; its
numbers are looked up in the data.

Without options the pages are rewritten. `--check` writes nothing and fails if a page differs from
its data, contains a table without marker, or if an experiment of the data is shown nowhere."""
import argparse
import csv
import re
import shlex
import sys
from pathlib import Path

COLUMNS = ["experiment", "setting", "metric", "value", "unit", "interval", "seeds", "commit", "date", "machine"]
CLAIMS = ["claim", "page", "experiment", "setting", "metric"]
END = "<!-- end of table -->"
MARKER = re.compile(r"<!-- (table|claims): (.*?) -->$")


def read(path, columns):
    """The rows of a data file as dictionaries."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    if not rows or list(rows[0]) != columns:
        raise ValueError(f"{path.name}: the columns must be {','.join(columns)}")
    for line, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise ValueError(f"{path.name}: row {line - 1} does not have {len(columns)} cells")
    return rows


def with_unit(value, unit):
    return f"{value} {unit}".strip()


def markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def table(rows, by_row, by_column, label):
    """One experiment as a table. A unit that a whole column shares stands in its header."""
    names, last = [], {}
    for row in rows:  # a column that an earlier row lacks stands where a later row has it
        name, before = row[by_column], last.get(row[by_row])
        if name not in names:
            names.insert(names.index(before) + 1 if before else len(names), name)
        last[row[by_row]] = name
    settings = list(dict.fromkeys(row[by_row] for row in rows))
    units = {name: {row["unit"] for row in rows if row[by_column] == name} for name in names}
    cells = {}
    for row in rows:
        own = row["unit"] if len(units[row[by_column]]) > 1 else ""
        text = f"{with_unit(row['value'], own)} {row['interval']}".strip()
        cells.setdefault((row[by_row], row[by_column]), []).append(text)
    header = [label]
    for name in names:
        unit = next(iter(units[name])) if len(units[name]) == 1 else ""
        header.append(f"{name} ({unit})" if unit else name)
    body = [[setting] + [", ".join(cells.get((setting, name), [])) for name in names] for setting in settings]
    return markdown(header, body)


def experiment_table(text, data, shown):
    name, *options = shlex.split(text)
    given = dict(option.split("=", 1) for option in options)
    by_row = given.get("rows", "setting")
    if set(given) - {"experiment", "rows", "label"} or by_row not in ("setting", "metric"):
        raise ValueError(f"a marker takes experiment, rows (setting or metric) and label: {text}")
    rows = [row for row in data.get(name, []) if row["experiment"] == given.get("experiment")]
    if not rows:
        raise ValueError(f"{name} has no experiment {given.get('experiment')}")
    shown.add((name, given["experiment"]))
    return table(rows, by_row, "metric" if by_row == "setting" else "setting", given.get("label", ""))


def claims_table(path, data):
    lines = []
    for claim in read(path, CLAIMS):
        found = [row for row in data.get(f"{claim['page']}.csv", [])
                 if all(row[key] == claim[key] for key in ("experiment", "setting", "metric"))]
        if not found:
            raise ValueError(f"{path.name}: no number for '{claim['claim']}'")
        first = found[0]
        number = ", ".join(row["value"] for row in found)
        seeds = f"{first['seeds']} seeds" if first["seeds"].isdigit() and int(first["seeds"]) > 1 else ""
        interval = ", ".join(part for part in (first["interval"], seeds) if part)
        where = ", ".join(part for part in (first["commit"] or first["date"], first["machine"]) if part)
        page = f"[{claim['page']}]({claim['page']}.md)"
        lines.append([claim["claim"], with_unit(number, first["unit"]), interval, where, page])
    return markdown(["claim", "number", "interval", "commit or date, machine", "page"], lines)


def rewritten(page, folder, data, shown):
    """The text of a page with its tables made anew."""
    lines, out, fence, at = page.read_text(encoding="utf-8").split("\n"), [], False, 0
    while at < len(lines):
        line = lines[at]
        at += 1
        out.append(line)
        fence ^= line.lstrip().startswith("```")
        marker = None if fence else MARKER.match(line)
        if not fence and line.lstrip().startswith("|"):
            raise ValueError(f"a table without marker: {line[:60]}")
        if not marker:
            continue
        end = next((i for i in range(at, len(lines)) if lines[i] == END or MARKER.match(lines[i])), None)
        if end is None or lines[end] != END:
            raise ValueError(f"no '{END}' after {line}")
        kind, text = marker.groups()
        made = experiment_table(text, data, shown) if kind == "table" else claims_table(folder / "data" / text, data)
        out += ["", *made, "", END]
        at = end + 1
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description="Write the tables of docs/results from their data.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page differs from its data")
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parents[1] / "docs/results")
    args = parser.parse_args()
    mistakes, shown, data = [], set(), {}
    for path in sorted((args.folder / "data").glob("*.csv")):
        if path.name != "claims.csv":
            try:
                data[path.name] = read(path, COLUMNS)
            except (ValueError, csv.Error) as error:
                mistakes.append(str(error))
    for page in sorted(args.folder.glob("*.md")):
        try:
            made = rewritten(page, args.folder, data, shown)
        except ValueError as error:
            mistakes.append(f"{page.name}: {error}")
            continue
        if made != page.read_text(encoding="utf-8"):
            if args.check:
                mistakes.append(f"{page.name} differs from its data: run tools/tables.py")
            else:
                page.write_text(made, encoding="utf-8")
    every = {(name, row["experiment"]) for name, rows in data.items() for row in rows}
    if not mistakes:
        mistakes = [f"{name}: no page shows the experiment {experiment}" for name, experiment in sorted(every - shown)]
    print("\n".join(mistakes) or f"{len(shown)} tables of {len(data)} files agree with their data")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
