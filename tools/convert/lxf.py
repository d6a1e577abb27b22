# SPDX-License-Identifier: MIT
"""Reads and writes .lxf files (docs/format.md)."""

import math
import os
import re
import zlib

from .config import family_of, read_config
from .errors import check, one_line, shown, Stop
from .families import FAMILIES
from .files import files_read, read_bytes, staged
from .heads import read_cross_encoder
from .json_values import dump_json, get, read_json
from .modules import read_modules, transformer_settings
from .names import print_table, select, wrapper_prefix
from .other_tokenizers import read_other_tokenizer
from .safetensors import parse_safetensors, write_safetensors
from .tensor import convert, to_int8
from .tokens import read_tokenizer
from .weights import read_weights, weights_of

VERSION = "0.3.0"  # same as include/lexformer/version.hpp
INT8_LAYER = re.compile(r"(%s)encoder\.layer\.\d+\.(attention\.self\.(query|key|value)|attention\.output\.dense|"
                        r"intermediate\.(dense|gate)|output\.dense)\.weight" % "|".join(sorted({re.escape(family.prefix) for family in FAMILIES})))


def to_lxf(source, target, dtype, verify):
    check(os.path.exists(source), source, "there is no such file or folder")
    root = source if os.path.isdir(source) else os.path.dirname(source)
    folder, ours, dense = read_modules(root)
    weights = weights_of(folder) if os.path.isdir(source) else source
    path = os.path.join(folder, "config.json")
    config = read_config(path, read_json(path))
    check(not os.path.exists(os.path.join(folder, "adapter_config.json")), folder,
          "has an adapter (adapter_config.json), which is not supported; merge it into the weights first")
    tokens, count = read_tokens(folder, root, config["model_type"])
    check(count <= config["vocab_size"], folder, "the vocabulary has %d tokens, the config allows %d ('vocab_size')" % (count, config["vocab_size"]))
    raw, digest = read_weights(weights)
    chosen, rows = select({**raw, **dense}, config, source)
    print_table(rows)
    prefix = wrapper_prefix(raw, family_of(config))
    if prefix:
        print("took off the prefix %s of the names" % one_line(shown(prefix)))
    missing = [old or new for status, old, new in rows if status == "MISSING"]
    unknown = [old for status, old, reason in rows if reason == "unknown to lexformer"]
    check(not missing, source, "%d needed tensors are missing or of the wrong shape, as %s%s; the table shows all"
          % (len(missing), shown(missing and missing[0]), " (while %s is unknown)" % shown(unknown[0]) if unknown else ""))
    ours = {**(ours or {}), **read_cross_encoder(root, config, chosen, path, "head" in (ours or {}))}
    before = get(config, "lexformer", dict, path, {})  # of a folder that --to-hf wrote
    if ours:
        config["lexformer"] = {**{key: value for key, value in before.items() if key not in ("dense", "max_length", "similarity")}, **ours}
    metadata = {"lexformer.format": "1", "lexformer.version": VERSION, "lexformer.config": dump_json(config), **tokens, "lexformer.source_sha256": digest}
    write_lxf(target, source, chosen, metadata, dtype, verify)


def read_tokens(folder, root, model_type):
    """The metadata of the tokenizer in a folder, and the number of tokens."""
    where, settings = transformer_settings(folder)
    lower = os.path.exists(os.path.join(root, "modules.json")) and get(settings, "do_lower_case", bool, where)
    other = read_other_tokenizer(folder, model_type)
    if other is not None:
        text, flags, count = other
        check(not lower, where, "'do_lower_case' is true; with a tokenizer that is not WordPiece it is not supported")
        key = "lexformer.tokenizer_json"
    else:
        tokens, flags = read_tokenizer(folder)
        if lower and not flags["do_lower_case"]:
            # sentence-transformers puts lower case before the rest, which decides by itself about accents.
            flags.update(do_lower_case=True, strip_accents=flags["strip_accents"] is True)
        key, text, count = "lexformer.vocab", "".join(token + "\n" for token in tokens), len(tokens)
    return {key: text, key + "_crc32": str(zlib.crc32(text.encode())), "lexformer.tokenizer": dump_json(flags)}, count


def lxf_to_lxf(source, target, dtype, verify):
    """The same model in another storage type; BF16 halves the file size."""
    tensors, metadata = parse_lxf(source)
    write_lxf(target, source, tensors, {key: text for key, text in metadata.items() if key not in ("format", "lexformer.crc32")}, dtype, verify)


def write_lxf(target, source, tensors, metadata, dtype, verify):
    if os.path.realpath(target) in files_read:
        raise Stop(2, "%s: is one of the files that the model was read from; name another file to write" % target)
    stored = {}
    for name, tensor in tensors.items():
        where = "%s: tensor %s" % (source, shown(name))
        if dtype != "I8":
            stored[name] = convert(tensor, dtype, where)
        elif INT8_LAYER.fullmatch(name) and len(tensor.shape) == 2:
            stored[name], stored[name + "_scale"] = to_int8(tensor, where)
        else:
            stored[name] = tensor
    tensors = stored
    with staged(target) as temporary:
        write_safetensors(temporary, tensors, metadata)
        if verify:
            again, texts = parse_safetensors(read_bytes(temporary), target)
            if again != tensors or not metadata.items() <= texts.items():
                raise Stop(1, "%s: what the disk holds differs from what was written" % target)
    print("wrote %s: %d tensors, %d parameters, %s%s" % (
        target, len(tensors), sum(math.prod(t.shape) for t in tensors.values()), dtype, ", read again and compared" if verify else ""))


def parse_lxf(source):
    tensors, metadata = parse_safetensors(read_bytes(source), source)
    version = metadata.get("lexformer.format")
    check(version is not None, source, "has no lexformer.format, so it is no .lxf file")
    check(version == "1", source, "its lexformer.format is %s; this program reads version 1" % shown(version))
    check(all(tensor.dtype != "I8" for tensor in tensors.values()), source,
          "holds weights in 8 bits, which are for scoring; convert the model in float that it was made from")
    return tensors, metadata
