#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/models/text_cnn.safetensors: Kim's CNN over fixed word vectors by torch.nn.functional.conv1d, in double.

    python3 tests/oracles/make_golden_text_cnn.py

Needs what make_golden_love.py needs. D = 5 numbers a word, 4 filters of each width 2, 3, 4, 3 classes. Texts of 1 to 6 words, some shorter than
a window; each is convolved alone, with width - 1 vectors of zeros behind it. The training takes ten steps of torch.optim.Adam (lr 2e-3) on
the two batches in turn, without dropout. The file has:
  start/P, gradient/P, end/P  parameter P before training (float), its gradient in step 0, its value after ten steps
  words (N, D), second/words  the vectors of the words of the two batches (float); labels and lengths are in "about"
  logits (B, 3)               of the first batch before training; end_logits of the second after it
  losses (10)                 of each step
"""
import json

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from make_golden import FOLDER, randomize, start

SIZE, FILTERS, WIDTHS, CLASSES = 5, 4, (2, 3, 4), 3
LENGTHS, LABELS = [[4, 1, 6], [2, 3, 5, 1]], [[2, 0, 1], [1, 1, 0, 2]]


def logits(w, texts):
    rows = []
    for text in texts:
        maxima = []
        for width in WIDTHS:
            padded = torch.cat([text, torch.zeros(width - 1, SIZE)])
            weight = w[f"text_cnn.convolution.{width}.weight"].view(FILTERS, width, SIZE).transpose(1, 2)
            maps = F.relu(F.conv1d(padded.T[None], weight, w[f"text_cnn.convolution.{width}.bias"]))
            assert maps.shape == (1, FILTERS, len(text))
            maxima.append(maps[0].max(1).values)
        rows.append(F.linear(torch.cat(maxima), w["text_cnn.output.weight"], w["text_cnn.output.bias"]))
    return torch.stack(rows)


def main():
    torch.manual_seed(4)
    w = {}
    for width in WIDTHS:
        w[f"text_cnn.convolution.{width}.weight"] = torch.empty(FILTERS, width * SIZE)
        w[f"text_cnn.convolution.{width}.bias"] = torch.empty(FILTERS)
    w["text_cnn.output.weight"], w["text_cnn.output.bias"] = torch.empty(CLASSES, len(WIDTHS) * FILTERS), torch.empty(CLASSES)
    w = {name: torch.nn.Parameter(value) for name, value in w.items()}
    randomize(w)
    tensors = {name: value.detach().clone() for name, value in start(w).items()}
    words = [torch.randn(sum(lengths), SIZE).float() for lengths in LENGTHS]
    texts = [value.double().split(lengths) for value, lengths in zip(words, LENGTHS)]
    tensors |= {"words": words[0], "second/words": words[1], "logits": logits(w, texts[0])}

    optimizer = torch.optim.Adam(w.values(), lr=2e-3, betas=(0.9, 0.999), eps=1e-8)
    losses = []
    for k in range(10):
        optimizer.zero_grad()
        loss = F.cross_entropy(logits(w, texts[k % 2]), torch.tensor(LABELS[k % 2]))
        loss.backward()
        if k == 0:
            tensors |= {f"gradient/{name}": p.grad.clone() for name, p in w.items()}
            assert all(p.grad.abs().max() > 1e-3 for p in w.values())
        losses.append(loss.detach())
        optimizer.step()
    assert losses[-1] < losses[1] and losses[-2] < losses[0]
    tensors |= {f"end/{name}": p for name, p in w.items()} | {"losses": torch.stack(losses), "end_logits": logits(w, texts[1])}
    about = dict(options=dict(size=SIZE, filters=FILTERS, first_width=WIDTHS[0], last_width=WIDTHS[-1]), classes=CLASSES, lengths=LENGTHS, labels=LABELS)
    save_file({name: t.detach().contiguous() for name, t in tensors.items()}, FOLDER / "text_cnn.safetensors", metadata={"about": json.dumps(about)})


if __name__ == "__main__":
    main()
