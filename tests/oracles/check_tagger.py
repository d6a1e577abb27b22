#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares `tag` with transformers: a random BertForTokenClassification with a real vocabulary tags the words of files, as lists of words
(is_split_into_words), and each word has the tag of its first token.

    python3 tests/oracles/check_tagger.py VOCAB.txt FILE... [--bin build/release/bin]

Needs torch and transformers. FILE: one word a line in its first column, an empty line after each sentence. Words without a token, and those
that are cut off, count as O. Exits with 1 if a tag differs.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from transformers import BertConfig, BertForTokenClassification, BertTokenizerFast

NAMES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
LENGTH = 128


def sentences_of(text):
    found, words = [], []
    for line in [*text.split("\n"), ""]:
        if line.strip(" \t\r"):
            words.append(line.split("\t")[0] if "\t" in line else line.split()[0])
        elif words:
            found.append(words)
            words = []
    return found


def expected_tags(model, tokenizer, words):
    inputs = tokenizer([words], is_split_into_words=True, return_tensors="pt", truncation=True, max_length=LENGTH)
    with torch.no_grad():
        best = model(**inputs).logits[0].argmax(-1).tolist()
    tags, done = ["O"] * len(words), set()
    for token, word in enumerate(inputs.word_ids(0)):
        if word is not None and word not in done:
            tags[word] = NAMES[best[token]]
            done.add(word)
    return tags


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vocab", type=Path)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--bin", type=Path, default=Path(__file__).resolve().parents[2] / "build/release/bin")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    tokenizer = BertTokenizerFast(vocab_file=str(arguments.vocab), do_lower_case=True)
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                        max_position_embeddings=LENGTH, initializer_range=0.5, id2label=dict(enumerate(NAMES)),
                        label2id={name: i for i, name in enumerate(NAMES)})
    model = BertForTokenClassification(config).eval()
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (Path(folder) / "vocab.txt").write_bytes(arguments.vocab.read_bytes())
        for file in arguments.files:
            text = file.read_text(encoding="utf-8")
            done = subprocess.run([arguments.bin / "lexformer", "tag", "--model", folder], input=text, capture_output=True, encoding="utf-8", check=True)
            lines = iter(done.stdout.split("\n"))
            words = 0
            for sentence in sentences_of(text):
                for word, tag in zip(sentence, expected_tags(model, tokenizer, sentence)):
                    words += 1
                    if (line := next(lines)) != f"{word}\t{tag}":
                        different += 1
                        print(f"{file}: {line!r}, expected {word!r} {tag}")
                next(lines)  # the empty one
            print(f"{file}: {words} words")
    print(f"{different} tags differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
