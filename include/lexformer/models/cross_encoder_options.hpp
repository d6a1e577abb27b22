// SPDX-License-Identifier: MIT
// Options of a cross-encoder: task, head, attention terms. Stored in the model file under "lexformer".
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/term_config.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/models/task.hpp"
#include "lexformer/nn/activation.hpp"
#include "lexformer/nn/pooling.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer {

/// The classification heads.
///   paper: mean over all tokens, Linear(D, 256), LayerNorm, Dropout, GELU, Linear(256, labels) (LEA, section 4.2)
///   huggingface: the head of the family's ...ForSequenceClassification
///   modules: the modules behind the encoder of a CrossEncoder of sentence-transformers (HeadModules)
/// Of a decoder paper and huggingface read the last token (LEA, section 4.6.1), and the mean if it was made bidirectional.
enum class Head { paper, huggingface, modules };
template <>
inline constexpr Named<Head> names_of<Head>[] = {{"paper", Head::paper}, {"huggingface", Head::huggingface}, {"modules", Head::modules}};

/// out(norm(act(dense(pool(tokens))))), with layers of the width D before `out`, and PyTorch's epsilon 1e-5. By default as in Ettin's
/// rerankers.
struct HeadModules {
  Pooling pooling = Pooling::cls;
  std::optional<Activation> dense = Activation::gelu;  // nothing: no layer before `out`
  bool norm = true;                                    // needs `dense`
};

/// Whether a pair is read once, or in both orders, whose logits are averaged.
enum class PairOrders { one, both };
template <>
inline constexpr Named<PairOrders> names_of<PairOrders>[] = {{"one", PairOrders::one}, {"both", PairOrders::both}};

struct CrossEncoderOptions {
  std::vector<TermConfig> attention{};  // attention terms: {"lea"}, {{"lea", LeaOptions{.levels = 50}}}, {"lea", "mine"}
  Head head = Head::paper;
  HeadModules modules{};  // of Head::modules
  Task task{};
  std::size_t max_length = 512;  // tokens of an example, including [CLS] and each [SEP]
  std::uint64_t seed = 0;        // of new parameters; not saved
  PairOrders orders = PairOrders::one;

  // Of a model loaded for training: TrainingStart. Saved with the tokenizer and the attention terms.
  std::optional<PairForm> pair_form{};
  std::string pair_separator{};
  bool bidirectional = false;

  bool both_orders() const { return orders == PairOrders::both; }
  bool has(const std::string& term) const {
    return std::any_of(attention.begin(), attention.end(), [&](const auto& t) { return t.name == term; });
  }
};

/// The options as stored in a file, without the attention terms, which the encoder stores.
Json to_json(const CrossEncoderOptions& o);
CrossEncoderOptions parse_cross_encoder_options(const Json& json, const std::string& where);

namespace detail {
std::vector<std::string> class_names(const Json& config, std::size_t labels, const std::string& where);
HeadModules parse_head_modules(const Json& json, const std::string& where);
}  // namespace detail

/// Reads the options of a model file or of a HuggingFace model. Returns nothing if the model has no classification head.
std::optional<CrossEncoderOptions> find_stored_options(const ModelFile& file);
/// As find_stored_options(). Errors: the model has no classification head.
CrossEncoderOptions stored_options(const ModelFile& file);
void write_options(const CrossEncoderOptions& options, ModelFile& file);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/architecture.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE Json to_json(const CrossEncoderOptions& o) {
  // Filled key by key, starting from an object: when memory runs out, nlohmann/json 3.11.2 leaks in a braced list, and turning null into
  // an object leaves the value without its object.
  Json json = Json::object();
  json["task"] = name_of(o.task.kind);
  json["head"] = name_of(o.head);
  if (o.head == Head::modules) {
    Json& modules = json["modules"] = Json::object();
    modules["pooling"] = name_of(o.modules.pooling);
    if (o.modules.dense) modules["dense"] = name_of(*o.modules.dense);
    modules["norm"] = o.modules.norm;
  }
  json["labels"] = o.task.labels;
  json["label_names"] = o.task.label_names;
  json["max_length"] = o.max_length;
  if (o.task.kind == TaskKind::regression) json["activation"] = name_of(o.task.activation);
  if (o.task.texts != 2) json["texts"] = o.task.texts;
  if (o.orders != PairOrders::one) json["orders"] = name_of(o.orders);
  return json;
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
  check_label_names(all, where + ": id2label");
  if (names->size() != labels) fail_file(where, "'id2label' does not name the ", labels, " classes of the head");
  return all;
}

