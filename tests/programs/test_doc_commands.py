# SPDX-License-Identifier: MIT
"""Every command line of one of our programs in the documents is one that the program takes: its options exist and their values
are possible (asked by adding --help: nothing is read or computed), none that is required is missing, no word is left over. Of commands
within a sentence, which may leave things out, only the names are looked at."""
import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import support

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = re.findall(r"^  (\w+) ", support.program("help").stdout, flags=re.M)
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import convert_hf


def options_of(program, known={}):
    """Option -> (whether it takes a value, whether it takes many, whether it is required), by --help."""
    if program not in known:
        known[program] = {}
        for line in support.program(program, "--help").stdout.split("\n"):
            found = re.match(r" {2}((?:-\w,)?--[\w,-]+)((?: \S+)*)", line)
            if found:
                kind = found.group(2)
                for name in found.group(1).split(","):
                    known[program][name] = (kind.strip() != "", "..." in kind or " x " in kind, "REQUIRED" in kind)
    return known[program]


def words_of(program):
    """How many arguments without an option a program needs, and takes, by --help."""
    section = re.search(r"^positionals:\n((?: +\S.*\n)+)", support.program(program, "--help").stdout, flags=re.M | re.I)
    lines = re.findall(r"^ {2}\w+ .*", section.group(1), flags=re.M) if section else []
    return sum("REQUIRED" in line for line in lines), len(lines)


def mistakes(program, arguments, whole):
    if program == "convert_hf.py":
        with contextlib.redirect_stderr(io.StringIO()) as err, contextlib.redirect_stdout(io.StringIO()):
            try:
                convert_hf.parse_arguments(arguments)
            except SystemExit as stop:
                if stop.code:
                    yield err.getvalue().strip()
        return
    if not whole:
        yield from (f"there is no option {word}" for word in arguments if word.startswith("--") and word.split("=")[0] not in options_of(program))
        return
    done = support.program(program, *arguments, "--help")
    if done.returncode != 0:
        yield done.stderr.strip()
        return
    options, room, given = options_of(program), 0, set()
    least, most = words_of(program)
    words = 0
    for word in arguments:
        name = word.split("=")[0]
        if name.startswith("--"):
            takes_value, many, _ = options[name]
            room = (1000 if many else 1) if takes_value and "=" not in word else 0
            given.add(name)
        elif room == 0:
            words += 1
            if words > most:
                yield f"'{word}' belongs to no option"
        else:
            room -= 1
    lacking = [name for name, (_, _, required) in options.items() if required and name not in given]
    if whole and lacking:
        yield f"{', '.join(lacking)} must be given"
    if whole and words < least:
        yield f"{least} arguments without an option must be given"


def commands(text):
    """(program, arguments) of each of our programs that a line of a shell calls."""
    text = re.sub(r"""<\((?:"[^"]*"|'[^']*'|[^()"'])*\)""", "PIPE", text)  # stands for the name of a file
    text = re.sub(r"\$\(|\)", " ; ", text)
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars="|;&<>")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError as error:
        return [("", [str(error)])]
    found, current, skip = [], None, False
    for word in words:
        name = word.rsplit("/", 1)[-1]
        if set(word) <= set("|;&"):
            current = None
        elif set(word) <= set("<>"):
            skip = True
        elif skip:
            skip = False
        elif current is None and word in ("lexformer", "build/release/bin/lexformer"):
            current = ("lexformer", [])
        elif current == ("lexformer", []):
            current = (name, []) if name in PROGRAMS else (None, [])
            found.append(current if name in PROGRAMS else ("lexformer", [word]))
        elif current is None and name == "convert_hf.py":
            current = (name, [])
            found.append(current)
        elif current is not None:
            current[1].append(word)
        elif "=" not in word and word not in ("python3", "nice", "env", "time"):
            current = (None, [])  # another program with its own arguments
    return [(name, arguments) for name, arguments in found if name]


def shell_lines(code):
    """(number from 0, command line) of a block; a line goes on behind a backslash."""
    first, parts = 0, []
    for number, line in enumerate(code.split("\n")):
        first = first if parts else number
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield first, " ".join(parts)
            parts = []


def documented():
    """(place, program, arguments, whether it is a whole command) of the documents."""
    for path in [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "weights/README.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        for block in re.finditer(r"^ *```sh[ \t]*\n(.*?)^ *```[ \t]*$", text, flags=re.M | re.S):
            first = text[: block.start(1)].count("\n") + 1
            for number, line in shell_lines(block.group(1)):
                for name, arguments in commands(line):
                    yield f"{path.relative_to(ROOT)}:{first + number}", name, arguments, True
        prose = re.sub(r"^ *```.*?^ *```", lambda m: "\n" * m.group().count("\n"), text, flags=re.M | re.S)
        for code in re.finditer(r"`([^`\n]+ --[^`\n]+)`", prose):
            for name, arguments in commands(code.group(1)):
                yield f"{path.relative_to(ROOT)}:{prose[: code.start()].count(chr(10)) + 1}", name, arguments, False


def self_test():
    assert list(shell_lines("encode --model \\\n  x\nrank")) == [(0, "encode --model    x"), (2, "rank")]
    assert commands("a | python3 x/convert_hf.py b --c 'd e' > f && nice build/release/bin/lexformer encode --model x < y") == [
        ("convert_hf.py", ["b", "--c", "d e"]), ("encode", ["--model", "x"])]
    assert commands("""lexformer match <(sql -c "select (1) from 'x'") b --top 1""") == [("match", ["PIPE", "b", "--top", "1"])]
    wrong = [("convert_hf.py", ["model.lxf"]), ("convert_hf.py", ["a", "b", "--nothing"]), ("encode", ["--model", "x"]), ("encode", ["--modle", "x"]),
             ("encode", ["--model", "x", "--output", "y.npy", "left over"]), ("encode", ["--model", "x", "--output", "y.npy", "--layer", "300"]),
             ("encode", ["--model", "x", "--output", "y.npy", "--normalize", "1"]), ("candidates", ["--out", "x.csv"]), ("candidates", ["a", "b", "c", "--out", "x.csv"])]
    right = [("convert_hf.py", ["model.lxf", "--to-hf", "exported"]), ("encode", ["--model", "x", "--output", "y.npy", "--normalize"]),
             ("make_model", ["--text", "a", "b", "--out", "c"]), ("candidates", ["a", "--out", "x.csv"]), ("candidates", ["a", "b", "--out", "x.csv"])]
    for name, arguments in wrong + right:
        assert bool(list(mistakes(name, arguments, True))) == ((name, arguments) in wrong), (name, arguments)
    assert list(mistakes("encode", ["--modle"], False)) and not list(mistakes("encode", ["--model"], False))


self_test()
failures, count = [], 0
for place, name, arguments, whole in documented():
    if name == "lexformer":  # without a command, or with one that there is not
        failures += [] if arguments[0] in ("help", "--version", "COMMAND") else [f"{place}: lexformer has no command {arguments[0]}"]
        continue
    count += 1
    failures += [f"{place}: {name} {shlex.join(arguments)}: {mistake}" for mistake in mistakes(name, arguments, whole)]
print("\n".join(failures) or f"{count} command lines are right")
sys.exit(1 if failures else 0)
