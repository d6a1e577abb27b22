#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a step of .ci/run and compares the processor time that it takes with tests/times.txt, so that times do not creep up unseen.

usage: timed.py NAME COMMAND...

The unit is the processor time of compiling Eigen/Core, measured before and after the step, so that slow and busy machines agree. Exit code: the
command's; 70 if it succeeds and takes more than twice the units in the table. A step that is not in the table is measured only."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TABLE = Path(os.environ.get("LEXFORMER_TIMES", Path(__file__).resolve().parents[1] / "tests/times.txt"))


def processor_time(*command):
    """Exit code and seconds of a command with all that it starts."""
    before = os.times()
    code = subprocess.run(command).returncode
    after = os.times()
    return code, after.children_user + after.children_system - before.children_user - before.children_system


def unit():
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "eigen.cpp")
        source.write_text("#include <Eigen/Core>\n")
        code, seconds = processor_time("g++", "-std=c++20", "-O3", "-I/usr/include/eigen3", "-c", str(source), "-o", str(source.with_suffix(".o")))
    return seconds if code == 0 else 0.0


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    name, command = sys.argv[1], sys.argv[2:]
    expected = dict(line.split() for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    before = unit()
    code, seconds = processor_time(*command)
    after = unit()
    if code != 0 or not before or not after:
        return code
    units = 2 * seconds / (before + after)
    print(f"{name}: {seconds:.0f} s of processor time, {units:.0f} times Eigen/Core; tests/times.txt has {expected.get(name, 'nothing')}")
    if units <= 2 * float(expected.get(name, units)):
        return 0
    print(f"{name}: more than twice as much. Find what has become slow, or give the new number a reason in tests/times.txt.")
    return 70


sys.exit(main())
