#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes dafa*.safetensors, uerbert.safetensors, syntax.safetensors in tests/golden/models: models with DAFA, UERBERT, Syntax-BERT in double.

    python3 tests/oracles/make_golden_dafa.py

Needs torch, transformers, tokenizers and safetensors. The models are written here from the papers' formulas; the matrices come from
tests/oracles/dafa_oracle.py. With gates of ones, or masks that allow everything, they must equal plain BERT, which must equal HuggingFace's.

All files share pairs, labels (3 classes), vocabulary, the model without terms and HuggingFace's head: start/ in dafa.safetensors.
Each other file has start/ and end/ of the parameters that it alone has, gradient/ of all. Steps 0, 2, ... take the first batch,
steps 1, 3, ... the second. dafa_terms.safetensors has relative keys, which replace the position embeddings, and LEA. The other names:
  logits, end_logits    of the first batch before training, of the second after it
  losses, norms         of each of the ten steps; norms of all gradients before clipping
  gate                  per pair of tokens, the n x n blocks of all examples one after the other; codes: the same, Syntax-BERT's masks as bits
  M, S, MF              DAFA's matrices, left words x right words, of all examples one after the other; left, right: the words' weights.
                        These and gate are left out where they are those of dafa.safetensors
  similarity            UERBERT's, as M; of BERT's words, which "about" lists
  I/g, I/f (N, heads)   of layer I, first batch, before training: fusion gate (eq. 8), filter gate (eq. 9); ones without that gate
  I/sem, I/dep (N, D)   the same of Sem and Dep, in dafa.safetensors
