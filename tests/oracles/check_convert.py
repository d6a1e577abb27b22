#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks convert_hf.py against transformers and safetensors: models of every supported kind, as .safetensors, as shards and as
.bin, are converted to .lxf and back to a folder; PyPI's safetensors opens the .lxf, transformers loads the folder and gives the
same outputs, bit for bit.

    check_convert.py [--bin FOLDER] [CHECKPOINT ...]

CHECKPOINTs (BERT or sentence-transformers folders) are checked, too. With the folder of lexformer's programs, so are the scores of
folders and .lxf files, and models of train_matcher: transformers loads their --to-hf export and gives the logits of score_pairs.
Needs torch, transformers and safetensors; no test needs this program.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import safetensors.torch
import torch
import transformers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))
import convert_hf

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + ["w%d" % i for i in range(195)]
SIZES = dict(vocab_size=200, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96, max_position_embeddings=40)
BERT, ELECTRA = transformers.BertConfig(**SIZES), transformers.ElectraConfig(embedding_size=32, **SIZES)
CLASSES = dict(id2label={0: "no", 1: "perhaps", 2: "yes"}, label2id={"no": 0, "perhaps": 1, "yes": 2})
MODELS = ((transformers.BertModel, BERT), (transformers.BertForSequenceClassification, BERT),
          (transformers.BertForSequenceClassification, transformers.BertConfig(**SIZES, **CLASSES)), (transformers.BertForMaskedLM, BERT),
          (transformers.BertForPreTraining, BERT), (transformers.ElectraModel, ELECTRA),
          (transformers.ElectraForSequenceClassification, ELECTRA), (transformers.ElectraForMaskedLM, ELECTRA))
DISTIL = dict(vocab_size=200, dim=48, n_layers=3, n_heads=4, hidden_dim=96, max_position_embeddings=40, activation="relu")
FAMILIES = {"DistilBert": DISTIL, "MPNet": SIZES, "Roberta": dict(SIZES, type_vocab_size=1),
            "XLMRoberta": dict(SIZES, pad_token_id=3), "Camembert": dict(SIZES, layer_norm_eps=1e-5)}
MODELS += tuple((getattr(transformers, name + part), getattr(transformers, name + "Config")(**sizes, **CLASSES)) for name, sizes in FAMILIES.items()
                for part in ("Model", "ForSequenceClassification", "ForMaskedLM"))
# Families with pre-normalization, fused and transposed tensors, and heads of other forms.
MODERN = dict(SIZES, num_hidden_layers=4, local_attention=6, pad_token_id=0, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3)
GPT2 = dict(vocab_size=200, n_embd=48, n_layer=3, n_head=4, n_positions=40, pad_token_id=0, bos_token_id=2, eos_token_id=3)
NEO = dict(vocab_size=200, hidden_size=48, num_layers=4, num_heads=4, max_position_embeddings=40, window_size=5, attention_types=[[["global", "local"], 2]],
           pad_token_id=0, bos_token_id=2, eos_token_id=3)
BIASES = dict(attention_bias=True, mlp_bias=True, norm_bias=True, classifier_bias=True, classifier_pooling="mean", hidden_activation="gelu_new")
OTHERS = (("ModernBert", MODERN, "ForMaskedLM"), ("ModernBert", dict(MODERN, **BIASES), "ForMaskedLM"), ("GPT2", GPT2, "LMHeadModel"),
          ("GPT2", dict(GPT2, n_inner=60, scale_attn_by_inverse_layer_idx=True), "LMHeadModel"), ("GPTNeo", NEO, "ForCausalLM"),
          ("GPTNeo", dict(NEO, num_layers=2, attention_types=[[["global"], 2]], intermediate_size=60), "ForCausalLM"))
MODELS += tuple((getattr(transformers, name + part), getattr(transformers, name + "Config")(**sizes, **CLASSES)) for name, sizes, masked in OTHERS
                for part in ("Model", "ForSequenceClassification", masked))
