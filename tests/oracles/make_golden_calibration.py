#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/calibration.txt with scikit-learn (1.9).

The tests only read the file: cases of lines `name count numbers...`, a blank line between cases. scikit-learn's Platt scaling stops early
(its gradient is about 1e-5), so `platt` goes on from there by Newton's method to the minimum of the same loss.
"""
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn.calibration import _sigmoid_calibration, calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

golden = Path(__file__).resolve().parents[2] / "tests/golden"
random = np.random.default_rng(17)


def show(name, values):
    values = np.asarray(values, dtype=float).reshape(-1).tolist()
    return f"{name} {len(values)} " + " ".join(map(repr, values)) + "\n"


def platt(x, labels):
    """Slope and offset of p = 1 / (1 + exp(-(slope x + offset))); scikit-learn's a and b have the other sign."""
    a, b = _sigmoid_calibration(x, labels)
    positives, negatives = labels.sum(), (1 - labels).sum()
    target = np.where(labels == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    loss = lambda f: np.sum(np.logaddexp(0, f[0] * x + f[1]) - target * (f[0] * x + f[1]))
    f = np.array([-a, -b])
    for _ in range(20):
        p = expit(f[0] * x + f[1])
        rows = np.stack([x, np.ones_like(x)])
        f = f - np.linalg.solve((rows * (p * (1 - p))) @ rows.T, rows @ (p - target))
    assert abs(f[0] + a) < 1e-2 * abs(a) and loss(f) <= loss([-a, -b]) + 1e-9, (f, a, b)
    return f


def calibration_error(probabilities, labels, bins=10):
    positives, means = calibration_curve(labels, probabilities, n_bins=bins)
    which = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], probabilities)
    counts = np.bincount(which, minlength=bins)
    return np.sum(counts[counts > 0] * np.abs(positives - means)) / len(labels)


with (golden / "calibration.txt").open("w") as out:
    for case in range(12):
        n = int(random.integers(30, 200))
        logits = (np.round(random.normal(-1, 2, n) * 16) + 0.5) / 16  # no score on an edge of a bin: ours belongs to the bin above, theirs to the one below
        labels = (random.random(n) < expit([0.5, 1, 2][case % 3] * logits + [0, 0.5, -0.5][case // 4])).astype(int)
        scores = expit(logits)
        new = np.concatenate([random.random(8), [0.0, 1.0]])
        f = platt(np.log(scores / (1 - scores)), labels)
        clipped = np.clip(new, 1e-12, 1 - 1e-12)
        isotonic = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, labels)
        out.write(show("scores", scores) + show("labels", labels) + show("new", new))
        out.write(show("platt", f) + show("platt_new", expit(f[0] * np.log(clipped / (1 - clipped)) + f[1])))
        out.write(show("isotonic_fit", isotonic.predict(scores)) + show("isotonic_new", isotonic.predict(new)))
        out.write(show("measures", [brier_score_loss(labels, scores), calibration_error(scores, labels)]) + "\n")
