# SPDX-License-Identifier: MIT
"""Writes a folder that transformers and sentence-transformers load."""

import json
import os
import zlib

from .added_tokens import SPECIAL, json_added_tokens
from .config import OUR_POSITIONS, POSITIONS, complete_config, family_terms, position_offset, sizes
from .errors import check, one_line, shown, Stop
from .files import staged, write_bytes
from .heads import activation_of, describe_head
from .json_values import get, is_text, parse_json
from .lxf import parse_lxf
from .modules import DENSE_ACTIVATIONS
from .names import foreign_tensors, needed_tensors
from .other_tokenizers import MOST_VALUES
from .safetensors import write_safetensors
from .tensor import FLOATS
from .tokenizer_json import word_piece

TOKENIZER_KEYS = ("do_lower_case", "strip_accents", "tokenize_chinese_chars", *SPECIAL)  # in tokenizer_config.json
OF_BERT = {"clean_text": True, "max_input_chars_per_word": 100, "match_special_tokens": True, "add_cls": True, "add_sep": True,
           "add_middle_sep": True, "two_middle_seps": False, "right_type": 1}  # as BertTokenizer has them


def dense_files(place, activation, tensors, layer, where, **more):
    """The files of a Dense module: its config, and the tensors of `layer`."""
    kind = next((key for key, value in DENSE_ACTIVATIONS.items() if value == activation), None)
    parts = {"linear." + part: tensors.get("%s.%s" % (layer, part)) for part in ("weight", "bias")}
    check(kind and None not in parts.values() and len(parts["linear.weight"].shape) == 2, where,
          "'dense' names %s, which is no activation of sentence-transformers or has no tensors" % shown(activation))
    rows, columns = parts["linear.weight"].shape
    config = dict(in_features=columns, out_features=rows, bias=True, activation_function="torch.nn.modules.%s.%s" % (
        "linear" if kind == "Identity" else "activation", kind), **more)
    return {place + "/config.json": config}, {place + "/model.safetensors": parts}


