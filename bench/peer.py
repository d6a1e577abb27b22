# SPDX-License-Identifier: MIT
"""PyTorch + transformers, or another engine (engines.py), on the batches that lexformer's programs get: one measurement, results as JSON. compare.py calls it.

    peer.py train|score --start START.lxf --data PAIRS.tsv --tokens TOKENS.jsonl --batches ROWS --threads N [--device cuda]
            [--dtype fp32|tf32|bf16] [--compile MODE] [--logits F.npy] --json F
    peer.py score --engine openvino|ctranslate2 --cache DIR [--dtype fp32|bf16|int8] ...

START.lxf: encoder, paper head and config, as `train_step --save-start` writes it. TOKENS.jsonl: the output of lexformer's `tokenize` for
these pairs, so that all process the same tokens (the library tokenizers 0.23.2 cuts some long pairs elsewhere than 0.23.3). With --compile
batches are padded to a multiple of 32 tokens, so that few shapes are compiled; that is done before anything is measured.
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
        return self.head_of(self.bert(**x).last_hidden_state, x["attention_mask"])

    def head_of(self, hidden, mask):
        mask = mask.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * mask).sum(1) / mask.sum(1)
        y = torch.nn.functional.dropout(self.head["norm"](self.head["dense"](pooled)), 0.1, self.training)
        return self.head["out"](torch.nn.functional.gelu(y))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=["train", "score"])
    for name in ("start", "data", "tokens", "batches", "logits", "json", "compile", "cache"):
        parser.add_argument("--" + name)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=["fp32", "tf32", "bf16", "int8"], default="fp32")
    parser.add_argument("--engine", choices=["torch", "openvino", "ctranslate2"], default="torch")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=4)
    a = parser.parse_args()
    if (a.dtype == "int8" and a.engine == "torch") or (a.task == "train" and a.engine != "torch"):
        parser.error(f"{a.engine} is not run with --dtype {a.dtype} in {a.task}")
    torch.set_num_threads(a.threads)
    torch.set_float32_matmul_precision("high" if a.dtype == "tf32" else "highest")
    torch.manual_seed(0)

    with safe_open(a.start, "pt") as file:
        tensors, texts = {n: file.get_tensor(n) for n in file.keys()}, file.metadata()
    config = {k: v for k, v in json.loads(texts["lexformer.config"]).items() if k != "lexformer"}
    model = Matcher(tensors, BertConfig(**config, attn_implementation="sdpa")).to(a.device)
    labels = [int(line.split("\t")[2]) for line in Path(a.data).read_text(encoding="utf-8").splitlines()]
    encoded = [json.loads(line) for line in Path(a.tokens).read_text(encoding="utf-8").splitlines()]
    padding = texts["lexformer.vocab"].split("\n").index("[PAD]")
    batches = []
    for line in Path(a.batches).read_text().splitlines():
        chosen = [int(i) for i in line.split()]
        longest = max(len(encoded[i]["ids"]) for i in chosen)
        if a.compile:
            longest = (longest + 31) // 32 * 32

        def padded(lists, pad=0):
            return torch.tensor([x + [pad] * (longest - len(x)) for x in lists])
        x = {"input_ids": padded((encoded[i]["ids"] for i in chosen), padding),
             "token_type_ids": padded(encoded[i]["type_ids"] for i in chosen), "attention_mask": padded([1] * len(encoded[i]["ids"]) for i in chosen)}
        batches.append((x, torch.tensor([labels[i] for i in chosen])))

    def there(x):
        return {name: t.to(a.device) for name, t in x.items()}

    score = None
    if a.engine != "torch":
        import engines
        inputs = [{name: t.numpy() for name, t in x.items()} for x, _ in batches]
        score = engines.scorer(a.engine, a.dtype, model.eval(), inputs, a.threads, a.cache)
        batches = [(x, y) for x, (_, y) in zip(inputs, batches)]

    def finish():
        if a.device == "cuda":
            torch.cuda.synchronize()

    model.eval()
    if a.task == "score" and a.dtype == "bf16" and score is None:
        model = model.to(torch.bfloat16)  # faster than autocast, which casts the weights each time
    if a.logits:
        with torch.inference_mode():
            np.save(a.logits, np.concatenate([score(x) if score else model(there(x)).float().cpu().numpy() for x, _ in batches]))
    half = torch.autocast(a.device, torch.bfloat16, enabled=a.dtype == "bf16")
    pairs = [len(y) for _, y in batches]
    found = {}
    if a.task == "train":
        model.train()
        parameters = list(model.parameters())
        optimizer = torch.optim.AdamW(parameters, lr=5e-5, weight_decay=5e-5, fused=True)
        compiled = torch.compile(model, mode=a.compile, dynamic=False) if a.compile else model
        if a.compile:
            for x in {x["input_ids"].shape: x for x, _ in batches}.values():
                for _ in range(3):
                    with half:
                        logits = compiled(there(x))
                    logits.float().sum().backward()
                    optimizer.zero_grad()
        seconds = []
        for x, y in batches:
            finish()
            begin = time.perf_counter()
            with half:
                logits = compiled(there(x))
            torch.nn.functional.cross_entropy(logits.float(), y.to(a.device)).backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            finish()
            seconds.append(time.perf_counter() - begin)
        seconds = seconds[a.warmup:]
        speed = sum(pairs[a.warmup:]) / sum(seconds)
        found = {"median_ms": 1e3 * statistics.median(seconds), "min_ms": 1e3 * min(seconds)}
    else:
        seconds = []
        with torch.inference_mode():
            for _ in range(a.rounds + 1):
                begin = time.perf_counter()
                for x, _ in batches:
                    score(x) if score else model(there(x))
                finish()
                seconds.append(time.perf_counter() - begin)
        speed = sum(pairs) / statistics.median(seconds[1:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    if a.device == "cuda":
        found["tensors_gb"] = torch.cuda.max_memory_allocated() / 1e9
    Path(a.json).write_text(json.dumps({"pairs_per_second": speed, "peak_gb": peak, **found}))


if __name__ == "__main__":
    main()
