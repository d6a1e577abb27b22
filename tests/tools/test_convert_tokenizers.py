#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/convert_hf.py: tokenizers that are not WordPiece. Needs Python alone; tests/oracles/check_tokenizer_json.py compares with transformers."""

import base64
import contextlib
import io
import json
import os
import random
import struct
import sys
import tempfile
import unittest
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.dont_write_bytecode = True
import convert_hf
from convert.added_tokens import SPECIAL
from convert.files import read_bytes
from convert.names import needed_tensors
from convert.safetensors import parse_safetensors, write_safetensors
from convert.tensor import Tensor
from convert.tokens import USUAL

CONFIG = {"model_type": "bert", "hidden_size": 2, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 2, "vocab_size": 12, "max_position_embeddings": 8,
          "type_vocab_size": 2}
PLAIN = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>"]
BPE = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [{"id": i, "content": name, **PLAIN} for i, name in enumerate(ROBERTA)],
       "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
       "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False},
       "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {**{name: i for i, name in enumerate(ROBERTA)}, "a": 4, "b": 5, "ab": 6}, "merges": [["a", "b"]]}}


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def field(number, value):
    return varint(number * 8) + varint(value) if isinstance(value, int) else varint(number * 8 + 2) + varint(len(value)) + value


def spm(pieces, trainer=b"", charsmap=b""):
    """A ModelProto of (text, score, type)."""
    entries = [field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + (field(3, kind) if kind != 1 else b"") for text, score, kind in pieces]
    return b"".join(field(1, entry) for entry in entries) + field(2, trainer) + field(3, field(1, b"nmt_nfkc") + (field(2, charsmap) if charsmap else b""))


