#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Converts a HuggingFace BERT or Electra checkpoint to a .lxf file (docs/format.md), and back.

    convert_hf.py FOLDER MODEL.lxf            config.json, vocab.txt or tokenizer.json, tokenizer_config.json and the weights
                                              (model.safetensors or pytorch_model.bin, also sharded); a sentence-transformers
                                              folder too. Instead of FOLDER: one weight file; its folder has the rest.
    convert_hf.py MODEL.lxf --to-hf FOLDER    writes a new folder that transformers loads (also: MODEL.lxf FOLDER --to-hf);
                                              sentence-transformers loads a cross-encoder or a sentence encoder from it
    convert_hf.py MODEL.lxf SMALL.lxf --dtype BF16    the same model in another storage type
    convert_hf.py MODEL.lxf SMALL.lxf --dtype I8      for scoring alone: the encoder's linear layers in 8 bits, other tensors as they are

Needs Python 3.8 or later and nothing else. Executes no code from a checkpoint: the unpickler for .bin files accepts
only the names that tensors need. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 bad file.
"""

import argparse
import array
import collections
import contextlib
import hashlib
import io
import json
import math
import os
import pickle
import re
import shutil
import stat
import struct
import sys
import zipfile
import zlib

VERSION = "0.3.0"  # same as include/lexformer/version.hpp
WIDTHS = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1}
FLOATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}  # with PyTorch's names
INT8_LAYER = re.compile(r"(bert|electra)\.encoder\.layer\.\d+\.(attention\.self\.(query|key|value)|attention\.output\.dense|"
                        r"intermediate\.dense|output\.dense)\.weight")
SUPPORTED = "lexformer reads BERT's WordPiece (model types bert and electra)"
SPECIAL = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
TOKENIZER_KEYS = ("do_lower_case", "strip_accents", "tokenize_chinese_chars", *SPECIAL)  # in tokenizer_config.json
TOKENIZER_CLASSES = ("BertTokenizer", "BertTokenizerFast", "ElectraTokenizer", "ElectraTokenizerFast", "PreTrainedTokenizerFast",
                     "TokenizersBackend")

Tensor = collections.namedtuple("Tensor", "dtype shape data")  # data: bytes, little-endian, C order


class Stop(Exception):
    """Ends the program with an exit code and a one-line message that begins with a file name."""


def check(condition, path, message):
    if not condition:
        raise Stop(3, "%s: %s" % (path, message))


def shown(value):
    """An untrusted value for a message, at bounded cost: repr() of nested or shared lists takes exponential time."""
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else value[:80] + "...")
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 1 << 128):
        return repr(value)
    if isinstance(value, (list, tuple)) and len(value) <= 8 and not any(isinstance(item, (list, tuple, dict)) for item in value):
        return "[%s]" % ", ".join(map(shown, value))
    return "a value of type %s" % type(value).__name__


def one_line(text, limit=1000):
    """A message without line breaks and control characters, shortened in the middle if it is too long."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= limit else text[:limit - 250] + " ... " + text[-245:]


# --- files and JSON ----------------------------------------------------------------------------------------------------------

MAX_FILE = 1 << 36  # bytes, as in io/file.hpp
MAX_JSON = 64 << 20
files_read = set()  # never overwritten


def read_bytes(path, limit=MAX_FILE):
    """The bytes of a regular file; a device or a pipe may have no end."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        check(stat.S_ISREG(status.st_mode), path, "is no regular file")
        check(status.st_size <= limit, path, "has %d bytes, more than the %d that are read of such a file" % (status.st_size, limit))
        start = file.read(16)
        if path.endswith(".safetensors"):  # before reading gigabytes of something else
            check_start(start, status.st_size, path)
        files_read.add(os.path.realpath(path))
        return start + file.read()


def write_bytes(path, *parts):
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def staged(path):
    """A temporary name in the folder of `path`; the file or folder replaces `path` when it is complete and is removed on failure."""
    temporary = os.path.join(os.path.dirname(os.path.abspath(path)), ".%s.tmp-%d" % (os.path.basename(os.path.abspath(path)), os.getpid()))
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise Stop(1, "%s: cannot be written: %s" % (path, error.strerror))
    finally:
        if os.path.isdir(temporary):
            shutil.rmtree(temporary)
        elif os.path.exists(temporary):
            os.remove(temporary)


def parse_json(text, where, kind=dict):
    def unique(pairs):
        keys = dict(pairs)
        check(len(keys) == len(pairs), where, "a key occurs twice in one object")
        return keys

    try:
        value = json.loads(text.decode() if isinstance(text, bytes) else text, object_pairs_hook=unique)
        dump_json(value).encode()  # fails for values that json.loads accepts but UTF-8 JSON cannot represent: NaN, 1e999, lone surrogates
    except (ValueError, RecursionError) as error:
        raise Stop(3, "%s: not JSON: %s" % (where, error))
    check(isinstance(value, kind), where, "is %s, expected %s" % (type(value).__name__, kind.__name__))
    return value


def read_json(path, kind=dict):
    return parse_json(read_bytes(path, MAX_JSON), path, kind)


def dump_json(value):
    """JSON as lexformer writes it: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def is_size(value, low=0, high=2**63):
    return type(value) is int and low <= value <= high


