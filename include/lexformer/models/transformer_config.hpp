// SPDX-License-Identifier: MIT
// The settings of an encoder: HuggingFace's config.json with its keys and defaults, and lexformer's list of attention terms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lexformer/attention/term_config.hpp"
#include "lexformer/attention/term_registry.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/io/architecture.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/nn/activation.hpp"
#include "lexformer/nn/pooling.hpp"

namespace lexformer {

struct TransformerConfig {
  std::string model_type = "bert";  // see io/architecture.hpp
  std::size_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12, intermediate_size = 3072;
  std::size_t max_position_embeddings = 512, type_vocab_size = 2;  // rows of tables; 0: there is none of token types
  std::size_t position_offset = 0;                                 // the row of the first token
  std::optional<std::int32_t> padding_id{};                        // this token has the row before it and is not counted
  std::optional<std::int32_t> pad_token_id{};                      // the last token that a head reads is not this one
  std::size_t embedding_size = 768;  // may differ from hidden_size in Electra; a projection then follows the embeddings
  Activation hidden_act = Activation::gelu;
  double hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0.1, layer_norm_eps = 1e-12, initializer_range = 0.02;
  double layer_dropout = 0.1;       // before the residual sums; hidden_dropout_prob: of the embeddings
  double classifier_dropout = 0.1;  // of HuggingFace's head; default hidden_dropout_prob
  double head_dropout = 0.1;        // before the dense layer of this head, where it has dropout; default classifier_dropout
  double tagger_dropout = 0.1;      // of HuggingFace's head for tokens
  bool qkv_bias = true, attention_bias = true, mlp_bias = true, norm_bias = true, head_bias = true;  // head_bias: of the head's dense layer
  bool decoder_bias = true;                   // of the output of a masked language model
  bool scale_by_layer = false;                // q . k of layer i, from 0, is also divided by i + 1
  Activation head_act = Activation::gelu;     // of HuggingFace's classification head
  Pooling head_pooling = Pooling::cls;        // of it; none: the last token that is not padding
  std::optional<bool> position_embeddings{};  // whether a table is added to the embeddings; by default only without a position scheme
  std::vector<TermConfig> attention{};        // attention terms, including the position scheme

