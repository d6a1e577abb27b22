# SPDX-License-Identifier: MIT
"""Tokenizers that are not WordPiece: the text of tokenizer.json, which is stored as it is, or is made from the files of older folders."""

import os

from .added_tokens import FLAGS, NAMED, SPECIAL, json_added_tokens, read_added_tokens, token_entry
from .errors import check, shown, Stop
from .files import read_bytes
from .folder_keys import SECTIONS, check_keys
from .json_values import get, is_size, is_text, parse_json, read_json
from .sentencepiece import CONTROL, USER_DEFINED, read_pieces
from .tokenizer_json import byte_bpe, template, unigram
from .tokens import USUAL, tokenizer_class

MOST_BYTES, MOST_VALUES = 32 << 20, 4000000  # of a tokenizer.json; XLM-R's has 1,000,000 values
ROBERTA = dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>", sep_token="</s>", pad_token="<pad>", cls_token="<s>",
               mask_token={"content": "<mask>", "lstrip": True})
GPT2 = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
BERT = dict(SPECIAL, bos_token="[CLS]", eos_token="[SEP]")
# Class -> model type, its special tokens, the files that it is made from.
BPE_FILES, SPM_FILES = ("vocab.json",), ("sentencepiece.bpe.model", "spm.model", "spiece.model")
CLASSES = {"RobertaTokenizer": ("roberta", ROBERTA, BPE_FILES), "GPT2Tokenizer": ("gpt2", GPT2, BPE_FILES),
           "XLMRobertaTokenizer": ("xlm-roberta", ROBERTA, SPM_FILES), "CamembertTokenizer": ("camembert", ROBERTA, SPM_FILES),
           "DebertaV2Tokenizer": ("deberta-v2", BERT, SPM_FILES)}


def read_other_tokenizer(folder, model_type):
    """The text of tokenizer.json, the settings under HuggingFace's names, and the number of ids; None if the folder has WordPiece."""
    path, there = os.path.join(folder, "tokenizer.json"), True
    if os.path.exists(path):
        text = read_bytes(path, MOST_BYTES)
        root = parse_json(text, path, most=MOST_VALUES)
        if not is_other(root, path):
            return None
        check_keys(root, "tokenizer.json", path)
        config, text = read_tokenizer_config(folder), text.decode()
        check_prefix_space(root, config, folder)
        named, extra, added = read_added_tokens(folder, config, root)
    else:
        there, name = False, tokenizer_class(folder)[0]
        name = name[:-4] if name and name.endswith("Fast") else name or next((key for key, row in CLASSES.items() if row[0] == model_type), None)
        if name not in CLASSES:
            return None
        config = read_tokenizer_config(folder)
        named, extra, added = read_added_tokens(folder, config, None)
        named = {**{key: token_entry(value, folder) for key, value in CLASSES[name][1].items()}, **named}
        check(all(named[key] for key in CLASSES[name][1]), folder, "a special token is null, expected a text")
        text = build(folder, name, config, named, extra, added)
        root = parse_json(text, path, most=MOST_VALUES)
    ids = token_ids(root, path)
    for number, token in (*added.items(), *((None, token) for token in (*named.values(), *extra) if token)) if there else ():
        check(ids.get(token["content"]) is not None and number in (None, ids[token["content"]]), folder, "the token %s is not in tokenizer.json, "
              "which says how texts are split, or has another id there; save the tokenizer again with its added tokens" % shown(token["content"]))
    found, flags = names_of(json_added_tokens(root, folder).values()), dict(USUAL)
    flags.update(dict.fromkeys(SPECIAL, ""), **{key: token["content"] for key, token in named.items() if key in SPECIAL and token})
    for key, usual in (("pad_token", ("<pad>", "[PAD]")), ("mask_token", ("<mask>", "[MASK]"))):
        flags[key] = flags[key] or next((name for name in usual if name in found), "")
    flags.update({key: name for key, name in own_names(root).items() if name})
    return text, flags, max(ids.values()) + 1


