#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the tokenizers that convert_hf.py stores as the text of tokenizer.json: byte-level BPE from vocab.json and merges.txt, Unigram from a
file of sentencepiece, and a tokenizer.json as it is. Each folder is converted to .lxf and back.

    check_tokenizer_json.py [--texts N] [--bin FOLDER]    N: number of random texts (default: 2000)

The tokenizer in the .lxf and AutoTokenizer of the written folder give the ids of transformers for the folder; of DeBERTa, the ids of version 4's
pipeline, which transformers still has as a converter. With the folder of lexformer's programs, `lexformer tokenize` gives the same ids of the
texts without line breaks and tabs. Needs torch, transformers, sentencepiece and protobuf; no test needs this program.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import types

import sentencepiece
import tokenizers
import transformers
from transformers.convert_slow_tokenizer import DebertaV2Converter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))
import convert_hf
from convert.files import read_bytes
from convert.safetensors import parse_safetensors

WORDS = ["".join(random.Random(i).choice("abcdefghijklmno") for _ in range(1 + i % 7)) for i in range(300)]
PARTS = WORDS + [" ", "  ", "\n", "\t", "\u00a0", "\u3000", ",", "...", "'s", "'LL", "12", "3.5", "\u00e9", "\u1ec6", "A\u0302\u0300", "\u4f60\u597d", "\uff21\uff22", "\u2460",
                 "\ufb01nal", "\u00bd", "x\u00b2", "\U0001f600", "<s>", "</s>", " <mask> ", "<pad>", "[CLS]", "[MASK]", "<|endoftext|>", "<unk>", "\u2581", "\u0130", "ABC", "#", "\u200b"]
SIZES = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, max_position_embeddings=64)
MASK = {"mask_token": {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "rstrip": False, "single_word": False, "normalized": False, "special": True}}


def write(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))


def corpus(work):
    draw = random.Random(1)
    path = os.path.join(work, "corpus.txt")
    write(work, "corpus.txt", "".join(" ".join(draw.choice(WORDS + ["12", "caf\u00e9", "\u4f60\u597d"]) for _ in range(8)) + "\n" for _ in range(3000)))
    return path


def spm(work, name, **options):
    stem = os.path.join(work, name)
    sentencepiece.SentencePieceTrainer.train(input=os.path.join(work, "corpus.txt"), model_prefix=stem, vocab_size=200, hard_vocab_limit=False, minloglevel=2, **options)
    return stem + ".model"


def byte_bpe(folder, work, special):
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train([os.path.join(work, "corpus.txt")], vocab_size=400, special_tokens=special, show_progress=False)
    tokenizer.save_model(folder)


def make_folders(work):
    """Name -> folder with the files of a tokenizer and its tokenizer_config.json."""
    corpus(work)
    plain = spm(work, "plain")
    deberta = spm(work, "deberta", pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")
    mapless = spm(work, "mapless", normalization_rule_name="identity", user_defined_symbols=["abc", "foo"])
    folders = {}
    for name, config, file, source in (("roberta", {}, None, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]), ("roberta", {"add_prefix_space": True}, None, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]),
                                       ("gpt2", {}, None, ["<|endoftext|>"]), ("xlm-roberta", MASK, "sentencepiece.bpe.model", plain), ("xlm-roberta", MASK, "sentencepiece.bpe.model", mapless),
                                       ("camembert", MASK, "sentencepiece.bpe.model", plain), ("deberta-v2", {}, "spm.model", deberta), ("deberta-v2", {"do_lower_case": True}, "spm.model", deberta)):
        folder = os.path.join(work, "%d_%s" % (len(folders), name))
        os.mkdir(folder)
        if file is None:
            byte_bpe(folder, work, source)
        else:
            shutil.copy(source, os.path.join(folder, file))
        kind = {"roberta": "Roberta", "gpt2": "GPT2", "xlm-roberta": "XLMRoberta", "camembert": "Camembert", "deberta-v2": "DebertaV2"}[name] + "Tokenizer"
        write(folder, "tokenizer_config.json", {"tokenizer_class": kind, **({"mask_token": MASK["mask_token"]} if name == "roberta" else {}), **config})
        folders[folder] = kind
    return folders


