# SPDX-License-Identifier: MIT
"""What a folder of sentence-transformers says of a sentence encoder."""

import os

from .errors import check, shown
from .folder_keys import check_keys, read_keys
from .json_values import get, is_size, read_json
from .tensor import WIDTHS, Tensor
from .weights import is_plain_name, read_weights, weights_of

DENSE_ACTIVATIONS = {"Tanh": "tanh", "Identity": "identity", "ReLU": "relu", "GELU": "gelu", "SiLU": "silu"}


def read_dense(folder, number):
    """The activation of a Dense module of sentence-transformers, and its tensors; a bias that it lacks is 0."""
    path, weights = os.path.join(folder, "config.json"), weights_of(folder)
    config = read_keys(path, "Dense")
    name = get(config, "activation_function", str, path, "")
    kind = name.rsplit(".", 1)[-1]
    check(kind in DENSE_ACTIVATIONS, path, "the activation function %s is not supported; Tanh, Identity, ReLU, GELU and SiLU are" % shown(name))
    tensors, _ = read_weights(weights)
    weight = tensors.get("linear.weight")
    check(weight is not None and len(weight.shape) == 2, weights, "there is no matrix 'linear.weight'")
    check(get(config, "bias", bool, path, True) or "linear.bias" not in tensors, path, "'bias' is false, but the weights have a bias")
    check(set(tensors) <= {"linear.weight", "linear.bias"}, weights, "it has other tensors than 'linear.weight' and 'linear.bias'")
    bias = tensors.get("linear.bias", Tensor(weight.dtype, weight.shape[:1], bytes(WIDTHS[weight.dtype] * weight.shape[0])))
    return DENSE_ACTIVATIONS[kind], {"lexformer.dense.%d.weight" % number: weight, "lexformer.dense.%d.bias" % number: bias}


def read_modules(folder):
    """For a sentence-transformers folder: the folder of the transformer, the settings of a sentence encoder and its Dense tensors."""
    path = os.path.join(folder, "modules.json")
    if not os.path.exists(path):
        return folder, None, {}
    modules = read_json(path, list)
    check(all(isinstance(m, dict) and isinstance(m.get("type"), str) and (m.get("path") == "" or is_plain_name(m.get("path")))
              for m in modules), path, "expected a list of modules, each with its type and its folder in this one")
    transformer, ours, dense, tensors = folder, {}, [], {}
    for module in modules:
        check_keys(module, "modules.json", path)
        kind, place = module["type"].rsplit(".", 1)[-1], os.path.join(folder, module["path"])
        if kind == "Transformer":
            transformer = place
        elif kind == "Pooling":
            file = os.path.join(place, "config.json")
            config = read_keys(file, "Pooling")
            # Newer versions write "pooling_mode": "mean", older ones one flag per mode; without any it is the mean.
            flags = [key[13:] for key in sorted(config) if key.startswith("pooling_mode_") and get(config, key, bool, file)]
            mode = get(config, "pooling_mode", str, file, "+".join(flags) or "mean")
            mode = {"mean_tokens": "mean", "cls_token": "cls", "max_tokens": "max"}.get(mode, mode)
            check(mode in ("mean", "cls", "max"), file, "pooling %s is not supported; mean, cls and max are" % shown(mode))
            ours["pooling"] = mode
        elif kind == "Dense":
            check("pooling" in ours and "normalize" not in ours, path, "a Dense module is not between Pooling and Normalize, which is not supported")
            activation, found = read_dense(place, len(dense))
            dense.append(activation)
            tensors.update(found)
        else:
            check(kind in ("Normalize", "Dropout"), path, "the module %s is not supported; Transformer, Pooling, Dense and Normalize are" % shown(kind))
            read_keys(os.path.join(place, "config.json") if place != folder else "", kind, {})
            if kind == "Normalize":
                ours["normalize"] = True
    if "pooling" not in ours:
        return transformer, None, {}
    path = os.path.join(folder, "config_sentence_transformers.json")
    config = read_keys(path, "config_sentence_transformers.json", {})
    prompt, prompts = get(config, "default_prompt_name", str, path), get(config, "prompts", dict, path, {})
    check(prompt is None or prompt in prompts, path, "'default_prompt_name' is %s, but 'prompts' has no such prompt" % shown(prompt))
    check(not prompts.get(prompt), path,
          "the default prompt %s is not supported; set default_prompt_name to null and put the prompt before your texts" % shown(prompt))
    similarity = get(config, "similarity_fn_name", str, path, "cosine")
    if similarity != "cosine":
        ours["similarity"] = similarity
    ours.setdefault("normalize", False)
    ours.update(text_length(transformer))
    if dense:
        ours["dense"] = dense
    return transformer, ours, tensors


def transformer_settings(folder):
    """The path of the settings of sentence-transformers for a transformer, and its keys; {} if there is no such file."""
    names = ["sentence_%s_config.json" % name for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")]
    path = next(filter(os.path.exists, (os.path.join(folder, name) for name in names)), os.path.join(folder, names[0]))
    return path, read_keys(path, "sentence_bert_config.json", {})


def text_length(folder):
    """{"max_length": most tokens of a text} by the settings of sentence-transformers or of the tokenizer, {} if neither says."""
    path = os.path.join(folder, "tokenizer_config.json")
    tokenizer = read_json(path) if os.path.exists(path) else {}
    theirs = "model_max_length" if tokenizer.get("model_max_length") is not None else "max_len"
    for where, config, key in (*((*transformer_settings(folder), "max_seq_length"),), (path, tokenizer, theirs)):
        length = config.get(key)
        check(length is None or (type(length) in (int, float) and length > 0), where, "%r is %s, expected a number of tokens" % (key, shown(length)))
        if is_size(length, 1, (1 << 20) + 1):  # transformers writes 10^30 for "any number"
            return {"max_length": length}
    return {}
