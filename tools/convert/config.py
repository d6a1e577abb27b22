# SPDX-License-Identifier: MIT
"""The sizes in config.json and their defaults, and the attention terms of a family."""

from .errors import check, shown
from .families import config_key, find_family
from .folder_keys import SECTIONS, check_config_keys
from .json_values import get, is_size

POSITIONS = ("absolute", "relative_key", "relative_key_query")
OUR_POSITIONS = ("shaw", "bert_r", "ddrp", "tupe", "deberta", "t5", "alibi", "rope", "rope_by_layer")
MOST = {"vocab_size": 1 << 24, "hidden_size": 1 << 16, "num_hidden_layers": 256, "num_attention_heads": 1024, "intermediate_size": 1 << 18,
        "max_position_embeddings": 1 << 20, "type_vocab_size": 1024, "embedding_size": 1 << 16}  # as parse_transformer_config
NUMBERS = {"hidden_dropout_prob": 0.99, "attention_probs_dropout_prob": 0.99, "layer_dropout": 0.99, "classifier_dropout": 0.99,
           "layer_norm_eps": 1, "initializer_range": 10}
BUCKETS = "relative_attention_num_buckets"  # of MPNet's position scheme
# Keys of some families, and the values that they may have besides null.
BOOLEANS = (False, True)
ALLOWED = {**dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias", "classifier_bias", "decoder_bias", "scale_attn_by_inverse_layer_idx"), BOOLEANS),
           "classifier_pooling": ("cls", "mean"), "classifier_activation": SECTIONS["config.json"]["hidden_act"], "mlp_dropout": (0, 0.0),
           "scale_attn_weights": (True,), "reorder_and_upcast_attn": (False,), "relative_attention": (True,), "share_att_key": (True,),
           "norm_rel_ebd": ("layer_norm", "none"), "position_biased_input": BOOLEANS, "pooler_hidden_act": SECTIONS["config.json"]["hidden_act"],
           "conv_kernel_size": (0,)}


def family_of(config):
    return find_family(config["model_type"], "config")


def size_defaults(family):
    """The canonical names of the sizes that a config of the family has, with HuggingFace's defaults."""
    left_out = {"type_vocab_size": not family.token_types, "embedding_size": family.embedding_size == 0 and not family.early_projection}
    return {key: getattr(family, key) for key in MOST if not left_out.get(key)}


def sizes(config):
    """The sizes of a complete config under their canonical names; 0 token types where the family has none."""
    family = family_of(config)
    found = {key: config[config_key(family, key)] for key in size_defaults(family)}
    return {"type_vocab_size": 0, "embedding_size": found["hidden_size"], **found}


def position_offset(config):
    """The row of the first token in the table of positions."""
    rule = family_of(config).positions
    return {"from_zero": 0, "after_one": 2}.get(rule, 1 + (1 if config.get("pad_token_id") is None else config["pad_token_id"]))


def whole(config, key, least, most, where, default=None):
    """A whole number of a config."""
    size = default if config.get(key) is None else config[key]
    check(is_size(size, least, most), where, "%r is %s, expected a whole number from %d to %d" % (key, shown(size), least, most))
    return size


def number(config, key, least, most, where, default):
    value = default if config.get(key) is None else config[key]
    check(type(value) in (int, float) and least <= value <= most, where, "%r is %s, expected a number from %s to %s" % (key, shown(value), least, most))
    return value


def find_every(kinds, layers, whole, part, usual):
    """The number so that exactly the layers that it divides are of the kind `whole`, the others of the kind `part`: `usual`, if it is one; 0, if there is none."""
    return next((every for every in (usual, *range(1, layers + 1)) if kinds == [part if i % every else whole for i in range(layers)]), 0)


