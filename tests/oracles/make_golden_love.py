#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes love*.safetensors and lstm.safetensors in tests/golden/models: LOVE's encoders and losses, and torch.nn.LSTM, in double.

    python3 tests/oracles/make_golden_love.py

Needs torch, safetensors and what make_golden.py needs. The encoders are written here from the paper (ACL 2022) and the released model's
structure, for padded words with masks. Each file is one setting. The steps of the training are those of torch.optim.Adam (lr 2e-3,
betas .9 .999, eps 1e-8, no weight decay, no clipping), the rate times .97 after every two steps. Steps 0, 2, ... take the first batch
(6 words), steps 1, 3, ... the second (5 words). No word has [PAD], id 0. D = 12, V = 21, Q = 4 or 8. All files have:
  start/P, gradient/P, end/P  parameter P before training (float), its gradient in step 0, its value after ten steps.
                              P: units.weight (V, D), and of the encoder
                                pam: norm.weight, norm.bias (D); of layer L: layer.L.position.weight (D, D), .bias (D),
                                  layer.L.query.weight and layer.L.key.weight (Q, D), .bias (Q), layer.L.output.weight (D, D), or (D, 2D)
                                  of [self-attention, position attention] if the structure is merge, .bias (D)
                                attention: norm.weight, norm.bias (D)
                                cnn: for w = 3, 4, 5 convolution.w.weight (D, wD), .bias (D); output.weight (D, 3D), .bias (D)
                                rnn: layer.L.X.weight_ih (2D, D), .weight_hh (2D, D/2), .bias_ih, .bias_hh (2D) for X = forward, reverse,
                                  rows as in torch.nn.LSTM; hidden.weight, output.weight (D, D), .bias (D)
  ids, lengths                of the words of the first batch: all units one word after the other (int64), units of each word (int64)
  words (B)                   number of each row's word (int64); equal in rows of the same word
  targets (B, D)              float, not normalized; equal in rows of the same word
  second/ids, ...             these four of the second batch
  vectors (B, D)              of the first batch, before training
  end_vectors (5, D)          of the second batch, after training
  losses (10)                 of each step; losses[0] is that of the gradients
love.safetensors also has the functions by themselves:
  raw (B, D)                  float, productions that are not unit vectors, to be compared with targets and words
  raw/LOSS (1)                each loss; align_uniform/0.3: with lambda 0.3, nt_xent/0.5: with tau 0.5
  raw/LOSS/gradient (B, D)    its gradient for raw
  standardize/x, y, dy, dx    (4, D); the last row of x is constant: there the derivative of std is 0, and dx = (dy - mean(dy)) / 1e-6
