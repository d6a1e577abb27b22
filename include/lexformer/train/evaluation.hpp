// SPDX-License-Identifier: MIT
// Evaluation of a model on labelled examples (pairs or single texts), without and with typos.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/pair_dataset.hpp"
#include "lexformer/data/table_examples.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/metrics/metrics.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/noise/typos.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/train/hooks.hpp"

namespace lexformer {

/// The metrics of a set of examples by name; models are compared by `primary`.
struct Evaluation {
  std::string file;
  std::vector<std::pair<std::string, double>> metrics;
  std::string primary;
  std::vector<double> scores{};  // of the examples; not saved

  double value(const std::string& name) const;
  Json json() const;
  /// All fields, for a checkpoint.
  Json state() const;
  /// Errors (file): a field is missing or of another type. `where` names the file.
  static Evaluation from_json(const Json& json, const std::string& where);
};

/// Labelled examples, and what messages and results call them: the name of their file.
struct ExampleSet {
  std::string name;
  std::vector<PairExample> examples;
};

/// All texts of examples with so many texts each.
std::vector<std::string> texts_of(const std::vector<PairExample>& examples, std::size_t texts);

/// An evaluation as the trainer logs and compares it: by its primary metric.
Measurement measurement_of(const Evaluation& e);

/// Reads a file as examples of the model's task, with its number of texts. Class names: the model's, else 0, 1, ...
std::vector<PairExample> read_examples(const std::string& path, TableOptions table, const Task& task);

/// The metric that models are compared by: spearman of a regression; f1 of two classes of pairs; otherwise accuracy.
std::string primary_metric(const Task& task);

namespace detail {
/// The metrics of examples with these labels or targets; `rows`: the logits of more than two classes; loss: of a classification.
Evaluation evaluate_scores(const std::vector<double>& scores, const std::vector<double>& rows, double loss, const Task& task,
                           const std::string& file, const std::vector<PairExample>& examples, std::optional<double> threshold);
}  // namespace detail

/// Evaluates the logits (examples, labels) and scores that a model has for examples; `task`: of the model.
/// Two classes of pairs: f1, precision, recall and accuracy at `threshold` of the probability of class 1 (none: the best threshold on
/// these examples, for validation data), average precision, and the same metrics at argmax. Two classes of single texts: accuracy, f1,
/// precision, recall at argmax (threshold 0.5), average precision. More classes: accuracy and macro-F1. Regression: Pearson, Spearman,
/// mean squared error.
template <class A>
Evaluation evaluate_logits(const Tensor<A>& logits, const std::vector<double>& scores, const Task& task, const std::string& file,
                           const std::vector<PairExample>& examples, std::optional<double> threshold) {
  require_finite(logits, file, task.texts == 1 ? "text" : "pair", 1);
  double loss = 0;
  if (task.kind != TaskKind::regression) {
    const NoGrad no_grad;
    const auto labels = labels_of(examples);
    loss = static_cast<double>(cross_entropy(Var<A>(logits), std::span<const std::int32_t>(labels)).item());
  }
  const std::vector<double> rows(logits.span().begin(), logits.span().end());
  return detail::evaluate_scores(scores, rows, loss, task, file, examples, threshold);
}

/// The same for a model with logits(), scores_of() and task(): a cross-encoder, or a TextCnn. scored: called after each batch with the
/// number of its examples; what it throws ends the call.
template <class Model>
Evaluation evaluate(const Model& model, const std::string& file, const std::vector<PairExample>& examples, std::optional<double> threshold,
                    std::size_t batch, const std::function<void(std::size_t)>& scored = {}) {
  const auto logits = model.logits(examples, batch, scored);
  return evaluate_logits(logits, model.scores_of(logits), model.task(), file, examples, threshold);
}

/// The results of a test file: without typos, and of copies with typos.
struct TestResult {
  Evaluation clean;
  std::vector<Evaluation> typos;

