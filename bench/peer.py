# SPDX-License-Identifier: MIT
"""PyTorch + transformers on the batches that lexformer's programs get: one measurement, results as JSON. compare.py calls it.

    peer.py train|score --start START.lxf --data PAIRS.tsv --batches ROWS --threads N [--dtype fp32|bf16] [--logits F.npy] --json F

START.lxf: encoder, paper head, vocabulary and config, as `train_step --save-start` writes it.
"""
import argparse
import json
import resource
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertModel


class Matcher(torch.nn.Module):
    """BERT, mean over the tokens, and the head of the LEA paper."""

    def __init__(self, tensors, config):
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.bert.load_state_dict({n[5:]: t for n, t in tensors.items() if n.startswith("bert.") and "pooler" not in n})
        self.head = torch.nn.ModuleDict({"dense": torch.nn.Linear(config.hidden_size, 256), "norm": torch.nn.LayerNorm(256),
                                         "out": torch.nn.Linear(256, 2)})
        self.head.load_state_dict({n[15:]: t for n, t in tensors.items() if n.startswith("lexformer.head.")})

    def forward(self, x):
        hidden = self.bert(**x).last_hidden_state
        mask = x["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * mask).sum(1) / mask.sum(1)
        y = torch.nn.functional.dropout(self.head["norm"](self.head["dense"](pooled)), 0.1, self.training)
        return self.head["out"](torch.nn.functional.gelu(y))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=["train", "score"])
    for name in ("start", "data", "batches", "logits", "json"):
        parser.add_argument("--" + name)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=4)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)

    with safe_open(a.start, "pt") as file:
        tensors, texts = {n: file.get_tensor(n) for n in file.keys()}, file.metadata()
    config = {k: v for k, v in json.loads(texts["lexformer.config"]).items() if k != "lexformer"}
    model = Matcher(tensors, BertConfig(**config, attn_implementation="sdpa"))
    words = {w: i for i, w in enumerate(texts["lexformer.vocab"].split("\n")[:-1])}
    flags = json.loads(texts["lexformer.tokenizer"])
    tokenizer = BertWordPieceTokenizer(vocab=words, lowercase=flags["do_lower_case"])
    tokenizer.enable_truncation(512)
    tokenizer.enable_padding()  # to the longest of a batch
    rows = [line.split("\t") for line in Path(a.data).read_text(encoding="utf-8").splitlines()]
    batches = []
    for line in Path(a.batches).read_text().splitlines():
        chosen = [rows[int(i)] for i in line.split()]
        e = tokenizer.encode_batch([(left, right) for left, right, _ in chosen])
        x = {"input_ids": torch.tensor([r.ids for r in e]), "token_type_ids": torch.tensor([r.type_ids for r in e]),
             "attention_mask": torch.tensor([r.attention_mask for r in e])}
        batches.append((x, torch.tensor([int(label) for _, _, label in chosen])))

    model.eval()
    if a.logits:
        with torch.inference_mode():
            np.save(a.logits, torch.cat([model(x) for x, _ in batches]).numpy())
    half = torch.autocast("cpu", torch.bfloat16, enabled=a.dtype == "bf16")
    pairs = [len(y) for _, y in batches]
    if a.task == "train":
        model.train()
        parameters = list(model.parameters())
        optimizer = torch.optim.AdamW(parameters, lr=5e-5, weight_decay=5e-5, fused=True)
        seconds = []
        for x, y in batches:
            begin = time.perf_counter()
            with half:
                logits = model(x)
            torch.nn.functional.cross_entropy(logits.float(), y).backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            seconds.append(time.perf_counter() - begin)
        speed = sum(pairs[a.warmup:]) / sum(seconds[a.warmup:])
    else:
        if a.dtype == "bf16":
            model = model.to(torch.bfloat16)  # faster than autocast, which casts the weights each time
        seconds = []
        with torch.inference_mode():
            for _ in range(a.rounds + 1):
                begin = time.perf_counter()
                for x, _ in batches:
                    model(x)
                seconds.append(time.perf_counter() - begin)
        speed = sum(pairs) / statistics.median(seconds[1:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    Path(a.json).write_text(json.dumps({"pairs_per_second": speed, "peak_gb": peak}))


if __name__ == "__main__":
    main()
