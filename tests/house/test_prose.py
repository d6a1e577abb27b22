# SPDX-License-Identifier: MIT
"""The documents on the list below keep the rules of CONTRIBUTING.md: short sentences, plain words, lines of 100 columns. The comments and
literals of the code keep the plain words, and the library's literals name no options of the command line. A test of the rules comes first:
it plants one mistake of each kind. In documents code and the targets of links are left out, and rows of tables may be long."""
import io
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLEAN = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "THIRD_PARTY.md", "docs/build.md", "docs/determinism.md", "docs/format.md",
         "docs/paper-map.md", "docs/testing.md", "docs/tour.md", "docs/how-to/*.md", "docs/results/*.md", "weights/README.md"]
CODE = ["include/**/*.hpp", "programs/**/*.?pp", "examples/*.cpp", "src/*.?pp", "cuda/**/*.cu", "cuda/**/*.cuh", "cuda/**/*.?pp",
        "tools/*.py", "tools/convert/*.py", "tools/*.sh"]
CPP_PROSE = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:\\.|[^"\\\n])*)"|"""
                       r"""(?<!\w)'(?:\\.|[^'\\\n])+'""", re.S)
# Parts of error messages that other tests compare. A bar stands for a value.
COMPARED = re.compile(r"is no (regular file|plain (file|folder) name|JSON object|\.npy file|fastText model|finite number"
                      r"|candidate of itself|\| model: its)|not be those of the model that|name the columns, too|numbers, but those of \|")
MOST_WORDS, MOST_COLUMNS, MOST_LINES, LIMITS_LINES, README_BYTES = 35, 100, 100, 3, 7000
PHRASES = {r"(?<!there )\bis no\b": "'is no'", r"\bthose of\b": "'those of'", r"\bthat of\b": "'that of'",
           r", too\b(?=[.,;:!?)]| *\||$)": "', too' at an end"}


def without_code(text):
    """The lines of a document, with the same numbers; code blocks are empty."""
    blank = lambda found: "\n" * found.group().count("\n")
    return re.sub(r"^ *```.*?^ *```[ \t]*$", blank, text, flags=re.M | re.S).split("\n")


def is_row(line):
    return line.lstrip().startswith("|")


def plain(line):
    """A line as it is read: a link or a picture is its text."""
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)


def paragraphs(lines):
    """(number of the first line, text) of each paragraph, item of a list, row of a table and heading."""
    first, words = 0, []
    for number, line in enumerate([*lines, ""], 1):
        start = re.match(r" *(?:([*+-]|\d+\.|#+) +|\|)", line)
        if words and (start or not line.strip()):
            yield first, " ".join(words)
            words = []
        if line.strip():
            first = first if words else number
            words.append((line if is_row(line) or not start else line[start.end():]).strip())


def unplain(prose):
    """(phrase, the words around it) of each phrase of a text."""
    for pattern, phrase in PHRASES.items():
        for found in re.finditer(pattern, prose, flags=re.I):
            yield phrase, prose[max(0, found.start() - 30):found.end() + 10]


def cpp_prose(text):
    """(number of the line, text) of the comments and literals of a C++ file. A bar stands for the code between two of them."""
    end = 0
    for found in CPP_PROSE.finditer(text):
        prose = re.sub(r"^//+", "", found["comment"] or "") or found["raw"] or found["text"] or ""
        yield text.count("\n", 0, found.start()) + 1, ("| " if text[end:found.start()].strip() else "") + prose
        end = found.end()


def python_prose(text):
    """(number of the line, text) of the comments and the long literals of a Python file."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and '"""' in token.string):
            yield token.start[0], token.string.strip("#\"")


def shell_prose(text):
    for number, line in enumerate(text.split("\n"), 1):
        if comment := re.search(r"(?:^|\s)#(.*)", line):
            yield number, comment[1]


def prose_of_code(name, text):
    """(number of the first line, text) of each comment or literal; parts of successive lines are one."""
    kinds = {".py": python_prose, ".sh": shell_prose}
    first = last = 0
    words = []
    for number, part in kinds.get(Path(name).suffix, cpp_prose)(text):
        if words and number > last + 1:
            yield first, " ".join(words)
            words = []
        first, last = first if words else number, number + part.count("\n")
        words.append(" ".join(part.split()))
    if words:
        yield first, " ".join(words)


def dashed_options(text):
    """(number of the line, text) of each literal of a C++ file with an option of the command line, such as --lr."""
    for found in CPP_PROSE.finditer(text):
        if re.search(r"(?<![\w-])--[a-z]", found["raw"] or found["text"] or ""):
            yield text.count("\n", 0, found.start()) + 1, found.group()


def code_mistakes(name, text):
    if name.startswith("include/"):
        for number, literal in dashed_options(text):
            yield f"{name}:{number}: an option of the command line, expected the setting in backquotes: {literal}"
    for number, prose in prose_of_code(name, text):
        for phrase, around in unplain(COMPARED.sub("Message", re.sub(r"`[^`]*`", "Code", prose))):
            yield f"{name}:{number}: {phrase}: ...{around}..."