lstm.safetensors has torch.nn.LSTM, bidirectional, over packed sequences: x (N, 5), lengths, the tensors of forward and reverse as above (3
states), y (N, 6) the states of both directions, last (B, 6) the last ones, dy, dlast random, and gradient/P of sum(y dy) + sum(last dlast).
"about" has config: encoder, structure, scale ("quarter", "sqrt" or a number), heads, layers, query_size, size (D), units (V); loss, its name.
"""
import json
import math

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from make_golden import FOLDER, randomize, start

SIZE, UNITS = 12, 21  # 0-5: [PAD], [UNK], [CLS], [SEP], [MASK], [SUB]; then characters, then pieces. 4 and 20 occur nowhere
# (number of the word, its units). Word 0 occurs twice in the first batch and word 5 three times in the second, as corrupted forms
BATCHES = [
    [(0, [2, 6, 7, 8, 5, 14, 3]), (1, [2, 9, 3]), (2, [2, 10, 10, 6, 11, 5, 15, 16, 3]), (0, [2, 7, 6, 8, 8, 5, 14, 3]), (3, [2, 12, 5, 18, 3]),
     (4, [2, 1, 13, 5, 1, 3])],
    [(5, [2, 11, 7, 5, 19, 3]), (5, [2, 7, 11, 5, 17, 3]), (0, [2, 6, 7, 8, 5, 14, 3]), (5, [2, 7, 12, 11, 5, 19, 16, 3]), (6, [2, 13, 3])],
]
STEPS, RATE, DECAY = 10, 2e-3, 0.97
LSTM_KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


# Encoder ---------------------------------------------------------------------------------------------------------------------

def parameter_shapes(encoder, structure="sequential", layers=1, query_size=32, size=SIZE, units=UNITS, **_):
    def linear(name, out, width):
        return {f"{name}.weight": (out, width), f"{name}.bias": (out,)}

    shapes, norm = {"units.weight": (units, size)}, {"norm.weight": (size,), "norm.bias": (size,)}
    if encoder == "attention":
        return shapes | norm
    if encoder == "cnn":
        for w in (3, 4, 5):
            shapes |= linear(f"convolution.{w}", size, w * size)
        return shapes | linear("output", size, 3 * size)
    for layer in range(layers):
        if encoder == "rnn":
            for direction in ("forward", "reverse"):
                shapes |= lstm_shapes(f"layer.{layer}.{direction}.", size, size // 2)
        else:
            for part, out, width in (("position", size, size), ("query", query_size, size), ("key", query_size, size),
                                     ("output", size, size * (2 if structure == "merge" else 1))):
                shapes |= linear(f"layer.{layer}.{part}", out, width)
    return shapes | (linear("hidden", size, size) | linear("output", size, size) if encoder == "rnn" else norm)


def lstm_shapes(prefix, width, states):
    return {f"{prefix}{kind}": shape for kind, shape in zip(LSTM_KINDS, ((4 * states, width), (4 * states, states), (4 * states,), (4 * states,)))}


def scale(kind, head_size):
    return {"quarter": head_size**0.25, "sqrt": head_size**0.5}.get(kind, kind)


def position_scores(n, head_size, kind):
    """P P^T / s, P[t, 2i] = sin(t / 10000^(2i / d)), P[t, 2i + 1] = cos of the same."""
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, head_size, 2) / head_size)
    p = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
    return p @ p.T / scale(kind, head_size)


def standardize(x):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, unbiased=True) + 1e-6)


class Love:
    """A table of units; `pooled` of a subclass makes vectors of its rows."""

    def __init__(self, w, config):
        # margin: the smallest |z| of all relu(z), and the smallest lead of all maxima, so that rounding decides none
        self.w, self.c, self.margin = w, config, math.inf

    def __call__(self, words, padding=0):
        """The unit vectors of words, lists of ids; padding: additional units of padding."""
        ids = F.pad(torch.nn.utils.rnn.pad_sequence([torch.tensor(i) for i in words], True), (0, padding))
        self.real = torch.arange(ids.shape[1]) < torch.tensor([len(i) for i in words])[:, None]
        return F.normalize(self.pooled(self.w["units.weight"][ids]))

    def linear(self, x, name):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def relu(self, z):
        self.margin = min(self.margin, z[self.real].abs().min().item() if z.dim() == 3 else z.abs().min().item())
        return torch.relu(z)

    def split(self, x):
        """(B, n, H d) -> (B, H, n, d)."""
        return x.unflatten(2, (self.c["heads"], -1)).transpose(1, 2)

    def mix(self, scores, values):
        """Each head's values (contiguous columns) with the softmax of its scores over the units that are not padding."""
        scores = scores.masked_fill(~self.real[:, None, None, :], -math.inf)
        return (torch.softmax(scores, -1) @ self.split(values)).transpose(1, 2).flatten(2)

    def add_normed(self, x, mixed):
        return x + standardize(mixed) * self.w["norm.weight"] + self.w["norm.bias"]

    def max_pool(self, x):
        """The maximum over the units of each word. Equal numbers are those of equal units, which have the same gradient."""
        best, _ = x.masked_fill(~self.real[:, :, None], -math.inf).max(1)
        behind = (best[:, None, :] - x)[self.real]
        self.margin = min(self.margin, behind[behind > 0].min().item())
        return best


