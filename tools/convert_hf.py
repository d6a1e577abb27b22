#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Converts a HuggingFace BERT or Electra checkpoint to a .lxf file (docs/format.md), and back.

    convert_hf.py FOLDER MODEL.lxf            config.json, vocab.txt or tokenizer.json, tokenizer_config.json and the weights
                                              (model.safetensors or pytorch_model.bin, also sharded); a sentence-transformers
                                              folder too. Instead of FOLDER: one weight file, its folder holds the rest.
    convert_hf.py MODEL.lxf --to-hf FOLDER    writes a folder that transformers loads

Needs Python 3.8 or later and nothing else. Executes nothing from a checkpoint: a .bin file is read by an unpickler that knows
the few names that tensors need and refuses every other. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a bad file.
"""

import argparse
import array
import collections
import hashlib
import io
import json
import math
import os
import pickle
import re
import struct
import sys
import tempfile
import zipfile
import zlib

VERSION = "0.1.0"  # as include/lexformer/version.hpp
WIDTHS = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1}
FLOATS = ("F64", "F32", "F16", "BF16")
TORCH_NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
SUPPORTED = "lexformer reads BERT's WordPiece (model types bert and electra)"
SPECIAL = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
TOKENIZER_CLASSES = ("BertTokenizer", "BertTokenizerFast", "ElectraTokenizer", "ElectraTokenizerFast", "PreTrainedTokenizerFast",
                     "TokenizersBackend")

Tensor = collections.namedtuple("Tensor", "dtype shape data")  # data: bytes, little-endian, C order


class Failed(Exception):
    """Exit code 1."""


class BadFile(Exception):
    """Exit code 3; the message begins with the file's name."""


def check(condition, path, message):
    if not condition:
        raise BadFile("%s: %s" % (path, message))


# --- files and JSON ----------------------------------------------------------------------------------------------------------


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise BadFile("%s: cannot be read: %s" % (path, error.strerror))


