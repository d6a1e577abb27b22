// SPDX-License-Identifier: MIT
// Losses that bring vectors near their targets and keep the vectors of a batch apart.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "lexformer/ops/index.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/rows.hpp"

namespace lexformer {

namespace detail {

template <class T, class Dev>
void check_pairs_of_rows(const char* where, const Var<T, Dev>& targets, const Var<T, Dev>& outputs, std::size_t least) {
  if (targets.shape().rank() != 2 || !(targets.shape() == outputs.shape()) || targets.dim(0) < least)
    fail(where, "needs targets and outputs (B, D) of equal shape with B >= ", least, ", got ", targets.shape(), " and ", outputs.shape());
}

/// x_ij where allowed_ij is 1, else -infinity.
template <class T, class Dev>
Var<T, Dev> only_allowed(const Var<T, Dev>& x, const std::vector<T>& allowed) {
  const Var<T, Dev> none(Tensor<T, Dev>::full({1, 1}, -std::numeric_limits<T>::infinity()));
  return where(Tensor<T, Dev>::from(allowed, x.shape()), x, none);
}

}  // namespace detail

/// NT-Xent, the normalized temperature-scaled cross-entropy (Chen et al. 2020), of 2 B rows Z = [targets; outputs], scaled to length 1:
///   loss = mean_a( log sum_{k in K_a} exp(z_a . z_k / tau) - z_a . z_a' / tau ),   a' = the other row of the same pair
///   targets, outputs (B, D), words (B) -> scalar
/// K_a: a' and all rows of other words. Rows of the same word are no negatives of each other; the released code of LOVE counts them.
/// It is the cross-entropy of row a for the class a': both terms read the same product z_a . z_a', so the loss is never below 0.
/// Errors: shapes do not match, B = 0, or tau is not positive.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> nt_xent(const Var<T, Dev>& targets, const Var<T, Dev>& outputs, std::span<const std::int32_t> words, double tau) {
  detail::check_pairs_of_rows("nt_xent", targets, outputs, 1);
  const std::size_t rows = targets.dim(0);
  if (words.size() != rows) fail("nt_xent", words.size(), " words for ", rows, " rows");
  if (!(tau > 0)) fail("nt_xent", "the temperature must be positive, got ", tau);
  const auto z = concat_rows<T, Dev>({l2_normalize(targets), l2_normalize(outputs)});
  std::vector<T> allowed;
  std::vector<std::int32_t> counterparts;
  for (std::size_t a = 0; a < 2 * rows; ++a) {
    counterparts.push_back(static_cast<std::int32_t>((a + rows) % (2 * rows)));
    for (std::size_t k = 0; k < 2 * rows; ++k) {
      const bool counterpart = a != k && a % rows == k % rows;
      allowed.push_back(counterpart || words[a % rows] != words[k % rows] ? T{1} : T{0});
    }
  }
  const auto similarities = matmul(z, z, {.transpose_b = true, .scale = 1 / tau});
  return cross_entropy(detail::only_allowed(similarities, allowed), counterparts);
}

/// Uniformity of rows on the unit sphere (Wang & Isola 2020):  log mean_{i < j} exp(-2 |x_i - x_j|^2),  x (B, D) scaled to length 1.
/// Two orthogonal rows: -4.    Errors: B < 2.
template <class T, class Dev>
Var<T, Dev> uniformity(const Var<T, Dev>& rows) {
  if (rows.shape().rank() != 2 || rows.dim(0) < 2) fail("uniformity", "needs at least two rows (B, D), got ", rows.shape());
  const std::size_t n = rows.dim(0);
  const auto x = l2_normalize(rows);
  std::vector<T> allowed;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) allowed.push_back(i < j ? T{1} : T{0});
  // |x_i - x_j|^2 = 2 - 2 x_i . x_j for rows of length 1.
  const auto exponents = add_scalar(matmul(x, x, {.transpose_b = true, .scale = 4}), accumulate_t<T>{-4});
  const auto sum = log_sum_exp(reshape(detail::only_allowed(exponents, allowed), {1, n * n}));
  const auto pairs = static_cast<accumulate_t<T>>(n) * static_cast<accumulate_t<T>>(n - 1) / 2;
  return mean(add_scalar(sum, -std::log(pairs)));
}

/// Alignment and uniformity (Wang & Isola 2020; LOVE, eq. 6-8), with all rows scaled to length 1:
///   loss = mean_b |x_b - t_b|^2 + lambda (uniformity(targets) + uniformity(outputs)) / 2
/// The targets' term is a constant if the targets are.    Errors: shapes do not match, or B < 2.
template <class T, class Dev>
Var<T, Dev> align_uniform(const Var<T, Dev>& targets, const Var<T, Dev>& outputs, double lambda) {
  detail::check_pairs_of_rows("align_uniform", targets, outputs, 2);
  const auto difference = subtract(l2_normalize(outputs), l2_normalize(targets));
  const auto alignment = mean(row_sum(multiply(difference, difference)));
  return add(alignment, scale(add(uniformity(targets), uniformity(outputs)), static_cast<accumulate_t<T>>(lambda / 2)));
}

/// Mean Euclidean distance of rows: mean_b |x_b - t_b|. Its gradient is 0 where a row equals its target.
template <class T, class Dev>
Var<T, Dev> euclidean_loss(const Var<T, Dev>& targets, const Var<T, Dev>& outputs) {
  detail::check_pairs_of_rows("euclidean_loss", targets, outputs, 1);
  const auto difference = subtract(outputs, targets);
  const Var<T, Dev> least(Tensor<T, Dev>::full({1}, static_cast<T>(1e-30f)));  // the maximum has no gradient for a smaller sum
  return mean(sqrt(maximum(row_sum(multiply(difference, difference)), least)));
}

}  // namespace lexformer
