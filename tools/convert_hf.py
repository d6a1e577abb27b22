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
BERT_TOKENIZERS = ("BertTokenizer", "BertTokenizerFast", "ElectraTokenizer", "ElectraTokenizerFast")
WHOLE_TOKENIZERS = ("PreTrainedTokenizerFast", "TokenizersBackend")  # tokenizer.json alone says how a text is split

Tensor = collections.namedtuple("Tensor", "dtype shape data")  # data: bytes, little-endian, C order

# The keys of the files of a folder: used ones, those without an effect on an encoder, and those that may have only the values named
# (or null). Any other key is an error. The same text as in io/folder_keys.hpp.
FOLDER_KEYS = """\
config.json | used | model_type vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size max_position_embeddings
config.json | used | type_vocab_size embedding_size hidden_dropout_prob attention_probs_dropout_prob classifier_dropout layer_norm_eps
config.json | used | initializer_range position_embedding_type position_options lexformer is_decoder tie_word_embeddings problem_type
config.json | used | sentence_transformers sbert_ce_default_activation_function tokenizer_class id2label
config.json | "gelu" "gelu_python" "gelu_new" "gelu_fast" "gelu_pytorch_tanh" "quick_gelu" "relu" "silu" "swish" "tanh" | hidden_act
config.json | free | architectures _name_or_path name_or_path _commit_hash transformers_version torch_dtype dtype label2id num_labels
config.json | free | finetuning_task task_specific_params gradient_checkpointing use_cache output_attentions output_hidden_states
config.json | free | output_past return_dict torchscript chunk_size_feed_forward attn_implementation _attn_implementation
config.json | free | _attn_implementation_autoset pad_token_id bos_token_id eos_token_id sep_token_id cls_token_id mask_token_id
config.json | free | unk_token_id decoder_start_token_id model_max_length language directionality pooler_fc_size
config.json | free | pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type summary_activation
config.json | free | summary_first_dropout summary_last_dropout summary_type summary_use_proj summary_proj_to_labels generator_size
config.json | free | generator_hidden_size max_length min_length do_sample early_stopping num_beams num_beam_groups diversity_penalty
config.json | free | temperature top_k top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size
config.json | free | encoder_no_repeat_ngram_size bad_words_ids num_return_sequences output_scores return_dict_in_generate
config.json | free | forced_bos_token_id forced_eos_token_id remove_invalid_values exponential_decay_length_penalty suppress_tokens
config.json | free | begin_suppress_tokens prefix use_bfloat16 tf_legacy_loss cross_attention_hidden_size tie_encoder_decoder vocab_file
config.json | free | type pretrained_model_name_or_path
config.json | false | add_cross_attention is_encoder_decoder
config.json | {} [] | pruned_heads
config.json | null | quantization_config auto_map
tokenizer_config.json | used | tokenizer_class do_lower_case strip_accents tokenize_chinese_chars model_max_length max_len
tokenizer_config.json | used | unk_token cls_token sep_token pad_token mask_token *_token additional_special_tokens extra_special_tokens
tokenizer_config.json | used | added_tokens_decoder
tokenizer_config.json | free | name_or_path special_tokens_map_file tokenizer_file vocab_file processor_class backend is_local
tokenizer_config.json | free | local_files_only files_loaded use_fast from_slow model_input_names clean_up_tokenization_spaces
tokenizer_config.json | free | max_length stride truncation truncation_strategy padding pad_to_multiple_of pad_token_type_id
tokenizer_config.json | free | chat_template cache_dir revision trust_remote_code
tokenizer_config.json | free | pad_token_id bos_token_id eos_token_id sep_token_id cls_token_id mask_token_id unk_token_id
tokenizer_config.json | "right" | padding_side truncation_side
tokenizer_config.json | false | split_special_tokens add_bos_token add_eos_token add_prefix_space
tokenizer_config.json | true | do_basic_tokenize clean_text
tokenizer_config.json | [] | never_split init_inputs
tokenizer_config.json | 100 | max_input_chars_per_word
tokenizer_config.json | "##" | wordpieces_prefix
tokenizer_config.json | null | auto_map
special_tokens_map.json | used | *_token additional_special_tokens extra_special_tokens
added token | used | id content single_word lstrip rstrip normalized
added token | free | special
added token | "AddedToken" | __type
tokenizer.json | used | truncation padding added_tokens normalizer pre_tokenizer post_processor model
tokenizer.json | free | version decoder
tokenizer.json: truncation | "Right" | direction
tokenizer.json: truncation | "LongestFirst" | strategy
tokenizer.json: truncation | 0 | stride
tokenizer.json: truncation | free | max_length
tokenizer.json: padding | "Right" | direction
tokenizer.json: padding | free | strategy pad_to_multiple_of pad_id pad_type_id pad_token
tokenizer.json: normalizer | used | lowercase strip_accents handle_chinese_chars clean_text
tokenizer.json: normalizer | "BertNormalizer" | type
tokenizer.json: pre_tokenizer | "BertPreTokenizer" | type
tokenizer.json: post_processor | used | single pair special_tokens cls sep
tokenizer.json: post_processor | "TemplateProcessing" "BertProcessing" | type
tokenizer.json: model | used | unk_token max_input_chars_per_word vocab
tokenizer.json: model | "WordPiece" | type
tokenizer.json: model | "##" | continuing_subword_prefix
sentence_bert_config.json | used | max_seq_length do_lower_case
sentence_bert_config.json | free | unpad_inputs
sentence_bert_config.json | "feature-extraction" "sequence-classification" | transformer_task
sentence_bert_config.json | {"text":{"method":"forward","method_output_name":"last_hidden_state"}} {"text":{"method":"forward","method_output_name":"logits"}} | modality_config
sentence_bert_config.json | "token_embeddings" "scores" | module_output_name
sentence_bert_config.json | {} | processing_kwargs model_args tokenizer_args config_args model_kwargs processor_kwargs config_kwargs
sentence_bert_config.json | null | query_length document_length query_expansion tokenizer_name_or_path
config_sentence_transformers.json | used | prompts default_prompt_name activation_fn
config_sentence_transformers.json | "cosine" "dot" "euclidean" "manhattan" | similarity_fn_name
config_sentence_transformers.json | free | __version__
config_sentence_transformers.json | "SentenceTransformer" "CrossEncoder" | model_type
config_sentence_transformers.json | null | truncate_dim
modules.json | used | path type
modules.json | free | idx name
modules.json | [] | kwargs
Pooling | used | pooling_mode pooling_mode_cls_token pooling_mode_mean_tokens pooling_mode_max_tokens
Pooling | used | pooling_mode_mean_sqrt_len_tokens pooling_mode_weightedmean_tokens pooling_mode_lasttoken
Pooling | free | word_embedding_dimension embedding_dimension include_prompt
Dense | used | activation_function bias
Dense | free | in_features out_features
Dense | "sentence_embedding" | module_input_name module_output_name
Dense | false | use_residual
Normalize | "sentence_embedding" | module_input_name module_output_name
Dropout | free | dropout
"""


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
MAX_JSON = 32 << 20  # as in io/json.hpp
files_read = set()  # never overwritten


