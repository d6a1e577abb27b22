// SPDX-License-Identifier: MIT
// Ranks of given rows among the nearest neighbours of vectors.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer {

/// For each query (Q, D), the rank of rows[target] among the rows (V, D) by cosine in descending order, from 1; of equal cosines the lower
/// row is first. A query of zeros has no cosines: its rank is the largest std::size_t. Computes Q V D products in blocks; memory 256 V
/// numbers. The result does not depend on the number of threads. Errors: shapes do not match; there is no such row.
std::vector<std::size_t> neighbor_ranks(const Tensor<float>& queries, const Tensor<float>& rows, std::span<const std::size_t> targets);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <limits>

#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/cpu.hpp"
#include "lexformer/ops/nearest.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<std::size_t> neighbor_ranks(const Tensor<float>& queries, const Tensor<float>& rows,
                                                         std::span<const std::size_t> targets) {
  const auto left = detail::unit_rows(queries, "neighbor_ranks"), right = detail::unit_rows(rows, "neighbor_ranks");
  const std::size_t count = left.dim(0), all = right.dim(0), d = right.dim(1), block = std::min<std::size_t>(256, count);
  if (left.dim(1) != d) fail("neighbor_ranks", "the queries have ", left.dim(1), " numbers, the rows ", d);
  if (targets.size() != count) fail("neighbor_ranks", count, " queries, but ", targets.size(), " targets");
  for (const std::size_t target : targets)
    if (target >= all) fail("neighbor_ranks", "row ", target, " of ", all);
  std::vector<std::size_t> ranks(count);
  Tensor<float> cosines({block, all});
  float* const products = cosines.mutable_data();
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t part = std::min(block, count - first);
    Kernels<Cpu>::gemm(false, true, part, all, d, 1.0f, left.data() + first * d, d, right.data(), d, 0.0f, products, all);
    parallel_for(part, 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const float *const query = left.data() + (first + i) * d, *const row = products + i * all;
        const std::size_t target = targets[first + i];
        std::size_t before = 0;
        for (std::size_t r = 0; r < all; ++r) before += row[r] > row[target] || (row[r] == row[target] && r < target) ? 1 : 0;
        const bool zero = std::all_of(query, query + d, [](float x) { return x == 0; });
        ranks[first + i] = zero ? std::numeric_limits<std::size_t>::max() : before + 1;
      }
    });
  }
  return ranks;
}

}  // namespace lexformer
#endif
