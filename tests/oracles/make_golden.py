#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/models/*.safetensors: results of transformers and PyTorch in double for tiny models.

    python3 tests/oracles/make_golden.py

Needs torch, transformers, tokenizers and safetensors; the tests only read the files. HuggingFace's models get padded
sequences. LEA is implemented here from the paper's formulas, sequence by sequence; without LEA it must equal HuggingFace's BERT.
Names in the files: start/, gradient/, end/ + parameter; the functions that write other names explain them.
"""
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import BertWordPieceTokenizer
from torch.nn import functional as F
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel
from transformers import ElectraConfig, ElectraForSequenceClassification
from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup
from transformers.activations import ACT2FN

FOLDER = Path(__file__).resolve().parents[2] / "tests/golden/models"
TINY = dict(vocab_size=31, hidden_size=9, num_hidden_layers=2, num_attention_heads=3, intermediate_size=11, max_position_embeddings=24,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager")
# AdamW divides by sqrt(v) + EPS. A key's bias has no effect, so its gradient is rounding error (1e-17): EPS / RATE determines how much it is amplified.
STEPS, RATE, EPS, DECAY, MAX_NORM = 10, 2e-3, 1e-7, 0.03, 1.0
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # for reproducible files


def save(name, tensors, config, **about):
    """All strings as one, since safetensors writes several in random order."""
    tensors = {k: v.detach().clone().contiguous() for k, v in tensors.items()}
    about["config"] = json.loads(config.to_json_string())
    save_file(tensors, FOLDER / f"{name}.safetensors", metadata={"about": json.dumps(about)})


def randomize(parameters):
    """Values that float represents exactly, so that the file needs half the space; large enough that all terms matter."""
    for name, p in parameters.items():
        center = 1.0 if name.endswith(("LayerNorm.weight", "norm.weight")) else 0.0
        p.data = (center + 0.4 * torch.randn(p.shape)).float().double()


def start(parameters):
    return {f"start/{name}": p.float() for name, p in parameters.items()}


def train(parameters, loss_of_step, schedule):
    """Ten steps of AdamW with clipping. Returns the results; the gradients are those of the first step, before clipping."""
    optimizer = torch.optim.AdamW(parameters.values(), lr=RATE, eps=EPS, weight_decay=DECAY)
    scheduler = schedule(optimizer, 3, STEPS + 2)
    losses, norms, gradients = [], [], {}
    for k in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of_step(k)
        loss.backward()
        if k == 0:
            gradients = {f"gradient/{name}": p.grad.clone() for name, p in parameters.items()}
        losses.append(loss.detach())
        norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), MAX_NORM))
        optimizer.step()
        scheduler.step()
    end = {f"end/{name}": p for name, p in parameters.items()}
    return {"losses": torch.stack(losses), "norms": torch.stack(norms)}, gradients, end


# HuggingFace's models -------------------------------------------------------------------------------------------------------

def sequences(lengths):
    """Ids (0 is the padding) and types of concatenated sequences."""
    ids = [torch.randint(5, TINY["vocab_size"], (n,)) for n in lengths]
    types = [(torch.arange(n) > n // 2).long() for n in lengths]
    return ids, types


def padded(ids, types):
    pad = torch.nn.utils.rnn.pad_sequence
    return dict(input_ids=pad(ids, True), token_type_ids=pad(types, True),
                attention_mask=pad([torch.ones_like(i) for i in ids], True))


def ragged(x, lengths):
    return torch.cat([x[s, :n] for s, n in enumerate(lengths)])


def ragged_pairs(p, lengths):
    """(B, H, n, n) -> (H, P): the concatenated n x n blocks of the sequences."""
    return torch.cat([p[s, :, :n, :n].flatten(1) for s, n in enumerate(lengths)], 1)


def batch_tensors(ids, types, lengths, labels=None):
    out = {"ids": torch.cat(ids), "types": torch.cat(types), "lengths": torch.tensor(lengths)}
    return out if labels is None else {**out, "labels": labels}


def encoder():
    """hidden/K: embeddings and each layer; probabilities/K: of layer K; ACTIVATION/hidden/2 with another hidden_act."""
    lengths = [7, 1, 12, 3, 5]
    ids, types = sequences(lengths)
    config = BertConfig(**TINY)
    model = BertModel(config, add_pooling_layer=False).eval()
    parameters = {f"bert.{n}": p for n, p in model.named_parameters()}
    randomize(parameters)
    tensors = {**start(parameters), **batch_tensors(ids, types, lengths)}
    for activation in ("gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "tanh"):
        other = BertModel(BertConfig(**TINY, hidden_act=activation), add_pooling_layer=False).eval()
        other.load_state_dict(model.state_dict())
        y = other(**padded(ids, types), output_hidden_states=True, output_attentions=True)
        if activation == "gelu":
            tensors |= {f"hidden/{k}": ragged(h, lengths) for k, h in enumerate(y.hidden_states)}
            tensors |= {f"probabilities/{k}": ragged_pairs(p, lengths) for k, p in enumerate(y.attentions)}
        tensors[f"{activation}/hidden/2"] = ragged(y.last_hidden_state, lengths)
        x = torch.linspace(-9, 9, 181).requires_grad_()
        value = ACT2FN[activation](x)
        tensors |= {"x": x, f"{activation}/y": value, f"{activation}/dx": torch.autograd.grad(value.sum(), x)[0]}
    save("encoder", tensors, config=config)


def classification(name, model, labels, schedule):
    """logits: before training; losses, norms: of each of the ten steps; end_logits: after them."""
    lengths = [6, 9, 2, 4]
    ids, types = sequences(lengths)
    parameters = dict(model.named_parameters())
    randomize(parameters)
    labels = torch.tensor(labels)
    first = start(parameters)
    forward = lambda: model(**padded(ids, types)).logits
    logits = forward()
    run, gradients, end = train(parameters, lambda k: F.cross_entropy(forward(), labels), schedule)
    save(name, {**first, **batch_tensors(ids, types, lengths, labels), "logits": logits, **run, **gradients, **end, "end_logits": forward()},
         config=model.config)


def masked_lm():
    """positions, labels: rows in the concatenated tokens and the original ids; logits: of these rows, before training."""
    torch.manual_seed(5)
    lengths = [6, 9, 2, 4]
    ids, types = sequences(lengths)
    model = BertForMaskedLM(BertConfig(**TINY))
    parameters = dict(model.named_parameters())
    randomize(parameters)
    positions, every_label = torch.tensor([0, 3, 4, 8, 14, 16, 17, 20]), torch.full((sum(lengths),), -100)
    labels = every_label[positions] = torch.randint(TINY["vocab_size"], positions.shape)
    padded_labels = torch.nn.utils.rnn.pad_sequence(every_label.split(lengths), True, -100)
    first = start(parameters)
    forward = lambda: model(**padded(ids, types), labels=padded_labels)
    logits = ragged(forward().logits, lengths)[positions]
    run, gradients, end = train(parameters, lambda k: forward().loss, get_linear_schedule_with_warmup)
    save("masked_lm", {**first, **batch_tensors(ids, types, lengths, labels), "positions": positions, "logits": logits, **run, **gradients,
                       **end}, config=model.config)


# LEA ------------------------------------------------------------------------------------------------------------------------

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "black", "bl", "##k", "##ack", "cyber", "-", "shot", "son", "##y", "pana",
              "##sonic", "screen", "sc", "##reen", "##s", "case", "for", "mac", "##book", "7", ".", "2", "silent", "listen", "a", "##e"]
PAIRS = [("Sony black cyber-shot 7.2", "sony blk cyber-shot"), ("screen", "case for macbook"), ("silent", "listen 2"),
         ("panasonic case", "Sony kase screen"), ("a black screen for a case", "blacks creen"), ("for", "for"),
         ("unknown words here", "other words"), ("blk macbook 7", "black macbooks 7.2 listen")]
LABELS = [1, 0, 0, 0, 1, 1, 0, 1]
FIRST = 5  # pairs of the first batch; the others are the second batch. alpha is measured on the first


def tokenized():
    tokenizer = BertWordPieceTokenizer(vocab={w: i for i, w in enumerate(VOCABULARY)}, lowercase=True)
    return [tokenizer.encode(*pair) for pair in PAIRS]


def jaccard(a, b):
    return Fraction(len(set(a) & set(b)), len(set(a) | set(b)))


def similarities(e, pair, levels, within):
    """s of each pair of tokens; levels > 0: rounded to the nearest level, ties to the lower."""
    words = {}
    for i, w in enumerate(e.word_ids):
        if w is not None:
            words.setdefault((e.type_ids[i], w), []).append(e.offsets[i])
    # The text of a word is that of the input, so that unknown words differ.
    text = {k: pair[k[0]][places[0][0]:places[-1][1]].lower() for k, places in words.items()}
    n = len(e.ids)
    s = torch.zeros(n, n)
    for i in range(n):
        for j in range(n):
            a, b = (e.type_ids[i], e.word_ids[i]), (e.type_ids[j], e.word_ids[j])
            if a in text and b in text and (within or a[0] != b[0]):
                exact = jaccard(text[a], text[b])
                s[i, j] = float(exact)
                if levels:
                    s[i, j] = min(range(levels), key=lambda k: abs(Fraction(k, levels - 1) - exact)) / (levels - 1)
    return s


def philox_mask(p, seed, step, site, begin, shape):
    """The dropout mask of elements begin, begin + 1, ...: 16 random bits each, kept when they are >= round(p 2^16)."""
    elements = np.arange(begin, begin + math.prod(shape), dtype=np.uint64)
    c = [elements >> np.uint64(3), np.zeros_like(elements), np.full_like(elements, step), np.full_like(elements, site)]
    key, low = [seed, 0], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(key[0]), b & low, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(key[1]), a & low]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    place = (elements % np.uint64(8)).astype(int)
    word = np.stack(c)[place // 2, np.arange(len(place))]
    bits = (word >> (np.uint64(16) * (place % 2).astype(np.uint64))) & np.uint64(0xFFFF)
    limit = round(p * 65536)
    return torch.tensor((bits >= limit) / (1 - limit / 65536)).reshape(shape)


class CrossEncoder:
    """BERT with LEA and the paper's head, as plain formulas over a dictionary of parameters w."""

    def __init__(self, w, config, lea=None):
        self.w, self.c, self.lea, self.alpha = w, config, lea, {}

    def linear(self, x, name):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def norm(self, x, name, eps=1e-12):
        z = x - x.mean(-1, keepdim=True)
        return z / ((z * z).mean(-1, keepdim=True) + eps).sqrt() * self.w[name + ".weight"] + self.w[name + ".bias"]

    def represent(self, s):
        """l(s), eq. 7 and 8: (n, n) -> (n, n, E)."""
        if self.lea["representation"] == "learned":
            return self.w[f"lexformer.encoder.layer.{self.lea['layers'][0]}.lea.levels"][(s * (self.lea["levels"] - 1)).round().long()]
        size = self.lea["dimension"]
        w = torch.tensor([10000 ** (-2 * p / size) for p in range(size // 2)]) * (2 * math.pi if self.lea["representation"] == "scaled" else 1)
        return torch.cat([torch.sin(s[..., None] * w), torch.cos(s[..., None] * w)], -1)

    def bias(self, layer, similarity):
        """l(s_ij) . w_h of each sequence, without alpha: (H, n, n)."""
        owner = self.lea["layers"][0] if self.lea["sharing"] == "model" else layer
        w = self.w[f"lexformer.encoder.layer.{owner}.lea.projection"].expand(self.c.num_attention_heads, -1)
        return [torch.einsum("ije,he->hij", self.represent(s), w) for s in similarity]

    def measure(self, q, k, bias, similarity):
        if self.lea["alpha"] == "constant":
            return self.lea["alpha_value"]
        if self.lea["alpha"] == "query":  # mean over sequences, heads and rows of the row's largest q.q
            return torch.cat([(a @ a.transpose(1, 2)).max(-1).values.flatten() for a in q]).mean().item()
        cells = [s > 0 for s in similarity]
        semantic = torch.cat([(a @ b.transpose(1, 2) / math.sqrt(a.shape[-1]))[:, m].flatten() for a, b, m in zip(q, k, cells)])
        lexical = torch.cat([b[:, m].flatten() for b, m in zip(bias, cells)])
        return (semantic.std(unbiased=False) / lexical.std(unbiased=False)).item()

    def embed(self, e):
        table = lambda name: self.w[f"bert.embeddings.{name}_embeddings.weight"]
        return table("word")[e.ids] + table("token_type")[e.type_ids] + table("position")[:len(e.ids)]

    def biases(self, layer, q, k, similarity):
        """What is added to the scores of each sequence, (H, n, n)."""
        if not (self.lea and layer in self.lea["layers"]):
            return [torch.zeros(()) for _ in q]
        bias = self.bias(layer, similarity)
        if layer not in self.alpha:
            self.alpha[layer] = self.measure(q, k, bias, similarity)
        return [self.alpha[layer] * b for b in bias]

    def attend(self, layer, q, k, v, similarity, drop):
        """The context of each sequence, (n, D), of q, k, v (H, n, d). drop(p, i): dropout of the probabilities of sequence i."""
        context = []
        for i, bias in enumerate(self.biases(layer, q, k, similarity)):
            p = drop(torch.softmax(q[i] @ k[i].transpose(1, 2) / math.sqrt(q[i].shape[-1]) + bias, -1), i)
            context.append((p @ v[i]).transpose(0, 1).flatten(1))
        return context

    def head(self, xs, drop):
        pooled = torch.stack([x.mean(0) for x in xs])
        head = self.norm(self.linear(pooled, "lexformer.head.dense"), "lexformer.head.norm", 1e-5)
        return self.linear(F.gelu(drop(head, 0.1, 0x10000, 0)), "lexformer.head.out")

    def __call__(self, batch, similarity=None, step=None):
        """Logits of a list of encodings. step: with dropout, drawn with seed 5."""
        c, heads = self.c, self.c.num_attention_heads
        lengths = [len(e.ids) for e in batch]
        tokens, cells = np.cumsum([0, *lengths]), np.cumsum([0, *(n * n for n in lengths)])

        def drop(x, p, site, begin):
            return x if step is None else x * philox_mask(p, 5, step, site, int(begin), x.shape)

        def drop_rows(xs, p, site):
            return [drop(x, p, site, tokens[i] * x.shape[1]) for i, x in enumerate(xs)]

        def drop_cells(p, i):  # of sequence i, (H, n, n)
            return torch.stack([drop(p[h], c.attention_probs_dropout_prob, site, h * cells[-1] + cells[i]) for h in range(heads)])

        xs = drop_rows([self.norm(self.embed(e), "bert.embeddings.LayerNorm") for e in batch], c.hidden_dropout_prob, 0)
        for layer in range(c.num_hidden_layers):
            here, site = f"bert.encoder.layer.{layer}.", 0x100 + 8 * layer
            q, k, v = ([self.linear(x, f"{here}attention.self.{part}").unflatten(1, (heads, -1)).transpose(0, 1) for x in xs]
                       for part in ("query", "key", "value"))
            context = self.attend(layer, q, k, v, similarity, drop_cells)
            out = drop_rows([self.linear(x, here + "attention.output.dense") for x in context], c.hidden_dropout_prob, site + 1)
            xs = [self.norm(x + y, here + "attention.output.LayerNorm") for x, y in zip(xs, out)]
            inner = [F.gelu(self.linear(x, here + "intermediate.dense")) for x in xs]
            out = drop_rows([self.linear(x, here + "output.dense") for x in inner], c.hidden_dropout_prob, site + 2)
            xs = [self.norm(x + y, here + "output.LayerNorm") for x, y in zip(xs, out)]
        self.hidden = xs
        return self.head(xs, drop)


def check_against_huggingface(parameters, config, encodings):
    model = BertModel(config, add_pooling_layer=False).eval()
    model.load_state_dict({n.removeprefix("bert."): p for n, p in parameters.items() if n.startswith("bert.")})
    own = CrossEncoder(parameters, config)
    own(encodings)
    ids, types = [torch.tensor(e.ids) for e in encodings], [torch.tensor(e.type_ids) for e in encodings]
    theirs = ragged(model(**padded(ids, types)).last_hidden_state, [len(i) for i in ids])
    assert (torch.cat(own.hidden) - theirs).abs().max() < 1e-12


def lea(name, full=False, dropout=False, **options):
    """The parameters: start/ in lea.safetensors, with gradients and end; each other file has the start of its terms, the
    gradients without the head's, and the losses, which depend on all others. alpha/LAYER; similarity: of the first batch, ragged."""
    options = dict(sharing="head", representation="scaled", dimension=8, levels=0, alpha="query", alpha_value=1.0, layers=[1],
                   within=False) | options
    config = BertConfig(**{**TINY, **(dict(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3) if dropout else {})})
    encodings = tokenized()
    torch.manual_seed(11)
    shapes = {n: p.shape for n, p in BertModel(config, add_pooling_layer=False).named_parameters()}
    shapes = {f"bert.{n}": s for n, s in shapes.items()}
    shapes |= {"lexformer.head.dense.weight": (256, 9), "lexformer.head.dense.bias": (256,), "lexformer.head.norm.weight": (256,),
               "lexformer.head.norm.bias": (256,), "lexformer.head.out.weight": (2, 256), "lexformer.head.out.bias": (2,)}
    common = len(shapes)
    for layer in options["layers"][:1 if options["sharing"] == "model" else None]:
        here = f"lexformer.encoder.layer.{layer}.lea."
        shapes[here + "projection"] = (3 if options["sharing"] == "head" else 1, options["dimension"])
        if options["representation"] == "learned":
            shapes[here + "levels"] = (options["levels"], options["dimension"])
    w = {n: torch.empty(s, requires_grad=True) for n, s in shapes.items()}
    randomize(w)
    check_against_huggingface(w, config, encodings)
    model = CrossEncoder(w, config, options)
    similarity = [similarities(e, pair, options["levels"], options["within"]) for e, pair in zip(encodings, PAIRS)]
    batches = [slice(0, FIRST), slice(FIRST, None)]
    labels = torch.tensor(LABELS)

    def logits(batch, step=None):
        return model(encodings[batch], similarity[batch], step)

    before = start(w if full else dict(list(w.items())[common:]))
    first = logits(batches[0], 0 if dropout else None)
    run, gradients, end = train(w, lambda k: F.cross_entropy(logits(batches[k % 2], k if dropout else None), labels[batches[k % 2]]),
                                get_cosine_schedule_with_warmup)
    tensors = {**before, **run, **gradients, **end, "logits": first, "end_logits": logits(batches[1]),
               "similarity": torch.cat([s.flatten() for s in similarity[batches[0]]]),
               "ids": torch.tensor(sum([e.ids for e in encodings], []))}
    tensors |= {f"alpha/{layer}": torch.tensor([a]) for layer, a in model.alpha.items()}
    if not full:
        tensors = {n: t for n, t in tensors.items() if not n.startswith(("end/", "gradient/lexformer.head"))}
    options["first_layer"], options["last_layer"] = options["layers"][0], options["layers"][-1] + 1
    save(name, tensors, config=config, lea=options, vocabulary=VOCABULARY, pairs=PAIRS, labels=LABELS,
         first_batch=FIRST, dropout=dropout)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(3)
    encoder()
    classification("bert_2_labels", BertForSequenceClassification(BertConfig(**TINY, num_labels=2)), [1, 0, 1, 1], get_cosine_schedule_with_warmup)
    classification("bert_3_labels", BertForSequenceClassification(BertConfig(**TINY, num_labels=3, hidden_act="gelu_new")), [2, 0, 1, 2],
                   get_linear_schedule_with_warmup)
    classification("electra", ElectraForSequenceClassification(ElectraConfig(**TINY, embedding_size=5, num_labels=2)), [0, 1, 1, 0],
                   get_linear_schedule_with_warmup)
    lea("lea", full=True)
    lea("lea_dropout", dropout=True)
    lea("lea_layer", sharing="layer", layers=[0, 1])
    lea("lea_model", sharing="model", layers=[0, 1])
    lea("lea_learned", representation="learned", levels=6)
    lea("lea_learned_model", representation="learned", levels=4, sharing="model", layers=[0, 1])
    lea("lea_quantised", representation="plain", levels=11, layers=[0])
    lea("lea_magnitude", alpha="magnitude", layers=[0, 1])
    lea("lea_constant", alpha="constant", alpha_value=0.7, within=True)
    masked_lm()


if __name__ == "__main__":
    main()
