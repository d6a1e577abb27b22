# SPDX-License-Identifier: MIT
"""The supported families of transformers: one row per family, from which all other code reads the differences. BERT's names are the
canonical ones: a row translates the keys of config.json and the names of tensors. The same rows as in io/architecture.hpp."""

import dataclasses

from .errors import check, shown


@dataclasses.dataclass(frozen=True)
class Family:
    model_type: str  # in config.json
    name: str  # in HuggingFace's class names: BertForMaskedLM, ...
    prefix: str  # with a dot, before the names of the encoder's tensors
    # HuggingFace's defaults for keys missing in a config; 0: the key must be there.
    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072  # 0: 4 hidden_size
    type_vocab_size: int = 2
    embedding_size: int = 0  # 0: always hidden_size; else a projection follows the embeddings if the two differ
    max_position_embeddings: int = 512
    # The keys of config.json under other names, "canonical=theirs"; "canonical=": there is no such key, so it has its default.
    keys: str = ""
    free_keys: str = ""  # further keys without an effect on the results
    # Parts of the names of tensors, "theirs=canonical", in the order in which they are replaced, after the prefix; without a dot in front
    # they are beginnings. ~ before the canonical name: a matrix is transposed. a|b|c: its rows are divided among these tensors. %: the
    # rows of each head that rotary positions pair are t and t + d / 2; here they are 2 t and 2 t + 1.
    tensors: str = ""
    buffers: str = ""  # ends of the names of tensors that are no parameters
    heads: str = ""  # beginnings of the names of heads that are not part of the encoder
    token_types: bool = True  # whether the embeddings have a table of token types; type_vocab_size 0: unless the config has another number
    any_length: bool = False  # whether texts may be longer than max_position_embeddings if there is no table of positions
    early_projection: bool = False  # the projection of embeddings has no bias and is before the norm; embedding_size: by default hidden_size
    positions: str = "from_zero"  # the first row of the table of positions: 0, pad_token_id + 1 (after_padding) or 2 (after_one)
    terms: str = "none"  # the attention terms of all models of the family (config.py: family_terms)
    pre_norm: bool = False  # y = x + f(norm(x)) in place of norm(x + f(x)), and a last norm after all layers
    first_norm: bool = True  # whether the attention of layer 0 has a norm
    embedding_norm: bool = True
    gated: bool = False  # act(x W_1^T) * (x W_g^T) in place of act(x W_1^T)
    qkv_bias: bool = True
    bias_keys: bool = False  # the keys attention_bias, mlp_bias, norm_bias (all false) say which biases exist
    head_pooling: str = "first"  # the token that the head reads: first; as classifier_pooling says (chosen); last that is not padding
    head_out: str = "classifier"  # the last layer of HuggingFace's classification head


ROBERTA_NAMES = (
    "lm_head.dense.=cls.predictions.transform.dense. lm_head.layer_norm.=cls.predictions.transform.LayerNorm. "
    "lm_head.decoder.=cls.predictions.decoder. lm_head.bias=cls.predictions.bias")
ROBERTA = dict(tensors=ROBERTA_NAMES, heads="roberta.pooler. classifier. cls. qa_outputs. lm_head.", positions="after_padding",
               head_out="classifier.out_proj")
