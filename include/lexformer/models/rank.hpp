// SPDX-License-Identifier: MIT
// Ranks documents for a query, by the scores of a cross-encoder or by the vectors of a sentence encoder.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/sentence_encoder.hpp"

namespace lexformer {

struct RankedDocument {
  std::size_t index;  // among the documents
  double score;
};

/// The `top` documents with the largest scores (0: all), best first; of equal scores the earlier document is the better one.
std::vector<RankedDocument> best_documents(std::span<const double> scores, std::size_t top = 0);

namespace detail {
/// Minus the distances of all rows of x from all rows of y: (Q, D), (N, D) -> (Q, N)
template <class A>
Tensor<A> minus_distances(const Tensor<A>& x, const Tensor<A>& y, VectorSimilarity similarity) {
  Tensor<A> out = Tensor<A>::zeros({x.dim(0), y.dim(0)});
  parallel_for(x.dim(0), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 0; j < y.dim(0); ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < x.dim(1); ++k) {
          const double d = std::abs(static_cast<double>(x.at(i, k)) - static_cast<double>(y.at(j, k)));
          sum += similarity == VectorSimilarity::euclidean ? d * d : d;
        }
        out.mutable_data()[i * y.dim(0) + j] = static_cast<A>(similarity == VectorSimilarity::euclidean ? -std::sqrt(sum) : -sum);
      }
  });
  return out;
}
}  // namespace detail

/// The documents nearest to each query: queries (Q, D), documents (N, D) -> Q lists. Exact: all are compared with all, some queries at a
/// time. searched: called after each part with the number of its queries; what it throws ends the call.
/// Errors: the vectors differ in size, or one has a value that is not finite.
template <class A>
std::vector<std::vector<RankedDocument>> nearest_documents(const Tensor<A>& queries, const Tensor<A>& documents, std::size_t top = 0,
                                                           VectorSimilarity similarity = VectorSimilarity::cosine,
                                                           const std::function<void(std::size_t)>& searched = {}) {
  if (queries.shape().rank() != 2 || documents.shape().rank() != 2 || queries.dim(1) != documents.dim(1))
    fail("nearest_documents", "needs vectors of one size, got ", queries.shape(), " and ", documents.shape());
  const NoGrad no_grad;
  const std::size_t count = documents.dim(0), part = 64;
  std::vector<std::vector<RankedDocument>> found(queries.dim(0));
  if (count == 0 || found.empty()) return found;
  const auto scaled = [&](const Tensor<A>& v) { return similarity == VectorSimilarity::cosine ? l2_normalize(Var<A>(v)) : Var<A>(v); };
  const bool distance = similarity == VectorSimilarity::euclidean || similarity == VectorSimilarity::manhattan;
  const auto x = scaled(queries), y = scaled(documents);
  for (std::size_t begin = 0; begin < found.size(); begin += part) {
    const std::size_t end = std::min(begin + part, found.size());
    const auto some = slice_rows(x, begin, end);
    const auto scores =
        distance ? detail::minus_distances(some.value(), y.value(), similarity) : matmul(some, y, {.transpose_b = true}).value();
    for (const A c : scores.span())
      if (!std::isfinite(c)) fail_numeric("nearest_documents", "a vector has a value that is not finite");
    parallel_for(end - begin, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const std::vector<double> row(scores.data() + i * count, scores.data() + (i + 1) * count);
        found[begin + i] = best_documents(row, top);
      }
    });
    if (searched) searched(end - begin);
  }
  return found;
}

namespace detail {
/// Model: with task(), logits(examples, batch size) and scores_of().
template <class Model>
std::vector<RankedDocument> rank_by_score(const Model& model, const std::string& query, std::span<const std::string> documents,
                                          std::size_t top, std::size_t batch_size) {
  if (model.task().texts != 2) fail_usage("rank", "the model reads single texts, not pairs, and gives no vectors to compare");
  if (model.task().labels > 2)
    fail_usage("rank", "the model has ", model.task().labels, " classes, so it gives no score to rank by; use one of 1 or 2 labels");
  std::vector<PairExample> pairs;
  for (const auto& document : documents) pairs.push_back({query, document});
  const auto scores = model.scores_of(model.logits(std::span<const PairExample>(pairs), batch_size));
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!std::isfinite(scores[i])) fail_numeric("rank", "the score of document ", i, " is ", scores[i]);
  return best_documents(scores, top);
}
}  // namespace detail

/// Ranks documents by the score of the pair (query, document): the probability of class 1 of two classes, or the value of a regression
/// (sentence-transformers' CrossEncoder.rank).
///   for (const auto& [index, score] : lexformer::rank(model, "a red car", documents, 10)) ...
/// Errors: the model has more than two classes, or reads single texts.
template <class T, class Dev>
std::vector<RankedDocument> rank(const CrossEncoder<T, Dev>& model, const std::string& query, std::span<const std::string> documents,
                                 std::size_t top = 0, std::size_t batch_size = 32) {
  return detail::rank_by_score(model, query, documents, top, batch_size);
}

/// Ranks documents by the similarity of their vectors with the query's vector, the cosine for most models. For many queries encode the
/// documents once and use nearest_documents().
template <class T, class Dev>
std::vector<RankedDocument> rank(const SentenceEncoder<T, Dev>& model, const std::string& query, std::span<const std::string> documents,
                                 std::size_t top = 0, std::size_t batch_size = 32) {
  return nearest_documents(model.encode({query}), model.encode(documents, batch_size), top, model.options().similarity).front();
}

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE std::vector<RankedDocument> best_documents(std::span<const double> scores, std::size_t top) {
  std::vector<RankedDocument> all;
  for (std::size_t i = 0; i < scores.size(); ++i) all.push_back({i, scores[i]});
  const std::size_t count = top == 0 ? all.size() : std::min(top, all.size());
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(all.begin(), end, all.end(),
                    [](const auto& a, const auto& b) { return a.score != b.score ? a.score > b.score : a.index < b.index; });
  all.resize(count);
  return all;
}

}  // namespace lexformer
#endif