  const Architecture& architecture() const { return find_architecture(model_type, "TransformerConfig"); }
  /// How many positions there are.
  std::size_t positions() const { return max_position_embeddings - position_offset; }
  /// The most tokens of a sequence: the positions, unless the family needs none.
  std::size_t max_tokens() const {
    return architecture().any_length && !position_embeddings.value_or(true) ? std::size_t{1} << 20 : positions();
  }
  EncoderSizes sizes() const {
    return {num_hidden_layers, num_attention_heads, hidden_size, positions(), layer_norm_eps, hidden_dropout_prob};
  }
  /// Whether some pairs of tokens are hidden: their scores are -inf.
  bool hides_pairs() const {
    return std::any_of(attention.begin(), attention.end(), [](const TermConfig& t) { return t.name == "reach"; });
  }
  /// Whether a token sees only the tokens before it, as in GPT-2.
  bool causal() const;
  /// Lets tokens also see those after them. Errors (usage): they do already.
  void make_bidirectional();
};

/// Parses a config.json; `where` names the file in errors. Every number is checked before it is used as a size.
TransformerConfig parse_transformer_config(const Json& json, const std::string& where);

/// The id of the token that ends a text, `eos_token_id` of a config; nothing if it has none.
std::optional<std::int32_t> end_token_id(const Json& config, const std::string& where);

/// The keys of a config that lexformer does not honour, as refused_keys(), with the names of the family.
std::vector<std::string> refused_config_keys(const Json& config, const Architecture& architecture);

/// Completes the config of a new encoder. Defaults: model type bert, the size of the vocabulary, and where positions depend on it the
/// padding token of the tokenizer. Errors: `given` is not an object.
JsonValue complete_config(const Json& given, std::size_t vocabulary, std::optional<std::int32_t> padding, const std::string& where);

/// Writes the attention terms of `config` into a config.json in the form that parse_transformer_config() reads. Removes the keys of a head
/// (task, labels, ...), because the saved model may have another head.
void write_config(const TransformerConfig& config, Json& json);
/// Sets "architectures" to a HuggingFace class name.
void write_class_name(const std::string& name, Json& json);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/folder_keys.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/models/family_terms.hpp"

namespace lexformer {

namespace detail {

/// Reads the attention terms of a config, and whether it has position embeddings, from
///   "lexformer": {"attention": [{"name": "ddrp", "options": {...}}, ...], "position_embeddings": true}
/// or from the form of version 0.1.0: "attention": ["lea"] with the object "lea" beside it, "position_embedding_type" and
/// "position_options". The key "position_embedding_type" is HuggingFace's for absolute, relative_key and relative_key_query. A list entry
/// may also be just a name.
LEXFORMER_INLINE void parse_attention(const Json& json, const std::string& where, TransformerConfig& config) {
  const Json empty = Json::object();
  const Json* ours = find_value(json, "lexformer", false, where);
  if (ours == nullptr) ours = &empty;
  if (!ours->is_object()) fail_file(where, "'lexformer' is ", ours->type_name(), ", expected an object");

  const std::string scheme = get_string(json, "position_embedding_type", where, "absolute");
  Json options = empty;
  if (const Json* given = find_value(json, "position_options", false, where)) options = *given;
  const std::string here = where + ": position_options";
  if (!options.is_object()) fail_file(here, "expected a JSON object, found ", options.type_name());
  if (scheme == "absolute") {
    if (!options.empty()) fail_file(here, in_quotes(options.begin().key()), " is not an option of absolute positions");
  } else {
    config.position_embeddings = get_bool(options, "absolute", here, false);
    options.erase("absolute");
    config.attention.emplace_back(scheme, JsonValue(options));
  }
  if (find_value(*ours, "position_embeddings", false, where) != nullptr)
    config.position_embeddings = get_bool(*ours, "position_embeddings", where + ": lexformer");

  const Json* list = find_value(*ours, "attention", false, where);
  if (list == nullptr) return;
  if (!list->is_array()) fail_file(where, "'attention' must be an array, found ", list->type_name());
  for (const Json& item : *list) {
    const std::string name = item.is_string() ? item.get<std::string>() : get_string(item, "name", where + ": attention");
    const Json* its = item.is_string() ? find_value(*ours, name, false, where) : find_value(item, "options", false, where);
    if (name == scheme) std::erase_if(config.attention, [&](const auto& t) { return t.name == scheme; });  // both keys name it
    config.attention.emplace_back(name, JsonValue(its != nullptr ? *its : empty));
  }
}

/// Reads which row of the table of positions the first token has.
LEXFORMER_INLINE void parse_positions(const Json& json, const std::string& where, const Architecture& a, TransformerConfig& config) {
  if (a.positions == PositionRule::after_one) config.padding_id = 1;
  if (a.positions == PositionRule::after_padding)
    config.padding_id = static_cast<std::int32_t>(get_size(json, "pad_token_id", 0, config.vocab_size - 1, where, 1));
  if (config.padding_id) config.position_offset = static_cast<std::size_t>(*config.padding_id) + 1;
  if (config.max_position_embeddings < config.position_offset + 2)
    fail_file(where, "'max_position_embeddings' is ", config.max_position_embeddings, ", of which ", config.position_offset,
              " rows are not used; at least 2 more are needed");
}

/// DeBERTa-v2: what has to be as in the supported models, and the head; the dropout of a tagger has another key.
LEXFORMER_INLINE void parse_deberta(const Json& json, const std::string& where, TransformerConfig& config) {
  for (const char* key : {"relative_attention", "share_att_key"})
    if (!get_bool(json, key, where, false)) fail_file(where, "'", key, "' is not true, which is not supported");
  if (find_value(json, "conv_kernel_size", false, where) != nullptr && get_size(json, "conv_kernel_size", 0, 1u << 16, where) != 0)
    fail_file(where, "'conv_kernel_size' is not 0: a convolution beside the first layer is not supported");
  if (const auto width = get_size(json, "pooler_hidden_size", 1, 1u << 16, where, config.hidden_size); width != config.hidden_size)
    fail_file(where, "'pooler_hidden_size' is ", width, ", expected 'hidden_size' ", config.hidden_size);
  if (const auto width = get_size(json, "attention_head_size", 0, 1u << 16, where, 0);
      width != 0 && width * config.num_attention_heads != config.hidden_size)
    fail_file(where, "'attention_head_size' ", width, " times 'num_attention_heads' ", config.num_attention_heads, " is not 'hidden_size' ",
              config.hidden_size);
  config.head_act = get_name<Activation>(json, "pooler_hidden_act", where, config.head_act);
  config.head_dropout = get_number(json, "pooler_dropout", 0, 0.99, where, 0);
  config.tagger_dropout = config.hidden_dropout_prob;
}

/// Reads what a row leaves to the config: biases, the scale of scores and the head.
LEXFORMER_INLINE void parse_structure(const Json& json, const std::string& where, const Architecture& a, TransformerConfig& config) {
  config.qkv_bias = a.qkv_bias;
  if (a.bias_keys) {
    config.qkv_bias = config.attention_bias = get_bool(json, "attention_bias", where, false);
    config.mlp_bias = get_bool(json, "mlp_bias", where, false);
    config.norm_bias = get_bool(json, "norm_bias", where, false);
    config.head_bias = get_bool(json, "classifier_bias", where, false);
    config.decoder_bias = get_bool(json, "decoder_bias", where, true);
  }
  config.head_act = parse_name<Activation>(a.head_act, where);
  if (a.head_pooling == HeadPooling::last) {
    config.head_pooling = Pooling::none;
    if (find_value(json, "pad_token_id", false, where) != nullptr)
      config.pad_token_id = static_cast<std::int32_t>(get_size(json, "pad_token_id", 0, config.vocab_size - 1, where));
  }
  if (a.head_pooling == HeadPooling::chosen) {
    const std::string pooling = get_string(json, "classifier_pooling", where, "cls");
    if (pooling != "cls" && pooling != "mean") fail_file(where, "'classifier_pooling' is ", in_quotes(pooling), ", expected cls or mean");
    config.head_pooling = pooling == "cls" ? Pooling::cls : Pooling::mean;
    config.head_act = get_name<Activation>(json, "classifier_activation", where, config.head_act);
  }
  if (get_number(json, "mlp_dropout", 0, 1, where, 0) != 0) fail_file(where, "'mlp_dropout' is not 0, which is not supported");
  if (a.terms == FamilyTerms::deberta) parse_deberta(json, where, config);
  if (a.terms == FamilyTerms::gpt2) {
    config.scale_by_layer = get_bool(json, "scale_attn_by_inverse_layer_idx", where, false);
    if (!get_bool(json, "scale_attn_weights", where, true)) fail_file(where, "'scale_attn_weights' is false, which is not supported");
    if (get_bool(json, "reorder_and_upcast_attn", where, false))
      fail_file(where, "'reorder_and_upcast_attn' is true, which is not supported");
  }
}

/// Adds the terms of the family, unless the config has a list of attention terms, which then has all.
LEXFORMER_INLINE void add_family_terms(const Json& json, const std::string& where, const Architecture& a, TransformerConfig& config) {
  if (a.terms == FamilyTerms::none) return;
  const Json* ours = find_value(json, "lexformer", false, where);
  if (ours != nullptr && find_value(*ours, "attention", false, where) != nullptr) return;
  auto terms = family_terms(json, where, a, config.num_hidden_layers, config.max_position_embeddings);
  config.attention.insert(config.attention.begin(), terms.begin(), terms.end());
  if (config.position_embeddings) return;
  if (a.terms == FamilyTerms::mpnet) config.position_embeddings = true;  // besides its scheme
  if (a.terms == FamilyTerms::deberta) config.position_embeddings = get_bool(json, "position_biased_input", where, true);
}

}  // namespace detail

LEXFORMER_INLINE std::optional<std::int32_t> end_token_id(const Json& config, const std::string& where) {
  if (detail::find_value(config, "eos_token_id", false, where) == nullptr) return std::nullopt;
  return static_cast<std::int32_t>(get_size(config, "eos_token_id", 0, (1u << 24) - 1, where));
}

LEXFORMER_INLINE bool TransformerConfig::causal() const {
  return std::any_of(attention.begin(), attention.end(),
                     [](const TermConfig& t) { return t.name == "reach" && get_bool(t.json(), "causal", t.name, false); });
}

LEXFORMER_INLINE void TransformerConfig::make_bidirectional() {
  if (!causal()) fail_usage("bidirectional", "the tokens of this model see all others already; it is for decoders, as GPT-2");
  for (TermConfig& term : attention) {
    if (term.name != "reach") continue;
    Json options = term.json();
    options["causal"] = false;
    term = TermConfig(term.name, JsonValue(std::move(options)));
  }
}

LEXFORMER_INLINE std::vector<std::string> refused_config_keys(const Json& config, const Architecture& a) {
  std::string theirs(a.free_keys), renamed;
  detail::each_translation(a.keys, [&](std::string_view canonical, std::string_view key) {
    theirs += cat(" ", key);
    renamed += cat(" ", canonical);
  });
  std::vector<std::string> refused;
  for (const auto& [key, value] : config.items())
    if (is_listed(renamed, key) && !is_listed(theirs, key)) refused.push_back(key);
  for (std::string& key : refused_keys(config, "config.json"))
    if (!is_listed(theirs, key)) refused.push_back(std::move(key));
  return refused;
}

LEXFORMER_INLINE TransformerConfig parse_transformer_config(const Json& json, const std::string& where) {
  TransformerConfig c;
  c.model_type = get_string(json, "model_type", where, "bert");
  const Architecture& a = find_architecture(c.model_type, where);
  const auto size = [&](const char* name, std::size_t least, std::size_t most, std::size_t usual) {
    const std::string key = config_key(a, name);
    if (key.empty()) return usual;
    if (usual == 0) return get_size(json, key, least, most, where);  // HuggingFace's default fits no model
    return get_size(json, key, least, most, where, usual);
  };
  const auto number = [&](const char* name, double most, double usual) {
    const std::string key = config_key(a, name);
    return key.empty() ? usual : get_number(json, key, 0, most, where, usual);
  };
  c.vocab_size = size("vocab_size", 1, 1u << 24, a.vocab_size);
  c.hidden_size = size("hidden_size", 1, 1u << 16, a.hidden_size);
  c.num_hidden_layers = size("num_hidden_layers", 1, 256, a.num_hidden_layers);
  c.num_attention_heads = size("num_attention_heads", 1, 1024, a.num_attention_heads);
  c.intermediate_size = size("intermediate_size", 1, 1u << 18, a.intermediate_size == 0 ? 4 * c.hidden_size : a.intermediate_size);
  c.max_position_embeddings = size("max_position_embeddings", 2, 1u << 20, a.max_position_embeddings);
  if (!a.token_types)
    c.type_vocab_size = 0;
  else
    c.type_vocab_size = get_size(json, "type_vocab_size", std::min<std::size_t>(a.type_vocab_size, 1), 1024, where, a.type_vocab_size);
  c.embedding_size = a.early_projection      ? size("embedding_size", 1, 1u << 16, c.hidden_size)
                     : a.embedding_size == 0 ? c.hidden_size
                                             : size("embedding_size", 1, 1u << 16, a.embedding_size);
  c.hidden_act = get_name<Activation>(json, config_key(a, "hidden_act"), where, parse_name<Activation>(a.hidden_act, where));
  c.hidden_dropout_prob = number("hidden_dropout_prob", 0.99, a.hidden_dropout_prob);
  c.attention_probs_dropout_prob = number("attention_probs_dropout_prob", 0.99, a.attention_probs_dropout_prob);
  const std::string layer_key = config_key(a, "layer_dropout");  // BERT's families have one key for all
  c.layer_dropout = number("layer_dropout", 0.99,
                           layer_key == "layer_dropout" ? c.hidden_dropout_prob
                           : layer_key.empty()          ? 0
                                                        : a.hidden_dropout_prob);
  c.classifier_dropout = number("classifier_dropout", 0.99, a.classifier_dropout < 0 ? c.hidden_dropout_prob : a.classifier_dropout);
  c.head_dropout = c.classifier_dropout;
  c.tagger_dropout = a.classifier_dropout < 0 ? c.classifier_dropout : c.hidden_dropout_prob;
  c.layer_norm_eps = number("layer_norm_eps", 1, a.layer_norm_eps);
  c.initializer_range = number("initializer_range", 10, 0.02);
  detail::parse_structure(json, where, a, c);
  detail::parse_positions(json, where, a, c);
  if (c.hidden_size % c.num_attention_heads != 0)
    fail_file(where, "'hidden_size' ", c.hidden_size, " is not divisible by 'num_attention_heads' ", c.num_attention_heads);
  detail::parse_attention(json, where, c);
  detail::add_family_terms(json, where, a, c);
  return c;
}

LEXFORMER_INLINE JsonValue complete_config(const Json& given, std::size_t vocabulary, std::optional<std::int32_t> padding,
                                           const std::string& where) {
  Json config = given;
  if (!config.is_object()) fail_file(where, "expected a JSON object, found ", config.type_name());
  if (!config.contains("model_type")) config["model_type"] = std::string(architectures()[0].model_type);
  if (!config.contains("vocab_size")) config["vocab_size"] = vocabulary;
  const Architecture& a = find_architecture(get_string(config, "model_type", where), where);
  if (padding && a.positions == PositionRule::after_padding && !config.contains("pad_token_id"))
    config["pad_token_id"] = static_cast<std::uint32_t>(*padding);
  return JsonValue(std::move(config));
}

LEXFORMER_INLINE void write_class_name(const std::string& name, Json& json) { json["architectures"] = Json::array({name}); }

// HuggingFace's key takes only HuggingFace's names of position schemes, and not all families have it.
LEXFORMER_INLINE void write_config(const TransformerConfig& config, Json& json) {
  Json& ours = json["lexformer"];
  if (!ours.is_object()) ours = Json::object();
  // A file with `pooling` and no head is a sentence encoder: it keeps the length of its texts. Without its Dense modules it would be
  // another.
  if (ours.contains("dense"))
    for (const char* key : {"pooling", "normalize"}) ours.erase(key);
  if (!ours.contains("pooling") || ours.contains("head") || ours.contains("tagger")) ours.erase("max_length");
  for (const char* key :
       {"task", "head", "modules", "labels", "label_names", "activation", "texts", "orders", "tagger", "dense", "similarity"})
    ours.erase(key);
  std::string scheme = "absolute";
  Json list = Json::array();
  for (const auto& term : config.attention) {
    ours.erase(term.name);  // version 0.1.0 stored the options here
    Json entry = Json::object();
    entry["name"] = term.name;
    entry["options"] = term.json();
    list.push_back(std::move(entry));
    if (term.name.starts_with("relative_key")) scheme = term.name;
  }
  ours.erase("attention");
  ours.erase("position_embeddings");
  const bool positions = config.position_embeddings.value_or(true);
  const bool all = config.architecture().terms != FamilyTerms::none;  // without a list the family's terms would come back
  if (!list.empty() || !positions || all) ours["position_embeddings"] = positions;
  if (!list.empty() || all) ours["attention"] = std::move(list);
  if (ours.empty()) json.erase("lexformer");
  json.erase("position_options");
  const bool has_key = !config_key(config.architecture(), "position_embedding_type").empty();
  if ((scheme != "absolute" && has_key) || json.contains("position_embedding_type")) json["position_embedding_type"] = scheme;
}

}  // namespace lexformer
#endif
