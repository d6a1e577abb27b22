// SPDX-License-Identifier: MIT
// Nearest neighbours by cosine, by comparing all rows of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer {

/// For each row of vectors (V, D), the numbers of the other rows of cosine `least` or more, at most `most`, the nearest first (equal ones
/// in ascending order). Computes V^2 D products in blocks; memory 256 V numbers. A row of zeros has no neighbours.
/// The result does not depend on the number of threads. Errors: vectors is not a matrix.
std::vector<std::vector<std::uint32_t>> nearest_rows(const Tensor<float>& vectors, std::size_t most, double least);

namespace detail {
/// The rows scaled to length 1; rows of zeros stay. Errors: x is not a matrix.
Tensor<float> unit_rows(const Tensor<float>& x, const char* where);
}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>

#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/cpu.hpp"

namespace lexformer {

namespace detail {
LEXFORMER_INLINE Tensor<float> unit_rows(const Tensor<float>& x, const char* where) {
  if (x.shape().rank() != 2) fail(where, "needs a matrix of vectors, got ", x.shape());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x.data()[i])) fail_numeric(where, "vector ", i / x.dim(1) + 1, " has the value ", x.data()[i]);
  Tensor<float> y(x.shape()), norm({x.dim(0)});
  Kernels<Cpu>::l2_normalize(x.dim(0), x.dim(1), 1e-12f, x.data(), y.mutable_data(), norm.mutable_data());
  return y;
}
}  // namespace detail

LEXFORMER_INLINE std::vector<std::vector<std::uint32_t>> nearest_rows(const Tensor<float>& vectors, std::size_t most, double least) {
  const auto unit = detail::unit_rows(vectors, "nearest_rows");
  const std::size_t rows = unit.dim(0), d = unit.dim(1), block = std::min<std::size_t>(256, rows);
  std::vector<std::vector<std::uint32_t>> lists(rows);
  Tensor<float> cosines({block, rows});
  float* const products = cosines.mutable_data();
  for (std::size_t first = 0; first < rows; first += block) {
    const std::size_t count = std::min(block, rows - first);
    Kernels<Cpu>::gemm(false, true, count, rows, d, 1.0f, unit.data() + first * d, d, unit.data(), d, 0.0f, products, rows);
    parallel_for(count, 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const float* const row = products + i * rows;
        auto& list = lists[first + i];
        for (std::size_t j = 0; j < rows; ++j)
          if (j != first + i && static_cast<double>(row[j]) >= least && row[j] != 0) list.push_back(static_cast<std::uint32_t>(j));
        std::stable_sort(list.begin(), list.end(), [row](std::uint32_t a, std::uint32_t b) { return row[a] > row[b]; });
        if (list.size() > most) list.resize(most);
      }
    });
  }
  return lists;
}

}  // namespace lexformer
#endif
