// SPDX-License-Identifier: MIT
// The losses of train_matcher, and the metrics of its models that rank documents for queries.
#pragma once

#include <lexformer/data/queries.hpp>
#include <lexformer/ops/query_loss.hpp>
#include <lexformer/train/evaluation.hpp>
#include <map>

#include "train/training.hpp"

namespace program {

/// cross_entropy: of classes. Of one score per example: squared: mean squared error; binary: binary cross-entropy of its logit; and for
/// the pairs of a query (equal left texts) margin: max(0, margin - (better - worse)) over all pairs of documents of a query with different
/// labels; listwise: cross-entropy of labels and softmax over the documents of a query.
enum class MatcherLoss { cross_entropy, squared, binary, margin, listwise };

}  // namespace program

template <>
inline constexpr lexformer::Named<program::MatcherLoss> lexformer::names_of<program::MatcherLoss>[] = {
    {"cross-entropy", program::MatcherLoss::cross_entropy},
    {"squared", program::MatcherLoss::squared},
    {"binary", program::MatcherLoss::binary},
    {"margin", program::MatcherLoss::margin},
    {"listwise", program::MatcherLoss::listwise}};

namespace program {

inline bool ranks(MatcherLoss loss) { return loss == MatcherLoss::margin || loss == MatcherLoss::listwise; }

/// Checks that the labels of examples are numbers from 0 to `most`.
inline void check_labels(const std::string& file, const std::vector<lx::PairExample>& examples, float most) {
  for (std::size_t i = 0; i < examples.size(); ++i)
    if (const float label = examples[i].target; !(label >= 0 && label <= most))
      lx::fail_file(file, "example ", i + 1, " has the label ", label, "; this loss needs ",
                    most == 1 ? "labels from 0 to 1" : "labels of 0 or more");
}

/// The evaluation of the ranking of each query's documents by the scores of `e`; `examples`: those without typos.
inline lx::Evaluation ranking_evaluation(const lx::Evaluation& e, const std::vector<lx::PairExample>& examples) {
  const auto query = lx::query_numbers(examples);
  std::vector<std::size_t> order(examples.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return e.scores[a] > e.scores[b]; });
  std::map<std::size_t, lx::RankedQuery> queries;
  for (const std::size_t i : order) {
    auto& ranked = queries[query[i]];
    ranked.ranked.push_back(static_cast<double>(examples[i].target));
    if (examples[i].target > 0) ranked.relevant.push_back(static_cast<double>(examples[i].target));
  }
  std::vector<lx::RankedQuery> all;
  for (auto& item : queries) all.push_back(std::move(item.second));
  return ranking_evaluation(e.file, all);
}

/// The same for a test file and its copies with typos.
inline lx::TestResult ranking_result(lx::TestResult result, const std::vector<lx::PairExample>& examples) {
  result.clean = ranking_evaluation(result.clean, examples);
  for (auto& copy : result.typos) copy = ranking_evaluation(copy, examples);
  return result;
}

}  // namespace program
