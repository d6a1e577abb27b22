# SPDX-License-Identifier: MIT
"""Special and added tokens: what the files say of them, and the ids they get."""

import os
import re

from .errors import check, shown
from .folder_keys import check_keys, read_keys
from .json_values import get, is_size, is_text, read_json

SPECIAL = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"}


def put_token(tokens, token, number, path):
    possible = is_text(token) and token and "\n" not in token and is_size(number, 0, 4 << 20)
    check(possible, path, "the token %s with id %s is not possible" % (shown(token), shown(number)))
    check(tokens.setdefault(number, token) == token, path, "two tokens have the id %d" % number)


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
    unknown = flags["unk_token"]
    check(unknown in known or unknown not in matched, folder, "the token of unknown words, %s, is not in the vocabulary, only among the added tokens" % shown(unknown))
    plain = dict.fromkeys(FLAGS, False)
    five = {flags[key] for key in SPECIAL if flags[key] in ids}
    flags["match_special_tokens"] = all(name in known and matched.get(name) == {"content": name, **plain} for name in five)
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
