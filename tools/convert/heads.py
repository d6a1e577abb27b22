# SPDX-License-Identifier: MIT
"""Classification heads: class names and the activation of a cross-encoder, read and written."""

import os

from .config import family_of
from .errors import check, shown
from .folder_keys import read_keys
from .json_values import get, is_size, is_text
from .modules import text_length

MAX_LABELS = 65536  # same as models/cross_encoder_options.hpp


def label_count(config, tensors, modules=False):
    """The number of outputs of the classification head, None without one. modules: of a head of modules."""
    head = tensors.get(("lexformer.head.out" if modules else family_of(config).head_out) + ".weight")
    return head.shape[0] if head is not None and len(head.shape) == 2 else None


def check_class_names(config, labels, path):
    names = get(config, "id2label", dict, path) or {}
    if not all(name == "LABEL_" + key for key, name in names.items()):
        check(sorted(names) == sorted(map(str, range(labels))) and all(map(is_text, names.values())) and len(set(names.values())) == labels, path,
              "'id2label' does not name the %d classes of the head, each with a name of its own" % labels)


def read_cross_encoder(root, config, tensors, path, modules=False):
    """What sentence-transformers says of a CrossEncoder: {"activation": "sigmoid" or "identity", "max_length": most tokens of a pair}; {} for
    other models. By default the activation is the sigmoid for one label and the identity for more. modules: the scores come from modules of
    their own; then labels and task are there as well."""
    labels, theirs = label_count(config, tensors, modules), get(config, "sentence_transformers", dict, path)
    if labels is None:
        return {}
    check(get(config, "problem_type", str, path) != "multi_label_classification", path,
          "'problem_type' is 'multi_label_classification'; a cross-encoder has one label for each example")
    if not modules:  # the encoder's config does not know of them
        check_class_names(config, labels, path)
    name = get(config, "sbert_ce_default_activation_function", str, path)  # versions before 4
    name = get(theirs or {}, "activation_fn", str, path, name)
    own, length = os.path.join(root, "config_sentence_transformers.json"), text_length(os.path.dirname(path))
    if modules:
        length = {"labels": labels, "task": "regression" if labels == 1 else "classification", "max_length": 512, **length}
    if os.path.isfile(own):  # version 6
        found = get(read_keys(own, "config_sentence_transformers.json"), "activation_fn", str, own)
        name, path = (found, own) if found else (name, path)
    if name is None and theirs is None and not modules:
        return {}
    if name is None and labels > 1:
        return length
    kind = "Sigmoid" if name is None else name.rsplit(".", 1)[-1]
    check(kind in ("Sigmoid", "Identity"), path, "the activation function %s is not supported; Sigmoid and Identity are" % shown(name))
    return {"activation": kind.lower(), **length}


def activation_of(sigmoid):
    """The key "sentence_transformers" of a CrossEncoder's config."""
    return {"activation_fn": "torch.nn.modules." + ("activation.Sigmoid" if sigmoid else "linear.Identity")}


def describe_head(config, tensors, where):
    """transformers makes a head with one output per entry of id2label; this sets id2label for a model of train_matcher."""
    ours = config.get("lexformer")
    if not isinstance(ours, dict):
        return
    if "head" not in ours:  # converted, not trained
        if ours.get("activation") in ("sigmoid", "identity") and label_count(config, tensors) is not None:
            config["sentence_transformers"] = activation_of(ours["activation"] == "sigmoid")
        return
    for key in ("num_labels", "id2label", "label2id", "problem_type"):
        config.pop(key, None)  # from the model before training
    plain = ours["head"] == "huggingface"
    config["architectures"] = [family_of(config).name + ("ForSequenceClassification" if plain else "Model")]
    if plain:
        count, rows = get(ours, "labels", int, where, 0), label_count(config, tensors)
        check(is_size(count, 1, MAX_LABELS), where, "'labels' is %s, expected a whole number from 1 to %d" % (shown(count), MAX_LABELS))
        check(rows in (None, count), where, "'labels' is %d, but the classification head has %s outputs" % (count, rows))
        names = get(ours, "label_names", list, where) or ["LABEL_%d" % i for i in range(count)]
        check(names and len(names) == count and all(isinstance(name, str) for name in names), where, "'label_names' does not fit 'labels'")
        config.update(num_labels=count, id2label={str(i): name for i, name in enumerate(names)},
                      label2id={name: i for i, name in enumerate(names)},
                      problem_type="regression" if ours.get("task") == "regression" else "single_label_classification")
        # What CrossEncoder of sentence-transformers applies to the logits; of several classes it returns the logits.
        sigmoid = count == 1 and ours.get("activation") == "sigmoid"
        config["sentence_transformers"] = activation_of(sigmoid)