def is_other(root, path):
    model = get(root, "model", dict, path, {})
    return model.get("type", "BPE" if "merges" in model or isinstance(model.get("vocab"), list) else "") in ("BPE", "Unigram")


def read_tokenizer_config(folder):
    path = os.path.join(folder, "tokenizer_config.json")
    config = read_json(path) if os.path.exists(path) else {}
    check_keys(config, "tokenizer_config.json", path, {**SECTIONS["tokenizer_config.json"], **SECTIONS["tokenizer_config.json: pipeline"]})
    return config


def token_ids(root, path):
    """Token -> id of a tokenizer.json with BPE or Unigram."""
    ids = root["model"].get("vocab")
    if isinstance(ids, list):
        check(all(isinstance(piece, list) and piece and isinstance(piece[0], str) for piece in ids), path, "'vocab' is no list of pieces with scores")
        ids = {piece[0]: i for i, piece in enumerate(ids)}
    check(isinstance(ids, dict) and ids and all(is_size(i, 0, 4 << 20) for i in ids.values()), path, "'vocab' does not give each token an id")
    check("" not in ids or isinstance(root["model"]["vocab"], list), path, "the token with the id %s is empty" % ids.get(""))
    added = {}
    for i, token in json_added_tokens(root, os.path.dirname(path)).items():
        check(token["content"] not in added, path, "two added tokens are %s" % shown(token["content"]))
        added[token["content"]] = i
    return {**ids, **added}


def own_names(root):
    """The tokens that a tokenizer.json itself names: for unknown words, and those that its template puts around a text."""
    model, names = root["model"], {}
    number, pieces = model.get("unk_id"), model["vocab"]
    names["unk_token"] = pieces[number][0] if isinstance(pieces, list) and is_size(number, 0, len(pieces) - 1) else model.get("unk_token")
    parts = [root.get("post_processor")]
    for part in parts:
        part = part if isinstance(part, dict) else {}
        parts += part["processors"] if isinstance(part.get("processors"), list) and len(parts) < 99 else []
        kinds = [(kind, item.get("id")) for entry in part.get("single") or [] if isinstance(entry, dict) for kind, item in entry.items() if isinstance(item, dict)]
        if kinds:
            names.update(cls_token=kinds[0][1] if kinds[0][0] == "SpecialToken" else None, sep_token=kinds[-1][1] if kinds[-1][0] == "SpecialToken" else None)
        for key in ("cls", "sep"):
            if isinstance(part.get(key), list) and part[key]:
                names[key + "_token"] = part[key][0]
    return {key: name for key, name in names.items() if is_text(name)}


def check_prefix_space(root, config, folder):
    """Refuses a folder whose files say different things of the space before a text."""
    split, wanted = root.get("pre_tokenizer"), config.get("add_prefix_space")
    if isinstance(split, dict) and split.get("type") == "ByteLevel" and isinstance(wanted, bool):
        check(split.get("add_prefix_space") is wanted, folder, "'add_prefix_space' differs between tokenizer_config.json and tokenizer.json")