def write_bytes(path, *parts):
    """Beside its final name first, so that nobody meets half a file."""
    handle, temporary = tempfile.mkstemp(prefix=".%s.tmp-" % os.path.basename(path), dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def parse_json(text, where):
    def unique(pairs):
        keys = dict(pairs)
        check(len(keys) == len(pairs), where, "a key occurs twice in one object")
        return keys

    def constant(word):
        raise ValueError(word)

    try:
        return json.loads(text.decode() if isinstance(text, bytes) else text, object_pairs_hook=unique, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise BadFile("%s: not JSON: %s" % (where, error))


def read_object(path):
    value = parse_json(read_bytes(path), path)
    check(isinstance(value, dict), path, "expected a JSON object")
    return value


def dump_json(value):
    """The text that lexformer writes: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def is_size(value, low=0, high=2**63):
    return type(value) is int and low <= value <= high


def get(config, key, kind, path, default=None):
    value = config.get(key)
    if value is None:
        return default
    check(type(value) is kind, path, "'%s' is %r, expected %s" % (key, value, kind.__name__))
    return value


# --- safetensors -------------------------------------------------------------------------------------------------------------


def read_safetensors(path):
    """Tensors and metadata; refuses what is not exactly a safetensors file."""
    content = read_bytes(path)
    check(len(content) >= 10, path, "has %d bytes, too few for a safetensors file; is it cut off?" % len(content))
    length = struct.unpack("<Q", content[:8])[0]
    check(length <= min(16 << 20, len(content) - 8), path,
          "header length %d is too large; the file is cut off or is no safetensors file" % length)
    check(content[8:9] == b"{", path, "the header does not begin with '{'; this is no safetensors file")
    header = parse_json(content[8:8 + length], path + ": header")
    data = memoryview(content)[8 + length:]
    metadata = header.pop("__metadata__", {})
    check(isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values()), path,
          "__metadata__ holds something other than texts")
    tensors, ranges = {}, []
    for name, entry in header.items():
        here = "%s: tensor %r" % (path, name)
        check(isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"}, here, "expected dtype, shape and data_offsets")
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        check(isinstance(dtype, str) and dtype in WIDTHS, here, "unknown dtype %r" % (dtype,))
        check(isinstance(shape, list) and len(shape) <= 8 and all(map(is_size, shape)), here, "the shape %r is not possible" % (shape,))
        check(isinstance(offsets, list) and len(offsets) == 2 and all(map(is_size, offsets)) and offsets[0] <= offsets[1] <= len(data),
              here, "its data_offsets are no range within the %d bytes of data; is the file cut off?" % len(data))
        check(offsets[1] - offsets[0] == product(shape) * WIDTHS[dtype], here, "its shape does not fit its data_offsets")
        ranges.append((offsets[0], offsets[1]))
        tensors[name] = Tensor(dtype, tuple(shape), data[offsets[0]:offsets[1]])
    position = 0
    for begin, end in sorted(ranges):
        check(begin == position, path, "the tensors overlap or leave a hole, at byte %d of the data" % begin)
        position = end
    check(position == len(data), path, "%d bytes follow the last tensor; the file is damaged" % (len(data) - position))
    if "lexformer.crc32" in metadata:
        sums = parse_json(metadata["lexformer.crc32"], path + ": lexformer.crc32")
        for name, tensor in tensors.items():
            check(isinstance(sums, dict) and sums.get(name) == zlib.crc32(tensor.data), path,
                  "tensor %r: its checksum does not fit; the file is damaged" % name)
    return tensors, metadata


def write_safetensors(path, tensors, metadata):
    """The same bytes as TensorFile::write in io/safetensors.hpp."""
    order = sorted(tensors, key=lambda name: (-WIDTHS[tensors[name].dtype], name))
    metadata = dict(metadata, format="pt")
    metadata["lexformer.crc32"] = dump_json({name: zlib.crc32(tensors[name].data) for name in order})
    text, position = '{"__metadata__":' + dump_json(metadata), 0
    for name in order:
        tensor = tensors[name]
        end = position + len(tensor.data)
        text += ',%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}' % (
            dump_json(name), tensor.dtype, dump_json(list(tensor.shape)), position, end)
        position = end
    header = (text + "}").encode()
    header += b" " * (-(len(header) + 8) % 64)
    write_bytes(path, struct.pack("<Q", len(header)), header, *(tensors[name].data for name in order))


def product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result


# --- pytorch_model.bin -------------------------------------------------------------------------------------------------------

Storage = collections.namedtuple("Storage", "dtype key count")
STORAGES = {"DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "LongStorage": "I64",
            "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8", "BoolStorage": "BOOL"}


def read_bin(path):
    """The tensors of a zip file as torch.save has written it since PyTorch 1.6."""
    check(os.path.exists(path), path, "cannot be read: No such file")
    check(zipfile.is_zipfile(path), path,
          "is no zip file: it is damaged, or PyTorch before 1.6 wrote it; load and save it with a newer one")

    def rebuild_tensor(storage, offset, shape, stride, *_):
        check(isinstance(storage, Storage) and is_size(offset) and isinstance(shape, tuple) and isinstance(stride, tuple)
              and len(shape) == len(stride) <= 8 and all(map(is_size, shape + stride)), path, "a tensor of it is damaged")
        count = product(shape)
        last = offset + sum((n - 1) * s for n, s in zip(shape, stride)) if count else 0
        check(count <= storage.count and last < max(storage.count, 1), path, "a tensor lies outside its storage")
        return (storage, offset, shape, stride)

    allowed = {("collections", "OrderedDict"): collections.OrderedDict,
               ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
               ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor}
    allowed.update({("torch", name): dtype for name, dtype in STORAGES.items()})

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            check((module, name) in allowed, path, "the pickle asks for %s.%s, which no weights need; it is not loaded" % (module, name))
            return allowed[module, name]

        def persistent_load(self, pid):
            check(isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage" and pid[1] in WIDTHS
                  and isinstance(pid[2], str) and is_size(pid[4]), path, "the pickle names a storage of an unknown kind")
            return Storage(pid[1], pid[2], pid[4])

    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            pickles = [name for name in entries if name.endswith("/data.pkl") and name.count("/") == 1]
            check(len(pickles) == 1, path, "holds no data.pkl; this is no file of torch.save")
            root = pickles[0][:-len("data.pkl")]

            def stored(name):
                check(name in entries, path, "the entry %r is missing" % name)
                check(entries[name].compress_type == zipfile.ZIP_STORED, path,
                      "the entry %r is compressed, which torch.save never does" % name)
                return archive.read(name)

            check(root + "byteorder" not in entries or stored(root + "byteorder") == b"little", path, "is not little-endian")
            state = Unpickler(io.BytesIO(stored(pickles[0]))).load()
            check(isinstance(state, dict), path, "holds no dictionary of tensors")
            tensors, storages = {}, {}
            for name, value in state.items():
                check(isinstance(name, str) and isinstance(value, tuple) and len(value) == 4 and isinstance(value[0], Storage),
                      path, "%r is no tensor" % (name,))
                storage, offset, shape, stride = value
                if storage not in storages:
                    storages[storage] = stored(root + "data/" + storage.key)
                    check(len(storages[storage]) == storage.count * WIDTHS[storage.dtype], path,
                          "the storage %r has the wrong size" % storage.key)
                tensors[name] = Tensor(storage.dtype, shape, gather(storages[storage], WIDTHS[storage.dtype], offset, shape, stride))
            return tensors
    except BadFile:
        raise
    except Exception as error:  # a damaged pickle or zip raises almost anything
        raise BadFile("%s: is damaged: %s: %s" % (path, type(error).__name__, error))


def gather(data, width, offset, shape, stride):
    """The elements in C order."""
    contiguous, step = [], 1
    for size in reversed(shape):
        contiguous.insert(0, step)
        step *= size
    if all(size == 1 or s == c for size, s, c in zip(shape, stride, contiguous)) or step == 0:
        return data[offset * width:(offset + step) * width]
    starts = [offset]
    for size, s in zip(shape, stride):
        starts = [start + i * s for start in starts for i in range(size)]
    return b"".join(data[start * width:(start + 1) * width] for start in starts)


# --- element types -----------------------------------------------------------------------------------------------------------


def values(tensor):
    """The elements of a floating-point tensor."""
    if tensor.dtype in ("F64", "F32"):
        numbers = array.array("d" if tensor.dtype == "F64" else "f")
        numbers.frombytes(tensor.data)
        return numbers
    if tensor.dtype == "F16":
        return array.array("f", struct.unpack("<%de" % (len(tensor.data) // 2), tensor.data))
    wide = bytearray(2 * len(tensor.data))  # bfloat16 is the upper half of a float
    wide[2::4], wide[3::4] = tensor.data[0::2], tensor.data[1::2]
    numbers = array.array("f")
    numbers.frombytes(bytes(wide))
    return numbers


def convert(tensor, dtype, where):
    """The tensor as `dtype`, rounded to the nearest, ties to even."""
    if tensor.dtype == dtype:
        return tensor
    numbers = values(tensor)
    try:
        if dtype == "F64":
            data = array.array("d", numbers).tobytes()
        elif dtype == "F16":
            data = struct.pack("<%de" % len(numbers), *numbers)
        else:
            data = array.array("f", numbers).tobytes()
        if dtype == "BF16":
            words = array.array("I", data)
            halves = ((w >> 16) | 64 if (w & 0x7FFFFFFF) > 0x7F800000 else (w + 0x7FFF + ((w >> 16) & 1)) >> 16 for w in words)
            data = array.array("H", halves).tobytes()
    except OverflowError:
        raise BadFile("%s: a value is too large for %s" % (where, dtype))
    out = Tensor(dtype, tensor.shape, data)
    check(count_non_finite(out) == count_non_finite(tensor), where, "a value is too large for %s" % dtype)
    return out


def count_non_finite(tensor):
    if tensor.dtype not in FLOATS:
        return 0
    numbers = values(tensor)
    # A sum is finite only if every term is; it is much faster than a look at each.
    return 0 if math.isfinite(sum(numbers)) else sum(not math.isfinite(x) for x in numbers)


# --- tokenizer ---------------------------------------------------------------------------------------------------------------


def read_tokenizer(folder):
    """The vocabulary (a list of texts, "" for an id without one) and the settings under HuggingFace's names."""
    flags = dict(SPECIAL, do_lower_case=True, strip_accents=None, tokenize_chinese_chars=True, clean_text=True,
                 max_input_chars_per_word=100, match_special_tokens=True)
    path = os.path.join(folder, "tokenizer.json")
    if os.path.exists(path):
        tokens = read_tokenizer_json(path, flags)
    else:
        for foreign in ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "merges.txt"):
            check(os.path.exists(os.path.join(folder, "vocab.txt")) or not os.path.exists(os.path.join(folder, foreign)),
                  os.path.join(folder, foreign), "this kind of tokenizer is not supported; " + SUPPORTED)
        path = os.path.join(folder, "vocab.txt")
        check(os.path.exists(path), folder, "there is neither vocab.txt nor tokenizer.json in this folder")
        try:
            lines = read_bytes(path).decode().split("\n")
        except UnicodeDecodeError as error:
            raise BadFile("%s: not UTF-8 at byte %d" % (path, error.start + 1))
        # White space of Unicode (White_Space) alone: str.rstrip() without arguments would also cut U+001C ... U+001F.
        white = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
        tokens = [line.rstrip(white) for line in (lines[:-1] if lines[-1] == "" else lines)]
    path = os.path.join(folder, "tokenizer_config.json")
    if os.path.exists(path):
        config = read_object(path)
        kind = get(config, "tokenizer_class", str, path)
        check(kind is None or kind in TOKENIZER_CLASSES, path, "'tokenizer_class' is %r, which is not supported; %s" % (kind, SUPPORTED))
        check(get(config, "do_basic_tokenize", bool, path, True), path, "'do_basic_tokenize' is false, which is not supported")
        for key in ("do_lower_case", "tokenize_chinese_chars"):
            flags[key] = get(config, key, bool, path, flags[key])
        if "strip_accents" in config:
            flags["strip_accents"] = get(config, "strip_accents", bool, path)
        for key in SPECIAL:
            value = config.get(key)
            flags[key] = get(value, "content", str, path) if isinstance(value, dict) else get(config, key, str, path, flags[key])
    for key in ("unk_token", "cls_token", "sep_token"):
        check(flags[key] in tokens, folder, "the vocabulary of %d tokens has no %r" % (len(tokens), flags[key]))
    return tokens, flags


def read_tokenizer_json(path, flags):
    root = read_object(path)
    parts = {}
    for part, kind in (("model", "WordPiece"), ("normalizer", "BertNormalizer"), ("pre_tokenizer", "BertPreTokenizer")):
        parts[part] = root.get(part)
        found = parts[part].get("type", kind) if isinstance(parts[part], dict) else parts[part]
        check(found == kind, path, "%s is %r, expected %s; %s" % (part, found, kind, SUPPORTED))
    model, normalizer = parts["model"], parts["normalizer"]
    check(model.get("continuing_subword_prefix") == "##", path, "'continuing_subword_prefix' is not '##'")
    flags["unk_token"] = get(model, "unk_token", str, path, "[UNK]")
    flags["max_input_chars_per_word"] = get(model, "max_input_chars_per_word", int, path, 100)
    for ours, theirs in (("do_lower_case", "lowercase"), ("tokenize_chinese_chars", "handle_chinese_chars"), ("clean_text", "clean_text")):
        flags[ours] = get(normalizer, theirs, bool, path, True)
    flags["strip_accents"] = get(normalizer, "strip_accents", bool, path)
    tokens = {}

    def put(token, number):
        check(isinstance(token, str) and token and "\n" not in token and is_size(number, 0, 4 << 20), path,
              "the token %r with id %r is not possible" % (token, number))
        check(tokens.setdefault(number, token) == token, path, "two tokens have the id %d" % number)

    check(isinstance(model.get("vocab"), dict), path, "'vocab' is no object")
    for token, number in model["vocab"].items():
        put(token, number)
    for entry in get(root, "added_tokens", list, path, []):
        token = entry.get("content") if isinstance(entry, dict) else None
        check(token in [flags[key] for key in SPECIAL], path,
              "added token %r is not supported; only [UNK], [CLS], [SEP], [PAD] and [MASK] are" % (token,))
        put(token, entry.get("id"))
    return [tokens.get(i, "") for i in range(max(tokens, default=-1) + 1)]


# --- the model ---------------------------------------------------------------------------------------------------------------


def read_config(folder):
    path = os.path.join(folder, "config.json")
    config = read_object(path)
    kind = get(config, "model_type", str, path)
    if kind is None:  # configs of 2019 do not say
        kind = "bert" if str((config.get("architectures") or [""])[0]).startswith("Bert") else None
        config["model_type"] = kind
    check(kind in ("bert", "electra"), path, "'model_type' is %r, which is not supported; %s" % (kind, SUPPORTED))
    check(not get(config, "is_decoder", bool, path), path, "'is_decoder' is true; only encoders are supported")
    for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size",
                "max_position_embeddings", "type_vocab_size"):
        check(is_size(config.get(key), 1, 1 << 24), path, "%r is %r, expected a whole number" % (key, config.get(key)))
    check(is_size(config.get("embedding_size", 1), 1, 1 << 24), path,
          "'embedding_size' is %r, expected a whole number" % config.get("embedding_size"))
    check(config["num_hidden_layers"] <= 256, path, "'num_hidden_layers' is more than 256")
    check(config["hidden_size"] % config["num_attention_heads"] == 0, path, "'hidden_size' is no multiple of 'num_attention_heads'")
    return config


