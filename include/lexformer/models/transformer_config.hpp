// SPDX-License-Identifier: MIT
// The settings of an encoder: HuggingFace's config.json with its keys and defaults, and lexformer's list of attention terms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lexformer/attention/term_config.hpp"
#include "lexformer/attention/term_registry.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/io/architecture.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/nn/activation.hpp"

namespace lexformer {

struct TransformerConfig {
  std::string model_type = "bert";  // see io/architecture.hpp
  std::size_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12, intermediate_size = 3072;
  std::size_t max_position_embeddings = 512, type_vocab_size = 2;
  std::size_t embedding_size = 768;  // may differ from hidden_size in Electra; a projection then follows the embeddings
  Activation hidden_act = Activation::gelu;
  double hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0.1, layer_norm_eps = 1e-12, initializer_range = 0.02;
  double classifier_dropout = 0.1;            // of HuggingFace's head; default hidden_dropout_prob
  std::optional<bool> position_embeddings{};  // whether a table is added to the embeddings; by default only without a position scheme
  std::vector<TermConfig> attention{};        // attention terms, including the position scheme

  const Architecture& architecture() const { return find_architecture(model_type, "TransformerConfig"); }
  EncoderSizes sizes() const { return {num_hidden_layers, num_attention_heads, hidden_size, max_position_embeddings, layer_norm_eps}; }
};

/// Parses a config.json; `where` names the file in errors. Every number is checked before it is used as a size.
TransformerConfig parse_transformer_config(const Json& json, const std::string& where);

/// Completes the config of a new encoder. Defaults: model type bert, the size of the vocabulary. Errors: `given` is not an object.
JsonValue complete_config(const Json& given, std::size_t vocabulary, const std::string& where);

/// Writes the attention terms of `config` into a config.json in the form that parse_transformer_config() reads. Removes the keys of a head
/// (task, labels, ...), because the saved model may have another head.
void write_config(const TransformerConfig& config, Json& json);
/// Sets "architectures" to a HuggingFace class name.
void write_class_name(const std::string& name, Json& json);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

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

}  // namespace detail

LEXFORMER_INLINE TransformerConfig parse_transformer_config(const Json& json, const std::string& where) {
  TransformerConfig c;
  c.model_type = get_string(json, "model_type", where, "bert");
  const Architecture& a = find_architecture(c.model_type, where);
  c.vocab_size = get_size(json, "vocab_size", 1, 1u << 24, where, 30522);
  c.hidden_size = get_size(json, "hidden_size", 1, 1u << 16, where, a.hidden_size);
  c.num_hidden_layers = get_size(json, "num_hidden_layers", 1, 256, where, 12);
  c.num_attention_heads = get_size(json, "num_attention_heads", 1, 1024, where, a.num_attention_heads);
  c.intermediate_size = get_size(json, "intermediate_size", 1, 1u << 18, where, a.intermediate_size);
  c.max_position_embeddings = get_size(json, "max_position_embeddings", 2, 1u << 20, where, 512);
  c.type_vocab_size = get_size(json, "type_vocab_size", 1, 1024, where, 2);
  c.embedding_size = a.embedding_size == 0 ? c.hidden_size : get_size(json, "embedding_size", 1, 1u << 16, where, a.embedding_size);
  c.hidden_act = get_name<Activation>(json, "hidden_act", where, Activation::gelu);
  c.hidden_dropout_prob = get_number(json, "hidden_dropout_prob", 0, 0.99, where, 0.1);
  c.attention_probs_dropout_prob = get_number(json, "attention_probs_dropout_prob", 0, 0.99, where, 0.1);
  c.classifier_dropout = get_number(json, "classifier_dropout", 0, 0.99, where, c.hidden_dropout_prob);
  c.layer_norm_eps = get_number(json, "layer_norm_eps", 0, 1, where, 1e-12);
  c.initializer_range = get_number(json, "initializer_range", 0, 10, where, 0.02);
  if (c.hidden_size % c.num_attention_heads != 0)
    fail_file(where, "'hidden_size' ", c.hidden_size, " is not divisible by 'num_attention_heads' ", c.num_attention_heads);
  detail::parse_attention(json, where, c);
  return c;
}

LEXFORMER_INLINE JsonValue complete_config(const Json& given, std::size_t vocabulary, const std::string& where) {
  Json config = given;
  if (!config.is_object()) fail_file(where, "expected a JSON object, found ", config.type_name());
  if (!config.contains("model_type")) config["model_type"] = std::string(architectures[0].model_type);
  if (!config.contains("vocab_size")) config["vocab_size"] = vocabulary;
  return JsonValue(std::move(config));
}

LEXFORMER_INLINE void write_class_name(const std::string& name, Json& json) { json["architectures"] = Json::array({name}); }

// HuggingFace's key takes only HuggingFace's names of position schemes.
LEXFORMER_INLINE void write_config(const TransformerConfig& config, Json& json) {
  Json& ours = json["lexformer"];
  if (!ours.is_object()) ours = Json::object();
  // A file with `pooling` and no head is a sentence encoder: it keeps the length of its texts. Without its Dense modules it would be
  // another.
  if (ours.contains("dense"))
    for (const char* key : {"pooling", "normalize"}) ours.erase(key);
  if (!ours.contains("pooling") || ours.contains("head") || ours.contains("tagger")) ours.erase("max_length");
  for (const char* key : {"task", "head", "labels", "label_names", "activation", "texts", "tagger", "dense", "similarity"}) ours.erase(key);
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
  if (!list.empty() || !positions) ours["position_embeddings"] = positions;
  if (!list.empty()) ours["attention"] = std::move(list);
  if (ours.empty()) json.erase("lexformer");
  json.erase("position_options");
  if (scheme != "absolute" || json.contains("position_embedding_type")) json["position_embedding_type"] = scheme;
}

}  // namespace lexformer
#endif
