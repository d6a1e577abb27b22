# SPDX-License-Identifier: MIT
"""The names and shapes of an encoder's tensors, and which tensors of a file they are."""

import collections
import re

from .errors import check, one_line
from .json_values import get
from .tensor import FLOATS


def needed_tensors(config):
    """Name -> shape of the tensors of every encoder with this config."""
    base, d, ff = config["model_type"] + ".", config["hidden_size"], config["intermediate_size"]
    e = config["embedding_size"] if base == "electra." else d
    shapes = {base + "embeddings.%s_embeddings.weight" % name: (config[key], e)
              for name, key in (("word", "vocab_size"), ("position", "max_position_embeddings"), ("token_type", "type_vocab_size"))}
    if (config.get("position_embedding_type") or "absolute") != "absolute":  # the table exists but is not used
        del shapes[base + "embeddings.position_embeddings.weight"]
        rows = (2 * config["max_position_embeddings"] - 1, d // config["num_attention_heads"])
        for i in range(config["num_hidden_layers"]):
            shapes[base + "encoder.layer.%d.attention.self.distance_embedding.weight" % i] = rows
    modules = [("embeddings.LayerNorm", e)] + ([("embeddings_project", d, e)] if e != d else [])
    for i in range(config["num_hidden_layers"]):
        modules += [("encoder.layer.%d.%s" % (i, name), *shape) for name, *shape in (
            ("attention.self.query", d, d), ("attention.self.key", d, d), ("attention.self.value", d, d), ("attention.output.dense", d, d),
            ("attention.output.LayerNorm", d), ("intermediate.dense", ff, d), ("output.dense", d, ff), ("output.LayerNorm", d))]
    for name, *shape in modules:
        shapes[base + name + ".weight"], shapes[base + name + ".bias"] = tuple(shape), (shape[0],)
    return shapes


KNOWN = re.compile(r"(bert|electra)\.(embeddings|embeddings_project|encoder|pooler)\.|classifier\.|cls\."
                   r"|generator_predictions\.|generator_lm_head\.|discriminator_predictions\.|lexformer\.")


def canonical_name(name, base):
    """HuggingFace's current name for older names: TensorFlow's LayerNorm names and models without a head."""
    name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
    return base + name if re.match(r"(embeddings|embeddings_project|encoder|pooler)\.", name) else name


def wrapper_prefix(names):
    """What a wrapper put before the names, e.g. "module." of DataParallel or "model." of Lightning; "" if nothing or not the same."""
    word = re.compile(r"(.*?)((bert|electra)\.)?embeddings\.word_embeddings\.weight")
    found = {match[1] for match in map(word.fullmatch, names) if match}
    prefix = found.pop() if len(found) == 1 else ""
    known = re.fullmatch(r"((module|model|_orig_mod)\.)*", prefix)
    return prefix if known or all(name.startswith(prefix) for name in names) else ""


def select(tensors, config, path):
    """Canonical name -> tensor, and rows (status, old name, new name or reason) for the table."""
    out, rows = {}, []
    tied, prefix = get(config, "tie_word_embeddings", bool, path, True), wrapper_prefix(tensors)
    bare = lambda name: name[len(prefix):] if name.startswith(prefix) else name
    names = {canonical_name(bare(name), config["model_type"] + "."): name for name in tensors}
    check(len(names) == len(tensors), path, "two tensors would get the same name")
    for name, old in sorted(names.items()):
        reason = None
        if re.search(r"\.(position_ids|token_type_ids)$", name):
            reason = "a buffer"
        elif tied and name in ("cls.predictions.decoder.weight", "generator_lm_head.weight"):
            reason = "tied to the word embeddings"
        elif name == "cls.predictions.decoder.bias" and "cls.predictions.bias" in names:
            reason = "the same as cls.predictions.bias"
        elif tensors[old].dtype not in FLOATS:
            reason = "%s is no floating-point type" % tensors[old].dtype
        elif not KNOWN.match(name):
            reason = "unknown to lexformer"
        if reason:
            rows.append(("ignored", old, reason))
            continue
        new = "cls.predictions.bias" if name == "cls.predictions.decoder.bias" else name
        out[new] = tensors[old]
        rows.append(("mapped", old, new))
    for name, shape in sorted(needed_tensors(config).items()):
        if name not in out:
            rows.append(("MISSING", "", name))
        elif out[name].shape != shape:
            rows.append(("MISSING", name, "has shape %s, the config says %s" % (out[name].shape, shape)))
    return out, rows


def print_table(rows):
    """Prints one line for all layers with the same row."""
    lines = collections.Counter(tuple(re.sub(r"\.layer\.\d+\.", ".layer.*.", text) for text in row) for row in rows)
    width = min(max([len(old) for _, old, _ in lines] + [0]), 100)
    for (status, old, new), count in lines.items():
        print(one_line("%-8s %-*s  %s%s" % (status, width, old, new, "  (%d)" % count if count > 1 else "")))
    print(", ".join("%d %s" % (sum(row[0] == status for row in rows), status.lower()) for status in ("mapped", "ignored", "MISSING")))