def needed_tensors(config):
    """Name -> shape of what every encoder of this config has."""
    base, d, ff = config["model_type"] + ".", config["hidden_size"], config["intermediate_size"]
    e = config.get("embedding_size", d) if base == "electra." else d
    shapes = {"embeddings.word_embeddings.weight": (config["vocab_size"], e),
              "embeddings.position_embeddings.weight": (config["max_position_embeddings"], e),
              "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], e),
              "embeddings.LayerNorm.weight": (e,), "embeddings.LayerNorm.bias": (e,)}
    if e != d:
        shapes.update({"embeddings_project.weight": (d, e), "embeddings_project.bias": (d,)})
    for i in range(config["num_hidden_layers"]):
        layer = "encoder.layer.%d." % i
        for name, rows, columns in (("attention.self.query", d, d), ("attention.self.key", d, d), ("attention.self.value", d, d),
                                    ("attention.output.dense", d, d), ("intermediate.dense", ff, d), ("output.dense", d, ff)):
            shapes.update({layer + name + ".weight": (rows, columns), layer + name + ".bias": (rows,)})
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes.update({layer + name + ".weight": (d,), layer + name + ".bias": (d,)})
    return {base + name: shape for name, shape in shapes.items()}


KNOWN = re.compile(r"(bert|electra)\.(embeddings|embeddings_project|encoder|pooler)\.|classifier\.|cls\."
                   r"|generator_predictions\.|generator_lm_head\.|discriminator_predictions\.|lexformer\.")