def read_bytes(path, limit=MAX_FILE):
    """The bytes of a regular file; a device or a pipe may have no end."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        check(stat.S_ISREG(status.st_mode), path, "is no regular file")
        check(status.st_size <= limit, path, "has %d bytes, more than the %d that are read of such a file" % (status.st_size, limit))
        start = file.read(64)
        check_placeholder(start, path)
        if path.endswith(".safetensors"):  # before reading gigabytes of something else
            check_start(start, status.st_size, path)
        files_read.add(os.path.realpath(path))
        return start + file.read()


def check_placeholder(start, path):
    """Refuses what stands in for a file that was not fetched: a pointer of Git LFS, or a page of HTML."""
    check(not start.startswith(b"version https://git-lfs"), path, "is a pointer of Git LFS and not the file itself; fetch it: git lfs pull")
    check(not start.lstrip().lower().startswith((b"<!doctype html", b"<html")), path,
          "is a page of HTML and not the file itself; download it again, from the link to the raw file")


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


def read_keys(path, section, missing=None):
    """The JSON object in a file, with the keys of a section of FOLDER_KEYS; `missing` if there is no such file and it is given."""
    if missing is not None and not os.path.exists(path):
        return missing
    value = read_json(path)
    check_keys(value, section, path)
    return value


def parse_folder_keys():
    sections = collections.defaultdict(dict)
    for line in FOLDER_KEYS.splitlines():
        section, rule, keys = line.split(" | ")
        rule = None if rule in ("used", "free") else [json.loads(value) for value in rule.split()]
        sections[section].update(dict.fromkeys(keys.split(), rule))
    return sections


SECTIONS = parse_folder_keys()


def check_keys(value, section, path):
    """Refuses a key that lexformer neither reads nor knows to be without effect, and a value that it cannot honour."""
    check(isinstance(value, dict), path, "is %s, expected an object" % shown(value))
    rules = SECTIONS[section]
    for key, item in sorted(value.items(), key=lambda pair: (pair[0] != "type", pair[0])):
        name = "*_token" if key not in rules and key.endswith("_token") else key
        check(name in rules, path, "the key %s is not known and may change the results; take it out of the file if it does not" % shown(key))
        allowed = rules[name]
        check(allowed is None or item is None or any(item == one and type(item) is type(one) for one in allowed), path,
              "%r is %s, which is not supported; expected %s%s" % (
                  key, dump_json(item) if isinstance(item, (bool, int, float)) else shown(item), " or ".join(map(dump_json, allowed or ())),
                  "; " + SUPPORTED if section.startswith("tokenizer.json") else ""))


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


Later = collections.namedtuple("Later", "storage offset shape stride")  # a tensor whose storage may not be read yet


def unpickle(stream, path, storage):
    """An object of torch.save, made without running any code of the file; `storage` is called with type, key and number of elements."""

    def rebuild_tensor(*arguments):
        found, offset, shape, stride = arguments[:4]
        check(len(shape) == len(stride) <= 8 and all(map(is_size, (offset, *shape, *stride))), path, "a tensor of it is damaged")
        return Later(found, offset, tuple(shape), tuple(stride))

    allowed = {("collections", "OrderedDict"): lambda: collections.OrderedDict(),  # no constructor arguments
               ("torch._utils", "_rebuild_tensor"): rebuild_tensor, ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
               ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor,
               ("torch.nn.parameter", "Parameter"): lambda tensor, *_: tensor}
    allowed.update({("torch", name): dtype for name, dtype in STORAGES.items()})

    class Unpickler(pickle._Unpickler):  # the pure-Python version, whose opcodes can be restricted
        def find_class(self, module, name):
            check((module, name) in allowed, path, "the pickle asks for %s, which no weights need; it is not loaded" % shown(module + "." + name))
            return allowed[module, name]

        def persistent_load(self, pid):
            _, dtype, key, _, count, *view = pid
            check(isinstance(dtype, str) and isinstance(key, str) and is_size(count), path, "a storage of it is damaged")
            check(view in ([], [None]), path, "a storage is a part of another one, as PyTorch before 0.4 wrote it; save it with a newer one")
            return storage(dtype, key, count)

        # Keys must be strings: hashing nested, shared tuples takes exponential time.
        def load_setitem(self):
            check(isinstance(self.stack[-2], str), path, "a key of a dictionary is no text")
            super().load_setitem()

        def load_setitems(self):
            check(all(isinstance(key, str) for key in self.stack[::2]), path, "a key of a dictionary is no text")
            super().load_setitems()

        dispatch = {code[0]: pickle._Unpickler.dispatch[code[0]] for code in INSTRUCTIONS}
        dispatch[pickle.SETITEM[0]], dispatch[pickle.SETITEMS[0]] = load_setitem, load_setitems

    return Unpickler(stream).load()


def read_zip(content, path):
    """What torch.save wrote since PyTorch 1.6, and key -> bytes of its storages."""
    def stored(name):
        check(name in entries, path, "the entry %s is missing" % shown(name))
        check(entries[name].compress_type == zipfile.ZIP_STORED, path, "the entry %s is compressed, which torch.save never does" % shown(name))
        return archive.read(name)

    def storage(dtype, key, count):
        if key not in data:
            data[key] = stored(root + "data/" + key)
        check(len(data[key]) == count * WIDTHS[dtype], path, "the storage %s has the wrong size" % shown(key))
        return dtype, key

    data = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        pickles = [name for name in entries if name.endswith("/data.pkl") and name.count("/") == 1]
        check(len(pickles) == 1, path, "holds no data.pkl; this is no file of torch.save")
        root = pickles[0][:-len("data.pkl")]
        check(root + "byteorder" not in entries or stored(root + "byteorder") == b"little", path, "is not little-endian")
        return unpickle(io.BytesIO(stored(pickles[0])), path, storage), data


OLD_FORMAT = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."  # the first of five pickles


def read_old(content, path):
    """What torch.save wrote before PyTorch 1.6: pickles of a magic number, a version, the machine's sizes, the object and the keys of its
    storages; then the storages, each after its number of elements."""
    stream, kinds, data = io.BytesIO(content), {}, {}

    def storage(dtype, key, count):
        check(kinds.setdefault(key, (dtype, count)) == (dtype, count), path, "the storage %s has two sizes" % shown(key))
        return dtype, key

    def no_storage(*_):
        raise Stop(3, "%s: is damaged: a storage is in the wrong place" % path)

    _, version, machine = [unpickle(stream, path, no_storage) for _ in range(3)]
    check(version == 1001, path, "its format of torch.save is %s, expected 1001" % shown(version))
    check(isinstance(machine, dict) and machine.get("little_endian") is True, path, "is not little-endian")
    value, keys = unpickle(stream, path, storage), unpickle(stream, path, no_storage)
    check(isinstance(keys, list) and len(set(map(str, keys))) == len(keys) and set(keys) == set(kinds), path, "is damaged: the list of storages does not fit")
    for key in keys:
        dtype, count = kinds[key]
        size = count * WIDTHS[dtype]
        check(stream.read(8) == struct.pack("<q", count), path, "the storage %s has the wrong size, or the file is cut off" % shown(key))
        data[key] = content[stream.tell():stream.tell() + size]
        check(stream.seek(size, 1) <= len(content), path, "the storage %s ends after the file; it is cut off" % shown(key))
    return value, data


def parse_bin(content, path):
    """The tensors of a file of torch.save, also within the checkpoint of a trainer: {"state_dict": tensors, ...}."""
    check(len(content) < 265 or content[257:262] != b"ustar", path, "is a tar file of PyTorch before 0.1.10; load and save it with a newer one")
    old = content.startswith(OLD_FORMAT)
    check(old or zipfile.is_zipfile(io.BytesIO(content)), path, "is no file of torch.save: neither a zip file nor the pickles of PyTorch before 1.6")
    try:
        tensors, data = (read_old if old else read_zip)(content, path)
        check(isinstance(tensors, dict), path, "holds no dictionary of tensors")
        for key in ("state_dict", "model_state_dict", "model"):
            if isinstance(tensors.get(key), dict):
                print("%s: took the tensors of %r" % (one_line(path), key))
                tensors = tensors[key]
                break
        tensors = dict(tensors.items())  # a pickle can give an OrderedDict other members
    except Stop:
        raise
    except Exception as error:  # a damaged pickle or zip raises almost anything
        raise Stop(3, "%s: is damaged: %s: %.200s" % (path, type(error).__name__, error))
    for name, tensor in tensors.items():
        check(is_text(name), path, "the name %s is no text in UTF-8" % shown(name))
        check(isinstance(tensor, Later), path, "%s is no tensor" % shown(name))
    total = sum(math.prod(tensor.shape) * WIDTHS[tensor.storage[0]] for tensor in tensors.values())
    outside = [name for name, tensor in tensors.items() if not lies_inside(tensor, data)]
    check(not outside, path, "a tensor lies outside its storage")
    check(total <= 4 * len(content), path, "its tensors would have %d bytes, the file has %d; many share a storage" % (total, len(content)))
    return {name: Tensor(t.storage[0], t.shape, gather(data[t.storage[1]], WIDTHS[t.storage[0]], t.offset, t.shape, t.stride)
                         if math.prod(t.shape) else b"") for name, t in tensors.items()}


def lies_inside(tensor, data):
    dtype, key = tensor.storage
    count, there = math.prod(tensor.shape), len(data[key]) // WIDTHS[dtype]
    last = tensor.offset + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride))
    return count == 0 or (count <= there and last < there)


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
    """The vocabulary (a list of strings, "" for an id without token) and the settings under HuggingFace's names.

    As transformers 5: for a tokenizer of BERT, tokenizer.json gives the vocabulary and the added tokens, and tokenizer_config.json how
    a text is split; for the general classes tokenizer.json says all of it."""
    flags = dict(SPECIAL, do_lower_case=True, strip_accents=None, tokenize_chinese_chars=True, clean_text=True,
                 max_input_chars_per_word=100, match_special_tokens=True)
    where, path = os.path.join(folder, "tokenizer_config.json"), os.path.join(folder, "tokenizer.json")
    config = read_keys(where, "tokenizer_config.json", {})
    kind = get(config, "tokenizer_class", str, where)
    if kind is None and os.path.exists(os.path.join(folder, "config.json")):  # where older folders name it
        where = os.path.join(folder, "config.json")
        kind = get(read_json(where), "tokenizer_class", str, where)
    check(kind in (None, *BERT_TOKENIZERS, *WHOLE_TOKENIZERS), where, "'tokenizer_class' is %s, which is not supported; %s" % (shown(kind), SUPPORTED))
    where = os.path.join(folder, "tokenizer_config.json")
    root = read_keys(path, "tokenizer.json") if os.path.exists(path) else None
    whole = kind in WHOLE_TOKENIZERS
    if root is not None:
        vocabulary = read_tokenizer_json(root, flags, whole, path)
        count = sum(token != "" for token in vocabulary)
    else:
        check(not whole, folder, "'tokenizer_class' is %r, which needs tokenizer.json" % kind)
        path = os.path.join(folder, "vocab.txt")
        vocabulary = read_vocab_txt(path, folder)
        count = len(set(vocabulary))
    if not whole:
        for key in ("do_lower_case", "tokenize_chinese_chars", "strip_accents"):
            flags[key] = get(config, key, bool, where, flags[key])
    named, extra, added = read_added_tokens(folder, config, root)
    for key in SPECIAL:
        if named.get(key) is not None and not (whole and key in ("unk_token", "cls_token", "sep_token")):
            flags[key] = named[key]["content"]
    tokens = add_tokens(vocabulary, count, flags, named, extra, added, root if whole else None, folder)
    for key in ("unk_token", "cls_token", "sep_token"):
        check(flags[key] in tokens, folder, "the vocabulary of %d tokens has no %r" % (len(tokens), flags[key]))
    return tokens, flags


def read_vocab_txt(path, folder):
    """The tokens of the lines of a file."""
    check(os.path.exists(path), folder, "there is neither vocab.txt nor tokenizer.json in this folder; " + SUPPORTED)
    try:
        lines = read_bytes(path).decode().split("\n")
    except UnicodeDecodeError as error:
        raise Stop(3, "%s: not UTF-8 at byte %d" % (path, error.start + 1))
    return [line.rstrip(WHITE) for line in (lines[:-1] if lines[-1] == "" else lines)]


def read_tokenizer_json(root, flags, whole, path):
    """The vocabulary of a tokenizer.json as a list; with `whole` its settings too."""
    parts = {}
    for part in ("model", "truncation", "padding", "normalizer", "pre_tokenizer", "post_processor"):
        here = "%s: %s" % (path, part)
        parts[part] = root.get(part)
        if parts[part] is not None:
            check_keys(parts[part], "tokenizer.json: " + part, here)
            check(part in ("truncation", "padding") or get(parts[part], "type", str, here) or part == "model", here, "'type' is missing; " + SUPPORTED)
    model, normalizer = parts["model"], parts["normalizer"]
    check(model is not None, path, "'model' is missing; " + SUPPORTED)
    here = path + ": model"
    check(model.get("continuing_subword_prefix") == "##", here, "'continuing_subword_prefix' is not '##'")
    limit = get(model, "max_input_chars_per_word", int, here, 100)
    check(1 <= limit <= 100000, here, "'max_input_chars_per_word' is %s, expected a whole number from 1 to 100000" % shown(limit))
    if whole:
        check(parts["pre_tokenizer"] is not None, path, "'pre_tokenizer' is null, expected BertPreTokenizer; " + SUPPORTED)
        flags.update(unk_token=get(model, "unk_token", str, here, "[UNK]"), max_input_chars_per_word=limit)
        here = path + ": normalizer"
        for key, theirs in (("do_lower_case", "lowercase"), ("tokenize_chinese_chars", "handle_chinese_chars"), ("clean_text", "clean_text")):
            flags[key] = normalizer is not None and get(normalizer, theirs, bool, here, True)
        flags["strip_accents"] = get(normalizer, "strip_accents", bool, here) if normalizer is not None else None
        read_template(parts["post_processor"], flags, path + ": post_processor")
    tokens = {}
    for token, number in get(model, "vocab", dict, path, {}).items():
        put_token(tokens, token, number, path)
    return [tokens.get(i, "") for i in range(max(tokens, default=-1) + 1)]


def put_token(tokens, token, number, path):
    possible = is_text(token) and token and "\n" not in token and is_size(number, 0, 4 << 20)
    check(possible, path, "the token %s with id %s is not possible" % (shown(token), shown(number)))
    check(tokens.setdefault(number, token) == token, path, "two tokens have the id %d" % number)


def read_template(processor, flags, here):
    """Which special tokens are put around the texts, and their names. A pair and a text must have the same."""
    if processor is None:
        flags.update(add_cls=False, add_sep=False, add_middle_sep=False)
        return
    try:
        if processor["type"] == "BertProcessing":
            flags["cls_token"], flags["sep_token"] = processor["cls"][0], processor["sep"][0]
            check(is_text(flags["cls_token"]) and is_text(flags["sep_token"]), here, "'cls' or 'sep' is no token")
            return
        single, pair = [[(kind, item["id"], item["type_id"]) for part in processor[key] for kind, item in part.items()] for key in ("single", "pair")]
    except (KeyError, TypeError, IndexError, AttributeError):
        raise Stop(3, "%s: is damaged: it is no template of special tokens" % here)
    text = ("Sequence", "A", 0)
    check(text in single and text in pair, here, "the template has no place for the first text, or not with type 0")
    before, after = single[:single.index(text)], single[single.index(text) + 1:]
    middle = [part for part in pair[len(before) + 1:] if part[0] == "SpecialToken" and part[2] == 0]
    good = all(len(parts) <= 1 and all(part[0] == "SpecialToken" and part[2] == 0 for part in parts) for parts in (before, after, middle))
    last = [(part[0], part[1], 1) for part in after]
    good = good and pair == before + [text] + middle + [("Sequence", "B", 1)] + last
    seps = {part[1] for part in after + middle}
    check(good and len(seps) <= 1 and all(is_text(part[1]) for part in before + after + middle), here,
          "the template is not BERT's, [CLS] A [SEP] and [CLS] A [SEP] B [SEP], with or without [CLS] and each [SEP]")
    for key, names in (("cls_token", [part[1] for part in before]), ("sep_token", list(seps))):
        for name in names:
            entry = get(processor, "special_tokens", dict, here, {}).get(name)
            check(isinstance(entry, dict) and entry.get("tokens") == [name], here, "the special token %s does not stand for itself" % shown(name))
            flags[key] = name
    for key, there in (("add_cls", before), ("add_sep", after), ("add_middle_sep", middle)):
        if not there:
            flags[key] = False


def token_entry(value, path, normalized=False):
    """An added token: a text, or an object with its flags."""
    if isinstance(value, dict):
        check_keys(value, "added token", "%s: added token" % path)
        normalized = value["special"] is not True if "special" in value else normalized
    else:
        value = {"content": value}
    content = value.get("content")
    check(is_text(content) and content and "\n" not in content, path, "the added token %s is not possible" % shown(content))
    entry = {key: get(value, key, bool, path, False) for key in ("lstrip", "rstrip", "single_word")}
    return {"content": content, "normalized": get(value, "normalized", bool, path, normalized), **entry}


FLAGS = ("lstrip", "rstrip", "single_word", "normalized")
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")  # in the order of transformers


def read_added_tokens(folder, config, root):
    """What the files say of special and added tokens, as transformers reads them: name -> token or None; further special tokens;
    id -> token. Where tokenizer_config.json has 'added_tokens_decoder', the files of older versions do not count."""
    path = os.path.join(folder, "tokenizer_config.json")
    named = {key: value for key, value in config.items() if key.endswith("_token") and not isinstance(value, bool)}
    extra, given = config.get("extra_special_tokens"), "extra_special_tokens" in config or "additional_special_tokens" in config
    if isinstance(extra, dict):
        named.update(extra)
        extra = []
    extra = extra or config.get("additional_special_tokens") or []
    later = []  # tokens that are not special where added_tokens.json is read
    added, decoder = {}, config.get("added_tokens_decoder")
    old, listed = os.path.join(folder, "special_tokens_map.json"), os.path.join(folder, "added_tokens.json")
    theirs = read_keys(old, "special_tokens_map.json", {})
    if decoder is None:
        for key, value in sorted(theirs.items()):
            if key == "extra_special_tokens" and isinstance(value, list) and isinstance(extra, list):
                extra = extra + value
            elif key == "extra_special_tokens":
                extra = value or []
            elif key == "additional_special_tokens":
                later = [] if given or theirs.get("extra_special_tokens") is not None else value or []
            else:
                named[key] = value
    if isinstance(extra, dict):
        named.update(extra)
        extra = []
    for value in (extra, later):
        check(isinstance(value, list), path, "the special tokens are %s, expected a list" % shown(value))
    named = {key: None if value is None else token_entry(value, path) for key, value in named.items()}
    extra = [token_entry(value, path) for value in extra]
    if decoder is not None:
        check(isinstance(decoder, dict) and all(re.fullmatch("[0-9]{1,9}", key) for key in decoder), path,
              "'added_tokens_decoder' is no object from ids to tokens")
        added = {int(key): token_entry(value, path, True) for key, value in decoder.items()}
    else:
        special = {token["content"] for token in [*map(named.get, NAMED), *extra] if token}
        for token, number in (read_json(listed) if os.path.exists(listed) else {}).items():
            check(is_size(number, 0, 4 << 20), listed, "the token %s with id %s is not possible" % (shown(token), shown(number)))
            added[number] = token_entry({"content": token, "normalized": token not in special}, listed)
        added.update(json_added_tokens(root, folder))
    extra += [token_entry(value, path) for value in later]
    flags = {token["content"]: token for token in added.values()}
    return {key: token and flags.get(token["content"], token) for key, token in named.items()}, extra, added


def json_added_tokens(root, folder):
    """The added tokens of tokenizer.json by their ids."""
    path, added = os.path.join(folder, "tokenizer.json"), {}
    for entry in get(root or {}, "added_tokens", list, path, []):
        check(isinstance(entry, dict) and is_size(entry.get("id"), 0, 4 << 20), path, "an added token has no possible id")
        check(entry["id"] not in added, path, "two tokens have the id %d" % entry["id"])
        added[entry["id"]] = token_entry(entry, path, True)
    return added


def add_tokens(vocabulary, after, flags, named, extra, added, root, folder):
    """Gives every added token its id, as the library tokenizers does: its place in the vocabulary, or the next one, from `after`. Returns the
    vocabulary with them; sets flags["match_special_tokens"] and, if the five special tokens are not all of it, flags["added_tokens"]."""
    ids = {token: i for i, token in enumerate(vocabulary) if token}
    known, matched = dict(ids), {}

    def add(token, number=None):
        nonlocal after
        name = token["content"]
        if name not in ids:
            ids[name], after = after, after + 1
        check(number in (None, ids[name]), folder, "the added token %s has the id %s in one file, but its place is %d; write the ids that follow "
              "the vocabulary" % (shown(name), number, ids[name]))
        matched[name] = token

    for number, token in json_added_tokens(root, folder).items():
        add(token, number)
    for number, token in sorted(added.items()):
        add(token, number)
    if root is None:
        named = {**{key: {**token_entry(text, folder), "default": True} for key, text in SPECIAL.items()}, **named}
    before, seen, own = set(matched), [], 0  # own: new tokens under names of the model's own
    for key in sorted(named, key=lambda key: (NAMED.index(key) if key in NAMED else len(NAMED), key)):
        token = named[key]
        if token is None or token["content"] in before or token in seen:
            continue
        seen.append({key: token[key] for key in ("content", *FLAGS)})
        if token.pop("default", False) and token["content"] not in ids:
            after += 1  # transformers adds it at this id, for which there is seldom an embedding
        else:
            own += key not in NAMED and token["content"] not in ids
            check(own < 2, folder, "%r and another special token follow the vocabulary in an unknown order; name their ids in 'added_tokens_decoder'" % key)
            add(token)
    for token in extra:
        if token["content"] not in before and token not in seen:
            add(token)
    plain = dict.fromkeys(FLAGS, False)
    five = {flags[key] for key in SPECIAL if flags[key] in ids}
    flags["match_special_tokens"] = all(matched.get(name) == {"content": name, **plain} for name in five)
    more = [{**token, "piece": name in known} for name, token in matched.items() if not flags["match_special_tokens"] or name not in five]
    if more:
        flags["added_tokens"] = sorted(more, key=lambda token: ids[token["content"]])
    tokens = {}
    for i, token in enumerate(vocabulary):
        if token:
            put_token(tokens, token, i, folder)
    for token in matched:
        put_token(tokens, token, ids[token], folder)
    return [tokens.get(i, "") for i in range(max(tokens, default=-1) + 1)]


# --- the model ---------------------------------------------------------------------------------------------------------------

BERT = {"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 512, "type_vocab_size": 2}
POSITIONS = ("absolute", "relative_key", "relative_key_query")
OUR_POSITIONS = ("shaw", "bert_r", "ddrp", "tupe", "deberta", "t5", "alibi", "rope")
MOST = {"vocab_size": 1 << 24, "hidden_size": 1 << 16, "num_hidden_layers": 256, "num_attention_heads": 1024, "intermediate_size": 1 << 18,
        "max_position_embeddings": 1 << 20, "type_vocab_size": 1024, "embedding_size": 1 << 16}  # as parse_bert_config
NUMBERS = {"hidden_dropout_prob": 0.99, "attention_probs_dropout_prob": 0.99, "classifier_dropout": 0.99, "layer_norm_eps": 1, "initializer_range": 10}
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
        least, most = 2 if key == "max_position_embeddings" else 1, MOST[key]
        check(is_size(size, least, most), where, "%r is %s, expected a whole number from %d to %d" % (key, shown(size), least, most))
    for key, most in NUMBERS.items():
        number = 0 if config.get(key) is None else config[key]
        check(type(number) in (int, float) and 0 <= number <= most, where, "%r is %s, expected a number from 0 to %s" % (key, shown(number), most))
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
    config = read_keys(path, "Dense")
    name = get(config, "activation_function", str, path, "")
    kind = name.rsplit(".", 1)[-1]
    check(kind in DENSE_ACTIVATIONS, path, "the activation function %s is not supported; Tanh, Identity, ReLU and GELU are" % shown(name))
    tensors, _ = read_weights(weights)
    weight = tensors.get("linear.weight")
    check(weight is not None and len(weight.shape) == 2, weights, "there is no matrix 'linear.weight'")
    check(get(config, "bias", bool, path, True) or "linear.bias" not in tensors, path, "'bias' is false, but the weights have a bias")
    check(set(tensors) <= {"linear.weight", "linear.bias"}, weights, "it has other tensors than 'linear.weight' and 'linear.bias'")
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
        check_keys(module, "modules.json", path)
        kind, place = module["type"].rsplit(".", 1)[-1], os.path.join(folder, module["path"])
        if kind == "Transformer":
            transformer = place
        elif kind == "Pooling":
            file = os.path.join(place, "config.json")
            config = read_keys(file, "Pooling")
            # Newer versions write "pooling_mode": "mean", older ones one flag per mode; without any it is the mean.
            flags = [key[13:] for key in sorted(config) if key.startswith("pooling_mode_") and get(config, key, bool, file)]
            mode = get(config, "pooling_mode", str, file, "+".join(flags) or "mean")
            mode = {"mean_tokens": "mean", "cls_token": "cls", "max_tokens": "max"}.get(mode, mode)
            check(mode in ("mean", "cls", "max"), file, "pooling %s is not supported; mean, cls and max are" % shown(mode))
            ours["pooling"] = mode
        elif kind == "Dense":
            check("pooling" in ours and "normalize" not in ours, path, "a Dense module is not between Pooling and Normalize, which is not supported")
            activation, found = read_dense(place, len(dense))
            dense.append(activation)
            tensors.update(found)
        else:
            check(kind in ("Normalize", "Dropout"), path, "the module %s is not supported; Transformer, Pooling, Dense and Normalize are" % shown(kind))
            read_keys(os.path.join(place, "config.json") if place != folder else "", kind, {})
            if kind == "Normalize":
                ours["normalize"] = True
    if "pooling" not in ours:
        return transformer, None, {}
    path = os.path.join(folder, "config_sentence_transformers.json")
    config = read_keys(path, "config_sentence_transformers.json", {})
    prompt, prompts = get(config, "default_prompt_name", str, path), get(config, "prompts", dict, path, {})
    check(prompt is None or prompt in prompts, path, "'default_prompt_name' is %s, but 'prompts' has no such prompt" % shown(prompt))
    check(not prompts.get(prompt), path,
          "the default prompt %s is not supported; set default_prompt_name to null and put the prompt before your texts" % shown(prompt))
    similarity = get(config, "similarity_fn_name", str, path, "cosine")
    if similarity != "cosine":
        ours["similarity"] = similarity
    ours.setdefault("normalize", False)
    ours.update(text_length(transformer))
    if dense:
        ours["dense"] = dense
    return transformer, ours, tensors


def transformer_settings(folder):
    """The path of the settings of sentence-transformers for a transformer, and its keys; {} if there is no such file."""
    names = ["sentence_%s_config.json" % name for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")]
    path = next(filter(os.path.exists, (os.path.join(folder, name) for name in names)), os.path.join(folder, names[0]))
    return path, read_keys(path, "sentence_bert_config.json", {})


def text_length(folder):
    """{"max_length": most tokens of a text} by the settings of sentence-transformers or of the tokenizer, {} if neither says."""
    path = os.path.join(folder, "tokenizer_config.json")
    tokenizer = read_keys(path, "tokenizer_config.json", {})
    theirs = "model_max_length" if tokenizer.get("model_max_length") is not None else "max_len"
    for where, config, key in (*((*transformer_settings(folder), "max_seq_length"),), (path, tokenizer, theirs)):
        length = config.get(key)
        check(length is None or (type(length) in (int, float) and length > 0), where, "%r is %s, expected a number of tokens" % (key, shown(length)))
        if is_size(length, 1, (1 << 20) + 1):  # transformers writes 10^30 for "any number"
            return {"max_length": length}
    return {}


def label_count(config, tensors):
    """The number of outputs of the classification head, None without one."""
    head = tensors.get("classifier.out_proj.weight" if config["model_type"] == "electra" else "classifier.weight")
    return head.shape[0] if head is not None and len(head.shape) == 2 else None


def check_class_names(config, labels, path):
    names = get(config, "id2label", dict, path) or {}
    if not all(name == "LABEL_" + key for key, name in names.items()):
        check(sorted(names) == sorted(map(str, range(labels))) and all(map(is_text, names.values())) and len(set(names.values())) == labels, path,
              "'id2label' does not name the %d classes of the head, each with a name of its own" % labels)


def read_cross_encoder(root, config, tensors, path):
    """What sentence-transformers says of a CrossEncoder: {"activation": "sigmoid" or "identity", "max_length": most tokens of a pair}; {} for
    other models. By default the activation is the sigmoid for one label and the identity for more."""
    labels, theirs = label_count(config, tensors), get(config, "sentence_transformers", dict, path)
    if labels is None:
        return {}
    check(get(config, "problem_type", str, path) != "multi_label_classification", path,
          "'problem_type' is 'multi_label_classification'; a cross-encoder has one label for each example")
    check_class_names(config, labels, path)
    name = get(config, "sbert_ce_default_activation_function", str, path)  # versions before 4
    name = get(theirs or {}, "activation_fn", str, path, name)
    own, length = os.path.join(root, "config_sentence_transformers.json"), text_length(os.path.dirname(path))
    if os.path.isfile(own):  # version 6
        found = get(read_keys(own, "config_sentence_transformers.json"), "activation_fn", str, own)
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
    check_keys(config, "config.json", path)
    check(not os.path.exists(os.path.join(folder, "adapter_config.json")), folder,
          "has an adapter (adapter_config.json), which is not supported; merge it into the weights first")
    tokens, flags = read_tokenizer(folder)
    where, settings = transformer_settings(folder)
    if os.path.exists(os.path.join(root, "modules.json")) and get(settings, "do_lower_case", bool, where) and not flags["do_lower_case"]:
        # sentence-transformers puts lower case before the rest, which decides by itself about accents.
        flags.update(do_lower_case=True, strip_accents=flags["strip_accents"] is True)
    check(len(tokens) <= config["vocab_size"], folder,
          "the vocabulary has %d tokens, the config allows %d ('vocab_size')" % (len(tokens), config["vocab_size"]))
    raw, digest = read_weights(weights)
    chosen, rows = select({**raw, **dense}, config, source)
    print_table(rows)
    prefix = wrapper_prefix(raw)
    if prefix:
        print("took off the prefix %s of the names" % one_line(shown(prefix)))
    missing = [old or new for status, old, new in rows if status == "MISSING"]
    unknown = [old for status, old, reason in rows if reason == "unknown to lexformer"]
    check(not missing, source, "%d needed tensors are missing or of the wrong shape, as %s%s; the table shows all"
          % (len(missing), shown(missing and missing[0]), " (while %s is unknown)" % shown(unknown[0]) if unknown else ""))
    ours = {**(ours or {}), **read_cross_encoder(root, config, chosen, path)}
    if ours:
        before = get(config, "lexformer", dict, path, {})  # of a folder that --to-hf wrote
        config["lexformer"] = {**{key: value for key, value in before.items() if key not in ("dense", "max_length", "similarity")}, **ours}
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
    files["config_sentence_transformers.json"] = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": get(ours, "similarity", str, where, "cosine")}
    return files, weights


def parse_lxf(source):
    tensors, metadata = parse_safetensors(read_bytes(source), source)
    version = metadata.get("lexformer.format")
    check(version is not None, source, "has no lexformer.format, so it is no .lxf file")
    check(version == "1", source, "its lexformer.format is %s; this program reads version 1" % shown(version))
    check(all(tensor.dtype != "I8" for tensor in tensors.values()), source,
          "holds weights in 8 bits, which are for scoring; convert the model in float that it was made from")
    return tensors, metadata


def export_tokens(vocab, flags, config, source):
    """The text of vocab.txt without the tokens that only their own text gives; these follow it, in `config`."""
    tokens, added = vocab.split("\n")[:-1], get(flags, "added_tokens", list, source, [])
    places = {token: i for i, token in enumerate(tokens)}
    try:
        whole = {places[token["content"]] for token in added if not token["piece"]}
        config.update({"added_tokens_decoder": {str(places[token["content"]]): {
            **{key: token[key] for key in ("content", "lstrip", "rstrip", "single_word", "normalized")}, "special": True} for token in added}} if added else {})
    except (KeyError, TypeError):
        raise Stop(3, "%s: lexformer.tokenizer: 'added_tokens' does not fit the vocabulary" % source)
    tokens = tokens[:len(tokens) - len(whole)] if whole == set(range(len(tokens) - len(whole), len(tokens))) else tokens
    plain = {"clean_text": True, "max_input_chars_per_word": 100, "match_special_tokens": True, "add_cls": True, "add_sep": True, "add_middle_sep": True}
    for key in [key for key, value in plain.items() if flags.get(key, value) != value]:
        print("note: transformers' BertTokenizer has %s %s; its results differ" % (key, dump_json(plain[key])))
    return "".join(token + "\n" for token in tokens)


def to_hf(source, folder):
    # transformers could read other files in the folder, e.g. an old tokenizer.json, as a part of the model.
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise Stop(2, "%s: exists and is no empty folder; name a new one" % folder)
    tensors, metadata = parse_lxf(source)
    where = source + ": lexformer.config"
    config = complete_config(parse_json(metadata.get("lexformer.config", ""), where), where)
    describe_head(config, tensors, where)
    ours = get(config, "lexformer", dict, where, {})
    terms = [term.get("name") if isinstance(term, dict) else term for term in get(ours, "attention", list, where, [])]
    check(all(map(is_text, terms)), where, "an attention term has no name")
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
        texts["vocab.txt"] = export_tokens(vocab, flags, texts["tokenizer_config.json"], source)
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