def deberta_terms(config, where):
    """Relative positions by the layers' own projections."""
    for key in ("relative_attention", "share_att_key"):
        check(config.get(key) is True, where, "%r is not true, which is not supported" % key)
    for key in ("pooler_hidden_size", "attention_head_size"):
        expected = config["hidden_size"] // (1 if key == "pooler_hidden_size" else config["num_attention_heads"])
        check(config.get(key) in (None, expected), where, "%r is %s, expected %d" % (key, shown(config.get(key)), expected))
    number(config, "pooler_dropout", 0, 0.99, where, 0)
    positive = lambda key: 0 if is_size(-get(config, key, int, where, -1), 0) else whole(config, key, 1, 65535, where)  # -1: none
    buckets, distance = positive("position_buckets"), positive("max_relative_positions") or config["max_position_embeddings"]
    types = config.get("pos_att_type") or ""
    types = [name for name in types.replace("|", " ").split() if name] if isinstance(types, str) else types
    check(isinstance(types, list) and types and all(name in ("c2p", "p2c") for name in types), where,
          "'pos_att_type' is %s, expected c2p, p2c or both" % shown(config.get("pos_att_type")))
    check(buckets == 0 or (buckets >= 4 and distance >= buckets // 2 + 2), where,
          "'position_buckets' is %d and the largest distance %d; there must be at least 4 buckets, and the distance above half of it + 1" % (buckets, distance))
    return {"deberta": {"size": buckets or distance, "buckets": buckets, "max_distance": distance if buckets else 0, "shared": True,
                        "norm": config.get("norm_rel_ebd") == "layer_norm", "c2p": "c2p" in types, "p2c": "p2c" in types}}


def modernbert_terms(config, where, layers):
    """Rotary positions with two bases, and a window in all layers but each third."""
    every, window = whole(config, "global_attn_every_n_layers", 1, 256, where, 3), whole(config, "local_attention", 2, 1 << 20, where, 128)
    bases = {"full_attention": number(config, "global_rope_theta", 1, 1e12, where, 160000), "sliding_attention": number(config, "local_rope_theta", 1, 1e12, where, 10000)}
    for kind, base in bases.items():  # rope_parameters: of transformers 5
        here = "%s: rope_parameters: %s" % (where, kind)
        one = get(get(config, "rope_parameters", dict, where, {}), kind, dict, here, {})
        rope = get(one, "rope_type", str, here, "default")
        check(rope == "default", here, "'rope_type' is %s, which is not supported; expected default" % shown(rope))
        bases[kind] = number(one, "rope_theta", 1, 1e12, here, base)
    kinds = get(config, "layer_types", list, where)
    if kinds is not None:
        every = find_every(kinds, layers, "full_attention", "sliding_attention", every)
        check(every, where, "'layer_types' is not full_attention in exactly the layers that one number divides, and sliding_attention in the others: other lists are not supported")
    return {"rope_by_layer": {"base": bases["full_attention"], "local_base": bases["sliding_attention"], "every": every},
            "reach": {"causal": False, "distance": window // 2, "every": every}}


def gpt_neo_terms(config, where, layers):
    """Causal, with a window in the layers that attention_types calls local."""
    window, types = whole(config, "window_size", 1, 1 << 20, where, 256), get(config, "attention_types", list, where)
    kinds = [("global", "local")[i % 2] for i in range(layers)] if types is None else []  # one for each layer
    for group in types or ():
        names, count = group if isinstance(group, list) and len(group) == 2 else (None, None)
        if isinstance(names, list) and is_size(count) and len(kinds) <= layers:
            kinds += names[:layers + 1] * min(count, layers + 1)
    every = find_every(kinds, layers, "global", "local", 2)
    check(every, where, "'attention_types' is %s, expected global in exactly the layers that one number divides, and local in the others" % shown(config.get("attention_types")))
    everywhere = every == 1 or layers == 1
    check(everywhere or window > 1, where, "'window_size' is 1, which leaves nothing to see")
    return {"reach": {"causal": True, "distance": 0 if everywhere else window - 1, "every": 2 if everywhere else every}}


def family_terms(config, where):
    """The attention terms of all models of the family: their names and options. As in models/transformer_config.hpp."""
    family = family_of(config)
    layers = config[config_key(family, "num_hidden_layers")]
    if family.terms == "mpnet":
        buckets = whole(config, BUCKETS, 4, 510, where, 32)
        check(buckets % 2 == 0, where, "%r is %d, expected an even number" % (BUCKETS, buckets))
        return {"t5": {"buckets": buckets, "max_distance": 128, "scaled": True}}
    if family.terms == "deberta":
        return deberta_terms(config, where)
    if family.terms == "modernbert":
        return modernbert_terms(config, where, layers)
    if family.terms == "gpt_neo":
        return gpt_neo_terms(config, where, layers)
    return {"reach": {"causal": True, "distance": 0, "every": 0}} if family.terms == "gpt2" else {}


def check_values(config, family, where):
    """Checks what is not a size."""
    if family.positions == "after_padding" or family.head_pooling == "last":
        check(is_size(get(config, "pad_token_id", int, where, 0), 0, config["vocab_size"] - 1), where,
              "'pad_token_id' is %s, expected the id of a token" % shown(config.get("pad_token_id")))
    for key, most in NUMBERS.items():
        number(config, config_key(family, key), 0, most, where, 0)
    for key in set(ALLOWED) & set(family.free_keys.split()):
        value = config.get(key)
        check(value is None or any(value == one and type(value) is type(one) for one in ALLOWED[key]), where,
              "%r is %s, which is not supported; expected %s" % (key, shown(value), " or ".join(map(str, ALLOWED[key]))))
    family_terms(config, where)


def complete_config(config, where):
    """Checks the settings and inserts missing sizes with HuggingFace's defaults for the family."""
    config["model_type"] = get(config, "model_type", str, where, "bert")  # configs before 2020 lack it; BertModel still loads them
    family = find_family(config["model_type"], where)
    check(not get(config, "is_decoder", bool, where), where, "'is_decoder' is true; only encoders are supported")
    check(get(config, "position_embedding_type", str, where, "absolute") in POSITIONS, where,
          "'position_embedding_type' is %s; transformers has %s" % (shown(config.get("position_embedding_type")), ", ".join(POSITIONS)))
    for key, default in size_defaults(family).items():
        theirs = config_key(family, key)
        least = 2 if key == "max_position_embeddings" else 0 if key == "type_vocab_size" and default == 0 else 1
        if default == 0 and key in ("intermediate_size", "embedding_size"):
            default = config[config_key(family, "hidden_size")] * (4 if key == "intermediate_size" else 1)
        default = None if default == 0 and key == "vocab_size" else default
        config[theirs] = whole(config, theirs, least, MOST[key], where, default)
    if family.terms == "mpnet":
        config[BUCKETS] = whole(config, BUCKETS, 4, 510, where, 32)
    check_values(config, family, where)
    positions = config_key(family, "max_position_embeddings")
    check(config[positions] >= position_offset(config) + 2, where, "%r is %d, of which %d rows are not used; at least 2 more are needed"
          % (positions, config[positions], position_offset(config)))
    heads, width = config_key(family, "num_attention_heads"), config_key(family, "hidden_size")
    check(config[width] % config[heads] == 0, where, "%r is no multiple of %r" % (width, heads))
    return config


def read_config(path, json):
    """The complete config of a folder, all of whose keys are known."""
    config = complete_config(json, path)
    check_config_keys(config, family_of(config), path)
    return config
