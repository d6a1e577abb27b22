# SPDX-License-Identifier: MIT
"""The goals G1 to G9 one by one: met, missed or not measured, with the figures. gpu_table.py writes them.

A goal in bfloat16 is judged by figures in bfloat16 alone; those of other precisions stand beside it and decide nothing.
"""
from gpu_results import GATHERED, copy_rate, number, ours_ms, peer_ms, ratio, table

PRECISIONS = ["float32", "tf32", "bfloat16"]
SUFFIX = {"float32": "", "tf32": "-tf32", "bfloat16": "-bf16"}
REAL, PADDED, BASE = "real pairs up to 64 tokens", "pairs of 128 tokens", "base size, pairs of 128 tokens"


def verdict(checks):
    """checks: (figure or None, whether it is good enough). All known and good: met; one bad: missed; else not measured."""
    if any(x is not None and not good for x, good in checks):
        return "missed"
    return "met" if checks and all(x is not None for x, _ in checks) else "not measured"


def at_least(x, limit):
    return x, x is not None and x >= limit


def at_most(x, limit):
    return x, x is not None and x <= limit


def named(**figures):
    """name 1.2, other 3 for those that are known."""
    return ", ".join(f"{name.replace('_', ' ')} {number(x)}" for name, x in figures.items() if x is not None)


def in_words(by_precision):
    return "; ".join(f"{p}: {text}" for p, text in by_precision.items() if text)


def g1(r):
    least = {}
    for p in PRECISIONS:
        sizes = {tuple(line[k] for k in ("kind", "m", "n", "k")) for line in r.all("gemm", precision=p)}
        found = [ratio(r.median("gemm_peer", **like), r.median("gemm", **like))
                 for like in ({"kind": s[0], "m": s[1], "n": s[2], "k": s[3], "precision": p} for s in sizes)]
        found = [x for x in found if x]
        least[p] = min(found) if found and len(found) == len(sizes) else None  # judged only if all sizes were measured
    return verdict([at_least(least["bfloat16"], 0.97)]), in_words({p: named(least_over_sizes=x) for p, x in least.items()})


def steps(r, label, p):
    """Of one kind of step in one precision: ms of lexformer, of PyTorch as it is, of the better of its compiled ways."""
    ours, eager = (r.median("train", contender=name + SUFFIX[p], label=label) for name in ("lexformer", "torch"))
    compiled = [r.median("train", contender=f"torch{SUFFIX[p]}-{way}", label=label) for way in ("compile", "graph")]
    compiled = [x for x in compiled if x]
    return ours, eager, min(compiled) if compiled else None


def g2(r):
    texts, checks = {}, []
    for p in PRECISIONS:
        ours, eager, compiled = steps(r, BASE, p)
        tokens = r.median("train", "tokens_per_second", contender="lexformer" + SUFFIX[p], label=BASE)
        texts[p] = named(tokens_per_second=tokens, over_eager=ratio(eager, ours), over_compiled=ratio(compiled, ours))
        checks = [at_least(tokens, 500e3), at_least(ratio(eager, ours), 1.6), at_least(ratio(compiled, ours), 1.15)]
    return verdict(checks), in_words(texts)  # the last is bfloat16


def g3(r):
    texts, best, checks = {}, None, []
    for p in PRECISIONS:
        ours, eager, compiled = steps(r, REAL, p)
        texts[p] = named(ms=ours, over_eager=ratio(eager, ours), over_compiled=ratio(compiled, ours))
        if ours and (best is None or ours < best):  # the goal names no precision: lexformer's fastest one, and the peers in the same one
            best, checks = ours, [at_most(ours, 1.2), at_least(ratio(eager, ours), 4), at_least(ratio(compiled, ours), 1.3)]
    return verdict(checks), in_words(texts)


def by_length(r, p):
    return sorted((width, length) for width in r.values("attention", "head_width") for length in r.values("attention", "length", head_width=width, precision=p))


def g4(r):
    texts, checks = {}, []
    for p in PRECISIONS:
        way = "sdpa_cudnn" if p == "bfloat16" else "sdpa"
        found = {}
        for width, length in by_length(r, p):
            like = {"head_width": width, "length": length, "precision": p}
            if x := ratio(peer_ms(r, [way], **like), ours_ms(r, "none", **like)):
                found[width, length] = x
        texts[p] = named(**{f"d_{width}_N_{length}": x for (width, length), x in found.items()})
        checks = [at_least(x, 0.6 if length <= 128 else 0.5) for (_, length), x in found.items()]
    return verdict(checks), in_words(texts)