def version_4(folder):
    """DeBERTa's tokenizer as version 4 of transformers made it."""
    with open(os.path.join(folder, "tokenizer_config.json")) as file:
        lower = json.load(file).get("do_lower_case", False)
    ids = {"[CLS]": 1, "[SEP]": 2}
    tokenizer = DebertaV2Converter(types.SimpleNamespace(vocab_file=os.path.join(folder, "spm.model"), do_lower_case=lower, split_by_punct=False, legacy=True,
                                                         convert_tokens_to_ids=ids.get)).converted()
    tokenizer.add_special_tokens([tokenizers.AddedToken(name, normalized=False, special=True) for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")])
    return tokenizer


def all_ids(tokenizer, texts):
    """The ids of each text and of each pair of neighbours."""
    if isinstance(tokenizer, tokenizers.Tokenizer):
        encode = lambda *texts: tokenizer.encode(*texts).ids
    else:
        encode = lambda *texts: tokenizer(*texts)["input_ids"]
    return [encode(text) for text in texts] + [encode(*pair) for pair in zip(texts, texts[1:])]


def check_program(program, lxf, tokenizer, texts):
    plain = [text for text in texts if not set("\n\t\r") & set(text)]
    done = subprocess.run([program, "tokenize", "--model", lxf], input="".join(text + "\n" for text in plain), check=True, stdout=subprocess.PIPE, encoding="utf-8")
    found = [json.loads(line)["ids"] for line in done.stdout.splitlines()]
    wrong = [text for text, ids in zip(plain, found) if ids != tokenizer.encode(text).ids]
    assert not wrong and len(found) == len(plain), (len(wrong), wrong[:3])
    return ", %d of lexformer" % len(plain)


def check(folder, kind, texts, work, program):
    theirs = version_4(folder) if kind == "DebertaV2Tokenizer" else transformers.AutoTokenizer.from_pretrained(folder)
    config = transformers.BertConfig(vocab_size=len(theirs) if kind != "DebertaV2Tokenizer" else theirs.get_vocab_size(), **SIZES)
    transformers.BertModel(config).save_pretrained(folder)
    lxf, back = os.path.join(work, "m.lxf"), os.path.join(work, os.path.basename(folder) + "_back")
    assert convert_hf.main([folder, lxf, "--check"]) == 0
    text = parse_safetensors(read_bytes(lxf), lxf)[1]["lexformer.tokenizer_json"]
    assert convert_hf.main([lxf, "--to-hf", back]) == 0
    with open(os.path.join(back, "tokenizer.json"), encoding="utf-8", newline="") as file:
        assert file.read() == text
    wanted = all_ids(theirs, texts)
    for name, ours in (("tokenizers", tokenizers.Tokenizer.from_str(text)), ("AutoTokenizer", transformers.AutoTokenizer.from_pretrained(back))):
        wrong = [i for i, (a, b) in enumerate(zip(wanted, all_ids(ours, texts))) if a != b]
        assert not wrong, (kind, name, len(wrong), wrong[0], (texts + texts)[wrong[0]], wanted[wrong[0]], all_ids(ours, texts)[wrong[0]])
    of_program = check_program(program, lxf, tokenizers.Tokenizer.from_str(text), texts) if program else ""
    # The written folder, whose tokenizer.json is there, gives the same text again.
    assert convert_hf.main([back, lxf]) == 0
    assert parse_safetensors(read_bytes(lxf), lxf)[1]["lexformer.tokenizer_json"] == text
    return "%s, %s: ids of %d texts and pairs equal%s" % (os.path.basename(folder), kind, len(wanted), of_program)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--bin", metavar="FOLDER", help="folder of the program lexformer")
    arguments = parser.parse_args()
    draw, program = random.Random(2), arguments.bin and os.path.join(arguments.bin, "lexformer")
    texts = ["".join(draw.choice(PARTS) + draw.choice(["", " "]) for _ in range(draw.randint(1, 12))) for _ in range(arguments.texts)]
    with tempfile.TemporaryDirectory() as work:
        print("\n".join([check(folder, kind, texts, work, program) for folder, kind in make_folders(work).items()]))


if __name__ == "__main__":
    main()
