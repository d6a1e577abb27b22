// SPDX-License-Identifier: MIT
// The attention terms that all models of a family have, from the keys of its config.json.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lexformer/attention/term_config.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/io/architecture.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

/// The terms of FamilyTerms for a model of `layers` layers and `positions` positions. Errors (file): a key has a value that is not
/// supported; `where` names the file.
std::vector<TermConfig> family_terms(const Json& json, const std::string& where, const Architecture& a, std::size_t layers,
                                     std::size_t positions);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <string_view>

#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

namespace detail {

/// DeBERTa-v2: relative positions by the layers' own projections (attention/deberta.hpp).
LEXFORMER_INLINE std::vector<TermConfig> deberta_terms(const Json& json, const std::string& where, std::size_t positions) {
  const auto positive = [&](const char* key) {  // -1: none
    const Json* value = find_value(json, key, false, where);
    const bool none = value != nullptr && value->is_number_integer() && *value < 1;
    return none ? std::size_t{0} : get_size(json, key, 1, 65535, where, 0);
  };
  const std::size_t buckets = positive("position_buckets"), given = positive("max_relative_positions");
  const std::size_t distance = given == 0 ? positions : given;
  const std::string norm = get_string(json, "norm_rel_ebd", where, "none");
  if (norm != "layer_norm" && norm != "none") fail_file(where, "'norm_rel_ebd' is ", in_quotes(norm), ", expected layer_norm or none");
  std::string types;  // with spaces between
  if (const Json* list = find_value(json, "pos_att_type", false, where); list != nullptr && list->is_array())
    for (const Json& type : *list) types += " " + (type.is_string() ? type.get<std::string>() : shown(type));
  else
    types = get_string(json, "pos_att_type", where, "");
  std::replace(types.begin(), types.end(), '|', ' ');
  bool c2p = false, p2c = false;
  each_word(types, [&](std::string_view type) {
    if (type != "c2p" && type != "p2c") fail_file(where, "'pos_att_type' holds ", in_quotes(type), ", expected c2p, p2c or both");
    (type == "c2p" ? c2p : p2c) = true;
  });
  if (!c2p && !p2c) fail_file(where, "'pos_att_type' is missing or empty, expected c2p, p2c or both");
  return {TermConfig("deberta", JsonValue(Json{{"size", buckets == 0 ? distance : buckets},
                                               {"buckets", buckets},
                                               {"max_distance", buckets == 0 ? 0 : distance},
                                               {"shared", true},
                                               {"norm", norm == "layer_norm"},
                                               {"c2p", c2p},
                                               {"p2c", p2c}}))};
}

/// The number `every` so that exactly the layers that it divides are of the kind `whole`, the others of the kind `part`: `usual`, if it is
/// one; 0, if there is none.
LEXFORMER_INLINE std::size_t find_every(const Json& kinds, std::size_t layers, const char* whole, const char* part, std::size_t usual) {
  const auto fits = [&](std::size_t every) {
    for (std::size_t i = 0; i < layers; ++i)
      if (kinds[i] != (i % every == 0 ? whole : part)) return false;
    return true;
  };
  if (!kinds.is_array() || kinds.size() != layers) return 0;
  for (std::size_t every = 0; every <= layers; ++every)
    if (fits(every == 0 ? usual : every)) return every == 0 ? usual : every;
  return 0;
}

/// ModernBERT: rotary positions with two bases, and a window in all layers but each third.
LEXFORMER_INLINE std::vector<TermConfig> modernbert_terms(const Json& json, const std::string& where, std::size_t layers) {
  std::size_t every = get_size(json, "global_attn_every_n_layers", 1, 256, where, 3);
  double global = get_number(json, "global_rope_theta", 1, 1e12, where, 160000);
  double local = get_number(json, "local_rope_theta", 1, 1e12, where, 10000);
  if (const Json* rope = find_value(json, "rope_parameters", false, where)) {  // of transformers 5
    if (!rope->is_object()) fail_file(where, "'rope_parameters' is ", rope->type_name(), ", expected an object");
    for (const auto& [kind, value] : rope->items())
      if ((kind != "full_attention" && kind != "sliding_attention") || !(value.is_object() || value.is_null()))
        fail_file(where + ": rope_parameters", in_quotes(kind), " is ", shown(value),
                  ", which is not supported; expected objects full_attention and sliding_attention");
    const auto theta = [&](const char* kind, double usual) {
      const std::string here = cat(where, ": rope_parameters: ", kind);
      const Json* one = find_value(*rope, kind, false, here);
      if (one == nullptr) return usual;
      const std::string type = get_string(*one, "rope_type", here, "default");
      if (type != "default") fail_file(here, "'rope_type' is ", in_quotes(type), ", which is not supported; expected default");
      return get_number(*one, "rope_theta", 1, 1e12, here, usual);
    };
    global = theta("full_attention", global);
    local = theta("sliding_attention", local);
  }
  if (const Json* kinds = find_value(json, "layer_types", false, where)) {
    every = find_every(*kinds, layers, "full_attention", "sliding_attention", every);
    if (every == 0)
      fail_file(where, "'layer_types' is not full_attention in exactly the layers that one number divides, and sliding_attention in the ",
                "others: other lists are not supported");
  }
  const std::size_t window = get_size(json, "local_attention", 2, 1u << 20, where, 128);
  return {TermConfig("rope_by_layer", JsonValue(Json{{"base", global}, {"local_base", local}, {"every", every}})),
          TermConfig("reach", JsonValue(Json{{"causal", false}, {"distance", window / 2}, {"every", every}}))};
}

/// GPT-Neo: causal, with a window in the layers that attention_types calls local.
LEXFORMER_INLINE std::vector<TermConfig> gpt_neo_terms(const Json& json, const std::string& where, std::size_t layers) {
  const std::size_t window = get_size(json, "window_size", 1, 1u << 20, where, 256);
  Json kinds = Json::array();  // one for each layer
  if (const Json* types = find_value(json, "attention_types", false, where)) {
    for (const Json& group : *types) {
      if (!group.is_array() || group.size() != 2 || !group[0].is_array() || group[0].empty() || !group[1].is_number_unsigned())
        fail_file(where, "'attention_types' holds ", shown(group), ", expected kinds of layers, and how often they are repeated");
      for (std::size_t k = 0; kinds.size() < layers && k < group[1].get<std::size_t>(); ++k)
        kinds.insert(kinds.end(), group[0].begin(), group[0].end());
    }
  } else {
    for (std::size_t i = 0; i < layers; ++i) kinds.push_back(i % 2 == 0 ? "global" : "local");
  }
  const std::size_t found = find_every(kinds, layers, "global", "local", 2);
  if (found == 0)
    fail_file(where, "'attention_types' is ", shown(json.value("attention_types", Json())),
              ", expected global in exactly the layers that one number divides, and local in the others");
  const bool everywhere = found == 1 || layers == 1;
  const std::size_t distance = everywhere ? 0 : window - 1, every = everywhere ? 2 : found;
  if (distance == 0 && !everywhere) fail_file(where, "'window_size' is 1, so that tokens see only themselves, which is not supported");
  return {TermConfig("reach", JsonValue(Json{{"causal", true}, {"distance", distance}, {"every", every}}))};
}

}  // namespace detail

LEXFORMER_INLINE std::vector<TermConfig> family_terms(const Json& json, const std::string& where, const Architecture& a, std::size_t layers,
                                                      std::size_t positions) {
  if (a.terms == FamilyTerms::mpnet) {
    const std::size_t buckets = get_size(json, "relative_attention_num_buckets", 4, 65536, where, 32);
    return {TermConfig("t5", JsonValue(Json{{"buckets", buckets}, {"max_distance", 128u}, {"scaled", true}}))};
  }
  if (a.terms == FamilyTerms::deberta) return detail::deberta_terms(json, where, positions);
  if (a.terms == FamilyTerms::modernbert) return detail::modernbert_terms(json, where, layers);
  if (a.terms == FamilyTerms::gpt_neo) return detail::gpt_neo_terms(json, where, layers);
  if (a.terms == FamilyTerms::gpt2) return {TermConfig("reach", JsonValue(Json{{"causal", true}, {"distance", 0u}, {"every", 0u}}))};
  return {};
}

}  // namespace lexformer
#endif
