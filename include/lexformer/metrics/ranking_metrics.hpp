// SPDX-License-Identifier: MIT
// Metrics of rankings: of each query, a list of documents, best first, some of which are relevant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// A query's documents. A relevance is 0 or more; above 0 the document is relevant.
struct RankedQuery {
  std::vector<double> ranked;    // the relevance of the documents found, best first
  std::vector<double> relevant;  // the relevance of all that are relevant, found or not, in any order
};

/// 1 / the rank of the first relevant document among the first k (k = 0: all); 0 if there is none.
double reciprocal_rank(const RankedQuery& query, std::size_t k = 0);

/// Normalized discounted cumulative gain of the first k documents (Jarvelin & Kekalainen 2002, as scikit-learn's ndcg_score):
///   NDCG = DCG / (DCG of the best order),   DCG = sum_{i = 1 .. k} r_i / log2(i + 1);   k = 0: all; 0 without relevant documents
double ndcg(const RankedQuery& query, std::size_t k = 0);

/// The share of the relevant documents that are among the first k (k = 0: all); 0 without relevant documents.
double recall_at(const RankedQuery& query, std::size_t k = 0);

/// Means over the queries that have relevant documents.
struct RankingReport {
  std::size_t queries = 0, skipped = 0;  // counted, and without a relevant document
  double mrr = 0, ndcg = 0, recall = 0;  // within the first k
};
/// Errors: a relevance is negative or not finite; a query has no list of relevant documents but a relevant one was found.
RankingReport ranking_report(std::span<const RankedQuery> queries, std::size_t k);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "lexformer/core/error.hpp"

namespace lexformer {

namespace detail {
/// The number of documents that count.
LEXFORMER_INLINE std::size_t counted(std::size_t documents, std::size_t k) { return k == 0 ? documents : std::min(documents, k); }

LEXFORMER_INLINE double discounted_gain(std::span<const double> relevance, std::size_t k) {
  double sum = 0;
  for (std::size_t i = 0; i < counted(relevance.size(), k); ++i) sum += relevance[i] / std::log2(static_cast<double>(i + 2));
  return sum;
}
LEXFORMER_INLINE std::size_t count_relevant(std::span<const double> relevance, std::size_t k) {
  const auto first = relevance.first(counted(relevance.size(), k));
  return static_cast<std::size_t>(std::count_if(first.begin(), first.end(), [](double r) { return r > 0; }));
}
}  // namespace detail

LEXFORMER_INLINE double reciprocal_rank(const RankedQuery& query, std::size_t k) {
  for (std::size_t i = 0; i < detail::counted(query.ranked.size(), k); ++i)
    if (query.ranked[i] > 0) return 1 / static_cast<double>(i + 1);
  return 0;
}

LEXFORMER_INLINE double ndcg(const RankedQuery& query, std::size_t k) {
  auto best = query.relevant;
  std::sort(best.begin(), best.end(), std::greater<>());
  const double most = detail::discounted_gain(best, k);
  return most == 0 ? 0 : detail::discounted_gain(query.ranked, k) / most;
}

LEXFORMER_INLINE double recall_at(const RankedQuery& query, std::size_t k) {
  const std::size_t all = detail::count_relevant(query.relevant, 0);
  return all == 0 ? 0 : static_cast<double>(detail::count_relevant(query.ranked, k)) / static_cast<double>(all);
}

LEXFORMER_INLINE RankingReport ranking_report(std::span<const RankedQuery> queries, std::size_t k) {
  RankingReport report;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const auto& query = queries[q];
    for (const auto* list : {&query.ranked, &query.relevant})
      for (const double r : *list)
        if (!(r >= 0 && std::isfinite(r))) fail("ranking_report", "query ", q, " has a document of relevance ", r, "; expected 0 or more");
    const std::size_t found = detail::count_relevant(query.ranked, 0), all = detail::count_relevant(query.relevant, 0);
    if (found > all) fail("ranking_report", "query ", q, " has ", found, " relevant documents in its ranking, but only ", all, " in all");
    if (all == 0) {
      ++report.skipped;
      continue;
    }
    ++report.queries;
    report.mrr += reciprocal_rank(query, k);
    report.ndcg += ndcg(query, k);
    report.recall += recall_at(query, k);
  }
  if (report.queries == 0) return report;
  for (double* sum : {&report.mrr, &report.ndcg, &report.recall}) *sum /= static_cast<double>(report.queries);
  return report;
}

}  // namespace lexformer
#endif