PAIRS = [("w1 w2 w3", "w4"), ("w5", "w6 w7 w8 w9 w10"), ("w1 w2", "w1 w2"), ("w%d" % 194, "unheard w11")]


def random_model(kind, config, folder):
    model = kind(config)
    for parameter in model.parameters():  # a lost zero bias would not be noticed
        torch.nn.init.normal_(parameter, std=0.2)
    model.save_pretrained(folder, max_shard_size="50GB")
    with open(os.path.join(folder, "vocab.txt"), "w") as file:
        file.write("".join(word + "\n" for word in WORDS))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump({"tokenizer_class": "BertTokenizer"}, file)
    return model


def outputs(model):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 200, (3, 17), generator=generator)
    types = torch.randint(0, 2, (3, 17), generator=generator)
    more = {"token_type_ids": types} if model.config.model_type in ("bert", "electra") else {}
    with torch.no_grad():
        return model.eval()(input_ids=ids, **more)[0]


def load_export(lxf, kind, folder):
    assert convert_hf.main([lxf, "--to-hf", folder]) == 0
    model, info = kind.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"], info
    return model.eval()


def round_trip(source, kind, work):
    lxf = os.path.join(work, "m.lxf")
    assert convert_hf.main([source, lxf, "--check"]) == 0
    with safetensors.safe_open(lxf, "pt") as file:
        assert file.metadata()["format"] == "pt" and all(file.get_tensor(name).dtype == torch.float32 for name in file.keys())
    return load_export(lxf, kind, os.path.join(work, "back"))


def check_random_model(kind, config, form):
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "source")
        model = random_model(kind, config, source)
        if form != "safetensors":
            os.remove(os.path.join(source, "model.safetensors"))
        if form == "shards":
            model.save_pretrained(source, max_shard_size="60KB")
            assert os.path.exists(os.path.join(source, "model.safetensors.index.json"))
        if form == "bin":
            torch.save(model.state_dict(), os.path.join(source, "pytorch_model.bin"))
        again = round_trip(source, kind, work)
        difference = (outputs(again) - outputs(model)).abs().max().item()
        assert difference == 0 and again.config.id2label == model.config.id2label
        before, after = model.state_dict(), again.state_dict()
        assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
        return "%s, %d outputs, %s: largest difference %g" % (kind.__name__, model.config.num_labels, form, difference)


def check_checkpoint(source):
    with tempfile.TemporaryDirectory() as work:
        again = round_trip(source, transformers.AutoModel, work)
        original = transformers.AutoModel.from_pretrained(source, dtype=torch.float32)
        difference = (outputs(again) - outputs(original)).abs().max().item()
        texts = ["Caf\u00e9 \u4f60\u597d 12.5\" 'x' [MASK] \u0130", "The quick  brown\tfox, ##x"]
        tokens = [transformers.AutoTokenizer.from_pretrained(f)(texts)["input_ids"] for f in (source, os.path.join(work, "back"))]
        assert difference == 0 and tokens[0] == tokens[1]
        return "%s: largest difference %g, token ids equal" % (source, difference)