"about" has the model's config, the term's options, the pairs with trees, the documents of tf-idf.
"""
import json
import math

import torch
from safetensors.torch import load_file
from tokenizers import BertWordPieceTokenizer
from torch.nn import functional as F
from transformers import BertConfig, BertModel, get_cosine_schedule_with_warmup

import dafa_oracle as oracle
from make_golden import FOLDER, TINY, CrossEncoder, check_against_huggingface, randomize, save, similarities, start, train

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "apple", "company", "exceed", "##ed", "the", "man", "wash", "##es", "a", "car", ",", ".",
              "is", "not", "dog", "chase", "##s", "##d", "red", "-", "blue", "it", "and", "run", "##ning", "bark"]
# (text, its sentences as word/lemma/head/relation). Words of several pieces, unknown words, words of several tokens of BERT
# ("red-blue", "'s"), a word without piece (the second part of "cannot"), two sentences, equal words, a word that no training text has.
EXCEEDED = ("Apple exceeded company", ["Apple/apple/2/nsubj exceeded/exceed/0/root company/company/2/obj"])
SWAPPED = ("company exceeded Apple", ["company/company/2/nsubj exceeded/exceed/0/root Apple/apple/2/obj"])
PAIRS = [
    (EXCEEDED, SWAPPED),
    (("The man washes the car.", ["The/the/2/det man/man/3/nsubj washes/wash/0/root the/the/5/det car/car/3/obj ././3/punct"]),
     ("A man is washing a red car .", ["A/a/2/det man/man/4/nsubj is/be/4/aux washing/wash/0/root a/a/7/det red/red/7/amod car/car/4/obj "
                                       "././4/punct"])),
    (("The dog barks. It runs.", ["The/the/2/det dog/dog/3/nsubj barks/bark/0/root ././3/punct", "It/it/2/nsubj runs/run/0/root ././2/punct"]),
     ("It is a running dog, not a dog.", ["It/it/5/nsubj is/be/5/cop a/a/5/det running/run/5/amod dog/dog/0/root ,/,/9/punct "
                                          "not/not/9/advmod a/a/9/det dog/dog/5/conj ././5/punct"])),
    (("The company's red-blue car", ["The/the/2/det company/company/5/nmod 's/'s/2/case red-blue/red-blue/5/amod car/car/0/root"]),
     ("a red - blue car", ["a/a/5/det red/red/5/amod -/-/2/punct blue/blue/2/conj car/car/0/root"])),
    (("It cannot chase a dog", ["It/it/4/nsubj can/can/4/aux not/not/4/advmod chase/chase/0/root a/a/6/det dog/dog/4/obj"]),
     ("dogs chased it", ["dogs/dog/2/nsubj chased/chase/0/root it/it/2/obj"])),
    (EXCEEDED, EXCEEDED),
    (("Dog", ["Dog/dog/0/root"]), ("the dog", ["the/the/2/det dog/dog/0/root"])),
    (("cats and dogs run", ["cats/cat/4/nsubj and/and/3/cc dogs/dog/1/conj run/run/0/root"]),
     ("the cats chase the dog", ["the/the/2/det cats/cat/3/nsubj chase/chase/0/root the/the/5/det dog/dog/3/obj"])),
]
LABELS = [0, 2, 1, 2, 0, 2, 1, 0]
FIRST = 5  # pairs of the first batch; the others are the second. tf-idf counts the texts of the first batch
TREES = [[oracle.read_text(sentences) for _, sentences in pair] for pair in PAIRS]
DOCUMENTS = oracle.document_counts([t for pair in TREES[:FIRST] for t in pair])
BATCHES = [slice(0, FIRST), slice(FIRST, None)]
TEXTS = [tuple(text for text, _ in pair) for pair in PAIRS]
ENCODINGS = [BertWordPieceTokenizer(vocab={w: i for i, w in enumerate(VOCABULARY)}, lowercase=True).encode(*pair) for pair in TEXTS]
DAFA = dict(theta=2.0, alpha=1.0, nu=0.5, match="form", subgraph="pairs", tfidf="max", expand="ones", score="additive", sharing="shared",
            scope="head", attention_size=3, hidden_size=3, output="literal", without=[], first_layer=0, last_layer=1)


# Tokens and words ------------------------------------------------------------------------------------------------------------

def word_of_character(text, words):
    """The word of each character, None between words."""
    owner, position = [None] * len(text), 0
    for k, word in enumerate(words):
        position = text.index(word, position)
        owner[position:position + len(word)] = [k] * len(word)
        position += len(word)
    return owner


def places(e, texts, words):
    """Of each token: (side, word that holds its first character), or None."""
    owners = [word_of_character(text, w) for text, w in zip(texts, words)]
    return [None if special else (side, owners[side][offset[0]]) for special, side, offset in zip(e.special_tokens_mask, e.type_ids, e.offsets)]


PLACES = [places(e, texts, [t.words for t in trees]) for e, texts, trees in zip(ENCODINGS, TEXTS, TREES)]


def pieces(where, side, count):
    return [sum(place == (side, k) for place in where) for k in range(count)]


def described_pairs():
    return [[{"text": text, "pieces": pieces(where, side, len(tree.words)),
              "sentences": [dict(zip(("words", "lemmas", "heads", "relations"), map(list, zip(*(
                  (w, l, int(h), r) for w, l, h, r in (token.split("/") for token in sentence.split())))))) for sentence in sentences]}
             for side, ((text, sentences), tree) in enumerate(zip(pair, trees))] for pair, trees, where in zip(PAIRS, TREES, PLACES)]


# Models ----------------------------------------------------------------------------------------------------------------------

class Structured(CrossEncoder):
    """BERT with HuggingFace's head; per_example: gates or masks, (n, n)."""

    def __init__(self, w, config, per_example=None, options=None, lea=None):
        super().__init__(w, config, lea)
        self.per_example, self.options, self.seen = per_example, options, {}

    def run(self, batch):
        self.current = self.per_example and self.per_example[batch]
        lexical = self.lea and [similarities(e, pair, 0, False) for e, pair in zip(ENCODINGS[batch], TEXTS[batch])]
        return self(ENCODINGS[batch], lexical)

    def embed(self, e):
        if not hasattr(self.c, "position_embedding_type"):
            return super().embed(e)
        return self.w["bert.embeddings.word_embeddings.weight"][e.ids] + self.w["bert.embeddings.token_type_embeddings.weight"][e.type_ids]

    def head(self, xs, drop):
        return self.linear(torch.tanh(self.linear(torch.stack([x[0] for x in xs]), "bert.pooler.dense")), "classifier")

    def products(self, layer, q, k):
        """(q_i . k_j + q_i . R_(i-j)) / sqrt(d), R if the positions are relative keys; (H, n, n)."""
        y = q @ k.transpose(1, 2)
        if hasattr(self.c, "position_embedding_type"):
            table, n = self.w[f"bert.encoder.layer.{layer}.attention.self.distance_embedding.weight"], q.shape[1]
            distance = torch.arange(n)[:, None] - torch.arange(n)[None, :] + self.c.max_position_embeddings - 1
            y = y + torch.einsum("hid,ijd->hij", q, table[distance])
        return y / math.sqrt(q.shape[-1])


