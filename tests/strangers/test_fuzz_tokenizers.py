#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random folders with the tokenizer of a BERT, and random texts. The program and tools/convert_hf.py read each folder: both give the same
ids, or both refuse it.

--runs N --seed S: so many folders, also read by transformers 5 if it is installed. It gives the ids of the program, unless that refuses the
folder by name. No token begins with whitespace: after a token with rstrip the library finds that whitespace twice. --keep DIR: where a copy of a folder that is read differently is left.
"""
import array
import collections
import contextlib
import copy
import io
import json
import math
import os
import random
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "programs")]
from campaign import main  # noqa: E402
from support import program  # noqa: E402
from test_folders import BERT_TEMPLATE, CONFIG, FAST, NO_SEP, ONE_TYPE, PADDING, TOKENIZER, TRUNCATION, token  # noqa: E402
import convert_hf  # noqa: E402
from convert.names import needed_tensors  # noqa: E402
from convert.safetensors import write_safetensors  # noqa: E402
from convert.tensor import Tensor  # noqa: E402

ORDINARY = (30, 1)  # runs and seed of the ordinary test
CHARACTERS = "aaabbbccxxoo  AÉéİıßſﬁ你好한カｶ.,-_'[]<>#@12½²٣\u0301\u0307\u0345\u00a0\u3000\u2028\u200b\u00ad\ufffd\ufeff\x00\x1c\x7f\x85😀𝔸ΣςǅЙЁȺ"
CONTENTS = ["[X]", "[x]", "<s>", "ob", "abc", "é", "É", "a b", "b ", "你", "##a", "##É", "[MASK]", "[CLS]", "[SEP]", "[unk]", "ﬁ", "İ", "e\u0301", ".", "a", "A", "aa", "AB", "12"]
SETTINGS = ("unk_token", "cls_token", "sep_token", "pad_token", "mask_token")
USUAL = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
NO_CLS = dict(BERT_TEMPLATE, single=BERT_TEMPLATE["single"][1:], pair=BERT_TEMPLATE["pair"][1:])
BERT_PROCESSING = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}


def chance(rng, share):
    return rng.random() < share


def random_text(rng, most=14):
    parts = [rng.choice(CONTENTS) if chance(rng, 0.2) else rng.choice(CHARACTERS) for _ in range(rng.randint(0, most))]
    return "".join(parts)


def vocabulary(rng):
    """The special tokens, single characters and short words, each possibly as a piece."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for _ in range(rng.randint(5, 60)):
        word = "".join(rng.choices(CHARACTERS.lower() + CHARACTERS, k=rng.choice((1, 1, 2, 3)))) if chance(rng, 0.8) else rng.choice(CONTENTS)
        if word.split() == [word] and not re.search("[\x00\x1c\x85]", word):
            words.append(rng.choice(("", "##")) + word)
    return list(dict.fromkeys(words))


def flags(rng):
    return {name: chance(rng, 0.25) for name in ("lstrip", "rstrip", "single_word", "normalized") if chance(rng, 0.7)}


def added(rng, words):
    """Tokens with the ids that they have or get; a few ids are wrong."""
    ids, entries = {word: i for i, word in enumerate(words)}, []
    for content in rng.sample(CONTENTS, rng.randint(0, 4)):
        number = ids.setdefault(content, len(ids)) + chance(rng, 0.03)
        entry = token(content, number, **flags(rng))
        if chance(rng, 0.4):
            entry["special"] = chance(rng, 0.5)
        entries.append(entry)
    return sorted(entries, key=lambda entry: entry["id"]) if chance(rng, 0.9) else entries


def token_settings(rng, config):
    for key in (*SETTINGS, "bos_token", "eos_token", "x_token"):
        usual = "[%s]" % key[:-6].upper() if key in SETTINGS else rng.choice(CONTENTS)
        if chance(rng, 0.15):
            content = usual if chance(rng, 0.7) else rng.choice(CONTENTS).replace(" ", "")  # transformers has no template with spaces
            config[key] = rng.choice((content, dict(token(content, **flags(rng)), __type="AddedToken"), None if chance(rng, 0.3) else content))
    for key in ("additional_special_tokens", "extra_special_tokens"):
        if chance(rng, 0.15):
            config[key] = rng.sample(CONTENTS, rng.randint(0, 3))


def bert_config(rng, words):
    config = {"tokenizer_class": rng.choice(("BertTokenizer", "BertTokenizerFast", "ElectraTokenizer"))}
    for key in ("do_lower_case", "strip_accents", "tokenize_chinese_chars"):
        if chance(rng, 0.4):
            config[key] = rng.choice((True, False, None) if key == "strip_accents" else (True, False))
    token_settings(rng, config)
    if chance(rng, 0.3):
        config["added_tokens_decoder"] = {str(entry.pop("id")): entry for entry in added(rng, words)}
    return config