def canonical_name(name, base):
    name = re.sub(r"^(module\.)+", "", name)
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))
    return base + name if re.match(r"(embeddings|embeddings_project|encoder|pooler)\.", name) else name


def select(tensors, config, path):
    """Canonical name -> tensor, and rows (status, old name, new name or reason) for the table."""
    out, rows = {}, []
    tied = config.get("tie_word_embeddings") is not False
    names = {canonical_name(name, config["model_type"] + "."): name for name in tensors}
    check(len(names) == len(tensors), path, "two tensors would get the same name")
    for name, old in sorted(names.items()):
        reason = None
        if re.search(r"\.(position_ids|token_type_ids)$", name):
            reason = "a buffer"
        elif tied and name in ("cls.predictions.decoder.weight", "generator_lm_head.weight"):
            reason = "tied to the word embeddings"
        elif name == "cls.predictions.decoder.bias" and "cls.predictions.bias" in names:
            reason = "the same as cls.predictions.bias"
        elif not KNOWN.match(name) or tensors[old].dtype not in FLOATS:
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
    """Layers that say the same are one line."""
    lines = collections.OrderedDict()
    for row in rows:
        line = tuple(re.sub(r"\.layer\.\d+\.", ".layer.*.", text) for text in row)
        lines[line] = lines.get(line, 0) + 1
    width = max([len(line[1]) for line in lines] + [0])
    for (status, old, new), count in lines.items():
        print("%-8s %-*s  %s%s" % (status, width, old, new, "  (%d)" % count if count > 1 else ""))
    print(", ".join("%d %s" % (sum(row[0] == status for row in rows), status.lower()) for status in ("mapped", "ignored", "MISSING")))