  double typo_mean(const std::string& metric) const;
  Json json() const;
};

/// Adds the typos of copy `copy` to the texts. They are drawn from (seed = 100 + copy, row), so they are always the same.
std::vector<PairExample> with_typos(std::vector<PairExample> examples, std::size_t copy, const TypoOptions& typos);

template <class Model>
TestResult evaluate_with_typos(const Model& model, const std::string& file, const std::vector<PairExample>& examples,
                               std::optional<double> threshold, std::size_t copies, const TypoOptions& typos, std::size_t batch,
                               const std::function<void(std::size_t)>& scored = {}) {
  TestResult result{evaluate(model, file, examples, threshold, batch, scored), {}};
  for (std::size_t c = 1; c <= copies; ++c)
    result.typos.push_back(evaluate(model, cat(file, " with typos ", c), with_typos(examples, c, typos), threshold, batch, scored));
  return result;
}

/// The metrics to show in a table.
std::vector<std::string> main_metrics(const Evaluation& e);
inline double in_percent(const std::string& key, double number) { return key == "mse" ? number : 100 * number; }

/// The rows of a table for some test files: each without typos, then the mean of its copies with typos.
std::vector<std::pair<std::string, Evaluation>> table_rows(const std::vector<TestResult>& tests);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <iomanip>
#include <tuple>

#include "lexformer/io/json.hpp"
#include "lexformer/train/run_log.hpp"

namespace lexformer {

namespace detail {

LEXFORMER_INLINE Evaluation evaluate_scores(const std::vector<double>& scores, const std::vector<double>& rows, double loss,
                                            const Task& task, const std::string& file, const std::vector<PairExample>& examples,
                                            std::optional<double> threshold) {
  Evaluation result{file, {}, primary_metric(task), scores};
  if (task.kind == TaskKind::regression) {
    std::vector<double> targets;
    for (const auto& e : examples) targets.push_back(static_cast<double>(e.target));
    result.metrics = {
        {"pearson", pearson(scores, targets)}, {"spearman", spearman(scores, targets)}, {"mse", mean_squared_error(scores, targets)}};
    return result;
  }
  const auto labels = labels_of(examples);
  if (task.labels > 2) {
    const auto matrix = confusion_matrix(argmax_rows(rows, task.labels), labels, task.labels);
    result.metrics = {{"accuracy", matrix.accuracy()}, {"macro_f1", matrix.macro_f1()}, {"loss", loss}};
    return result;
  }
  if (!task.has_threshold()) {
    const auto r = binary_report(scores, labels, argmax_threshold);
    result.metrics = {{"accuracy", r.accuracy},
                      {"f1", r.f1},
                      {"precision", r.precision},
                      {"recall", r.recall},
                      {"average_precision", r.average_precision},
                      {"threshold", 0.5},
                      {"loss", loss}};
    return result;
  }
  if (!threshold) threshold = best_f1_threshold(scores, labels).threshold;
  const auto r = binary_report(scores, labels, *threshold), argmax = binary_report(scores, labels, argmax_threshold);
  result.metrics = {{"f1", r.f1},
                    {"precision", r.precision},
                    {"recall", r.recall},
                    {"accuracy", r.accuracy},
                    {"average_precision", r.average_precision},
                    {"threshold", r.threshold},
                    {"argmax_f1", argmax.f1},
                    {"argmax_precision", argmax.precision},
                    {"argmax_recall", argmax.recall},
                    {"argmax_accuracy", argmax.accuracy},
                    {"loss", loss}};
  return result;
}

}  // namespace detail

LEXFORMER_INLINE double Evaluation::value(const std::string& name) const {
  for (const auto& [key, number] : metrics)
    if (key == name) return number;
  fail("Evaluation", "there is no metric '", name, "'");
}

LEXFORMER_INLINE Json Evaluation::json() const {
  Json out = {{"file", file}};
  for (const auto& [key, number] : metrics) out[key] = number;
  return out;
}

LEXFORMER_INLINE Json Evaluation::state() const { return {{"file", file}, {"metrics", metrics}, {"primary", primary}}; }
LEXFORMER_INLINE Evaluation Evaluation::from_json(const Json& json, const std::string& where) {
  return read_json(where, [&] { return Evaluation{json.at("file"), json.at("metrics"), json.at("primary")}; });
}

LEXFORMER_INLINE std::vector<std::string> texts_of(const std::vector<PairExample>& examples, std::size_t texts) {
  std::vector<std::string> all;
  for (const auto& e : examples) {
    all.push_back(e.left);
    if (texts == 2) all.push_back(e.right);
  }
  return all;
}

LEXFORMER_INLINE Measurement measurement_of(const Evaluation& e) {
  Measurement m;
  for (const auto& [key, number] : e.metrics) m.log["eval_" + key] = log_number(number);
  m.value = e.value(e.primary);
  m.text = cat(e.primary, " ", std::setprecision(3), 100 * *m.value);
  m.state = e.state();
  return m;
}

LEXFORMER_INLINE double TestResult::typo_mean(const std::string& metric) const {
  double sum = 0;
  for (const auto& t : typos) sum += t.value(metric);
  return sum / static_cast<double>(typos.size());
}

LEXFORMER_INLINE Json TestResult::json() const {
  Json out = clean.json();
  if (typos.empty()) return out;
  for (const auto& t : typos) out["typos"].push_back(t.json());
  for (const auto& [key, number] : clean.metrics) out["typos_mean"][key] = typo_mean(key);
  return out;
}

LEXFORMER_INLINE std::vector<PairExample> read_examples(const std::string& path, TableOptions table, const Task& task) {
  table.texts = task.texts;
  const auto rows = read_pairs(path, table);
  if (task.kind == TaskKind::regression) return number_examples(rows);
  return class_examples(rows, task.class_names());
}

LEXFORMER_INLINE std::string primary_metric(const Task& task) {
  return task.kind == TaskKind::regression ? "spearman" : task.has_threshold() ? "f1" : "accuracy";
}

LEXFORMER_INLINE std::vector<PairExample> with_typos(std::vector<PairExample> examples, std::size_t copy, const TypoOptions& typos) {
  for (std::size_t i = 0; i < examples.size(); ++i) {
    auto random = typo_stream(100 + copy, 0, static_cast<std::uint32_t>(i));
    std::tie(examples[i].left, examples[i].right) = add_typos_to_pair(examples[i].left, examples[i].right, typos, random);
  }
  return examples;
}

LEXFORMER_INLINE std::vector<std::string> main_metrics(const Evaluation& e) {
  std::vector<std::string> keys;
  for (const auto& [key, number] : e.metrics)
    if (key != "threshold" && key != "loss" && (!key.starts_with("argmax_") || key == "argmax_f1")) keys.push_back(key);
  return keys;
}

LEXFORMER_INLINE std::vector<std::pair<std::string, Evaluation>> table_rows(const std::vector<TestResult>& tests) {
  std::vector<std::pair<std::string, Evaluation>> rows;
  for (const auto& t : tests) {
    rows.emplace_back(t.clean.file, t.clean);
    if (t.typos.empty()) continue;
    Evaluation mean = t.clean;
    for (auto& [key, number] : mean.metrics) number = t.typo_mean(key);
    rows.emplace_back(cat("  with typos (mean of ", t.typos.size(), ")"), mean);
  }
  return rows;
}

}  // namespace lexformer
#endif
