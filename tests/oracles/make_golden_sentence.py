#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/models/sentence.safetensors: a sentence encoder of sentence-transformers in double.

    python3 tests/oracles/make_golden_sentence.py

Needs sentence-transformers and what make_golden.py needs. Transformers' BertModel, then Pooling, Dense (9 -> 6, tanh), Dense (6 -> 4,
identity) and Normalize of sentence-transformers. The training takes ten steps with its MultipleNegativesRankingLoss of the first three
texts against the other three. The file has:
  start/P, gradient/P     parameter P before training (float), its gradient in step 0
  pooled/mean, cls, max   vectors before the Dense modules, before training
  vectors, end_vectors    of max pooling and all modules, before and after training
  losses, norms           of each of the ten steps
"""
import torch
from sentence_transformers import losses
from sentence_transformers.models import Dense, Normalize, Pooling
from transformers import BertConfig, BertModel, get_linear_schedule_with_warmup

from make_golden import TINY, batch_tensors, padded, randomize, save, sequences, start, train


class Encoder(torch.nn.Module):
    def __init__(self, bert, modules):
        super().__init__()
        self.bert, self.rest = bert, torch.nn.ModuleList(modules)

    def forward(self, features):
        out = {"token_embeddings": self.bert(**features).last_hidden_state, "attention_mask": features["attention_mask"]}
        for module in self.rest:
            out = module(out)
        return out


def main():
    torch.manual_seed(8)
    lengths = [6, 9, 3, 4, 5, 7]
    ids, types = sequences(lengths)
    types = [torch.zeros_like(t) for t in types]
    config = BertConfig(**TINY)
    bert = BertModel(config, add_pooling_layer=False).eval()
    dense = [Dense(9, 6), Dense(6, 4, activation_function=torch.nn.Identity())]
    model = Encoder(bert, [Pooling(9, "max"), *dense, Normalize()])
    parameters = {f"bert.{name}": p for name, p in bert.named_parameters()}
    parameters |= {f"lexformer.dense.{i}.{part}": getattr(d.linear, part) for i, d in enumerate(dense) for part in ("weight", "bias")}
    randomize(parameters)
    first = start(parameters)
    pooled = {f"pooled/{mode}": Encoder(bert, [Pooling(9, mode)])(padded(ids, types))["sentence_embedding"] for mode in ("mean", "cls", "max")}
    vectors = model(padded(ids, types))["sentence_embedding"]
    loss = losses.MultipleNegativesRankingLoss(model)
    sides = [padded(ids[i:i + 3], types[i:i + 3]) for i in (0, 3)]
    run, gradients, _ = train(parameters, lambda k: loss(sides, None), get_linear_schedule_with_warmup)
    assert run["losses"][-1] < run["losses"][0]
    end = model(padded(ids, types))["sentence_embedding"]
    save("sentence", {**first, **batch_tensors(ids, types, lengths), **pooled, "vectors": vectors, **run, **gradients, "end_vectors": end},
         config=config, lexformer=dict(pooling="max", normalize=True, dense=["tanh", "identity"]))


if __name__ == "__main__":
    main()
