# SPDX-License-Identifier: MIT
"""The sizes in config.json and their defaults."""

from .errors import check, shown
from .folder_keys import SUPPORTED
from .json_values import get, is_size

BERT = {"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 512, "type_vocab_size": 2}
POSITIONS = ("absolute", "relative_key", "relative_key_query")
OUR_POSITIONS = ("shaw", "bert_r", "ddrp", "tupe", "deberta", "t5", "alibi", "rope")
MOST = {"vocab_size": 1 << 24, "hidden_size": 1 << 16, "num_hidden_layers": 256, "num_attention_heads": 1024, "intermediate_size": 1 << 18,
        "max_position_embeddings": 1 << 20, "type_vocab_size": 1024, "embedding_size": 1 << 16}  # as parse_transformer_config
NUMBERS = {"hidden_dropout_prob": 0.99, "attention_probs_dropout_prob": 0.99, "classifier_dropout": 0.99, "layer_norm_eps": 1, "initializer_range": 10}
ELECTRA = {**BERT, "embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}


def complete_config(config, where):
    """Checks all sizes and inserts missing keys with BertConfig's and ElectraConfig's defaults."""
    kind = get(config, "model_type", str, where, "bert")  # configs before 2020 lack it; BertModel still loads them
    check(kind in ("bert", "electra"), where, "'model_type' is %s, which is not supported; %s" % (shown(kind), SUPPORTED))
    check(not get(config, "is_decoder", bool, where), where, "'is_decoder' is true; only encoders are supported")
    check(get(config, "position_embedding_type", str, where, "absolute") in POSITIONS, where,
          "'position_embedding_type' is %s; transformers has %s" % (shown(config.get("position_embedding_type")), ", ".join(POSITIONS)))
    config["model_type"] = kind
    for key, default in (ELECTRA if kind == "electra" else BERT).items():
        config[key] = size = default if config.get(key) is None else config[key]
        least, most = 2 if key == "max_position_embeddings" else 1, MOST[key]
        check(is_size(size, least, most), where, "%r is %s, expected a whole number from %d to %d" % (key, shown(size), least, most))
    for key, most in NUMBERS.items():
        number = 0 if config.get(key) is None else config[key]
        check(type(number) in (int, float) and 0 <= number <= most, where, "%r is %s, expected a number from 0 to %s" % (key, shown(number), most))
    check(config["hidden_size"] % config["num_attention_heads"] == 0, where, "'hidden_size' is no multiple of 'num_attention_heads'")
    return config
