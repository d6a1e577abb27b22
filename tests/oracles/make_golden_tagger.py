#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes crf, lstm_tagger, bert_tagger, bert_tagger_crf and electra_tagger.safetensors in tests/golden/models: taggers, in double.

    python3 tests/oracles/make_golden_tagger.py

Needs what make_golden.py needs. The conditional random field is written here by its definition: the log of the sum over all paths, which are
enumerated; autograd gives the gradients. The LSTM is torch.nn.LSTM, one sentence at a time; the encoders are transformers' models for token
classification, with label -100 where a token is not the first of a word.
crf: emissions (N, L), transitions (L, L), start, end (L), labels (N), lengths, loss, gradient/X of each, best (N): the path of the highest score.
All others: start/P, gradient/P, end/P, losses (10) of ten steps as in make_golden.py (the encoders) or of Adam (rate 2e-3, clipped to 1).
lstm_tagger: vectors (K, D) of the words "known"; emissions of the sentences in the order given, end_emissions after the steps; "about" has
options, known, words and tags (lists of sentences), best (the tags of the highest score after the steps).
encoders: ids, types, lengths; tokens, counted across all sequences, labels of these, words (of each sequence: how many tokens are labelled);
logits of these tokens before training, end_logits after it.
"""
import itertools
import json

import torch
from safetensors.torch import save_file
from torch.nn import functional as F
from transformers import BertConfig, BertForTokenClassification, ElectraConfig, ElectraForTokenClassification, get_linear_schedule_with_warmup

from make_golden import FOLDER, STEPS, TINY, batch_tensors, padded, ragged, randomize, save, sequences, start, train
from make_golden_love import lstm_of, lstm_shapes

LABELS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


def score(x, transitions, first, last, path):
    total = first[path[0]] + last[path[-1]] + sum(x[t, y] for t, y in enumerate(path))
    return total + sum(transitions[a, b] for a, b in zip(path, path[1:]))


def paths_of(x, crf):
    """All paths, and their scores."""
    paths = list(itertools.product(range(x.shape[1]), repeat=len(x)))
    at = torch.tensor(paths)
    transitions, first, last = crf
    scores = first[at[:, 0]] + last[at[:, -1]] + sum(x[t, at[:, t]] for t in range(len(x)))
    return paths, scores + sum(transitions[at[:, t - 1], at[:, t]] for t in range(1, len(x)))


def crf_loss(sentences, crf, labels):
    losses = []
    for x, y in zip(sentences, labels):
        losses.append(torch.logsumexp(paths_of(x, crf)[1], 0) - score(x, *crf, y))
    return torch.stack(losses).mean()


def best_path(x, crf):
    paths, scores = paths_of(x, crf)
    return list(paths[int(scores.argmax())])


def write(name, tensors, **about):
    save_file({n: t.detach().clone().contiguous() for n, t in tensors.items()}, FOLDER / f"{name}.safetensors",
              metadata={"about": json.dumps(about)})


def crf():
    lengths, count = [4, 1, 6, 2], 4
    w = {name: torch.nn.Parameter(torch.randn(shape).float().double())
         for name, shape in (("emissions", (sum(lengths), count)), ("transitions", (count, count)), ("start", (count,)), ("end", (count,)))}
    labels = torch.randint(count, (sum(lengths),))
    parts = w["emissions"].split(lengths)
    field = (w["transitions"], w["start"], w["end"])
    loss = crf_loss(parts, field, [y.tolist() for y in labels.split(lengths)])
    loss.backward()
    best = [y for x in parts for y in best_path(x, field)]
    write("crf", {**w, **{f"gradient/{n}": p.grad for n, p in w.items()}, "labels": labels, "lengths": torch.tensor(lengths),
                  "loss": loss.reshape(1), "best": torch.tensor(best)})


# A tagger over word vectors ------------------------------------------------------------------------------------------------------

KNOWN = ["anna", "smith", "went", "to", "oslo", "in", "0000", "."]
SENTENCES = [("Anna Smith went to Oslo .", "B-PER I-PER O O B-LOC O"), ("Oslo", "B-LOC"), ("in 1997 Zork Smith", "O O B-LOC I-LOC"),
             ("ANNA Xyz went", "B-PER I-PER O")]


def lstm_tagger(name, size, projection, states, layers):
    torch.manual_seed(5)
    options = dict(size=size, projection=projection, states=states, layers=layers, dropout=0.0, zero_digits=True)
    shapes = {"tagger.unknown": (1, size)}
    if projection:
        shapes |= {"tagger.projection.weight": (projection, size), "tagger.projection.bias": (projection,)}
    width = projection or size
    for layer in range(layers):
        for direction in ("forward", "reverse"):
            shapes |= lstm_shapes(f"tagger.lstm.{layer}.{direction}.", width if layer == 0 else 2 * states, states)
    count = len(LABELS)
    shapes |= {"tagger.output.weight": (count, 2 * states), "tagger.output.bias": (count,), "tagger.crf.transitions": (count, count),
               "tagger.crf.start": (count,), "tagger.crf.end": (count,)}
    w = {n: torch.nn.Parameter(torch.empty(s)) for n, s in shapes.items()}
    randomize(w)
    first = {n: p.detach().clone() for n, p in start(w).items()}
    vectors = torch.randn(len(KNOWN), size).float()
    lstm = lstm_of(w, lambda layer, direction: f"tagger.lstm.{layer}.{direction}.", layers)
    field = [w[f"tagger.crf.{part}"] for part in ("transitions", "start", "end")]
    digits = str.maketrans("123456789", "000000000")

    def emissions(text):
        rows = []
        for word in text.split():
            word = word.lower().translate(digits)
            rows.append(vectors[KNOWN.index(word)].double() if word in KNOWN else w["tagger.unknown"][0])
        x = torch.stack(rows)
        if projection:
            x = F.linear(x, w["tagger.projection.weight"], w["tagger.projection.bias"])
        return F.linear(lstm(x[None])[0][0], w["tagger.output.weight"], w["tagger.output.bias"])

    forward = lambda: [emissions(text) for text, _ in SENTENCES]
    labels = [[LABELS.index(tag) for tag in tags.split()] for _, tags in SENTENCES]
    before = torch.cat(forward())
    optimizer = torch.optim.Adam(w.values(), lr=2e-3, eps=1e-8)
    losses, gradients = [], {}
    for k in range(STEPS):
        optimizer.zero_grad()
        loss = crf_loss(forward(), field, labels)
        loss.backward()
        if k == 0:
            gradients = {f"gradient/{n}": p.grad.clone() for n, p in w.items()}
            assert all(g.abs().max() > 1e-4 for g in gradients.values())
        losses.append(loss.detach())
        torch.nn.utils.clip_grad_norm_(w.values(), 1.0)
        optimizer.step()
    end = forward()
    best = [[LABELS[y] for y in best_path(x, field)] for x in end]
    write(name, {**first, **gradients, **{f"end/{n}": p for n, p in w.items()}, "vectors": vectors, "emissions": before,
                 "end_emissions": torch.cat(end), "losses": torch.stack(losses)},
          options=options, known=KNOWN, words=[text.split() for text, _ in SENTENCES], tags=[tags.split() for _, tags in SENTENCES], best=best,
          labels=LABELS)


# Encoders ------------------------------------------------------------------------------------------------------------------------

def encoder(name, model, with_crf=False):
    lengths = [6, 9, 3, 4]
    ids, types = sequences(lengths)
    types = [torch.zeros_like(t) for t in types]
    first_tokens = [[1, 2, 4], [1, 3, 4, 5, 7], [1], [1, 2]]
    labels = [torch.randint(len(LABELS), (len(t),)).tolist() for t in first_tokens]
    parameters = dict(model.named_parameters())
    field = []
    if with_crf:
        count = len(LABELS)
        extra = {f"lexformer.tagger.crf.{part}": torch.nn.Parameter(torch.empty(shape))
                 for part, shape in (("transitions", (count, count)), ("start", (count,)), ("end", (count,)))}
        parameters |= extra
        field = list(extra.values())
    randomize(parameters)
    first = start(parameters)
    expected = torch.full((len(lengths), max(lengths)), -100)
    for s, (tokens, of_tokens) in enumerate(zip(first_tokens, labels)):
        expected[s, tokens] = torch.tensor(of_tokens)

    def parts():
        y = model(**padded(ids, types)).logits
        return [y[s, tokens] for s, tokens in enumerate(first_tokens)]

    def loss(_):
        return crf_loss(parts(), field, labels) if with_crf else model(**padded(ids, types), labels=expected).loss

    before = torch.cat(parts())
    run, gradients, end = train(parameters, loss, get_linear_schedule_with_warmup)
    begins = [sum(lengths[:s]) for s in range(len(lengths))]
    rows = [begin + token for begin, tokens in zip(begins, first_tokens) for token in tokens]
    save(name, {**first, **batch_tensors(ids, types, lengths, torch.tensor(sum(labels, []))), "tokens": torch.tensor(rows),
                "words": torch.tensor([len(t) for t in first_tokens]), "logits": before, **run, **gradients, **end,
                "end_logits": torch.cat(parts())}, config=model.config)


def main():
    torch.manual_seed(4)
    crf()
    lstm_tagger("lstm_tagger", 6, 0, 3, 1)
    lstm_tagger("lstm_tagger_layers", 5, 4, 2, 2)
    names = dict(id2label=dict(enumerate(LABELS)), label2id={n: i for i, n in enumerate(LABELS)})
    encoder("bert_tagger", BertForTokenClassification(BertConfig(**TINY, **names)))
    encoder("bert_tagger_crf", BertForTokenClassification(BertConfig(**TINY, **names)), with_crf=True)
    encoder("electra_tagger", ElectraForTokenClassification(ElectraConfig(**TINY, **names, embedding_size=5)))


if __name__ == "__main__":
    main()
