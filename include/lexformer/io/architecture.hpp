// SPDX-License-Identifier: MIT
// The supported families of transformers: one row per family, from which all other code reads the differences. BERT's names are the
// canonical ones: a row translates the keys of config.json and the names of tensors. tools/convert/families.py has the same rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// How many rows of a position table come before the one of the first token: none; or p + 1, where a token with the id p has the row p and
/// is not counted. p is pad_token_id, or always 1.
enum class PositionRule { from_zero, after_padding, after_one };

/// The attention terms of all models of a family (models/family_terms.hpp).
enum class FamilyTerms { none, mpnet, deberta, modernbert, gpt2, gpt_neo };

/// Which token vector a classification head reads: the first; the one that classifier_pooling says; the last that is not pad_token_id.
enum class HeadPooling { first, chosen, last };

struct Architecture {
  std::string_view model_type;  // in config.json
  std::string_view name;        // in HuggingFace's class names: BertForMaskedLM, ...
  std::string_view prefix;      // with a dot, before the names of the encoder's tensors

  // HuggingFace's defaults for keys missing in a config.
  std::size_t vocab_size = 30522;  // 0: a config must have the key
  std::size_t hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12;
  std::size_t intermediate_size = 3072;  // 0: 4 hidden_size
  std::size_t type_vocab_size = 2;
  std::size_t embedding_size = 0;  // 0: always hidden_size; else a projection follows the embeddings if the two differ
  std::size_t max_position_embeddings = 512;
  double layer_norm_eps = 1e-12, hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0.1;
  std::string_view hidden_act = "gelu";
  double classifier_dropout = -1;  // -1: hidden_dropout_prob

  // The keys of config.json under other names, "canonical=theirs"; "canonical=": there is no such key, so it has its default.
  std::string_view keys{};
  // Further keys without an effect on the results.
  std::string_view free_keys{};

  // Parts of the names of tensors, "theirs=canonical", in the order in which they are replaced, after the prefix; without a dot in front
  // they are beginnings. ~ before the canonical name: a matrix is transposed. a|b|c: its rows are divided among these tensors. %: the
  // rows of each head that rotary positions pair are t and t + d / 2; here they are 2 t and 2 t + 1.
  std::string_view tensors{};
  std::string_view buffers{};  // ends of the names of tensors that are no parameters
  // Beginnings of the names of heads that are not part of the encoder.
  std::string_view heads;

  bool token_types = true;  // whether the embeddings have a table of token types; type_vocab_size 0: unless the config has another number
  PositionRule positions = PositionRule::from_zero;
  bool any_length = false;        // whether texts may be longer than max_position_embeddings if there is no table of positions
  bool early_projection = false;  // the projection of embeddings has no bias and is before the norm; embedding_size: by default hidden_size
  FamilyTerms terms = FamilyTerms::none;
  bool attention_dropout = true;  // whether there is dropout between attention and its residual sum

  // Post-normalization: y = norm(x + f(x)). Pre-normalization: y = x + f(norm(x)), and a last norm after all layers.
  bool pre_norm = false, first_norm = true;   // first_norm: of the attention of layer 0
  bool embedding_norm = true, gated = false;  // gated: act(x W_1^T) * (x W_g^T) in place of act(x W_1^T)
  bool qkv_bias = true, scaled = true;        // scaled: q . k is divided by sqrt(d)
  bool bias_keys = false;  // the keys attention_bias, mlp_bias, norm_bias, classifier_bias and decoder_bias say which biases exist

  // HuggingFace's classification head:  out(dropout(norm(act(dense(x))))). head_dropout: x is dropout(token vector). Without a dense layer
  // out(x). head_norm: empty, no norm.
  HeadPooling head_pooling = HeadPooling::first;
  std::string_view head_dense{}, head_norm{}, head_out, head_act = "gelu";
  bool head_dropout = true, head_bias = true;  // head_bias: of `out`

  bool masked_lm = true;     // whether HuggingFace's masked language model is supported
  bool masked_gelu = false;  // whether its activation is gelu whatever hidden_act is
  // Its layers before the word embeddings. If the classification head has the same ones, they have its biases and activation.
  std::string_view masked_dense = "cls.predictions.transform.dense", masked_norm = "cls.predictions.transform.LayerNorm";
  std::string_view causal_lm{};  // HuggingFace's class of the causal language model; empty: there is none
};

/// All of them; the first is BERT.
std::span<const Architecture> architectures();

