#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/metrics.txt and tests/golden/schedules.txt with scikit-learn, scipy and transformers.

The tests only read the files. metrics.txt: cases of lines `name count numbers...`, a blank line between cases.
schedules.txt: lines `kind warmup total count rates...` for a base rate of 1.
"""
import warnings
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from sklearn import metrics
from transformers import get_constant_schedule_with_warmup, get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

warnings.simplefilter("ignore")  # one-class cases
golden = Path(__file__).resolve().parents[2] / "tests/golden"
random = np.random.default_rng(11)


def show(name, values):
    values = np.asarray(values).reshape(-1).tolist()
    return f"{name} {len(values)} " + " ".join(map(repr, values)) + "\n"


with (golden / "metrics.txt").open("w") as out:
    for case in range(24):
        n, grid = int(random.integers(2, 30)), int(random.integers(2, 40))
        scores = random.integers(-grid, grid, n) / 8.0
        labels = (random.random(n) < [0.5, 0.1, 0.9][case % 3]).astype(int)
        predicted = (scores > 0).astype(int)
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(labels, predicted, average="binary", zero_division=0)
        classes, guesses = random.integers(0, 4, n), random.integers(0, 5, n)
        other = scores * (case % 5 - 2) + random.integers(-3, 3, n)
        constant = len(set(scores)) == 1 or len(set(other)) == 1
        out.write(show("scores", scores) + show("labels", labels))
        out.write(show("binary", [f1, precision, recall, metrics.accuracy_score(labels, predicted),
                                  metrics.average_precision_score(labels, scores)]))
        out.write(show("classes", classes) + show("guesses", guesses))
        out.write(show("multi", [metrics.accuracy_score(classes, guesses), metrics.f1_score(classes, guesses, average="macro", zero_division=0)]))
        out.write(show("other", other))
        out.write(show("regression", [0.0 if constant else stats.pearsonr(scores, other)[0],
                                      0.0 if constant else stats.spearmanr(scores, other)[0],
                                      metrics.mean_squared_error(scores, other), np.mean(scores), np.std(scores, ddof=1)]))
        out.write(show("ranks", stats.rankdata(scores)) + "\n")

with (golden / "schedules.txt").open("w") as out:
    for warmup, total in ((0, 10), (4, 17), (15, 20), (5, 5)):
        for kind, make in (
                ("constant", lambda o: get_constant_schedule_with_warmup(o, warmup)),
                ("linear", lambda o: get_linear_schedule_with_warmup(o, warmup, total)),
                ("cosine", lambda o: get_cosine_schedule_with_warmup(o, warmup, total))):
            optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
            schedule = make(optimizer)
            rates = []
            for _ in range(total):
                rates.append(schedule.get_last_lr()[0])
                optimizer.step()
                schedule.step()
            out.write(f"{kind} {warmup} {total} {len(rates)} " + " ".join(map(repr, rates)) + "\n")