def is_text(value):
    """Whether the value is a string without lone surrogates, so that UTF-8 can encode it."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def get(config, key, kind, path, default=None):
    value = config.get(key)
    if value is None:
        return default
    check(type(value) is kind, path, "'%s' is %s, expected %s" % (key, shown(value), kind.__name__))
    return value


# --- safetensors -------------------------------------------------------------------------------------------------------------


def check_start(start, size, path):
    """The header length of a safetensors file of `size` bytes, from its first 9 bytes."""
    length = int.from_bytes(start[:8], "little")
    check(10 <= 8 + length <= size and length <= 16 << 20, path, "its %d bytes are no safetensors file, or one that is cut off" % size)
    check(start[8:9] == b"{", path, "the header does not begin with '{'; this is no safetensors file")
    return length


def parse_safetensors(content, path):
    """Returns tensors and metadata; refuses anything but a valid safetensors file."""
    length = check_start(content[:9], len(content), path)
    header = parse_json(content[8:8 + length], path + ": header")
    data = memoryview(content)[8 + length:]
    metadata = header.pop("__metadata__", {})
    texts = isinstance(metadata, dict) and all(isinstance(text, str) for text in metadata.values())
    check(texts, path, "__metadata__ holds something other than texts")
    tensors, position = {}, 0
    try:
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            here, dtype, shape, offsets = "%s: tensor %s" % (path, shown(name)), entry["dtype"], entry["shape"], entry["data_offsets"]
            check(len(entry) == 3, here, "expected an object of dtype, shape and data_offsets, it has %d keys" % len(entry))
            check(isinstance(dtype, str) and dtype in WIDTHS, here, "unknown dtype %s" % shown(dtype))
            check(len(shape) <= 8 and all(map(is_size, shape)), here, "the shape %s is not possible" % shown(shape))
            end = position + math.prod(shape) * WIDTHS[dtype]
            check(offsets == [position, end] and all(map(is_size, offsets)), here,
                  "its data_offsets are %s, expected %s; the file is damaged" % (shown(offsets), shown([position, end])))
            check(end <= len(data), here, "it ends at byte %d of the data, but there are %d; the file is cut off" % (end, len(data)))
            tensors[name] = Tensor(dtype, tuple(shape), data[position:end])
            position = end
    except (KeyError, TypeError):
        raise Stop(3, "%s: the header is damaged: not every tensor has dtype, shape and data_offsets" % path)
    check(position == len(data), path, "%d bytes follow the last tensor; the file is damaged" % (len(data) - position))
    if "lexformer.crc32" in metadata:
        sums = parse_json(metadata["lexformer.crc32"], path + ": lexformer.crc32")
        for name, tensor in tensors.items():
            check(sums.get(name) == zlib.crc32(tensor.data), path, "tensor %s: its checksum does not fit; the file is damaged" % shown(name))
    return tensors, metadata


def write_safetensors(path, tensors, metadata):
    """Writes the same bytes as TensorFile::write in io/safetensors.hpp."""
    order = sorted(tensors, key=lambda name: (-WIDTHS[tensors[name].dtype], name))
    sums = {name: zlib.crc32(tensors[name].data) for name in order}
    text, position = '{"__metadata__":' + dump_json({**metadata, "format": "pt", "lexformer.crc32": dump_json(sums)}), 0
    for name in order:
        dtype, shape, data = tensors[name]
        text += ',%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}' % (
            dump_json(name), dtype, dump_json(shape), position, position + len(data))
        position += len(data)
    header = (text + "}").encode()
    header += b" " * (-(len(header) + 8) % 64)
    write_bytes(path, struct.pack("<Q", len(header)), header, *(tensors[name].data for name in order))


# --- pytorch_model.bin -------------------------------------------------------------------------------------------------------

STORAGES = {"DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "LongStorage": "I64",
            "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8", "BoolStorage": "BOOL"}


# The opcodes of torch.save, protocols 2 to 4. Only SETITEM and SETITEMS hash values of the pickle.
INSTRUCTIONS = [getattr(pickle, name) for name in (
    "PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE SHORT_BINUNICODE GLOBAL STACK_GLOBAL "
    "BINPERSID EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS REDUCE BUILD BINPUT LONG_BINPUT "
    "BINGET LONG_BINGET MEMOIZE").split()]


def parse_bin(content, path):
    """The tensors of a zip file in the format of torch.save since PyTorch 1.6."""
    check(zipfile.is_zipfile(io.BytesIO(content)), path,
          "is no zip file: it is damaged, or PyTorch before 1.6 wrote it; load and save it with a newer one")

    def stored(name):
        check(name in entries, path, "the entry %s is missing" % shown(name))
        check(entries[name].compress_type == zipfile.ZIP_STORED, path, "the entry %s is compressed, which torch.save never does" % shown(name))
        return archive.read(name)

    def rebuild_tensor(storage, offset, shape, stride, *_):
        dtype, data = storage
        check(len(shape) == len(stride) <= 8 and all(map(is_size, (offset, *shape, *stride))), path, "a tensor of it is damaged")
        count, there = math.prod(shape), len(data) // WIDTHS[dtype]
        last = offset + sum((n - 1) * s for n, s in zip(shape, stride))
        check(count == 0 or count <= there and last < there, path, "a tensor lies outside its storage")
        return Tensor(dtype, tuple(shape), gather(data, WIDTHS[dtype], offset, shape, stride) if count else b"")

    allowed = {("collections", "OrderedDict"): lambda: collections.OrderedDict(),  # no constructor arguments
               ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
               ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor}
    allowed.update({("torch", name): dtype for name, dtype in STORAGES.items()})

    class Unpickler(pickle._Unpickler):  # the pure-Python version, whose opcodes can be restricted
        def find_class(self, module, name):
            check((module, name) in allowed, path, "the pickle asks for %s, which no weights need; it is not loaded" % shown(module + "." + name))
            return allowed[module, name]

        def persistent_load(self, pid):
            _, dtype, key, _, count = pid
            check(isinstance(dtype, str) and isinstance(key, str) and is_size(count), path, "a storage of it is damaged")
            data = stored(root + "data/" + key)
            check(len(data) == count * WIDTHS[dtype], path, "the storage %s has the wrong size" % shown(key))
            return dtype, data

        # Keys must be strings: hashing nested, shared tuples takes exponential time.
        def load_setitem(self):
            check(isinstance(self.stack[-2], str), path, "a key of a dictionary is no text")
            super().load_setitem()

        def load_setitems(self):
            check(all(isinstance(key, str) for key in self.stack[::2]), path, "a key of a dictionary is no text")
            super().load_setitems()

        dispatch = {code[0]: pickle._Unpickler.dispatch[code[0]] for code in INSTRUCTIONS}
        dispatch[pickle.SETITEM[0]], dispatch[pickle.SETITEMS[0]] = load_setitem, load_setitems

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            pickles = [name for name in entries if name.endswith("/data.pkl") and name.count("/") == 1]
            check(len(pickles) == 1, path, "holds no data.pkl; this is no file of torch.save")
            root = pickles[0][:-len("data.pkl")]
            check(root + "byteorder" not in entries or stored(root + "byteorder") == b"little", path, "is not little-endian")
            tensors = Unpickler(io.BytesIO(stored(pickles[0]))).load()
    except Stop:
        raise
    except Exception as error:  # a damaged pickle or zip raises almost anything
        raise Stop(3, "%s: is damaged: %s: %.200s" % (path, type(error).__name__, error))
    check(isinstance(tensors, dict), path, "holds no dictionary of tensors")
    for name, tensor in tensors.items():
        check(is_text(name), path, "the name %s is no text in UTF-8" % shown(name))
        check(isinstance(tensor, Tensor), path, "%s is no tensor" % shown(name))
    return tensors


def gather(data, width, offset, shape, stride):
    """The elements in C order."""
    axes, run = list(zip(shape, stride)), 1
    while axes and (axes[-1][0] == 1 or axes[-1][1] == run):  # the last axes are often contiguous, with `run` elements
        run *= axes.pop()[0]
    starts = [offset]
    for size, step in axes:
        starts = [start + i * step for start in starts for i in range(size)]
    return b"".join(data[start * width:(start + run) * width] for start in starts)


# --- element types -----------------------------------------------------------------------------------------------------------


def values(tensor):
    """The elements of a floating-point tensor."""
    if tensor.dtype == "F16":
        return array.array("f", struct.unpack("<%de" % (len(tensor.data) // 2), tensor.data))
    data = tensor.data
    if tensor.dtype == "BF16":  # the upper half of a float
        data = bytearray(2 * len(tensor.data))
        data[2::4], data[3::4] = tensor.data[0::2], tensor.data[1::2]
    numbers = array.array("d" if tensor.dtype == "F64" else "f")
    numbers.frombytes(data)
    return numbers


def is_finite(numbers):
    return math.isfinite(sum(numbers)) or all(map(math.isfinite, numbers))  # the sum may overflow, but is much faster


def to_int8(tensor, where):
    """The integers of a weight (out, in) and their scales (out): scale = max |w| / 127 in float, integer = w / scale, rounded to the
    nearest, ties to even. The same as quantize_rows in kernels/products/int8_weights.hpp."""
    numbers = array.array("f", values(tensor))
    check(is_finite(numbers), where, "holds NaN or infinite values; the model is broken")
    rows, columns = tensor.shape
    scales, integers = array.array("f"), array.array("b")
    for row in range(rows):
        part = numbers[row * columns:(row + 1) * columns]
        scales.append(max(map(abs, part), default=0.0) / 127)
        scale = scales[-1]
        integers.extend([max(-127, min(127, round(x / scale))) for x in part] if scale > 0 else [0] * columns)
    return Tensor("I8", tensor.shape, integers.tobytes()), Tensor("F32", (rows,), scales.tobytes())


def convert(tensor, dtype, where):
    """The tensor as `dtype`, rounded to the nearest, ties to even."""
    numbers = values(tensor)
    check(is_finite(numbers), where, "holds NaN or infinite values; the model is broken")
    if tensor.dtype == dtype:
        return tensor
    too_large = "a value is too large for %s; choose another --dtype" % dtype
    try:
        if dtype == "F16":
            data = struct.pack("<%de" % len(numbers), *numbers)
        else:
            data = array.array("d" if dtype == "F64" else "f", numbers).tobytes()
    except OverflowError:
        raise Stop(3, "%s: %s" % (where, too_large))
    if dtype == "BF16":
        data = array.array("H", ((w + 0x7FFF + ((w >> 16) & 1)) >> 16 for w in array.array("I", data))).tobytes()
    out = Tensor(dtype, tensor.shape, data)
    check(is_finite(values(out)), where, too_large)
    return out


# --- tokenizer ---------------------------------------------------------------------------------------------------------------

# Unicode White_Space only: str.rstrip() without arguments would also strip U+001C ... U+001F.
WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"


def read_tokenizer(folder):
    """The vocabulary (a list of strings, "" for an id without token) and the settings under HuggingFace's names."""
    flags = dict(SPECIAL, do_lower_case=True, strip_accents=None, tokenize_chinese_chars=True, clean_text=True,
                 max_input_chars_per_word=100, match_special_tokens=True)

    def put(key, value, path):
        value = value.get("content") if key in SPECIAL and isinstance(value, dict) else value
        kind = bool if key == "strip_accents" else type(flags[key])
        check(value is None or type(value) is kind, path, "the value of %r is %s, expected %s" % (key, shown(value), kind.__name__))
        if value is not None or key == "strip_accents":  # null: same as do_lower_case
            flags[key] = value

    path = os.path.join(folder, "tokenizer.json")
    if os.path.exists(path):
        root = read_json(path)
        for part, kind in (("model", "WordPiece"), ("normalizer", "BertNormalizer"), ("pre_tokenizer", "BertPreTokenizer")):
            found = root[part].get("type", kind) if isinstance(root.get(part), dict) else root.get(part)
            check(found == kind, path, "%s is %s, expected %s; %s" % (part, shown(found), kind, SUPPORTED))
        model, normalizer = root["model"], root["normalizer"]
        check(model.get("continuing_subword_prefix") == "##", path, "'continuing_subword_prefix' is not '##'")
        for key in ("unk_token", "max_input_chars_per_word"):
            put(key, model.get(key), path)
        for key, theirs in (("do_lower_case", "lowercase"), ("tokenize_chinese_chars", "handle_chinese_chars"),
                            ("clean_text", "clean_text"), ("strip_accents", "strip_accents")):
            put(key, normalizer.get(theirs), path)
        tokens = read_vocabulary(root, [flags[key] for key in SPECIAL], path)
    else:
        path = os.path.join(folder, "vocab.txt")
        check(os.path.exists(path), folder, "there is neither vocab.txt nor tokenizer.json in this folder; " + SUPPORTED)
        try:
            lines = read_bytes(path).decode().split("\n")
        except UnicodeDecodeError as error:
            raise Stop(3, "%s: not UTF-8 at byte %d" % (path, error.start + 1))
        tokens = [line.rstrip(WHITE) for line in (lines[:-1] if lines[-1] == "" else lines)]
    path = os.path.join(folder, "tokenizer_config.json")
    if os.path.exists(path):
        config = read_json(path)
        kind = config.get("tokenizer_class")
        check(kind in (None, *TOKENIZER_CLASSES), path, "'tokenizer_class' is %s, which is not supported; %s" % (shown(kind), SUPPORTED))
        check(config.get("do_basic_tokenize") is not False, path, "'do_basic_tokenize' is false, which is not supported")
        for key in TOKENIZER_KEYS:
            if key in config:
                put(key, config[key], path)
        for entry in get(config, "added_tokens_decoder", dict, path, {}).values():
            check_added(entry.get("content") if isinstance(entry, dict) else None, [flags[key] for key in SPECIAL], path)
    path = os.path.join(folder, "added_tokens.json")  # of a tokenizer without tokenizer.json
    for token in read_json(path) if os.path.exists(path) else ():
        check_added(token, [flags[key] for key in SPECIAL], path)
    for key in ("unk_token", "cls_token", "sep_token"):
        check(flags[key] in tokens, folder, "the vocabulary of %d tokens has no %r" % (len(tokens), flags[key]))
    return tokens, flags