def tokenizer_json(rng, words):
    root = copy.deepcopy(TOKENIZER)
    root["model"]["vocab"] = {word: i for i, word in enumerate(words)}
    normalizer = root["normalizer"]
    normalizer.update({key: chance(rng, 0.5) for key in ("clean_text", "handle_chinese_chars", "lowercase") if chance(rng, 0.6)})
    normalizer["strip_accents"] = rng.choice((None, None, True, False))
    if chance(rng, 0.1):
        root["normalizer"] = None
    root["post_processor"] = rng.choice((BERT_TEMPLATE, BERT_TEMPLATE, NO_SEP, NO_CLS, ONE_TYPE, BERT_PROCESSING, None))
    root["model"]["max_input_chars_per_word"] = rng.choice((100, 100, 1, 3, 6))
    root["model"]["unk_token"] = rng.choice(("[UNK]",) * 6 + (rng.choice(words),))
    root["model"]["continuing_subword_prefix"] = rng.choice(("##",) * 15 + ("@@",))
    root["truncation"], root["padding"] = rng.choice((None, TRUNCATION)), rng.choice((None, PADDING))
    more = [entry for entry in added(rng, words) if entry["content"] not in USUAL]
    root["added_tokens"] = rng.choice((root["added_tokens"] + more, root["added_tokens"] + more, more))
    return root


def folder_files(rng):
    words, files = vocabulary(rng), {}
    kind = rng.choice(("vocab", "json", "fast", "fast"))
    if kind == "vocab":
        end = rng.choice(("\n", "\r\n"))
        files["vocab.txt"] = end.join(words) + rng.choice((end, ""))
    else:
        files["tokenizer.json"] = tokenizer_json(rng, words)
    config = bert_config(rng, words)
    if kind == "fast":
        config = {**FAST, **{key: given for key, given in config.items() if chance(rng, 0.5)}, "tokenizer_class": FAST["tokenizer_class"]}
    files["tokenizer_config.json"] = config
    if chance(rng, 0.15):
        files["special_tokens_map.json"] = {}
        token_settings(rng, files["special_tokens_map.json"])
    if kind == "vocab" and chance(rng, 0.15):
        files["added_tokens.json"] = {entry["content"]: entry["id"] for entry in added(rng, words)}
    return kind, files


def make_weights(path):
    tensors = {name: Tensor("F32", shape, array.array("f", [0.5] * math.prod(shape)).tobytes()) for name, shape in needed_tensors(SIZES).items()}
    write_safetensors(str(path), tensors, {})


SIZES = dict(CONFIG, vocab_size=128, hidden_size=2, num_attention_heads=1, intermediate_size=1)


def write(folder, files, weights):
    folder.mkdir()
    for name, content in {"config.json": SIZES, **files}.items():
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        (folder / name).write_bytes(text.encode())
    os.link(weights, folder / "model.safetensors")


def tokenized(model, texts, pairs):
    """The ids and types of each text, or the message of a refusal."""
    done = program("tokenize", "--model", model, *["--pairs"] * pairs, text="\n".join(map("\t".join, texts)) + "\n")
    if done.returncode:
        return "%d: %s" % (done.returncode, done.stderr)
    return [(row["ids"], row["type_ids"]) for row in map(json.loads, done.stdout.split("\n")[:-1])]


def by_transformers(transformers, folder, texts):
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
        return [(row["input_ids"], row["token_type_ids"]) for row in (tokenizer(*text, return_token_type_ids=True) for text in texts)]
    except Exception as error:  # whatever it says of a folder
        return "%s: %s" % (type(error).__name__, error)


def difference(folder, texts, transformers):
    """What is wrong with how a folder is read, or nothing; and whether it is refused."""
    ours = tokenized(folder, texts, len(texts[0]) == 2)
    target = folder.parent / "m.lxf"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
        code = convert_hf.main([str(folder), str(target)])
    converted = tokenized(target, texts, len(texts[0]) == 2) if code == 0 else "%d: %s" % (code, err.getvalue())
    refused = [isinstance(ids, str) for ids in (ours, converted)]
    if refused[0] != refused[1] or refused[0] and not (ours.startswith("3: ") and converted.startswith("3: ")):
        return "program: %s\n  converter: %s" % (ours, converted), refused[0]
    if not refused[0] and ours != converted:
        return "the converted model gives other ids", False
    if refused[0] or not transformers:
        return "", refused[0]
    theirs = by_transformers(transformers, folder, texts)
    if isinstance(theirs, str):
        return "transformers refuses it: " + theirs, False
    wrong = ["%r\n  program:      %s\n  transformers: %s" % item for item in zip(texts, ours, theirs) if item[1] != tuple(map(list, item[2]))]
    return "\n".join(wrong[:2]), False


def campaign(runs, seed, transformers=None, keep=None):
    counts, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as name:
        weights = Path(name) / "weights"
        make_weights(weights)
        for run in range(runs):
            rng, folder = random.Random("%d %d" % (seed, run)), Path(name) / "folder"
            kind, files = folder_files(rng)
            write(folder, files, weights)
            texts = [tuple(random_text(rng) for _ in range(count)) for count in [rng.choice((1, 1, 2))] for _ in range(12)]
            # A line has no tabs or line ends of its own, and an encoding at least one token.
            texts = [tuple("a" + re.sub("[\t\n\r]", " ", text) for text in pair) for pair in texts]
            said, refused = difference(folder, texts, transformers)
            counts[kind + (", refused" if refused else "")] += 1
            if said:
                wrong.append("run %d of seed %d, %s: %s" % (run, seed, kind, said))
                if keep:
                    shutil.copytree(folder, Path(keep) / ("%d-%d" % (seed, run)), dirs_exist_ok=True)
            shutil.rmtree(folder)
    return counts, wrong


class Tokenizers(unittest.TestCase):
    def test_ids(self):
        counts, wrong = campaign(*ORDINARY)
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(sum(count for kind, count in counts.items() if "refused" not in kind), ORDINARY[0] / 3)


if __name__ == "__main__":
    main(campaign, "transformers")