PIECES = [("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3), ("\u2581a", -1.5, 1), ("b", -2.25, 1), ("\u2581", -3, 1)]
DEBERTA = [("[PAD]", 0, 3), ("[CLS]", 0, 3), ("[SEP]", 0, 3), ("[UNK]", 0, 2), ("\u2581a", -1.5, 1), ("foo", 0, 4)]
SPECIAL_4 = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]


class Tokenizers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source, self.target, self.back = (os.path.join(folder.name, name) for name in ("source", "m.lxf", "back"))
        os.mkdir(self.source)
        self.put("config.json", CONFIG)
        tensors = {name: Tensor("F32", shape, bytes(4 * shape[0] * (shape[1] if len(shape) > 1 else 1))) for name, shape in needed_tensors(CONFIG).items()}
        write_safetensors(os.path.join(self.source, "model.safetensors"), tensors, {})

    def put(self, name, value):
        with open(os.path.join(self.source, name), "wb") as file:
            file.write(value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else json.dumps(value).encode())

    def run_tool(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
            code = convert_hf.main(list(arguments))
        self.err = err.getvalue()
        return code

    def converted(self, source=None):
        """The text of tokenizer.json and the settings in the .lxf file."""
        self.assertEqual(self.run_tool(source or self.source, self.target, "--check"), 0, self.err)
        metadata = parse_safetensors(read_bytes(self.target), self.target)[1]
        text = metadata["lexformer.tokenizer_json"]
        self.assertEqual(metadata["lexformer.tokenizer_json_crc32"], str(zlib.crc32(text.encode())))
        self.assertFalse({"lexformer.vocab", "lexformer.vocab_crc32"} & set(metadata))
        return text, json.loads(metadata["lexformer.tokenizer"])

    def refused(self, part):
        self.assertEqual(self.run_tool(self.source, self.target), 3)
        self.assertIn(part, self.err)
        self.assertEqual(self.err.count("\n"), 1)

    def assert_flags(self, flags, **named):
        self.assertEqual(flags, {**USUAL, **dict.fromkeys(SPECIAL, ""), **named})

    def test_text_is_stored_as_it_is(self):
        text = json.dumps(BPE, indent=1) + "\n"
        self.put("tokenizer.json", text)
        names = dict(cls_token="<s>", sep_token="</s>", unk_token="<unk>", pad_token="<pad>")
        for config in ({"tokenizer_class": "RobertaTokenizerFast"}, {"tokenizer_class": "PreTrainedTokenizerFast", **names}, {"tokenizer_class": "BertTokenizer"}, {}):
            self.put("tokenizer_config.json", config)
            found, flags = self.converted()
            self.assertEqual(found, text)
            self.assert_flags(flags, **{**names, "unk_token": config.get("unk_token", "")})
        self.put("special_tokens_map.json", {"pad_token": {"content": "a", "lstrip": True}, "unk_token": "<unk>"})
        self.assert_flags(self.converted()[1], **{**names, "pad_token": "a"})
        self.assertEqual(self.run_tool(self.target, "--to-hf", self.back), 0, self.err)
        with open(os.path.join(self.back, "tokenizer.json"), encoding="utf-8", newline="") as file:
            self.assertEqual(file.read(), text)
        self.assertFalse(os.path.exists(os.path.join(self.back, "vocab.txt")))
        with open(os.path.join(self.back, "tokenizer_config.json")) as file:  # a name that is no added token would become one
            self.assertEqual(json.load(file), dict(cls_token="<s>", sep_token="</s>", unk_token="<unk>", tokenizer_class="PreTrainedTokenizerFast", model_max_length=8))
        self.assertEqual(self.converted(self.back)[0], text)

    def test_what_is_refused(self):
        self.put("tokenizer.json", BPE)
        for config in ({"mask_token": "<mask>"}, {"additional_special_tokens": ["[COL]"]}, {"added_tokens_decoder": {"6": {"content": "a"}}}):
            self.put("tokenizer_config.json", config)
            self.refused("is not in tokenizer.json, which says how texts are split, or has another id there")
        self.put("tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True})
        self.refused("'add_prefix_space' differs between tokenizer_config.json and tokenizer.json")
        self.put("tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer", "new": True})
        self.refused("the key 'new' is not known")
        os.remove(os.path.join(self.source, "tokenizer_config.json"))
        for change, part in (({"added_tokens": BPE["added_tokens"] + [{"id": 12, "content": "x", **PLAIN}]}, "the vocabulary has 13 tokens, the config allows 12"),
                             ({"model": {"type": "Unigram", "vocab": []}}, "'vocab' does not give each token an id"), ({"model": {"type": "WordLevel"}}, "'WordLevel'"),
                             ({"model": {"type": "BPE", "vocab": {"a": -1}}}, "'vocab' does not give each token an id"),
                             ({"model": {**BPE["model"], "vocab": {**BPE["model"]["vocab"], "": 5}}}, "the token with the id 5 is empty"),
                             ({"added_tokens": BPE["added_tokens"] + [{"id": i, "content": "x", **PLAIN} for i in (7, 8)]}, "two added tokens are 'x'"), ({"new": 1}, "the key 'new' is not known")):
            self.put("tokenizer.json", {**BPE, **change})
            self.refused(part)
        self.put("tokenizer.json", BPE)
        self.put("modules.json", [{"path": "", "type": "x.Transformer"}])
        self.put("sentence_bert_config.json", {"do_lower_case": True})
        self.refused("'do_lower_case' is true; with a tokenizer that is not WordPiece it is not supported")

    def test_byte_bpe(self):
        """From vocab.json and merges.txt: the class of tokenizer_config.json, or that of the model type."""
        self.put("vocab.json", BPE["model"]["vocab"])
        self.put("merges.txt", "#version: 0.2\na b\n")
        self.put("added_tokens.json", {"<mask>": 7})
        self.put("tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer", "additional_special_tokens": ["[COL]"]})
        text, flags = self.converted()
        root = json.loads(text)
        self.assert_flags(flags, cls_token="<s>", sep_token="</s>", unk_token="<unk>", pad_token="<pad>", mask_token="<mask>")
        self.assertEqual((root["pre_tokenizer"], root["post_processor"]), (BPE["pre_tokenizer"], BPE["post_processor"]))
        self.assertEqual({key: root["model"][key] for key in BPE["model"]}, BPE["model"])
        self.assertEqual([(token["id"], token["content"], token["lstrip"]) for token in root["added_tokens"]],
                         [*((i, name, False) for i, name in enumerate(ROBERTA)), (7, "<mask>", True), (8, "[COL]", False)])
        self.put("tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True})
        root = json.loads(self.converted()[0])
        self.assertEqual((root["pre_tokenizer"]["add_prefix_space"], root["post_processor"]["add_prefix_space"]), (True, True))
        os.remove(os.path.join(self.source, "added_tokens.json"))
        self.put("tokenizer_config.json", {"tokenizer_class": "GPT2Tokenizer"})
        text, flags = self.converted()
        self.assert_flags(flags, unk_token="<|endoftext|>")
        self.assertEqual((json.loads(text)["post_processor"]["type"], json.loads(text)["added_tokens"][0]["id"]), ("ByteLevel", 7))
        for name, content, part in (("merges.txt", "a c\n", "the line 'a c' is no merge"), ("merges.txt", "a b c\n", "is no merge"), ("merges.txt", b"\xff", "not UTF-8 at byte 1"),
                                    ("vocab.json", {"a": "x"}, "does not give each token an id"), ("vocab.json", {}, "does not give each token an id")):
            self.put(name, content)
            self.refused(part)
            self.put("merges.txt", "a b\n")

    def test_unigram(self):
        self.put("sentencepiece.bpe.model", spm(PIECES, field(3, 1), b"\0\1\2"))
        mapped = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(b"\0\1\2").decode()}
        pieces = [["\u2581a", -1.5], ["b", -2.25], ["\u2581", -3.0]]
        for kind, vocabulary, mask, cls in (("XLMRobertaTokenizer", SPECIAL_4 + pieces + [["<mask>", 0.0]], 7, 0), (
                "CamembertTokenizer", [["<s>NOTUSED", 0.0], ["<pad>", 0.0], ["</s>NOTUSED", 0.0], ["<unk>", 0.0], ["<unk>NOTUSED", -100.0], ["<s>", 0.0], ["</s>", 0.0], *pieces, ["<mask>", 0.0]], 10, 5)):
            self.put("tokenizer_config.json", {"tokenizer_class": kind})
            text, flags = self.converted()
            root = json.loads(text)
            self.assertEqual(root["model"], {"type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": False})
            self.assertEqual(root["normalizer"], {"type": "Sequence", "normalizers": [mapped]})
            self.assertEqual([part["type"] for part in root["pre_tokenizer"]["pretokenizers"]], ["WhitespaceSplit", "Metaspace"])
            self.assertEqual([token["id"] for token in root["added_tokens"] if token["content"] == "<mask>" and token["lstrip"]], [mask])
            self.assertEqual(root["post_processor"]["special_tokens"]["<s>"]["ids"], [cls])
            self.assertEqual([next(iter(part.values()))["id"] for part in root["post_processor"]["pair"]], ["<s>", "A", "</s>", "</s>", "B", "</s>"])
            self.assert_flags(flags, cls_token="<s>", sep_token="</s>", unk_token="<unk>", pad_token="<pad>", mask_token="<mask>")

    def test_unigram_of_deberta(self):
        self.put("tokenizer_config.json", {"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": True, "sp_model_kwargs": {}, "vocab_type": "spm"})
        self.put("spm.model", spm(DEBERTA))
        text, flags = self.converted()
        root = json.loads(text)
        self.assert_flags(flags, **SPECIAL)
        self.assertEqual([part["type"] for part in root["normalizer"]["normalizers"]], ["Lowercase", "Strip", "Replace"])
        self.assertEqual([part["type"] for part in root["pre_tokenizer"]["pretokenizers"]], ["Metaspace"])
        self.assertEqual([(token["id"], token["content"], token["special"]) for token in root["added_tokens"]],
                         [(0, "[PAD]", True), (1, "[CLS]", True), (2, "[SEP]", True), (3, "[UNK]", True), (5, "foo", False), (6, "[MASK]", True)])
        self.assertEqual([next(iter(part.values()))["type_id"] for part in root["post_processor"]["pair"]], [0, 0, 0, 1, 1])
        self.put("tokenizer_config.json", {"tokenizer_class": "DebertaV2Tokenizer", "split_by_punct": True})
        self.refused("'split_by_punct' is not false, which is not supported without tokenizer.json")

    def test_damaged_models_of_sentencepiece(self):
        self.put("tokenizer_config.json", {"tokenizer_class": "XLMRobertaTokenizer"})
        good = spm(PIECES, field(3, 1), bytes(40))
        for content, part in ((spm(PIECES, field(3, 2)), "is not Unigram"), (spm(PIECES, field(35, 1)), "falls back on bytes"), (spm([]), "is no model of sentencepiece"),
                              (spm([("", 0, 1)]), "a piece is empty"), (b"\x0f", "unknown wire type 7"), (b"\x0a\xff\xff\xff\xff\x0f", "ends outside"), (b"\xff" * 11, "too long"),
                              (field(1, 5), "is no model"), (field(1, field(1, b"\xff")), "is no model")):
            self.put("sentencepiece.bpe.model", content)
            self.refused(part)
        draw = random.Random(1)
        for _ in range(500):
            bad = bytearray(good[:draw.randint(1, len(good))])
            bad[draw.randrange(len(bad))] = draw.randrange(256)
            self.put("sentencepiece.bpe.model", bytes(bad))
            self.assertIn(self.run_tool(self.source, self.target), (0, 3))
            self.assertLessEqual(self.err.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
