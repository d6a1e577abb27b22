#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes mimick, bos, bos_hashed and kvq_fh.safetensors in tests/golden/models: LOVE's rivals, in double.

    python3 tests/oracles/make_golden_imputers.py

Needs what make_golden_love.py needs. The models are written here from their papers, word by word, with dictionaries of substrings. The steps
of the training are those of make_golden_love.py: torch.optim.Adam (lr 2e-3, times .97 after every two steps), ten steps that take the two
batches in turn. D = 6. All files have:
  start/P, gradient/P, end/P  parameter P before training (float), its gradient in step 0, its value after ten steps
  targets (B, D)              float, of the words of the first batch; second/targets of the second
  vectors (B, D)              of the first batch, before training; end_vectors of the second batch after it, strange of STRANGE before it
  losses (10)                 of each step
"about" has options, by their names in the C++ program, learned (the words whose substrings are known), batches (two lists of words), strange
(words with unknown substrings), vocab (of mimick).
"""
import collections
import json

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from make_golden import FOLDER, randomize, start
from make_golden_love import DECAY, RATE, STEPS, lstm_of, lstm_shapes

SIZE, UNIT, STATES = 6, 5, 3
LEARNED = ["oven", "ovens", "coven", "naïve", "elaborated"]
BATCHES = [["oven", "elaborated", "ovens"], ["naïve", "Oven", "coven", "ovens"]]
STRANGE = ["xylo", "a", "ovenx", "of"]
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", "ove", "##n", "##s", "co", "##ven", "na", "##ive", "el", "##ab", "##or", "##ate", "##d", "x", "##o"]


def substrings(word, first, last, shortest, longest):
    """With repetitions, by first character, then by length."""
    word = first + word.lower() + last
    return [word[i:i + n] for i in range(len(word)) for n in range(shortest, longest + 1) if i + n <= len(word)]


def by_frequency(parts):
    """Distinct ones, the most frequent first, equally frequent ones as they come."""
    return [part for part, _ in collections.Counter(parts).most_common()]


def fnv1a(text, prime=0x01000193):
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * prime % 2**32
    return value


class Mimick:
    def __init__(self, w, o):
        self.w, self.lstm = w, lstm_of(w, lambda _, direction: f"mimick.lstm.{direction}.")

    def pieces(self, word):
        """Greedy, longest first, without accents; a word with an unknown rest is [UNK]."""
        word, ids, at = word.lower().replace("ï", "i"), [], 0
        while at < len(word):
            found = [n for n in range(len(word), at, -1) if ("##" if at else "") + word[at:n] in VOCAB]
            if not found:
                return [2, 1, 3]
            ids.append(VOCAB.index(("##" if at else "") + word[at:found[0]]))
            at = found[0]
        return [2, *ids, 3]

    def linear(self, x, name):
        return self.w[name + ".weight"] @ x + self.w[name + ".bias"]

    def word(self, word):
        _, (last, _) = self.lstm(self.w["mimick.units.weight"][self.pieces(word)][None])
        return self.linear(torch.tanh(self.linear(torch.cat([last[0, 0], last[1, 0]]), "mimick.hidden")), "mimick.output")

    @staticmethod
    def shapes(o):
        shapes = {"mimick.units.weight": (len(VOCAB), UNIT)}
        for direction in ("forward", "reverse"):
            shapes |= lstm_shapes(f"mimick.lstm.{direction}.", UNIT, STATES)
        return shapes | {"mimick.hidden.weight": (SIZE, 2 * STATES), "mimick.hidden.bias": (SIZE,), "mimick.output.weight": (SIZE, SIZE),
                         "mimick.output.bias": (SIZE,)}

    @staticmethod
    def loss(t, v):
        return ((v - t) ** 2).sum(1).mean()


class Bos:
    def __init__(self, w, o):
        self.table, self.o = w["bos.substrings"], o
        self.known = by_frequency(sum([self.parts(word) for word in LEARNED], []))

    def parts(self, word):
        return substrings(word, "<", ">", self.o["shortest"], self.o["longest"])

    def word(self, word):
        if self.o["buckets"]:
            rows = [fnv1a(part) % self.o["buckets"] for part in self.parts(word)]
        else:
            rows = [1 + self.known.index(part) for part in self.parts(word) if part in self.known] or [0]
        return sum(self.table[row] for row in rows) / len(rows)

    @staticmethod
    def shapes(o):
        return {"bos.substrings": (o["buckets"] or 1 + len({part for word in LEARNED for part in substrings(word, "<", ">", 3, 6)}), SIZE)}

    @staticmethod
    def loss(t, v):
        return ((v - t) ** 2 / 2).sum(1).mean() / SIZE


class KvqFh:
    def __init__(self, w, o):
        self.table, self.o = w["kvq_fh.substrings.weight"], o
        self.known = by_frequency([part for word in LEARNED for part in self.parts(word) if part != f"^{word}@"])[:o["known"]]

    def parts(self, word):
        return substrings(word, "^", "@", self.o["shortest"], self.o["longest"])

    def word(self, word):
        parts = [part for part in self.parts(word) if part in self.known] or self.parts(word)
        key, value, query = (self.table[[fnv1a(part, 0x01000193 + i) % self.o["rows"] for part in parts]] for i in range(3))
        z = torch.softmax(SIZE**0.5 * query.sum(0) * key, 0)
        return (z * value).sum(0)

    @staticmethod
    def shapes(o):
        return {"kvq_fh.substrings.weight": (o["rows"], SIZE)}

    @staticmethod
    def loss(t, v):
        return ((F.normalize(v) - F.normalize(t)) ** 2).sum(1).mean() / SIZE


def golden(name, kind, seed, **options):
    options = dict(size=SIZE, **options)
    torch.manual_seed(seed)
    w = {n: torch.nn.Parameter(torch.empty(s)) for n, s in kind.shapes(options).items()}
    randomize(w)
    tensors = {n: p.detach().clone() for n, p in start(w).items()}
    targets = {word: torch.randn(SIZE).float() for word in LEARNED}
    model = kind(w, options)
    vectors = lambda words: torch.stack([model.word(word) for word in words])
    expected = [torch.stack([targets[word.lower()] for word in batch]) for batch in BATCHES]
    tensors |= {"targets": expected[0], "second/targets": expected[1], "vectors": vectors(BATCHES[0]), "strange": vectors(STRANGE)}

    optimizer = torch.optim.Adam(w.values(), lr=RATE, betas=(0.9, 0.999), eps=1e-8)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, DECAY)
    losses = []
    for k in range(STEPS):
        optimizer.zero_grad()
        value = kind.loss(expected[k % 2].double(), vectors(BATCHES[k % 2]))
        value.backward()
        if k == 0:
            tensors |= {f"gradient/{n}": p.grad.clone() for n, p in w.items()}
            for n, p in w.items():
                assert p.grad.abs().max() > 1e-4 and p.grad.abs()[p.grad != 0].min() > 1e-9, (name, n)
        losses.append(value.detach())
        optimizer.step()
        scheduler.step()
    assert losses[-1] < losses[1] and losses[-2] < losses[0]
    tensors |= {f"end/{n}": p for n, p in w.items()} | {"losses": torch.stack(losses), "end_vectors": vectors(BATCHES[1])}
    about = dict(options=options, learned=LEARNED, batches=BATCHES, strange=STRANGE, vocab=VOCAB)
    save_file({n: t.detach().contiguous() for n, t in tensors.items()}, FOLDER / f"{name}.safetensors", metadata={"about": json.dumps(about)})


def main():
    assert substrings("ab", "<", ">", 3, 6) == ["<ab", "<ab>", "ab>"]
    assert (fnv1a(""), fnv1a("a"), fnv1a("foobar")) == (0x811C9DC5, 0xE40C292C, 0xBF9CF968)  # from the authors of FNV
    golden("mimick", Mimick, 1, unit_size=UNIT, states=STATES)
    golden("bos", Bos, 1, shortest=3, longest=6, buckets=0)
    golden("bos_hashed", Bos, 1, shortest=3, longest=6, buckets=31)
    golden("kvq_fh", KvqFh, 1, rows=40, known=40, shortest=3, longest=30)


if __name__ == "__main__":
    main()
