#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/models/family_*.safetensors: results of transformers in double for a tiny model of each family.

    python3 tests/oracles/make_golden_families.py [NAME...]

Needs torch, transformers and safetensors; the tests only read the files. start/ and gradient/ + HuggingFace's names: the initial
parameters and the gradients of the mean cross-entropy; hidden/K and logits: of the padded sequences, without the padding;
mlm/start/, mlm/gradient/, mlm/logits: of the masked language model on the same encoder, whose labels are the ids of each third token.
clm/logits, clm/loss, clm/gradient/: of the causal language model on the same decoder, the loss as transformers computes it; clm/end_loss: the
mean cross-entropy if the last token of each sequence also predicts eos_token_id.
"""
import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file

FOLDER = Path(__file__).resolve().parents[2] / "tests/golden/models"
FLOAT = torch.float32
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # for reproducible files
SIZES = dict(vocab_size=31, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=10, attn_implementation="eager")
NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
DISTIL = dict(vocab_size=31, dim=12, n_layers=2, n_heads=3, hidden_dim=10, max_position_embeddings=24, dropout=0.0, attention_dropout=0.0,
              seq_classif_dropout=0.0, pad_token_id=0, attn_implementation="eager")
ROBERTA = dict(SIZES, **NO_DROPOUT, max_position_embeddings=24, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5)
MODERN = dict(SIZES, num_hidden_layers=4, max_position_embeddings=64, local_attention=8, pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1,
              eos_token_id=2)
GPT2 = dict(vocab_size=31, n_embd=12, n_layer=2, n_head=3, n_positions=24, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0, attn_implementation="eager",
            pad_token_id=3, bos_token_id=3, eos_token_id=3)
NEO = dict(vocab_size=31, hidden_size=12, num_layers=4, num_heads=3, max_position_embeddings=48, attention_types=[[["global", "local"], 2]], window_size=4,
           pad_token_id=3, bos_token_id=3, eos_token_id=3, attn_implementation="eager")
DEBERTA = dict(SIZES, **NO_DROPOUT, relative_attention=True, position_buckets=6, max_relative_positions=16, norm_rel_ebd="layer_norm", share_att_key=True,
               pos_att_type="p2c|c2p", position_biased_input=False, type_vocab_size=0, max_position_embeddings=16, pad_token_id=0)
NO_MASKED = ("DebertaV2", "GPT2", "GPTNeo")
CAUSAL = {"GPT2": "GPT2LMHeadModel", "GPTNeo": "GPTNeoForCausalLM"}
# Name: class prefix, config, lengths of sequences, types, and the place of a padding token inside the first sequence.
FAMILIES = {
    "distilbert": ("DistilBert", DISTIL, [24, 5, 11], None),
    "distilbert_relu": ("DistilBert", dict(DISTIL, activation="relu"), [9, 3], None),
    "mpnet": ("MPNet", dict(SIZES, **NO_DROPOUT, max_position_embeddings=202, layer_norm_eps=1e-5, pad_token_id=1), [200, 7], 5),
    "roberta": ("Roberta", ROBERTA, [22, 5, 11], 3),
    "xlm_roberta": ("XLMRoberta", dict(ROBERTA, pad_token_id=2), [21, 4], 2),
    "deberta": ("DebertaV2", DEBERTA, [30, 5, 1], None),
    "deberta_long": ("DebertaV2", dict(DEBERTA, num_hidden_layers=1, position_buckets=256, max_relative_positions=-1, max_position_embeddings=512), [400], None),
    "deberta_c2p": ("DebertaV2", dict(DEBERTA, pos_att_type=["c2p"], type_vocab_size=2, embedding_size=8, norm_rel_ebd="none", hidden_act="gelu_new"), [20, 6],
                    None),
    "deberta_p2c": ("DebertaV2", dict(DEBERTA, pos_att_type="p2c", position_buckets=-1, max_relative_positions=9, position_biased_input=True,
                                      max_position_embeddings=24, pooler_hidden_act="tanh"), [24, 7], None),
    "modernbert": ("ModernBert", MODERN, [40, 1, 4, 5, 9], None),
    "modernbert_mean": ("ModernBert", dict(MODERN, num_hidden_layers=3, classifier_pooling="mean", classifier_bias=True, norm_bias=True, mlp_bias=True,
                                           attention_bias=True, hidden_activation="gelu_new", decoder_bias=False), [20, 6], None),
    "gpt2": ("GPT2", GPT2, [24, 5, 11], 23),
    "gpt2_by_layer": ("GPT2", dict(GPT2, n_inner=10, scale_attn_by_inverse_layer_idx=True, activation_function="gelu"), [7, 9], None),
    "gpt_neo": ("GPTNeo", NEO, [40, 3, 4, 5], None),
    "camembert": ("Camembert", dict(ROBERTA, type_vocab_size=2), [12, 8], None),
}


def randomize(model):
    """Values that float represents exactly; large enough that all terms matter, and attention is not uniform."""
    for name, p in model.named_parameters():
        center = 1.0 if name.lower().endswith(("layernorm.weight", "layer_norm.weight", "norm.weight")) else 0.0
        p.data = (center + 0.3 * torch.randn(p.shape)).to(FLOAT).double()


def padded(lengths, pad, vocabulary, hole):
    """Ids without the padding token, except at `hole` of the first sequence."""
    ids, mask = torch.full((len(lengths), max(lengths)), pad), torch.zeros((len(lengths), max(lengths)), dtype=torch.long)
    others = torch.tensor([i for i in range(vocabulary) if i != pad])
    for row, n in enumerate(lengths):
        ids[row, :n] = others[torch.randint(len(others), (n,))]
        mask[row, :n] = 1
    if hole is not None:
        ids[0, hole] = pad
    return ids, mask


def no_padding(model):
    """torch gives the row of the padding token no gradient; that is not a property of the model."""
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None


def parameters(model):
    """Under all names but those of the tied output layer."""
    return {name: p for name, p in model.named_parameters(remove_duplicate=False) if ".decoder." not in name and name not in ("decoder.weight", "vocab_projector.weight")}


def gradients(model, loss, prefix):
    model.zero_grad()
    loss.backward()
    return {f"{prefix}gradient/{name}": p.grad for name, p in parameters(model).items() if p.grad is not None and torch.any(p.grad != 0)}


def causal(model, classifier, ids, mask, kept):
    """The golden values of a causal language model with the weights of a classifier."""
    model.load_state_dict(classifier.state_dict(), strict=False)
    model.tie_weights()
    no_padding(model)
    y = model(input_ids=ids, attention_mask=mask, labels=torch.where(mask == 1, ids, -100))
    out = {"clm/logits": torch.cat([y.logits[i][kept[i]] for i in range(len(ids))]), "clm/loss": y.loss.reshape(1)}
    out.update({key: value for key, value in gradients(model, y.loss, "clm/").items() if "lm_head" not in key})
    following = torch.cat([torch.cat([ids[i][kept[i]][1:], torch.tensor([model.config.eos_token_id])]) for i in range(len(ids))])
    out["clm/end_loss"] = torch.nn.functional.cross_entropy(out["clm/logits"], following).reshape(1)
    return out


def in_double():
    """transformers computes the angles and the softmax of ModernBERT, the scores of GPT-Neo and the scale and buckets of DeBERTa in float32."""
    torch.Tensor.float = torch.Tensor.double
    torch.float = torch.float32 = torch.float64


def write(name):
    kind, sizes, lengths, hole = FAMILIES[name]
    torch.manual_seed(sum(map(ord, name)))
    config = getattr(transformers, kind + "Config")(**sizes, num_labels=3)
    model = getattr(transformers, kind + "ForSequenceClassification")(config).double().eval()
    randomize(model)
    no_padding(model)
    ids, mask = padded(lengths, config.pad_token_id, config.vocab_size, hole)
    kept = [torch.arange(max(lengths)) < n for n in lengths]
    labels = torch.arange(len(lengths)) % 3
    y = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    out = {f"start/{key}": p.to(FLOAT) for key, p in parameters(model).items()}
    out.update({f"hidden/{k}": torch.cat([h[i][kept[i]] for i in range(len(lengths))]) for k, h in enumerate(y.hidden_states)})
    out["logits"] = y.logits
    if kind in NO_MASKED:
        out.update(gradients(model, torch.nn.functional.cross_entropy(y.logits, labels), ""))
        flat = torch.cat([ids[i][kept[i]] for i in range(len(lengths))])
        if kind in CAUSAL:
            out.update(causal(getattr(transformers, CAUSAL[kind])(config).double().eval(), model, ids, mask, kept))
        return save(name, config, out, flat, lengths, labels)
    out.update(gradients(model, torch.nn.functional.cross_entropy(y.logits, labels), ""))
    masked = getattr(transformers, kind + "ForMaskedLM")(config).double().eval()
    masked.load_state_dict(model.state_dict(), strict=False)
    masked.get_output_embeddings().weight = masked.get_input_embeddings().weight
    no_padding(masked)
    head = {key: p for key, p in parameters(masked).items() if key not in parameters(model)}
    for key, p in head.items():
        p.data = ((1.0 if "orm.weight" in key else 0.0) + 0.3 * torch.randn(p.shape)).to(FLOAT).double()
    logits = masked(input_ids=ids, attention_mask=mask).logits
    rows = torch.cat([logits[i][kept[i]] for i in range(len(lengths))])
    flat = torch.cat([ids[i][kept[i]] for i in range(len(lengths))])
    out["mlm/logits"] = rows[::3]
    out.update({f"mlm/start/{key}": p.to(FLOAT) for key, p in head.items()})
    out.update(gradients(masked, torch.nn.functional.cross_entropy(rows[::3], flat[::3]), "mlm/"))
    save(name, config, out, flat, lengths, labels)


def save(name, config, out, flat, lengths, labels):
    out.update(ids=flat, lengths=torch.tensor(lengths), labels=labels)
    about = json.dumps({"config": json.loads(config.to_json_string())})
    save_file({key: value.detach().clone().contiguous() for key, value in out.items()}, FOLDER / f"family_{name}.safetensors", metadata={"about": about})
    print(name, sum(v.numel() for v in out.values()), "numbers")


in_double()
for name in sys.argv[1:] or FAMILIES:
    write(name)