/// Lists all supported models, for messages.
std::string supported_models();

/// Returns the architecture of a config's "model_type". Errors: it is not supported; `where` names the file.
const Architecture& find_architecture(std::string_view model_type, const std::string& where);

/// The name of a key of config.json in this family; empty: it has no such key.
std::string config_key(const Architecture& a, std::string_view canonical);

/// Whether a word is in a list of words.
bool is_listed(std::string_view list, std::string_view word);

namespace detail {

/// Calls use(word) for each word of a list.
template <class Use>
void each_word(std::string_view list, Use&& use) {
  while (!list.empty()) {
    const auto end = std::min(list.find(' '), list.size());
    if (end != 0) use(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

/// Calls use(left, right) for each "left=right" of a list.
template <class Use>
void each_translation(std::string_view list, Use&& use) {
  each_word(list, [&](std::string_view item) { use(item.substr(0, item.find('=')), item.substr(item.find('=') + 1)); });
}

}  // namespace detail

/// The tensors that a tensor of a checkpoint becomes.
struct CanonicalTensor {
  std::vector<std::string> names;  // without the prefix; more than one: its rows are divided
  bool transposed = false, rotary = false;
};

/// The name of the word embeddings in a checkpoint, without the prefix.
std::string word_tensor(const Architecture& a);

/// What becomes of a tensor, from its name without the prefix.
CanonicalTensor canonical_tensor(const Architecture& a, const std::string& name);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <array>

#include "lexformer/core/error.hpp"

namespace lexformer {

namespace detail {

inline constexpr std::string_view roberta_names =
    "lm_head.dense.=cls.predictions.transform.dense. lm_head.layer_norm.=cls.predictions.transform.LayerNorm. "
    "lm_head.decoder.=cls.predictions.decoder. lm_head.bias=cls.predictions.bias";
inline constexpr std::string_view roberta_heads = "roberta.pooler. classifier. cls. qa_outputs. lm_head.";

// Here and not above, since their evaluation takes the compiler 20 MB.
inline constexpr std::array architecture_rows{
    Architecture{.model_type = "bert",
                 .name = "Bert",
                 .prefix = "bert.",
                 .heads = "bert.pooler. classifier. cls. qa_outputs.",
                 .head_dense = "bert.pooler.dense",
                 .head_out = "classifier",
                 .head_act = "tanh",
                 .head_dropout = false},
    Architecture{.model_type = "electra",
                 .name = "Electra",
                 .prefix = "electra.",
                 .hidden_size = 256,
                 .num_attention_heads = 4,
                 .intermediate_size = 1024,
                 .embedding_size = 128,
                 .heads = "classifier. discriminator_predictions. generator_ qa_outputs.",
                 .head_dense = "classifier.dense",
                 .head_out = "classifier.out_proj",
                 .head_act = "gelu",
                 .masked_lm = false},
    Architecture{.model_type = "distilbert",
                 .name = "DistilBert",
                 .prefix = "distilbert.",
                 .num_hidden_layers = 6,
                 .type_vocab_size = 0,
                 .classifier_dropout = 0.2,
                 .keys = "hidden_size=dim num_hidden_layers=n_layers num_attention_heads=n_heads intermediate_size=hidden_dim "
                         "hidden_act=activation hidden_dropout_prob=dropout attention_probs_dropout_prob=attention_dropout "
                         "classifier_dropout=seq_classif_dropout layer_norm_eps= type_vocab_size= position_embedding_type=",
                 .free_keys = "sinusoidal_pos_embds qa_dropout tie_weights_",
                 .tensors =
                     "transformer.layer.=encoder.layer. .attention.q_lin.=.attention.self.query. .attention.k_lin.=.attention.self.key. "
                     ".attention.v_lin.=.attention.self.value. .attention.out_lin.=.attention.output.dense. "
                     ".sa_layer_norm.=.attention.output.LayerNorm. .ffn.lin1.=.intermediate.dense. .ffn.lin2.=.output.dense. "
                     ".output_layer_norm.=.output.LayerNorm. vocab_transform.=cls.predictions.transform.dense. "
                     "vocab_layer_norm.=cls.predictions.transform.LayerNorm. vocab_projector.weight=cls.predictions.decoder.weight "
                     "vocab_projector.bias=cls.predictions.bias",
                 .heads = "pre_classifier. classifier. cls. qa_outputs.",
                 .token_types = false,
                 .attention_dropout = false,
                 .head_dense = "pre_classifier",
                 .head_out = "classifier",
                 .head_act = "relu",
                 .head_dropout = false},
    Architecture{.model_type = "mpnet",
                 .name = "MPNet",
                 .prefix = "mpnet.",
                 .vocab_size = 30527,
                 .type_vocab_size = 0,
                 .keys = "type_vocab_size= position_embedding_type= classifier_dropout=",
                 .free_keys = "relative_attention_num_buckets",
                 .tensors = ".attention.attn.q.=.attention.self.query. .attention.attn.k.=.attention.self.key. "
                            ".attention.attn.v.=.attention.self.value. .attention.attn.o.=.attention.output.dense. "
                            ".attention.LayerNorm.=.attention.output.LayerNorm. "
                            "encoder.relative_attention_bias.weight=~lexformer.encoder.positions.bias "
                            "lm_head.dense.=cls.predictions.transform.dense. lm_head.layer_norm.=cls.predictions.transform.LayerNorm. "
                            "lm_head.decoder.=cls.predictions.decoder. lm_head.bias=cls.predictions.bias",
                 .heads = "mpnet.pooler. classifier. cls. qa_outputs.",
                 .token_types = false,
                 .positions = PositionRule::after_one,
                 .terms = FamilyTerms::mpnet,
                 .head_dense = "classifier.dense",
                 .head_out = "classifier.out_proj",
                 .head_act = "tanh",
                 .masked_gelu = true},
    Architecture{.model_type = "roberta",
                 .name = "Roberta",
                 .prefix = "roberta.",
                 .vocab_size = 50265,
                 .tensors = roberta_names,
                 .heads = roberta_heads,
                 .positions = PositionRule::after_padding,
                 .head_dense = "classifier.dense",
                 .head_out = "classifier.out_proj",
                 .head_act = "tanh",
                 .masked_gelu = true},
    Architecture{.model_type = "xlm-roberta",
                 .name = "XLMRoberta",
                 .prefix = "roberta.",
                 .vocab_size = 0,
                 .tensors = roberta_names,
                 .heads = roberta_heads,
                 .positions = PositionRule::after_padding,
                 .head_dense = "classifier.dense",
                 .head_out = "classifier.out_proj",
                 .head_act = "tanh",
                 .masked_gelu = true},
    Architecture{.model_type = "camembert",
                 .name = "Camembert",
                 .prefix = "roberta.",
                 .vocab_size = 0,
                 .tensors = roberta_names,
                 .heads = roberta_heads,
                 .positions = PositionRule::after_padding,
                 .head_dense = "classifier.dense",
                 .head_out = "classifier.out_proj",
                 .head_act = "tanh",
                 .masked_gelu = true},
    Architecture{.model_type = "deberta-v2",
                 .name = "DebertaV2",
                 .prefix = "deberta.",
                 .vocab_size = 128100,
                 .hidden_size = 1536,
                 .num_hidden_layers = 24,
                 .num_attention_heads = 24,
                 .intermediate_size = 6144,
                 .type_vocab_size = 0,
                 .layer_norm_eps = 1e-7,
                 .keys = "classifier_dropout=cls_dropout position_embedding_type=",
                 .free_keys = "relative_attention position_buckets max_relative_positions norm_rel_ebd share_att_key pos_att_type "
                              "position_biased_input pooler_hidden_size pooler_hidden_act pooler_dropout attention_head_size "
                              "conv_kernel_size conv_groups conv_act legacy",
                 .tensors = ".attention.self.query_proj.=.attention.self.query. .attention.self.key_proj.=.attention.self.key. "
                            ".attention.self.value_proj.=.attention.self.value. embeddings.embed_proj.=embeddings_project. "
                            "encoder.rel_embeddings.weight=lexformer.encoder.layer.0.positions.table "
                            "encoder.LayerNorm.=lexformer.encoder.layer.0.positions.norm. pooler.dense.=classifier.dense.",
                 .heads = "classifier. cls. lm_predictions. mask_predictions. qa_outputs.",
                 .any_length = true,
                 .early_projection = true,
                 .terms = FamilyTerms::deberta,
                 .head_dense = "classifier.dense",
                 .head_out = "classifier",
                 .masked_lm = false},
    Architecture{.model_type = "modernbert",
                 .name = "ModernBert",
                 .prefix = "model.",
                 .vocab_size = 50368,
                 .num_hidden_layers = 22,
                 .intermediate_size = 1152,
                 .type_vocab_size = 0,
                 .max_position_embeddings = 8192,
                 .layer_norm_eps = 1e-5,
                 .hidden_dropout_prob = 0,
                 .attention_probs_dropout_prob = 0,
                 .classifier_dropout = 0,
                 .keys = "hidden_act=hidden_activation layer_norm_eps=norm_eps hidden_dropout_prob=embedding_dropout "
                         "attention_probs_dropout_prob=attention_dropout layer_dropout= type_vocab_size= position_embedding_type=",
                 .free_keys = "attention_bias mlp_bias norm_bias classifier_bias classifier_pooling classifier_activation mlp_dropout "
                              "global_rope_theta local_rope_theta local_attention global_attn_every_n_layers layer_types rope_parameters "
                              "layer_norm_eps position_embedding_type reference_compile repad_logits_with_grad sparse_prediction "
                              "sparse_pred_ignore_index deterministic_flash_attn decoder_bias initializer_cutoff_factor",
                 .tensors = "embeddings.tok_embeddings.=embeddings.word_embeddings. embeddings.norm.=embeddings.LayerNorm. "
                            "layers.=encoder.layer. .attn_norm.=.attention.output.LayerNorm. "
                            ".attn.Wqkv.=%.attention.self.query.|.attention.self.key.|.attention.self.value. "
                            ".attn.Wo.=.attention.output.dense. .mlp_norm.=.output.LayerNorm. "
                            ".mlp.Wi.=.intermediate.dense.|.intermediate.gate. .mlp.Wo.=.output.dense. final_norm.=encoder.LayerNorm. "
                            "decoder.weight=cls.predictions.decoder.weight decoder.bias=cls.predictions.bias",
                 .heads = "head. classifier. decoder. cls. qa_outputs.",
                 .token_types = false,
                 .terms = FamilyTerms::modernbert,
                 .pre_norm = true,
                 .first_norm = false,
                 .gated = true,
                 .bias_keys = true,
                 .head_pooling = HeadPooling::chosen,
                 .head_dense = "head.dense",
                 .head_norm = "head.norm",
                 .head_out = "classifier",
                 .head_dropout = false,
                 .masked_dense = "head.dense",
                 .masked_norm = "head.norm"},
    Architecture{.model_type = "gpt2",
                 .name = "GPT2",
                 .prefix = "transformer.",
                 .vocab_size = 50257,
                 .intermediate_size = 0,
                 .type_vocab_size = 0,
                 .max_position_embeddings = 1024,
                 .layer_norm_eps = 1e-5,
                 .hidden_act = "gelu_new",
                 .keys = "hidden_size=n_embd num_hidden_layers=n_layer num_attention_heads=n_head intermediate_size=n_inner "
                         "max_position_embeddings=n_positions hidden_act=activation_function layer_norm_eps=layer_norm_epsilon "
                         "hidden_dropout_prob=embd_pdrop attention_probs_dropout_prob=attn_pdrop layer_dropout=resid_pdrop "
                         "type_vocab_size= position_embedding_type= classifier_dropout=",
                 .free_keys = "n_ctx scale_attn_weights scale_attn_by_inverse_layer_idx reorder_and_upcast_attn",
                 .tensors = "wte.=embeddings.word_embeddings. wpe.=embeddings.position_embeddings. h.=encoder.layer. "
                            ".ln_1.=.attention.output.LayerNorm. "
                            ".attn.c_attn.=~.attention.self.query.|.attention.self.key.|.attention.self.value. "
                            ".attn.c_proj.=~.attention.output.dense. .ln_2.=.output.LayerNorm. .mlp.c_fc.=~.intermediate.dense. "
                            ".mlp.c_proj.=~.output.dense. ln_f.=encoder.LayerNorm.",
                 .buffers = ".attn.bias .attn.masked_bias",
                 .heads = "score. lm_head. classifier. multiple_choice_head. qa_outputs.",
                 .token_types = false,
                 .terms = FamilyTerms::gpt2,
                 .pre_norm = true,
                 .embedding_norm = false,
                 .head_pooling = HeadPooling::last,
                 .head_out = "score",
                 .head_bias = false,
                 .masked_lm = false,
                 .causal_lm = "GPT2LMHeadModel"},
    Architecture{.model_type = "gpt_neo",
                 .name = "GPTNeo",
                 .prefix = "transformer.",
                 .vocab_size = 50257,
                 .hidden_size = 2048,
                 .num_hidden_layers = 24,
                 .num_attention_heads = 16,
                 .intermediate_size = 0,
                 .type_vocab_size = 0,
                 .max_position_embeddings = 2048,
                 .layer_norm_eps = 1e-5,
                 .hidden_dropout_prob = 0,
                 .attention_probs_dropout_prob = 0,
                 .hidden_act = "gelu_new",
                 .keys =
                     "num_hidden_layers=num_layers num_attention_heads=num_heads hidden_act=activation_function "
                     "layer_norm_eps=layer_norm_epsilon hidden_dropout_prob=embed_dropout attention_probs_dropout_prob=attention_dropout "
                     "layer_dropout=resid_dropout type_vocab_size= position_embedding_type=",
                 .free_keys = "attention_types attention_layers window_size",
                 .tensors = "wte.=embeddings.word_embeddings. wpe.=embeddings.position_embeddings. h.=encoder.layer. "
                            ".ln_1.=.attention.output.LayerNorm. .attn.attention.q_proj.=.attention.self.query. "
                            ".attn.attention.k_proj.=.attention.self.key. .attn.attention.v_proj.=.attention.self.value. "
                            ".attn.attention.out_proj.=.attention.output.dense. .ln_2.=.output.LayerNorm. .mlp.c_fc.=.intermediate.dense. "
                            ".mlp.c_proj.=.output.dense. ln_f.=encoder.LayerNorm.",
                 .buffers = ".attn.attention.bias .attn.attention.masked_bias",
                 .heads = "score. lm_head. classifier. qa_outputs.",
                 .token_types = false,
                 .terms = FamilyTerms::gpt_neo,
                 .pre_norm = true,
                 .embedding_norm = false,
                 .qkv_bias = false,
                 .scaled = false,
                 .head_pooling = HeadPooling::last,
                 .head_out = "score",
                 .head_bias = false,
                 .masked_lm = false,
                 .causal_lm = "GPTNeoForCausalLM"},
};

}  // namespace detail

LEXFORMER_INLINE std::span<const Architecture> architectures() { return detail::architecture_rows; }

LEXFORMER_INLINE std::string supported_models() {
  std::vector<std::string_view> types;
  for (const auto& a : architectures()) types.push_back(a.model_type);
  return cat("lexformer reads the model types ", join(types));
}

LEXFORMER_INLINE const Architecture& find_architecture(std::string_view model_type, const std::string& where) {
  for (const auto& a : architectures())
    if (a.model_type == model_type) return a;
  fail_file(where, "'model_type' is ", in_quotes(model_type), ", which is not supported; ", supported_models());
}

LEXFORMER_INLINE std::string config_key(const Architecture& a, std::string_view canonical) {
  std::string_view key = canonical;
  detail::each_translation(a.keys, [&](std::string_view ours, std::string_view theirs) {
    if (ours == canonical) key = theirs;
  });
  return std::string(key);
}

LEXFORMER_INLINE bool is_listed(std::string_view list, std::string_view word) {
  return (" " + std::string(list) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

LEXFORMER_INLINE std::string word_tensor(const Architecture& a) {
  std::string_view module = "embeddings.word_embeddings.";
  detail::each_translation(a.tensors, [&](std::string_view theirs, std::string_view canonical) {
    if (canonical == "embeddings.word_embeddings.") module = theirs;
  });
  return std::string(module) + "weight";
}

LEXFORMER_INLINE CanonicalTensor canonical_tensor(const Architecture& a, const std::string& name) {
  CanonicalTensor out{.names = {name}};
  detail::each_translation(a.tensors, [&](std::string_view theirs, std::string_view canonical) {
    const std::string now = out.names[0];
    const auto at = theirs.starts_with('.') ? now.find(theirs) : now.starts_with(theirs) ? 0 : now.npos;
    if (out.names.size() > 1 || at == now.npos) return;
    for (bool* flag : {&out.transposed, &out.rotary})
      if (canonical.starts_with(flag == &out.rotary ? '%' : '~')) {
        *flag = true;
        canonical.remove_prefix(1);
      }
    out.names.clear();
    while (!canonical.empty()) {
      const auto end = std::min(canonical.find('|'), canonical.size());
      out.names.push_back(now);
      out.names.back().replace(at, theirs.size(), canonical.substr(0, end));
      canonical.remove_prefix(std::min(end + 1, canonical.size()));
    }
  });
  return out;
}

}  // namespace lexformer
#endif
