#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Markdown table of bench/gpu.sh: reads the lines of JSON that its stages left in a folder, writes results.md there.

    gpu_table.py FOLDER
    gpu_table.py --compare-npy A.npy B.npy      how far apart the numbers of two files are, as a line of JSON

Only what was measured becomes a figure. The goals are those of performance.md, section 7; one that asks for a precision or a contender that
was not measured is "not measured", whatever other precisions gave.
"""
import json
import math
import struct
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from gpu_goals import section_goals  # noqa: E402
from gpu_results import GATHERED, Results, copy_rate, matrix_rate, number, ours_ms, peer_ms, ratio, table, total_ms  # noqa: E402

STAGES = "build checks sanitize rates attention memory train main peers peers_real peers_padded peers_base".split()


def npy(path):
    data = Path(path).read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    if b"'<f4'" not in data[:10 + size]:
        sys.exit(f"gpu_table.py: {path} does not hold float32")
    return [x[0] for x in struct.iter_unpack("<f", data[10 + size:])]


def compare_npy(a, b):
    a, b = npy(a), npy(b)
    if not a or len(a) != len(b):
        sys.exit(f"gpu_table.py: {len(a)} numbers beside {len(b)}")
    if not all(map(math.isfinite, a + b)):
        sys.exit("gpu_table.py: not all numbers are finite")
    error = max(abs(x - y) / max(1, abs(x)) for x, y in zip(a, b))
    print(json.dumps({"what": "logits", "numbers": len(a), "error": error}))
    if error > 1e-4:
        sys.exit(f"gpu_table.py: the logits of the GPU and of the CPU differ by {error:.1e}")


def section_rates(r):
    copy = copy_rate(r)
    yield f"Copy on the device, read and written: {copy / 1e9:.0f} GB/s." if copy else "Copy: not measured."
    rows = []
    for line in r.all("gemm"):
        like = {k: line[k] for k in ("kind", "m", "n", "k", "precision")}
        if any(row[0] == like for row in rows):
            continue
        rate, peer = (ratio(line["flops"], r.median(what, **like)) for what in ("gemm", "gemm_peer"))
        rows.append([like, line["precision"], line["kind"], f"{like['m']} x {like['n']} x {like['k']}", number(rate / 1e9),
                     number(ratio(100 * rate * 1e3, matrix_rate(r, line["precision"]))), number(ratio(rate, peer))])
    yield ""
    yield from table(["precision", "kind", "m x n x k", "TFLOP/s", "% of the fastest measured", "over torch.matmul"], [row[1:] for row in rows])
    for line in r.all("adamw")[:1]:
        share = ratio(line["bytes"] / line["median_ms"] * 1e3, copy)
        yield ""
        yield (f"AdamW of {line['parameters'] / 1e6:.0f} million parameters, {line['precision']}: {number(line['median_ms'])} ms, "
               f"{number(share and 100 * share)} % of the copy's rate. PyTorch's fused: " + (f"{number(r.median('adamw_peer'))} ms." if r.all("adamw_peer") else "not measured."))


def section_attention(r):
    rows = []
    for width in sorted(r.values("attention", "head_width")):
        for length in sorted(r.values("attention", "length", head_width=width)):
            for precision in r.values("attention", "precision"):
                like = {"length": length, "head_width": width, "precision": precision}
                timed = [line for line in r.all("attention", **like) if "forward" in line and line["from"] == "attention"]
                if not timed:
                    continue
                line = timed[-1]
                parts = [line[way][kind]["median_ms"] for way in ("forward", "backward") for kind in ("none", "lea")]
                # 2 n n d per product: two forward, five backward including the recomputed scores.
                flops = 14 * line["sequences"] * length ** 2 * line["heads"] * width
                share = ratio(100 * flops / total_ms(line, "none") * 1e3, matrix_rate(r, precision))
                peers = [peer_ms(r, ways, **like) for ways in (["sdpa", "sdpa_cudnn"], GATHERED, ["flex"], ["one_hot"])]
                # Token rows of the full width are read and written 4 times forward and 7 times backward, the codes (2 bytes) once in each.
                tokens = line["sequences"] * length
                moved = 11 * tokens * line["heads"] * width * (2 if precision == "bfloat16" else 4) + 4 * tokens * length
                shares = [share, ratio(100 * moved / total_ms(line, "lea") * 1e3, copy_rate(r))]
                by_cublas = [total_ms(other, "lea") for other in r.all("attention_cublas", **like)[-1:]]
                rows.append([precision, str(width), str(length), *map(number, parts), *map(number, shares), *map(number, by_cublas or [None]), *map(number, peers)])
    yield ("ms; forward and backward together by cuBLAS and for the peers, each in the best of its ways. The shares are of the rates above, for the "
           "products (without LEA) and the bytes (with it) that any program needs.")
    yield ""
    yield from table(["precision", "head width", "tokens", "forward", "with LEA", "backward", "with LEA", "% of the matrix rate", "with LEA % of the copy's rate", "with LEA, by cuBLAS", "SDPA", "SDPA, gathered bias",
                      "FlexAttention, learned table", "one-hot"], rows)
    failed = [f"{line['way']}, {line['length']} tokens: {line['failed']}" for what in ("attention_check", "attention_peer") for line in r.all(what) if "failed" in line]
    checks = [line for line in r.all("attention_check") if "error" in line]
    if checks:
        yield ""
        yield f"Context and gradients of the others differ from lexformer's by {max(line['error'] for line in checks):.1e} of their norm at the most."
    yield from (f"* Not measured: {text}" for text in dict.fromkeys(failed))


def section_memory(r):
    rows = []
    for line in r.all("attention"):
        if line["from"] == "memory":
            temporary = line["temporary_bytes"]
            rows.append([str(line["length"]), str(line["sequences"]), *(number(x / 1e6) for x in (temporary["none"], temporary["lea"], line["score_bytes"])),
                         "yes" if line["same_bits"] else "no"])
    yield "What attention takes besides inputs and outputs, MB, next to what a matrix of all scores (heads x n x n for each sequence) would take:"
    yield ""
    yield from table(["tokens", "sequences", "without LEA", "with LEA", "all scores", "same bits in a second call"], rows)
    yield ""
    rows = [[line["label"], line["result"]["precision"], f"{line['result']['tensors_gb']:.3f}"] for line in r.all("train_step", **{"from": "memory"})]
    rows += [[f"{c}: {label}", "", f"{r.median('train', 'tensors_gb', contender=c, label=label):.3f}"] for label in r.values("train", "label") for c in
             r.values("train", "contender", label=label) if r.median("train", "tensors_gb", contender=c, label=label) is not None]
    yield from table(["training steps: parameters, moments and all else", "precision", "GB at the most"], rows)


def section_train(r):
    rows = []
    for line in r.all("train_step"):
        if line["from"] == "train":
            for kind in ("none", "lea"):
                if kind in line["result"]:
                    t = line["result"][kind]
                    rows.append([line["label"], f"lexformer{'-lea' if kind == 'lea' else ''}, {line['result']['precision']}", number(t["median_ms"]), number(t["min_ms"]),
                                 number(t["pairs_per_second"]), number(t["tokens_per_second"]),
                                 number(ratio(100 * line["result"]["flops_per_step"] / t["median_ms"] * 1e3, matrix_rate(r, line["result"]["precision"]))), ""])
    for label in r.values("train", "label"):
        eager = r.median("train", contender="torch", label=label)
        for c in r.values("train", "contender", label=label):
            ms = r.median("train", contender=c, label=label)
            rows.append([label, f"{c} (in turns)", number(ms), number(r.median("train", "min_ms", contender=c, label=label)),
                         number(r.median("train", "pairs_per_second", contender=c, label=label)), "", "", number(ratio(eager, ms))])
    yield from table(["step", "who", "median ms", "best ms", "pairs/s", "tokens/s", "% of the matrix rate", "over torch (float32, eager)"], rows)


def section_main(r):
    rows = []
    for line in r.all("main"):
        results = line["results"]
        test = results["test"][0]
        rows.append([line["row"], str(line["seed"]), f"{100 * test['f1']:.1f}", f"{100 * test['typos_mean']['f1']:.1f}", f"{100 * test['average_precision']:.1f}",
                     f"{100 * test['typos_mean']['average_precision']:.1f}", number(results["train_samples_per_second"]), str(line["seconds"])])
    yield from table(["row", "seed", "F1 clean", "with typos", "average precision clean", "with typos", "training pairs/s", "seconds, all"], rows)


def section_checks(r):
    yield from (f"* Tests labelled cuda_device: {line['summary']}" for line in r.all("tests"))
    yield from (f"* Logits of the GPU and of the CPU, float32, {line['numbers']} numbers: they differ by {line['error']:.1e} of max(1, |x|) at the most" for line in r.all("logits"))
    rows = []
    for tool in r.values("sanitize", "tool"):
        found = {line["part"]: line["errors"] for line in r.all("sanitize", tool=tool)}
        rows.append([tool, *("not finished" if e is None else str(e) for e in found.values())])
    yield ""
    yield from table(["compute-sanitizer: errors", *r.values("sanitize", "part")], rows)


def main():
    if sys.argv[1:2] == ["--compare-npy"] and len(sys.argv) == 4:
        compare_npy(*sys.argv[2:])
        return
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    r = Results(folder)
    gpu = folder / "gpu.txt"
    out = ["# On a GPU", ""]
    if (folder / "short").exists():
        out += ["**Tiny sizes (--short): these figures mean nothing.**", ""]
    out += [f"Made by `bench/gpu.sh` on: {gpu.read_text().strip() if gpu.exists() else 'no GPU'}."]
    out += [f"Peers: torch {line['torch']}, transformers {line['transformers']}." for line in r.all("versions")]
    out += [""] + table(["stage", "how it ended", "seconds"], [[line["stage"], line["status"], str(line["seconds"])] for stage in STAGES for line in r.all("stage", stage=stage)])
    out += [""] + list(dict.fromkeys(f"* {line['text']}" for line in r.all("note"))) + [f"* {line['stage']}, {line['name']}: {line['why']}" for line in r.all("problem")]
    goals = section_goals if not (folder / "short").exists() else lambda _: ["Not judged."]
    for title, section in (("Goals", goals), ("Checks", section_checks), ("Rates", section_rates), ("Attention", section_attention), ("Memory", section_memory),
                           ("Training steps", section_train), ("Main job: MiniLM on Abt-Buy", section_main)):
        out += ["", f"## {title}", "", *section(r)]
    (folder / "results.md").write_text("\n".join(out) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
