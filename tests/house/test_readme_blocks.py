# SPDX-License-Identifier: MIT
"""Holds the documents (*.md, docs/, weights/) to the code: every ```cpp block compiles (whole program; a block that begins with
`// fragment` is put inside a function), what the ```sh blocks name (files, presets, CMake options, programs) exists, and so do the
files and headings that links lead to; programs/test_doc_commands.py checks the options of programs."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CXX = os.environ.get("CXX", "g++")
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-DLEXFORMER_COMPILED", f"-I{ROOT}/include", "-I/usr/include/eigen3"]
PRECOMPILED = tempfile.TemporaryDirectory()  # g++ takes lexformer.hpp from here where a program begins with it, and saves most of the time
COMPILE = [CXX, f"-I{PRECOMPILED.name}", *FLAGS, "-fsyntax-only", "-x", "c++", "-"]
PRESETS = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
OPTIONS = set(re.findall(r"LEXFORMER_\w+", "".join(p.read_text() for p in [ROOT / "CMakeLists.txt", ROOT / "tests/CMakeLists.txt", *(ROOT / "cmake").glob("*")])))


def blocks(path, language):
    """(line of the first line of code, code) of each fenced block of the language."""
    text = path.read_text(encoding="utf-8")
    for match in re.finditer(rf"^ *```{language}[ \t]*\n(.*?)^ *```[ \t]*$", text, flags=re.M | re.S):
        yield text[: match.start(1)].count("\n") + 1, match.group(1)


def whole_program(code):
    """A fragment becomes the body of a function; its own #include lines move to the top."""
    if not code.startswith("// fragment"):
        return code
    lines = code.split("\n")
    includes = [line for line in lines if line.startswith("#include")]
    body = [line for line in lines if not line.startswith("#include")]
    head = ["#include <lexformer/lexformer.hpp>", *includes, "namespace lx = lexformer;", "void fragment() {"]
    return "\n".join([*head, *body, "}"])


def compile_error(code):
    done = subprocess.run(COMPILE, input=whole_program(code), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode else ""


def shell_mistakes(code):
    """What a shell block names and the repository does not have."""
    for line in code.replace("\\\n", " ").split("\n"):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            yield f"{line}: {error}"
            continue
        for word, following in zip(words, words[1:] + [""]):
            path = word.removeprefix("./")
            if re.match(r"(tools|examples|programs|tests|bench|weights|docs|include|cmake|src|\.ci)/", path) and not re.search(r"[*$<{]", path):
                if not (ROOT / path).exists():
                    yield f"{path} does not exist"
            built = re.match(r"build/([\w-]+)/bin/([\w-]+)$", path)
            if built:
                program = built.group(2)
                if built.group(1) not in PRESETS:
                    yield f"{path}: no such preset"
                if program != "lexformer" and not program.endswith("_tests") and not any(ROOT.glob(f"*/{program}.cpp")):
                    yield f"{path}: no examples/{program}.cpp or bench/{program}.cpp"
            if word == "--preset" and following not in PRESETS:
                yield f"no preset {following}"
            option = re.match(r"-D(LEXFORMER_\w+)", word)
            if option and option.group(1) not in OPTIONS:
                yield f"no CMake option {option.group(1)}"


def anchors(path):
    """What GitHub makes of the headings of a document."""
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in re.findall(r"^#+ (.*)", text, flags=re.M)}


def broken_links(path):
    prose = re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)  # a lambda looks like a link
    for file, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", prose):
        target = path.parent / file if file else path
        if "://" in file:
            continue
        if not target.exists():
            yield f"link to {file}, which does not exist"
        elif anchor and anchor not in anchors(target):
            yield f"link to {file}#{anchor}, which has no such heading"


def self_test():
    good = "// fragment\n#include <vector>\nstd::vector<int> v{1};\nlx::fail(\"where\", \"what\");\n"
    if compile_error(good) or not compile_error("// fragment\nlx::no_such_function();\n"):
        sys.exit(f"the checker itself is broken: {compile_error(good)}")
    if not list(shell_mistakes("bash tools/nothing.sh")) or not list(shell_mistakes("cmake --preset nothing -B x")):
        sys.exit("the checker itself is broken: it misses a wrong file name or preset")
    if list(shell_mistakes("python3 tools/make_demo_data.py --out /tmp/x  # a comment")):
        sys.exit("the checker itself is broken: it finds fault with a right line")
    page = Path(PRECOMPILED.name, "page.md")
    page.write_text("# A `b` (c)\n[a](#a-b-c) [b](page.md#a-b-c) [c](page.md) [d](https://x.org/#y)\n")
    right = list(broken_links(page))
    page.write_text("# A\n[a](#b) [b](page.md#c) [c](nothing.md)\n")
    if right or len(list(broken_links(page))) != 3:
        sys.exit(f"the checker itself is broken: links: {right}")


def precompile():
    folder = Path(PRECOMPILED.name, "lexformer")
    folder.mkdir()
    subprocess.run([CXX, *FLAGS, "-w", "-x", "c++-header", ROOT / "include/lexformer/lexformer.hpp", "-o", folder / "lexformer.hpp.gch"], check=True)


def main():
    precompile()
    self_test()
    failures, programs, shell = [], [], 0
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "weights/README.md"]:
        name = path.relative_to(ROOT)
        programs += [(f"{name}:{line}", code) for line, code in blocks(path, "cpp")]
        for line, code in blocks(path, "sh"):
            shell += 1
            failures += [f"{name}:{line}: {mistake}" for mistake in shell_mistakes(code)]
        failures += [f"{name}: {mistake}" for mistake in broken_links(path)]
    with ThreadPoolExecutor(max_workers=2) as pool:
        errors = list(pool.map(lambda program: compile_error(program[1]), programs))
    failures += [f"{where}:\n{error}" for (where, _), error in zip(programs, errors) if error]
    print("\n".join(failures) or f"{len(programs)} programs compile, {shell} shell blocks name what exists")
    return 1 if failures else 0


sys.exit(main())
