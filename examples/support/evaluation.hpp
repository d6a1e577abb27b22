// SPDX-License-Identifier: MIT
// Measuring a cross-encoder on files of labelled pairs, clean and with typos; the table and the JSON of it.
#pragma once

#include <iomanip>

#include "program.hpp"

namespace program {

/// The metrics of one set of pairs under their names; `primary` is what models are compared by.
struct Evaluation {
  std::string file;
  std::vector<std::pair<std::string, double>> metrics;
  std::string primary;
  std::vector<double> scores{};  // of the pairs; not saved

  double value(const std::string& name) const {
    for (const auto& [key, number] : metrics)
      if (key == name) return number;
    lx::fail("Evaluation", "there is no metric '", name, "'");
  }
  lx::Json json() const {
    lx::Json out = {{"file", file}};
    for (const auto& [key, number] : metrics) out[key] = number;
    return out;
  }
  /// All of it, for a checkpoint.
  lx::Json state() const { return {{"file", file}, {"metrics", metrics}, {"primary", primary}}; }
  static Evaluation from_json(const lx::Json& json) { return {json["file"], json["metrics"], json["primary"]}; }
};

/// A file of labelled pairs as examples of the model's task. Class names: the model's, else 0, 1, ...
inline std::vector<lx::PairExample> read_examples(const std::string& path, const lx::TableOptions& table,
                                                  const lx::CrossEncoderOptions& options) {
  const auto rows = lx::read_pairs(path, table);
  if (options.task == lx::Task::regression) return lx::number_examples(rows);
  auto names = options.label_names;
  for (std::size_t c = 0; c < options.labels && options.label_names.empty(); ++c) names.push_back(std::to_string(c));
  return lx::class_examples(rows, names);
}

/// Two classes: f1, precision, recall and accuracy at `threshold` (of the probability of class 1; none = the one that is best
/// here, for validation data), average precision, and the same at argmax. More classes: accuracy and macro-F1. Regression:
/// Pearson, Spearman, mean squared error.
template <class T, class Dev>
Evaluation evaluate(const lx::CrossEncoder<T, Dev>& model, const std::string& file, const std::vector<lx::PairExample>& examples,
                    std::optional<double> threshold, std::size_t batch) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::vector<std::int32_t> labels;
  std::vector<double> targets;
  for (const auto& e : examples) {
    pairs.emplace_back(e.left, e.right);
    labels.push_back(e.label);
    targets.push_back(static_cast<double>(e.target));
  }
  const auto logits = model.logits(pairs, batch);
  require_finite(logits, file, "pair", 1);
  const auto scores = model.scores_of(logits);
  Evaluation result{file, {}, {}, scores};
  if (model.options().task == lx::Task::regression) {
    result.metrics = {{"pearson", lx::pearson(scores, targets)},
                      {"spearman", lx::spearman(scores, targets)},
                      {"mse", lx::mean_squared_error(scores, targets)}};
    result.primary = "spearman";
    return result;
  }
  double loss = 0;
  {
    const lx::NoGrad no_grad;
    loss = static_cast<double>(lx::cross_entropy(lx::Var<>(logits), std::span<const std::int32_t>(labels)).item());
  }
  if (model.options().labels > 2) {
    const std::vector<double> values(logits.span().begin(), logits.span().end());
    const auto matrix = lx::confusion_matrix(lx::argmax_rows(values, logits.dim(1)), labels, logits.dim(1));
    result.metrics = {{"accuracy", matrix.accuracy()}, {"macro_f1", matrix.macro_f1()}, {"loss", loss}};
    result.primary = "accuracy";
    return result;
  }
  if (!threshold) threshold = lx::best_f1_threshold(scores, labels).threshold;
  const auto r = lx::binary_report(scores, labels, *threshold), argmax = lx::binary_report(scores, labels, 0.5);
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
  result.primary = "f1";
  return result;
}

/// A test file: clean, and copies with typos.
struct TestResult {
  Evaluation clean;
  std::vector<Evaluation> typos;

  double typo_mean(const std::string& metric) const {
    double sum = 0;
    for (const auto& t : typos) sum += t.value(metric);
    return sum / static_cast<double>(typos.size());
  }
  lx::Json json() const {
    lx::Json out = clean.json();
    if (typos.empty()) return out;
    for (const auto& t : typos) out["typos"].push_back(t.json());
    for (const auto& [key, number] : clean.metrics) out["typos_mean"][key] = typo_mean(key);
    return out;
  }
};

/// The pairs with the typos of copy c, which are those of (seed = 100 + c, row): always the same ones.
inline std::vector<lx::PairExample> with_typos(std::vector<lx::PairExample> examples, std::size_t copy, const lx::TypoOptions& typos) {
  for (std::size_t i = 0; i < examples.size(); ++i) {
    auto random = lx::typo_stream(100 + copy, 0, static_cast<std::uint32_t>(i));
    std::tie(examples[i].left, examples[i].right) = lx::add_typos_to_pair(examples[i].left, examples[i].right, typos, random);
  }
  return examples;
}

template <class T, class Dev>
TestResult evaluate_with_typos(const lx::CrossEncoder<T, Dev>& model, const std::string& file, const std::vector<lx::PairExample>& examples,
                               std::optional<double> threshold, std::size_t copies, const lx::TypoOptions& typos, std::size_t batch) {
  TestResult result{evaluate(model, file, examples, threshold, batch), {}};
  for (std::size_t c = 1; c <= copies; ++c)
    result.typos.push_back(evaluate(model, lx::cat(file, " with typos ", c), with_typos(examples, c, typos), threshold, batch));
  return result;
}

/// The metrics that a table shows.
inline std::vector<std::string> main_metrics(const Evaluation& e) {
  std::vector<std::string> keys;
  for (const auto& [key, number] : e.metrics)
    if (key != "threshold" && key != "loss" && (!key.starts_with("argmax_") || key == "argmax_f1")) keys.push_back(key);
  return keys;
}
inline double in_percent(const std::string& key, double number) { return key == "mse" ? number : 100 * number; }

/// One line for each row, one column for each of the main metrics, in percent.
inline void print_table(std::ostream& out, const std::vector<std::pair<std::string, Evaluation>>& rows) {
  if (rows.empty()) return;
  std::size_t width = 8;
  for (const auto& [name, e] : rows) width = std::max(width, name.size() + 2);
  const auto columns = main_metrics(rows[0].second);
  const auto column_width = [](const std::string& key) { return static_cast<int>(std::max<std::size_t>(9, key.size() + 2)); };
  out << std::left << std::setw(static_cast<int>(width)) << "";
  for (const auto& key : columns) out << std::right << std::setw(column_width(key)) << key;
  out << '\n';
  for (const auto& [name, e] : rows) {
    out << std::left << std::setw(static_cast<int>(width)) << name << std::right << std::fixed << std::setprecision(1);
    for (const auto& key : columns) out << std::setw(column_width(key)) << in_percent(key, e.value(key));
    out << std::defaultfloat << '\n';
  }
}

/// The rows of a table for some test files: each clean, then the mean of its copies with typos.
inline std::vector<std::pair<std::string, Evaluation>> table_rows(const std::vector<TestResult>& tests) {
  std::vector<std::pair<std::string, Evaluation>> rows;
  for (const auto& t : tests) {
    rows.emplace_back(t.clean.file, t.clean);
    if (t.typos.empty()) continue;
    Evaluation mean = t.clean;
    for (auto& [key, number] : mean.metrics) number = t.typo_mean(key);
    rows.emplace_back(lx::cat("  with typos (mean of ", t.typos.size(), ")"), mean);
  }
  return rows;
}

}  // namespace program