def weight_files(folder):
    """The files that hold the tensors: one, or the shards of an index, which is then returned too."""
    for name in ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json"):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        if not name.endswith(".index.json"):
            return [path], None
        index = read_object(path).get("weight_map")
        check(isinstance(index, dict) and index and all(isinstance(f, str) and re.match(r"[^./][^/]*$", f) for f in index.values()),
              path, "'weight_map' does not give a plain file name for each tensor")
        return [os.path.join(folder, file) for file in sorted(set(index.values()))], (path, index)
    raise BadFile("%s: there is neither model.safetensors nor pytorch_model.bin in this folder" % folder)


def read_weights(files, index):
    tensors, digest = {}, hashlib.sha256()
    for path in files:
        part = read_safetensors(path)[0] if path.endswith(".safetensors") else read_bin(path)
        for name, tensor in part.items():
            check(name not in tensors, path, "the tensor %r is in two files" % name)
            check(index is None or index[1].get(name) == os.path.basename(path), path,
                  "%s does not place tensor %r here" % (index and index[0], name))
            tensors[name] = tensor
        digest.update(read_bytes(path))
    if index:
        for name in index[1]:
            check(name in tensors, index[0], "tensor %r is in none of the files" % name)
    return tensors, digest.hexdigest()


def read_modules(folder):
    """Of a sentence-transformers folder: the folder of the transformer, and how token vectors become a sentence vector."""
    path = os.path.join(folder, "modules.json")
    if not os.path.exists(path):
        return folder, None
    modules = parse_json(read_bytes(path), path)
    check(isinstance(modules, list), path, "expected a list of modules")
    for module in modules:
        check(isinstance(module, dict) and isinstance(module.get("type"), str) and re.match(r"([^./][^/]*)?$", str(module.get("path"))),
              path, "expected a list of modules, each with its type and its folder in this one")
    inner, ours = folder, {"normalize": False}
    for module in modules:
        kind, where = module["type"].rsplit(".", 1)[-1], os.path.join(folder, module["path"])
        if kind == "Transformer":
            inner = where if module["path"] else folder
        elif kind == "Normalize":
            ours["normalize"] = True
        elif kind == "Pooling":
            file = os.path.join(where, "config.json")
            config = read_object(file)
            # Newer versions write "pooling_mode": "mean", older ones one flag for each way.
            flags = [key[13:] for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
            mode = "".join([str(config.get("pooling_mode", ""))] + flags)
            mode = {"mean_tokens": "mean", "cls_token": "cls"}.get(mode, mode)
            check(mode in ("mean", "cls"), file, "pooling %r is not supported; mean and cls are" % mode)
            ours["pooling"] = mode
        else:
            print("note: the module %s of %s is not converted; sentence vectors will differ" % (kind, path))
    return inner, ours if "pooling" in ours else None


def to_lxf(source, target, dtype, allow_non_finite, verify):
    ours = None
    if os.path.isdir(source):
        folder, ours = read_modules(source)
        files, index = weight_files(folder)
    else:
        folder, files, index = os.path.dirname(source) or ".", [source], None
    config = read_config(folder)
    tokens, flags = read_tokenizer(folder)
    check(len(tokens) <= config["vocab_size"], folder,
          "the vocabulary has %d tokens, the config allows %d ('vocab_size')" % (len(tokens), config["vocab_size"]))
    raw, digest = read_weights(files, index)
    chosen, rows = select(raw, config, source)
    print_table(rows)
    check(all(row[0] != "MISSING" for row in rows), source, "needed tensors are missing or of the wrong shape (see the table)")
    bad = {name: count for name, count in ((name, count_non_finite(tensor)) for name, tensor in sorted(chosen.items())) if count}
    check(not bad or allow_non_finite, source,
          "%d values are NaN or infinite, in %d of %d tensors, first in %r"
          % (sum(bad.values()), len(bad), len(chosen), next(iter(bad), "")))
    if ours:
        config["lexformer"] = ours
    vocab = "".join(token + "\n" for token in tokens)
    metadata = {"lexformer.format": "1", "lexformer.version": VERSION, "lexformer.config": dump_json(config), "lexformer.vocab": vocab,
                "lexformer.vocab_crc32": str(zlib.crc32(vocab.encode())), "lexformer.tokenizer": dump_json(flags),
                "lexformer.source_sha256": digest}
    tensors = {name: convert(tensor, dtype, "%s: tensor %r" % (source, name)) for name, tensor in chosen.items()}
    write_safetensors(target, tensors, metadata)
    print("wrote %s: %d tensors, %d parameters, %s" % (target, len(tensors), sum(product(t.shape) for t in tensors.values()), dtype))
    if verify:
        again, texts = read_safetensors(target)
        same = set(again) == set(chosen) and all(texts.get(key) == text for key, text in metadata.items())
        for name, tensor in again.items():
            same = same and tensor.shape == chosen[name].shape and tensor.data == tensors[name].data
            # Back in the source's type nothing may have changed, unless the target is narrower.
            if WIDTHS[dtype] > WIDTHS[chosen[name].dtype] and not bad:
                same = same and convert(tensor, chosen[name].dtype, target).data == chosen[name].data
        if not same:
            raise Failed("%s: what was written differs from the source" % target)
        print("checked: %d tensors, texts and checksums are right" % len(again))


def to_hf(source, folder):
    tensors, metadata = read_safetensors(source)
    check(metadata.get("lexformer.format") == "1", source, "lexformer.format is %r, expected '1'" % metadata.get("lexformer.format"))
    config = parse_json(metadata.get("lexformer.config", ""), source + ": lexformer.config")
    check(isinstance(config, dict), source, "lexformer.config is no JSON object")
    flags = parse_json(metadata.get("lexformer.tokenizer", "{}"), source + ": lexformer.tokenizer")
    kinds = {tensor.dtype for tensor in tensors.values()}
    for key in ("torch_dtype", "dtype"):  # newer transformers load in the type that is named here
        if key in config and len(kinds) == 1:
            config[key] = TORCH_NAMES.get(kinds.pop(), "float32")
            break
    extra = sorted(name for name in tensors if name.startswith("lexformer."))
    if extra:
        print("note: %d tensors of lexformer alone (%s, ...) mean nothing to transformers" % (len(extra), extra[0]))
    os.makedirs(folder, exist_ok=True)

    def put(name, *parts):
        write_bytes(os.path.join(folder, name), *(part.encode() if isinstance(part, str) else part for part in parts))

    def pretty(value):
        return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    write_safetensors(os.path.join(folder, "model.safetensors"), tensors, {})
    put("config.json", pretty(config))
    if "lexformer.vocab" in metadata:
        put("vocab.txt", metadata["lexformer.vocab"])
        known = ("do_lower_case", "strip_accents", "tokenize_chinese_chars") + tuple(SPECIAL)
        tokenizer = {key: flags[key] for key in known if key in flags}
        tokenizer.update(tokenizer_class="BertTokenizer", model_max_length=config.get("max_position_embeddings", 512))
        put("tokenizer_config.json", pretty(tokenizer))
    print("wrote %s: %d tensors" % (folder, len(tensors)))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="a folder, a weight file, or with --to-hf a .lxf file")
    parser.add_argument("target", nargs="?", help="the .lxf file to write")
    parser.add_argument("--to-hf", metavar="FOLDER", help="export to this folder instead")
    parser.add_argument("--dtype", choices=FLOATS, default="F32", help="of the tensors that are written (default: F32)")
    parser.add_argument("--check", action="store_true", help="read the result again and compare it with the source")
    parser.add_argument("--allow-non-finite", action="store_true", help="take weights that are NaN or infinite")
    options = parser.parse_args(arguments)
    if (options.target is None) == (options.to_hf is None):
        parser.error("name either the .lxf file to write or --to-hf FOLDER")
    try:
        if sys.byteorder != "little":
            raise Failed("this program needs a little-endian machine")
        if options.to_hf is not None:
            to_hf(options.source, options.to_hf)
        else:
            to_lxf(options.source, options.target, options.dtype, options.allow_non_finite, options.check)
        return 0
    except BadFile as error:
        message, code = error, 3
    except (Failed, OSError) as error:
        message, code = error, 1
    print(" ".join(str(message).split()), file=sys.stderr)  # one line, whatever a file's name holds
    return code


if __name__ == "__main__":
    sys.exit(main())
