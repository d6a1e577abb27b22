# SPDX-License-Identifier: MIT
"""The lines of JSON that the stages of bench/gpu.sh left, and what gpu_table.py and gpu_goals.py both look up in them."""
import json
import statistics
from pathlib import Path

GATHERED = ["embedding", "gather"]  # the implementations of a gathered bias in gpu_peer.py


class Results:
    def __init__(self, folder):
        self.lines = []
        for path in sorted(Path(folder).glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    self.lines.append({"from": path.stem, **json.loads(line)})
                except json.JSONDecodeError:  # a program was stopped while writing a line
                    pass

    def all(self, what, **like):
        return [r for r in self.lines if r.get("what") == what and all(r.get(k) == v for k, v in like.items())]

    def median(self, what, field="median_ms", **like):
        """The median over the runs of a figure; None where there is none."""
        found = [r[field] for r in self.all(what, **like) if r.get(field) is not None]
        return statistics.median(found) if found else None

    def values(self, what, key, **like):
        return list(dict.fromkeys(r[key] for r in self.all(what, **like) if key in r))


def number(x, digits=3):
    return "" if x is None else f"{x:.{digits}g}" if abs(x) < 10 ** digits else f"{x:.0f}"


def table(head, rows):
    if not rows:
        return ["Not measured."]
    return ["| " + " | ".join(row) + " |" for row in ([head, ["---"] * len(head)] + rows)]


def ratio(over, under):
    return over / under if over and under else None


def copy_rate(r):
    """Bytes a second of a copy, read and written; the better of lexformer's and PyTorch's."""
    rates = [line["bytes"] / line["median_ms"] * 1e3 for what in ("copy", "copy_peer") for line in r.all(what)]
    return max(rates) if rates else None


def matrix_rate(r, precision):
    """Flops a second of the fastest product measured in this precision, by anyone."""
    rates = [line["flops"] / line["median_ms"] * 1e3 for what in ("gemm", "gemm_peer") for line in r.all(what, precision=precision)]
    return max(rates) if rates else None


def total_ms(line, kind):
    return line["forward"][kind]["median_ms"] + line["backward"][kind]["median_ms"]


def ours_ms(r, kind, **like):
    """Forward and backward; from the turns with the peers where there are any."""
    found = [line for line in r.all("attention", **like) if "forward" in line]
    turns = [line for line in found if line["from"] == "peers"] or found
    return statistics.median(total_ms(line, kind) for line in turns) if turns else None


def peer_ms(r, ways, **like):
    found = [x for x in (r.median("attention_peer", way=way, **like) for way in ways) if x is not None]
    return min(found) if found else None


