// SPDX-License-Identifier: MIT
// What makes a cross-encoder out of an encoder: task, head, attention terms. Stored in the model file under "lexformer".
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/lea.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/text/lexical.hpp"

namespace lexformer {

enum class Task { classification, regression };
template <>
inline constexpr auto names_of<Task> = std::to_array<Named<Task>>({{"classification", Task::classification},
                                                                   {"regression", Task::regression}});

/// paper: mean over all tokens, Linear(D, 256), LayerNorm, Dropout, GELU, Linear(256, labels) (LEA, section 4.2);
/// huggingface: the head of BertForSequenceClassification or ElectraForSequenceClassification on the first token.
enum class Head { paper, huggingface };
template <>
inline constexpr auto names_of<Head> = std::to_array<Named<Head>>({{"paper", Head::paper}, {"huggingface", Head::huggingface}});

struct CrossEncoderOptions {
  std::vector<std::string> attention{};  // names of the attention terms: none, or "lea"
  LeaOptions lea{};
  LexicalOptions lexical{};  // its `levels` is taken from `lea`
  Head head = Head::paper;
  Task task = Task::classification;
  std::size_t labels = 2;                  // classes; 1 for regression
  std::size_t max_length = 512;            // tokens of a pair, [CLS] and both [SEP] included
  std::vector<std::string> label_names{};  // in class order, or none
  std::uint64_t seed = 0;                  // of new parameters; not saved

  bool has(const std::string& term) const { return std::find(attention.begin(), attention.end(), term) != attention.end(); }
};

inline Json to_json(const CrossEncoderOptions& o) {
  // Filled key by key, and each an object from the start: where memory ends, nlohmann/json 3.11.2 leaks in a braced list and is left
  // without its object when null becomes one.
  Json json = Json::object();
  json["task"] = name_of(o.task);
  json["head"] = name_of(o.head);
  json["labels"] = o.labels;
  json["label_names"] = o.label_names;
  json["max_length"] = o.max_length;
  json["attention"] = o.attention;
  if (!o.has("lea")) return json;
  Json lea = Json::object();
  lea["similarity"] = name_of(o.lexical.similarity);
  lea["within_sentences"] = o.lexical.self_attention;
  lea["levels"] = o.lea.levels;
  lea["sharing"] = name_of(o.lea.sharing);
  lea["representation"] = name_of(o.lea.representation);
  lea["dimension"] = o.lea.dimension;
  lea["alpha"] = name_of(o.lea.alpha);
  lea["alpha_value"] = o.lea.alpha_value;
  lea["first_layer"] = o.lea.first_layer;
  lea["last_layer"] = o.lea.last_layer;
  json["lea"] = std::move(lea);
  return json;
}

inline CrossEncoderOptions parse_cross_encoder_options(const Json& json, const std::string& where) {
  CrossEncoderOptions o;
  o.task = get_name<Task>(json, "task", where);
  o.head = get_name<Head>(json, "head", where);
  o.labels = get_size(json, "labels", 1, 65536, where);
  o.max_length = get_size(json, "max_length", 5, 1u << 20, where);
  const auto texts = [&](const char* key) {
    std::vector<std::string> list;
    if (!json.contains(key)) return list;
    if (!json[key].is_array()) fail_file(where, "'", key, "' is no array");
    for (const Json& item : json[key]) {
      if (!item.is_string()) fail_file(where, "'", key, "' holds something that is no text");
      list.push_back(item.get<std::string>());
    }
    return list;
  };
  o.label_names = texts("label_names");
  o.attention = texts("attention");
  for (const auto& name : o.attention)
    if (name != "lea") fail_file(where, "the attention term ", in_quotes(name), " is not known; this version has: lea");
  if (o.attention.size() > 1) fail_file(where, "the attention term 'lea' is there twice");
  if (!o.label_names.empty() && o.label_names.size() != o.labels)
    fail_file(where, "'label_names' has ", o.label_names.size(), " names, 'labels' is ", o.labels);
  if (o.has("lea")) {
    const std::string here = where + ": lea";
    const Json* lea = detail::find_value(json, "lea", true, where);
    o.lexical.similarity = get_name<Similarity>(*lea, "similarity", here);
    o.lexical.self_attention = get_bool(*lea, "within_sentences", here);
    o.lea.levels = get_size(*lea, "levels", 0, 65535, here);
    o.lea.sharing = get_name<LeaSharing>(*lea, "sharing", here);
    o.lea.representation = get_name<LeaRepresentation>(*lea, "representation", here);
    o.lea.dimension = get_size(*lea, "dimension", 2, 65536, here);
    o.lea.alpha = get_name<LeaAlpha>(*lea, "alpha", here);
    o.lea.alpha_value = get_number(*lea, "alpha_value", -1e30, 1e30, here);
    o.lea.first_layer = get_size(*lea, "first_layer", 0, 256, here);
    o.lea.last_layer = get_size(*lea, "last_layer", 0, 256, here);
    o.lexical.levels = static_cast<unsigned>(o.lea.levels);
  }
  return o;
}

}  // namespace lexformer
