#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lexformer's WordPiece tokenizer next to HuggingFace's, in Rust (PyPI `tokenizers`), on the lines of a file, in turns on one thread.

    wordpiece.py --model FOLDER --input F.txt [--rounds 5] [--bin build/release/bin]

FOLDER is a HuggingFace folder with tokenizer.json, which both read. First the ids must be equal. Then each tokenizes the file once for
warming up and once in each round: lexformer, encode_batch (ids, type ids, word ids and offsets, as lexformer) and encode_batch_fast (no
offsets). Times are processor times, without reading the file. Needs tokenizers.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"  # before tokenizers is loaded
import token_rates  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
MAX_LENGTH = 512


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, type=Path)
    parser.add_argument("--input", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin")
    a = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(a.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_LENGTH)
    lines = a.input.read_text(encoding="utf-8").split("\n")
    if lines[-1] == "":
        lines.pop()

    def ours(*more):
        command = [a.bin / "wordpiece", "--model", a.model, "--input", a.input, "--max-length", MAX_LENGTH, "--rounds", 1, "--threads", 1, "--cpu-time", *more]
        return json.loads(subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE).stdout)

    with tempfile.TemporaryDirectory() as work:
        tokens = ours("--ids", Path(work) / "ids")["tokens"]
        found = [[int(i) for i in line.split()] for line in (Path(work) / "ids").read_text().splitlines()]
    if found != [e.ids for e in tokenizer.encode_batch(lines)]:
        sys.exit("wordpiece.py: the ids differ")

    rates = {"lexformer": lambda: ours()["tokens_per_second"], **token_rates.encode_rates(tokenizer, lines, tokens)}
    token_rates.compare(f"{len(lines)} lines, {tokens} tokens", rates, a.rounds)


if __name__ == "__main__":
    main()
