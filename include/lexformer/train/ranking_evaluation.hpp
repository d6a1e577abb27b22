// SPDX-License-Identifier: MIT
// Evaluation of rankings: how well scores order the documents of each query.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/examples.hpp"
#include "lexformer/metrics/ranking_metrics.hpp"
#include "lexformer/train/evaluation.hpp"

namespace lexformer {

/// The documents of a query that count in an evaluation.
inline constexpr std::size_t ranking_depth = 10;

/// The metrics of rankings as an evaluation: mrr@10, ndcg@10, recall@10.
Evaluation ranking_evaluation(std::string file, std::span<const RankedQuery> queries);
/// The evaluation of the ranking of each query's documents (equal left texts) by the scores of `e`. examples: without typos.
Evaluation ranking_evaluation(const Evaluation& e, const std::vector<PairExample>& examples);
/// The same for a test file and its copies with typos.
TestResult ranking_result(TestResult result, const std::vector<PairExample>& examples);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <map>
#include <utility>

#include "lexformer/data/queries.hpp"

namespace lexformer {

LEXFORMER_INLINE Evaluation ranking_evaluation(std::string file, std::span<const RankedQuery> queries) {
  const auto report = ranking_report(queries, ranking_depth);
  return {std::move(file), {{"mrr@10", report.mrr}, {"ndcg@10", report.ndcg}, {"recall@10", report.recall}}, "mrr@10", {}};
}

LEXFORMER_INLINE Evaluation ranking_evaluation(const Evaluation& e, const std::vector<PairExample>& examples) {
  const auto query = query_numbers(examples);
  std::vector<std::size_t> order(examples.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return e.scores[a] > e.scores[b]; });
  std::map<std::size_t, RankedQuery> queries;
  for (const std::size_t i : order) {
    auto& ranked = queries[query[i]];
    ranked.ranked.push_back(static_cast<double>(examples[i].target));
    if (examples[i].target > 0) ranked.relevant.push_back(static_cast<double>(examples[i].target));
  }
  std::vector<RankedQuery> all;
  for (auto& item : queries) all.push_back(std::move(item.second));
  return ranking_evaluation(e.file, all);
}

LEXFORMER_INLINE TestResult ranking_result(TestResult result, const std::vector<PairExample>& examples) {
  result.clean = ranking_evaluation(result.clean, examples);
  for (auto& copy : result.typos) copy = ranking_evaluation(copy, examples);
  return result;
}

}  // namespace lexformer
#endif
