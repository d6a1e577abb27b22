# SPDX-License-Identifier: MIT
"""The modules of a folder of sentence-transformers: of a sentence encoder, or of a cross-encoder with a head of modules."""

import os

from .errors import check, shown
from .folder_keys import check_keys, read_keys
from .json_values import get, is_size, read_json
from .tensor import WIDTHS, Tensor
from .weights import is_plain_name, read_weights, weights_of

DENSE_ACTIVATIONS = {"Tanh": "tanh", "Identity": "identity", "ReLU": "relu", "GELU": "gelu", "SiLU": "silu"}


def read_layer(folder, layer, rank):
    """The weight and the bias of a module's layer; a bias that it lacks is None."""
    weights = weights_of(folder)
    tensors, _ = read_weights(weights)
    weight = tensors.get(layer + ".weight")
    check(weight is not None and len(weight.shape) == rank, weights, "there is no %s '%s.weight'" % ("matrix" if rank == 2 else "vector", layer))
    check(set(tensors) <= {layer + ".weight", layer + ".bias"}, weights, "it has other tensors than '%s.weight' and '%s.bias'" % (layer, layer))
    return weight, tensors.get(layer + ".bias")


def read_later_module(kind, folder):
    """A module behind the pooling: its kind, the name of its folder, activation, whether it gives scores, weight and bias; a bias that a Dense
    lacks is 0."""
    path, name = os.path.join(folder, "config.json"), os.path.basename(folder)
    if kind == "LayerNorm":
        read_keys(path, kind, {})
        weight, bias = read_layer(folder, "norm", 1)
        check(bias is not None, weights_of(folder), "there is no 'norm.bias'")
        return kind, name, None, False, weight, bias
    config = read_keys(path, kind)
    given = get(config, "activation_function", str, path, "")
    activation = given.rsplit(".", 1)[-1]
    check(activation in DENSE_ACTIVATIONS, path, "the activation function %s is not supported; Tanh, Identity, ReLU, GELU and SiLU are" % shown(given))
    weight, bias = read_layer(folder, "linear", 2)
    check(get(config, "bias", bool, path, True) or bias is None, path, "'bias' is false, but the weights have a bias")
    bias = bias or Tensor(weight.dtype, weight.shape[:1], bytes(WIDTHS[weight.dtype] * weight.shape[0]))
    return kind, name, DENSE_ACTIVATIONS[activation], config.get("module_output_name") == "scores", weight, bias


def score_head(modules, pooling, path):
    """The settings and tensors of a cross-encoder whose scores come from [Dense, [LayerNorm]], Dense."""
    def refuse(fine, name, why):
        check(fine, path, "the module %s %s; scores come from the modules Pooling, Dense, LayerNorm, Dense, of which the first Dense and the LayerNorm may be missing"
              % (shown(name), why))

    head, tensors = {"pooling": pooling, "norm": False}, {}
    refuse(modules[-1][3], modules[-1][1], "is after the one whose 'module_output_name' is 'scores'")
    for i, (kind, name, activation, scores, weight, bias) in enumerate(modules):
        last = i == len(modules) - 1
        refuse(not last or activation == "identity", name, "gives scores by the 'activation_function' %s, expected Identity" % activation)
        refuse(last or (i < 2 and not scores and kind == ("Dense", "LayerNorm")[i]), name, "is %s, which is not supported in this place" % kind)
        refuse(last or i > 0 or weight.shape[0] == weight.shape[1], name, "makes of 'in_features' %d the 'out_features' %d, expected as many" % (weight.shape[-1], weight.shape[0]))
        head.update({} if last else {"dense": activation} if i == 0 else {"norm": True})
        layer = "out" if last else ("dense", "norm")[i]
        tensors.update({"lexformer.head.%s.weight" % layer: weight, "lexformer.head.%s.bias" % layer: bias})
    return {"head": "modules", "modules": head}, tensors


