// SPDX-License-Identifier: MIT
// Principal component analysis of few rows.
#pragma once

#include <cstddef>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer {

struct PrincipalComponents {
  Tensor<double> coordinates;    // (rows, count): of the rows along the components
  std::vector<double> variance;  // of each component, as a share of the total variance; 0 if all rows are equal
};

/// The first `count` principal components of rows (n, D): X - mean = U S V^T, coordinates U S, variances S^2 / sum of all S^2. The number
/// with the largest absolute value of each component is positive. From the eigenvectors of the n x n matrix of inner products by Jacobi's
/// rotations, so it takes O(n^3) and suits hundreds of rows. Errors: not a matrix with rows; a number is not finite; more components than
/// rows.
PrincipalComponents principal_components(const Tensor<float>& rows, std::size_t count);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lexformer/core/error.hpp"

namespace lexformer {

namespace detail {

/// Diagonalises the symmetric matrix a (n, n) in place by cyclic Jacobi rotations; the columns of the result are its eigenvectors.
inline std::vector<double> jacobi_eigenvectors(std::vector<double>& a, std::size_t n) {
  std::vector<double> vectors(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0, all = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) (i == j ? all : off) += a[i * n + j] * a[i * n + j];
    if (off <= 1e-28 * (all + off)) break;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (a[p * n + q] == 0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1)), c = 1 / std::sqrt(t * t + 1), s = t * c;
        const auto rotate = [=](double& x, double& y) {
          const double before = x;
          x = c * before - s * y;
          y = s * before + c * y;
        };
        for (std::size_t k = 0; k < n; ++k) rotate(a[k * n + p], a[k * n + q]);
        for (std::size_t k = 0; k < n; ++k) rotate(a[p * n + k], a[q * n + k]);
        for (std::size_t k = 0; k < n; ++k) rotate(vectors[k * n + p], vectors[k * n + q]);
      }
  }
  return vectors;
}

}  // namespace detail

LEXFORMER_INLINE PrincipalComponents principal_components(const Tensor<float>& rows, std::size_t count) {
  if (rows.shape().rank() != 2 || rows.size() == 0) fail("principal_components", "expected a matrix with rows, got ", rows.shape());
  const std::size_t n = rows.dim(0), d = rows.dim(1);
  if (count > n) fail("principal_components", count, " components of ", n, " rows; there are at most as many as rows");
  std::vector<double> x(rows.span().begin(), rows.span().end());
  for (std::size_t j = 0; j < d; ++j) {
    double mean = 0;
    for (std::size_t i = 0; i < n; ++i) mean += x[i * d + j];
    for (std::size_t i = 0; i < n; ++i) x[i * d + j] -= mean / static_cast<double>(n);
  }
  std::vector<double> products(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      products[i * n + j] =
          std::inner_product(x.begin() + static_cast<std::ptrdiff_t>(i * d), x.begin() + static_cast<std::ptrdiff_t>((i + 1) * d),
                             x.begin() + static_cast<std::ptrdiff_t>(j * d), 0.0);
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isfinite(products[i * n + i])) fail_numeric("principal_components", "row ", i, " is not finite");
  const auto vectors = detail::jacobi_eigenvectors(products, n);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto value = [&](std::size_t k) { return std::max(0.0, products[k * n + k]); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return value(a) > value(b); });
  double total = 0;
  for (std::size_t k = 0; k < n; ++k) total += value(k);
  PrincipalComponents out{Tensor<double>::zeros({n, count}), {}};
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t k = order[c];
    std::size_t largest = 0;
    for (std::size_t i = 1; i < n; ++i)
      if (std::abs(vectors[i * n + k]) > std::abs(vectors[largest * n + k])) largest = i;
    const double scale = std::copysign(std::sqrt(value(k)), vectors[largest * n + k]);
    for (std::size_t i = 0; i < n; ++i) out.coordinates.mutable_data()[i * count + c] = scale * vectors[i * n + k];
    out.variance.push_back(total > 0 ? value(k) / total : 0.0);
  }
  return out;
}

}  // namespace lexformer
#endif
