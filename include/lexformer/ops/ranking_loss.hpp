// SPDX-License-Identifier: MIT
// Losses of models that compare or rank texts: of pairs of vectors (bi-encoders), and of scores (cross-encoders).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "lexformer/ops/index.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/rows.hpp"

namespace lexformer {

namespace detail {

/// One number per row as a constant (N).    Errors: not as many as rows, or one is outside of [least, most].
template <class A, class Dev>
Var<A, Dev> row_labels(const char* where, std::size_t rows, std::span<const double> labels, double least, double most) {
  if (labels.size() != rows || rows == 0) fail(where, labels.size(), " labels for ", rows, " rows; expected one for each, and one or more");
  for (std::size_t i = 0; i < rows; ++i)
    if (!(labels[i] >= least && labels[i] <= most)) fail(where, "label ", labels[i], " of row ", i, " is not in ", least, " .. ", most);
  return Var<A, Dev>(Tensor<A, Dev>::from(std::vector<A>(labels.begin(), labels.end()), {rows}));
}

/// ln(1 + e^x) of each number of x (N), without overflow.
template <class A, class Dev>
Var<A, Dev> softplus(const Var<A, Dev>& x) {
  const std::size_t n = x.size();
  const Var<A, Dev> zeros(Tensor<A, Dev>::zeros({n, 1}));
  return log_sum_exp(concat_columns(std::vector{zeros, reshape(x, {n, 1})}));
}

}  // namespace detail

/// Multiple negatives ranking (Henderson et al. 2017; sentence-transformers' MultipleNegativesRankingLoss). The positive of row i is among
/// the candidates of all rows, and the others are its negatives:
///   loss = mean_i( log sum_j exp(s cos(a_i, c_j)) - s cos(a_i, c_i) ),   C = [positives; negatives_1; negatives_2; ...]
///   anchors, positives (B, D), each of `negatives` (M, D) -> scalar;   s = factor
/// `negatives` are hard negatives; they are shared by all rows. A text that is the positive of two rows is a negative of both, so batches
/// should not hold it twice.    Errors: shapes do not match, B = 0, or the factor is not positive.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> multiple_negatives_ranking(const Var<T, Dev>& anchors, const Var<T, Dev>& positives,
                                                     const std::vector<Var<T, Dev>>& negatives = {}, double factor = 20) {
  using A = accumulate_t<T>;
  const char* const name = "multiple_negatives_ranking";
  if (anchors.shape().rank() != 2 || anchors.dim(0) == 0 || !(anchors.shape() == positives.shape()))
    fail(name, "needs anchors and positives (B, D) of equal shape with B >= 1, got ", anchors.shape(), " and ", positives.shape());
  if (!(factor > 0)) fail(name, "the factor must be positive, got ", factor);
  std::vector<Var<A, Dev>> candidates{l2_normalize(cast<A>(positives))};
  for (const auto& n : negatives) {
    if (n.shape().rank() != 2 || n.dim(1) != anchors.dim(1))
      fail(name, "negatives ", n.shape(), " do not match anchors ", anchors.shape(), "; expected (M, D)");
    candidates.push_back(l2_normalize(cast<A>(n)));
  }
  const NameScope scope(name);
  const auto scores = matmul(l2_normalize(cast<A>(anchors)), concat_rows(candidates), {.transpose_b = true, .scale = factor});
  std::vector<std::int32_t> own(anchors.dim(0));
  std::iota(own.begin(), own.end(), 0);
  return cross_entropy(scores, own);
}

/// Squared error of the cosine (sentence-transformers' CosineSimilarityLoss):   loss = mean_i (cos(a_i, b_i) - y_i)^2
///   a, b (B, D), labels B numbers in [-1, 1] -> scalar.    Errors: shapes do not match, a label is out of range, or B = 0.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> cosine_loss(const Var<T, Dev>& a, const Var<T, Dev>& b, std::span<const double> labels) {
  using A = accumulate_t<T>;
  const NameScope scope("cosine_loss");
  const auto y = cosine_similarity(cast<A>(a), cast<A>(b));
  return mse_loss(y, detail::row_labels<A, Dev>("cosine_loss", y.size(), labels, -1, 1));
}

/// Contrastive loss (Hadsell et al. 2006) of the cosine distance d_i = 1 - cos(a_i, b_i), as sentence-transformers' ContrastiveLoss:
///   loss = mean_i( y_i d_i^2 + (1 - y_i) max(0, margin - d_i)^2 ) / 2
///   a, b (B, D), labels B numbers, 1 = the same, 0 = not -> scalar.
/// Errors: shapes do not match, a label is not in [0, 1], B = 0, or the margin is not positive.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> contrastive_loss(const Var<T, Dev>& a, const Var<T, Dev>& b, std::span<const double> labels,
                                           double margin = 0.5) {
  using A = accumulate_t<T>;
  if (!(margin > 0)) fail("contrastive_loss", "the margin must be positive, got ", margin);
  const NameScope scope("contrastive_loss");
  const auto cosine = cosine_similarity(cast<A>(a), cast<A>(b));
  const auto y = detail::row_labels<A, Dev>("contrastive_loss", cosine.size(), labels, 0, 1);
  const auto distance = add_scalar(scale(cosine, A{-1}), A{1});
  const auto missing = relu(add_scalar(cosine, static_cast<A>(margin - 1)));  // margin - d
  const auto other = add_scalar(scale(y, A{-1}), A{1});
  return scale(mean(add(multiply(y, multiply(distance, distance)), multiply(other, multiply(missing, missing)))), A{0.5});
}

