#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decoders that pretrain makes, as transformers loads them after tools/convert_hf.py: the mean loss of validation texts against the one that
pretrain prints.

    python3 tests/oracles/check_causal_lm.py --program build/release/bin/lexformer

Needs torch and transformers. Not part of the test suite."""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = {
    "GPT2LMHeadModel": {"model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "GPTNeoForCausalLM": {"model_type": "gpt_neo", "hidden_size": 32, "num_layers": 2, "num_heads": 4, "intermediate_size": 48, "max_position_embeddings": 64,
                          "window_size": 5, "attention_types": [[["global", "local"], 1]]},
}


def documents(count, rng):
    return "".join(f"the {rng.choice(['camera', 'lens', 'tv'])} by {rng.choice(['sony', 'canon', 'nokia'])} comes with a {rng.choice(['black', 'red'])} "
                   f"case and a cable, number {rng.randint(1, 99)}\n" for _ in range(count))


def difference(program, name, folder):
    """Of the two losses."""
    run, exported = folder / name, folder / f"{name}-hf"
    (folder / "config.json").write_text(json.dumps(CONFIGS[name]))
    subprocess.run([program, "pretrain", "--objective", "causal", "--text", folder / "train.txt", "--valid", folder / "valid.txt", "--model-config",
                    folder / "config.json", "--vocab-size", "150", "--epochs", "2", "--batch", "8", "--lr", "3e-3", "--quiet", "--out", run], check=True)
    subprocess.run([sys.executable, ROOT / "tools/convert_hf.py", run / "model.lxf", "--to-hf", exported], check=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
    model, report = getattr(transformers, name).from_pretrained(exported, output_loading_info=True)
    assert not any(report.values()), report
    total = count = 0
    for line in (folder / "valid.txt").read_text().splitlines():
        ids = tokenizer(line, return_tensors="pt").input_ids
        with torch.no_grad():
            total += (ids.shape[1] - 1) * model.eval()(ids, labels=ids).loss.item()
        count += ids.shape[1] - 1
    return abs(total / count - json.loads((run / "all_results.json").read_text())["eval_loss"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    rng, worst = random.Random(1), 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.txt").write_text(documents(150, rng))
        (folder / "valid.txt").write_text(documents(40, rng))
        for kind in CONFIGS:
            found = difference(options.program, kind, folder)
            print(f"{kind}: the losses differ by {found:.1e}")
            worst = max(worst, found)
    if worst > 1e-5:
        sys.exit("the losses differ by more than 1e-5")


if __name__ == "__main__":
    main()