def mistakes(name, text):
    """Lines to print, each a place and what is wrong there."""
    size, length = len(text.encode()), text.count("\n")
    if name == "README.md" and size > README_BYTES:
        yield f"{name}: {size} bytes, more than {README_BYTES}"
    if name.startswith("docs/how-to/") and length > MOST_LINES:
        yield f"{name}: {length} lines, more than {MOST_LINES}"
    for found in re.finditer(r"^\*\*Limits\.\*\*.*(?:\n.+)*", text, flags=re.M):
        if found.group().count("\n") >= LIMITS_LINES:
            yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}: limits of more than {LIMITS_LINES} lines"
    lines = without_code(text)
    for number, line in enumerate(lines, 1):
        columns = len(re.sub(r"\]\([^)]*\)", "]", line))
        if columns > MOST_COLUMNS and not is_row(line):
            yield f"{name}:{number}: {columns} columns, more than {MOST_COLUMNS}"
    for number, paragraph in paragraphs(lines):
        prose = re.sub(r"`[^`]*`", "Code", plain(paragraph))
        for phrase, around in unplain(prose):
            yield f"{name}:{number}: {phrase}: ...{around}..."
        for sentence in re.split(r"(?<=[.!?])[)\"*]* +(?=[^a-z])", prose):
            words = len(re.findall(r"\S*\w\S*", sentence))
            if words > MOST_WORDS and not is_row(prose):
                yield f"{name}:{number}: a sentence of {words} words, more than {MOST_WORDS}: {sentence[:60]}..."


def self_test():
    long = "It has " + "very " * 33 + "many words."
    planted = ["It is no text.", "The scores are\nthose of a model.", "* One item.\n* A cosine, that of texts.", "It reads pairs, too.",
               "Pairs (texts, too) are\nread.", "| a, too |", "| that of |", long, "Short. " + long, "x" * 101,
               "**Limits.** One.\nTwo.\nThree.\nFour."]
    right = ["Of this, `that of` is code.", "```\nis no\n```", "    ```sh\n" + "x" * 200 + "\n    ```", "| a | " + "not " * 50 + "|\n| b |",
             "There is no text. It isn't too long, e.g. [that](which-is-no.md).", "[a](" + "x" * 100 + ")",
             "It is " + "not " * 20 + "long.\nIt is " + "not " * 20 + "long.", "* " + "one " * 20 + "\n* " + "two " * 20,
             "**Limits.** One.\nTwo.\nThree.\n\nFour."]
    for text in planted + right:
        if bool(list(mistakes("docs/x.md", text))) != (text in planted):
            sys.exit(f"the checker itself is broken: {text!r}: {list(mistakes('docs/x.md', text))}")
    sizes = [("README.md", "one word\n" * 800), ("docs/how-to/x.md", "line\n\n" * 51)]
    if not all(list(mistakes(*size)) for size in sizes) or list(mistakes("docs/x.md", "one word\n\n" * 800)):
        sys.exit("the checker itself is broken: sizes")
    planted_code = [("x.hpp", "int a;  // It is no text.\n"), ("x.cpp", "/// Scores, those\n/// of a model.\nint a;\n"),
                    ("x.cu", "/* It reads pairs, too. */\n"), ("x.cpp", 'fail("the cosine, "\n     "that of texts");\n'),
                    ("include/x.hpp", 'fail(a, "give --lr");\n'), ("include/x.hpp", 'fail(R"(--lr-decay: 0)");\n'),
                    ("x.hpp", 'auto page = R"x(\n"It" is no text)x";\n'), ("x.cpp", "int a = 1'000;  // It is no number.\n"),
                    ("x.cpp", 'fail(a, "name it, too");\nf(b, "is a");\n'), ("x.cpp", 'fail("is no ", kind);\n'),
                    ("x.cpp", 'f("is"); // no\nfail("is no ", kind, "text");\n'), ("x.py", "a = 1  # Those of a model.\n"),
                    ("x.py", 'def f():\n    """It is\n    no text."""\n'), ("x.sh", "ls  # It lists, too\n")]
    right_code = [("x.hpp", "int that_of;  // Text.\nchar c = '\"';\n// There is no text.\n"), ("x.cpp", "f(those of); // `that of`\n"),
                  ("include/x.hpp", 'fail(a, "give `lr`");  // --lr\n--n; f("a--b"); g("-- a");\n'), ("x.cpp", 'fail(a, "give --lr");\n'),
                  ("x.hpp", "int a;  // those\nint b;  // of a model\n"), ("x.cpp", 'fail(file, "is no .npy file");\n'),
                  ("x.cpp", 'fail(f, "is no ", kind, " model: its type is");\n'), ("x.py", "a = 'is no text'\n"),
                  ("x.sh", "echo is no text ${#that of}\n")]
    for name, text in planted_code + right_code:
        if bool(list(code_mistakes(name, text))) != ((name, text) in planted_code):
            sys.exit(f"the checker itself is broken: {name}: {text!r}: {list(code_mistakes(name, text))}")


self_test()
documents, code = [sorted(path for pattern in patterns for path in ROOT.glob(pattern)) for patterns in (CLEAN, CODE)]
failures = [mistake for paths, rules in ((documents, mistakes), (code, code_mistakes)) for path in paths
            for mistake in rules(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))]
print("\n".join(failures) or f"{len(documents)} documents and {len(code)} files of code keep the rules")
sys.exit(1 if failures or len(documents) < len(CLEAN) or len(code) < len(CODE) else 0)
