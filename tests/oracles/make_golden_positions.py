#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/models/positions_*.safetensors: results of transformers in double with its position schemes.

    python3 tests/oracles/make_golden_positions.py

Needs torch, safetensors and transformers 4.46 (version 5 has no relative_key). Names in the files: start/ and gradient/ +
parameter, with lexformer's names; hidden: the last layer; cotangent: the gradient of the output.
"""
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertModel, DebertaV2Config, DebertaV2Model, RoFormerConfig, RoFormerModel, T5Config
from transformers.models.t5.modeling_t5 import T5Attention

FOLDER = Path(__file__).resolve().parents[2] / "tests/golden/models"
SIZES = dict(vocab_size=31, hidden_size=9, num_hidden_layers=2, num_attention_heads=3, intermediate_size=11, max_position_embeddings=24,
             hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, layer_norm_eps=1e-12)
LENGTHS = [7, 1, 20, 3, 12]
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def save(name, tensors, **config):
    """config: lexformer's settings that differ from SIZES."""
    tensors = {k: v.detach().clone().contiguous() for k, v in tensors.items()}
    save_file(tensors, FOLDER / f"positions_{name}.safetensors", metadata={"about": json.dumps({"config": SIZES | config})})


def randomize(named):
    for name, p in named:
        if p.requires_grad:
            p.data = ((1.0 if name.endswith("LayerNorm.weight") else 0.0) + 0.4 * torch.randn(p.shape)).float().double()


def whole_model(name, model, rename=lambda n: "bert." + n, **config):
    """Parameters that get no gradient (unused position tables) are left out."""
    torch.manual_seed(5)
    model.eval()
    randomize(model.named_parameters())
    ids = [torch.randint(5, SIZES["vocab_size"], (n,)) for n in LENGTHS]
    types = [(torch.arange(n) > n // 2).long() for n in LENGTHS]
    pad = torch.nn.utils.rnn.pad_sequence
    y = model(input_ids=pad(ids, True), token_type_ids=pad(types, True), attention_mask=pad([torch.ones_like(i) for i in ids], True))
    hidden = torch.cat([y.last_hidden_state[s, :n] for s, n in enumerate(LENGTHS)])
    cotangent = torch.randn(hidden.shape)
    (hidden * cotangent).sum().backward()
    used = {rename(n): p for n, p in model.named_parameters() if p.grad is not None}
    save(name, {"ids": torch.cat(ids), "types": torch.cat(types), "lengths": torch.tensor(LENGTHS), "hidden": hidden, "cotangent": cotangent,
                **{f"start/{n}": p.float() for n, p in used.items()}, **{f"gradient/{n}": p.grad for n, p in used.items()}}, **config)


def deberta_name(name):
    if name == "encoder.rel_embeddings.weight":
        return "lexformer.encoder.layer.0.positions.table"
    if ".pos_" in name:
        layer, which, kind = name.split(".")[2], name.split("pos_")[1].split("_")[0], name.rsplit(".", 1)[1]
        return f"lexformer.encoder.layer.{layer}.positions.{which}.{kind}"
    return "bert." + name.replace("_proj.", ".")


def t5():
    """One attention module: x (1, n, D), its q, k, v, its bias, before o. bias as (heads, buckets)."""
    torch.manual_seed(6)
    module = T5Attention(T5Config(d_model=9, d_kv=3, num_heads=3, dropout_rate=0, relative_attention_num_buckets=8,
                                  relative_attention_max_distance=15), has_relative_attention_bias=True).eval()
    randomize(module.named_parameters())
    x = torch.randn(1, 22, 9, requires_grad=True)
    q, k, v = (getattr(module, part)(x).unflatten(2, (3, 3)).transpose(1, 2) for part in "qkv")
    scores = q @ k.transpose(2, 3) + module.compute_bias(22, 22)  # the module computes the softmax in float
    y = (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)
    cotangent = torch.randn(y.shape)
    (y * cotangent).sum().backward()
    tensors = {"x": x[0], "gradient/x": x.grad[0], "context": y[0], "cotangent": cotangent[0],
               "bias": module.relative_attention_bias.weight.T, "gradient/bias": module.relative_attention_bias.weight.grad.T}
    for part in "qkv":
        tensors |= {part: getattr(module, part).weight, f"gradient/{part}": getattr(module, part).weight.grad}
    distances = torch.arange(-300, 301)
    tensors["buckets"] = T5Attention._relative_position_bucket(distances, bidirectional=True, num_buckets=32, max_distance=128)
    save("t5", tensors)


for kind in ("relative_key", "relative_key_query"):
    whole_model(kind, BertModel(BertConfig(**SIZES, position_embedding_type=kind), add_pooling_layer=False), position_embedding_type=kind)
even = {**SIZES, "hidden_size": 12}
roformer = RoFormerModel(RoFormerConfig(**even, embedding_size=12))
angles = torch.arange(24)[:, None] * 10000 ** (-torch.arange(2) * 2.0 / 4)  # which RoFormer rounds to float
roformer.encoder.embed_positions.weight.data = torch.cat([angles.sin(), angles.cos()], 1)
whole_model("rope", roformer, hidden_size=12, position_embedding_type="rope")
disentangled = dict(type_vocab_size=2, relative_attention=True, pos_att_type=["c2p", "p2c"], position_biased_input=False)
whole_model("deberta", DebertaV2Model(DebertaV2Config(**SIZES, **disentangled, max_relative_positions=5)), deberta_name,
            position_embedding_type="deberta", position_options={"size": 5})
whole_model("deberta_buckets", DebertaV2Model(DebertaV2Config(**SIZES, **disentangled, position_buckets=6, max_relative_positions=16)),
            deberta_name, position_embedding_type="deberta", position_options={"buckets": 6, "max_distance": 16})
t5()