def worst(found):
    return max(found) if found else None


def g5(r):
    lines = [line for line in r.all("attention") if "forward" in line and line["from"] == "attention"]
    forward, backward = (worst([line[way]["lea"]["median_ms"] / line[way]["none"]["median_ms"] for line in lines]) for way in ("forward", "backward"))
    return verdict([at_most(forward, 1.15), at_most(backward, 1.25)]), named(largest_forward=forward, largest_backward=backward)


def g6(r):
    found = {"gathered": [], "flex": [], "one_hot": []}
    for width, length in by_length(r, "float32"):
        like = {"head_width": width, "length": length, "precision": "float32"}
        for name, ways in (("gathered", GATHERED), ("flex", ["flex"]), ("one_hot", ["one_hot"])):
            if x := ratio(peer_ms(r, ways, **like), ours_ms(r, "lea", **like)):
                found[name].append(x)
    least = {name: min(x) if x else None for name, x in found.items()}
    limits = {"gathered": 1.5, "flex": 2, "one_hot": 10}
    return verdict([at_least(x, limits[name]) for name, x in least.items()]), "float32, the least over lengths: " + named(**least) if any(least.values()) else ""


def g7(r):
    found = {line["result"]["precision"]: 100 * (line["result"]["ratio"] - 1) for line in r.all("train_step", label=PADDED) if "ratio" in line["result"]}
    return verdict([at_most(x, 3) for x in found.values()]), in_words({p: f"{x:.1f} %" for p, x in found.items()})


def g8(r):
    lines = [line for line in r.all("attention") if line["from"] == "memory"]
    if not lines:
        return "not measured", ""
    last = max(lines, key=lambda line: line["length"])
    first = min((line for line in lines if line["length"] * line["sequences"] == last["length"] * last["sequences"]), key=lambda line: line["length"])
    temporary = last["temporary_bytes"]["lea"]
    grows = temporary / max(1, first["temporary_bytes"]["lea"])
    good = temporary < last["score_bytes"] and (first is last or grows <= 1.1)
    same = all(line["same_bits"] for line in lines)
    text = (f"with {last['length']} tokens {temporary / 1e6:.1f} MB beside {last['score_bytes'] / 1e6:.1f} MB of all scores, {grows:.2f} times of what {first['length']} take; "
            f"{'the same' if same else 'not the same'} bits in a second call")
    return "met" if good and same else "missed", text


def g9(r):
    texts, checks = {}, []
    for p in ("float32", "bfloat16"):
        for line in r.all("adamw", precision=p)[:1]:
            over = ratio(r.median("adamw_peer", parameters=line["parameters"]), line["median_ms"])
            floor = ratio(line["median_ms"], ratio(line["bytes"] * 1e3, copy_rate(r)))
            texts[p] = named(ms=line["median_ms"], over_fused_PyTorch=over, times_of_the_copy=floor)
            if p == "bfloat16":
                checks = [at_least(over, 1), at_most(floor, 1.25)]
    return verdict(checks), in_words(texts)


GOALS = [
    ("G1", "products in bfloat16: 0.97 of torch.matmul", g1),
    ("G2", "a BERT of base size, bfloat16: 1.6 times HF eager, 1.15 times compiled, 500,000 tokens/s", g2),
    ("G3", "MiniLM, 32 real pairs up to 64 tokens: 1.2 ms, 4 times HF eager, 1.3 times compiled", g3),
    ("G4", "attention without bias over cuDNN's SDPA (bfloat16): 0.6 up to 128 tokens, 0.5 beyond", g4),
    ("G5", "LEA over attention without it: 1.15 forward, 1.25 backward", g5),
    ("G6", "LEA forward and backward: 1.5 times SDPA with a gathered bias, 2 times FlexAttention, 10 times one-hot", g6),
    ("G7", "LEA in a training step of 128 tokens: 3 %", g7),
    ("G8", "nothing of size heads x n x n, no float atomics", g8),
    ("G9", "AdamW of 110 million parameters with a bfloat16 copy: 1.0 of PyTorch's fused, 1.25 times of the copy's time", g9),
]


def section_goals(r):
    yield from table(["goal", "", "verdict", "figures"], [[name, what, *judge(r)] for name, what, judge in GOALS])