class Pam(Love):
    def self_attention(self, layer, x):
        q, k = (self.split(self.relu(self.linear(x, f"layer.{layer}.{part}"))) for part in ("query", "key"))
        return self.mix(q @ k.transpose(2, 3) / scale(self.c["scale"], q.shape[-1]), x)

    def pooled(self, x):
        scores = position_scores(x.shape[1], x.shape[2] // self.c["heads"], self.c["scale"])
        for layer in range(self.c["layers"]):
            u = self.relu(self.linear(self.mix(scores, x), f"layer.{layer}.position"))
            joined = torch.cat([self.self_attention(layer, x), u], 2) if self.c["structure"] == "merge" else self.self_attention(layer, u)
            x = self.add_normed(x, self.relu(self.linear(joined, f"layer.{layer}.output")))
        return (x * self.real[:, :, None]).sum(1)


class Attention(Love):
    def pooled(self, x):
        for _ in range(self.c["layers"]):
            heads = self.split(x)
            x = self.add_normed(x, self.mix(heads @ heads.transpose(2, 3) / scale(self.c["scale"], heads.shape[-1]), x))
        return self.max_pool(x)


class Cnn(Love):
    def pooled(self, x):
        """Convolutions as in torch.nn.Conv1d; a window begins at each unit and has zeros beyond its word."""
        x, parts = x * self.real[:, :, None], []
        for w in (3, 4, 5):
            kernel = self.w[f"convolution.{w}.weight"].unflatten(1, (w, -1)).transpose(1, 2)
            z = F.conv1d(F.pad(x.transpose(1, 2), (0, w - 1)), kernel, self.w[f"convolution.{w}.bias"]).transpose(1, 2)
            parts.append(self.max_pool(self.relu(z)))
        return self.linear(torch.cat(parts, 1), "output")


class Rnn(Love):
    def __init__(self, w, config):
        super().__init__(w, config)
        self.lstm = lstm_of(w, lambda layer, direction: f"layer.{layer}.{direction}.", config["layers"])

    def pooled(self, x):
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, self.real.sum(1), True, enforce_sorted=False)
        _, (last, _) = self.lstm(packed)
        return self.linear(torch.tanh(self.linear(torch.cat([last[-2], last[-1]], 1), "hidden")), "output")


