#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lexformer next to PyTorch + transformers on the same real pairs, the same batches and the same weights, in turns.

    compare.py --model M.lxf [--task train score] [--threads 1 2] [--rounds 3] [--steps 20] [--contenders ...] > table.md
    compare.py --model M.lxf --device cuda --task train --contenders lexformer lexformer-tf32 torch torch-tf32-compile ...

First all must give the same logits. Then each contender is run once, one after the other, and again, `rounds` times; every run is a
process of its own. Training: batches of 32 grouped by length, dropout, AdamW (PyTorch's fused), clipping; tokenizing and making the
batches are not counted. Scoring: 512 pairs sorted by length. Contenders: lexformer, lexformer-lea (training), torch (fp32), and each with
-bf16; on a GPU with -tf32, too, and torch.compile: as it is, and with CUDA graphs (-graph). In scoring also lexformer-int8, openvino
(-bf16, -int8) and ctranslate2 (-int8). Logits in fp32 must agree; how far the others are off is stated.
Needs torch, transformers, safetensors; openvino, nncf and ctranslate2 only for their contenders. Start it with their Python.
"""
import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PRECISIONS = {"": "float32", "-tf32": "tf32", "-bf16": "bfloat16"}
OURS = {"train": {f"lexformer{p}{lea}": ["--precision", name, "--attention", lea[1:] or "none"]
                  for p, name in PRECISIONS.items() for lea in ("", "-lea")},
        "score": {f"lexformer{p}": ["--precision", name] for p, name in [*PRECISIONS.items(), ("-int8", "int8")]}}
PEERS = {f"torch{p}{c}": ["--dtype", p[1:] or "fp32", *more] for p in ("", "-tf32", "-bf16")
         for c, more in (("", []), ("-compile", ["--compile", "default"]), ("-graph", ["--compile", "reduce-overhead"]))}
ENGINES = {f"{engine}{p}": ["--engine", engine, "--dtype", p[1:] or "fp32"]
           for engine, precisions in (("openvino", ("", "-bf16", "-int8")), ("ctranslate2", ("", "-int8"))) for p in precisions}  # only scoring


def grouped(lengths, size, count, seed=1):
    """Like transformers' group_by_length: shuffled, sorted within stretches of 50 batches, cut, shuffled."""
    rows, generator = list(range(len(lengths))), random.Random(seed)
    generator.shuffle(rows)
    rows = [r for begin in range(0, len(rows), 50 * size) for r in sorted(rows[begin:begin + 50 * size], key=lambda r: -lengths[r])]
    batches = [rows[i:i + size] for i in range(0, len(rows) - size + 1, size)]
    generator.shuffle(batches)
    return batches[:count]


def by_length(lengths, size, count, seed=1):
    rows = sorted(random.Random(seed).sample(range(len(lengths)), size * count), key=lambda r: -lengths[r])
    return [rows[i:i + size] for i in range(0, len(rows), size)]


class Comparison:
    def __init__(self, a, work):
        self.a, self.work, self.start = a, Path(work), Path(work) / "start.lxf"
        self.batches = {}
        if a.length:
            self.a.data = self.lengthened(a.data, a.length)
        lines = Path(a.data).read_text(encoding="utf-8").splitlines()
        self.write_batches("one", [list(range(32))])
        # One step saves the common start of all contenders: encoder, new head, vocabulary.
        self.call([a.bin / "train_step", "--model", a.model, "--data", a.data, "--batches", self.batches["one"], "--warmup", "0",
                   "--max-length", a.max_length, "--steps", "1", "--save-start", self.start])
        pairs = "".join("\t".join(line.split("\t")[:2]) + "\n" for line in lines)
        tokens = subprocess.run([a.bin / "lexformer", "tokenize", "--pairs", "--max-length", str(a.max_length), "--model", self.start], input=pairs, text=True, check=True, stdout=subprocess.PIPE)
        self.tokens = self.work / "tokens.jsonl"
        self.tokens.write_text(tokens.stdout, encoding="utf-8")
        lengths = [len(json.loads(line)["ids"]) for line in tokens.stdout.splitlines()]
        self.write_batches("train", grouped(lengths, a.batch, a.warmup + a.steps))
        if "score" in a.task:
            self.write_batches("score", by_length(lengths, 32, a.score_batches))

    def lengthened(self, data, length):
        """The pairs with both texts repeated until they have more than so many tokens; --max-length cuts them."""
        path = self.work / "pairs.tsv"
        rows = [line.split("\t") for line in Path(data).read_text(encoding="utf-8").splitlines()]
        longer = [[" ".join([text] * (1 + 8 * length // (len(text) + 1))) for text in row[:2]] + row[2:] for row in rows]
        path.write_text("".join("\t".join(row) + "\n" for row in longer), encoding="utf-8")
        return path

    def write_batches(self, name, batches):
        self.batches[name] = self.work / f"{name}.rows"
        self.batches[name].write_text("".join(" ".join(map(str, b)) + "\n" for b in batches))

    @staticmethod
    def call(command):
        done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(str(c) for c in command)}\n{done.stderr}")

    def run(self, contender, task, threads, logits=None):
        a, result = self.a, self.work / "result.json"
        common = ["--data", a.data, "--batches", self.batches[task], "--threads", threads, "--json", result,
                  "--device", a.device]
        common += ["--logits", logits] if logits else []
        common += ["--warmup", a.warmup] if task == "train" else ["--rounds", a.passes]
        if contender in PEERS | ENGINES:
            options = PEERS.get(contender) or [*ENGINES[contender], "--cache", self.work]
            self.call([sys.executable, ROOT / "bench/peer.py", task, "--start", self.start, "--tokens", self.tokens, *options, *common])
        elif task == "train":
            self.call([a.bin / "train_step", "--model", self.start, "--max-length", a.max_length, "--steps", a.steps, *OURS[task][contender], *common])
        else:
            self.call([a.bin / "score", "--model", self.start, "--max-length", a.max_length, *OURS[task][contender], *common])
        found = json.loads(result.read_text())
        return {**found, **found.pop("none", {}), **found.pop("lea", {})}

    def logits(self, contender, task):
        path = self.work / f"{contender}.npy"
        self.run(contender, task, max(self.a.threads), path)
        return np.load(path)

    def check_logits(self, task, contenders):
        expected = self.logits("torch", task)
        for c in dict.fromkeys(["lexformer", *(c for c in contenders if task == "score" and c != "torch")]):
            found = self.logits(c, task)
            if found.shape != expected.shape:
                sys.exit(f"logits of {c} {found.shape}, of torch {expected.shape}")
            error = float((np.abs(found - expected) / np.maximum(1, np.abs(expected))).max())
            print(f"{task}: the logits of {len(found)} pairs by {c} and by torch differ by {error:.1e} at the most", flush=True)
            if "-" not in c and not error <= (1e-5 if self.a.device == "cpu" else 1e-4):
                sys.exit("the contenders do not compute the same")
        print()

    def compare(self, task):
        contenders = [c for c in self.a.contenders if c in PEERS or c in OURS[task] or (task == "score" and c in ENGINES)]
        self.check_logits(task, contenders)
        print(f"| {task} | threads | median pairs/s | worst | best | over torch | peak GB |\n| --- | --- | --- | --- | --- | --- | --- |")
        for threads in self.a.threads:
            speeds, peak = {c: [] for c in contenders}, {}
            for _ in range(self.a.rounds):
                for c in contenders:
                    found = self.run(c, task, threads)
                    speeds[c].append(found["pairs_per_second"])
                    peak[c] = found["peak_gb"]
                    if self.a.json:
                        with open(self.a.json, "a", encoding="utf-8") as file:
                            file.write(json.dumps({**found, "what": task, "contender": c, "label": self.a.label, "threads": threads}) + "\n")
            for c in contenders:
                s = speeds[c]
                over = f"{statistics.median(s) / statistics.median(speeds['torch']):.2f}" if "torch" in speeds else ""
                print(f"| {c} | {threads} | {statistics.median(s):.1f} | {min(s):.1f} | {max(s):.1f} | {over} | {peak[c]:.2f} |", flush=True)
        print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a .lxf file or a HuggingFace folder of a BERT")
    parser.add_argument("--data", default=ROOT / "../shared/data/abt-buy/train.tsv")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help="where train_step, score and tokenize are")
    parser.add_argument("--task", nargs="+", choices=["train", "score"], default=["train", "score"])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--batch", type=int, default=32, help="pairs in a batch of training")
    parser.add_argument("--length", type=int, default=0, help="repeat the texts until each pair has so many tokens")
    parser.add_argument("--max-length", type=int, default=512, help="maximum number of tokens per pair")
    parser.add_argument("--json", help="add a line for each run to this file, as soon as it has ended")
    parser.add_argument("--label", default="", help="stands in each of these lines")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="runs of each contender")
    parser.add_argument("--steps", type=int, default=20, help="training steps measured in a run")
    parser.add_argument("--warmup", type=int, default=3, help="training steps before them")
    parser.add_argument("--passes", type=int, default=3, help="how often a scoring run scores its pairs")
    parser.add_argument("--score-batches", type=int, default=16, help="batches of 32 pairs that are scored")
    parser.add_argument("--contenders", nargs="+", choices=[*OURS["train"], "lexformer-int8", *PEERS, *ENGINES],
                        default=["lexformer", "lexformer-lea", "torch", "torch-bf16"])
    a = parser.parse_args()
    a.max_length = a.length or a.max_length
    with tempfile.TemporaryDirectory() as work:
        comparison = Comparison(a, work)
        for task in a.task:
            comparison.compare(task)


if __name__ == "__main__":
    main()
