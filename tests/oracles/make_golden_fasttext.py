#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/fasttext.bin and fasttext.txt: a tiny model that the program fasttext trains (Debian's package `fasttext`, 0.9.2), and
the vectors that it prints for known words, and for words that the model does not know.

    python3 tests/oracles/make_golden_fasttext.py

Needs the program fasttext and Python's standard library. The text is made here. One thread, so that the model is the same each time."""
import itertools
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "tests/golden"
SUBJECTS = ["the cat", "a small dog", "the naïve painter", "our Café", "her mother", "Łukasz"]
VERBS = ["sees", "paints", "likes", "出す"]
OBJECTS = ["the oven .", "a red ball", "music !", "old houses"]
WORDS = ["the", "cat", "Café", "naïve", "Łukasz", "出す", ".", "a", "</s>",  # known
         "cats", "café", "naïf", "ovens", "painterly", "CAT", "x", "of", "出", "<", "ö", "misspeling", "Ł", "😀s"]  # "<": only n-grams with a mark


def main():
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text("".join(f"{' '.join(words)}\n" for words in itertools.product(SUBJECTS, VERBS, OBJECTS)), encoding="utf-8")
        command = "fasttext skipgram -dim 4 -minn 1 -maxn 4 -bucket 60 -minCount 1 -epoch 20 -lr 0.3 -thread 1 -seed 1".split()
        subprocess.run([*command, "-input", text, "-output", Path(folder) / "model"], check=True, stderr=subprocess.DEVNULL)
        model = Path(folder) / "model.bin"
        printed = subprocess.run(["fasttext", "print-word-vectors", model], input="".join(f"{word}\n" for word in WORDS), check=True, capture_output=True, encoding="utf-8")
        (FOLDER / "fasttext.bin").write_bytes(model.read_bytes())
        (FOLDER / "fasttext.txt").write_text("".join(line.rstrip() + "\n" for line in printed.stdout.splitlines()), encoding="utf-8")


if __name__ == "__main__":
    main()
