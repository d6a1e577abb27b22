// SPDX-License-Identifier: MIT
// What turns an encoder into a cross-encoder: task, head, attention terms. Stored in the model file under "lexformer".
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/term_config.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/kernels/scalar.hpp"

namespace lexformer {

enum class Task { classification, regression };
template <>
inline constexpr Named<Task> names_of<Task>[] = {{"classification", Task::classification}, {"regression", Task::regression}};

/// The classification heads.
///   paper: mean over all tokens, Linear(D, 256), LayerNorm, Dropout, GELU, Linear(256, labels) (LEA, section 4.2)
///   huggingface: the head of BertForSequenceClassification or ElectraForSequenceClassification, on the first token
enum class Head { paper, huggingface };
template <>
inline constexpr Named<Head> names_of<Head>[] = {{"paper", Head::paper}, {"huggingface", Head::huggingface}};

/// The function from logit to value in a regression; sentence-transformers' cross-encoders with one label use the sigmoid.
enum class ScoreActivation { identity, sigmoid };
template <>
inline constexpr Named<ScoreActivation> names_of<ScoreActivation>[] = {{"identity", ScoreActivation::identity},
                                                                       {"sigmoid", ScoreActivation::sigmoid}};

struct CrossEncoderOptions {
  std::vector<TermConfig> attention{};  // attention terms: {"lea"}, {{"lea", LeaOptions{.levels = 50}}}, {"lea", "mine"}
  Head head = Head::paper;
  Task task = Task::classification;
  std::size_t labels = 2;                  // classes; 1 for regression
  std::size_t max_length = 512;            // tokens of an example, including [CLS] and each [SEP]
  std::vector<std::string> label_names{};  // in class order, or empty
  ScoreActivation activation = ScoreActivation::identity;
  std::uint64_t seed = 0;  // of new parameters; not saved
  std::size_t texts = 2;   // of an example: 2, a pair, or 1