/// Reads the object "modules" of a head.
LEXFORMER_INLINE HeadModules detail::parse_head_modules(const Json& json, const std::string& where) {
  HeadModules m;
  m.pooling = get_name<Pooling>(json, "pooling", where);
  if (m.pooling == Pooling::none) fail_file(where, "'pooling' is 'none', expected mean, cls or max");
  m.dense.reset();
  if (find_value(json, "dense", false, where) != nullptr) m.dense = get_name<Activation>(json, "dense", where);
  m.norm = get_bool(json, "norm", where, false);
  if (m.norm && !m.dense) fail_file(where, "'norm' is true, but there is no 'dense' before it");
  return m;
}

LEXFORMER_INLINE CrossEncoderOptions parse_cross_encoder_options(const Json& json, const std::string& where) {
  CrossEncoderOptions o;
  o.task.kind = get_name<TaskKind>(json, "task", where);
  o.head = get_name<Head>(json, "head", where);
  if (o.head == Head::modules)
    o.modules = detail::parse_head_modules(*detail::find_value(json, "modules", true, where), where + ": modules");
  o.task.labels = get_size(json, "labels", 1, 65536, where);
  o.task.texts = get_size(json, "texts", 1, 2, where, o.task.texts);
  o.max_length = get_size(json, "max_length", min_length(o.task.texts), 1u << 20, where);
  o.orders = get_name<PairOrders>(json, "orders", where, PairOrders::one);
  o.task.activation = get_name<ScoreActivation>(json, "activation", where, ScoreActivation::identity);
  o.task.label_names = detail::get_label_names(json, o.task.labels, where);
  if (o.task.kind == TaskKind::regression && o.task.labels != 1) fail_file(where, "a regression has 1 label, 'labels' is ", o.task.labels);
  if (o.task.kind == TaskKind::classification && o.task.labels < 2)
    fail_file(where, "a classification has 2 labels or more, 'labels' is ", o.task.labels);
  return o;
}

LEXFORMER_INLINE std::optional<CrossEncoderOptions> find_stored_options(const ModelFile& file) {
  const Json ours = file.config->value("lexformer", Json::object());
  if (ours.is_object() && ours.contains("head")) return parse_cross_encoder_options(ours, file.path + ": config");
  CrossEncoderOptions o;  // HuggingFace model: the head gives the number of labels
  const Architecture& architecture = find_architecture(file.model_type(), file.path + ": config");
  const std::string weight = std::string(architecture.head_out) + ".weight";
  if (!file.tensors.contains(weight)) return std::nullopt;
  if (get_string(file.config, "problem_type", file.path, "") == "multi_label_classification")
    fail_file(file.path, "'problem_type' is 'multi_label_classification'; a cross-encoder has one label for each example");
  o.head = Head::huggingface;
  o.task.labels = file.tensors.shape(weight).rank() == 2 ? file.tensors.shape(weight)[0] : 0;
  if (o.task.labels == 0) fail_file(file.path, "'", weight, "' is ", file.tensors.shape(weight), ", expected (labels, hidden_size)");
  o.task.kind = o.task.labels == 1 ? TaskKind::regression : TaskKind::classification;
  const auto names = detail::class_names(file.config, o.task.labels, file.path + ": config");
  if (o.task.labels > 1) o.task.label_names = names;
  // sentence-transformers' rule for a model with one label, unless its config overrides it; none if problem_type is "regression".
  const bool regression = get_string(file.config, "problem_type", file.path, "") == "regression";
  if (o.task.labels == 1 && !regression) o.task.activation = ScoreActivation::sigmoid;
  if (ours.is_object()) o.max_length = get_size(ours, "max_length", min_length(2), 1u << 20, file.path, o.max_length);
  if (o.task.labels == 1 && ours.is_object())
    o.task.activation = get_name<ScoreActivation>(ours, "activation", file.path, o.task.activation);
  return o;
}

LEXFORMER_INLINE CrossEncoderOptions stored_options(const ModelFile& file) {
  if (auto found = find_stored_options(file)) return *std::move(found);
  fail_file(file.path, "the model has no classification head ('", find_architecture(file.model_type(), file.path + ": config").head_out,
            ".weight'); train one with train_matcher or train_text");
}

LEXFORMER_INLINE void write_options(const CrossEncoderOptions& options, ModelFile& file) {
  Json& ours = file.config["lexformer"];
  if (!ours.is_object()) ours = Json::object();
  ours.update(to_json(options));
}

}  // namespace lexformer
#endif
