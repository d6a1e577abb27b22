#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the instructions that lexformer_ptx_counts counts with the table in tests/golden.

usage: compare_counts.py PROGRAM TABLE [--write]
A number that differs by more than 5 % from the table, a kernel that is new and one that is gone end in exit code 1, with the lines as a diff.
--write makes the table anew. With another nvcc than the table's nothing is compared, and the exit code is 77.
"""
import subprocess
import sys
from pathlib import Path

LIMIT = 0.05


def read(text, name):
    """(the line with nvcc's version, names of columns, {(case, kernel): numbers})"""
    lines = text.splitlines()
    if len(lines) < 2 or not lines[0].startswith("# nvcc "):
        sys.exit(f"compare_counts: {name}: line 1 must be '# nvcc VERSION'")
    rows = {}
    for number, line in enumerate(lines[2:], 3):
        case, kernel, *numbers = line.split("\t")
        if len(numbers) != len(lines[1].split("\t")) - 2 or not all(n.isdigit() for n in numbers):
            sys.exit(f"compare_counts: {name}:{number}: expected {lines[1]}, found {line}")
        rows[case, kernel] = [int(n) for n in numbers]
    return lines[0], lines[1].split("\t")[2:], rows


def differs(old, new):
    return abs(new - old) > LIMIT * max(old, 1)


def differences(columns, old, new):
    """The lines of a diff, with the change of the numbers that moved."""
    lines = []
    for key in sorted(old | new):
        before, after = old.get(key), new.get(key)
        if before is not None and after is not None and not any(map(differs, before, after)):
            continue
        place = "  ".join(key)
        if before is not None:
            lines.append(f"- {place}  " + "  ".join(f"{c}={n}" for c, n in zip(columns, before)))
        if after is not None:
            changes = [""] * len(after)
            if before is not None:
                changes = [f" ({100 * (n - o) / o:+.1f} %)" if o and differs(o, n) else "" for o, n in zip(before, after)]
            lines.append(f"+ {place}  " + "  ".join(f"{c}={n}{change}" for c, n, change in zip(columns, after, changes)))
    return lines


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    program, table = arguments
    try:
        done = subprocess.run([program], capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"compare_counts: {program}: cannot be started ({error.strerror}); build lexformer_ptx_counts")
    if done.returncode != 0:
        sys.exit(f"compare_counts: {program} ended with {done.returncode}: {done.stderr.strip()}")
    found = done.stdout
    if "--write" in sys.argv:
        Path(table).write_text(found, encoding="utf-8")
        print(f"{table}: written")
        return 0
    try:
        text = Path(table).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"compare_counts: {table}: cannot be read ({error}); --write makes it anew")
    version, columns, old = read(text, table)
    own_version, own_columns, new = read(found, program)
    if version.split(".")[:2] != own_version.split(".")[:2]:
        print(f"compare_counts: skipped: the table was made with {version[2:]}, here is {own_version[2:]}")
        return 77
    lines = differences(columns, old, new) if columns == own_columns else [f"- {columns}", f"+ {own_columns}"]
    if lines:
        print("\n".join(lines))
        print(f"compare_counts: {len(lines)} lines of {table} differ by more than {100 * LIMIT:g} %. If that is meant, write it anew and commit it:\n"
              f"  {Path(__file__)} {program} {table} --write")
        return 1
    print(f"compare_counts: {len(new)} kernels as in {table}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