FAMILIES = (
    Family("bert", "Bert", "bert.", heads="bert.pooler. classifier. cls. qa_outputs."),
    Family("electra", "Electra", "electra.", hidden_size=256, num_attention_heads=4, intermediate_size=1024, embedding_size=128,
           heads="classifier. discriminator_predictions. generator_ qa_outputs.", head_out="classifier.out_proj"),
    Family("distilbert", "DistilBert", "distilbert.", num_hidden_layers=6, type_vocab_size=0,
           keys="hidden_size=dim num_hidden_layers=n_layers num_attention_heads=n_heads intermediate_size=hidden_dim "
                "hidden_act=activation hidden_dropout_prob=dropout attention_probs_dropout_prob=attention_dropout "
                "classifier_dropout=seq_classif_dropout layer_norm_eps= type_vocab_size= position_embedding_type=",
           free_keys="sinusoidal_pos_embds qa_dropout tie_weights_",
           tensors="transformer.layer.=encoder.layer. .attention.q_lin.=.attention.self.query. .attention.k_lin.=.attention.self.key. "
                   ".attention.v_lin.=.attention.self.value. .attention.out_lin.=.attention.output.dense. "
                   ".sa_layer_norm.=.attention.output.LayerNorm. .ffn.lin1.=.intermediate.dense. .ffn.lin2.=.output.dense. "
                   ".output_layer_norm.=.output.LayerNorm. vocab_transform.=cls.predictions.transform.dense. "
                   "vocab_layer_norm.=cls.predictions.transform.LayerNorm. vocab_projector.weight=cls.predictions.decoder.weight "
                   "vocab_projector.bias=cls.predictions.bias",
           heads="pre_classifier. classifier. cls. qa_outputs.", token_types=False),
    Family("mpnet", "MPNet", "mpnet.", vocab_size=30527, type_vocab_size=0,
           keys="type_vocab_size= position_embedding_type= classifier_dropout=", free_keys="relative_attention_num_buckets",
           tensors=".attention.attn.q.=.attention.self.query. .attention.attn.k.=.attention.self.key. "
                   ".attention.attn.v.=.attention.self.value. .attention.attn.o.=.attention.output.dense. "
                   ".attention.LayerNorm.=.attention.output.LayerNorm. "
                   "encoder.relative_attention_bias.weight=~lexformer.encoder.positions.bias " + ROBERTA_NAMES,
           heads="mpnet.pooler. classifier. cls. qa_outputs.", token_types=False, positions="after_one", terms="mpnet",
           head_out="classifier.out_proj"),
    Family("roberta", "Roberta", "roberta.", vocab_size=50265, **ROBERTA),
    Family("xlm-roberta", "XLMRoberta", "roberta.", vocab_size=0, **ROBERTA),
    Family("camembert", "Camembert", "roberta.", vocab_size=0, **ROBERTA),
    Family("deberta-v2", "DebertaV2", "deberta.", vocab_size=128100, hidden_size=1536, num_hidden_layers=24, num_attention_heads=24,
           intermediate_size=6144, type_vocab_size=0, keys="classifier_dropout=cls_dropout position_embedding_type=",
           free_keys="relative_attention position_buckets max_relative_positions norm_rel_ebd share_att_key pos_att_type "
                     "position_biased_input pooler_hidden_size pooler_hidden_act pooler_dropout attention_head_size "
                     "conv_kernel_size conv_groups conv_act legacy",
           tensors=".attention.self.query_proj.=.attention.self.query. .attention.self.key_proj.=.attention.self.key. "
                   ".attention.self.value_proj.=.attention.self.value. embeddings.embed_proj.=embeddings_project. "
                   "encoder.rel_embeddings.weight=lexformer.encoder.layer.0.positions.table "
                   "encoder.LayerNorm.=lexformer.encoder.layer.0.positions.norm. pooler.dense.=classifier.dense.",
           heads="classifier. cls. lm_predictions. mask_predictions. qa_outputs.", any_length=True, early_projection=True, terms="deberta"),
    Family("modernbert", "ModernBert", "model.", vocab_size=50368, num_hidden_layers=22, intermediate_size=1152, type_vocab_size=0,
           max_position_embeddings=8192,
           keys="hidden_act=hidden_activation layer_norm_eps=norm_eps hidden_dropout_prob=embedding_dropout "
                "attention_probs_dropout_prob=attention_dropout layer_dropout= type_vocab_size= position_embedding_type=",
           free_keys="attention_bias mlp_bias norm_bias classifier_bias classifier_pooling classifier_activation mlp_dropout "
                     "global_rope_theta local_rope_theta local_attention global_attn_every_n_layers layer_types rope_parameters "
                     "layer_norm_eps position_embedding_type reference_compile repad_logits_with_grad sparse_prediction "
                     "sparse_pred_ignore_index deterministic_flash_attn decoder_bias initializer_cutoff_factor",
           tensors="embeddings.tok_embeddings.=embeddings.word_embeddings. embeddings.norm.=embeddings.LayerNorm. "
                   "layers.=encoder.layer. .attn_norm.=.attention.output.LayerNorm. "
                   ".attn.Wqkv.=%.attention.self.query.|.attention.self.key.|.attention.self.value. "
                   ".attn.Wo.=.attention.output.dense. .mlp_norm.=.output.LayerNorm. "
                   ".mlp.Wi.=.intermediate.dense.|.intermediate.gate. .mlp.Wo.=.output.dense. final_norm.=encoder.LayerNorm. "
                   "decoder.weight=cls.predictions.decoder.weight decoder.bias=cls.predictions.bias",
           heads="head. classifier. decoder. cls. qa_outputs.", token_types=False, terms="modernbert", pre_norm=True, first_norm=False,
           gated=True, bias_keys=True, head_pooling="chosen"),
    Family("gpt2", "GPT2", "transformer.", vocab_size=50257, intermediate_size=0, type_vocab_size=0, max_position_embeddings=1024,
           keys="hidden_size=n_embd num_hidden_layers=n_layer num_attention_heads=n_head intermediate_size=n_inner "
                "max_position_embeddings=n_positions hidden_act=activation_function layer_norm_eps=layer_norm_epsilon "
                "hidden_dropout_prob=embd_pdrop attention_probs_dropout_prob=attn_pdrop layer_dropout=resid_pdrop "
                "type_vocab_size= position_embedding_type= classifier_dropout=",
           free_keys="n_ctx scale_attn_weights scale_attn_by_inverse_layer_idx reorder_and_upcast_attn",
           tensors="wte.=embeddings.word_embeddings. wpe.=embeddings.position_embeddings. h.=encoder.layer. "
                   ".ln_1.=.attention.output.LayerNorm. "
                   ".attn.c_attn.=~.attention.self.query.|.attention.self.key.|.attention.self.value. "
                   ".attn.c_proj.=~.attention.output.dense. .ln_2.=.output.LayerNorm. .mlp.c_fc.=~.intermediate.dense. "
                   ".mlp.c_proj.=~.output.dense. ln_f.=encoder.LayerNorm.",
           buffers=".attn.bias .attn.masked_bias", heads="score. lm_head. classifier. multiple_choice_head. qa_outputs.",
           token_types=False, terms="gpt2", pre_norm=True, embedding_norm=False, head_pooling="last", head_out="score"),
    Family("gpt_neo", "GPTNeo", "transformer.", vocab_size=50257, hidden_size=2048, num_hidden_layers=24, num_attention_heads=16,
           intermediate_size=0, type_vocab_size=0, max_position_embeddings=2048,
           keys="num_hidden_layers=num_layers num_attention_heads=num_heads hidden_act=activation_function "
                "layer_norm_eps=layer_norm_epsilon hidden_dropout_prob=embed_dropout attention_probs_dropout_prob=attention_dropout "
                "layer_dropout=resid_dropout type_vocab_size= position_embedding_type=",
           free_keys="attention_types attention_layers window_size",
           tensors="wte.=embeddings.word_embeddings. wpe.=embeddings.position_embeddings. h.=encoder.layer. "
                   ".ln_1.=.attention.output.LayerNorm. .attn.attention.q_proj.=.attention.self.query. "
                   ".attn.attention.k_proj.=.attention.self.key. .attn.attention.v_proj.=.attention.self.value. "
                   ".attn.attention.out_proj.=.attention.output.dense. .ln_2.=.output.LayerNorm. .mlp.c_fc.=.intermediate.dense. "
                   ".mlp.c_proj.=.output.dense. ln_f.=encoder.LayerNorm.",
           buffers=".attn.attention.bias .attn.attention.masked_bias", heads="score. lm_head. classifier. qa_outputs.",
           token_types=False, terms="gpt_neo", pre_norm=True, embedding_norm=False, qkv_bias=False, head_pooling="last",
           head_out="score"),
)
SUPPORTED = "lexformer reads the model types " + ", ".join(family.model_type for family in FAMILIES)


