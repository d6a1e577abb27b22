#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutation test. Changes one place of a header at a time (an operator, a constant, a condition, a removed statement), compiles the tests of
its folder that include it, and runs them until one fails; then once more with the sanitizers, like `tools/test.sh`. A mutant that no test
notices is a survivor: dead code, a change without effect, or a missing test.

    tests/mutation_test.py [--number 300] [--seed 1] [--results build/mutants/results.jsonl]

Each result is a JSON line. Mutants in the file are not run again, so a stopped run continues, and a larger --number adds to it."""
import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("core", "text", "io")
LEFT_OUT = ("grapheme_table.hpp", "letters_table.hpp", "normalization_table.hpp", "unicode_table.hpp")  # generated
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-D_GLIBCXX_ASSERTIONS"]
NOBODY = 65534
UNSAFE = ("::kill(",)  # a changed signal number could end other processes
SWAPS = {" == ": " != ", " != ": " == ", " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " && ": " || ", " || ": " && ",
         " + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " % ": " / ", " += ": " -= ", " -= ": " += ", " & ": " | ", " | ": " & ",
         " ^ ": " | ", " << ": " >> ", " >> ": " << ", "++": "--", "--": "++", "true": "false", "false": "true"}
SWAP = re.compile("|".join(rf"\b{word}\b" if word.isalpha() else re.escape(word) for word in sorted(SWAPS, key=len, reverse=True)))
NUMBER = re.compile(r"(?<![\w.'])(0[xX][0-9A-Fa-f]+|\d+)(?![\w.]*\.)(?=[uUlL]*\b)")
BRANCH = re.compile(r"\b(if|while) \(")
STATEMENT = re.compile(r"^\s*(?!return\b|throw\b|static_assert\b)((\+\+|--|::)?[a-z_][\w.:>\[\]-]*(\(.*\)| [-+*/|&^]?= .*)?|(break|continue));$")


def masked(line):
    """The line with strings and comments blanked out, at the same columns."""
    line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])+\'', lambda m: "_" * len(m[0]), line)
    return line.split("//")[0].rstrip()


def closing(text, start):
    """The position of the parenthesis that closes the one at `start`; None if it is not on this line."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return None


def mutants_of_line(line):
    code = masked(line)
    if code.lstrip().startswith(("#", "template", "using", "static_assert")) or any(word in code for word in UNSAFE):
        return
    for m in SWAP.finditer(code):
        yield line[: m.start()] + SWAPS[m[0]] + line[m.end():]
    for m in NUMBER.finditer(code):
        yield line[: m.start()] + str(int(m[0], 16 if m[0][:2].lower() == "0x" else 8 if m[0][0] == "0" else 10) + 1) + line[m.end():]
    for m in BRANCH.finditer(code):
        end = closing(code, m.end() - 1)
        if end is not None:
            begin = max(m.end(), code.rfind("; ", m.end(), end) + 2)  # after an initialisation
            yield line[:begin] + "!(" + line[begin:end] + ")" + line[end:]
    if STATEMENT.match(code):
        yield line[: len(line) - len(line.lstrip())] + ";"


def all_mutants():
    for folder in FOLDERS:
        for header in sorted((ROOT / "include/lexformer" / folder).glob("*.hpp")):
            if header.name in LEFT_OUT:
                continue
            for number, line in enumerate(header.read_text().split("\n"), 1):
                for changed in mutants_of_line(line):
                    yield {"file": f"{folder}/{header.name}", "line": number, "from": line.strip(), "to": changed.strip(), "text": changed}


