# SPDX-License-Identifier: MIT
"""Writes a folder that transformers and sentence-transformers load."""

import json
import os
import zlib

from .added_tokens import SPECIAL
from .config import OUR_POSITIONS, POSITIONS, complete_config
from .errors import check, one_line, shown, Stop
from .files import staged, write_bytes
from .heads import describe_head
from .json_values import dump_json, get, is_text, parse_json
from .lxf import parse_lxf
from .modules import DENSE_ACTIVATIONS
from .names import needed_tensors
from .safetensors import write_safetensors
from .tensor import FLOATS

TOKENIZER_KEYS = ("do_lower_case", "strip_accents", "tokenize_chinese_chars", *SPECIAL)  # in tokenizer_config.json


def sentence_files(ours, tensors, width, longest, where):
    """The files that make a folder one of sentence-transformers, and the tensors of the Dense modules, file by file."""
    mode, length = get(ours, "pooling", str, where), get(ours, "max_length", int, where, longest)
    check(mode in ("mean", "cls", "max"), where, "'pooling' is %s, expected mean, cls or max" % shown(mode))
    flags = {"pooling_mode_%s" % key: key.startswith(mode) for key in ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")}
    flags["pooling_mode_mean_sqrt_len_tokens"] = False
    kinds, files, weights = ["Transformer", "Pooling"], {"1_Pooling/config.json": dict(flags, word_embedding_dimension=width)}, {}
    for number, name in enumerate(get(ours, "dense", list, where, [])):
        kind = next((key for key, value in DENSE_ACTIVATIONS.items() if value == name), None)
        parts = {"linear." + part: tensors.get("lexformer.dense.%d.%s" % (number, part)) for part in ("weight", "bias")}
        check(kind and None not in parts.values() and len(parts["linear.weight"].shape) == 2, where,
              "'dense' names %s, which is no activation of sentence-transformers or has no tensors" % shown(name))
        place = "%d_Dense/" % len(kinds)
        rows, columns = parts["linear.weight"].shape
        files[place + "config.json"] = dict(in_features=columns, out_features=rows, bias=True, activation_function="torch.nn.modules.%s.%s" % (
            "linear" if kind == "Identity" else "activation", kind))
        weights[place + "model.safetensors"] = parts
        kinds.append("Dense")
    if get(ours, "normalize", bool, where, False):
        kinds.append("Normalize")
    files["modules.json"] = [dict(idx=i, name=str(i), path="%d_%s" % (i, kind) if i else "", type="sentence_transformers.models." + kind)
                             for i, kind in enumerate(kinds)]
    files["sentence_bert_config.json"] = {"max_seq_length": length, "do_lower_case": False}
    files["config_sentence_transformers.json"] = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": get(ours, "similarity", str, where, "cosine")}
    return files, weights


def export_tokens(vocab, flags, config, source):
    """The text of vocab.txt without the tokens that only their own text gives; these follow it, in `config`."""
    tokens, added = vocab.split("\n")[:-1], get(flags, "added_tokens", list, source, [])
    places = {token: i for i, token in enumerate(tokens)}
    try:
        whole = {places[token["content"]] for token in added if not token["piece"]}
        config.update({"added_tokens_decoder": {str(places[token["content"]]): {
            **{key: token[key] for key in ("content", "lstrip", "rstrip", "single_word", "normalized")}, "special": True} for token in added}} if added else {})
    except (KeyError, TypeError):
        raise Stop(3, "%s: lexformer.tokenizer: 'added_tokens' does not fit the vocabulary" % source)
    tokens = tokens[:len(tokens) - len(whole)] if whole == set(range(len(tokens) - len(whole), len(tokens))) else tokens
    plain = {"clean_text": True, "max_input_chars_per_word": 100, "match_special_tokens": True, "add_cls": True, "add_sep": True, "add_middle_sep": True}
    for key in [key for key, value in plain.items() if flags.get(key, value) != value]:
        print("note: transformers' BertTokenizer has %s %s; its results differ" % (key, dump_json(plain[key])))
    return "".join(token + "\n" for token in tokens)


def to_hf(source, folder):
    # transformers could read other files in the folder, e.g. an old tokenizer.json, as a part of the model.
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise Stop(2, "%s: exists and is no empty folder; name a new one" % folder)
    tensors, metadata = parse_lxf(source)
    where = source + ": lexformer.config"
    config = complete_config(parse_json(metadata.get("lexformer.config", ""), where), where)
    describe_head(config, tensors, where)
    ours = get(config, "lexformer", dict, where, {})
    terms = [term.get("name") if isinstance(term, dict) else term for term in get(ours, "attention", list, where, [])]
    check(all(map(is_text, terms)), where, "an attention term has no name")
    foreign = [name for name in terms if name in OUR_POSITIONS]
    check(not foreign, where, "the position scheme is %s; transformers has %s" % (shown(foreign and foreign[0]), ", ".join(POSITIONS)))
    missing = [name for name, shape in needed_tensors(config).items() if name not in tensors or tensors[name].shape != shape]
    check(not missing, source, "%d needed tensors are missing or of the wrong shape, as %s" % (len(missing), shown(missing and missing[0])))
    kinds = {tensor.dtype for tensor in tensors.values()}
    if len(kinds) == 1:  # newer transformers load in the type named here, even if the tensors have another
        config.update({key: FLOATS.get(*kinds) for key in ("torch_dtype", "dtype") if key in config})
    texts, dense, longest = {"config.json": config}, {}, config["max_position_embeddings"]
    if "pooling" in ours and "head" not in ours and "tagger" not in ours:  # of a sentence encoder
        files, dense = sentence_files(ours, tensors, config["hidden_size"], longest, where)
        texts.update(files)
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("lexformer.dense.")}
    longest = min(longest, get(ours, "max_length", int, where, longest))
    if "lexformer.vocab" in metadata:
        texts["vocab.txt"] = vocab = metadata["lexformer.vocab"]
        check(metadata.get("lexformer.vocab_crc32") == str(zlib.crc32(vocab.encode())), source, "lexformer.vocab does not fit its checksum")
        flags = parse_json(metadata.get("lexformer.tokenizer", ""), source + ": lexformer.tokenizer")
        texts["tokenizer_config.json"] = {key: flags[key] for key in TOKENIZER_KEYS if key in flags}
        texts["tokenizer_config.json"].update(tokenizer_class="BertTokenizer", model_max_length=longest)
        texts["vocab.txt"] = export_tokens(vocab, flags, texts["tokenizer_config.json"], source)
    with staged(folder) as temporary:
        os.makedirs(temporary)
        for name in {os.path.dirname(name) for name in texts} - {""}:
            os.makedirs(os.path.join(temporary, name))
        for name, part in {"model.safetensors": tensors, **dense}.items():
            write_safetensors(os.path.join(temporary, name), part, {})
        for name, text in texts.items():
            text = text if isinstance(text, str) else json.dumps(text, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
            write_bytes(os.path.join(temporary, name), text.encode())
    print("wrote %s: %d tensors" % (folder, len(tensors)))
    beside = ours.get("position_embeddings") or get(config, "position_options", dict, where, {}).get("absolute")
    if beside and config.get("position_embedding_type", "absolute") != "absolute":
        print("note: transformers leaves out the absolute positions beside %s; its results differ" % config["position_embedding_type"])
    left_out = [one_line(name) for name in terms if name not in POSITIONS]
    if left_out:
        print("note: transformers leaves out the attention terms %s; its results differ" % ", ".join(left_out))
    extra = sorted(name for name in tensors if name.startswith("lexformer."))
    if extra:
        print("note: transformers leaves out lexformer's own tensors (%d, as %s); its results differ" % (len(extra), one_line(extra[0])))
