#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/adamw.txt: ten steps of torch.optim.AdamW in double, with clip_grad_norm_ before each.

Needs torch; the tests only read the file. Blocks of numbers, each after a line with its name and count:
start and end values, gradients of each step, norms, learning rates, moments.
"""
from pathlib import Path

import torch

STEPS, MAX_NORM, BASE = 10, 1.0, 1e-2
GROUPS = {"decay_all": 0.1, "decay_matrices": 0.1}

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)
shapes = {"linear.weight": (3, 4), "linear.bias": (4,), "late": (2, 2)}
start = {name: torch.randn(shape) for name, shape in shapes.items()}
gradients = [{name: torch.randn(shape) * 3 ** (k % 3 - 1) for name, shape in shapes.items()} for k in range(STEPS)]
rates = [BASE * (k + 1) / STEPS for k in range(STEPS)]

blocks = {"rates": torch.tensor(rates)}
for name in shapes:
    blocks[f"start {name}"] = start[name]
    blocks[f"gradients {name}"] = torch.stack([g[name] for g in gradients])
for group, decay in GROUPS.items():
    parameters = {name: torch.nn.Parameter(value.clone()) for name, value in start.items()}
    plain = [p for name, p in parameters.items() if group == "decay_matrices" and p.dim() < 2]
    decayed = [p for p in parameters.values() if not any(p is q for q in plain)]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": decay}, {"params": plain, "weight_decay": 0.0}],
        betas=(0.85, 0.995), eps=1e-7, foreach=False)
    norms = []
    for k in range(STEPS):
        for name, p in parameters.items():
            p.grad = None if name == "late" and k % 4 == 0 else gradients[k][name].clone()
        norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), MAX_NORM * (2 if k % 2 else 100)))
        for g in optimizer.param_groups:
            g["lr"] = rates[k]
        optimizer.step()
    blocks[f"norms {group}"] = torch.stack(norms)
    for name, p in parameters.items():
        blocks[f"end {group} {name}"] = p.detach()
        blocks[f"exp_avg {group} {name}"] = optimizer.state[p]["exp_avg"]
        blocks[f"exp_avg_sq {group} {name}"] = optimizer.state[p]["exp_avg_sq"]

path = Path(__file__).resolve().parents[2] / "tests/golden/adamw.txt"
with path.open("w") as out:
    for name, values in blocks.items():
        numbers = values.reshape(-1).tolist()
        print(name.replace(" ", "/"), len(numbers), *map(repr, numbers), file=out)
