# SPDX-License-Identifier: MIT
"""The text of a tokenizer.json for tokenizers that older folders keep in other files, as version 4 of transformers made it."""

import base64
import json

SPACE = "\u2581"  # of sentencepiece


def special(content, kind):
    return {"SpecialToken": {"id": content, "type_id": kind}}


def template(ids, before, after, middle, right_type=0):
    """[before] A [after] and [before] A [middle ...] B [after]; the names of tokens, "" or [] for none."""
    end = lambda kind: [special(after, kind)] if after else []
    left = ([special(before, 0)] if before else []) + [{"Sequence": {"id": "A", "type_id": 0}}]
    pair = left + [special(name, 0) for name in middle] + [{"Sequence": {"id": "B", "type_id": right_type}}] + end(right_type)
    names = sorted({before, after, *middle} - {""})
    return {"type": "TemplateProcessing", "single": left + end(0), "pair": pair,
            "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in names}}


def added_tokens(ids, tokens):
    """The list of added tokens, which are objects with their flags, in the order of their ids."""
    flags = ("content", "single_word", "lstrip", "rstrip", "normalized")
    return [{"id": ids[token["content"]], **{key: token[key] for key in flags}, "special": token.get("special", True)}
            for token in sorted(tokens, key=lambda token: ids[token["content"]])]


def text(added, normalizer, pre_tokenizer, post_processor, decoder, model):
    return json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer,
                       "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": decoder, "model": model},
                      ensure_ascii=False, separators=(",", ":"))


def byte_bpe(vocabulary, merges, ids, added, named, prefix_space):
    """RoBERTa's and GPT-2's byte-level BPE. `vocabulary`: token -> id; `merges`: pairs; `named`: the tokens around texts, {} for none."""
    split = {"type": "ByteLevel", "add_prefix_space": prefix_space, "trim_offsets": True, "use_regex": True}
    processor = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    if named:
        processor = {"type": "RobertaProcessing", "sep": [named["sep_token"], ids[named["sep_token"]]],
                     "cls": [named["cls_token"], ids[named["cls_token"]]], "trim_offsets": True, "add_prefix_space": prefix_space}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
             "byte_fallback": False, "ignore_merges": False, "vocab": vocabulary, "merges": [list(pair) for pair in merges]}
    return text(added_tokens(ids, added), None, split, processor, {**split, "add_prefix_space": True}, model)


def unigram(pieces, unk, charsmap, ids, added, around, by_whitespace, lower):
    """XLM-R's and CamemBERT's Unigram model (by_whitespace), or DeBERTa's. `pieces`: (text, score); `around`: the post-processor."""
    normalizers = [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}] if charsmap else []
    if not by_whitespace:
        normalizers = [{"type": "Lowercase"}] * lower + [{"type": "Strip", "strip_left": True, "strip_right": True}, *normalizers,
                                                         {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]
    space = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}
    return text(added_tokens(ids, added), {"type": "Sequence", "normalizers": normalizers} if normalizers else None,
                {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}] * by_whitespace + [space]}, around, space,
                {"type": "Unigram", "unk_id": unk, "vocab": [list(piece) for piece in pieces], "byte_fallback": False})


def word_piece(tokens, flags):
    """A tokenizer of WordPiece from the vocabulary and the settings of a .lxf file, and the named tokens that are found in texts."""
    ids = {token: i for i, token in enumerate(tokens) if token}
    plain, added = dict(single_word=False, lstrip=False, rstrip=False, normalized=False), list(flags.get("added_tokens", []))
    five = [key for key in flags if key.endswith("_token")]
    if flags["match_special_tokens"]:
        added += [{"content": name, **plain} for name in sorted({flags[key] for key in five}) if name in ids]
    outside = {token["content"] for token in added if not token.get("piece", True)}
    cls, sep = flags["cls_token"] if flags.get("add_cls", True) else "", flags["sep_token"] if flags.get("add_sep", True) else ""
    middle = [flags["sep_token"]] * (0 if not flags.get("add_middle_sep", True) else 2 if flags.get("two_middle_seps") else 1)
    around = template(ids, cls, sep, middle, flags.get("right_type", 1)) if cls or sep or middle else None
    normalizer = {"type": "BertNormalizer", "clean_text": flags["clean_text"], "handle_chinese_chars": flags["tokenize_chinese_chars"],
                  "strip_accents": flags["strip_accents"], "lowercase": flags["do_lower_case"]}
    model = {"type": "WordPiece", "unk_token": flags["unk_token"], "continuing_subword_prefix": "##",
             "max_input_chars_per_word": flags["max_input_chars_per_word"], "vocab": {token: i for token, i in ids.items() if token not in outside}}
    found = {token["content"] for token in added}
    return (text(added_tokens(ids, added), normalizer, {"type": "BertPreTokenizer"}, around, {"type": "WordPiece", "prefix": "##", "cleanup": True}, model),
            {key: flags[key] for key in five if flags[key] in found})
