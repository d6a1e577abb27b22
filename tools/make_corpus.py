#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes text for pre-training: English paragraphs from Debian 12 packages whose licences allow redistribution of derived
works. The packages are downloaded with apt-get and unpacked in a temporary folder; nothing is installed.

usage: tools/make_corpus.py OUT.txt [--held-out VALID.txt]

OUT.txt has one paragraph per line, without duplicates, in an order that depends only on their text; every hundredth goes to VALID.txt.
The script prints the table of sources (package, version, licence, paragraphs, words). Needs Debian 12's apt and only Python's standard library.
"""
import argparse
import gzip
import hashlib
import html.parser
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

# package: licence, files
PACKAGES = {
    "wordnet-base": ("WordNet 3.0", ["usr/share/wordnet/data.*"]),
    "dict-jargon": ("public domain", ["usr/share/dictd/*.dict.dz"]),
    "sqlite3-doc": ("public domain", ["usr/share/doc/**/*.html"]),
    "postgresql-doc-15": ("PostgreSQL", ["usr/share/doc/**/*.html"]),
    "python3.11-doc": ("PSF-2.0", ["usr/share/doc/**/*.html"]),
    "python-django-doc": ("BSD-3-Clause", ["usr/share/doc/**/*.html"]),
    "python-scipy-doc": ("BSD-3-Clause", ["usr/share/doc/**/*.html"]),
    "python-sklearn-doc": ("BSD-3-Clause", ["usr/share/doc/**/*.html"]),
    "nodejs-doc": ("MIT", ["usr/share/doc/**/*.html"]),
    "erlang-doc": ("Apache-2.0", ["usr/share/doc/**/*.html"]),
    "libboost1.81-doc": ("BSL-1.0", ["usr/share/doc/**/*.html"]),
    "rust-doc": ("MIT or Apache-2.0", [f"usr/share/doc/rust-doc/html/{name}/**/*.html" for name in (
        "book", "reference", "nomicon", "rust-by-example", "rustc", "rustdoc", "cargo", "edition-guide")]),
}
WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")


class Paragraphs(html.parser.HTMLParser):
    """Extracts the text of paragraphs, list items and definitions; no code, menus or tables."""
    BLOCKS = {"p", "li", "dd", "dt", "h1", "h2", "h3", "h4", "div", "section", "td", "th", "tr", "table", "ul", "ol", "dl", "body", "blockquote", "br"}
    HIDDEN = {"pre", "script", "style", "nav", "header", "footer", "head", "svg", "button", "form", "select", "textarea"}

    def __init__(self):
        super().__init__()
        self.found, self.text, self.hidden = [], [], 0

    def end_block(self):
        self.found.append("".join(self.text))
        self.text = []

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in self.HIDDEN
        if tag in self.BLOCKS or tag in self.HIDDEN:
            self.end_block()

    def handle_endtag(self, tag):
        self.hidden = max(0, self.hidden - (tag in self.HIDDEN))
        if tag in self.BLOCKS or tag in self.HIDDEN:
            self.end_block()

    def handle_data(self, data):
        if self.hidden == 0:
            self.text.append(data)


def paragraphs(path):
    if path.name.startswith("data."):  # WordNet: "offset ... number word id word id ... | gloss"
        found = []
        for line in path.read_text("utf-8").splitlines():
            fields, bar, gloss = line.partition(" | ")
            if bar and not line.startswith("  "):
                parts = fields.split()
                words = parts[4:4 + 2 * int(parts[3], 16):2]
                found.append(", ".join(w.replace("_", " ").split("(")[0] for w in words) + ": " + gloss.strip())
        return found
    if path.suffix == ".dz":
        return re.split(r"\n\s*\n|\n(?=\S)", gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
    parser = Paragraphs()
    parser.feed(path.read_text("utf-8", "replace"))
    parser.close()
    parser.end_block()
    return parser.found


def is_prose(text):
    """Whether the text has one or more sentences, not the columns of a table or a line of code."""
    words = WORD.findall(text)
    return 8 <= len(words) <= 400 and sum(map(len, words)) > 0.8 * len(text.replace(" ", ""))


def read(path):
    texts = (" ".join(p.replace("¶", " ").replace("\x00", " ").split()) for p in paragraphs(path))
    return [t for t in texts if is_prose(t)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--held-out", metavar="VALID.txt", help="write every hundredth paragraph to this file")
    a = parser.parse_args()
    found = {}  # a paragraph's digest, by which they are sorted -> its text
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor() as pool:
        print("| package | version | licence | paragraphs | words |\n| --- | --- | --- | --- | --- |")
        for package, (licence, patterns) in PACKAGES.items():
            got = subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, capture_output=True, text=True)
            if got.returncode != 0:
                sys.exit(f"make_corpus.py: '{package}' cannot be downloaded; run this on Debian 12 after 'apt-get update': {got.stderr.strip()}")
            archive = next(Path(folder).glob(f"{package}_*.deb"))
            version = subprocess.run(["dpkg-deb", "-f", archive, "Version"], capture_output=True, text=True, check=True).stdout.strip()
            target = Path(folder) / package
            subprocess.run(["dpkg-deb", "-x", archive, target], check=True)
            files = sorted({f for p in patterns for f in target.glob(p) if f.is_file() and not f.is_symlink()})
            before, words = len(found), 0
            for texts in pool.map(read, files, chunksize=16):
                for text in texts:
                    if found.setdefault(hashlib.blake2b(text.lower().encode(), digest_size=16).digest(), text) is text:
                        words += len(text.split())
            if len(found) == before:
                sys.exit(f"make_corpus.py: no text was found in '{package}' {version}")
            print(f"| {package} | {version} | {licence} | {len(found) - before} | {words} |", flush=True)
    lines = [found[key] + "\n" for key in sorted(found)]
    held_out = lines[::100] if a.held_out else []
    if a.held_out:
        del lines[::100]
        Path(a.held_out).write_text("".join(held_out), encoding="utf-8")
    Path(a.out).write_text("".join(lines), encoding="utf-8")
    print(f"{a.out}: {len(lines)} paragraphs" + (f"; {a.held_out}: {len(held_out)}" if a.held_out else ""))


if __name__ == "__main__":
    main()
