# SPDX-License-Identifier: MIT
"""PyTorch beside gpu_attention and gpu_rates: the same sizes on the same device, results as lines of JSON.

    gpu_peer.py attention --bin DIR [--device cuda] [--lengths 32 64 ...] [--tokens 16384] [--heads 12] [--head-width 32] [--rounds 3] [--ways sdpa ...] > F
    gpu_peer.py rates [--device cuda] [--tokens 2048] > F

attention: forward and backward with all gradients, of attention with a learned table that is looked up by a code for each pair of tokens,
and of attention without one. Before anything is measured each way must give the context and the gradients that lexformer gives (float32,
two sequences). Then lexformer and the others take each length in turns, `rounds` times; on a GPU the others are replayed as a CUDA graph
where PyTorch can make one of them ("graph" in the result), so that its interpreter does not count.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention

WAYS = ["sdpa", "sdpa_cudnn", "embedding", "gather", "one_hot", "flex"]
DTYPES = {"float32": torch.float32, "tf32": torch.float32, "bfloat16": torch.bfloat16}
# The products in gpu_rates: rows n and k of D = 384 and 768.
SHAPES = [(384, 384), (1152, 384), (1536, 384), (384, 1536), (768, 768), (2304, 768), (3072, 768), (768, 3072)]


def write(**result):
    print(json.dumps(result), flush=True)


def first_line(e):
    return f"{type(e).__name__}: {str(e)}".splitlines()[0]


def finish(device):
    if device == "cuda":
        torch.cuda.synchronize()


def use(precision):
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    return DTYPES[precision]


class Clock:
    """Seconds of one call of f, replayed as a CUDA graph where that is possible."""

    def __init__(self, f, device, seconds=0.02):
        self.f, self.device, self.graph = f, device, False
        self.captured = f  # keeps alive what a captured graph reads
        if device == "cuda":
            self.capture()
        for _ in range(2):
            once = self.row(1)
        self.calls = max(1, min(10000, int(seconds / once)))

    def capture(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.f()
        torch.cuda.current_stream().wait_stream(stream)
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.kept = self.f()  # the graph writes here, so it must live as long as the graph
            self.f, self.graph = graph.replay, True
        except RuntimeError as e:
            print(f"no CUDA graph, measured with its launches: {first_line(e)}", file=sys.stderr)
            finish(self.device)

    def row(self, calls):
        finish(self.device)
        begin = time.perf_counter()
        for _ in range(calls):
            self.f()
        finish(self.device)
        return (time.perf_counter() - begin) / calls

    def measure(self, repeats):
        return [self.row(self.calls) for _ in range(repeats)]


def milliseconds(seconds):
    return {"median_ms": 1e3 * statistics.median(seconds), "min_ms": 1e3 * min(seconds)}


def relative_error(found, expected):
    return float((found.detach().float().cpu().reshape(-1) - expected.reshape(-1)).norm() / expected.norm())


# Implementations of attention. q, k, v (B, H, n, d), table (H, R), codes (B, n, n) -> (B, H, n, d).
def sdpa(q, k, v, table, codes):
    return F.scaled_dot_product_attention(q, k, v)


def sdpa_cudnn(q, k, v, table, codes):
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v)


def embedding(q, k, v, table, codes):
    bias = F.embedding(codes, table.t()).permute(0, 3, 1, 2).contiguous()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def gather(q, k, v, table, codes):
    b, n = codes.shape[:2]
    h, levels = table.shape
    bias = torch.gather(table[None, :, None].expand(b, h, n, levels), 3, codes[:, None].expand(b, h, n, n))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def one_hot(q, k, v, table, hot):
    bias = (hot @ table.t()).permute(0, 3, 1, 2).contiguous()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class Flex:
    def __init__(self, device):
        torch._dynamo.config.recompile_limit = 64  # each length and type is compiled once
        self.run = torch.compile(flex_attention, dynamic=False) if device == "cuda" else flex_attention

    def __call__(self, q, k, v, table, codes):
        return self.run(q, k, v, score_mod=lambda score, b, h, i, j: score + table[h, codes[b, i, j]])


class Attention:
    def __init__(self, a):
        self.a = a
        flex = Flex(a.device)
        self.ways = {"sdpa": sdpa, "embedding": embedding, "gather": gather, "one_hot": one_hot, "flex": flex}
        if a.device == "cuda":
            self.ways["sdpa_cudnn"] = sdpa_cudnn  # for bfloat16; does not support float32
        self.ways = {name: way for name, way in self.ways.items() if not a.ways or name in a.ways}

    def inputs(self, length, dtype, loaded=None):
        a, g = self.a, torch.Generator().manual_seed(length)
        n, d = length, a.head_width
        if loaded:
            q, k, v = loaded["qkv"].reshape(-1, n, 3, a.heads, d).transpose(1, 3).unbind(2)
            codes, table, dy = loaded["codes"].reshape(-1, n, n).long(), loaded["table"], loaded["dcontext"].reshape(-1, n, a.heads, d).transpose(1, 2)
        else:
            q, k, v, dy = (torch.randn(a.tokens // n, a.heads, n, d, generator=g) for _ in range(4))
            table = torch.randn(a.heads, a.levels, generator=g)
            used = torch.rand(a.tokens // n, n, n, generator=g) < 0.2
            codes = torch.randint(a.levels, used.shape, generator=g) * used
        to = {"device": a.device, "dtype": dtype}
        leaves = [t.to(**to).contiguous().requires_grad_() for t in (q, k, v, table)]
        return leaves, codes.to(a.device), dy.to(**to).contiguous()

    def codes_for(self, way, codes, dtype):
        return F.one_hot(codes, self.a.levels).to(dtype) if way == "one_hot" else codes

    def step(self, way, leaves, codes, dy):
        """Forward and backward; the gradients of q, k, v and, where it is read, of the table."""
        wanted = leaves[:3] if way.startswith("sdpa") else leaves
        f = self.ways[way]

        def run():
            context = f(*leaves, codes)
            return context, torch.autograd.grad(context, wanted, dy)
        return run

    def ours(self, *more):
        a = self.a
        command = [a.bin / "gpu_attention", "--device", a.device, "--heads", a.heads, "--head-width", a.head_width, "--levels", a.levels, *more]
        done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(str(c) for c in command)}\n{done.stderr}")
        return json.loads(done.stdout)

    def check(self, length):
        """Everyone's context and gradients against lexformer's in float32; the ways that agree."""
        use("float32")
        with tempfile.TemporaryDirectory() as folder:
            self.ours("--lengths", length, "--tokens", 2 * length, "--repeats", 0, "--save", folder)
            loaded = {path.stem: torch.from_numpy(np.load(path)) for path in Path(folder).glob("*.npy")}
        good = []
        for way in self.ways:
            dtype, allowed = (torch.bfloat16, 2e-2) if way == "sdpa_cudnn" else (torch.float32, 1e-4)  # does not support float32
            try:
                leaves, codes, dy = self.inputs(length, dtype, loaded)
                context, gradients = self.step(way, leaves, self.codes_for(way, codes, dtype), dy)()
            except Exception as e:  # any error: the others are still measured
                write(what="attention_check", length=length, way=way, failed=first_line(e))
                continue
            theirs = {"context": context.transpose(1, 2), "dqkv": torch.stack(gradients[:3], 2).transpose(1, 3)}
            ours = "none_" if way.startswith("sdpa") else "lea_"
            if ours == "lea_":
                theirs["dtable"] = gradients[3]
            error = max(relative_error(t, loaded[ours + name]) for name, t in theirs.items())
            write(what="attention_check", length=length, way=way, error=error)
            if error <= allowed:
                good.append(way)
        return good

    def compare(self, length, precisions):
        a, good = self.a, self.check(length)
        clocks, memory = {}, {}
        for precision in precisions:
            for way in good:
                if way == "sdpa_cudnn" and precision != "bfloat16":
                    continue
                dtype = use(precision)
                try:
                    leaves, codes, dy = self.inputs(length, dtype)
                    f = self.step(way, leaves, self.codes_for(way, codes, dtype), dy)
                    f()
                    if a.device == "cuda":
                        finish(a.device)
                        torch.cuda.reset_peak_memory_stats()
                        before = torch.cuda.memory_allocated()
                        f()
                        memory[precision, way] = torch.cuda.max_memory_allocated() - before
                    clocks[precision, way] = Clock(f, a.device, a.seconds)
                except Exception as e:  # any error: the others are still measured
                    write(what="attention_peer", length=length, way=way, precision=precision, failed=first_line(e))
        times = {key: [] for key in clocks}
        for _ in range(a.rounds):
            for precision in precisions:
                write(**self.ours("--lengths", length, "--tokens", a.tokens, "--precision", precision, "--repeats", a.repeats, "--seconds", a.seconds))
            for (precision, way), clock in clocks.items():
                use(precision)
                times[precision, way] += clock.measure(a.repeats)
        for (precision, way), seconds in times.items():
            write(what="attention_peer", length=length, way=way, precision=precision, head_width=a.head_width, heads=a.heads,
                  graph=clocks[precision, way].graph, bytes=memory.get((precision, way)), **milliseconds(seconds))


def attention(a):
    peers = Attention(a)
    for length in a.lengths:
        peers.compare(length, a.precisions)


def rates(a):
    def report(f, **what):
        clock = Clock(f, a.device, a.seconds)
        write(**what, graph=clock.graph, **milliseconds(clock.measure(a.repeats)))

    source = torch.randn(a.megabytes * 250000, device=a.device)
    target = torch.empty_like(source)
    report(lambda: target.copy_(source), what="copy_peer", bytes=2 * 4 * source.numel())
    products = [p for n, k in SHAPES for p in (("NT", a.tokens, n, k), ("NN", a.tokens, k, n), ("TN", n, k, a.tokens))]
    products += [("NT", (a.tokens * 3 + 19) // 20, 30522, 384), ("NT", a.square, a.square, a.square)]
    for precision in a.precisions:
        dtype = use(precision)
        for kind, m, n, k in products:
            x = torch.randn((k, m) if kind == "TN" else (m, k), device=a.device).to(dtype)
            w = torch.randn((n, k) if kind == "NT" else (k, n), device=a.device).to(dtype)
            x, w = x.t() if kind == "TN" else x, w.t() if kind == "NT" else w
            report(lambda x=x, w=w: x @ w, what="gemm_peer", kind=kind, m=m, n=n, k=k, precision=precision, flops=2.0 * m * n * k)
    parameters = [torch.randn(a.parameters // 64, device=a.device, requires_grad=True) for _ in range(64)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    optimizer = torch.optim.AdamW(parameters, lr=5e-5, weight_decay=5e-5, fused=True, capturable=a.device == "cuda")
    report(optimizer.step, what="adamw_peer", parameters=64 * (a.parameters // 64))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["attention", "rates"])
    parser.add_argument("--bin", type=Path, default=Path("build/cuda/bin"), help="where gpu_attention is")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--precisions", nargs="+", choices=list(DTYPES), default=list(DTYPES), help="on a CPU: float32 alone")
    parser.add_argument("--ways", nargs="+", choices=WAYS, help="of attention; all unless given")
    parser.add_argument("--lengths", nargs="+", type=int, default=[32, 64, 128, 256, 512])
    for name, default in (("heads", 12), ("head-width", 32), ("levels", 50), ("rounds", 3), ("repeats", 7), ("square", 8192),
                          ("megabytes", 1024), ("parameters", 110000000)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--tokens", type=int, help="of all sequences (16384), or rows of a training step's products (2048), as in lexformer's programs")
    parser.add_argument("--seconds", type=float, default=0.02, help="what a measurement takes")
    a = parser.parse_args()
    a.tokens = a.tokens or (16384 if a.task == "attention" else 2048)
    if a.device == "cpu":
        a.precisions = ["float32"]
    {"attention": attention, "rates": rates}[a.task](a)


if __name__ == "__main__":
    main()
