# SPDX-License-Identifier: MIT
"""The vocabulary of a folder and how it splits a text."""

import os

from .added_tokens import SPECIAL, add_tokens, put_token, read_added_tokens
from .errors import check, shown, Stop
from .files import read_bytes
from .families import SUPPORTED
from .folder_keys import check_keys, read_keys
from .json_values import get, is_text, read_json

BERT_TOKENIZERS = [name + end for name in ("BertTokenizer", "ElectraTokenizer", "DistilBertTokenizer") for end in ("", "Fast")]
WHOLE_TOKENIZERS = ["PreTrainedTokenizerFast", "TokenizersBackend", "MPNetTokenizer", "MPNetTokenizerFast"]  # tokenizer.json says how a text is split
# Unicode White_Space only: str.rstrip() without arguments would also strip U+001C ... U+001F.
WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"


USUAL = dict(SPECIAL, do_lower_case=True, strip_accents=None, tokenize_chinese_chars=True, clean_text=True, max_input_chars_per_word=100,
             match_special_tokens=True)  # the keys of lexformer.tokenizer


def tokenizer_class(folder):
    """The name of the class of a folder's tokenizer, None if no file has it, and the file to name in errors."""
    path = os.path.join(folder, "tokenizer_config.json")
    kind = get(read_json(path) if os.path.exists(path) else {}, "tokenizer_class", str, path)
    if kind is None and os.path.exists(os.path.join(folder, "config.json")):  # where older folders name it
        path = os.path.join(folder, "config.json")
        kind = get(read_json(path), "tokenizer_class", str, path)
    return kind, path


def read_tokenizer(folder):
    """The vocabulary (a list of strings, "" for an id without token) and the settings under HuggingFace's names.

    As transformers 5: for a tokenizer of BERT, tokenizer.json gives the vocabulary and the added tokens, and tokenizer_config.json how
    a text is split; for the general classes tokenizer.json says all of it."""
    flags, path = dict(USUAL), os.path.join(folder, "tokenizer.json")
    kind, where = tokenizer_class(folder)
    check(kind in (None, *BERT_TOKENIZERS, *WHOLE_TOKENIZERS), where, "'tokenizer_class' is %s, which is not supported; %s" % (shown(kind), SUPPORTED))
    where = os.path.join(folder, "tokenizer_config.json")
    config = read_keys(where, "tokenizer_config.json", {})
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
    """Which special tokens are put around the texts, their names, and the type of the second text. A pair and a text must have the same."""
    flags.update(add_cls=False, add_sep=False, add_middle_sep=False)
    if processor is None:
        return
    try:
        if processor["type"] != "TemplateProcessing":  # BertProcessing or RobertaProcessing
            flags["cls_token"], flags["sep_token"] = processor["cls"][0], processor["sep"][0]
            check(is_text(flags["cls_token"]) and is_text(flags["sep_token"]), here, "'cls' or 'sep' is no token")
            set_template(flags, True, True, 1 if processor["type"] == "BertProcessing" else 2, 1 if processor["type"] == "BertProcessing" else 0)
            return
        single, pair = [[(kind, item["id"], item["type_id"]) for part in processor[key] for kind, item in part.items()] for key in ("single", "pair")]
    except (KeyError, TypeError, IndexError, AttributeError):
        raise Stop(3, "%s: is damaged: it is no template of special tokens" % here)
    left = ("Sequence", "A", 0)
    check(left in single and left in pair, here, "the template has no place for the first text, or not with type 0")
    before, after = single[:single.index(left)], single[single.index(left) + 1:]
    rest = pair[len(before) + 1:]
    right = next((part for part in rest if part[0] == "Sequence"), None)
    middle = rest[:rest.index(right)] if right else []
    names = {key: {part[1] for part in parts} for key, parts in (("cls_token", before), ("sep_token", after + middle))}
    good = right in (("Sequence", "B", 0), ("Sequence", "B", 1)) and len(before) <= 1 and len(after) <= 1 and len(middle) <= 2
    good = good and all(part[0] == "SpecialToken" and is_text(part[1]) and part[2] == 0 for part in before + after + middle)
    good = good and pair == before + [left] + middle + [right] + [(*part[:2], right[2]) for part in after] and len(names["sep_token"]) <= 1
    check(good, here, "the template is not [CLS] A [SEP] and [CLS] A [SEP] B [SEP], with or without [CLS] and each [SEP]")
    for key, name in ((key, name) for key, found in names.items() for name in found):
        entry = get(processor, "special_tokens", dict, here, {}).get(name)
        check(isinstance(entry, dict) and entry.get("tokens") == [name], here, "the special token %s does not stand for itself" % shown(name))
        flags[key] = name
    set_template(flags, bool(before), bool(after), len(middle), right[2])


def set_template(flags, cls, sep, middle, right):
    """Sets what is not as in BERT's template [CLS] A [SEP] B [SEP] with the types 0 and 1. middle: the number of [SEP] between the texts."""
    usual = dict(add_cls=True, add_sep=True, add_middle_sep=True, two_middle_seps=False, right_type=1)
    ours = dict(add_cls=cls, add_sep=sep, add_middle_sep=middle > 0, two_middle_seps=middle == 2, right_type=right)
    for key, value in ours.items():
        flags.pop(key, None)
        if value != usual[key]:
            flags[key] = value
