#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/convert_hf.py on small checkpoints made by hand. Needs Python alone.

With --write-golden it writes tests/golden/tiny.lxf, which tests/io/test_golden_file.cpp reads and writes again.
"""

import array
import collections
import contextlib
import errno
import io
import json
import math
import os
import pickle
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import zipfile
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden", "tiny.lxf")
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.dont_write_bytecode = True
import convert_hf
from convert.added_tokens import SPECIAL
from convert.files import read_bytes
from convert.folder_keys import SECTIONS
from convert.lxf import VERSION
from convert.names import needed_tensors
from convert.pickles import STORAGES, Later
from convert.safetensors import parse_safetensors, write_safetensors
from convert.tensor import WIDTHS, convert, Tensor, to_int8, values
from convert.torch_files import gather, OLD_FORMAT
from convert.weights import read_weights

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "caf\u00e9", "\"", "\\", "\u4f60"]
CONFIG = {"model_type": "bert", "hidden_size": 4, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 11,
          "max_position_embeddings": 6, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu", "architectures": ["BertModel"],
          "hidden_dropout_prob": 0.1, "initializer_range": 0.02, "torch_dtype": "float32", "label": "\u00e9\n\x7f"}


def floats(count, start=0):
    """Values that bfloat16 holds exactly."""
    return [((start + i) * 37 % 101 - 50) / 64 for i in range(count)]


def tiny_tensors(config=CONFIG):
    """Name -> (dtype, shape, bytes)."""
    return {name: ("F32", shape, array.array("f", floats(math.prod(shape), i)).tobytes())
            for i, (name, shape) in enumerate(sorted(needed_tensors(config).items()))}


def read_lxf(path):
    return parse_safetensors(read_bytes(path), path)


def safetensors_bytes(tensors, metadata=None):
    """Written by another hand than the converter's: in the order given, no padding."""
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def bin_bytes(tensors, attack=None, compress=False, strides=None, storage_size=None, old=False, inside=None):
    """A file as torch.save writes it, made without torch: a zip file, or what versions before 1.6 wrote. `attack` is one more object in the
    dictionary; `inside` is the key of an outer dictionary that has the tensors."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch._utils = utils
    classes = {dtype: type(name, (), {"__module__": "torch", "__qualname__": name}) for name, dtype in STORAGES.items()}
    for kind in classes.values():
        setattr(torch, kind.__name__, kind)

    def _rebuild_tensor_v2(*_):
        pass

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2

    class Storage:
        def __init__(self, *pid):
            self.pid = pid

    class Value:
        def __init__(self, *arguments):
            self.arguments = arguments

        def __reduce__(self):
            return _rebuild_tensor_v2, self.arguments

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            return value.pid if isinstance(value, Storage) else None

    state, files = collections.OrderedDict(), {}
    for i, (name, (dtype, shape, content)) in enumerate(tensors.items()):
        width = WIDTHS[dtype]
        stride = tuple(math.prod(shape[axis + 1:]) for axis in range(len(shape)))
        storage = Storage("storage", classes[dtype], str(i), "cpu", storage_size or len(content) // width, *([None] if old else []))
        state[name] = Value(storage, 0, tuple(shape), strides or stride, False, collections.OrderedDict())
        files["archive/data/%d" % i] = content
    if attack is not None:
        state["attack"] = attack
    state = {"epoch": 3, inside: state, "optimizer_states": []} if inside else state
    sys.modules.update({"torch": torch, "torch._utils": utils})
    try:
        stream = io.BytesIO()
        Pickler(stream, 2).dump(state)
    finally:
        del sys.modules["torch"], sys.modules["torch._utils"]
    out = io.BytesIO()
    if old:
        for part in (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True, "type_sizes": {"int": 4}}):
            pickle.dump(part, out, 2)
        out.write(stream.getvalue())
        pickle.dump(["%d" % i for i in range(len(tensors))], out, 2)
        for dtype, _, content in tensors.values():
            out.write(struct.pack("<q", len(content) // WIDTHS[dtype]) + content)
        return out.getvalue()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", stream.getvalue())
        archive.writestr("archive/byteorder", "little")
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


class Reduced:
    """Pickled as the call that the arguments of __reduce__ say."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


class Attack:
    def __reduce__(self):
        return os.system, ("touch PWNED",)


