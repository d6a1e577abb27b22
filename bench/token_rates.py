# SPDX-License-Identifier: MIT
"""Speeds of tokenizers in turns, and their table."""
import statistics
import time


def encode_rates(tokenizer, lines, tokens, **options):
    """Of PyPI `tokenizers`: name -> a function that tokenizes the lines and returns tokens per second of processor time."""

    def rate(encode):
        start = time.process_time()
        encode(lines, **options)
        return tokens / (time.process_time() - start)

    return {"tokenizers, encode_batch": lambda: rate(tokenizer.encode_batch), "tokenizers, encode_batch_fast": lambda: rate(tokenizer.encode_batch_fast)}


def compare(title, rates, rounds):
    """Calls each once for warming up and once in each round; prints a table. The first of `rates` is lexformer."""
    measured = {name: [] for name in rates}
    for r in range(rounds + 1):
        for name, rate in rates.items():
            value = rate()
            if r > 0:
                measured[name].append(value)
    best = statistics.median(next(iter(measured.values())))
    print(f"{title}\n\n| | tokens/s, median (least, most) | lexformer over it |\n| --- | --- | --- |")
    for name, values in measured.items():
        print(f"| {name} | {statistics.median(values):,.0f} ({min(values):,.0f}, {max(values):,.0f}) | {best / statistics.median(values):.1f} |")
    print(flush=True)
