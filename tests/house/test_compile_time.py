# SPDX-License-Identifier: MIT
"""Keeps the headers cheap to compile, with lexformer::compiled at -O3: the memory that g++ allocates, relative to Eigen/Core.

Times differ from run to run by more than a change that matters, so they are printed only; the memory is the same in each run of a
compiler and grows with what is parsed and instantiated. Other compilers do not report it: then the times are all there is to see.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CXX = os.environ.get("CXX", "g++")
FIVE_LINES = re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)
# unit -> (source, maximum memory relative to Eigen/Core); g++ 12: 2.20 and 2.30. The goals in time are 3 and 3.5.
UNITS = {
    "Eigen/Core": ("#include <Eigen/Core>\n", None),
    "lexformer.hpp": ("#include <lexformer/lexformer.hpp>\n", 2.33),
    "README's first program": (FIVE_LINES, 2.47),
}
ROUNDS = int(os.environ.get("LEXFORMER_ROUNDS", 1))  # of the times, which are not judged, the median is printed


def compile_unit(source, folder):
    """User seconds, and the kilobytes that g++ allocated for its trees (None: not reported)."""
    file = Path(folder, "unit.cpp")
    file.write_text(source)
    command = [CXX, "-std=c++20", "-O3", "-ftime-report", "-DLEXFORMER_COMPILED", f"-I{ROOT}/include", "-I/usr/include/eigen3", "-c", str(file),
               "-o", str(file.with_suffix(".o"))]
    before = os.times().children_user
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    total = re.search(r"^ TOTAL .*?(\d+)([kMG])\s*$", done.stderr, re.M)
    return os.times().children_user - before, total and int(total.group(1)) * {"k": 1, "M": 1024, "G": 1024 ** 2}[total.group(2)]


def main():
    version = subprocess.run([CXX, "-dumpfullversion"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    slack = 1.0 if version.startswith("12.") else 1.5  # the libraries' own headers differ
    seconds, memory = {name: [] for name in UNITS}, {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for name, (source, _) in UNITS.items():
                time, memory[name] = compile_unit(source, folder)
                seconds[name].append(time)
    base, failed = "Eigen/Core", False
    for name, (_, limit) in UNITS.items():
        if limit is None:
            continue
        times = statistics.median(t / b for t, b in zip(seconds[name], seconds[base]))
        line = f"{name}: {min(seconds[name]):.2f} s, {times:.2f} times {base} ({min(seconds[base]):.2f} s)"
        if memory[name] is None:
            print(f"not judged: {line}")
            continue
        ratio = memory[name] / memory[base]
        failed |= ratio > limit * slack
        print(f"{'TOO LARGE' if ratio > limit * slack else 'ok'}: {line}; {memory[name] // 1024} MB, {ratio:.2f} times, limit {limit * slack:.2f}")
    return 1 if failed else 0


sys.exit(main())