def check_added(token, special, path):
    """Other added tokens would have to be found in a text before it is split into words."""
    check(token in special, path, "added token %s is not supported; only [UNK], [CLS], [SEP], [PAD] and [MASK] are" % shown(token))


def read_vocabulary(root, special, path):
    """The vocabulary and settings of a tokenizer.json."""
    ids = dict(get(root["model"], "vocab", dict, path, {}))
    for entry in get(root, "added_tokens", list, path, []):
        token = entry.get("content") if isinstance(entry, dict) else None
        check_added(token, special, path)
        check(ids.setdefault(token, entry.get("id")) == entry.get("id"), path, "the token %s has two ids" % shown(token))
    tokens = {}
    for token, number in ids.items():
        possible = token and "\n" not in token and is_size(number, 0, 4 << 20)
        check(possible, path, "the token %s with id %s is not possible" % (shown(token), shown(number)))
        check(number not in tokens, path, "two tokens have the id %d" % number)
        tokens[number] = token
    return [tokens.get(i, "") for i in range(max(tokens, default=-1) + 1)]


# --- the model ---------------------------------------------------------------------------------------------------------------

BERT = {"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 512, "type_vocab_size": 2}
POSITIONS = ("absolute", "relative_key", "relative_key_query")
OUR_POSITIONS = ("shaw", "bert_r", "ddrp", "tupe", "deberta", "t5", "alibi", "rope")
ELECTRA = {**BERT, "embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}


def complete_config(config, where):
    """Checks all sizes and inserts missing keys with BertConfig's and ElectraConfig's defaults."""
    kind = get(config, "model_type", str, where, "bert")  # configs before 2020 lack it; BertModel still loads them
    check(kind in ("bert", "electra"), where, "'model_type' is %s, which is not supported; %s" % (shown(kind), SUPPORTED))
    check(not get(config, "is_decoder", bool, where), where, "'is_decoder' is true; only encoders are supported")
    check(get(config, "position_embedding_type", str, where, "absolute") in POSITIONS, where,
          "'position_embedding_type' is %s; transformers has %s" % (shown(config.get("position_embedding_type")), ", ".join(POSITIONS)))
    config["model_type"] = kind
    for key, default in (ELECTRA if kind == "electra" else BERT).items():
        config[key] = size = default if config.get(key) is None else config[key]
        most = 256 if key == "num_hidden_layers" else 1 << 24
        check(is_size(size, 1, most), where, "%r is %s, expected a whole number from 1 to %d" % (key, shown(size), most))
    check(config["hidden_size"] % config["num_attention_heads"] == 0, where, "'hidden_size' is no multiple of 'num_attention_heads'")
    return config


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


def is_plain_name(name):
    return isinstance(name, str) and re.fullmatch(r"[^./\0][^/\0]*", name) is not None


def read_weights(path):
    """All tensors of a weight file, or of the files that an index lists, and the SHA-256 of the files."""
    folder, file = os.path.split(path)
    index, files = None, {file}
    if file.endswith(".json"):
        index = get(read_json(path), "weight_map", dict, path, {})
        check(index and all(map(is_plain_name, index.values())), path, "'weight_map' does not give a plain file name for each tensor")
        files = set(index.values())
    tensors, digest = {}, hashlib.sha256()
    for file in sorted(files):
        part = os.path.join(folder, file)
        content = read_bytes(part)
        digest.update(content)
        found = parse_safetensors(content, part)[0] if file.endswith(".safetensors") else parse_bin(content, part)
        for name in found:
            check(index is None or index.get(name) == file, path, "does not place tensor %s in %s, which holds it" % (shown(name), shown(file)))
        tensors.update(found)
    for name in index or ():
        check(name in tensors, path, "tensor %s is in none of the files" % shown(name))
    return tensors, digest.hexdigest()


DENSE_ACTIVATIONS = {"Tanh": "tanh", "Identity": "identity", "ReLU": "relu", "GELU": "gelu"}


def weights_of(folder):
    """The weight file of a folder."""
    weights = next(filter(os.path.exists, (os.path.join(folder, name) for name in WEIGHTS)), None)
    check(weights is not None, folder, "there is neither model.safetensors nor pytorch_model.bin in this folder")
    return weights


def read_dense(folder, number):
    """The activation of a Dense module of sentence-transformers, and its tensors; a bias that it lacks is 0."""
    path, weights = os.path.join(folder, "config.json"), weights_of(folder)
    config = read_json(path)
    for key in ("module_input_name", "module_output_name"):
        check(get(config, key, str, path, "sentence_embedding") == "sentence_embedding", path,
              "the Dense module does not go from sentence vector to sentence vector (%r), which is not supported" % key)
    name = get(config, "activation_function", str, path, "")
    kind = name.rsplit(".", 1)[-1]
    check(kind in DENSE_ACTIVATIONS, path, "the activation function %s is not supported; Tanh, Identity, ReLU and GELU are" % shown(name))
    tensors, _ = read_weights(weights)
    weight = tensors.get("linear.weight")
    check(weight is not None and len(weight.shape) == 2, weights, "there is no matrix 'linear.weight'")
    bias = tensors.get("linear.bias", Tensor(weight.dtype, weight.shape[:1], bytes(WIDTHS[weight.dtype] * weight.shape[0])))
    return DENSE_ACTIVATIONS[kind], {"lexformer.dense.%d.weight" % number: weight, "lexformer.dense.%d.bias" % number: bias}


def read_modules(folder):
    """For a sentence-transformers folder: the folder of the transformer, the settings of a sentence encoder and its Dense tensors."""
    path = os.path.join(folder, "modules.json")
    if not os.path.exists(path):
        return folder, None, {}
    modules = read_json(path, list)
    check(all(isinstance(m, dict) and isinstance(m.get("type"), str) and (m.get("path") == "" or is_plain_name(m.get("path")))
              for m in modules), path, "expected a list of modules, each with its type and its folder in this one")
    transformer, ours, dense, tensors = folder, {}, [], {}
    for module in modules:
        kind, place = module["type"].rsplit(".", 1)[-1], os.path.join(folder, module["path"])
        if kind == "Transformer":
            transformer = place
        elif kind == "Pooling":
            file = os.path.join(place, "config.json")
            config = read_json(file)
            # Newer versions write "pooling_mode": "mean", older ones one flag per mode.
            flags = [key[13:] for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
            mode = "".join([get(config, "pooling_mode", str, file, "")] + flags)
            mode = {"mean_tokens": "mean", "cls_token": "cls", "max_tokens": "max"}.get(mode, mode)
            check(mode in ("mean", "cls", "max"), file, "pooling %s is not supported; mean, cls and max are" % shown(mode))
            ours["pooling"] = mode
        elif kind == "Dense":
            check("pooling" in ours and "normalize" not in ours, path, "a Dense module is not between Pooling and Normalize, which is not supported")
            activation, found = read_dense(place, len(dense))
            dense.append(activation)
            tensors.update(found)
        elif kind == "Normalize":
            ours["normalize"] = True
        else:
            check(kind == "Dropout", path, "the module %s is not supported; Transformer, Pooling, Dense and Normalize are" % shown(kind))
    if "pooling" not in ours:
        return transformer, None, {}
    path = os.path.join(folder, "config_sentence_transformers.json")
    config = read_json(path) if os.path.exists(path) else {}
    prompt = get(config, "default_prompt_name", str, path)
    check(not (prompt and get(config, "prompts", dict, path, {}).get(prompt)), path,
          "the default prompt %s is not supported; set default_prompt_name to null and put the prompt before your texts" % shown(prompt))
    ours.setdefault("normalize", False)
    ours.update(text_length(transformer))
    if dense:
        ours["dense"] = dense
    return transformer, ours, tensors


def text_length(folder):
    """{"max_length": most tokens of a text} by the settings of sentence-transformers or of the tokenizer, {} if neither says."""
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        path = os.path.join(folder, name)
        length = read_json(path).get(key) if os.path.exists(path) else None
        if is_size(length, 1, (1 << 20) + 1):  # transformers writes 10^30 for "any number"
            return {"max_length": length}
    return {}


def label_count(config, tensors):
    """The number of outputs of the classification head, None without one."""
    head = tensors.get("classifier.out_proj.weight" if config["model_type"] == "electra" else "classifier.weight")
    return head.shape[0] if head is not None and len(head.shape) == 2 else None


def read_cross_encoder(root, config, tensors, path):
    """What sentence-transformers says of a CrossEncoder: {"activation": "sigmoid" or "identity", "max_length": most tokens of a pair}; {} for
    other models. By default the activation is the sigmoid for one label and the identity for more."""
    labels, theirs = label_count(config, tensors), get(config, "sentence_transformers", dict, path)
    if labels is None:
        return {}
    name = get(config, "sbert_ce_default_activation_function", str, path)  # versions before 4
    name = get(theirs or {}, "activation_fn", str, path, name)
    own, length = os.path.join(root, "config_sentence_transformers.json"), text_length(os.path.dirname(path))
    if os.path.isfile(own):  # version 6
        found = get(read_json(own), "activation_fn", str, own)
        name, path = (found, own) if found else (name, path)
    if name is None and theirs is None:
        return {}
    if name is None and labels > 1:
        return length
    kind = "Sigmoid" if name is None else name.rsplit(".", 1)[-1]
    check(kind in ("Sigmoid", "Identity"), path, "the activation function %s is not supported; Sigmoid and Identity are" % shown(name))
    return {"activation": kind.lower(), **length}


def to_lxf(source, target, dtype, verify):
    check(os.path.exists(source), source, "there is no such file or folder")
    root = source if os.path.isdir(source) else os.path.dirname(source)
    folder, ours, dense = read_modules(root)
    weights = weights_of(folder) if os.path.isdir(source) else source
    path = os.path.join(folder, "config.json")
    config = complete_config(read_json(path), path)
    tokens, flags = read_tokenizer(folder)
    check(len(tokens) <= config["vocab_size"], folder,
          "the vocabulary has %d tokens, the config allows %d ('vocab_size')" % (len(tokens), config["vocab_size"]))
    raw, digest = read_weights(weights)
    chosen, rows = select({**raw, **dense}, config, source)
    print_table(rows)
    missing = [old or new for status, old, new in rows if status == "MISSING"]
    unknown = [old for status, old, reason in rows if reason == "unknown to lexformer"]
    check(not missing, source, "%d needed tensors are missing or of the wrong shape, as %s%s; the table shows all"
          % (len(missing), shown(missing and missing[0]), " (while %s is unknown)" % shown(unknown[0]) if unknown else ""))
    ours = {**(ours or {}), **read_cross_encoder(root, config, chosen, path)}
    if ours:
        before = get(config, "lexformer", dict, path, {})  # of a folder that --to-hf wrote
        config["lexformer"] = {**{key: value for key, value in before.items() if key not in ("dense", "max_length")}, **ours}
    vocab = "".join(token + "\n" for token in tokens)
    metadata = {"lexformer.format": "1", "lexformer.version": VERSION, "lexformer.config": dump_json(config), "lexformer.vocab": vocab,
                "lexformer.vocab_crc32": str(zlib.crc32(vocab.encode())), "lexformer.tokenizer": dump_json(flags),
                "lexformer.source_sha256": digest}
    write_lxf(target, source, chosen, metadata, dtype, verify)


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


MAX_LABELS = 65536  # same as models/cross_encoder_options.hpp


def activation_of(sigmoid):
    """The key "sentence_transformers" of a CrossEncoder's config."""
    return {"activation_fn": "torch.nn.modules." + ("activation.Sigmoid" if sigmoid else "linear.Identity")}


def describe_head(config, tensors, where):
    """transformers makes a head with one output per entry of id2label; this sets id2label for a model of train_matcher."""
    ours = config.get("lexformer")
    if not isinstance(ours, dict):
        return
    if "head" not in ours:  # converted, not trained
        if ours.get("activation") in ("sigmoid", "identity") and label_count(config, tensors) is not None:
            config["sentence_transformers"] = activation_of(ours["activation"] == "sigmoid")
        return
    for key in ("num_labels", "id2label", "label2id", "problem_type"):
        config.pop(key, None)  # from the model before training
    plain = ours["head"] == "huggingface"
    config["architectures"] = [config["model_type"].capitalize() + ("ForSequenceClassification" if plain else "Model")]
    if plain:
        count, rows = get(ours, "labels", int, where, 0), label_count(config, tensors)
        check(is_size(count, 1, MAX_LABELS), where, "'labels' is %s, expected a whole number from 1 to %d" % (shown(count), MAX_LABELS))
        check(rows in (None, count), where, "'labels' is %d, but the classification head has %s outputs" % (count, rows))
        names = get(ours, "label_names", list, where) or ["LABEL_%d" % i for i in range(count)]
        check(names and len(names) == count and all(isinstance(name, str) for name in names), where, "'label_names' does not fit 'labels'")
        config.update(num_labels=count, id2label={str(i): name for i, name in enumerate(names)},
                      label2id={name: i for i, name in enumerate(names)},
                      problem_type="regression" if ours.get("task") == "regression" else "single_label_classification")
        # What CrossEncoder of sentence-transformers applies to the logits; of several classes it returns the logits.
        sigmoid = count == 1 and ours.get("activation") == "sigmoid"
        config["sentence_transformers"] = activation_of(sigmoid)


def sentence_files(ours, tensors, width, longest, where):
    """The files that make a folder one of sentence-transformers, and the tensors of the Dense modules, file by file."""
    mode, length = get(ours, "pooling", str, where), get(ours, "max_length", int, where, longest)
    check(mode in ("mean", "cls", "max"), where, "'pooling' is %s, expected mean, cls or max" % shown(mode))
    flags = {"pooling_mode_%s" % key: key.startswith(mode) for key in ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")}
    flags["pooling_mode_mean_sqrt_len_tokens"] = False
    kinds, files, weights = ["Transformer", "Pooling"], {"1_Pooling/config.json": dict(flags, word_embedding_dimension=width)}, {}
    for number, name in enumerate(get(ours, "dense", list, where, [])):
        kind = next((key for key, value in DENSE_ACTIVATIONS.items() if value == name), None)
        parts = {"linear." + part: tensors.get("lexformer.dense.%d.%s" % (number, part)) for part in ("weight", "bias")}
        check(kind and None not in parts.values() and len(parts["linear.weight"].shape) == 2, where,
              "'dense' names %s, which is no activation or has no tensors" % shown(name))
        place = "%d_Dense/" % len(kinds)
        rows, columns = parts["linear.weight"].shape
        files[place + "config.json"] = dict(in_features=columns, out_features=rows, bias=True, activation_function="torch.nn.modules.%s.%s" % (
            "linear" if kind == "Identity" else "activation", kind))
        weights[place + "model.safetensors"] = parts
        kinds.append("Dense")
    if get(ours, "normalize", bool, where, False):
        kinds.append("Normalize")
    files["modules.json"] = [dict(idx=i, name=str(i), path="%d_%s" % (i, kind) if i else "", type="sentence_transformers.models." + kind)
                             for i, kind in enumerate(kinds)]
    files["sentence_bert_config.json"] = {"max_seq_length": length, "do_lower_case": False}
    files["config_sentence_transformers.json"] = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}
    return files, weights


def parse_lxf(source):
    tensors, metadata = parse_safetensors(read_bytes(source), source)
    version = metadata.get("lexformer.format")
    check(version is not None, source, "has no lexformer.format, so it is no .lxf file")
    check(version == "1", source, "its lexformer.format is %s; this program reads version 1" % shown(version))
    check(all(tensor.dtype != "I8" for tensor in tensors.values()), source,
          "holds weights in 8 bits, which are for scoring; convert the model in float that it was made from")
    return tensors, metadata


def to_hf(source, folder):
    # transformers could read other files in the folder, e.g. an old tokenizer.json, as a part of the model.
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise Stop(2, "%s: exists and is no empty folder; name a new one" % folder)
    tensors, metadata = parse_lxf(source)
    where = source + ": lexformer.config"
    config = complete_config(parse_json(metadata.get("lexformer.config", ""), where), where)
    describe_head(config, tensors, where)
    ours = get(config, "lexformer", dict, where, {})
    terms = [term["name"] if isinstance(term, dict) else term for term in get(ours, "attention", list, where, [])]
    foreign = [name for name in terms if name in OUR_POSITIONS]
    check(not foreign, where, "the position scheme is %s; transformers has %s" % (shown(foreign and foreign[0]), ", ".join(POSITIONS)))
    kinds = {tensor.dtype for tensor in tensors.values()}
    if len(kinds) == 1:  # newer transformers load in the type named here, even if the tensors have another
        config.update({key: FLOATS.get(*kinds) for key in ("torch_dtype", "dtype") if key in config})
    texts, dense, longest = {"config.json": config}, {}, config["max_position_embeddings"]
    if "pooling" in ours and "head" not in ours and "tagger" not in ours:  # of a sentence encoder
        files, dense = sentence_files(ours, tensors, config["hidden_size"], longest, where)
        texts.update(files)
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("lexformer.dense.")}
    longest = min(longest, get(ours, "max_length", int, where, longest))
    if "lexformer.vocab" in metadata:
        texts["vocab.txt"] = vocab = metadata["lexformer.vocab"]
        check(metadata.get("lexformer.vocab_crc32") == str(zlib.crc32(vocab.encode())), source, "lexformer.vocab does not fit its checksum")
        flags = parse_json(metadata.get("lexformer.tokenizer", ""), source + ": lexformer.tokenizer")
        texts["tokenizer_config.json"] = {key: flags[key] for key in TOKENIZER_KEYS if key in flags}
        texts["tokenizer_config.json"].update(tokenizer_class="BertTokenizer", model_max_length=longest)
    with staged(folder) as temporary:
        os.makedirs(temporary)
        for name in {os.path.dirname(name) for name in texts} - {""}:
            os.makedirs(os.path.join(temporary, name))
        for name, part in {"model.safetensors": tensors, **dense}.items():
            write_safetensors(os.path.join(temporary, name), part, {})
        for name, text in texts.items():
            text = text if isinstance(text, str) else json.dumps(text, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
            write_bytes(os.path.join(temporary, name), text.encode())
    print("wrote %s: %d tensors" % (folder, len(tensors)))
    beside = ours.get("position_embeddings") or get(config, "position_options", dict, where, {}).get("absolute")
    if beside and config.get("position_embedding_type", "absolute") != "absolute":
        print("note: transformers leaves out the absolute positions beside %s; its results differ" % config["position_embedding_type"])
    left_out = [one_line(name) for name in terms if name not in POSITIONS]
    if left_out:
        print("note: transformers leaves out the attention terms %s; its results differ" % ", ".join(left_out))
    extra = sorted(name for name in tensors if name.startswith("lexformer."))
    if extra:
        print("note: transformers leaves out lexformer's own tensors (%d, as %s); its results differ" % (len(extra), one_line(extra[0])))


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, "%s: %s; --help shows the usage\n" % (parser.prog, message))
    parser.add_argument("source", help="a folder or a weight file; with --to-hf or --dtype a .lxf file")
    parser.add_argument("target", nargs="?", help="the .lxf file to write; with --to-hf the new folder")
    parser.add_argument("--to-hf", metavar="FOLDER", nargs="?", const="", help="export to this new folder, which may also be given as TARGET")
    parser.add_argument("--dtype", choices=(*FLOATS, "I8"), help="storage type of the tensors in the .lxf file (default: F32); I8: of the linear layers")
    parser.add_argument("--check", action="store_true", help="read the written .lxf file and compare it with the model")
    options = parser.parse_args(arguments)
    if options.to_hf == "":  # FOLDER is before the option
        options.to_hf, options.target = options.target, None
    if (options.target is None) == (options.to_hf is None):
        parser.error("name either the .lxf file to write or --to-hf FOLDER")
    if options.to_hf is not None and (options.dtype or options.check):
        parser.error("--dtype and --check do not go with --to-hf, which writes the tensors as they are")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    files_read.clear()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # the terminal's encoding may lack characters of a name
    try:
        if sys.byteorder != "little":
            raise Stop(1, "convert_hf.py: needs a little-endian machine")
        if options.to_hf is not None:
            to_hf(options.source, options.to_hf)
        elif options.source.endswith(".lxf") and not os.path.isdir(options.source):
            check(options.dtype, options.source, "is a .lxf file already; --to-hf FOLDER turns it back, --dtype writes it in another type")
            lxf_to_lxf(options.source, options.target, options.dtype, options.check)
        else:
            to_lxf(options.source, options.target, options.dtype or "F32", options.check)
        return 0
    except Stop as stop:
        code, message = stop.args
    except OSError as error:  # staged() handles errors of written files: this is an input or the standard output
        code, message = (3, "%s: cannot be read: %s" % (error.filename, error.strerror)) if error.filename else (1, error)
    except MemoryError:
        code, message = 1, "%s: does not fit into memory" % options.source
    print(one_line(" ".join(str(message).split())), file=sys.stderr)  # one line, even if a file name has line breaks
    return code


if __name__ == "__main__":
    sys.exit(main())