def sentence_settings(modules, pooling, path):
    """The settings and tensors of a sentence encoder with any number of Dense, and Normalize."""
    dense, normalize, tensors = [], False, {}
    for kind, name, activation, _, weight, bias in modules:
        check(kind != "LayerNorm", path, "the module %s is LayerNorm, which is supported before the Dense of a cross-encoder's scores alone" % shown(name))
        check(kind != "Dense" or not normalize, path, "a Dense module is not between Pooling and Normalize, which is not supported")
        normalize = normalize or kind == "Normalize"
        if kind == "Dense":
            tensors.update({"lexformer.dense.%d.weight" % len(dense): weight, "lexformer.dense.%d.bias" % len(dense): bias})
            dense.append(activation)
    return {"pooling": pooling, "normalize": normalize, **({"dense": dense} if dense else {})}, tensors


def pooling_mode(folder):
    file = os.path.join(folder, "config.json")
    config = read_keys(file, "Pooling")
    # Newer versions write "pooling_mode": "mean", older ones one flag per mode; without any it is the mean.
    flags = [key[13:] for key in sorted(config) if key.startswith("pooling_mode_") and get(config, key, bool, file)]
    mode = get(config, "pooling_mode", str, file, "+".join(flags) or "mean")
    mode = {"mean_tokens": "mean", "cls_token": "cls", "max_tokens": "max"}.get(mode, mode)
    check(mode in ("mean", "cls", "max"), file, "pooling %s is not supported; mean, cls and max are" % shown(mode))
    return mode


def read_modules(folder):
    """For a sentence-transformers folder: the folder of the transformer, the settings of a sentence encoder or of the head of a cross-encoder,
    and the tensors behind the pooling."""
    path = os.path.join(folder, "modules.json")
    if not os.path.exists(path):
        return folder, None, {}
    modules = read_json(path, list)
    check(all(isinstance(m, dict) and isinstance(m.get("type"), str) and (m.get("path") == "" or is_plain_name(m.get("path")))
              for m in modules), path, "expected a list of modules, each with its type and its folder in this one")
    transformer, pooling, later = folder, None, []
    for module in modules:
        check_keys(module, "modules.json", path)
        kind, place = module["type"].rsplit(".", 1)[-1], os.path.join(folder, module["path"])
        if kind == "Transformer":
            transformer = place
        elif kind == "Pooling":
            pooling = pooling_mode(place)
        elif kind in ("Dense", "LayerNorm"):
            check(pooling, path, "a %s module is before Pooling, which is not supported" % kind)
            later.append(read_later_module(kind, place))
        else:
            check(kind in ("Normalize", "Dropout"), path,
                  "the module %s is not supported; Transformer, Pooling, Dense, LayerNorm and Normalize are" % shown(kind))
            read_keys(os.path.join(place, "config.json") if place != folder else "", kind, {})
            if kind == "Normalize":
                later.append((kind, os.path.basename(place), None, False, None, None))
    if pooling is None:
        return transformer, None, {}
    path, scores = os.path.join(folder, "config_sentence_transformers.json"), any(module[3] for module in later)
    config = read_keys(path, "config_sentence_transformers.json", {})
    prompt, prompts = get(config, "default_prompt_name", str, path), get(config, "prompts", dict, path, {})
    check(prompt is None or prompt in prompts, path, "'default_prompt_name' is %s, but 'prompts' has no such prompt" % shown(prompt))
    check(not prompts.get(prompt), path,
          "the default prompt %s is not supported; set default_prompt_name to null and put the prompt before your texts" % shown(prompt))
    similarity = get(config, "similarity_fn_name", str, path, "cosine")
    ours, tensors = (score_head if scores else sentence_settings)(later, pooling, os.path.join(folder, "modules.json"))
    if similarity != "cosine" and not scores:
        ours["similarity"] = similarity
    return transformer, {**ours, **text_length(transformer)}, tensors


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