class Relative(Structured):
    def attend(self, layer, q, k, v, similarity, drop):
        return [(torch.softmax(self.products(layer, a, b), -1) @ c).transpose(0, 1).flatten(1) for a, b, c in zip(q, k, v)]


class Uerbert(Structured):
    """The scores of layer 0 times the gate."""

    def attend(self, layer, q, k, v, similarity, drop):
        gates = self.current if layer == 0 else [1.0 for _ in q]
        return [(torch.softmax(self.products(layer, a, b) * g, -1) @ c).transpose(0, 1).flatten(1) for a, b, c, g in zip(q, k, v, gates)]


class Syntax(Structured):
    """sum_k softmax(scores + (0 if allowed, else -1e4)) V / sqrt(m) with m masks."""

    def attend(self, layer, q, k, v, similarity, drop):
        if not self.options["first_layer"] <= layer < self.options["last_layer"]:
            return super().attend(layer, q, k, v, similarity, drop)
        count, context = 2 * self.options["depth"] + 3, []
        for a, b, c, codes in zip(q, k, v, self.current):
            scores, total = self.products(layer, a, b), 0
            for mask in range(count):
                allowed = (codes >> mask) % 2 == 1
                total = total + torch.softmax(scores + torch.where(allowed, 0.0, -1e4), -1) @ c
            context.append((total / math.sqrt(count)).transpose(0, 1).flatten(1))
        return context


def additive_attention(x, given, key, query, bias, score, how):
    """Eq. 7: row i is the mean of the rows x_j with weights softmax_j(w . tanh(K x_j + Q given_i + b)); concat: w . tanh([K x_j ; Q given_i + b])."""
    n = len(x)
    left = (x @ key.T)[None, :, :].expand(n, n, -1)
    right = (given @ query.T + bias)[:, None, :].expand(n, n, -1)
    hidden = torch.tanh(left + right if how == "additive" else torch.cat([left, right], -1))
    return torch.softmax(hidden @ score, 1) @ x


class Dafa(Structured):
    def attend(self, layer, q, k, v, similarity, drop):
        biases, o = self.biases(layer, q, k, similarity), self.options
        context, seen = [], []
        for i, bias in enumerate(biases):
            scores = self.products(layer, q[i], k[i])
            sem = torch.softmax(scores + bias, -1) @ v[i]  # eq. 6
            if not o["first_layer"] <= layer < o["last_layer"]:
                context.append(sem.transpose(0, 1).flatten(1))
                continue
            dep = torch.softmax(scores * self.current[i] + bias, -1) @ v[i]
            if o["scope"] == "merged":
                sem, dep = (x.transpose(0, 1).flatten(1)[None] for x in (sem, dep))
            heads = [self.fuse(layer, h, s, d) for h, (s, d) in enumerate(zip(sem, dep))]
            context.append(torch.cat([y for y, _, _ in heads], 1))
            seen.append([x.transpose(0, 1).flatten(1) for x in (sem, dep)] + [torch.stack([y[part] for y in heads], 1) for part in (1, 2)])
        if seen:
            self.seen[layer] = [torch.cat(parts) for parts in zip(*seen)]
        return context

    def fuse(self, layer, h, s, d):
        """Eq. 7-9 of one head: Sem and Dep (n, d_v) -> context, and the gates g and f of each token (1 where there is none)."""
        o, without, ones = self.options, set(self.options["without"]), torch.ones(len(s))
        if {"cross", "gate", "filter"} <= without:
            return (s + d) / 2, ones, ones
        w = lambda name: self.w[f"lexformer.encoder.layer.{layer}.dafa.{name}"][h if o["sharing"] == "head" else 0]
        d_star, s_star = d, s
        if "cross" not in without:
            d_star = additive_attention(d, s, *(w("dependency." + part) for part in ("key", "query", "bias", "score")), o["score"])
            s_star = additive_attention(s, d_star, *(w("semantic." + part) for part in ("key", "query", "bias", "score")), o["score"])
            if o["score"] == "concat":
                assert (d_star - d_star[0]).abs().max() < 1e-12 and (s_star - s_star[0]).abs().max() < 1e-12
        g = f = ones
        if "gate" in without:
            v = (s_star + d_star) / 2
        else:
            dh = torch.tanh(d_star @ w("gate.dependency").T + w("gate.dependency_bias"))
            sh = torch.tanh(s_star @ w("gate.semantic").T + w("gate.semantic_bias"))
            g = torch.sigmoid(torch.cat([dh, sh], 1) @ w("gate.score"))
            v = g[:, None] * sh + (1 - g)[:, None] * dh
        if "filter" in without:
            return (s + v if o["output"] == "residual" else v), g, f
        f = torch.sigmoid(torch.cat([s, v @ w("filter.value").T + w("filter.value_bias")], 1) @ w("filter.score"))
        y = f[:, None] * torch.tanh(v @ w("output.weight").T + w("output.bias"))
        return (s + y if o["output"] == "residual" else y), g, f


