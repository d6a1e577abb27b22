// SPDX-License-Identifier: MIT
// What a model of texts or pairs predicts: classes or a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/kernels/scalar.hpp"

namespace lexformer {

enum class TaskKind { classification, regression };
template <>
inline constexpr Named<TaskKind> names_of<TaskKind>[] = {{"classification", TaskKind::classification},
                                                         {"regression", TaskKind::regression}};

/// The function from logit to value in a regression; sentence-transformers' cross-encoders with one label use the sigmoid.
enum class ScoreActivation { identity, sigmoid };
template <>
inline constexpr Named<ScoreActivation> names_of<ScoreActivation>[] = {{"identity", ScoreActivation::identity},
                                                                       {"sigmoid", ScoreActivation::sigmoid}};

struct Task {
  TaskKind kind = TaskKind::classification;
  std::size_t labels = 2;                  // classes; 1 for regression
  std::vector<std::string> label_names{};  // in class order, or empty
  std::size_t texts = 2;                   // of an example: 2, a pair, or 1
  ScoreActivation activation = ScoreActivation::identity;

  /// The names of the classes: label_names, or 0, 1, ....
  std::vector<std::string> class_names() const {
    auto names = label_names;
    while (names.size() < labels) names.push_back(std::to_string(names.size()));
    return names;
  }
  /// Whether a decision threshold is chosen on validation data: for pairs of two classes.
  bool has_threshold() const { return kind == TaskKind::classification && labels == 2 && texts == 2; }

  /// One number per example for ranking and thresholds, from logits (examples, labels): the probability of class 1 of two classes, the
  /// index of the most probable class of more, the value of a regression (one label).
  template <class A>
  std::vector<double> scores_of(const Tensor<A>& logits) const {
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
};

/// The least max_length that leaves room for a token of each text: [CLS], and each text with its [SEP].
constexpr std::size_t min_length(std::size_t texts) { return 1 + 2 * texts; }

namespace detail {
/// Reads `label_names`, which may be missing. Errors (file): it is not a list of strings, or not one for each label.
std::vector<std::string> get_label_names(const Json& json, std::size_t labels, const std::string& where);
/// Errors: a name is empty, is there twice, or has characters that could change a terminal or a line of output. words: also spaces.
void check_label_names(const std::vector<std::string>& names, const std::string& where, bool words = false,
                       ErrorKind kind = ErrorKind::file);
}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <set>
#include <string_view>

#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

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
  check_label_names(all, where + ": label_names");
  return all;
}

LEXFORMER_INLINE void detail::check_label_names(const std::vector<std::string>& names, const std::string& where, bool words,
                                                ErrorKind kind) {
  const auto refuse = [&](const auto&... parts) { throw Error(kind, cat(where, ": ", parts...)); };
  std::set<std::string_view> known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = names[i];
    if (name.empty()) refuse("label ", i, " has no name");
    if (!known.insert(name).second) refuse(in_quotes(name), " is given twice");
    if (words && name.find(' ') != name.npos) refuse("label ", i, ", ", in_quotes(name), ", has a space, which separates columns");
    for (std::size_t at = 0, bytes = 0; at < name.size(); at += bytes)
      if ((bytes = printable_bytes(name.substr(at))) == 0)
        refuse("label ", i, ", '", one_line(name, 80), "', has a control character or is not UTF-8");
  }
}

}  // namespace lexformer
#endif
