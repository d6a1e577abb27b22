// SPDX-License-Identifier: MIT
// Ranking losses over the documents of several queries, which may have different numbers of documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "lexformer/ops/ranking_loss.hpp"

namespace lexformer {

/// The rows of each query in a batch.
struct QueryRows {
  std::vector<std::pair<std::size_t, std::size_t>> ranges{};  // begin and end

  QueryRows() = default;
  /// query: the number of each row's query. Rows with the same number must be neighbours, else they count as several queries.
  explicit QueryRows(std::span<const std::size_t> query) {
    for (std::size_t i = 0; i < query.size(); ++i)
      if (i == 0 || query[i] != query[i - 1])
        ranges.emplace_back(i, i + 1);
      else
        ranges.back().second = i + 1;
  }

  /// The queries with a label above 0. labels: one for each row.
  QueryRows relevant(std::span<const float> labels) const {
    QueryRows out;
    for (const auto& range : ranges)
      for (std::size_t i = range.first; i < range.second; ++i)
        if (labels[i] > 0) {
          out.ranges.push_back(range);
          break;
        }
    return out;
  }

  /// The pairs of rows of the same query of which the first has the larger label: a list of the first ones and one of the second ones.
  /// labels: one for each row.
  std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> ordered_pairs(std::span<const float> labels) const {
    std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> out;
    for (const auto& range : ranges)
      for (std::size_t i = range.first; i < range.second; ++i)
        for (std::size_t j = range.first; j < range.second; ++j)
          if (labels[i] > labels[j]) {
            out.first.push_back(static_cast<std::int32_t>(i));
            out.second.push_back(static_cast<std::int32_t>(j));
          }
    return out;
  }
};

namespace detail {

/// Errors: the scores are not (N, 1); there are not N labels or not N rows of queries; a label is less than `least` or not finite.
template <class T, class Dev>
void check_query_loss(const char* where, const Var<T, Dev>& scores, const QueryRows& queries, std::span<const float> labels, float least) {
  const std::size_t rows = queries.ranges.empty() ? 0 : queries.ranges.back().second;
  if (!(scores.shape() == Shape{rows, 1}) || labels.size() != rows)
    fail(where, "scores ", scores.shape(), " and ", labels.size(), " labels for ", rows,
         " rows of queries; expected scores (rows, 1) and a label for each row");
  for (std::size_t i = 0; i < rows; ++i)
    if (!(labels[i] >= least && labels[i] <= std::numeric_limits<float>::max()))
      fail(where, "the label of row ", i, " is ", labels[i], "; expected ", least < 0 ? "a finite number" : "0 or more");
}

}  // namespace detail

/// margin_ranking of all pairs of documents of a query with different labels, mean over all such pairs of all queries:
///   loss = mean_{q, i, j in q: y_i > y_j} max(0, margin - (s_i - s_j))
///   scores (N, 1), labels N finite numbers -> scalar.    Errors: there is no such pair; shapes do not match; a label is not finite.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> margin_ranking_by_query(const Var<T, Dev>& scores, const QueryRows& queries, std::span<const float> labels,
                                                  double margin) {
  detail::check_query_loss("margin_ranking_by_query", scores, queries, labels, std::numeric_limits<float>::lowest());
  const auto pairs = queries.ordered_pairs(labels);
  if (pairs.first.empty()) fail("margin_ranking_by_query", "no query has documents with different labels");
  return margin_ranking(select_rows(scores, pairs.first), select_rows(scores, pairs.second), margin);
}

/// listwise_softmax of each query's documents, mean over the queries with a label above 0:
///   loss = mean_q( -sum_{d in q} P_d log softmax(s_q)_d ),   P_d = y_d / sum_{d' in q} y_d'
///   scores (N, 1), labels N numbers y >= 0 -> scalar
/// Errors: there is no such query; shapes do not match; a label is negative or not finite.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> listwise_softmax_by_query(const Var<T, Dev>& scores, const QueryRows& queries, std::span<const float> labels) {
  using A = accumulate_t<T>;
  detail::check_query_loss("listwise_softmax_by_query", scores, queries, labels, 0);
  const QueryRows relevant = queries.relevant(labels);
  if (relevant.ranges.empty()) fail("listwise_softmax_by_query", "no query has a document with a label above 0");
  Var<A, Dev> total;
  for (const auto& range : relevant.ranges) {
    std::vector<double> relevance;
    for (std::size_t i = range.first; i < range.second; ++i) relevance.push_back(static_cast<double>(labels[i]));
    const auto loss = listwise_softmax(reshape(slice_rows(scores, range.first, range.second), {1, relevance.size()}), relevance);
    total = total.defined() ? add(total, loss) : loss;
  }
  return scale(total, A{1} / static_cast<A>(relevant.ranges.size()));
}

}  // namespace lexformer
