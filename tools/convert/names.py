# SPDX-License-Identifier: MIT
"""The names and shapes of an encoder's tensors, and which tensors of a file they are."""

import collections
import re

from .config import BUCKETS, family_of, family_terms, sizes
from .errors import check, one_line, shown
from .families import canonical_tensor, config_key, foreign_tensor
from .json_values import get
from .tensor import FLOATS, join, pair_rows, split, transpose


def needed_tensors(config):
    """Canonical name -> shape of the tensors of every encoder with this config."""
    family, size = family_of(config), sizes(config)
    base, d, ff, e = family.prefix, size["hidden_size"], size["intermediate_size"], size["embedding_size"]
    shapes = {base + "embeddings.%s_embeddings.weight" % name: (size[key], e)
              for name, key in (("word", "vocab_size"), ("position", "max_position_embeddings"), ("token_type", "type_vocab_size")) if size[key] > 0}
    if (config.get("position_embedding_type") or "absolute") != "absolute":  # the table exists but is not used
        del shapes[base + "embeddings.position_embeddings.weight"]
        rows = (2 * size["max_position_embeddings"] - 1, d // size["num_attention_heads"])
        for i in range(size["num_hidden_layers"]):
            shapes[base + "encoder.layer.%d.attention.self.distance_embedding.weight" % i] = rows
    if family.terms == "modernbert" or family.terms == "deberta" and config.get("position_biased_input") is False:
        shapes.pop(base + "embeddings.position_embeddings.weight", None)
    if family.terms == "mpnet":
        shapes["lexformer.encoder.positions.bias"] = (size["num_attention_heads"], config[BUCKETS])
    if family.terms == "deberta":
        options, first = family_terms(config, "config")["deberta"], "lexformer.encoder.layer.0.positions."
        shapes[first + "table"] = (2 * options["size"], d)
        shapes.update({first + "norm." + part: (d,) for part in ("weight", "bias")} if options["norm"] else {})
    said = lambda key: not family.bias_keys or config.get(key) is True
    dense, inner, norm = map(said, ("attention_bias", "mlp_bias", "norm_bias"))
    qkv = family.qkv_bias and dense
    early = family.early_projection
    modules = [("embeddings.LayerNorm", norm, d if early else e)] * family.embedding_norm + [("embeddings_project", not early, d, e)] * (e != d)
    for i in range(size["num_hidden_layers"]):
        modules += [("encoder.layer.%d.%s" % (i, name), *rest) for name, *rest in (
            ("attention.self.query", qkv, d, d), ("attention.self.key", qkv, d, d), ("attention.self.value", qkv, d, d),
            ("attention.output.dense", dense, d, d), *[("attention.output.LayerNorm", norm, d)] * (i > 0 or family.first_norm),
            ("intermediate.dense", inner, ff, d), *[("intermediate.gate", inner, ff, d)] * family.gated, ("output.dense", inner, d, ff),
            ("output.LayerNorm", norm, d))]
    modules += [("encoder.LayerNorm", norm, d)] * family.pre_norm
    for name, bias, *shape in modules:
        shapes.update({base + name + ".weight": tuple(shape), **({base + name + ".bias": (shape[0],)} if bias else {})})
    return shapes


PARTS = ("embeddings.", "embeddings_project.", "encoder.", "pooler.")  # of an encoder, after the prefix


def canonical_names(name, family):
    """canonical_tensor() for a name of HuggingFace, of any age and with or without the prefix; the prefix is before the names of the encoder."""
    name = re.sub("LayerNorm.gamma$", "LayerNorm.weight", re.sub("LayerNorm.beta$", "LayerNorm.bias", name))
    names, transposed, paired = canonical_tensor(family, without_prefix(name, family))
    return [family.prefix + name if name.startswith(PARTS) else name for name in names], transposed, paired


def without_prefix(name, family):
    return name[len(family.prefix):] if name.startswith(family.prefix) else name


def is_buffer(name, family):
    return name.endswith((".position_ids", ".token_type_ids")) or without_prefix(name, family).endswith(tuple(family.buffers.split()))


def canonical_form(tensor, names, transposed, paired, heads, where):
    """The tensors that a tensor of HuggingFace becomes, in the order of their names."""
    if transposed and len(tensor.shape) == 2:
        tensor = transpose(tensor)
    parts = split(tensor, len(names), where) if len(names) > 1 else [tensor]
    return [pair_rows(part, heads, where) if paired and i < 2 else part for i, part in enumerate(parts)]  # q and k


def foreign_tensors(tensors, config, where):
    """The tensors under the names and in the form of the family."""
    family, out, groups = family_of(config), {}, {}
    heads = config[config_key(family, "num_attention_heads")]
    for name, tensor in tensors.items():
        groups.setdefault(foreign_tensor(family, name), {})[name] = tensor
    for theirs, found in groups.items():
        names, transposed, paired = canonical_names(theirs, family)
        parts = [found[name] for name in names if name in found] if len(names) > 1 else list(found.values())
        fit = {(part.dtype, part.shape[1:], len(part.shape)) for part in parts}
        check(len(parts) == len(found) == len(names) and len(fit) == 1, where, "the tensors that make up %s are not complete, or do not fit" % shown(theirs))
        parts = [pair_rows(part, heads, where, back=True) if paired and i < 2 else part for i, part in enumerate(parts)]
        whole = join(parts) if len(parts) > 1 else parts[0]
        out[theirs] = transpose(whole) if transposed and len(whole.shape) == 2 else whole
    return out


def is_known(name, family):
    """Whether a canonical name is one of an encoder, of a head that lexformer has, or of lexformer itself."""
    heads = [head for head in family.heads.split() if head != "qa_outputs."]
    return name.startswith((*(family.prefix + part for part in PARTS), *heads, "lexformer."))


def wrapper_prefix(names, family):
    """What a wrapper put before the names and the prefix of the family, e.g. "module." of DataParallel or "model." of Lightning; "" if nothing or not the same."""
    word = foreign_tensor(family, family.prefix + "embeddings.word_embeddings.weight")[len(family.prefix):]
    word = re.compile(r"((?:.*?\.)??)(?:%s)?%s" % (re.escape(family.prefix), re.escape(word)))
    found = {match[1] for match in map(word.fullmatch, names) if match}
    prefix = found.pop() if len(found) == 1 else ""
    known = re.fullmatch(r"((module|model|_orig_mod)\.)*", prefix)
    return prefix if known or all(name.startswith(prefix) for name in names) else ""


def select(tensors, config, path):
    """Canonical name -> tensor, and rows (status, old name, new name or reason) for the table."""
    out, rows, family = {}, [], family_of(config)
    heads = config[config_key(family, "num_attention_heads")]
    tied, prefix = get(config, "tie_word_embeddings", bool, path, True), wrapper_prefix(tensors, family)
    bare = lambda name: name[len(prefix):] if name.startswith(prefix) else name
    forms = {old: canonical_names(bare(old), family) for old in tensors}
    known = [name for names, *_ in forms.values() for name in names]
    check(len(set(known)) == len(known), path, "two tensors would get the same name")
    for old, (names, *form) in sorted(forms.items(), key=lambda item: item[1]):
        reason, name = None, names[0]
        if is_buffer(bare(old), family):
            reason = "a buffer"
        elif tied and name in ("cls.predictions.decoder.weight", "generator_lm_head.weight"):
            reason = "tied to the word embeddings"
        elif name == "cls.predictions.decoder.bias" and "cls.predictions.bias" in known:
            reason = "the same as cls.predictions.bias"
        elif tensors[old].dtype not in FLOATS:
            reason = "%s is no floating-point type" % tensors[old].dtype
        elif not is_known(name, family):
            reason = "unknown to lexformer"
        if reason:
            rows.append(("ignored", old, reason))
            continue
        found = canonical_form(tensors[old], names, *form, heads, "%s: tensor %s" % (path, shown(old)))
        for name, tensor in zip(["cls.predictions.bias"] if name == "cls.predictions.decoder.bias" else names, found):
            out[name] = tensor
            rows.append(("mapped", old, name))
    for name, shape in sorted(needed_tensors(config).items()):
        if name not in out:
            rows.append(("MISSING", "", name))
        elif out[name].shape != shape:
            rows.append(("MISSING", name, "has shape %s, the config says %s" % (out[name].shape, shape)))
    return out, rows


def print_table(rows):
    """Prints one line for all layers with the same row."""
    lines = collections.Counter(tuple(re.sub(r"\b(layers?|h)\.\d+\.", r"\1.*.", text) for text in row) for row in rows)
    width = min(max([len(old) for _, old, _ in lines] + [0]), 100)
    for (status, old, new), count in lines.items():
        print(one_line("%-8s %-*s  %s%s" % (status, width, old, new, "  (%d)" % count if count > 1 else "")))
    print(", ".join("%d %s" % (sum(row[0] == status for row in rows), status.lower()) for status in ("mapped", "ignored", "MISSING")))