def dafa_shapes(o):
    sizes = {"G": 3 if o["sharing"] == "head" else 1, "a": o["attention_size"], "v": 9 if o["scope"] == "merged" else 3, "h": o["hidden_size"],
             "c": o["attention_size"] * (2 if o["score"] == "concat" else 1), "hh": 2 * o["hidden_size"]}
    sizes["vv"] = 2 * sizes["v"]
    parts = {}
    if "cross" not in o["without"]:
        parts |= {f"{side}.{part}": shape for side in ("dependency", "semantic")
                  for part, shape in (("key", "a v"), ("query", "a v"), ("bias", "a"), ("score", "c"))}
    if "gate" not in o["without"]:
        parts |= {"gate.dependency": "h v", "gate.dependency_bias": "h", "gate.semantic": "h v", "gate.semantic_bias": "h", "gate.score": "hh"}
    if "filter" not in o["without"]:
        parts |= {"filter.value": "v h", "filter.value_bias": "v", "filter.score": "vv", "output.weight": "v h", "output.bias": "v"}
    return {f"lexformer.encoder.layer.{layer}.dafa.{name}": tuple(sizes[x] for x in ("G " + shape).split())
            for layer in range(o["first_layer"], o["last_layer"]) for name, shape in parts.items()}


# Files -----------------------------------------------------------------------------------------------------------------------

CONFIG = BertConfig(**TINY, num_labels=3)


def parameters(shapes):
    """The common ones, drawn first and so equal in all files, then those of `shapes`."""
    torch.manual_seed(19)
    common = {f"bert.{n}": p.shape for n, p in BertModel(CONFIG).named_parameters()} | {"classifier.weight": (3, 9), "classifier.bias": (3,)}
    torch.manual_seed(7)
    w = {n: torch.empty(s, requires_grad=True) for n, s in (common | shapes).items()}
    randomize(w)
    return w, set(common)


def joined(matrices):
    return torch.cat([torch.as_tensor(m).flatten() for m in matrices])


def write(name, model, w, common, extra, **about):
    """Trains the model and writes the file with the tensors in `extra`."""
    labels = torch.tensor(LABELS)
    first = start(w if name == "dafa" else {n: p for n, p in w.items() if n not in common})
    logits = model.run(BATCHES[0])
    seen = {f"{layer}/{part}": x for layer, parts in model.seen.items() for part, x in zip(("sem", "dep", "g", "f"), parts)
            if name == "dafa" or part in "gf"}
    run, gradients, end = train(w, lambda k: F.cross_entropy(model.run(BATCHES[k % 2]), labels[BATCHES[k % 2]]), get_cosine_schedule_with_warmup)
    end = {n: p for n, p in end.items() if name == "dafa" or n.removeprefix("end/") not in common}
    save(name, {**first, **run, **gradients, **end, **seen, **extra, "logits": logits, "end_logits": model.run(BATCHES[1]),
                "ids": torch.tensor(sum([e.ids for e in ENCODINGS], [])), "types": torch.tensor(sum([e.type_ids for e in ENCODINGS], [])),
                "lengths": torch.tensor([len(e.ids) for e in ENCODINGS])},
         config=model.c, vocabulary=VOCABULARY, pairs=described_pairs(), labels=LABELS, first_batch=FIRST, **about)
    return {n.removeprefix("gradient/"): g for n, g in gradients.items()}