  bool has(const std::string& term) const {
    return std::any_of(attention.begin(), attention.end(), [&](const auto& t) { return t.name == term; });
  }
  /// Whether a decision threshold is chosen on validation data: for pairs of two classes.
  bool has_threshold() const { return task == Task::classification && labels == 2 && texts == 2; }
};

/// The least max_length that leaves room for a token of each text: [CLS], and each text with its [SEP].
constexpr std::size_t min_length(std::size_t texts) { return 1 + 2 * texts; }

/// The options as stored in a file, without the attention terms, which the encoder stores.
Json to_json(const CrossEncoderOptions& o);
CrossEncoderOptions parse_cross_encoder_options(const Json& json, const std::string& where);

namespace detail {
/// Reads `label_names`, which may be missing. Errors (file): it is no list of strings, or not one for each label.
std::vector<std::string> get_label_names(const Json& json, std::size_t labels, const std::string& where);
std::vector<std::string> class_names(const Json& config, std::size_t labels, const std::string& where);
}  // namespace detail

/// Reads the options of a model file, or of a HuggingFace model with a classification head. Errors: there is no head.
CrossEncoderOptions stored_options(const ModelFile& file);
void write_options(const CrossEncoderOptions& options, ModelFile& file);

/// One number per example for ranking and thresholds, from logits (examples, labels): the probability of class 1 of two classes, the index
/// of the most probable class of more, the value of a regression (one label).
template <class A>
std::vector<double> scores_of_logits(const Tensor<A>& logits, ScoreActivation activation) {
  const std::size_t classes = logits.dim(1);
  std::vector<double> scores;
  for (std::size_t i = 0; i < logits.dim(0); ++i) {
    const A* row = logits.data() + i * classes;
    const auto first = static_cast<double>(row[0]);
    if (classes == 1)
      scores.push_back(activation == ScoreActivation::sigmoid ? scalar::sigmoid(first) : first);
    else if (classes == 2)
      scores.push_back(scalar::sigmoid(static_cast<double>(row[1]) - first));
    else
      scores.push_back(static_cast<double>(std::max_element(row, row + classes) - row));
  }
  return scores;
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <set>

#include "lexformer/io/architecture.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE Json to_json(const CrossEncoderOptions& o) {
  // Filled key by key, starting from an object: when memory runs out, nlohmann/json 3.11.2 leaks in a braced list, and turning null into
  // an object leaves the value without its object.
  Json json = Json::object();
  json["task"] = name_of(o.task);
  json["head"] = name_of(o.head);
  json["labels"] = o.labels;
  json["label_names"] = o.label_names;
  json["max_length"] = o.max_length;
  if (o.task == Task::regression) json["activation"] = name_of(o.activation);
  if (o.texts != 2) json["texts"] = o.texts;
  return json;
}

LEXFORMER_INLINE std::vector<std::string> detail::get_label_names(const Json& json, std::size_t labels, const std::string& where) {
  std::vector<std::string> all;
  if (const Json* names = find_value(json, "label_names", false, where)) {
    if (!names->is_array()) fail_file(where, "'label_names' must be an array");
    for (const Json& item : *names) {
      if (!item.is_string()) fail_file(where, "'label_names' must be an array of strings");
      all.push_back(item.get<std::string>());
    }
  }
  if (!all.empty() && all.size() != labels) fail_file(where, "'label_names' has ", all.size(), " names, 'labels' is ", labels);
  return all;
}

/// The class names of a HuggingFace config, in order; empty if they are the usual LABEL_0, LABEL_1, ...
LEXFORMER_INLINE std::vector<std::string> detail::class_names(const Json& config, std::size_t labels, const std::string& where) {
  const Json* names = find_value(config, "id2label", false, where);
  if (names == nullptr) return {};
  bool usual = true;
  for (const auto& [id, name] : names->items()) usual = usual && name == "LABEL_" + id;
  if (usual) return {};
  std::vector<std::string> all;
  for (std::size_t c = 0; c < labels; ++c) all.push_back(get_string(*names, std::to_string(c), where + ": id2label"));
  const std::set<std::string> different(all.begin(), all.end());
  if (names->size() != labels || different.size() != labels)
    fail_file(where, "'id2label' does not name the ", labels, " classes of the head, each with a name of its own");
  return all;
}

LEXFORMER_INLINE CrossEncoderOptions parse_cross_encoder_options(const Json& json, const std::string& where) {
  CrossEncoderOptions o;
  o.task = get_name<Task>(json, "task", where);
  o.head = get_name<Head>(json, "head", where);
  o.labels = get_size(json, "labels", 1, 65536, where);
  o.texts = get_size(json, "texts", 1, 2, where, o.texts);
  o.max_length = get_size(json, "max_length", min_length(o.texts), 1u << 20, where);
  o.activation = get_name<ScoreActivation>(json, "activation", where, ScoreActivation::identity);
  o.label_names = detail::get_label_names(json, o.labels, where);
  if (o.task == Task::regression && o.labels != 1) fail_file(where, "a regression has 1 label, 'labels' is ", o.labels);
  if (o.task == Task::classification && o.labels < 2) fail_file(where, "a classification has 2 labels or more, 'labels' is ", o.labels);
  return o;
}

LEXFORMER_INLINE CrossEncoderOptions stored_options(const ModelFile& file) {
  const Json ours = file.config->value("lexformer", Json::object());
  if (ours.is_object() && ours.contains("head")) return parse_cross_encoder_options(ours, file.path + ": config");
  CrossEncoderOptions o;  // HuggingFace model: the head gives the number of labels
  const Architecture& architecture = find_architecture(file.model_type(), file.path + ": config");
  const std::string weight = std::string(architecture.head_out) + ".weight";
  if (!file.tensors.contains(weight))
    fail_file(file.path, "the model has no classification head ('", weight, "'); train one with train_matcher or train_text");
  if (get_string(file.config, "problem_type", file.path, "") == "multi_label_classification")
    fail_file(file.path, "'problem_type' is 'multi_label_classification'; a cross-encoder has one label for each example");
  o.head = Head::huggingface;
  o.labels = file.tensors.shape(weight).rank() == 2 ? file.tensors.shape(weight)[0] : 0;
  if (o.labels == 0) fail_file(file.path, "'", weight, "' is ", file.tensors.shape(weight), ", expected (labels, hidden_size)");
  o.task = o.labels == 1 ? Task::regression : Task::classification;
  const auto names = detail::class_names(file.config, o.labels, file.path + ": config");
  if (o.labels > 1) o.label_names = names;
  // sentence-transformers' rule for a model with one label, unless its config overrides it; none if problem_type is "regression".
  const bool regression = get_string(file.config, "problem_type", file.path, "") == "regression";
  if (o.labels == 1 && !regression) o.activation = ScoreActivation::sigmoid;
  if (ours.is_object()) o.max_length = get_size(ours, "max_length", min_length(2), 1u << 20, file.path, o.max_length);
  if (o.labels == 1 && ours.is_object()) o.activation = get_name<ScoreActivation>(ours, "activation", file.path, o.activation);
  return o;
}

LEXFORMER_INLINE void write_options(const CrossEncoderOptions& options, ModelFile& file) {
  Json& ours = file.config["lexformer"];
  if (!ours.is_object()) ours = Json::object();
  ours.update(to_json(options));
}

}  // namespace lexformer
#endif