class Tests:
    """The test files of a folder, each as a separate program, compiled with a copy of the headers."""

    def __init__(self, work):
        self.work, self.include, self.temporary = work, work / "include", work / "tmp"
        shutil.rmtree(self.include, ignore_errors=True)
        shutil.copytree(ROOT / "include", self.include)
        self.compiler = os.environ.get("CXX", "g++")
        eigen = subprocess.run(["pkg-config", "--cflags", "eigen3"], check=True, capture_output=True, text=True).stdout.split()
        self.flags = ["-std=c++20", "-O1", "-w", "-pthread", f"-I{self.include}", f"-I{ROOT}/tests", f'-DLEXFORMER_SOURCE_DIR="{ROOT}"', *eigen]
        subprocess.run([self.compiler, *self.flags, "-c", ROOT / "tests/main.cpp", "-o", work / "main.o"], check=True)
        # Third-party headers are parsed once.
        others = ("doctest/doctest.h", "algorithm", "filesystem", "fstream", "map", "nlohmann/json.hpp", "set", "sstream", "thread")
        for sanitized in (False, True):
            common = self.common(sanitized)
            common.write_text("".join(f"#include <{name}>\n" for name in others))
            subprocess.run([self.compiler, *self.flags_of(sanitized), "-c", common, "-o", f"{common}.gch"], check=True)
        self.seconds = {}  # of each test without a mutation

    def flags_of(self, sanitized):
        return self.flags + SANITIZERS * sanitized

    def common(self, sanitized):
        return self.work / ("sanitized.hpp" if sanitized else "common.hpp")

    def compile(self, test, sanitized):
        command = [self.compiler, *self.flags_of(sanitized), "-include", self.common(sanitized), test, self.work / "main.o", "-o", self.work / "test"]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def run(self, limit, sanitized):
        def bound():
            if not sanitized:  # sanitizers reserve terabytes
                resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        account = {}
        if os.getuid() == 0:  # a changed program may delete its output, e.g. /dev/full
            os.chown(self.temporary, NOBODY, NOBODY)
            account = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        program = subprocess.Popen(
            [self.work / "test", "--no-breaks", "--abort-after=1"], preexec_fn=bound, start_new_session=True, cwd=self.temporary,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **account,
            env={"LEXFORMER_CASES": "300", "ASAN_OPTIONS": "hard_rss_limit_mb=8192", **os.environ, "TMPDIR": str(self.temporary)})
        try:
            return "passed" if program.wait(limit) == 0 else "failed"
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            return "took too long"

    def headers_of(self, file, seen):
        """All of our headers that a file includes, directly or not."""
        for name in re.findall(r'#include "([^"]+)"', file.read_text()):
            found = next((p for p in (file.parent / name, ROOT / "tests" / name, self.include / name) if p.exists()), None)
            if found and found.resolve() not in seen:
                seen.add(found.resolve())
                self.headers_of(found, seen)
        return seen

    def judge(self, mutant):
        """survived, killed by a test, or did not compile."""
        header = self.include / "lexformer" / mutant["file"]
        folder, name = mutant["file"].removesuffix(".hpp").split("/")
        tests = [t for t in (ROOT / "tests" / folder).glob("test_*.cpp") if header.resolve() in self.headers_of(t, set())]
        original = header.read_text()
        lines = original.split("\n")
        lines[mutant["line"] - 1] = mutant["text"]
        try:
            tests.sort(key=lambda t: (t.stem != f"test_{name}", t.stat().st_size))
            for test, sanitized in [(t, s) for s in (False, True) for t in tests]:
                if (test, sanitized) not in self.seconds:
                    start = time.time()
                    if not self.compile(test, sanitized) or self.run(600, sanitized) != "passed":
                        sys.exit(f"{test} fails without any change{' with the sanitizers' if sanitized else ''}")
                    self.seconds[test, sanitized] = time.time() - start
                header.write_text("\n".join(lines))
                if not self.compile(test, sanitized):
                    return "did not compile", test.stem
                verdict = self.run(30 + 5 * self.seconds[test, sanitized], sanitized)
                if verdict != "passed":
                    return "killed", f"{test.stem} {verdict}{' with the sanitizers' if sanitized else ''}"
                header.write_text(original)
            return "survived", ""
        finally:
            header.write_text(original)


def summary(results):
    killed, survived = ([r for r in results if r["verdict"] == verdict] for verdict in ("killed", "survived"))
    for r in survived:
        print(f"survived: {r['file']}:{r['line']}: {r['from']}  ->  {r['to']}")
    for folder in (*FOLDERS, ""):
        k, s = (sum(r["file"].startswith(folder) for r in part) for part in (killed, survived))
        print(f"{folder or 'all'}: {k} of {k + s} mutants killed, {100 * k / max(1, k + s):.1f} %")
    print(f"{len(results) - len(killed) - len(survived)} more did not compile")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=300, help="number of mutants that compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=ROOT / "build/mutants/results.jsonl")
    args = parser.parse_args()
    work = args.results.resolve().parent
    work.mkdir(parents=True, exist_ok=True)
    results = [json.loads(line) for line in args.results.read_text().splitlines()] if args.results.exists() else []
    key = lambda m: (m["file"], m["line"], m["from"], m["to"])
    done = {key(r) for r in results}

    mutants = list(all_mutants())
    random.Random(args.seed).shuffle(mutants)
    tests = None
    for mutant in mutants:
        if sum(r["verdict"] != "did not compile" for r in results) >= args.number:
            break
        if key(mutant) in done:
            continue
        tests = tests or Tests(work)
        start = time.time()
        verdict, by = tests.judge(mutant)
        results.append({**mutant, "verdict": verdict, "by": by, "seconds": round(time.time() - start, 1)})
        with args.results.open("a") as out:
            out.write(json.dumps(results[-1]) + "\n")
        print(f"{len(results)}: {mutant['file']}:{mutant['line']}: {verdict} {by}", flush=True)
    print(f"{len(mutants)} possible mutants, seed {args.seed}")
    summary(results)


main()