def dafa(name, lea=None, relative_key=False, **options):
    o = DAFA | options
    shapes = dafa_shapes(o)
    config = BertConfig(**TINY, num_labels=3)
    if lea:
        shapes |= {f"lexformer.encoder.layer.{layer}.lea.projection": (3, lea["dimension"]) for layer in lea["layers"]}
    if relative_key:
        config.position_embedding_type = "relative_key"
        shapes |= {f"bert.encoder.layer.{layer}.attention.self.distance_embedding.weight": (47, 3) for layer in range(2)}
    w, common = parameters(shapes)
    if relative_key:  # they replace the absolute positions
        del w["bert.embeddings.position_embeddings.weight"]
    values = [oracle.matrices(*trees, DOCUMENTS, o) for trees in TREES]
    gates = [torch.tensor(oracle.expand(fused, where, o["expand"])) for (*_, fused), where in zip(values, PLACES)]
    extra = {part: joined(x) for part, x in zip(("M", "S", "left", "right", "MF"), zip(*values))} | {"gate": joined(gates)}
    matrix_options = ("theta", "alpha", "nu", "match", "subgraph", "tfidf", "expand", "without")
    if name != "dafa" and all(o[key] == DAFA[key] for key in matrix_options):
        extra = {}
    check_laws(w, config, o, lea)
    gradients = write(name, Dafa(w, config, gates, o, lea), w, common, extra, dafa=o, lea=lea,
                      documents={"count": DOCUMENTS[0], "words": dict(sorted(DOCUMENTS[1].items()))})
    half = o["attention_size"]
    for parameter, g in gradients.items():
        part = parameter.partition(".dafa.")[2]
        if o["score"] == "concat" and part in ("dependency.query", "dependency.bias", "semantic.query", "semantic.bias"):
            assert g.abs().max() < 1e-15, (name, parameter)
        elif o["score"] == "concat" and part in ("dependency.score", "semantic.score"):
            assert g[:, half:].abs().max() < 1e-15 < g[:, :half].abs().min(), (name, parameter)
        elif part:
            assert g.abs().min() > 1e-15, (name, parameter)


def check_laws(w, config, o, lea):
    """Gates of ones: Dep = Sem; residual with W_l = 0 and b_l = 0: plain BERT."""
    ones = [torch.ones(len(e.ids), len(e.ids)) for e in ENCODINGS]
    model = Dafa(w, config, ones, o, lea)
    model.run(BATCHES[0])
    for sem, dep, _, _ in model.seen.values():
        assert torch.equal(sem, dep)
    if not o["without"]:
        zero = {n: torch.zeros_like(p) if ".dafa.output." in n else p for n, p in w.items()}
        plain = Dafa(w, config, ones, o | {"last_layer": 0}, lea).run(BATCHES[0])
        assert torch.equal(Dafa(zero, config, ones, o | {"output": "residual"}, lea).run(BATCHES[0]), plain)


def word_similarity(x, y):
    """Stands for WordNet's, which is not what these files test: 0 for words that hold no meaning, 1 for equal ones, else drawn."""
    if {x, y} & {"the", "a", "is", "it", "and", "not"}:
        return 0.0
    torch.manual_seed(sum(map(ord, x + y)))
    return 1.0 if x == y else round(torch.rand(()).item(), 2)