def lstm_of(w, prefix, layers=1):
    """torch.nn.LSTM, bidirectional, with the parameters of w."""
    shape = w[prefix(0, "forward") + "weight_ih"].shape
    lstm = torch.nn.LSTM(shape[1], shape[0] // 4, layers, batch_first=True, bidirectional=True)
    for layer in range(layers):
        for direction, suffix in (("forward", ""), ("reverse", "_reverse")):
            for kind in LSTM_KINDS:
                setattr(lstm, f"{kind}_l{layer}{suffix}", w[prefix(layer, direction) + kind])
    return lstm


ENCODERS = dict(pam=Pam, attention=Attention, cnn=Cnn, rnn=Rnn)


# Losses of targets t and productions x, (B, D) ------------------------------------------------------------------------------

def nt_xent(t, x, words, tau=0.07):
    z, words = F.normalize(torch.cat([t, x])), torch.cat([words, words])
    n = len(z)
    positive = torch.arange(n).roll(n // 2)  # the other row of the pair
    counted = (words[:, None] != words[None, :]).scatter(1, positive[:, None], True)  # neither itself nor other rows of its word
    return F.cross_entropy((z @ z.T / tau).masked_fill(~counted, -math.inf), positive)


def uniformity(x):
    return torch.exp(-2 * torch.pdist(x) ** 2).mean().log()


def align_uniform(t, x, words, weight=1.0):
    """U counts all pairs of rows, those of the same word, too; pdist has no gradient of 0 distances, where it is 0 anyway."""
    t, x = F.normalize(t), F.normalize(x)
    return ((t - x) ** 2).sum(1).mean() + weight * (uniformity(t) + uniformity(x)) / 2


LOSSES = {"nt_xent": nt_xent, "align_uniform": align_uniform, "mse": lambda t, x, words: F.mse_loss(x, t),
          "euclidean": lambda t, x, words: (t - x).norm(dim=1).mean(), "cosine": lambda t, x, words: (1 - F.cosine_similarity(t, x)).mean()}


# Files -----------------------------------------------------------------------------------------------------------------------

def rows(batch):
    """Words' numbers and targets; the targets, drawn once for all files, have lengths from about 1 to 3."""
    words = torch.tensor([number for number, _ in batch])
    targets = torch.randn(7, SIZE, generator=torch.Generator().manual_seed(23)) * torch.linspace(0.3, 0.9, 7)[:, None]
    return words, targets.float().double()[words]


def functions():
    """The losses and standardize by themselves."""
    torch.manual_seed(41)
    words, targets = rows(BATCHES[0])
    raw = (0.7 * torch.randn(len(words), SIZE)).float().double().requires_grad_()
    out = {"raw": raw.float()}
    more = {"nt_xent/0.5": lambda *a: nt_xent(*a, tau=0.5), "align_uniform/0.3": lambda *a: align_uniform(*a, weight=0.3)}
    for name, loss in (LOSSES | more).items():
        value = loss(targets, raw, words)
        out |= {f"raw/{name}": value[None], f"raw/{name}/gradient": torch.autograd.grad(value, raw)[0]}
    x = torch.cat([torch.randn(3, SIZE), torch.full((1, SIZE), 0.5)]).float().double().requires_grad_()
    y, dy = standardize(x), torch.randn(4, SIZE).float().double()
    dx, = torch.autograd.grad(y, x, dy)
    assert torch.equal(y[3], torch.zeros(SIZE)) and (dx[3] * 1e-6 - (dy[3] - dy[3].mean())).abs().max() < 1e-12
    return out | {f"standardize/{name}": value for name, value in (("x", x), ("y", y), ("dy", dy), ("dx", dx))}


def lstm():
    torch.manual_seed(5)
    shapes = {k: s for direction in ("forward", "reverse") for k, s in lstm_shapes(direction + ".", 5, 3).items()}
    w = {n: torch.nn.Parameter(torch.randn(s).float().double()) for n, s in shapes.items()}
    lengths = [4, 1, 7, 2, 7]
    w["x"] = x = torch.randn(sum(lengths), 5).float().double().requires_grad_()
    packed = torch.nn.utils.rnn.pack_sequence(x.split(lengths), enforce_sorted=False)
    states, (last, _) = lstm_of(w, lambda _, direction: direction + ".")(packed)
    y = torch.cat(torch.nn.utils.rnn.unpack_sequence(states))
    last = torch.cat([last[0], last[1]], 1)
    dy, dlast = torch.randn(y.shape).float().double(), torch.randn(last.shape).float().double()
    gradients = torch.autograd.grad((y * dy).sum() + (last * dlast).sum(), list(w.values()))
    tensors = w | dict(lengths=torch.tensor(lengths), y=y, last=last, dy=dy, dlast=dlast)
    tensors |= {f"gradient/{n}": g for n, g in zip(w, gradients)}
    save_file({n: t.detach().contiguous() for n, t in tensors.items()}, FOLDER / "lstm.safetensors")


def love(name, loss, seed, encoder="pam", structure="sequential", scale="quarter", heads=1, layers=1, query_size=4, extra=None):
    config = dict(encoder=encoder, structure=structure, scale=scale, heads=heads, layers=layers, query_size=query_size, size=SIZE, units=UNITS)
    torch.manual_seed(seed)
    w = {n: torch.nn.Parameter(torch.empty(s)) for n, s in parameter_shapes(**config).items()}
    randomize(w)
    for n, p in w.items():  # so that self-attention matters
        p.data *= 2 if ".query." in n or ".key." in n else 1
    model = ENCODERS[encoder](w, config)
    units = [[ids for _, ids in batch] for batch in BATCHES]
    tensors = {n: p.detach().clone() for n, p in start(w).items()}
    for prefix, batch in zip(("", "second/"), BATCHES):
        words, targets = rows(batch)
        tensors |= {prefix + "ids": torch.tensor(sum([ids for _, ids in batch], [])), prefix + "words": words,
                    prefix + "lengths": torch.tensor([len(ids) for _, ids in batch]), prefix + "targets": targets.float()}
    tensors["vectors"] = model(units[0])
    check_encoder(model, units[0], tensors["vectors"], loss)

    optimizer = torch.optim.Adam(w.values(), lr=RATE, betas=(0.9, 0.999), eps=1e-8)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, DECAY)
    losses = []
    for k in range(STEPS):
        optimizer.zero_grad()
        words, targets = rows(BATCHES[k % 2])
        value = LOSSES[loss](targets, model(units[k % 2]), words)
        value.backward()
        if k == 0:
            tensors |= {f"gradient/{n}": p.grad.clone() for n, p in w.items()}
        losses.append(value.detach())
        optimizer.step()
        scheduler.step()
    tensors |= {f"end/{n}": p for n, p in w.items()} | {"losses": torch.stack(losses), "end_vectors": model(units[1])} | (extra or {})

    assert model.margin > 1e-6, (name, model.margin)
    assert losses[-1] < losses[1] and losses[-2] < losses[0]  # the last and the first step of each batch
    for n, p in w.items():  # each parameter matters, and no element by rounding alone, which the seed ensures
        g = tensors[f"gradient/{n}"].abs()
        assert g.max() > 1e-4 and g[g > 0].min() > 1e-10, (name, n, g)
    for unit in (0, 4, 20):
        assert tensors["gradient/units.weight"][unit].abs().max() == 0
        assert torch.equal(w["units.weight"][unit], tensors["start/units.weight"][unit].double())
    save_file({n: t.detach().contiguous() for n, t in tensors.items()}, FOLDER / f"{name}.safetensors",
              metadata={"about": json.dumps(dict(config=config, loss=loss))})


# Checks ----------------------------------------------------------------------------------------------------------------------

def check_encoder(model, units, vectors, loss):
    """Unit norms; neither other words, nor their order, nor padding changes a vector; the order of the rows changes no loss."""
    close = lambda a, b: (a - b).abs().max() < 1e-13
    words, targets = rows(BATCHES[0])
    order = torch.tensor([3, 5, 0, 2, 4, 1])
    assert close(vectors.norm(dim=1), 1)
    assert close(torch.cat([model([ids]) for ids in units]), vectors)
    assert close(model([units[i] for i in order]), vectors[order])
    assert close(model(units, padding=4), vectors)
    assert close(LOSSES[loss](targets[order], vectors[order], words[order]), LOSSES[loss](targets, vectors, words))


def check():
    """What the paper, the released model and the formulas say."""
    for size, kind, expected in ((300, "quarter", (.554, .205, .017, .001)), (300, "sqrt", (.207, .163, .089, .045)),
                                 (384, "quarter", (.608, .186, .010, .000))):
        p = torch.softmax(position_scores(16, size, kind), -1)
        for offset, value in enumerate(expected):
            assert abs(p[8, 8 + offset] - value) < 5e-4 and abs(p[8, 8 - offset] - value) < 5e-4, (size, kind, offset, p[8])
    for size, table, counts in ((300, 6377100, dict(sequential=200464, merge=290464)), (384, 8162688, dict(sequential=321088, merge=468544))):
        for structure, count in counts.items():
            sizes = {n: math.prod(s) for n, s in parameter_shapes("pam", structure, size=size, units=21257).items()}
            assert sizes.pop("units.weight") == table and sum(sizes.values()) == count
    for b in (1, 2, 6):
        met, numbers = torch.eye(b, SIZE), torch.arange(b)
        assert abs(nt_xent(met, 3 * met, numbers) - math.log1p((2 * b - 2) * math.exp(-1 / 0.07))) < 1e-14
        # all rows twice: none of an anchor's own word is added, but each other word counts twice
        twice = nt_xent(torch.cat([met, met]), torch.cat([met, met]), torch.cat([numbers, numbers]))
        assert abs(twice - math.log1p(2 * (2 * b - 2) * math.exp(-1 / 0.07))) < 1e-14
    assert abs(uniformity(torch.eye(2, SIZE)) + 4) < 1e-14
    assert abs(align_uniform(torch.eye(2, SIZE), torch.eye(2, SIZE), None, 0.5) + 2) < 1e-14
    # the sum over anchors, term by term
    torch.manual_seed(1)
    (words, t), x, total = rows(BATCHES[0]), torch.randn(6, SIZE), 0
    z = [v / v.norm() for v in [*t, *x]]
    for a in range(12):
        terms = {k: math.exp(z[a] @ z[k] / 0.07) for k in range(12) if k == (a + 6) % 12 or words[k % 6] != words[a % 6]}
        total -= math.log(terms[(a + 6) % 12] / sum(terms.values()))
    assert abs(total / 12 - nt_xent(t, x, words)) < 1e-12


def main():
    check()
    love("love", "nt_xent", 2, extra=functions())
    love("love_sqrt", "align_uniform", 26, scale="sqrt", query_size=8)
    love("love_number", "mse", 44, scale=1.7, heads=2)
    love("love_layers", "euclidean", 194, heads=2, layers=2)
    love("love_merge", "nt_xent", 1, structure="merge", query_size=8)
    love("love_merge_sqrt", "cosine", 1, structure="merge", scale="sqrt", heads=2, query_size=8)
    love("love_merge_number", "align_uniform", 1, structure="merge", scale=2.5, layers=2)
    love("love_merge_layers", "nt_xent", 4, structure="merge", heads=2, layers=2, query_size=8)
    love("love_attention", "nt_xent", 1, encoder="attention")
    love("love_attention_layers", "cosine", 1, encoder="attention", scale="sqrt", heads=3, layers=2)
    love("love_cnn", "nt_xent", 1, encoder="cnn")
    love("love_rnn", "nt_xent", 1, encoder="rnn")
    love("love_rnn_layers", "align_uniform", 1, encoder="rnn", layers=2)
    lstm()


if __name__ == "__main__":
    main()
