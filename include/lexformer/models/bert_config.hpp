// SPDX-License-Identifier: MIT
// The settings of a BERT or Electra encoder: HuggingFace's config.json, its keys and its defaults.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/positions.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/nn/activation.hpp"

namespace lexformer {

struct BertConfig {
  std::string model_type = "bert";  // "bert" or "electra": also the prefix of the tensor names
  std::size_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12, intermediate_size = 3072;
  std::size_t max_position_embeddings = 512, type_vocab_size = 2;
  std::size_t embedding_size = 768;  // Electra's may differ from hidden_size; then a projection follows the embeddings
  Activation hidden_act = Activation::gelu;
  double hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0.1, layer_norm_eps = 1e-12, initializer_range = 0.02;
  double classifier_dropout = 0.1;  // of HuggingFace's head; hidden_dropout_prob unless the config says otherwise
  PositionOptions positions{};

  PositionSizes position_sizes() const {
    return {num_hidden_layers, num_attention_heads, hidden_size, max_position_embeddings, layer_norm_eps};
  }
};

/// "position_embedding_type" (HuggingFace's key: absolute, relative_key, relative_key_query; ours are the other names) and
/// "position_options", an object of ours with the fields of PositionOptions. What a scheme does not have is refused.
inline PositionOptions parse_position_options(const Json& json, const std::string& where, std::size_t max_length) {
  using enum PositionScheme;
  PositionOptions o;
  o.scheme = get_name<PositionScheme>(json, "position_embedding_type", where, absolute);
  o.absolute = o.scheme == absolute;
  const auto is = [&](auto... schemes) { return ((o.scheme == schemes) || ...); };
  const Json* given = detail::find_value(json, "position_options", false, where);
  const Json none = Json::object();
  const Json& options = given != nullptr ? *given : none;
  const std::string here = where + ": position_options";
  const std::vector<std::pair<std::string, bool>> known = {{"absolute", !is(absolute)},
                                                           {"size", is(shaw, bert_r, ddrp, deberta)},
                                                           {"per_layer", is(bert_r, ddrp)},
                                                           {"random_direction", is(ddrp)},
                                                           {"buckets", is(t5, tupe, deberta)},
                                                           {"max_distance", is(t5, tupe, deberta)},
                                                           {"scaled", is(t5)},
                                                           {"base", is(rope)}};
  if (!options.is_object()) fail_file(here, "expected a JSON object, found ", options.type_name());
  for (const auto& item : options.items()) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == item.key(); });
    if (found == known.end() || !found->second)
      fail_file(here, in_quotes(item.key()), " is no option of the position scheme ", in_quotes(name_of(o.scheme)));
  }
  o.absolute = get_bool(options, "absolute", here, o.absolute);
  const bool logarithmic = is(t5, tupe);
  o.buckets = get_size(options, "buckets", 0, 65536, here, logarithmic ? 32 : 0);
  o.size = get_size(options, "size", 1, 65536, here, is(deberta) && o.buckets != 0 ? o.buckets : 64);
  o.per_layer = get_bool(options, "per_layer", here, false);
  o.random_direction = get_bool(options, "random_direction", here, false);
  o.max_distance = get_size(options, "max_distance", 2, 1u << 20, here, logarithmic ? 128 : std::max<std::size_t>(max_length, 2));
  if (options.contains("max_distance") && o.buckets == 0)
    fail_file(here, "'max_distance' is that of the last bucket, but there are no buckets; name 'buckets', too");
  o.scaled = get_bool(options, "scaled", here, false);
  o.rope_base = get_number(options, "base", 1, 1e12, here, 10000);
  if ((is(t5) || (is(tupe) && o.buckets != 0)) && (o.buckets < 4 || o.buckets % 2 != 0 || o.max_distance <= o.buckets / 4))
    fail_file(here, "'buckets' ", o.buckets, " and 'max_distance' ", o.max_distance,
              "; there must be an even number of at least 4 buckets, and 'max_distance' above a quarter of it");
  if (is(deberta) && o.buckets != 0 && (o.buckets < 4 || o.max_distance < o.buckets / 2 + 2))
    fail_file(here, "'buckets' ", o.buckets, " and 'max_distance' ", o.max_distance,
              "; there must be at least 4 buckets, and 'max_distance' above half of it + 1");
  return o;
}

/// Reads config.json; `where` names the file in errors. Every number is checked before it sizes anything.
inline BertConfig parse_bert_config(const Json& json, const std::string& where) {
  BertConfig c;
  c.model_type = get_string(json, "model_type", where, "bert");
  if (c.model_type != "bert" && c.model_type != "electra")
    fail_file(where, "'model_type' is ", in_quotes(c.model_type), "; bert and electra are supported");
  const bool electra = c.model_type == "electra";
  c.vocab_size = get_size(json, "vocab_size", 1, 1u << 24, where, 30522);
  c.hidden_size = get_size(json, "hidden_size", 1, 1u << 16, where, electra ? 256 : 768);
  c.num_hidden_layers = get_size(json, "num_hidden_layers", 1, 256, where, 12);
  c.num_attention_heads = get_size(json, "num_attention_heads", 1, 1024, where, electra ? 4 : 12);
  c.intermediate_size = get_size(json, "intermediate_size", 1, 1u << 18, where, electra ? 1024 : 3072);
  c.max_position_embeddings = get_size(json, "max_position_embeddings", 1, 1u << 20, where, 512);
  c.type_vocab_size = get_size(json, "type_vocab_size", 1, 1024, where, 2);
  c.embedding_size = electra ? get_size(json, "embedding_size", 1, 1u << 16, where, 128) : c.hidden_size;
  c.hidden_act = get_name<Activation>(json, "hidden_act", where, Activation::gelu);
  c.hidden_dropout_prob = get_number(json, "hidden_dropout_prob", 0, 0.99, where, 0.1);
  c.attention_probs_dropout_prob = get_number(json, "attention_probs_dropout_prob", 0, 0.99, where, 0.1);
  c.classifier_dropout = get_number(json, "classifier_dropout", 0, 0.99, where, c.hidden_dropout_prob);
  c.layer_norm_eps = get_number(json, "layer_norm_eps", 0, 1, where, 1e-12);
  c.initializer_range = get_number(json, "initializer_range", 0, 10, where, 0.02);
  if (c.hidden_size % c.num_attention_heads != 0)
    fail_file(where, "'hidden_size' ", c.hidden_size, " is not divisible by 'num_attention_heads' ", c.num_attention_heads);
  c.positions = parse_position_options(json, where, c.max_position_embeddings);
  if (c.positions.scheme == PositionScheme::rope && c.hidden_size / c.num_attention_heads % 2 != 0)
    fail_file(where, "rope turns pairs of features, but a head has ", c.hidden_size / c.num_attention_heads);
  return c;
}

}  // namespace lexformer