def check_trained_model(programs, kind, config, options, names, problem):
    """A model with transformers' head, trained for one step; it replaces a head of another size."""
    with tempfile.TemporaryDirectory() as work:
        source, table, out = (os.path.join(work, name) for name in ("source", "pairs.jsonl", "out"))
        random_model(kind, config, source)
        with open(table, "w") as file:
            for i in range(12):
                label = i / 10 if problem == "regression" else names[i % len(names)]
                file.write(json.dumps(dict(zip(("left", "right", "label"), (*PAIRS[i % len(PAIRS)], label)))) + "\n")
        program = os.path.join(programs, "lexformer")
        subprocess.run([program, "train_matcher", "--model", source, "--train", table, "--valid", table, "--out", out, "--head", "huggingface",
                        "--max-steps", "1", "--warmup-epochs", "0", "--quiet", *options], check=True, stdout=subprocess.PIPE)
        lxf, back = os.path.join(out, "model.lxf"), os.path.join(work, "back")
        pairs = "".join("%s\t%s\n" % pair for pair in PAIRS)
        scored = subprocess.run([program, "score_pairs", "--model", lxf, "--logits", "--header", "no"], input=pairs, check=True, stdout=subprocess.PIPE,
                                universal_newlines=True).stdout
        ours = torch.tensor([[float(logit) for logit in line.split("\t")] for line in scored.splitlines()])
        model = load_export(lxf, transformers.AutoModelForSequenceClassification, back)
        assert type(model) is kind and model.config.problem_type == problem and list(model.config.id2label.values()) == names
        tokenizer = transformers.AutoTokenizer.from_pretrained(back)
        with torch.no_grad():
            theirs = model(**tokenizer([a for a, _ in PAIRS], [b for _, b in PAIRS], padding=True, return_tensors="pt")).logits
        assert ours.shape == theirs.shape == (len(PAIRS), len(names)), (ours.shape, theirs.shape)
        difference = (ours - theirs).abs().max().item()
        assert difference <= 2e-6 * max(1, theirs.abs().max().item()), difference
        return "%s of train_matcher, %d outputs: score_pairs against transformers, largest difference %.2g of %.2g" % (
            kind.__name__, len(names), difference, theirs.abs().max().item())


def scores(programs, model):
    """The logits of score_pairs, as it writes them."""
    return subprocess.run([os.path.join(programs, "lexformer"), "score_pairs", "--model", model, "--logits", "--header", "no"],
                          input="".join("%s\t%s\n" % pair for pair in PAIRS), check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def check_scores(programs, kind, config):
    """A folder, its .lxf file and the folder made of it have the same scores, which are those of transformers."""
    with tempfile.TemporaryDirectory() as work:
        source, lxf, back = (os.path.join(work, name) for name in ("source", "m.lxf", "back"))
        model = random_model(kind, config, source).eval()
        assert convert_hf.main([source, lxf]) == convert_hf.main([lxf, "--to-hf", back]) == 0
        text, *others = (scores(programs, path) for path in (source, lxf, back))
        assert others == [text, text]
        ours = torch.tensor([[float(logit) for logit in line.split("\t")] for line in text.splitlines()])
        # AutoTokenizer reads vocab.txt only for families whose usual tokenizer is WordPiece.
        tokens = transformers.BertTokenizer.from_pretrained(source)([a for a, _ in PAIRS], [b for _, b in PAIRS], padding=True, return_tensors="pt")
        with torch.no_grad():
            theirs = model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).logits
        difference = (ours - theirs).abs().max().item()
        assert difference <= 1e-5 * max(1, theirs.abs().max().item()), difference
        return "%s: score_pairs of folder and .lxf file equal; against transformers, largest difference %.2g of %.2g" % (
            kind.__name__, difference, theirs.abs().max().item())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="*", metavar="CHECKPOINT")
    parser.add_argument("--bin", metavar="FOLDER", help="folder of the programs train_matcher and score_pairs, e.g. build/release/bin")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    say = lambda line: print(line, flush=True)
    for kind, config in MODELS:
        for form in ("safetensors", "shards", "bin"):
            say(check_random_model(kind, config, form))
    for source in arguments.checkpoints:
        say(check_checkpoint(source))
    if not arguments.bin:
        return
    for name, sizes, _ in OTHERS:
        say(check_scores(arguments.bin, getattr(transformers, name + "ForSequenceClassification"), getattr(transformers, name + "Config")(**sizes, **CLASSES)))
    for kind, config in ((transformers.BertForSequenceClassification, BERT), (transformers.ElectraForSequenceClassification, ELECTRA)):
        for options, names, problem in ((["--labels", "no,perhaps,yes"], ["no", "perhaps", "yes"], "single_label_classification"),
                                        (["--labels", "0,1"], ["0", "1"], "single_label_classification"),
                                        (["--task", "regression"], ["LABEL_0"], "regression")):
            say(check_trained_model(arguments.bin, kind, config, options, names, problem))


if __name__ == "__main__":
    main()
