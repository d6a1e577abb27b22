#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seed inputs of tests/fuzz/corpus: small valid files of every kind and published attacks on parsers.
Former findings are stored in the same folders as tests/fuzz/corpus/*/finding-*; this script does not change them.
usage: tests/fuzz/make_corpus.py [FOLDER]
"""
import base64
import json
import struct
import sys
import zlib
from pathlib import Path

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "tests/fuzz/corpus")


def write(harness, name, content):
    path = FOLDER / harness / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


# ---- weight files: the header (bytes, or a value to serialize) and the data

def file_of(header, data=b"", length=None):
    text = header if isinstance(header, (str, bytes)) else json.dumps(header, separators=(",", ":"))
    text = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def one(dtype, shape, begin, end, size=0):
    return file_of({"a": tensor(dtype, shape, begin, end)}, bytes(size))


def reader_seeds():
    widths = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1}
    header, position = {}, 0
    for dtype, width in widths.items():
        header[dtype.lower()] = tensor(dtype, [2], position, position + 2 * width)
        position += 2 * width
    write("reader", "every_dtype", file_of(header, bytes(range(position))))
    write("reader", "no_tensors", file_of("{}"))
    write("reader", "scalar_and_empty", file_of({"s": tensor("F32", [], 0, 4), "e": tensor("F32", [0, 3], 4, 4)}, bytes(4)))
    write("reader", "unordered", file_of({"b": tensor("F32", [1], 1, 5), "a": tensor("U8", [1], 0, 1)}, bytes(5)))
    write("reader", "not_finite", file_of({"a": tensor("F32", [2], 0, 8)}, struct.pack("<ff", float("nan"), float("inf"))))
    write("reader", "too_large_for_float", file_of({"a": tensor("F64", [1], 0, 8)}, struct.pack("<d", 1e300)))
    write("reader", "old_names", file_of({
        "embeddings.position_ids": tensor("I64", [1], 0, 8), "bert.encoder.layer.0.LayerNorm.gamma": tensor("F32", [1], 8, 12),
        "encoder.layer.0.LayerNorm.beta": tensor("F32", [1], 12, 16), "cls.predictions.decoder.bias": tensor("F32", [1], 16, 20),
        "bert.encoder.layer.0.LayerNorm.weight": tensor("F32", [1], 20, 24)}, bytes(24)))

    # A whole model file.
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cafe", "a", "##fe", "7", "/", "8"]
    vocabulary = "".join(token + "\n" for token in tokens)
    lea = {"similarity": "jaro", "within_sentences": False, "levels": 0, "sharing": "layer", "representation": "scaled", "dimension": 8,
           "alpha": "constant", "alpha_value": 1.0, "first_layer": 0, "last_layer": 256}
    config = {"model_type": "bert", "vocab_size": 12, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
              "max_position_embeddings": 16, "lexformer": {"task": "classification", "head": "paper", "labels": 2, "label_names": ["0", "1"],
                                                           "max_length": 16, "attention": ["lea"], "lea": lea}}
    tokenizer = {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True, "clean_text": True,
                 "max_input_chars_per_word": 100, "match_special_tokens": True, "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
                 "pad_token": "[PAD]", "mask_token": "[MASK]"}
    data = struct.pack("<48f", *(i / 8 for i in range(48)))
    name = "bert.embeddings.word_embeddings.weight"
    metadata = {"format": "pt", "lexformer.format": "1", "lexformer.version": "0.1.0", "lexformer.config": json.dumps(config),
                "lexformer.vocab": vocabulary, "lexformer.vocab_crc32": str(zlib.crc32(vocabulary.encode())), "lexformer.tokenizer": json.dumps(tokenizer),
                "lexformer.threshold": "0.5", "lexformer.crc32": json.dumps({name: zlib.crc32(data)})}
    weight = tensor("F32", [12, 4], 0, 192)
    write("reader", "model", file_of({"__metadata__": metadata, name: weight}, data))
    for key in metadata:
        write("reader", "model_without_" + key.replace("lexformer.", ""), file_of({"__metadata__": {k: v for k, v in metadata.items() if k != key}, name: weight}, data))
    hostile = dict(config, num_hidden_layers=2**31, vocab_size=2**40, num_attention_heads=0)
    write("reader", "attack_config", file_of({"__metadata__": dict(metadata, **{"lexformer.config": json.dumps(hostile)}), name: weight}, data))

    # Attacks. A product of sizes that wraps: CVE-2024-21802 and related ones, CVE-2026-33298, LiteRT 9254 (to exactly 0), MLX 4244.
    write("reader", "attack_product_wraps_to_0", one("F32", [2**32, 2**32], 0, 0))
    write("reader", "attack_product_wraps_small", one("F32", [2**62 + 1], 0, 4, 4))
    write("reader", "attack_product_beyond_int", one("I8", [65536, 65537], 0, 65536, 16))
    write("reader", "attack_empty_hides_wrap", one("F32", [0, 2**63, 4], 0, 0))
    # A sum of sizes that wraps: CVE-2025-53630, CVE-2026-27940.
    write("reader", "attack_sum_wraps", file_of({"a": tensor("U8", [2**63], 0, 2**63), "b": tensor("U8", [2**63], 2**63, 2**64 - 1)}, bytes(8)))
    # Sizes beyond the file: CVE-2026-7482; gigabytes requested by a few hundred bytes: ggml 1516, llama.cpp 19856.
    write("reader", "attack_beyond_file", one("F32", [4], 0, 16, 4))
    write("reader", "attack_terabytes", one("F32", [2**40], 0, 2**42, 8))
    # Shape against data_offsets, offsets against the file, the header's length: MLX 3363, 3364, 3409; fastllm 712.
    write("reader", "attack_shape_not_offsets", one("F32", [2], 0, 4, 4))
    write("reader", "attack_offsets_backwards", one("F32", [1], 8, 4, 8))
    write("reader", "attack_offsets_wrap", one("F32", [1], 2**64 - 4, 0, 4))
    for length in (0, 1, 2**24 + 1, 2**31, 2**32, 2**63, 2**64 - 8, 2**64 - 1):
        write("reader", f"attack_header_length_{length}", file_of({"a": tensor("F32", [1], 0, 4)}, bytes(4), length))
    write("reader", "attack_cut_off", file_of({"a": tensor("F32", [1], 0, 4)}, bytes(4))[:-3])
    # Overlap, gap, trailing bytes.
    write("reader", "attack_overlap", file_of({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [1], 4, 8)}, bytes(8)))
    write("reader", "attack_hole", file_of({"a": tensor("F32", [1], 0, 4), "b": tensor("F32", [1], 8, 12)}, bytes(12)))
    write("reader", "attack_rest", one("F32", [1], 0, 4, 9))
    # Input that a JSON parser may accept: duplicate keys, numbers that change, depth, invalid bytes, more than one document.
    a = '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    write("reader", "attack_key_twice", file_of("{" + a + "," + a + "}", bytes(4)))
    write("reader", "attack_field_twice", file_of('{"a":{"dtype":"F32","shape":[9],"shape":[1],"data_offsets":[0,4]}}', bytes(4)))
    write("reader", "attack_metadata_twice", file_of('{"__metadata__":{"k":"1"},"__metadata__":{"k":"2"}}'))
    for number in ("18446744073709551616", "-1", "1.0", "1e0", '"1"', "true", "null", "[1]"):
        name = "".join(c if c.isalnum() else "_" for c in number)
        write("reader", f"attack_number_{name}", file_of('{"a":{"dtype":"F32","shape":[' + number + '],"data_offsets":[0,4]}}', bytes(4)))
    write("reader", "attack_depth", file_of('{"a":' + "[" * 3000))
    write("reader", "attack_utf8", file_of(b'{"\xff\xfe":1}', b"1234"))
    write("reader", "attack_zero_byte", file_of("{" + a + "}\0{}", bytes(4)))
    write("reader", "attack_two_texts", file_of("{" + a + "}{}", bytes(4)))
    write("reader", "attack_rank", one("F32", [1] * 9, 0, 4, 4))
    write("reader", "attack_dtype", one("F8_E4M3", [4], 0, 4, 4))
    write("reader", "attack_name", file_of({"n" * 513: tensor("F32", [1], 0, 4)}, bytes(4)))
    write("reader", "attack_path", file_of({"../../etc/passwd": tensor("F32", [1], 0, 4)}, bytes(4)))
    write("reader", "attack_pickle", b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01cos\nsystem\n")
    return config, tokenizer


def tokenizer_seeds():
    # Seven choices (tests/fuzz/tokenizer.cpp), the length, the kind of vocabulary, the vocabulary, left text, zero byte, right text.
    texts = ["abc ab cab caf\u00e9 CAFE\u0301\0a-b [SEP] x", "\u4e2d\u6587 a\u4e2db\0\u0130\u00df\u1e9e I", "a\u0301\u0327b \ufffd [MASK][CLS]\0[UNK", "",
             "\0", "a" * 120 + "\0" + "b " * 40, "1/2 112 1212\0\u200b\u00ad\t\r\n\u3000", "\U0001f600 \u0f73\u0344\0\uac00\ud7a3\u1100"]
    for i, text in enumerate(texts):
        write("tokenizer", f"text_{i}", bytes([0, 0, 0, 0, 0, 0, 20, 0]) + text.encode())
        write("tokenizer", f"cased_{i}", bytes([1, 2, i % 2, i % 2, 0, i % 4, 5, 0]) + text.encode())
    write("tokenizer", "foreign_bytes", bytes([0, 1, 0, 0, 0, 0, 20, 0]) + b"\xff\xc3(\xe4\xb8a\xf0\x9f\0\xed\xa0\x80\xc0\x80")
    own = "x\nyz\n##z\n##yz\n\n\u00e9\n x \n[SEP]\nx\n"
    write("tokenizer", "vocabulary_added", bytes([0, 0, 0, 0, 0, 0, 20, 1]) + own.encode() + b"\0xyz yzz\0\xc3\xa9 [SEP]")
    write("tokenizer", "vocabulary_own", bytes([0, 0, 0, 0, 0, 0, 20, 2]) + own.encode() + b"\0xyz yzz\0\xc3\xa9")
    write("tokenizer", "special_own", bytes([0, 0, 0, 0, 0, 0, 20, 3]) + b"x\nxy\nxyz\n##y\n\0a xyzxy x\0xyx")
    # A length that overflows int before it is compared: CVE-2025-52566. A small input can only show truncation to nothing.
    write("tokenizer", "attack_length", bytes([0, 0, 0, 0, 0, 0, 0, 0]) + b"a b c a b c\0a b c")


def table_seeds():
    def seed(name, kind, header, row, columns, text, names=b""):  # row: 0 pairs, 1 without labels, 2 and 3 single texts
        write("table", name, bytes([kind, header, row, columns]) + names + text)

    tsv, csv, jsonl = 0, 1, 2
    seed("tsv", tsv, 0, 0, 0, b"left\tright\tlabel\na b\t\"c\t1\nx\t\t0\n")
    seed("tsv_no_header", tsv, 2, 1, 3, b"1\t2\t3\n4\t5\t6")
    seed("tsv_bom_crlf", tsv, 1, 0, 1, b"\xef\xbb\xbfa\tb\tc\r\n1\t2\t3\r\n")
    seed("tsv_widths", tsv, 0, 0, 1, b"a\tb\t0\nc\td\n")
    seed("csv", csv, 0, 0, 2, b'id,label,left,right\n1,0,"a, ""b""\nc",d\n2,1,,\xc3\xa9\n')
    seed("single_texts", csv, 0, 2, 0, b"label,sentence\n1,good\n0,\n")
    seed("single_texts_jsonl", jsonl, 0, 3, 0, b'{"text":"a"}\n{"sentence":"b","label":1}\n')
    seed("csv_never_closed", csv, 0, 0, 0, b'a,"b\nc\n')
    seed("csv_quote_inside", csv, 0, 0, 0, b'a,b"c,1\n')
    seed("csv_after_quote", csv, 0, 0, 0, b'a,"b"c,1\n')
    seed("csv_named", csv, 0, 0, 4, b"x,y,z\n1,2,3\n", b"\x03z\nx\ny\n")
    seed("csv_number_too_large", csv, 0, 0, 4, b"x,y,z\n1,2,3\n", b"\x0318446744073709551616\n0\n99\n")
    seed("jsonl", jsonl, 0, 0, 0, b'{"left":"a","right":"\\u00e9","label":1}\n{"left":"","right":"","label":"0"}\n')
    seed("jsonl_twice", jsonl, 0, 0, 0, b'{"left":"a","left":"b","right":"","label":1}\n')
    seed("jsonl_types", jsonl, 0, 0, 2, b'{"left":1,"right":[],"label":null}\n')
    seed("jsonl_numbers", jsonl, 0, 0, 0, b'{"left":"","right":"","label":1e308}\n{"left":"","right":"","label":-0.5}\n')
    seed("jsonl_depth", jsonl, 0, 0, 0, b'{"left":' + b"[" * 1000 + b"\n")
    seed("empty_lines", tsv, 0, 0, 0, b"\n\n\n")
    seed("empty", csv, 0, 0, 0, b"")
    seed("zero_byte", tsv, 0, 0, 0, b"a\tb\0\t1\n")
    seed("foreign_bytes", csv, 0, 0, 0, b"a,\xff,1\n")
    seed("utf16", csv, 0, 0, 0, "left,right\n".encode("utf-16"))
    seed("many_columns", tsv, 0, 0, 0, b"\t" * 1500 + b"\n")
    seed("labels", tsv, 2, 0, 0, b"a\tb\tnan\na\tb\t1e999\na\tb\t0x1p3\na\tb\t-1\n")


def pipeline_seeds(seed):
    letters = {c: i for i, c in enumerate(["<s>", "</s>", "a", "c", "f", "n", "o", "s", "y", "\u0120", "\u00c3", "\u00a9", "5", "55", "\u0120s", "on"])}
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    bpe = {"added_tokens": [{"id": 16, "content": "<mask>", "lstrip": True}], "normalizer": {"type": "NFC"}, "pre_tokenizer": byte_level,
           "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": True},
           "model": {"type": "BPE", "unk_token": None, "vocab": letters, "merges": ["5 5", ["\u0120", "s"], "o n"]}}
    seed("pipeline_bpe", 7, bpe)
    seed("pipeline_merge", 7, dict(bpe, model=dict(bpe["model"], merges=["5 5", "a y"])))
    # SentencePiece's table: the double array (12 bytes), two units with the key "A", its value, and the replacement "a".
    units = [0x400, 0x41 | 0x100 | 0x400, 1 << 31]
    blob = struct.pack("<I%dI" % len(units), 4 * len(units), *units) + b"a\0"
    pieces = [["<s>", 0], ["</s>", 0], ["<unk>", 0], ["\u2581", -1.5], ["a", -2], ["\u2581s", -3], ["on", -2.5], ["55", -4], ["<0x0A>", -9]]
    unigram = {"added_tokens": [{"id": 9, "content": "<mask>", "normalized": True}],
               "normalizer": {"type": "Sequence", "normalizers": [
                   {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}, {"type": "NFKD"}, {"type": "StripAccents"},
                   {"type": "Lowercase"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, {"type": "Strip", "strip_left": True, "strip_right": True},
                   {"type": "Prepend", "prepend": "x"}]},
               "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
                                                                       {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits", "individual_digits": True}]},
               "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
                                  "pair": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                                  "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
               "model": {"type": "Unigram", "unk_id": 2, "vocab": pieces, "byte_fallback": True}}
    seed("pipeline_unigram", 7, unigram)
    seed("pipeline_scores", 7, dict(unigram, model=dict(unigram["model"], vocab=pieces[:3])))


def json_seeds(config, tokenizer):
    def seed(name, kind, value):
        write("json", name, bytes([kind]) + (value if isinstance(value, bytes) else json.dumps(value).encode()))

    seed("values", 0, {"a": [1, -1, 0.1, 1e-300, 1.7e308, 18446744073709551615, -9223372036854775808, True, None, "\u00e9\u0000\ud83d\ude00"]})
    seed("twice", 0, b'{"a":1,"a":2}')
    seed("zero_byte", 0, b'{"a":1}\0')
    seed("overflow", 0, b"[1e999]")
    seed("minus_zero", 0, b"[-0,-0.0,0e5]")
    seed("surrogate", 0, b'["\\ud800"]')
    seed("foreign_bytes", 0, b'["\xff"]')
    seed("depth", 0, b"[" * 2000)
    seed("cut_off", 0, b'{"a":[1,2')
    seed("comment", 0, b"[1,/**/2]")
    seed("bert_config", 1, {k: v for k, v in config.items() if k != "lexformer"})
    seed("electra_config", 1, {"model_type": "electra", "embedding_size": 8, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "classifier_dropout": None})
    seed("config_types", 1, {"model_type": 5, "vocab_size": "12"})
    seed("config_heads", 1, {"hidden_size": 7, "num_attention_heads": 2})
    seed("config_ranges", 1, {"num_hidden_layers": 2**31, "vocab_size": -1})
    own = config["lexformer"]
    seed("cross_encoder", 2, own)
    seed("cross_encoder_plain", 2, dict(own, attention=[], task="regression", labels=1))
    seed("cross_encoder_learned", 2, dict(own, lea=dict(own["lea"], representation="learned", levels=50, dimension=128, alpha="learned")))
    seed("cross_encoder_large", 2, dict(own, lea=dict(own["lea"], representation="learned", levels=65535, dimension=65536)))
    seed("cross_encoder_term", 2, dict(own, attention=["no such\nterm"]))
    state = {"global_step": 7, "epoch": 0.5, "max_steps": 60, "num_train_epochs": 3.0, "train_batch_size": 32, "best_metric": 0.5,
             "best_model_checkpoint": "checkpoint-5", "log_history": [{"step": 1, "loss": 0.7}],
             "lexformer": {"seed": 42, "epoch_index": 0, "batch_index": 7, "settings": {"lr": 1e-5}, "loop": {}}}
    seed("state", 3, state)
    seed("state_without", 3, dict(state, best_metric=None, best_model_checkpoint=None))
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    whole = {"added_tokens": [{"id": i, "content": token, "special": True} for i, token in enumerate(special)],
             "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
             "pre_tokenizer": {"type": "BertPreTokenizer"},
             "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                       "vocab": {token: i for i, token in enumerate(special + ["a", "caf", "##e"])}}}
    seed("tokenizer_file", 4, whole)
    seed("tokenizer_file_hole", 4, dict(whole, model=dict(whole["model"], vocab={"[UNK]": 1, "[CLS]": 2, "[SEP]": 9})))
    seed("tokenizer_file_far_id", 4, dict(whole, model=dict(whole["model"], vocab={"[UNK]": 4194304})))
    seed("tokenizer_file_added", 4, dict(whole, added_tokens=[{"id": 8, "content": "<new>\n"}]))
    seed("tokenizer_file_bpe", 4, dict(whole, model={"type": "BPE", "vocab": {}, "merges": []}))
    pipeline_seeds(seed)
    seed("tokenizer_config", 5, {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": True,
                                 "unk_token": {"content": "[UNK]", "__type": "AddedToken"}, "cls_token": "[CLS]"})
    seed("tokenizer_config_class", 5, {"tokenizer_class": "T5\u0000Tokenizer"})
    seed("tokenizer_settings", 6, tokenizer)
    seed("tokenizer_settings_more", 6, dict(tokenizer, more=1))


def conllu_seeds():
    def word(index, form, head, relation, misc="_"):
        return f"{index}\t{form}\t_\t_\t_\t_\t{head}\t{relation}\t_\t{misc}\n"

    empty = "\t_" * 8
    ab = word(1, "A", 2, "det") + word(2, "b", 0, "root", "SpaceAfter=No") + word(3, ".", 2, "punct")
    seed = lambda name, text: write("conllu", name, text)
    seed("sentence", ab + "\n" + word(1, "C", 0, "root"))
    seed("document", "# newdoc id = 1\n# document =  A b.  C \n# text = A b.\n" + ab + "\n" + word(1, "C", 0, "root") + "\n# newdoc\n" + ab)
    seed("ranges", f"# text = don't go\n1-2\tdon't{empty}\n" + word(1, "do", 3, "aux") + word(2, "n't", 3, "neg") + word(3, "go", 0, "root")
         + f"3.1\tx{empty}\n")
    seed("two_roots", word(1, "a", 0, "root") + word(2, "b", 0, "root"))
    seed("cycle", word(1, "a", 0, "root") + word(2, "b", 3, "x") + word(3, "c", 2, "x"))
    seed("head", word(1, "a", 9, "root"))
    seed("columns", "1\ta\t_\t_\t_\t_\t0\troot\t_\n")
    seed("order", word(2, "a", 0, "root"))
    seed("not_in_text", "# text = b\n" + word(1, "a", 0, "root"))
    seed("twice", word(1, "a", 0, "root") + "\n" + word(1, "a", 0, "other"))
    seed("crlf_utf8", ("# text = \u00e4hm\n" + word(1, "\u00e4hm", 0, "root")).replace("\n", "\r\n"))
    seed("comments", "#\n#=\n# document\n# text\n#newdoc=\n")
    write("conllu", "bytes", b"1\t\xff\t\0\t_\t_\t_\t0\t\x80\t_\t_\n")



def vectors_seeds():
    def seed(name, text, cased=0):
        write("vectors", name, bytes([cased]) + (text if isinstance(text, bytes) else text.encode()))

    seed("word2vec", "2 3\nThe 1 -2 0.5 \nof 3e-1 0 4 \n")
    seed("glove", "the 0.418 0.24968\n, -0.41242 1.2e-05\n")
    seed("cased", "The 1\nthe 2\n", 1)
    seed("twice", "The 1\nthe 2\n\u00c4 3\n\u00e4 4\n")
    seed("bom_crlf", "\ufeffa\t1\t2\r\nb\t3\t4")
    seed("ranges", "a 1e-45 3.4028235e38 -1.17549435e-38 1e-400 -0 16777217\n")
    seed("not_finite", "a 1 nan\n")
    seed("overflow", "a 1e39\n")
    seed("no_number", "a 1 0x1p3\n")
    seed("zero", "a 0 -0\n")
    seed("short_row", "a 1 2\nb 1\n")
    seed("long_row", "a 1 2\nb 1 2 3\n")
    seed("header_count", "3 1\na 1\n")
    seed("attack_header_dimension", "1 4611686018427387905\na 1\n")
    seed("attack_header_wraps", "18446744073709551616 1\na 1\n")
    seed("attack_one_wide_row", "a" + " 1" * 1000 + "\nb 1" * 1000)
    seed("empty_word", "a 1\n 2\n")
    seed("blank_line", "a 1\n\nb 1\n")
    seed("empty", "")
    seed("bytes", b"a\xff 1\n\0 2\n\xe2\x80\xa8 3\n")
    seed("control", b"\0 2\n\xe2\x80\xa8 3\n\xc2\xa0 4\n\x0b 5\n")


def fasttext_seeds():
    def model(options=(2, 5, 1, 1, 5, 1, 2, 2, 3, 2, 3, 100), version=12, sizes=(2, 2, 0), pruned=-1, words=(("ab", 0), ("b", 0)), shape=(5, 2), outputs=2, quantized=0):
        entries = b"".join(word.encode() + struct.pack("<xqb", 4, kind) for word, kind in words)
        table = struct.pack("<bqq", quantized, *shape) + struct.pack(f"<{shape[0] * shape[1]}f", *range(shape[0] * shape[1]))
        output = struct.pack("<bqq", 0, outputs, shape[1]) + bytes(4 * outputs * shape[1])
        return b"\xba\x16\x4f\x2f" + struct.pack("<i12id3iqq", version, *options, 1e-4, *sizes, 9, pruned) + entries + table + output

    write("fasttext", "skipgram", model())
    write("fasttext", "classifier", model((2, 5, 1, 1, 5, 1, 3, 3, 0, 0, 0, 100), sizes=(2, 1, 1), words=(("ab", 0), ("__label__a", 1)), shape=(1, 2), outputs=1))
    write("fasttext", "version_11", model(version=11))
    write("fasttext", "quantized", model(quantized=1))
    write("fasttext", "pruned", model(pruned=0))
    write("fasttext", "no_utf8", model().replace(b"ab\0", b"a\xff\0"))
    write("fasttext", "end_of_line", model(words=(("</s>", 0), ("\u00e4\U0001f600", 0))))
    write("fasttext", "long_n_grams", model((2, 5, 1, 1, 5, 1, 2, 2, 3, 1, 1000, 100)))
    write("fasttext", "attack_bucket", model((2, 5, 1, 1, 5, 1, 2, 2, 2**31 - 1, 2, 3, 100)))
    write("fasttext", "attack_entries", model(sizes=(2**31 - 1, 2**31 - 1, 0)))
    write("fasttext", "attack_negative", model(sizes=(-2, -1, -1)))
    write("fasttext", "cut_off", model()[:-7])
    write("fasttext", "rest", model() + b"x")
    write("fasttext", "magic", b"\xba\x16\x4f\x2f")


def tagged_seeds():
    def seed(name, text, flags=(0, 0)):
        write("tagged", name, bytes(flags) + (text if isinstance(text, bytes) else text.encode()))

    seed("tabs", "Anna\tB-PER\nSmith\tI-PER\n\nsees\tO\nOslo\tI-LOC\n")
    seed("spaces", "-DOCSTART- -X- O O\n\nAnna NNP B-NP B-PER\nsees VB  B-VP O \n")
    seed("white_lines", "\t\nAnna\tB-PER\n \t \nOslo\tx\tB-a-b\r\n\r\n")
    seed("words", "Anna\nSmith X-PER\n\nOslo\t\n", (1, 0))
    seed("cut", "a\tO\nb\tB-x\nc\tI-x\n", (0, 1))
    seed("spaces_in_a_word", "\ufeffNew York\tB-LOC\n- DOC\tO\n")
    seed("document_after_a_space", "Anna\tO\n -DOCSTART-\nOslo\tO\n")
    seed("no_bio", "Anna\tX-PER\n")
    seed("no_type", "Anna\tB-\n")
    seed("one_column", "Anna\tO\nSmith\n")
    seed("empty_word", "\tO\n")
    seed("empty_tag", "Anna\tO\nSmith\t\n")
    seed("empty", "")
    seed("bytes", b"Anna\tO\n\xff\tO\n")
    seed("control", b"\0\tO\n\xe2\x80\xa8\tB-\x0b\n\xc2\xa0\tO\n")


def normalizer_seeds():
    def seed(name, text, trie=(), replacements=b"", kind=0, table=None):
        trie = list(trie) + [0] * (-len(trie) % 256)
        table = struct.pack(f"<{len(trie) + 1}I", 4 * len(trie), *trie) + replacements if table is None else table
        write("normalizer", name, bytes([kind]) + text.encode() + b"\0" + table)

    def unit(place, label, node, ends_key=0):
        return label | ends_key << 8 | (place ^ node) << 10

    one_key = [unit(0, 0, 256)] + [0] * 511
    one_key[256 ^ ord("a")] = unit(256 ^ ord("a"), ord("a"), 1, 1)
    one_key[1] = 1 << 31
    text = "xa\u0301 \u00e9e\u0301\u0327\ufb01\u1100\u1161\u11a8\u263a\u200d\u263a\r\n\U0001f1e9\U0001f1ea"
    for kind, name in enumerate(["nfc", "nfd", "nfkc", "nfkd", "replace", "bert"]):
        seed(name, text, one_key, b"bc\0", kind)
    seed("removed", "aa\u00e9aa", one_key, b"\0")
    seed("no_end", "a", one_key, b"bc")
    seed("not_utf8", "a", one_key, b"\xff\0")
    seed("attack_value", "a", one_key[:1] + [(1 << 31) + 5] + one_key[2:], b"b\0")
    seed("attack_root", "a", [1 << 31])
    seed("attack_node", "a", [unit(0, 0, 256)] + [0] * 255)
    seed("attack_circle", "aaaa", [unit(0, 0, 256)] + [unit(place, place % 256, 256) for place in range(1, 512)])
    seed("attack_far", "a", [1 << 9 | 0x3FFFFF << 10])
    seed("attack_size", "a", table=struct.pack("<I", 2**32 - 4))
    seed("cut_off", "a", table=b"\4\0")


config, tokenizer = reader_seeds()
tokenizer_seeds()
table_seeds()
conllu_seeds()
vectors_seeds()
fasttext_seeds()
tagged_seeds()
normalizer_seeds()
json_seeds(config, tokenizer)
files = [path for path in FOLDER.rglob("*") if path.is_file()]
print(f"{len(files)} files, {sum(path.stat().st_size for path in files)} bytes")
