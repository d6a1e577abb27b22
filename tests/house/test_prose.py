# SPDX-License-Identifier: MIT
"""The documents on the list below keep the rules of CONTRIBUTING.md: short sentences, plain words, lines of 100 columns. A test of the
rules comes first: it plants one mistake of each kind. Code and the targets of links are left out, and rows of tables may be long."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLEAN = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "THIRD_PARTY.md", "docs/build.md", "docs/determinism.md",
         "docs/format.md", "docs/testing.md", "docs/tour.md", "docs/how-to/*.md"]
MOST_WORDS, MOST_COLUMNS, MOST_LINES, README_BYTES = 35, 100, 100, 7000
PHRASES = {r"\bis no\b": "'is no'", r"\bthose of\b": "'those of'", r"\bthat of\b": "'that of'",
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


def mistakes(name, text):
    """Lines to print, each a place and what is wrong there."""
    size, length = len(text.encode()), text.count("\n")
    if name == "README.md" and size > README_BYTES:
        yield f"{name}: {size} bytes, more than {README_BYTES}"
    if name.startswith("docs/how-to/") and length > MOST_LINES:
        yield f"{name}: {length} lines, more than {MOST_LINES}"
    lines = without_code(text)
    for number, line in enumerate(lines, 1):
        columns = len(re.sub(r"\]\([^)]*\)", "]", line))
        if columns > MOST_COLUMNS and not is_row(line):
            yield f"{name}:{number}: {columns} columns, more than {MOST_COLUMNS}"
    for number, paragraph in paragraphs(lines):
        prose = re.sub(r"`[^`]*`", "Code", plain(paragraph))
        for pattern, phrase in PHRASES.items():
            for found in re.finditer(pattern, prose, flags=re.I):
                yield f"{name}:{number}: {phrase}: ...{prose[max(0, found.start() - 30):found.end() + 10]}..."
        for sentence in re.split(r"(?<=[.!?])[)\"*]* +(?=[^a-z])", prose):
            words = len(re.findall(r"\S*\w\S*", sentence))
            if words > MOST_WORDS and not is_row(prose):
                yield f"{name}:{number}: a sentence of {words} words, more than {MOST_WORDS}: {sentence[:60]}..."


def self_test():
    long = "It has " + "very " * 33 + "many words."
    planted = ["It is no text.", "The scores are\nthose of a model.", "* One item.\n* A cosine, that of texts.", "It reads pairs, too.",
               "Pairs (texts, too) are\nread.", "| a, too |", "| that of |", long, "Short. " + long, "x" * 101]
    right = ["Of this, `that of` is code.", "```\nis no\n```", "    ```sh\n" + "x" * 200 + "\n    ```", "| a | " + "not " * 50 + "|\n| b |",
             "There is nothing. It isn't too long, e.g. [that](which-is-no.md).", "[a](" + "x" * 100 + ")",
             "It is " + "not " * 20 + "long.\nIt is " + "not " * 20 + "long.", "* " + "one " * 20 + "\n* " + "two " * 20]
    for text in planted + right:
        if bool(list(mistakes("docs/x.md", text))) != (text in planted):
            sys.exit(f"the checker itself is broken: {text!r}: {list(mistakes('docs/x.md', text))}")
    sizes = [("README.md", "one word\n" * 800), ("docs/how-to/x.md", "line\n\n" * 51)]
    if not all(list(mistakes(*size)) for size in sizes) or list(mistakes("docs/x.md", "one word\n\n" * 800)):
        sys.exit("the checker itself is broken: sizes")


self_test()
paths = sorted(path for pattern in CLEAN for path in ROOT.glob(pattern))
failures = [mistake for path in paths for mistake in mistakes(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))]
print("\n".join(failures) or f"{len(paths)} documents keep the rules")
sys.exit(1 if failures or len(paths) < len(CLEAN) else 0)