class Convert(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        known = mock.patch.dict(SECTIONS["config.json"], {"label": None})  # a text of all kinds of characters
        known.start()
        self.addCleanup(known.stop)
        self.source = os.path.join(self.folder, "source")
        os.mkdir(self.source)
        self.target = os.path.join(self.folder, "m.lxf")
        self.put("config.json", json.dumps(CONFIG))
        self.put("vocab.txt", "".join(word + "\r\n" for word in WORDS))
        self.put("tokenizer_config.json", json.dumps({"do_lower_case": False, "mask_token": {"content": "[MASK]"}, "tokenizer_class": "BertTokenizer"}))

    def put(self, name, content):
        path = os.path.join(self.source, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def put_weights(self, tensors):
        self.put("model.safetensors", safetensors_bytes(tensors, {"format": "pt"}))

    def convert(self, *arguments, source=None):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            code = convert_hf.main([source or self.source] + list(arguments or [self.target, "--check"]))
        self.out, self.err = out.getvalue(), err.getvalue()
        return code

    def exported(self):
        """Exports the result whole; returns the new folder and the reader of its JSON files."""
        back = os.path.join(self.folder, "back")
        self.assertEqual(self.convert("--to-hf", back, source=self.target), 0, self.err)
        self.assertNotIn("leaves out", self.out)

        def read(name):
            with open(os.path.join(back, name)) as file:
                return json.load(file)

        return back, read

    def result(self, *arguments, source=None):
        self.assertEqual(self.convert(*arguments, source=source), 0, self.err)
        return read_lxf(self.target)

    def refused(self, part, code=3, arguments=(), source=None):
        self.assertEqual(self.convert(*arguments, source=source), code, self.out + self.err)
        self.assertIn(part, self.err)
        self.assertEqual(self.err.count("\n"), 1)
        self.assertFalse(os.path.exists(self.target))

    def assert_tensors(self, got, want):
        self.assertEqual(sorted(got), sorted(want))
        for name, (dtype, shape, content) in want.items():
            self.assertEqual((got[name].dtype, got[name].shape, bytes(got[name].data)), (dtype, tuple(shape), content), name)

    def test_version_is_the_library_s(self):
        with open(os.path.join(ROOT, "include", "lexformer", "version.hpp")) as file:
            self.assertIn('LEXFORMER_VERSION "%s"' % VERSION, file.read())

    def test_plain_folder_and_golden_file(self):
        tensors = tiny_tensors()
        self.put_weights(dict(reversed(list(tensors.items()))))
        got, metadata = self.result()
        self.assert_tensors(got, tensors)
        self.assertEqual(json.loads(metadata["lexformer.config"]), CONFIG)
        self.assertEqual(metadata["lexformer.vocab"], "".join(word + "\n" for word in WORDS))
        self.assertEqual(json.loads(metadata["lexformer.tokenizer"])["do_lower_case"], False)
        with open(self.target, "rb") as file:
            content = file.read()
        self.assertEqual((struct.unpack("<Q", content[:8])[0] + 8) % 64, 0)
        # The golden file keeps the version that wrote it.
        self.put_weights(tensors)
        with mock.patch("convert.lxf.VERSION", read_lxf(GOLDEN)[1]["lexformer.version"]):
            self.result()
        with open(self.target, "rb") as file, open(GOLDEN, "rb") as golden:
            self.assertEqual(file.read(), golden.read())

    def test_old_names_prefixes_buffers(self):
        tensors = tiny_tensors()
        old = {}
        for name, tensor in tensors.items():
            name = name[len("bert."):].replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            old[name] = tensor
        old["embeddings.position_ids"] = ("I64", (1, 6), struct.pack("<6q", *range(6)))
        old["qa_outputs.bias"] = ("F32", (1,), b"\0\0\0\0")
        self.put_weights(old)
        self.assert_tensors(self.result()[0], tensors)
        self.assertIn("%d mapped, 2 ignored, 0 missing" % len(tensors), self.out)
        # What a wrapper puts before each name: DataParallel, Lightning, torch.compile, a whole SentenceTransformer.
        for prefix in ("module.", "model.", "model.module.", "_orig_mod.", "0.auto_model."):
            self.put_weights({prefix + name: tensor for name, tensor in tensors.items()})
            self.assert_tensors(self.result()[0], tensors)
            self.assertIn("took off the prefix %r of the names" % prefix, self.out)
        self.put_weights({**{"model." + name: tensor for name, tensor in tensors.items()}, "loss.weight": ("F32", (1,), b"\0\0\0\0")})
        self.assert_tensors(self.result()[0], tensors)
        os.remove(self.target)
        two = {prefix + name: tensor for name, tensor in tensors.items() for prefix in ("a.", "b.")}
        self.put_weights(two)
        self.refused("needed tensors are missing or of the wrong shape, as 'bert.embeddings.LayerNorm.bias' "
                     "(while 'a.bert.embeddings.LayerNorm.bias' is unknown)")
        self.put_weights(dict(tensors, **{"embeddings.LayerNorm.gamma": tensors["bert.embeddings.LayerNorm.weight"]}))
        self.refused("two tensors would get the same name")

    def test_masked_language_model(self):
        head = {"cls.predictions.bias": ("F32", (11,), bytes(44)), "cls.predictions.transform.dense.bias": ("F32", (4,), bytes(16))}
        decoder = {"cls.predictions.decoder.weight": ("F32", (11, 4), bytes(176)), "cls.predictions.decoder.bias": ("F32", (11,), bytes(44))}
        self.put_weights(dict(tiny_tensors(), **head, **decoder))
        self.assert_tensors(self.result()[0], dict(tiny_tensors(), **head))
        self.put_weights(dict(tiny_tensors(), **{"cls.predictions.decoder.bias": ("F32", (11,), bytes(44))}))
        self.assertIn("cls.predictions.bias", self.result()[0])
        self.put("config.json", json.dumps(dict(CONFIG, tie_word_embeddings=False)))
        self.put_weights(dict(tiny_tensors(), **head, **decoder))
        self.assert_tensors(self.result()[0], dict(tiny_tensors(), **head, **{"cls.predictions.decoder.weight": decoder["cls.predictions.decoder.weight"]}))

    def test_element_types(self):
        tensors = tiny_tensors()
        packed = {"F64": lambda x: struct.pack("<%dd" % len(x), *x), "F16": lambda x: struct.pack("<%de" % len(x), *x),
                  "BF16": lambda x: b"".join(struct.pack("<f", v)[2:] for v in x)}
        for dtype, pack in packed.items():
            other = {name: (dtype, shape, pack(array.array("f", content))) for name, (_, shape, content) in tensors.items()}
            self.put_weights(other)
            self.assert_tensors(self.result()[0], tensors)
            self.put_weights(tensors)
            self.assert_tensors(self.result(self.target, "--check", "--dtype", dtype)[0], other)

    def test_lxf_in_another_type(self):
        self.put_weights(tiny_tensors())
        self.result()
        small, direct = os.path.join(self.folder, "small.lxf"), os.path.join(self.folder, "direct.lxf")
        self.assertEqual(self.convert(small, "--dtype", "BF16", "--check", source=self.target), 0, self.err)
        self.assertEqual(self.convert(direct, "--dtype", "BF16"), 0, self.err)
        with open(small, "rb") as a, open(direct, "rb") as b:
            self.assertEqual(a.read(), b.read())
        with open(self.target, "r+b") as file:  # a damaged file is not rewritten with a new checksum
            file.seek(-1, os.SEEK_END)
            file.write(b"\x7f")
        self.assertEqual(self.convert(os.path.join(self.folder, "third.lxf"), "--dtype", "BF16", source=self.target), 3)
        self.assertIn("its checksum does not fit", self.err)

    def test_8_bits(self):
        """The linear layers as integers with a scale for each output, everything else as it was; not converted again."""
        self.put_weights(tiny_tensors())
        before = self.result()[0]
        small, again = os.path.join(self.folder, "small.lxf"), os.path.join(self.folder, "again.lxf")
        self.assertEqual(self.convert(small, "--dtype", "I8", "--check", source=self.target), 0, self.err)
        after, metadata = parse_safetensors(read_bytes(small), small)
        layers = [name for name in before if re.search(r"encoder\.layer\.\d+\..*(query|key|value|dense)\.weight$", name)]
        self.assertTrue(layers)
        self.assertEqual(set(after), set(before) | {name + "_scale" for name in layers})
        for name, tensor in before.items():
            if name not in layers:
                self.assertEqual(after[name], tensor)
                continue
            rows, columns = tensor.shape
            self.assertEqual((after[name].dtype, after[name].shape), ("I8", (rows, columns)))
            scales, integers = values(after[name + "_scale"]), array.array("b", bytes(after[name].data))
            numbers = values(tensor)
            for row in range(rows):
                part = slice(row * columns, (row + 1) * columns)
                self.assertAlmostEqual(scales[row] * 127, max(map(abs, numbers[part])), delta=1e-6 * scales[row] * 127)
                for x, q in zip(numbers[part], integers[part]):
                    self.assertLessEqual(abs(x - scales[row] * q), 0.5001 * scales[row])
        for arguments in ([again, "--dtype", "F32"], ["--to-hf", os.path.join(self.folder, "hf")]):
            self.assertEqual(self.convert(*arguments, source=small), 3)
            self.assertIn("holds weights in 8 bits", self.err)
        zeros = Tensor("F32", (2, 2), array.array("f", [0, 0, 1e-45, -1.5]).tobytes())
        self.assertEqual([t.data for t in to_int8(zeros, "")], [bytes([0, 0, 0, 129]), array.array("f", [0, 1.5 / 127]).tobytes()])

    def test_rounding_to_16_bits(self):
        draw = random.Random(1)
        numbers = array.array("f", [draw.gauss(0, 1) * 2.0**draw.randint(-20, 14) for _ in range(2000)] + [0.0, -0.0, 1.00390625, 1.01171875])
        tensor = Tensor("F32", (len(numbers),), numbers.tobytes())
        for x, y in zip(numbers, values(convert(tensor, "BF16", ""))):
            step = 2.0**(math.frexp(x)[1] - 8)  # 8 significant bits
            self.assertEqual(y, round(x / step) * step)  # Python rounds ties to even
        self.put_weights(dict(tiny_tensors(), **{"classifier.bias": ("F32", (1,), struct.pack("<f", 70000))}))
        self.refused("a value is too large for F16", arguments=[self.target, "--dtype", "F16"])
        self.put_weights(dict(tiny_tensors(), **{"classifier.bias": ("F64", (1,), struct.pack("<d", 1e300))}))
        self.refused("a value is too large for F32")
        self.put_weights(dict(tiny_tensors(), **{"classifier.bias": ("F32", (1,), struct.pack("<f", 3.4e38))}))
        self.refused("a value is too large for BF16", arguments=[self.target, "--dtype", "BF16"])

    def test_values_that_are_not_finite(self):
        for bad in (math.nan, math.inf, -math.inf):
            self.put_weights(dict(tiny_tensors(), **{"classifier.bias": ("F32", (3,), struct.pack("<3f", 1, bad, 2))}))
            self.refused("tensor 'classifier.bias': holds NaN or infinite values")
        large = struct.pack("<2d", 1.7e308, 1.7e308)  # their sum is infinite although they are finite
        self.put_weights(dict(tiny_tensors(), **{"classifier.bias": ("F64", (2,), large)}))
        self.assertEqual(bytes(self.result(self.target, "--dtype", "F64")[0]["classifier.bias"].data), large)

    def test_shards(self):
        tensors = tiny_tensors()
        half = sorted(tensors)[:len(tensors) // 2]
        for ending, write in (("safetensors", safetensors_bytes), ("bin", bin_bytes)):
            stem = "model.safetensors" if ending == "safetensors" else "pytorch_model.bin"
            parts = {"one." + ending: {n: tensors[n] for n in half}, "two." + ending: {n: tensors[n] for n in tensors if n not in half}}
            for file, part in parts.items():
                self.put(file, write(part))
            index = {name: file for file, part in parts.items() for name in part}
            self.put(stem + ".index.json", json.dumps({"metadata": {}, "weight_map": index}))
            self.assert_tensors(self.result()[0], tensors)
            os.remove(self.target)
            for change, message in (({"new": "one." + ending}, "is in none of the files"), ({half[0]: "two." + ending}, "does not place tensor"),
                                    ({"new": "../x"}, "plain file name"), ({"new": "three." + ending}, "three." + ending)):
                self.put(stem + ".index.json", json.dumps({"weight_map": dict(index, **change)}))
                self.refused(message)
            os.remove(os.path.join(self.source, stem + ".index.json"))

    def test_bin(self):
        tensors = dict(tiny_tensors(), **{"embeddings.position_ids": ("I64", (1, 6), bytes(48))})
        self.put("pytorch_model.bin", bin_bytes(tensors))
        self.assertNotIn("torch", sys.modules)
        self.assert_tensors(self.result()[0], tiny_tensors())
        self.assert_tensors(self.result(source=os.path.join(self.source, "pytorch_model.bin"))[0], tiny_tensors())

    def test_bin_before_pytorch_1_6(self):
        path, tensors = "pytorch_model.bin", dict(tiny_tensors(), **{"embeddings.position_ids": ("I64", (1, 6), bytes(48))})
        good = bin_bytes(tensors, old=True)
        self.put(path, good)
        self.assert_tensors(self.result()[0], tiny_tensors())
        os.remove(self.target)
        self.put(path, bin_bytes(tensors, old=True, attack=Attack()))
        self.refused("system', which no weights need; it is not loaded")
        self.put(path, bin_bytes(tensors, old=True, storage_size=10**9))
        self.refused("the storage '0' has the wrong size, or the file is cut off")
        for n in list(range(0, len(good), 97)) + [len(good) - 1]:
            self.put(path, good[:n])
            self.refused(path)
        draw = random.Random(3)
        for _ in range(300):
            bad = bytearray(good)
            for _ in range(3):
                bad[draw.randrange(len(bad))] = draw.randrange(256)
            self.put(path, bytes(bad))
            self.assertIn(self.convert(), (0, 3))
            self.assertLessEqual(self.err.count("\n"), 1)
        if os.path.exists(self.target):
            os.remove(self.target)
        self.put(path, b"\0" * 257 + b"ustar" + b"\0" * 250)
        self.refused("is a tar file of PyTorch before 0.1.10")

    def test_checkpoint_of_a_trainer(self):
        for old in (False, True):
            for key in ("state_dict", "model_state_dict"):
                self.put("pytorch_model.bin", bin_bytes({"model." + name: tensor for name, tensor in tiny_tensors().items()}, old=old, inside=key))
                self.assert_tensors(self.result()[0], tiny_tensors())
                self.assertIn("took the tensors of %r" % key, self.out)
        os.remove(self.target)
        self.put("pytorch_model.bin", bin_bytes(tiny_tensors(), inside="weights"))
        self.refused("'epoch' is no tensor")

    def test_many_tensors_of_one_storage(self):
        """A small file cannot ask for much memory."""
        self.put("pytorch_model.bin", bin_bytes({"a": ("F32", (1000,), bytes(4000))}))
        many = {"t%d" % i: Later(("F32", "0"), 0, (1000,), (1,)) for i in range(50)}
        with mock.patch("convert.torch_files.read_zip", lambda *_: (many, {"0": bytes(4000)})):
            self.refused("many share a storage")
        taken = collections.OrderedDict(a=1)
        taken.items = 5
        with mock.patch("convert.torch_files.read_zip", lambda *_: (taken, {})):
            self.refused("is damaged: TypeError")

    def limited(self, code, part):
        """Converts in a process that may have 200 MB."""
        self.put("config.json", json.dumps({key: value for key, value in CONFIG.items() if key != "label"}))
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "convert_hf.py"), self.source, self.target], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                              encoding="utf-8", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20)))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
        self.assertIn(part, done.stderr)

    def test_memory(self):
        """A file takes memory in proportion to its size."""
        call = b"ctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nCharStorage\nU\x010U\x03cpuJ%stQ" % struct.pack("<i", 4 << 20)
        call = call.replace(b"U\x07", b"\x8c\x07").replace(b"U\x01", b"\x8c\x01").replace(b"U\x03", b"\x8c\x03")
        number = lambda value: b"J" + struct.pack("<i", value)
        name = lambda text: b"X" + struct.pack("<I", len(text)) + text.encode()
        turned = b"\x80\x04}" + name("a") + call + number(0) + b"(" + 2 * number(2048) + b"t(" + number(1) + number(2048) + b"t\x89NtRs."
        many = b"".join(name("t%d" % i) + call + number(1) + b"(" + number((4 << 20) - 1) + b"t(" + number(1) + b"t\x89NtR" for i in range(100))
        for pickled, part in ((turned, "37 needed tensors are missing"), (b"\x80\x04}(" + many + b"u.", "many share a storage"),
                              (b"\x80\x04" + b"]" * (9 << 20) + b".", "its pickle has more than the 8388608 bytes")):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as archive:
                archive.writestr("archive/data.pkl", pickled)
                archive.writestr("archive/data/0", bytes(4 << 20))
            self.put("pytorch_model.bin", out.getvalue())
            self.limited(3, part)
        self.put("pytorch_model.bin", OLD_FORMAT + b"\x80\x02X" + struct.pack("<I", 9 << 20) + bytes(9 << 20) + b".")
        self.limited(3, "its pickle has more than the 8388608 bytes")
        self.put("tokenizer_config.json", '{"a":[%s[]]}' % ("[]," * (11 << 20)))
        self.limited(3, "tokenizer_config.json: has 34603018 bytes, more than the 33554432 that are read of such a file")
        many = "has more than 1000000 keys, values and brackets"
        for text, part in (('{"a":[%s[]]}' % ("[]," * 11000000), many), ('{"a":[%s1]}' % ("1," * 999994), "the key 'a' is not known"), ('{"a":[%s1]}' % ("1," * 999996), many),
                           ('{"a":"%s' % ('\\"' * 1000000), "not JSON: Unterminated string"), ("{}" + "[" * 11000000, many)):
            self.put("tokenizer_config.json", text)
            self.limited(3, "tokenizer_config.json: " + part)

    def test_views(self):
        """Every way to step through a storage gives the elements in C order."""
        numbers = random.Random(5)
        for _ in range(500):
            width, axes = numbers.choice((1, 2, 4, 8)), numbers.randint(0, 5)
            shape = tuple(numbers.choice((1, 2, 3, 5)) for _ in range(axes))
            stride, offset = tuple(numbers.choice((0, 1, 2, 3, 5, 6, 30)) for _ in shape), numbers.randint(0, 3)
            places = [offset]
            for size, step in zip(shape, stride):
                places = [place + i * step for place in places for i in range(size)]
            data = bytes(numbers.randrange(256) for _ in range((max(places) + 2) * width))
            want = b"".join(data[place * width:(place + 1) * width] for place in places)
            self.assertEqual(bytes(gather(data, width, offset, shape, stride)), want, (width, offset, shape, stride))

    def test_what_stands_in_for_a_file(self):
        pointer, page = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", b"\r\n<!DOCTYPE html>\n<html></html>"
        self.put_weights(tiny_tensors())
        for name in ("model.safetensors", "vocab.txt", "config.json", "pytorch_model.bin"):
            there = os.path.exists(os.path.join(self.source, name))
            old = read_bytes(os.path.join(self.source, name)) if there else None
            if name == "pytorch_model.bin":
                os.remove(os.path.join(self.source, "model.safetensors"))
            for content, part in ((pointer, ": is a pointer of Git LFS and not the file itself; fetch it: git lfs pull"), (page, ": is a page of HTML and not")):
                self.put(name, content)
                self.refused(name + part)
            if there:
                self.put(name, old)

    def test_classifiers(self):
        head = lambda labels: {"classifier.weight": ("F32", (labels, 4), bytes(16 * labels)), "classifier.bias": ("F32", (labels,), bytes(4 * labels))}
        self.put_weights(dict(tiny_tensors(), **head(2)))
        for names, part in (({"0": "no", "1": "yes"}, None), ({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, None), (None, None),
                            ({"0": "no", "1": "no"}, "'id2label' does not name the 2 classes"), ({"0": "no"}, "'id2label' does not name the 2 classes"),
                            ({"0": "no", "2": "yes"}, "'id2label' does not name the 2 classes"), ({"0": "no", "1": 1}, "'id2label' does not name")):
            self.put("config.json", json.dumps(dict(CONFIG, id2label=names)))
            if part is None:
                self.assertEqual(json.loads(self.result()[1]["lexformer.config"])["id2label"], names)
                os.remove(self.target)
            else:
                self.refused(part)
        self.put("config.json", json.dumps(dict(CONFIG, problem_type="multi_label_classification")))
        self.refused("'problem_type' is 'multi_label_classification'; a cross-encoder has one label for each example")

    def test_what_the_programs_would_refuse(self):
        self.put_weights(tiny_tensors())
        for key, value, part in (("hidden_act", "mish", "'hidden_act' is 'mish', which is not supported; expected"), ("layer_norm_eps", -1, "'layer_norm_eps' is -1"),
                                 ("hidden_dropout_prob", 1.0, "expected a number from 0 to 0.99"), ("type_vocab_size", 2000, "expected a whole number from 1 to 1024"),
                                 ("quantization_config", {}, "'quantization_config' is"), ("new", 1, "the key 'new' is not known")):
            self.put("config.json", json.dumps(dict(CONFIG, **{key: value})))
            self.refused(part)

    def test_added_tokens_and_back(self):
        tensors = tiny_tensors(dict(CONFIG, vocab_size=14))
        self.put("config.json", json.dumps(dict(CONFIG, vocab_size=14)))
        self.put_weights(tensors)
        flags = dict(lstrip=True, rstrip=False, single_word=False, normalized=False)
        self.put("tokenizer_config.json", json.dumps({"do_lower_case": False, "added_tokens_decoder": {
            "5": dict(flags, content="a"), "11": dict(flags, content="[COL]", special=True), "12": dict(flags, content="[VAL]", normalized=True)}}))
        metadata = self.result()[1]
        tokenizer = json.loads(metadata["lexformer.tokenizer"])
        self.assertEqual(tokenizer["added_tokens"], [dict(flags, content="a", piece=True), dict(flags, content="[COL]", piece=False),
                                                     dict(flags, content="[VAL]", normalized=True, piece=False)])
        self.assertEqual(metadata["lexformer.vocab"].split("\n")[11:], ["[COL]", "[VAL]", ""])
        back = os.path.join(self.folder, "back")
        self.assertEqual(self.convert("--to-hf", back, source=self.target), 0, self.err)
        self.assertNotIn("note", self.out)
        with open(os.path.join(back, "vocab.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read().split("\n")[:-1], WORDS)
        os.remove(self.target)
        again = self.result(source=back)[1]
        self.assertEqual((again["lexformer.vocab"], json.loads(again["lexformer.tokenizer"])), (metadata["lexformer.vocab"], tokenizer))

    def test_bin_transposed_view(self):
        name = "bert.encoder.layer.0.intermediate.dense.weight"
        content = array.array("f", floats(32))
        turned = array.array("f", [content[j * 8 + i] for i in range(8) for j in range(4)])
        self.put("pytorch_model.bin", bin_bytes({name: ("F32", (8, 4), content.tobytes())}, strides=(1, 8)))
        got = read_weights(os.path.join(self.source, "pytorch_model.bin"))[0]
        self.assertEqual(bytes(got[name].data), turned.tobytes())

    def test_hostile_bin(self):
        path = "pytorch_model.bin"
        tensors = tiny_tensors()
        good = bin_bytes(tensors)
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)
        self.put(path, bin_bytes(tensors, attack=Attack()))
        self.refused("system', which no weights need; it is not loaded")
        self.assertFalse(os.path.exists("PWNED"))
        for attack in (print, bytearray, complex(1, 2), getattr, len):
            self.put(path, bin_bytes(tensors, attack=attack))
            self.refused("which no weights need")
        self.put(path, bin_bytes(tensors, attack="text"))
        self.refused("'attack' is no tensor")
        self.put(path, bin_bytes(tensors, compress=True))
        self.refused("is compressed")
        self.put(path, bin_bytes(tensors, storage_size=10**9))
        self.refused("has the wrong size")
        for strides in ((1 << 40,), (10**18,)):
            self.put(path, bin_bytes({"x": ("F32", (2,), bytes(8))}, strides=strides))
            self.refused("a tensor lies outside its storage")
        self.put(path, bin_bytes({"x": ("F32", (1 << 40,), bytes(8))}, strides=(0,)))
        self.refused("a tensor lies outside its storage")
        for n in list(range(0, len(good), 997)) + [len(good) - 1]:
            self.put(path, good[:n])
            self.refused(path)
        self.put(path, pickle.dumps(1, 2))
        self.refused("is no file of torch.save: neither a zip file nor the pickles of PyTorch before 1.6")
        draw = random.Random(2)
        for _ in range(300):
            bad = bytearray(good)
            for _ in range(3):
                bad[draw.randrange(len(bad))] = draw.randrange(256)
            self.put(path, bytes(bad))
            self.assertIn(self.convert(), (0, 3))
            self.assertLessEqual(self.err.count("\n"), 1)

    def test_damaged_safetensors(self):
        good = safetensors_bytes(tiny_tensors())
        for n in list(range(0, len(good), 211)) + [len(good) - 1]:
            self.put("model.safetensors", good[:n])
            self.refused("model.safetensors: ")
        self.put("model.safetensors", good + b"PK")
        self.refused("2 bytes follow the last tensor")

        def header(text, data=b""):
            self.put("model.safetensors", struct.pack("<Q", len(text)) + text.encode() + data)

        entry = '"a":{"dtype":"%s","shape":%s,"data_offsets":%s}'
        for dtype, shape, offsets, data, message in (
                ("F32", "[1]", "[0,4]", 8, "4 bytes follow the last tensor"), ("F32", "[1]", "[4,8]", 8, "are [4, 8], expected [0, 4]"),
                ("F32", "[2]", "[0,4]", 4, "are [0, 4], expected [0, 8]; the file is damaged"), ("F32", "[1]", "[0,8]", 4, "expected [0, 4]"),
                ("F32", "[1]", "[8,0]", 8, "expected [0, 4]"), ("F32", "[2]", "[0,8]", 4, "it ends at byte 8 of the data, but there are 4; the file is cut off"),
                ("F32", "[4294967296,4294967296]", "[0,0]", 0, "expected [0, "), ("F8", "[1]", "[0,4]", 4, "unknown dtype"),
                ("F32", "[-1]", "[0,4]", 4, "is not possible"), ("F32", "[1.0]", "[0,4]", 4, "is not possible"),
                ("F32", "[true]", "[0,4]", 4, "is not possible"), ("F32", "4", "[0,4]", 4, "the header is damaged"),
                ("F32", "[1]", "null", 4, "are None, expected [0, 4]"), ("F32", "[1]", "[0.0,4]", 4, "are [0.0, 4], expected [0, 4]"),
                ("F32", "[1]", "[false,4]", 4, "are [False, 4], expected"), ("F32", "[1]", '[0,4],"more":1', 4, "it has 4 keys")):
            header("{" + entry % (dtype, shape, offsets) + "}", bytes(data))
            self.refused(message)
        header('{"a":1}')
        self.refused("the header is damaged")
        header("{" + ",".join([entry % ("F32", "[1]", "[0,4]")] * 2) + "}", bytes(4))
        self.refused("a key occurs twice")
        header('{"__metadata__":{"a":1}}')
        self.refused("other than texts")
        header("{" + "[" * 100000)
        self.refused("not JSON")
        header("[]" + " " * 10)
        self.refused("does not begin with '{'")
        content = safetensors_bytes(tiny_tensors(), {"lexformer.crc32": json.dumps({name: 1 for name in tiny_tensors()})})
        self.put("model.safetensors", content)
        self.refused("checksum does not fit")

    def test_what_is_not_supported(self):
        self.put_weights(tiny_tensors())
        self.put("config.json", json.dumps(dict(CONFIG, model_type="longformer")))
        self.refused("'model_type' is 'longformer', which is not supported; lexformer reads the model types bert, electra, ")
        for change, message in (({"num_attention_heads": 3}, "no multiple"), ({"hidden_size": -4}, "'hidden_size' is -4"), ({"num_hidden_layers": 10**9}, "expected a whole number"),
                                ({"num_hidden_layers": 300}, "expected a whole number from 1 to 256"), ({"hidden_size": 4.0}, "'hidden_size' is 4.0"), ({"vocab_size": 10}, "11 tokens, the config allows 10"),
                                ({"hidden_size": 8}, "missing or of the wrong shape"), ({"num_hidden_layers": 3}, "missing or of the wrong shape"), ({"is_decoder": True}, "only encoders")):
            self.put("config.json", json.dumps(dict(CONFIG, **change)))
            self.refused(message)
        self.put("config.json", "{")
        self.refused("config.json: not JSON")
        self.put("config.json", json.dumps(CONFIG))
        self.put("tokenizer_config.json", json.dumps({"tokenizer_class": "LlamaTokenizer"}))
        self.refused("'LlamaTokenizer', which is not supported")
        self.put("tokenizer_config.json", json.dumps({"tokenizer_class": "RobertaTokenizer"}))
        self.refused("there is neither tokenizer.json nor vocab.json in this folder")
        os.remove(os.path.join(self.source, "tokenizer_config.json"))
        self.put("vocab.txt", "a\nb\n")
        self.refused("the vocabulary of 2 tokens has no '[UNK]'")
        self.put("vocab.txt", b"\xff\n")
        self.refused("not UTF-8 at byte 1")
        os.remove(os.path.join(self.source, "vocab.txt"))
        self.refused("neither vocab.txt nor tokenizer.json in this folder; lexformer reads the model types")
        self.refused("none: there is no such file or folder", source=os.path.join(self.folder, "none"))
        self.put("m.lxf", "")
        self.refused("is a .lxf file already; --to-hf", source=os.path.join(self.source, "m.lxf"))
        os.remove(os.path.join(self.source, "model.safetensors"))
        self.refused("neither model.safetensors nor pytorch_model.bin")

    def test_tokenizer_json(self):
        self.put_weights(tiny_tensors())
        root = {"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 50,
                          "vocab": {word: i for i, word in enumerate(WORDS[:5] + ["x", "y"])}},
                "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": False, "strip_accents": True, "lowercase": True},
                "pre_tokenizer": {"type": "BertPreTokenizer"}, "added_tokens": [{"id": 4, "content": "[MASK]"}]}
        self.put("tokenizer.json", json.dumps(root))
        metadata = self.result()[1]
        self.assertEqual(metadata["lexformer.vocab"].split("\n")[5:], ["x", "y", ""])
        # Of a tokenizer of BERT, tokenizer_config.json says how a text is split; of a general one tokenizer.json.
        read = lambda flags: tuple(flags[key] for key in ("max_input_chars_per_word", "tokenize_chinese_chars", "strip_accents", "do_lower_case"))
        self.assertEqual(read(json.loads(metadata["lexformer.tokenizer"])), (100, True, None, False))
        names = {name: "[%s]" % name[:-6].upper() for name in SPECIAL}
        self.put("tokenizer_config.json", json.dumps(dict(names, do_lower_case=False, tokenizer_class="PreTrainedTokenizerFast")))
        flags = json.loads(self.result()[1]["lexformer.tokenizer"])
        self.assertEqual(read(flags), (50, False, True, True))
        self.assertEqual((flags["add_cls"], flags["add_sep"], flags["add_middle_sep"]), (False, False, False))  # there is no post_processor
        os.remove(self.target)
        for path, value, message in ((("model", "type"), "WordLevel", "model: 'type' is 'WordLevel', which is not supported; expected \"WordPiece\"; lexformer reads the model types"),
                                     (("normalizer", "type"), "Sequence", "normalizer: 'type' is 'Sequence'"),
                                     (("pre_tokenizer", "type"), "Metaspace", "Metaspace"), (("model", "continuing_subword_prefix"), "@", "'@', which is not supported; expected \"##\""),
                                     (("added_tokens",), [{"id": 9, "content": "[COL]"}], "'[COL]' has the id 9 in one file, but its place is 7"), (("model", "vocab"), [], "'vocab' is [], expected dict"),
                                     (("model", "vocab"), {"a": 1, "b": 1}, "two tokens have the id 1"), (("model", "vocab"), {"a": 1 << 40}, "is not possible")):
            bad = json.loads(json.dumps(root))
            (bad[path[0]] if len(path) == 2 else bad)[path[-1]] = value
            self.put("tokenizer.json", json.dumps(bad))
            self.refused(message)

    def test_added_tokens(self):
        self.put_weights(tiny_tensors())
        with open(os.path.join(self.source, "tokenizer_config.json")) as file:
            config = json.load(file)
        self.put("added_tokens.json", json.dumps({"[MASK]": 4}))
        self.put("tokenizer_config.json", json.dumps({**config, "added_tokens_decoder": {"4": {"content": "[MASK]"}}}))
        self.result()
        os.remove(self.target)
        # One more than the model has embeddings.
        self.put("tokenizer_config.json", json.dumps(config))
        self.put("added_tokens.json", json.dumps({"[COL]": 11}))
        self.refused("the vocabulary has 12 tokens, the config allows 11")
        self.put("added_tokens.json", json.dumps({"[COL]": 12}))
        self.refused("the added token '[COL]' has the id 12 in one file, but its place is 11")

    def test_sentence_transformers(self):
        modules = [{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}, {"path": "2_Normalize", "type": "x.Normalize"}]
        self.put_weights(tiny_tensors())
        self.put("modules.json", json.dumps(modules))
        self.put("1_Pooling/config.json", json.dumps({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}))
        self.assertEqual(json.loads(self.result()[1]["lexformer.config"])["lexformer"], {"normalize": True, "pooling": "mean"})
        # One weight file has the settings of its folder.
        whole = self.result()
        self.assertEqual(self.result(source=os.path.join(self.source, "model.safetensors")), whole)
        self.put("1_Pooling/config.json", json.dumps({"pooling_mode": "cls"}))
        self.assertEqual(json.loads(self.result()[1]["lexformer.config"])["lexformer"]["pooling"], "cls")
        os.remove(self.target)
        self.put("1_Pooling/config.json", json.dumps({"pooling_mode_lasttoken": True}))
        self.refused("pooling 'lasttoken' is not supported; mean, cls and max are")
        self.put("modules.json", json.dumps([{"path": "../x", "type": "x.Pooling"}]))
        self.refused("expected a list of modules")
        # Older folders have the transformer in a subfolder.
        os.mkdir(os.path.join(self.folder, "outer"))
        os.rename(self.source, os.path.join(self.folder, "outer", "0_BERT"))
        self.source = os.path.join(self.folder, "outer")
        self.put("modules.json", json.dumps([{"path": "0_BERT", "type": "x.Transformer"}]))
        self.assertNotIn("lexformer", json.loads(self.result()[1]["lexformer.config"]))
        self.put("1_Pooling/config.json", json.dumps({"pooling_mode_cls_token": True}))
        self.put("modules.json", json.dumps([{"path": "0_BERT", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}]))
        self.assertEqual(json.loads(self.result()[1]["lexformer.config"])["lexformer"], {"normalize": False, "pooling": "cls"})
        os.remove(self.target)
        self.put("modules.json", json.dumps([{"path": "0_BERT", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.WordWeights"}]))
        self.refused("the module 'WordWeights' is not supported; Transformer, Pooling, Dense, LayerNorm and Normalize are")

    def test_sentence_encoder_and_back(self):
        """Dense modules and the length of texts become part of the .lxf file, and --to-hf writes the same folder again."""
        self.put_weights(tiny_tensors())
        order = ["Transformer", "Pooling", "Dense", "Dense", "Normalize"]
        write_modules = lambda kinds: self.put("modules.json", json.dumps(
            [{"path": "%d_%s" % (i, kind) if i else "", "type": "sentence_transformers.models." + kind} for i, kind in enumerate(kinds)]))
        write_modules(order)
        numbers = lambda *values: struct.pack("<%df" % len(values), *values)
        first = {"linear.weight": ("F32", (2, 4), numbers(*range(8))), "linear.bias": ("F32", (2,), numbers(8, 9))}
        self.put("1_Pooling/config.json", json.dumps({"pooling_mode_max_tokens": True}))
        self.put("2_Dense/config.json", json.dumps({"activation_function": "torch.nn.modules.activation.Tanh"}))
        self.put("2_Dense/model.safetensors", safetensors_bytes(first, {}))
        last = {"activation_function": "torch.nn.modules.linear.Identity", "bias": False}
        self.put("3_Dense/config.json", json.dumps(last))
        self.put("3_Dense/model.safetensors", safetensors_bytes({"linear.weight": ("F32", (1, 2), numbers(1, 2))}, {}))
        self.put("sentence_bert_config.json", json.dumps({"max_seq_length": 6}))
        settings = {"pooling": "max", "normalize": True, "max_length": 6, "dense": ["tanh", "identity"]}
        tensors, metadata = self.result()
        self.assertEqual(json.loads(metadata["lexformer.config"])["lexformer"], settings)
        self.assert_tensors({name: tensor for name, tensor in tensors.items() if "dense." in name and name.startswith("lexformer.")},
                            {"lexformer.dense.0.weight": first["linear.weight"], "lexformer.dense.0.bias": first["linear.bias"],
                             "lexformer.dense.1.weight": ("F32", (1, 2), numbers(1, 2)), "lexformer.dense.1.bias": ("F32", (1,), numbers(0))})
        back, read = self.exported()
        self.assertEqual([module["type"].rsplit(".", 1)[1] for module in read("modules.json")], order)
        self.assertEqual({key for key, value in read("1_Pooling/config.json").items() if value is True}, {"pooling_mode_max_tokens"})
        self.assertEqual(read("1_Pooling/config.json")["word_embedding_dimension"], 4)
        self.assertEqual(read("2_Dense/config.json"), {"activation_function": "torch.nn.modules.activation.Tanh", "bias": True, "in_features": 4, "out_features": 2})
        self.assertEqual(read("sentence_bert_config.json")["max_seq_length"], 6)
        os.remove(self.target)
        again, metadata = self.result(source=back)
        self.assertEqual((again, json.loads(metadata["lexformer.config"])["lexformer"]), (tensors, settings))
        os.remove(self.target)
        self.put("3_Dense/config.json", json.dumps(dict(last, activation_function="x.Softmax")))
        self.refused("'x.Softmax' is not supported; Tanh, Identity, ReLU, GELU and SiLU are")
        self.put("3_Dense/config.json", json.dumps(dict(last, module_output_name="token_embeddings")))
        self.refused("'module_output_name' is 'token_embeddings', which is not supported; expected \"sentence_embedding\"")
        self.put("3_Dense/config.json", json.dumps(last))
        write_modules(["Transformer", "Pooling", "Normalize", "Dense"])
        self.refused("a Dense module is not between Pooling and Normalize")
        write_modules(["Transformer", "Pooling"])
        self.put("config_sentence_transformers.json", json.dumps({"default_prompt_name": "query", "prompts": {"query": "find: "}}))
        self.refused("the default prompt 'query' is not supported")

    def test_scores_of_modules_and_back(self):
        """A cross-encoder whose scores come from modules, as Ettin's rerankers, becomes a head, and --to-hf writes such a folder again."""
        self.put_weights(tiny_tensors())
        numbers = lambda *values: struct.pack("<%df" % len(values), *values)
        vector = lambda *values: ("F32", (len(values),), numbers(*values))
        square, out = ("F32", (4, 4), numbers(*range(16))), ("F32", (1, 4), numbers(1, 2, 3, 4))
        gelu = {"activation_function": "torch.nn.modules.activation.GELU", "bias": False, "in_features": 4, "module_output_name": "sentence_embedding"}
        last = {"activation_function": "torch.nn.modules.linear.Identity", "module_output_name": "scores"}
        weights = {"2_Dense": {"linear.weight": square}, "3_LayerNorm": {"norm.weight": vector(1, 2, 3, 4), "norm.bias": vector(5, 6, 7, 8)},
                   "4_Dense": {"linear.weight": out, "linear.bias": vector(9)}}
        for place, config in (("1_Pooling", {"pooling_mode": "cls"}), ("2_Dense", gelu), ("3_LayerNorm", {"dimension": 4}), ("4_Dense", last)):
            self.put(place + "/config.json", json.dumps(config))
        for place, tensors in weights.items():
            self.put(place + "/model.safetensors", safetensors_bytes(tensors, {}))
        write_modules = lambda *places: self.put("modules.json", json.dumps([{"path": place, "type": "x." + (place[2:] or "Transformer")} for place in places]))
        write_modules("", "1_Pooling", "2_Dense", "3_LayerNorm", "4_Dense")
        settings = lambda head, **more: {"head": "modules", "modules": {"pooling": "cls", **head}, "labels": 1, "task": "regression", "max_length": 512, "activation": "sigmoid", **more}
        stored = lambda metadata: json.loads(metadata["lexformer.config"])["lexformer"]
        tensors, metadata = self.result()
        self.assertEqual(stored(metadata), settings({"dense": "gelu", "norm": True}))
        self.assert_tensors({name: tensor for name, tensor in tensors.items() if name.startswith("lexformer.head.")},
                            {"lexformer.head.dense.weight": square, "lexformer.head.dense.bias": vector(0, 0, 0, 0), "lexformer.head.norm.weight": vector(1, 2, 3, 4),
                             "lexformer.head.norm.bias": vector(5, 6, 7, 8), "lexformer.head.out.weight": out, "lexformer.head.out.bias": vector(9)})
        # The activation that sentence-transformers stores; and a trained model has more keys.
        self.put("config_sentence_transformers.json", json.dumps({"activation_fn": "torch.nn.modules.linear.Identity", "model_type": "CrossEncoder"}))
        self.put("tokenizer_config.json", json.dumps({"model_max_length": 6}))
        tensors, metadata = self.result()
        self.assertEqual(stored(metadata), settings({"dense": "gelu", "norm": True}, max_length=6, activation="identity"))
        back, read = self.exported()
        self.assertEqual([module["path"] for module in read("modules.json")], ["", "1_Pooling", "2_Dense", "3_LayerNorm", "4_Dense"])
        self.assertEqual(read("4_Dense/config.json"), {**last, "bias": True, "in_features": 4, "out_features": 1})
        self.assertEqual(read("config_sentence_transformers.json")["activation_fn"], "torch.nn.modules.linear.Identity")
        os.remove(self.target)
        again, metadata = self.result(source=back)
        self.assertEqual((again, stored(metadata)), (tensors, settings({"dense": "gelu", "norm": True}, max_length=6, activation="identity")))
        # Without LayerNorm, and with one Dense; several labels are classes.
        for places, head in ((("2_Dense", "4_Dense"), {"dense": "gelu", "norm": False}), (("4_Dense",), {"norm": False})):
            write_modules("", "1_Pooling", *places)
            tensors, metadata = self.result()
            self.assertEqual(stored(metadata), settings(head, max_length=6, activation="identity"))
            self.assertEqual(self.convert("--to-hf", back + str(len(places)), source=self.target), 0, self.err)
            self.assertEqual(self.result(source=back + str(len(places)))[0], tensors)
        self.put("4_Dense/model.safetensors", safetensors_bytes({"linear.weight": ("F32", (3, 4), numbers(*range(12))), "linear.bias": vector(1, 2, 3)}, {}))
        self.assertEqual({key: stored(self.result()[1])[key] for key in ("labels", "task")}, {"labels": 3, "task": "classification"})
        os.remove(self.target)
        for places, part in ((("4_Dense", "2_Dense"), "the module '2_Dense' is after the one whose 'module_output_name' is 'scores'"),
                             (("3_LayerNorm", "4_Dense"), "the module '3_LayerNorm' is LayerNorm, which is not supported in this place"),
                             (("2_Dense", "2_Dense", "4_Dense"), "the module '2_Dense' is Dense, which is not supported in this place"),
                             (("2_Dense", "5_Normalize", "4_Dense"), "the module '5_Normalize' is Normalize, which is not supported in this place"),
                             (("2_Dense", "3_LayerNorm"), "the module '3_LayerNorm' is LayerNorm, which is supported before the Dense of a cross-encoder's scores alone")):
            write_modules("", "1_Pooling", *places)
            self.refused(part)
        write_modules("", "4_Dense", "1_Pooling")
        self.refused("a Dense module is before Pooling")
        write_modules("", "1_Pooling", "2_Dense", "4_Dense")
        self.put("4_Dense/config.json", json.dumps(dict(last, activation_function="x.Tanh")))
        self.refused("the module '4_Dense' gives scores by the 'activation_function' tanh, expected Identity")
        self.put("4_Dense/config.json", json.dumps(last))
        self.put("2_Dense/config.json", json.dumps(dict(gelu, use_residual=True)))
        self.refused("'use_residual' is true, which is not supported; expected false")
        self.put("2_Dense/config.json", json.dumps(gelu))
        self.put("2_Dense/model.safetensors", safetensors_bytes({"linear.weight": ("F32", (2, 4), numbers(*range(8)))}, {}))
        self.refused("the module '2_Dense' makes of 'in_features' 4 the 'out_features' 2, expected as many")

    def test_electra(self):
        config = dict(CONFIG, model_type="electra", embedding_size=2)
        self.put("config.json", json.dumps(config))
        tensors = tiny_tensors(config)
        self.assertIn("electra.embeddings_project.weight", tensors)
        head = {"classifier.dense.weight": ("F32", (4, 4), bytes(64)), "classifier.out_proj.weight": ("F32", (2, 4), bytes(32))}
        self.put_weights(dict(tensors, **head))
        self.assert_tensors(self.result()[0], dict(tensors, **head))

    def test_relative_positions(self):
        config = dict(CONFIG, position_embedding_type="relative_key_query")
        tensors = tiny_tensors(config)
        self.assertIn("bert.encoder.layer.0.attention.self.distance_embedding.weight", tensors)
        self.assertNotIn("bert.embeddings.position_embeddings.weight", tensors)
        self.put("config.json", json.dumps(config))
        self.put_weights(tensors)
        self.assert_tensors(self.result()[0], tensors)
        os.remove(self.target)
        self.put("config.json", json.dumps(dict(CONFIG, position_embedding_type="ddrp")))
        self.refused("'position_embedding_type' is 'ddrp'; transformers has absolute, relative_key, relative_key_query")

    def test_attention_terms_are_left_out_and_named_positions_of_ours_refused(self):
        base = dict(CONFIG)
        self.export(dict(base, lexformer={"attention": ["lea", {"name": "mine", "options": {}}]}), {})
        self.assertIn("note: transformers leaves out the attention terms lea, mine; its results differ", self.out)
        source = os.path.join(self.folder, "alibi.lxf")
        config = dict(base, lexformer={"attention": [{"name": "alibi", "options": {}}]})
        tensors = {name: Tensor(*tensor) for name, tensor in tiny_tensors().items()}
        write_safetensors(source, tensors, {"lexformer.format": "1", "lexformer.config": json.dumps(config)})
        self.refused("the position scheme is 'alibi'; transformers has absolute", arguments=["--to-hf", os.path.join(self.folder, "new")], source=source)

    def test_what_a_config_leaves_out(self):
        """The defaults are transformers': BertConfig's and ElectraConfig's."""
        def without(config, *keys):
            return {key: value for key, value in config.items() if key not in keys}

        self.put_weights(tiny_tensors())
        self.put("config.json", json.dumps(without(CONFIG, "model_type", "architectures")))  # as before 2020
        self.assertEqual(json.loads(self.result()[1]["lexformer.config"]), without(CONFIG, "architectures"))
        self.put("config.json", json.dumps(dict(without(CONFIG, "type_vocab_size"), max_position_embeddings=None)))
        self.put_weights(tiny_tensors(dict(CONFIG, max_position_embeddings=512)))
        self.assertEqual(json.loads(self.result()[1]["lexformer.config"]), dict(CONFIG, max_position_embeddings=512))
        electra = dict(CONFIG, model_type="electra", embedding_size=128)
        self.put("config.json", json.dumps(without(electra, "embedding_size")))
        self.put_weights(tiny_tensors(electra))
        self.assertEqual(json.loads(self.result()[1]["lexformer.config"]), electra)
        os.remove(self.target)
        self.put_weights(tiny_tensors(dict(electra, embedding_size=4)))
        self.refused("needed tensors are missing or of the wrong shape")

    def export(self, config=CONFIG, more=None):
        """A .lxf file as lexformer writes it, and the config.json that --to-hf makes of it."""
        tensors = {name: Tensor(*tensor) for name, tensor in dict(tiny_tensors(), **(more or {})).items()}
        source, back = os.path.join(self.folder, "trained.lxf"), os.path.join(self.folder, "back")
        write_safetensors(source, tensors, {"lexformer.format": "1", "lexformer.config": json.dumps(config)})
        shutil.rmtree(back, ignore_errors=True)
        code = self.convert("--to-hf", back, source=source)
        self.assertEqual(os.path.exists(back), code == 0)
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(["source", "trained.lxf"] + ["back"] * (code == 0)))
        self.assertEqual(code, 0, self.err)
        with open(os.path.join(back, "config.json")) as file:
            return json.load(file)

    def test_to_hf_names_the_classes(self):
        ours = {"head": "huggingface", "task": "classification", "labels": 3, "label_names": ["no", "perhaps", "yes"], "max_length": 5}
        stale = dict(CONFIG, num_labels=2, id2label={"0": "A", "1": "B"}, label2id={"A": 0, "B": 1},
                     problem_type="multi_label_classification")
        config = self.export(dict(stale, lexformer=ours))
        self.assertEqual(config["id2label"], {"0": "no", "1": "perhaps", "2": "yes"})
        self.assertEqual(config["label2id"], {"no": 0, "perhaps": 1, "yes": 2})
        self.assertEqual((config["num_labels"], config["problem_type"]), (3, "single_label_classification"))
        self.assertEqual(config["architectures"], ["BertForSequenceClassification"])
        config = self.export(dict(stale, lexformer=dict(ours, labels=4, label_names=[])))
        self.assertEqual(config["label2id"], {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2, "LABEL_3": 3})
        config = self.export(dict(stale, lexformer=dict(ours, labels=1, label_names=[], task="regression")))
        self.assertEqual((config["num_labels"], config["id2label"], config["problem_type"]), (1, {"0": "LABEL_0"}, "regression"))
        self.assertEqual(config["sentence_transformers"], {"activation_fn": "torch.nn.modules.linear.Identity"})
        config = self.export(dict(stale, lexformer=dict(ours, labels=1, label_names=[], task="regression", activation="sigmoid")))
        self.assertEqual(config["sentence_transformers"], {"activation_fn": "torch.nn.modules.activation.Sigmoid"})
        # A head that only lexformer has: transformers can use only the encoder.
        config = self.export(dict(stale, lexformer=dict(ours, head="paper")), {"lexformer.head.out.bias": ("F32", (3,), bytes(12))})
        self.assertEqual((config["architectures"], "id2label" in config, "num_labels" in config), (["BertModel"], False, False))
        self.assertIn("note: transformers leaves out lexformer's own tensors (1, as lexformer.head.out.bias)", self.out)
        # A model that was converted but not trained keeps its config.
        self.assertEqual(self.export(stale), stale)
        converted = self.export(dict(stale, lexformer={"activation": "identity"}), {"classifier.weight": ("F32", (1, 4), bytes(16))})
        self.assertEqual(converted["sentence_transformers"], {"activation_fn": "torch.nn.modules.linear.Identity"})
        weight = {"classifier.weight": ("F32", (3, 4), bytes(48))}
        for labels, more, message in ((2, None, "'label_names' does not fit 'labels'"), (2, weight, "the classification head has 3 outputs"),
                                      (10**7, None, "from 1 to 65536"), (2**40, None, "from 1 to 65536"), (0, None, "from 1 to 65536")):
            with self.assertRaises(AssertionError):  # the large ones took hours and all memory
                self.export(dict(stale, lexformer=dict(ours, labels=labels)), more)
            self.assertIn(message, self.err)

    def test_either_order_of_to_hf(self):
        self.put_weights(tiny_tensors())
        self.result()
        for name, order in (("a", lambda folder: ["--to-hf", folder]), ("b", lambda folder: [folder, "--to-hf"])):
            folder = os.path.join(self.folder, name)
            self.assertEqual(self.convert(*order(folder), source=self.target), 0, self.err)
            self.assertTrue(os.path.exists(os.path.join(folder, "config.json")))

    def test_the_source_is_not_written_over(self):
        self.put_weights(tiny_tensors())
        self.result()
        link = os.path.join(self.folder, "link.lxf")
        os.symlink(self.target, link)
        for source, target in ((self.target, self.target), (self.target, link), (self.source, os.path.join(self.source, "model.safetensors")),
                               (self.source, os.path.join(self.source, "vocab.txt"))):
            with open(target, "rb") as file:
                before = file.read()
            self.assertEqual(self.convert(target, "--dtype", "BF16", source=source), 2)
            self.assertIn("is one of the files that the model was read from", self.err)
            with open(target, "rb") as file:
                self.assertEqual(file.read(), before)

    def test_what_may_never_end(self):
        """Devices, gigabytes of zeros and shared tuples cost neither time nor memory."""
        self.put_weights(tiny_tensors())
        weights = os.path.join(self.source, "model.safetensors")
        os.truncate(weights, 0)
        os.truncate(weights, 4 << 30)  # a sparse file
        self.refused("are no safetensors file")
        if os.path.exists("/dev/zero"):
            for name in ("model.safetensors", "config.json", "vocab.txt"):
                path = os.path.join(self.source, name)
                os.rename(path, path + ".old")
                os.symlink("/dev/zero", path)
                self.refused(name + ": is no regular file")
                os.remove(path)
                os.rename(path + ".old", path)
        os.remove(weights)
        shared = ("x",)
        for _ in range(60):
            shared = (shared, shared)  # its hash would take 2^60 steps
        for attack in (Reduced(collections.OrderedDict, (), None, None, iter([(shared, 1)])), Reduced(collections.OrderedDict, ([(shared, 1)],)),
                       Reduced(collections.OrderedDict, (), None, None, iter([(shared, 1), ("a", 1)])), {1: 1}, {"x"}):
            self.put("pytorch_model.bin", bin_bytes(tiny_tensors(), attack=attack))
            self.refused("pytorch_model.bin: ")
        for attack in (shared, [shared], [shared, {"a": shared}]):
            self.put("pytorch_model.bin", bin_bytes(tiny_tensors(), attack=attack))
            self.refused("'attack' is no tensor")

    def test_foreign_names_in_messages(self):
        """Half of a surrogate pair, a zero byte, line breaks and control characters: one short line of text, no traceback."""
        self.put("pytorch_model.bin", bin_bytes({"a\ud800": ("F32", (1,), bytes(4))}))
        self.refused("the name 'a\\ud800' is no text in UTF-8")
        self.put("pytorch_model.bin.index.json", json.dumps({"weight_map": {"a": "x\0.bin"}}))
        os.remove(os.path.join(self.source, "pytorch_model.bin"))
        self.refused("plain file name")
        os.remove(os.path.join(self.source, "pytorch_model.bin.index.json"))
        name = "a\x1b[31m\nb" + "c" * 5000
        self.put_weights({name: ("I8", (1,), b"x")})
        self.refused("needed tensors are missing")
        self.assertNotIn("\x1b", self.out + self.err)
        self.assertLess(max(map(len, self.out.split("\n"))), 1100)
        self.put_weights(dict(tiny_tensors(), **{name: ("F32", (1,), struct.pack("<f", math.nan))}))
        self.put("config.json", json.dumps(dict(CONFIG, model_type="x\x1b\n" + "y" * 10**6)))
        self.refused("'model_type' is 'x\\x1b\\nyyy")
        self.assertLess(len(self.err), 1100)
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "convert_hf.py"), b"no\nsuch\x1b\xff", self.target], stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr.count(b"\n"), done.stderr.count(b"\x1b")), (3, 1, 0), done.stderr)

    def test_activation_of_a_cross_encoder(self):
        """sentence-transformers names what its CrossEncoder puts on the logits; without a name it is the sigmoid for one label."""
        def activation(labels, **more):
            self.put("config.json", json.dumps(dict(CONFIG, **more)))
            head = {} if labels == 0 else {"classifier.weight": ("F32", (labels, 4), bytes(16 * labels)), "classifier.bias": ("F32", (labels,), bytes(4 * labels))}
            self.put_weights(dict(tiny_tensors(), **head))
            return json.loads(self.result()[1]["lexformer.config"]).get("lexformer", {}).get("activation")

        identity, sigmoid = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"
        for labels, more, want in ((1, {}, None), (2, {}, None), (1, {"sentence_transformers": {"version": "5.0"}}, "sigmoid"),
                                   (3, {"sentence_transformers": {"version": "5.0"}}, None),
                                   (1, {"sentence_transformers": {"activation_fn": identity}}, "identity"),
                                   (1, {"sentence_transformers": {"activation_fn": sigmoid}}, "sigmoid"),
                                   (1, {"sbert_ce_default_activation_function": identity}, "identity"),
                                   (2, {"sbert_ce_default_activation_function": sigmoid}, "sigmoid"),
                                   (0, {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Tanh"}}, None)):
            self.assertEqual(activation(labels, **more), want, (labels, more))
        # Version 6 has a file of its own for it. The tokenizer's length is that of a pair.
        self.put("tokenizer_config.json", json.dumps({"do_lower_case": False, "model_max_length": 9}))
        self.put("config_sentence_transformers.json", json.dumps({"activation_fn": identity, "model_type": "CrossEncoder"}))
        self.assertEqual(activation(1), "identity")
        self.assertEqual(json.loads(read_lxf(self.target)[1]["lexformer.config"])["lexformer"]["max_length"], 9)
        os.remove(os.path.join(self.source, "config_sentence_transformers.json"))
        os.remove(self.target)
        self.put("config.json", json.dumps(dict(CONFIG, sentence_transformers={"activation_fn": "torch.nn.modules.activation.Tanh"})))
        self.put_weights(dict(tiny_tensors(), **{"classifier.weight": ("F32", (1, 4), bytes(16))}))
        self.refused("Tanh' is not supported; Sigmoid and Identity are")

    def test_to_hf_and_back(self):
        self.put_weights(tiny_tensors())
        self.assertEqual(self.convert(self.target, "--dtype", "BF16"), 0, self.err)
        back = os.path.join(self.folder, "new", "back")
        os.makedirs(back)
        self.assertEqual(self.convert("--to-hf", back, source=self.target), 0, self.err)
        with open(os.path.join(back, "config.json")) as file:
            config = json.load(file)
        self.assertEqual(config.pop("torch_dtype"), "bfloat16")
        self.assertEqual(config, {key: value for key, value in CONFIG.items() if key != "torch_dtype"})
        first = read_lxf(self.target)
        self.assertEqual(self.convert(self.target, "--dtype", "BF16", source=back), 0, self.err)
        second = read_lxf(self.target)
        self.assertEqual(first[0], second[0])
        for key in ("lexformer.vocab", "lexformer.tokenizer"):
            self.assertEqual(first[1][key], second[1][key])
        os.remove(self.target)
        other = os.path.join(self.folder, "other")
        self.refused("has no lexformer.format, so it is no .lxf file", arguments=["--to-hf", other], source=os.path.join(back, "model.safetensors"))
        self.refused("cannot be read", arguments=["--to-hf", other], source=os.path.join(self.folder, "none.lxf"))
        damaged, table = os.path.join(self.folder, "damaged.lxf"), "bert.embeddings.word_embeddings.weight"
        for name, change in (("missing", {}), ("of another shape", {table: Tensor("F32", (1, 4), bytes(16))})):
            tensors = {name: Tensor(*tensor) for name, tensor in tiny_tensors().items() if name != table}
            write_safetensors(damaged, {**tensors, **change}, {"lexformer.format": "1", "lexformer.config": json.dumps(CONFIG)})
            self.refused("1 needed tensors are missing or of the wrong shape, as '%s'" % table, arguments=["--to-hf", other], source=damaged)
        self.assertFalse(os.path.exists(other))

    def test_nothing_is_half_written(self):
        self.put_weights(tiny_tensors())
        self.result()
        with open(self.target, "rb") as file:
            before = file.read()
        there, back = sorted(os.listdir(self.folder)), os.path.join(self.folder, "back")
        for target, arguments, source in ((self.target, [self.target, "--dtype", "F16"], self.source),
                                          (back, ["--to-hf", back], self.target)):
            for function, calls in (("fsync", 0), ("fsync", 2), ("replace", 0)):  # a folder has four files, a .lxf is a single file
                full = mock.Mock(side_effect=[None] * calls + [OSError(errno.ENOSPC, "No space left on device")])
                if calls == 0 or target == back:
                    with mock.patch.object(os, function, full):
                        self.assertEqual(self.convert(*arguments, source=source), 1)
                    self.assertEqual(self.err, target + ": cannot be written: No space left on device\n")
                    self.assertEqual(sorted(os.listdir(self.folder)), there)
        with open(self.target, "rb") as file:
            self.assertEqual(file.read(), before)
        damaged = mock.Mock(return_value=before[:-1] + b"x")
        read = read_bytes
        with mock.patch("convert.lxf.read_bytes", lambda path, *limit: damaged() if ".tmp-" in path else read(path, *limit)):
            self.assertEqual(self.convert(self.target, "--check"), 3)
        self.assertEqual(sorted(os.listdir(self.folder)), there)

    def test_command_line(self):
        def run(*arguments):
            program = os.path.join(ROOT, "tools", "convert_hf.py")
            return subprocess.run([sys.executable, program] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        self.put_weights(tiny_tensors())
        self.put("config.json", json.dumps({key: value for key, value in CONFIG.items() if key != "label"}))
        self.assertEqual(run(self.source, self.target).returncode, 0)
        folder = os.path.join(self.folder, "new")
        for arguments, part in (((), b"source"), ((self.source,), b"--to-hf FOLDER"), ((self.source, self.target, "--dtype", "I16"), b"'I16'"),
                                ((self.target, "x.lxf", "--to-hf", folder), b"either"),
                                ((self.target, "--to-hf", folder, "--check"), b"--check"),
                                ((self.target, "--to-hf", folder, "--dtype", "F32"), b"--dtype"),
                                ((self.target, "--to-hf", self.source), b"is no empty folder"),
                                ((self.target, "--to-hf", self.target), b"is no empty folder")):
            failed = run(*arguments)
            self.assertEqual((failed.returncode, failed.stderr.count(b"\n")), (2, 1), failed.stderr)
            self.assertIn(part, failed.stderr)
        self.assertFalse(os.path.exists(folder))
        self.assertEqual(run("--help").returncode, 0)
        failed = run(self.source, os.path.join(self.folder, "none", "m.lxf"))
        self.assertEqual((failed.returncode, failed.stderr.count(b"\n")), (1, 1))
        self.assertEqual(run(os.path.join(self.folder, "none"), self.target).returncode, 3)


def write_golden():
    case = Convert("test_plain_folder_and_golden_file")
    case.setUp()
    case.put_weights(tiny_tensors())
    assert case.convert(GOLDEN) == 0, case.err
    case.doCleanups()


if __name__ == "__main__":
    write_golden() if "--write-golden" in sys.argv else unittest.main()
