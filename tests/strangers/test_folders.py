#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Folders of HuggingFace and sentence-transformers as strangers have them: a small folder, one change to its files, and what must come of it.

tools/convert_hf.py and, if it is built, the program read each folder. Both give the same ids, or refuse it with the same message. With
--transformers the ids of the table are compared with those of transformers 5, which must then be installed; no test needs it.
"""

import array
import contextlib
import copy
import io
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(os.environ.get("LEXFORMER_BIN", os.path.join(ROOT, "build", "release", "bin")), "lexformer")
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.dont_write_bytecode = True
import convert_hf
from convert.added_tokens import SPECIAL
from convert.families import FAMILIES, config_key
from convert.folder_keys import FOLDER_KEYS
from convert.names import foreign_tensors, needed_tensors
from convert.safetensors import write_safetensors
from convert.tensor import Tensor

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "foo", "bar", "##bar", "Foo", "caf\u00e9", "cafe", "\u4f60", "\u4f60foo", "[", "]", "x", "mask", "##x", "<s>", "[E1]"]
TEXT = "Foo caf\u00e9 [MASK] foobar \u4f60foo [X] x<s>"
PLAIN = [2, 5, 10, 4, 5, 7, 11, 5, 13, 15, 14, 15, 1, 1, 1, 3]  # TEXT by the folder without a change
CONFIG = {"model_type": "bert", "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 24,
          "max_position_embeddings": 32, "type_vocab_size": 2}
POOLING = {"word_embedding_dimension": 4, "pooling_mode_mean_tokens": True}


def special(content, kind):
    return {"SpecialToken": {"id": content, "type_id": kind}}


def text(name, kind):
    return {"Sequence": {"id": name, "type_id": kind}}


def token(content, number=None, **flags):
    entry = dict(content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    return dict(entry, **flags) if number is None else dict(entry, id=number, **flags)


BERT_TEMPLATE = {"type": "TemplateProcessing", "single": [special("[CLS]", 0), text("A", 0), special("[SEP]", 0)],
                 "pair": [special("[CLS]", 0), text("A", 0), special("[SEP]", 0), text("B", 1), special("[SEP]", 1)],
                 "special_tokens": {name: {"id": name, "ids": [i], "tokens": [name]} for name, i in (("[CLS]", 2), ("[SEP]", 3))}}
NO_SEP = dict(BERT_TEMPLATE, single=BERT_TEMPLATE["single"][:2], pair=BERT_TEMPLATE["pair"][:4])
ONE_TYPE = dict(BERT_TEMPLATE, pair=[*BERT_TEMPLATE["pair"][:3], text("B", 0), special("[SEP]", 0)])
TWO_SEPS = dict(BERT_TEMPLATE, pair=[*BERT_TEMPLATE["pair"][:3], *BERT_TEMPLATE["pair"][2:]])
THREE_SEPS = dict(BERT_TEMPLATE, pair=[*TWO_SEPS["pair"][:3], *TWO_SEPS["pair"][2:]])
TOKENIZER = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [token(name, i) for i, name in enumerate(WORDS[:5])],
             "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
             "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": BERT_TEMPLATE, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
             "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                       "vocab": {word: i for i, word in enumerate(WORDS)}}}
FAST = {"tokenizer_class": "PreTrainedTokenizerFast", **{name: "[%s]" % name[:-6].upper() for name in SPECIAL}}
BASES = {
    "bert": {"config.json": CONFIG, "vocab.txt": "".join(word + "\n" for word in WORDS), "tokenizer_config.json": {"tokenizer_class": "BertTokenizer"}},
    "json": {"config.json": CONFIG, "tokenizer.json": TOKENIZER, "tokenizer_config.json": {"tokenizer_class": "BertTokenizer"}},
    "fast": {"config.json": CONFIG, "tokenizer.json": TOKENIZER, "tokenizer_config.json": FAST},
}
BASES["mpnet"] = dict(BASES["fast"], **{"tokenizer_config.json": dict(FAST, tokenizer_class="MPNetTokenizer", bos_token="[CLS]", eos_token="[SEP]")})
BASES["sentence"] = dict(BASES["bert"], **{
    "modules.json": [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                     {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}],
    "1_Pooling/config.json": POOLING, "sentence_bert_config.json": {"max_seq_length": 32, "do_lower_case": False},
    "config_sentence_transformers.json": {"__version__": {"transformers": "5.0"}, "prompts": {}, "default_prompt_name": None}})

TRUNCATION = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
PADDING = {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
CASED = [2, 8, 9, 4, 5, 7, 11, 5, 13, 1, 14, 15, 1, 1, 1, 3]
WITH_X = PLAIN[:8] + [20] + PLAIN[11:]
WITH_S = PLAIN[:12] + [18, 3]
LITERAL_MASK = PLAIN[:3] + [13, 16, 14] + PLAIN[4:]
NOT_KNOWN = "may change the results; take it out of the file if it does not"
UNSUPPORTED = ", which is not supported; expected "

# A base, a file of it, its path in the JSON (dots) and the new value (DROP: none); what comes of it: the ids of TEXT, or a part of the refusal.
DROP = "drop"
CASES = [
    ("bert", "config.json", "new_setting", 1, "the key 'new_setting' is not known and " + NOT_KNOWN),
    ("bert", "config.json", "quantization_config", {"bits": 4}, "'quantization_config' is "),
    ("bert", "config.json", "quantization_config", None, PLAIN),
    ("bert", "config.json", "auto_map", {"AutoModel": "x.Y"}, "'auto_map' is "),
    ("bert", "config.json", "tie_word_embeddings", False, PLAIN),
    ("bert", "config.json", "hidden_act", "gelu_fast", PLAIN),
    ("bert", "config.json", "hidden_act", "mish", "'hidden_act' is 'mish'"),
    ("bert", "config.json", "add_cross_attention", True, "'add_cross_attention' is true" + UNSUPPORTED + "false"),
    ("bert", "tokenizer_config.json", "new_setting", 1, "the key 'new_setting' is not known and " + NOT_KNOWN),
    ("bert", "tokenizer_config.json", "do_lower_case", False, CASED),
    ("bert", "tokenizer_config.json", "strip_accents", None, PLAIN),
    ("bert", "tokenizer_config.json", "strip_accents", False, [9 if i == 10 else i for i in PLAIN]),
    ("bert", "tokenizer_config.json", "tokenize_chinese_chars", False, PLAIN[:6] + [12] + PLAIN[8:]),
    ("bert", "tokenizer_config.json", "clean_text", False, "'clean_text' is false" + UNSUPPORTED + "true"),
    ("bert", "tokenizer_config.json", "do_basic_tokenize", False, "'do_basic_tokenize' is false" + UNSUPPORTED + "true"),
    ("bert", "tokenizer_config.json", "never_split", ["x"], "'never_split' is "),
    ("bert", "tokenizer_config.json", "add_bos_token", True, "'add_bos_token' is true" + UNSUPPORTED + "false"),
    ("bert", "tokenizer_config.json", "split_special_tokens", True, "'split_special_tokens' is true" + UNSUPPORTED + "false"),
    ("bert", "tokenizer_config.json", "truncation_side", "left", "'truncation_side' is 'left'" + UNSUPPORTED + '"right"'),
    ("bert", "tokenizer_config.json", "auto_map", {"AutoTokenizer": ["x", None]}, "'auto_map' is "),
    ("bert", "tokenizer_config.json", "tokenizer_class", "PreTrainedTokenizerFast", "which needs tokenizer.json"),
    ("bert", "tokenizer_config.json", "tokenizer_class", "BertJapaneseTokenizer", "'tokenizer_class' is 'BertJapaneseTokenizer'"),
    ("bert", "tokenizer_config.json", "tokenizer_class", "ElectraTokenizerFast", PLAIN),
    ("bert", "tokenizer_config.json", "tokenizer_class", "DistilBertTokenizer", PLAIN),
    ("bert", "tokenizer_config.json", "tokenizer_class", "MPNetTokenizer", "which needs tokenizer.json"),
    ("bert", "tokenizer_config.json", "cls_token", "<s>", [18] + WITH_S[1:]),
    ("bert", "tokenizer_config.json", "unk_token", "[X]", "the token of unknown words, '[X]', is not in the vocabulary"),
    ("bert", "tokenizer_config.json", "unk_token", None, "'unk_token' is null, expected a token"),
    ("bert", "tokenizer_config.json", "bos_token", "<s>", WITH_S),
    ("bert", "tokenizer_config.json", "mask_token", None, LITERAL_MASK),
    ("bert", "tokenizer_config.json", "additional_special_tokens", ["<s>"], WITH_S),
    ("bert", "tokenizer_config.json", "extra_special_tokens", ["[X]"], WITH_X),
    ("bert", "tokenizer_config.json", "extra_special_tokens", {"x_token": "[X]"}, WITH_X),
    ("bert", "tokenizer_config.json", "extra_special_tokens", "[X]", "the special tokens are '[X]', expected a list"),
    ("bert", "tokenizer_config.json", "added_tokens_decoder", {"20": token("[X]")}, WITH_X),
    ("bert", "tokenizer_config.json", "added_tokens_decoder", {"20": token("[x]", normalized=True)}, WITH_X),
    ("bert", "tokenizer_config.json", "added_tokens_decoder", {"20": token("[x]")}, PLAIN),
    ("bert", "tokenizer_config.json", "added_tokens_decoder", {"20": token("oba")}, PLAIN[:4] + [1, 20, 1] + PLAIN[6:]),
    ("bert", "tokenizer_config.json", "added_tokens_decoder", {"20": token("oba", single_word=True)}, PLAIN),
    ("bert", "tokenizer_config.json", "added_tokens_decoder", {"11": token("caf", single_word=True)}, "'caf' has the id 11"),
    ("bert", "tokenizer_config.json", "added_tokens_decoder", {"20": token("[X]", lstrip=True, rstrip=True)}, WITH_X),
    ("bert", "tokenizer_config.json", "added_tokens_decoder", {"5": token("foo")}, PLAIN[:4] + [5, 6] + PLAIN[6:]),
    ("bert", "tokenizer_config.json", "added_tokens_decoder", {"22": token("[X]")}, "'[X]' has the id 22 in one file, but its place is 20"),
    ("bert", "tokenizer_config.json", "added_tokens_decoder", {"20": token("[X]", new=1)}, "added token: the key 'new' is not known"),
    ("bert", "special_tokens_map.json", "additional_special_tokens", ["<s>"], WITH_S),
    ("bert", "special_tokens_map.json", "cls_token", "<s>", [18] + WITH_S[1:]),
    ("bert", "special_tokens_map.json", "pad", "<s>", "the key 'pad' is not known"),
    ("bert", "added_tokens.json", "[X]", 20, WITH_X),
    ("bert", "added_tokens.json", "[X]", 21, "'[X]' has the id 21 in one file, but its place is 20"),
    ("bert", "adapter_config.json", "r", 8, "has an adapter (adapter_config.json)"),
    ("json", "tokenizer.json", "normalizer", None, PLAIN),  # transformers makes that of BERT
    ("json", "tokenizer.json", "normalizer.lowercase", False, PLAIN),
    ("json", "tokenizer.json", "post_processor", None, PLAIN),
    ("json", "tokenizer.json", "truncation", TRUNCATION, PLAIN),
    ("json", "tokenizer_config.json", "do_lower_case", False, CASED),
    ("json", "tokenizer.json", "added_tokens", TOKENIZER["added_tokens"] + [token("[X]", 20)], WITH_X),
    ("json", "tokenizer.json", "added_tokens", [token("[X]", 20)], WITH_X),
    ("json", "tokenizer.json", "added_tokens", [token("[X]", 3)], "'[X]' has the id 3 in one file, but its place is 20"),
    ("json", "tokenizer_config.json", DROP, None, PLAIN),
    ("fast", "tokenizer.json", "new_part", {}, "the key 'new_part' is not known"),
    ("fast", "tokenizer.json", "normalizer", None, CASED[:6] + [12] + CASED[8:]),
    ("fast", "tokenizer.json", "normalizer.lowercase", False, CASED),
    ("fast", "tokenizer.json", "normalizer.strip_accents", False, [9 if i == 10 else i for i in PLAIN]),
    ("fast", "tokenizer.json", "normalizer.clean_text", False, PLAIN),
    ("fast", "tokenizer.json", "normalizer.type", "Sequence", "normalizer: 'type' is 'Sequence'"),
    ("fast", "tokenizer.json", "normalizer.nfc", True, "normalizer: the key 'nfc' is not known"),
    ("fast", "tokenizer.json", "pre_tokenizer", None, "'pre_tokenizer' is null"),
    ("fast", "tokenizer.json", "pre_tokenizer.type", "Whitespace", "pre_tokenizer: 'type' is 'Whitespace'"),
    ("fast", "tokenizer.json", "post_processor", None, PLAIN[1:-1]),
    ("fast", "tokenizer.json", "post_processor", NO_SEP, PLAIN[:-1]),
    ("fast", "tokenizer.json", "post_processor", ONE_TYPE, PLAIN),
    ("fast", "tokenizer.json", "post_processor", TWO_SEPS, PLAIN),
    ("fast", "tokenizer.json", "post_processor", THREE_SEPS, "the template is not [CLS] A [SEP] and [CLS] A [SEP] B [SEP]"),
    ("fast", "tokenizer.json", "post_processor", {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, PLAIN),
    ("fast", "tokenizer.json", "post_processor", {"type": "RobertaProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2], "trim_offsets": True}, PLAIN),
    ("fast", "tokenizer.json", "post_processor.type", "ByteLevel", "post_processor: 'type' is 'ByteLevel'"),
    ("fast", "tokenizer.json", "model.type", "WordLevel", "model: 'type' is 'WordLevel'"),
    ("fast", "tokenizer.json", "model.dropout", 0.1, "model: the key 'dropout' is not known"),
    ("fast", "tokenizer.json", "model.max_input_chars_per_word", 5, PLAIN[:4] + [1] + PLAIN[6:]),
    ("fast", "tokenizer.json", "model.continuing_subword_prefix", "@@", "'continuing_subword_prefix' is '@@'"),
    ("fast", "tokenizer.json", "truncation", TRUNCATION, PLAIN),
    ("fast", "tokenizer.json", "truncation", dict(TRUNCATION, direction="Left"), "truncation: 'direction' is 'Left'"),
    ("fast", "tokenizer.json", "padding", PADDING, PLAIN),
    ("fast", "tokenizer.json", "padding", dict(PADDING, direction="Left"), "padding: 'direction' is 'Left'"),
    ("fast", "tokenizer.json", "added_tokens", TOKENIZER["added_tokens"] + [token("[X]", 20)], WITH_X),
    ("fast", "tokenizer.json", "added_tokens", TOKENIZER["added_tokens"] + [token("[X]", 22)], "'[X]' has the id 22"),
    ("fast", "tokenizer.json", "added_tokens", [], PLAIN),
    ("fast", "tokenizer_config.json", "do_lower_case", False, PLAIN),
    ("fast", "tokenizer_config.json", "tokenize_chinese_chars", False, PLAIN),
    ("fast", "tokenizer_config.json", "cls_token", "<s>", WITH_S),  # matched, but the template has [CLS]
    ("sentence", "sentence_bert_config.json", "do_lower_case", True, PLAIN),
    ("sentence", "sentence_bert_config.json", "new_setting", 1, "the key 'new_setting' is not known"),
    ("sentence", "sentence_bert_config.json", "tokenizer_args", {"a": 1}, "'tokenizer_args' is "),
    ("sentence", "sentence_bert_config.json", "max_seq_length", "x", "'max_seq_length' is 'x'"),
    ("sentence", "config_sentence_transformers.json", "default_prompt_name", "q", "'prompts' has no such prompt"),
    ("sentence", "config_sentence_transformers.json", "prompts", {"q": "find: "}, PLAIN),
    ("sentence", "config_sentence_transformers.json", "similarity_fn_name", "dot", PLAIN),
    ("sentence", "config_sentence_transformers.json", "similarity_fn_name", "hamming", "'similarity_fn_name' is 'hamming'"),
    ("sentence", "config_sentence_transformers.json", "truncate_dim", 2, "'truncate_dim' is 2"),
    ("sentence", "config_sentence_transformers.json", "model_type", "SparseEncoder", "'model_type' is 'SparseEncoder'"),
    ("sentence", "1_Pooling/config.json", "pooling_mode_cls_token", True, "pooling 'cls_token+mean_tokens' is not supported"),
    ("sentence", "1_Pooling/config.json", "pooling_mode_mean_tokens", 1, "'pooling_mode_mean_tokens' is 1, expected "),
    ("sentence", "1_Pooling/config.json", "pooling_mode", "weightedmean", "pooling 'weightedmean' is not supported"),
    ("sentence", "1_Pooling/config.json", "new_setting", 1, "the key 'new_setting' is not known"),
    ("sentence", "modules.json", "1.kwargs", ["task"], "'kwargs' is "),
    ("sentence", "modules.json", "1.type", "x.LSTM", "the module 'LSTM' is not supported"),
    ("sentence", "modules.json", "1.new", 1, "the key 'new' is not known"),
]


def changed(base, file, path, value):
    files = copy.deepcopy(BASES[base])
    if path == DROP:
        del files[file]
        return files
    place = files.setdefault(file, {})
    *outer, last = path.split(".")
    for key in outer:
        place = place[int(key) if isinstance(place, list) else key]
    place[int(last) if isinstance(place, list) else last] = value
    return files


def write_folder(folder, files):
    for name, content in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as out:
            out.write(content if isinstance(content, str) else json.dumps(content))
    tensors = {name: Tensor("F32", shape, array.array("f", [0.5] * math.prod(shape)).tobytes())
               for name, shape in needed_tensors(CONFIG).items()}
    write_safetensors(os.path.join(folder, "model.safetensors"), tensors, {})


# Keys of a config that a family needs for its attention.
TERMS = {"mpnet": {"relative_attention_num_buckets": 32},
         "deberta": {"relative_attention": True, "share_att_key": True, "pos_att_type": "p2c|c2p", "position_buckets": 4, "max_relative_positions": 8}}


class Folders(unittest.TestCase):
    def read(self, files, expected, message=None):
        """`message`: what the program says if that differs."""
        message = message or expected
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "source"), os.path.join(folder, "m.lxf")
            os.mkdir(source)
            write_folder(source, files)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
                code = convert_hf.main([source, target])
            refused = isinstance(expected, str)
            self.assertEqual(code, 3 if refused else 0, err.getvalue())
            self.assertIn(expected if refused else "", err.getvalue())
            if not os.path.exists(PROGRAM):
                return
            for model in (source,) if refused else (source, target):
                done = subprocess.run([PROGRAM, "encode", "--model", model, "--output", os.path.join(folder, "v.tsv")], input=TEXT + "\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
                self.assertEqual(done.returncode, code, (model, done.stderr))
                if refused:
                    self.assertIn(message, done.stderr)
                    continue
                done = subprocess.run([PROGRAM, "tokenize", "--model", model], input=TEXT + "\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
                self.assertEqual(json.loads(done.stdout)["ids"], expected, (model, done.stderr))

    def test_table(self):
        for base, file, path, value, expected in CASES:
            with self.subTest("%s: %s: %s = %r" % (base, file, path, value)):
                # A model names all keys of config.json that it refuses in one message.
                self.read(changed(base, file, path, value), expected, "'%s'" % path if file == "config.json" else None)

    def test_bases(self):
        for base, files in BASES.items():
            with self.subTest(base):
                self.read(files, PLAIN)

    def test_special_token_outside_of_the_vocabulary_is_no_piece(self):
        files = changed("bert", "tokenizer_config.json", "sep_token", "foo")
        files["vocab.txt"] = files["vocab.txt"].replace("foo", "fob", 1)
        self.read(files, [2, 1, 10, 4, 20, 6, 11, 20, 13, 15, 14, 15, 1, 1, 1, 20])

    def test_templates_of_pairs(self):
        roberta = {"type": "RobertaProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
        for processor, ids, types in ((BERT_TEMPLATE, [2, 5, 3, 6, 3], [0, 0, 0, 1, 1]), (NO_SEP, [2, 5, 3, 6], [0, 0, 0, 1]), (None, [5, 6], [0, 1]),
                                      (ONE_TYPE, [2, 5, 3, 6, 3], [0] * 5), (TWO_SEPS, [2, 5, 3, 3, 6, 3], [0, 0, 0, 0, 1, 1]), (roberta, [2, 5, 3, 3, 6, 3], [0] * 6)):
            with self.subTest(processor), tempfile.TemporaryDirectory() as folder:
                source, target, back = (os.path.join(folder, name) for name in ("source", "m.lxf", "back"))
                os.mkdir(source)
                write_folder(source, changed("fast", "tokenizer.json", "post_processor", processor))
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual([convert_hf.main([source, target]), convert_hf.main([target, "--to-hf", back])], [0, 0])
                for model in (source, target, back) if os.path.exists(PROGRAM) else ():
                    done = subprocess.run([PROGRAM, "tokenize", "--pairs", "--model", model], input="foo\tbar\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
                    found = json.loads(done.stdout)
                    self.assertEqual((found["ids"], found["type_ids"]), (ids, types), (model, done.stderr))

    def test_families(self):
        """A folder, the .lxf file and the folder made of it give the same vectors."""
        for family in FAMILIES:
            with self.subTest(family.model_type), tempfile.TemporaryDirectory() as folder:
                source, target, back = (os.path.join(folder, name) for name in ("source", "m.lxf", "back"))
                os.mkdir(source)
                config = {config_key(family, key): value for key, value in dict(CONFIG, model_type=family.model_type).items() if config_key(family, key)}
                config.update(TERMS.get(family.terms, {}), **({"embedding_size": 4} if family.embedding_size or family.early_projection else {}))
                write_folder(source, dict(BASES["bert"], **{"config.json": config}))
                draw = random.Random(family.model_type)
                tensors = {name: Tensor("F32", shape, array.array("f", [draw.gauss(0, 0.5) for _ in range(math.prod(shape))]).tobytes())
                           for name, shape in needed_tensors(config).items()}
                write_safetensors(os.path.join(source, "model.safetensors"), foreign_tensors(tensors, config, source), {})
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual([convert_hf.main([source, target]), convert_hf.main([target, "--to-hf", back])], [0, 0])
                found = []
                for model in (source, target, back) if os.path.exists(PROGRAM) else ():
                    vectors = os.path.join(folder, "v.tsv")
                    done = subprocess.run([PROGRAM, "encode", "--model", model, "--output", vectors], input=TEXT + "\nbar\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
                    self.assertEqual(done.returncode, 0, (model, done.stderr))
                    with open(vectors) as file:
                        found.append(file.read())
                self.assertLessEqual(len(set(found)), 1)

    def test_keys_are_those_of_the_library(self):
        with open(os.path.join(ROOT, "include", "lexformer", "io", "folder_keys.hpp"), encoding="utf-8") as file:
            self.assertEqual(file.read().split('R"(\n')[1].split(')"')[0], FOLDER_KEYS)


def compare_with_transformers():
    import transformers
    wrong = 0
    for base, file, path, value, expected in CASES:
        if isinstance(expected, str) or base == "sentence":
            continue
        with tempfile.TemporaryDirectory() as folder:
            write_folder(folder, changed(base, file, path, value))
            ids = transformers.AutoTokenizer.from_pretrained(folder)(TEXT)["input_ids"]
        if ids != expected:
            print(base, file, path, value, "\n  transformers:", ids, "\n  table:       ", expected)
            wrong += 1
    print("%d ids of the table are not those of transformers" % wrong)
    return wrong


if __name__ == "__main__":
    sys.exit(compare_with_transformers() != 0) if "--transformers" in sys.argv else unittest.main()