def build(folder, name, config, named, extra, added):
    """The text of tokenizer.json of a class that has other files."""
    files = CLASSES[name][2]
    path = next(filter(os.path.exists, (os.path.join(folder, file) for file in files)), None)
    check(path is not None, folder, "there is neither tokenizer.json nor %s in this folder" % " nor ".join(files))
    where = os.path.join(folder, "tokenizer_config.json")
    for key in ("split_by_punct", "add_bos_token", "add_eos_token"):
        check(not config.get(key), where, "%r is not false, which is not supported without tokenizer.json" % key)
    plain_mask = not isinstance(config.get("mask_token"), dict) and "added_tokens_decoder" not in config
    if CLASSES[name][1] is ROBERTA and plain_mask:
        named["mask_token"] = {**named["mask_token"], "lstrip": True}  # no flags are given: it takes the space before it
    if files is BPE_FILES:
        vocabulary = read_json(path)
        check(vocabulary and all(is_size(i, 0, 4 << 20) for i in vocabulary.values()), path, "does not give each token an id")
        ids, tokens = place_tokens(vocabulary, named, extra, added, folder)
        around = {} if name == "GPT2Tokenizer" else {key: named[key]["content"] for key in ("sep_token", "cls_token")}
        merges = read_merges(os.path.join(folder, "merges.txt"), vocabulary)
        return byte_bpe(vocabulary, merges, ids, tokens, around, get(config, "add_prefix_space", bool, where, False))
    check(get(config, "add_prefix_space", bool, where, True), where, "'add_prefix_space' is false, which is not supported without tokenizer.json")
    pieces, charsmap = read_pieces(path)
    own, pieces = [piece for piece in pieces if piece[2] in (CONTROL, USER_DEFINED)], [piece[:2] for piece in pieces]
    special = {key: (token["content"], 0.0) for key, token in named.items() if token}
    if name == "XLMRobertaTokenizer":
        pieces = [special[key] for key in ("bos_token", "pad_token", "eos_token", "unk_token")] + pieces[3:] + [special["mask_token"]]
    elif name == "CamembertTokenizer":
        pieces = [("<s>NOTUSED", 0.0), special["pad_token"], ("</s>NOTUSED", 0.0), special["unk_token"], ("<unk>NOTUSED", -100.0),
                  *pieces[1:], special["mask_token"]]
    ids = {text: i for i, (text, _) in enumerate(pieces)}
    unk = ids.get(named["unk_token"]["content"])
    check(unk is not None, path, "there is no piece %s, the token of unknown words" % shown(named["unk_token"]["content"]))
    plain = dict.fromkeys(FLAGS, False)
    own = [{"content": text, **plain, "special": kind == CONTROL} for text, _, kind in own if text in ids]
    ids, tokens = place_tokens(ids, named, extra, added, folder, own)
    cls, sep = named["cls_token"]["content"], named["sep_token"]["content"]
    deberta = name == "DebertaV2Tokenizer"
    around = template(ids, cls, sep, [sep], 1) if deberta else template(ids, cls, sep, [sep, sep])
    lower = deberta and get(config, "do_lower_case", bool, where, False)
    return unigram(pieces, unk, charsmap, ids, tokens, around, not deberta, lower)


def names_of(tokens):
    return {token["content"] for token in tokens}


def place_tokens(vocabulary, named, extra, added, folder, own=()):
    """The ids of all tokens, and the added ones: the tokens in the files, in the order of transformers, then the model's `own` ones."""
    ids, tokens, flags = dict(vocabulary), {}, {token["content"]: token for token in named.values() if token}
    order = [*sorted(added.items()), *((None, named.get(key)) for key in (*NAMED, *sorted(set(named) - set(NAMED)))), *((None, token) for token in (*extra, *own))]
    for number, token in order:
        if token is None or token["content"] in tokens:
            continue
        place = ids.setdefault(token["content"], max(ids.values()) + 1)
        check(number in (None, place), folder, "the added token %s has the id %s in one file, but its place is %d" % (shown(token["content"]), number, place))
        tokens[token["content"]] = flags.get(token["content"], token)
    return ids, list(tokens.values())


def read_merges(path, vocabulary):
    """The pairs of merges.txt, the first of which is merged first."""
    try:
        lines = read_bytes(path, MOST_BYTES).decode().split("\n")
    except UnicodeDecodeError as error:
        raise Stop(3, "%s: not UTF-8 at byte %d" % (path, error.start + 1))
    lines = lines[1:] if lines[0].startswith("#version") else lines
    merges = [tuple(line.rstrip("\r").split(" ")) for line in lines if line.strip()]
    for pair in merges:
        good = len(pair) == 2 and all(part in vocabulary for part in (*pair, "".join(pair)))
        check(good, path, "the line %s is no merge of two tokens to a third one" % shown(" ".join(pair)))
    return merges