def find_family(model_type, where):
    """The row of a config's "model_type"."""
    found = [family for family in FAMILIES if family.model_type == model_type]
    check(found, where, "'model_type' is %s, which is not supported; %s" % (shown(model_type), SUPPORTED))
    return found[0]


def translations(text):
    """The pairs (left, right) of "left=right left=right ..."."""
    return [tuple(item.split("=")) for item in text.split()]


def config_key(family, canonical):
    """The name of a key of config.json in this family; "": it has no such key."""
    return dict(translations(family.keys)).get(canonical, canonical)


def canonical_tensor(family, name):
    """What becomes of a tensor, from its name without the prefix: the canonical names without the prefix (more than one: its rows are
    divided), whether it is transposed, and whether the rows of the first two are paired."""
    names, marks = [name], set()
    for theirs, canonical in translations(family.tensors):
        parts = canonical.lstrip("~%")
        found = [replaced(names[0], theirs, part) for part in parts.split("|")]
        if len(names) == 1 and found[0] != names[0]:
            names, marks = found, marks | set(canonical[:len(canonical) - len(parts)])
    return names, "~" in marks, "%" in marks


def foreign_tensor(family, name):
    """The family's name of a tensor, with the prefix, from one of its canonical names."""
    bare = name[len(family.prefix):] if name.startswith(family.prefix) else name
    for theirs, canonical in translations(family.tensors):
        for part in canonical.lstrip("~%").split("|"):
            bare = replaced(bare, part, theirs)
    return (family.prefix if name.startswith(family.prefix) or bare.startswith("encoder.") else "") + bare


def replaced(name, old, new):
    """The name with another beginning, or, if `old` begins with a dot, with another part."""
    return name.replace(old, new, 1) if old in name and (old[0] == "." or name.startswith(old)) else name
