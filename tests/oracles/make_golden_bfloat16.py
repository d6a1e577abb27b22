#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/bfloat16.json: the error of PyTorch's bfloat16 against its double, for the models of make_golden.py.

    python3 tests/oracles/make_golden_bfloat16.py

Needs torch, transformers and safetensors. A model's weights, activations and gradients are bfloat16. An error is |a - b| / |b|, with b the
numbers in double and | | the root of the sum of squares: of all logits, and of all gradients together. `attention` is
scaled_dot_product_attention with a bias gathered from a table by codes; its inputs and results in double are in
tests/golden/models/attention.safetensors.
"""
import json
import math
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.nn import functional as F
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, ElectraConfig, ElectraForSequenceClassification

GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden"
torch.set_num_threads(1)


def error(found, expected):
    total = sum(((a.double() - b) ** 2).sum().item() for a, b in zip(found, expected))
    return math.sqrt(total / sum((b ** 2).sum().item() for b in expected))


def model(name, make, config_class):
    path = GOLDEN / f"models/{name}.safetensors"
    golden, start = load_file(path), {}
    with safe_open(path, "pt") as f:
        config = config_class.from_dict(json.loads(f.metadata()["about"])["config"] | {"attn_implementation": "eager"})
    m = make(config).double()
    with torch.no_grad():
        for parameter_name, p in m.named_parameters():
            p.copy_(golden[f"start/{parameter_name}"])
    m = m.bfloat16()
    lengths = golden["lengths"].tolist()
    rows = lambda key: torch.nn.utils.rnn.pad_sequence(golden[key].split(lengths), True)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones(n, dtype=torch.long) for n in lengths], True)
    logits = m(input_ids=rows("ids"), token_type_ids=rows("types"), attention_mask=mask).logits
    if "positions" in golden:
        logits = torch.cat([logits[s, :n] for s, n in enumerate(lengths)])[golden["positions"]]
    F.cross_entropy(logits.float(), golden["labels"]).backward()
    named = dict(m.named_parameters())
    gradients = [k for k in golden if k.startswith("gradient/")]
    return {"logits": error([logits], [golden["logits"]]),
            "gradients": error([named[k.removeprefix("gradient/")].grad for k in gradients], [golden[k] for k in gradients])}


def attention():
    """Two sequences of 37 and 20 tokens, 2 heads of 16, a table of 8 levels; all inputs are bfloat16 numbers."""
    torch.manual_seed(7)
    lengths, heads, d, levels = [37, 20], 2, 16, 8
    draw = lambda *shape: torch.randn(*shape).bfloat16()
    qkv, table, dcontext = draw(sum(lengths), 3 * heads * d), draw(heads, levels), draw(sum(lengths), heads * d)
    codes = [torch.randint(levels, (n, n)) for n in lengths]

    def run(dtype):
        x, t = qkv.to(dtype).requires_grad_(), table.to(dtype).requires_grad_()
        out = []
        for part, code in zip(x.split(lengths), codes):
            q, k, v = part.unflatten(1, (3, heads, d)).permute(1, 2, 0, 3)
            out.append(F.scaled_dot_product_attention(q[None], k[None], v[None], t[:, code][None])[0].transpose(0, 1).flatten(1))
        y = torch.cat(out)
        y.backward(dcontext.to(dtype))
        return [y.detach(), x.grad, t.grad]

    exact, rounded = run(torch.float64), run(torch.bfloat16)
    names = ["context", "dqkv", "dtable"]
    save_file({"qkv": qkv, "table": table, "dcontext": dcontext, "codes": torch.cat([c.flatten() for c in codes]),
               "lengths": torch.tensor(lengths), **{n: x.contiguous() for n, x in zip(names, exact)}},
              GOLDEN / "models/attention.safetensors")
    return {n: error([a], [b]) for n, a, b in zip(names, rounded, exact)}


errors = {"bert_2_labels": model("bert_2_labels", BertForSequenceClassification, BertConfig),
          "bert_3_labels": model("bert_3_labels", BertForSequenceClassification, BertConfig),
          "electra": model("electra", ElectraForSequenceClassification, ElectraConfig),
          "masked_lm": model("masked_lm", BertForMaskedLM, BertConfig),
          "attention": attention()}
rounded = {name: {what: float(f"{value:.3g}") for what, value in e.items()} for name, e in errors.items()}
(GOLDEN / "bfloat16.json").write_text(json.dumps(rounded, indent=2) + "\n")
