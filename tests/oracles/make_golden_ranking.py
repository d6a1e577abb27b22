#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/models/ranking.safetensors: losses of rankings by PyTorch in double, with the gradients of their inputs.

    python3 tests/oracles/make_golden_ranking.py

Needs torch and safetensors. With sentence-transformers, whose losses three of these are, the values are compared with its own first.
a, b, c, d are 5 x 4 matrices, x, y five scores, s 3 x 5 scores; inputs and labels are exact in float. Names in the file:
  NAME            the loss
  NAME/gradient/I the gradient of input I
"""
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

FOLDER = Path(__file__).resolve().parents[2] / "tests/golden/models"
SIMILAR, SAME = [0.875, 0.25, -0.5, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0, 0.0]
RELEVANCE = [[1, 0, 0, 0, 0], [0, 3, 0, 1, 0], [0.5, 0.25, 0, 0, 2]]


def cosines(a, b):
    return a @ b.T / (a.norm(dim=1)[:, None] * b.norm(dim=1)[None, :])


def multiple_negatives(factor, anchors, *candidates):
    return F.cross_entropy(factor * cosines(anchors, torch.cat(candidates)), torch.arange(len(anchors)))


def contrastive(a, b, labels, margin):
    distance = 1 - cosines(a, b).diagonal()
    return (labels * distance**2 + (1 - labels) * (margin - distance).clamp(min=0) ** 2).mean() / 2


def losses(v):
    similar, same, relevance = torch.tensor(SIMILAR), torch.tensor(SAME), torch.tensor(RELEVANCE)
    share = relevance / relevance.sum(1, keepdim=True)
    return {
        "multiple_negatives": (multiple_negatives(20, v["a"], v["b"]), "ab"),
        "multiple_negatives_hard": (multiple_negatives(20, v["a"], v["b"], v["c"], v["d"]), "abcd"),
        "multiple_negatives_factor": (multiple_negatives(3, v["a"], v["b"], v["c"]), "abc"),
        "cosine": (((cosines(v["a"], v["b"]).diagonal() - similar) ** 2).mean(), "ab"),
        "contrastive": (contrastive(v["a"], v["b"], same, 0.5), "ab"),
        "contrastive_margin": (contrastive(v["a"], v["b"], same, 1.25), "ab"),
        "binary": (F.binary_cross_entropy_with_logits(v["x"], torch.tensor([1, 0.25, 0, 1, 0.0])), "x"),
        "binary_weight": (F.binary_cross_entropy_with_logits(v["x"], same, pos_weight=torch.tensor(2.5)), "x"),
        "margin": (F.margin_ranking_loss(v["x"], v["y"], torch.ones(5), margin=0.75), "xy"),
        "listwise": (F.cross_entropy(v["s"], share), "s"),
        "list_net": (-(relevance.softmax(1) * v["s"].log_softmax(1)).sum(1).mean(), "s"),
    }


def compare_with_sentence_transformers(v, found):
    try:
        from sentence_transformers import losses as theirs
    except ImportError:
        print("sentence-transformers is missing: not compared with it")
        return

    class Fixed(torch.nn.Module):
        """A model whose sentence embeddings are its input."""
        def forward(self, features):
            return {"sentence_embedding": features["x"]}

    def value(loss, columns, labels=None):
        return loss([{"x": v[c]} for c in columns], labels)

    similar, same = torch.tensor(SIMILAR), torch.tensor(SAME)
    checked = {
        "multiple_negatives": value(theirs.MultipleNegativesRankingLoss(Fixed()), "ab"),
        "multiple_negatives_hard": value(theirs.MultipleNegativesRankingLoss(Fixed()), "abcd"),
        "multiple_negatives_factor": value(theirs.MultipleNegativesRankingLoss(Fixed(), scale=3.0), "abc"),
        "cosine": value(theirs.CosineSimilarityLoss(Fixed()), "ab", similar),
        "contrastive": value(theirs.ContrastiveLoss(Fixed()), "ab", same),
        "contrastive_margin": value(theirs.ContrastiveLoss(Fixed(), margin=1.25), "ab", same),
    }
    worst = 0.0
    for name, expected in checked.items():
        loss, inputs = found[name]
        pairs = [(loss, expected)]
        pairs += zip(torch.autograd.grad(loss, [v[i] for i in inputs], retain_graph=True),
                     torch.autograd.grad(expected, [v[i] for i in inputs], retain_graph=True))
        for a, b in pairs:
            worst = max(worst, (a - b).abs().max().item())
    assert worst < 1e-12, worst
    print(f"equal to sentence-transformers: largest difference {worst:.1e}")


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    torch.manual_seed(6)
    shapes = dict(a=(5, 4), b=(5, 4), c=(5, 4), d=(5, 4), x=(5,), y=(5,), s=(3, 5))
    v = {name: torch.randn(shape).float().double().requires_grad_() for name, shape in shapes.items()}
    found = losses(v)
    compare_with_sentence_transformers(v, found)
    tensors = {name: value.detach().float() for name, value in v.items()}
    for name, (loss, inputs) in found.items():
        tensors[name] = loss.detach()
        for i, gradient in zip(inputs, torch.autograd.grad(loss, [v[i] for i in inputs], retain_graph=True)):
            assert gradient.abs().max() > 1e-3
            tensors[f"{name}/gradient/{i}"] = gradient.contiguous()
    about = json.dumps(dict(similar=SIMILAR, same=SAME, relevance=RELEVANCE))
    save_file(tensors, FOLDER / "ranking.safetensors", metadata={"about": about})


if __name__ == "__main__":
    main()