def pooling_config(ours, width, where):
    mode = get(ours, "pooling", str, where)
    check(mode in ("mean", "cls", "max"), where, "'pooling' is %s, expected mean, cls or max" % shown(mode))
    flags = {"pooling_mode_%s" % key: key.startswith(mode) for key in ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")}
    flags["pooling_mode_mean_sqrt_len_tokens"] = False
    return dict(flags, word_embedding_dimension=width)


def list_modules(kinds):
    return [dict(idx=i, name=str(i), path="%d_%s" % (i, kind) if i else "", type="sentence_transformers.models." + kind) for i, kind in enumerate(kinds)]


def sentence_files(ours, tensors, width, longest, where):
    """The files that make a folder one of sentence-transformers, and the tensors of the Dense modules, file by file."""
    kinds, files, weights = ["Transformer", "Pooling"], {"1_Pooling/config.json": pooling_config(ours, width, where)}, {}
    for number, name in enumerate(get(ours, "dense", list, where, [])):
        texts, parts = dense_files("%d_Dense" % len(kinds), name, tensors, "lexformer.dense.%d" % number, where)
        files.update(texts)
        weights.update(parts)
        kinds.append("Dense")
    if get(ours, "normalize", bool, where, False):
        kinds.append("Normalize")
    files["modules.json"] = list_modules(kinds)
    files["sentence_bert_config.json"] = {"max_seq_length": get(ours, "max_length", int, where, longest), "do_lower_case": False}
    files["config_sentence_transformers.json"] = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": get(ours, "similarity", str, where, "cosine")}
    return files, weights


def score_files(ours, tensors, width, where):
    """As sentence_files(), for a cross-encoder with a head of modules."""
    head = get(ours, "modules", dict, where, {})
    kinds, files, weights = ["Transformer", "Pooling"], {"1_Pooling/config.json": pooling_config(head, width, where)}, {}
    if head.get("dense") is not None:
        texts, parts = dense_files("2_Dense", head["dense"], tensors, "lexformer.head.dense", where)
        files.update(texts)
        weights.update(parts)
        kinds.append("Dense")
    if get(head, "norm", bool, where, False):
        parts = {"norm." + part: tensors.get("lexformer.head.norm." + part) for part in ("weight", "bias")}
        check(None not in parts.values(), where, "'norm' is true, but its tensors are missing")
        files["%d_LayerNorm/config.json" % len(kinds)] = {"dimension": width}
        weights["%d_LayerNorm/model.safetensors" % len(kinds)] = parts
        kinds.append("LayerNorm")
    texts, parts = dense_files("%d_Dense" % len(kinds), "identity", tensors, "lexformer.head.out", where, module_output_name="scores")
    files.update(texts)
    weights.update(parts)
    files["modules.json"] = list_modules(kinds + ["Dense"])
    files["sentence_bert_config.json"] = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings",
                                          "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}}
    files["config_sentence_transformers.json"] = {"model_type": "CrossEncoder", "prompts": {}, "default_prompt_name": None, **activation_of(ours.get("activation") == "sigmoid")}
    return files, weights


def export_vocabulary(vocab, flags, config, source):
    """The text of vocab.txt without the tokens that only their own text gives; these follow it, in `config`."""
    tokens, added = vocab.split("\n")[:-1], get(flags, "added_tokens", list, source, [])
    places = {token: i for i, token in enumerate(tokens)}
    whole = {places[token["content"]] for token in added if not token["piece"]}
    config.update({"added_tokens_decoder": {str(places[token["content"]]): {
        **{key: token[key] for key in ("content", "lstrip", "rstrip", "single_word", "normalized")}, "special": True} for token in added}} if added else {})
    tokens = tokens[:len(tokens) - len(whole)] if whole == set(range(len(tokens) - len(whole), len(tokens))) else tokens
    return "".join(token + "\n" for token in tokens)


def stored_text(metadata, key, source):
    text = metadata[key]
    check(metadata.get(key + "_crc32") == str(zlib.crc32(text.encode())), source, "%s does not fit its checksum" % key)
    return text


def tokenizer_files(metadata, longest, source):
    """The files of the tokenizer: vocab.txt where transformers' BertTokenizer does the same, else tokenizer.json."""
    if not {"lexformer.vocab", "lexformer.tokenizer_json"} & set(metadata):
        return {}
    where = source + ": lexformer.tokenizer"
    flags = parse_json(metadata.get("lexformer.tokenizer", ""), where)
    check("pair_form" not in flags, where, "pairs have the form %s, which no tokenizer of transformers makes" % shown(flags.get("pair_form")))
    if "lexformer.tokenizer_json" in metadata:
        text = stored_text(metadata, "lexformer.tokenizer_json", source)
        root = parse_json(text, source + ": lexformer.tokenizer_json", most=MOST_VALUES)
        found = {token["content"] for token in json_added_tokens(root, source).values()}
        files, config = {"tokenizer.json": text}, {key: flags[key] for key in SPECIAL if flags.get(key) in found}
    else:
        vocab, config = stored_text(metadata, "lexformer.vocab", source), {key: flags[key] for key in TOKENIZER_KEYS if key in flags}
        try:
            if all(flags.get(key, value) == value for key, value in OF_BERT.items()):
                files = {"vocab.txt": export_vocabulary(vocab, flags, config, source)}
            else:
                text, config = word_piece(vocab.split("\n")[:-1], flags)
                files = {"tokenizer.json": text}
        except (KeyError, TypeError, AttributeError):
            raise Stop(3, "%s: does not fit the vocabulary, or lacks a key" % where)
    kind = "BertTokenizer" if "vocab.txt" in files else "PreTrainedTokenizerFast"
    return {**files, "tokenizer_config.json": {**config, "tokenizer_class": kind, "model_max_length": longest}}


def other_terms(config, where):
    """The names of the attention terms that transformers' model of the family lacks. Refuses a position scheme that it lacks, and terms of
    the family that are left out or have other options."""
    ours, own, names = get(config, "lexformer", dict, where, {}), family_terms(config, where), []
    listed = get(ours, "attention", list, where)
    if listed is None:
        return []
    schemes = [name for name in own if name in OUR_POSITIONS] or POSITIONS
    for term in listed:
        name, options = (term, ours.get(term)) if isinstance(term, str) else (term.get("name"), term.get("options")) if isinstance(term, dict) else (None, None)
        check(is_text(name), where, "an attention term has no name")
        same = name in own and isinstance(options, dict) and own[name].items() <= options.items()
        check(same or name not in OUR_POSITIONS, where, "the position scheme is %s%s; transformers has %s"
              % (shown(name), " with other options" if name in own else "", ", ".join(schemes)))
        check(same or name not in own, where, "the attention term %s has other options than in transformers' model of the family" % shown(name))
        names.append(name)
    for name in own:
        check(name in names, where, "there is no attention term %s, which transformers' model of the family has" % shown(name))
    return [name for name in names if name not in (*POSITIONS, *own)]


def to_hf(source, folder):
    # transformers could read other files in the folder, e.g. an old tokenizer.json, as a part of the model.
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise Stop(2, "%s: exists and is no empty folder; name a new one" % folder)
    tensors, metadata = parse_lxf(source)
    where = source + ": lexformer.config"
    config = complete_config(parse_json(metadata.get("lexformer.config", ""), where), where)
    describe_head(config, tensors, where)
    ours = get(config, "lexformer", dict, where, {})
    left_out = other_terms(config, where)
    missing = [name for name, shape in needed_tensors(config).items() if name not in tensors or tensors[name].shape != shape]
    check(not missing, source, "%d needed tensors are missing or of the wrong shape, as %s" % (len(missing), shown(missing and missing[0])))
    kinds = {tensor.dtype for tensor in tensors.values()}
    if len(kinds) == 1:  # newer transformers load in the type named here, even if the tensors have another
        config.update({key: FLOATS.get(*kinds) for key in ("torch_dtype", "dtype") if key in config})
    size = sizes(config)
    texts, dense, longest = {"config.json": config}, {}, size["max_position_embeddings"] - position_offset(config)
    own = "lexformer.dense." if "pooling" in ours and "head" not in ours and "tagger" not in ours else "lexformer.head." if ours.get("head") == "modules" else ""
    if own:  # of a sentence encoder or of a head of modules
        files, dense = (score_files(ours, tensors, size["hidden_size"], where) if ours.get("head") == "modules" else
                        sentence_files(ours, tensors, size["hidden_size"], longest, where))
        texts.update(files)
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith(own)}
    longest = min(longest, get(ours, "max_length", int, where, longest))
    texts.update(tokenizer_files(metadata, longest, source))
    tensors = foreign_tensors(tensors, config, source)
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
    if left_out:
        print("note: transformers leaves out the attention terms %s; its results differ" % ", ".join(map(one_line, left_out)))
    extra = sorted(name for name in tensors if name.startswith("lexformer."))
    if extra:
        print("note: transformers leaves out lexformer's own tensors (%d, as %s); its results differ" % (len(extra), one_line(extra[0])))
