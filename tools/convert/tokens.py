# SPDX-License-Identifier: MIT
"""The vocabulary of a folder and how it splits a text."""

import os

from .added_tokens import SPECIAL, add_tokens, put_token, read_added_tokens
from .errors import check, shown, Stop
from .files import read_bytes
from .folder_keys import SUPPORTED, check_keys, read_keys
from .json_values import get, is_text, read_json

BERT_TOKENIZERS = ("BertTokenizer", "BertTokenizerFast", "ElectraTokenizer", "ElectraTokenizerFast")
WHOLE_TOKENIZERS = ("PreTrainedTokenizerFast", "TokenizersBackend")  # tokenizer.json alone says how a text is split
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
        if key in named and not (whole and key in ("unk_token", "cls_token", "sep_token")):
            check(named[key] is not None or key != "unk_token", folder, "'unk_token' is null, expected a token")
            flags[key] = named[key]["content"] if named[key] else flags[key]
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
