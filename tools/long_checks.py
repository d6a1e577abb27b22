#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which long checks of .ci/run have to run: those whose inputs are not the ones with which they passed last, as tests/long_checks.txt says.

usage: long_checks.py state NAME    prints `same`, or `changed`
       long_checks.py passed NAME   notes that the check has passed with the files as they are

The inputs of a check are the files below its paths that git tracks or would track, all files that they include, directly or not, and the major
version of the program that does the check."""
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("LEXFORMER_ROOT", Path(__file__).resolve().parents[1]))
NOTES = ROOT / "tests/long_checks.txt"
BUILD = ["CMakeLists.txt", "CMakePresets.json", "cmake", "tests/CMakeLists.txt", "tests/main.cpp", "tools/test.sh"]
# name -> (program, paths)
CHECKS = {
    "cuda": ("nvcc", [*BUILD, "cuda", "src/compiled_cuda.cpp", "tests/cuda", "tests/ptx", "tests/support/cuda_host", "tests/support/ptx", "tests/golden/ptx_instructions.tsv"]),
    "fuzz": ("clang++", [*BUILD, "tests/fuzz", "tools/fuzz.sh"]),
}
INCLUDED_FROM = ["include", "tests", "tests/support/cuda_host", "tests/support/ptx", "cuda", "programs", "bench"]


def inputs(paths):
    """All files of a check, relative to ROOT."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    open_files = [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]
    found = set(open_files)
    while open_files:
        name = open_files.pop()
        text = (ROOT / name).read_bytes().decode("utf-8", "replace")
        for target in re.findall(r'^\s*#\s*include\s*["<]([^">\n]+)[">]', text, flags=re.M):
            for folder in (Path(name).parent, *INCLUDED_FROM):
                other = os.path.normpath(Path(folder, target))
                if other not in found and (ROOT / other).is_file():
                    found.add(other)
                    open_files.append(other)
    return sorted(found)


def major_version(program):
    program = f"/usr/local/cuda/bin/{program}" if program == "nvcc" and os.path.exists(f"/usr/local/cuda/bin/{program}") else program
    try:
        said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    except FileNotFoundError:
        return "none"
    return re.search(r"(?:release|version) (\d+)", said).group(1)


def digest(name):
    program, paths = CHECKS[name]
    total = hashlib.sha256(f"{program} {major_version(program)}\n".encode())
    for file in inputs(paths):
        total.update(f"{file} {hashlib.sha256((ROOT / file).read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()[:32]


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("state", "passed") or sys.argv[2] not in CHECKS:
        sys.exit(__doc__)
    name, now = sys.argv[2], digest(sys.argv[2])
    notes = dict(line.split() for line in NOTES.read_text().splitlines()) if NOTES.exists() else {}
    if sys.argv[1] == "state":
        print("same" if notes.get(name) == now else "changed")
    else:
        NOTES.write_text("".join(f"{key} {value}\n" for key, value in sorted({**notes, name: now}.items())))


if __name__ == "__main__":
    main()