/// Binary cross-entropy of one logit per row, as torch.nn.BCEWithLogitsLoss:
///   loss = mean_i( w y_i ln(1 + e^-x_i) + (1 - y_i) ln(1 + e^x_i) ),   w = positive_weight
///   logits (B) or (B, 1), labels B numbers in [0, 1] -> scalar.    Errors: shapes do not match, a label is out of range, or B = 0.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> binary_cross_entropy(const Var<T, Dev>& logits, std::span<const double> labels, double positive_weight = 1) {
  using A = accumulate_t<T>;
  const Shape& shape = logits.shape();
  if (shape.rank() == 0 || shape.rank() > 2 || (shape.rank() == 2 && shape[1] != 1))
    fail("binary_cross_entropy", "needs logits (B) or (B, 1), got ", shape);
  const NameScope scope("binary_cross_entropy");
  const std::size_t rows = shape[0];
  const auto y = detail::row_labels<A, Dev>("binary_cross_entropy", rows, labels, 0, 1);
  const auto x = reshape(cast<A>(logits), {rows});
  const auto same = scale(multiply(y, detail::softplus(scale(x, A{-1}))), static_cast<A>(positive_weight));
  const auto other = multiply(add_scalar(scale(y, A{-1}), A{1}), detail::softplus(x));
  return mean(add(same, other));
}

/// Margin ranking, as torch.nn.MarginRankingLoss:   loss = mean_i max(0, margin - (p_i - n_i))
///   better p and worse n: scores of equal shape, each pair of the same query -> scalar.    Errors: shapes differ, or they are empty.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> margin_ranking(const Var<T, Dev>& better, const Var<T, Dev>& worse, double margin) {
  using A = accumulate_t<T>;
  if (!(better.shape() == worse.shape()) || better.size() == 0)
    fail("margin_ranking", "needs scores of equal shape, got ", better.shape(), " and ", worse.shape());
  const NameScope scope("margin_ranking");
  return mean(relu(add_scalar(subtract(cast<A>(worse), cast<A>(better)), static_cast<A>(margin))));
}

/// Listwise softmax (ListNet, Cao et al. 2007): the cross-entropy between the relevance of a query's documents and the softmax of their
/// scores, mean over queries:
///   loss = mean_q( -sum_d P_qd log softmax(s_q)_d ),   P_qd = r_qd / sum_d' r_qd'
///   scores (Q, D), relevance Q D numbers r >= 0, row by row -> scalar
/// Queries without relevant documents are left out; if all are, loss and gradient are 0. With in-batch negatives, D is the number of the
/// documents of the batch, and r_qd = 1 for a query's own. (ListNet's P is the softmax of labels: give it as r.) A document of relevance 0
/// may have the score -inf: it is as if it were not there.
/// Errors: shapes do not match, or a relevance is negative or not finite.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> listwise_softmax(const Var<T, Dev>& scores, std::span<const double> relevance) {
  using A = accumulate_t<T>;
  if (scores.shape().rank() != 2 || scores.size() == 0 || scores.size() != relevance.size())
    fail("listwise_softmax", "scores ", scores.shape(), " for ", relevance.size(), " numbers of relevance; expected (queries, documents)");
  const std::size_t queries = scores.dim(0), documents = scores.dim(1);
  std::vector<A> target(relevance.size(), A{0});
  double counted = 0;
  for (std::size_t q = 0; q < queries; ++q) {
    const auto row = relevance.subspan(q * documents, documents);
    for (std::size_t d = 0; d < documents; ++d)
      if (!(row[d] >= 0 && std::isfinite(row[d])))
        fail("listwise_softmax", "the relevance of document ", d, " of query ", q, " is ", row[d], "; expected 0 or more");
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    if (sum == 0) continue;
    ++counted;
    for (std::size_t d = 0; d < documents; ++d) target[q * documents + d] = static_cast<A>(row[d] / sum);
  }
  const NameScope scope("listwise_softmax");
  const auto p = Tensor<A, Dev>::from(target, scores.shape());
  const Var<A, Dev> none(Tensor<A, Dev>::zeros({1}));
  const auto log_p = where(p, log_softmax(cast<A>(scores)), none);  // not read where P is 0, as 0 times -inf is NaN
  return scale(sum(multiply(Var<A, Dev>(p), log_p)), static_cast<A>(-1 / std::max(counted, 1.0)));
}

}  // namespace lexformer