def uerbert():
    w, common = parameters({})
    similarity, gates, words = [], [], []
    for e, texts in zip(ENCODINGS, TEXTS):
        where = [None if word is None else (side, word) for side, word in zip(e.type_ids, e.word_ids)]
        words.append([])
        for side in (0, 1):
            spans = {}
            for place, offset in zip(where, e.offsets):
                if place and place[0] == side:
                    spans.setdefault(place[1], []).append(offset)
            words[-1].append([texts[side][s[0][0]:s[-1][1]].lower() for s in spans.values()])
        similarity.append([[word_similarity(x, y) for y in words[-1][1]] for x in words[-1][0]])
        gates.append(torch.tensor(oracle.expand(similarity[-1], where)))
    ones = [torch.ones_like(g) for g in gates]
    assert torch.equal(Uerbert(w, CONFIG, ones).run(BATCHES[0]), Structured(w, CONFIG).run(BATCHES[0]))
    write("uerbert", Uerbert(w, CONFIG, gates), w, common, {"gate": joined(gates), "similarity": joined(similarity)}, words=words)


def syntax():
    o = dict(depth=2, first_layer=0, last_layer=2)
    w, common = parameters({})
    codes = [torch.tensor(oracle.syntax_codes(trees, where, e.type_ids, o["depth"])) for trees, where, e in zip(TREES, PLACES, ENCODINGS)]
    count = 2 * o["depth"] + 3
    full = Syntax(w, CONFIG, [torch.full_like(c, 2**count - 1) for c in codes], o)
    plain = {n: p * math.sqrt(count) if ".attention.output.dense.weight" in n else p for n, p in w.items()}  # every mask gives the same
    assert (full.run(BATCHES[0]) - Structured(plain, CONFIG).run(BATCHES[0])).abs().max() < 1e-12
    write("syntax", Syntax(w, CONFIG, codes, o), w, common, {"codes": joined(codes)}, syntax=o)


def check_relative_key():
    """Relative keys as here against those of transformers, as in positions_relative_key.safetensors."""
    golden = load_file(FOLDER / "positions_relative_key.safetensors")
    config = BertConfig(**TINY)
    config.position_embedding_type = "relative_key"

    class Tokens:
        def __init__(self, ids, types):
            self.ids, self.type_ids = ids.tolist(), types.tolist()

    lengths = golden["lengths"].tolist()
    model = Relative({n.removeprefix("start/"): p.double() for n, p in golden.items() if n.startswith("start/")}, config)
    model.head = lambda xs, drop: None
    model([Tokens(i, t) for i, t in zip(golden["ids"].split(lengths), golden["types"].split(lengths))])
    assert (torch.cat(model.hidden) - golden["hidden"]).abs().max() < 1e-12


def main():
    oracle.check()
    check_relative_key()
    w, _ = parameters({})
    head = {"dense.weight": (4, 9), "dense.bias": 4, "norm.weight": 4, "norm.bias": 4, "out.weight": (2, 4), "out.bias": 2}
    head = {f"lexformer.head.{n}": torch.zeros(size) for n, size in head.items()}  # which the check does not look at
    check_against_huggingface({n: p for n, p in w.items() if ".pooler." not in n} | head, CONFIG, ENCODINGS)
    dafa("dafa")
    dafa("dafa_options", score="concat", sharing="head", output="residual", theta=1.5, alpha=0.75, nu=0.25, match="lemma", subgraph="children",
         tfidf="off", expand="plus_one")
    dafa("dafa_merged", scope="merged", attention_size=5, hidden_size=4, tfidf="mean")
    dafa("dafa_heads", sharing="head", attention_size=4, hidden_size=2)
    dafa("dafa_without_cross", without=["tree", "cross"])
    dafa("dafa_without_gate", without=["subgraph", "gate"])
    dafa("dafa_without_filter", without=["tfidf", "filter"], output="residual")
    dafa("dafa_without_both_gates", without=["tree", "subgraph", "gate", "filter"])
    dafa("dafa_average", without=["cross", "gate", "filter"], output="residual")
    dafa("dafa_all_layers", last_layer=2)
    dafa("dafa_terms", relative_key=True, last_layer=2,
         lea=dict(sharing="head", representation="scaled", dimension=8, levels=0, alpha="constant", alpha_value=0.7, layers=[0], within=False,
                  first_layer=0, last_layer=1))
    uerbert()
    syntax()


if __name__ == "__main__":
    main()
