// SPDX-License-Identifier: MIT
// Blocking by dense vectors, such as an encoder's: the pairs of rows with the largest cosines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/tables/blocking.hpp"

namespace lexformer {

/// The pairs (i, j) of a left and a right row with a cosine above 0 in which j is one of the `top` best of i or i one of the `top` best of
/// j; of equal cosines the earlier row is the better one. The score is the cosine: exactly 1 for rows whose vectors of
/// length 1 are equal, less for others. Sorted as CandidateSearch::find(). Exact: O(left rows * right rows * size) as products of matrices;
/// memory for top candidates of each row. The same for any number of threads. `progress` is called now and then with the part of the work
/// that is done. keys: of left rows, then of right rows; pairs whose keys do not agree are left out.
/// Errors: vectors of different sizes; top is 0.
std::vector<Candidate> vector_candidates(const Tensor<float>& left, const Tensor<float>& right, std::size_t top,
                                         const std::function<void(double done)>& progress = {}, const BlockingKeys& keys = {});

/// Within one list: pairs of different rows, each once, the earlier row on the left.
std::vector<Candidate> vector_candidates(const Tensor<float>& rows, std::size_t top, const std::function<void(double done)>& progress = {},
                                         const BlockingKeys& keys = {});

/// These pairs of rows with their scores; right: null for one list.
std::vector<Candidate> score_vectors(const Tensor<float>& left, const Tensor<float>* right,
                                     std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs);

/// The cosine of two vectors of length 1 (or 0), `rounded`, as the score of a pair: exactly 1 for equal vectors, less than 1 for others.
float cosine_score(float rounded, const float* a, const float* b, std::size_t d);

/// Why a pair of rows is a candidate or not; right: null for one list. kind: how the vectors are called. keys: as of vector_candidates().
CandidateReason explain_vectors(const Tensor<float>& left, const Tensor<float>* right, std::size_t i, std::size_t j, std::string kind,
                                const BlockingKeys& keys = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/cpu.hpp"
#include "lexformer/ops/nearest.hpp"
#include "lexformer/tables/best_partners.hpp"

namespace lexformer {

namespace detail {

/// right: null for one list.
LEXFORMER_INLINE std::vector<Candidate> vector_pairs(const Tensor<float>& left, const Tensor<float>* right, std::size_t top,
                                                     const std::function<void(double done)>& progress, const BlockingKeys& keys) {
  constexpr std::size_t most_rows = 256, most_columns = 4096;  // of a block of products, which stays in the cache
  if (top == 0) fail_usage("vector_candidates", "a row has 1 candidate or more, not 0");
  const bool one_list = right == nullptr;
  const auto a = unit_rows(left, "vector_candidates");
  const auto b = one_list ? a : unit_rows(*right, "vector_candidates");
  const std::size_t n = a.dim(0), m = b.dim(0), d = a.dim(1);
  if (b.dim(1) != d) fail_usage("vector_candidates", "the left vectors have ", d, " numbers, the right ones ", b.dim(1));
  top = std::min(top, std::max({n, m, std::size_t{1}}));  // no row has more partners
  const auto agree = [&](std::size_t i, std::size_t j) { return keys.agree(i, one_list ? j : n + j); };
  BestPartners lefts(n, top), of_right(one_list ? 0 : m, top);
  BestPartners& rights = one_list ? lefts : of_right;
  Tensor<float> products({std::min(most_rows, n), std::min(most_columns, m)});
  for (std::size_t i0 = 0; i0 < n; i0 += most_rows) {
    const std::size_t rows = std::min(most_rows, n - i0);
    for (std::size_t j0 = 0; j0 < m; j0 += most_columns) {
      const std::size_t columns = std::min(most_columns, m - j0);
      if (one_list && j0 + columns <= i0) continue;
      float* const cosines = products.mutable_data();
      Kernels<Cpu>::gemm(false, true, rows, columns, d, 1.0f, a.data() + i0 * d, d, b.data() + j0 * d, d, 0.0f, cosines, columns);
      // First the partners of rows, then of columns: so no two threads add to the same list, and each list grows in order.
      parallel_for(rows, 8, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
          for (std::size_t j = one_list && i0 + i >= j0 ? i0 + i + 1 - j0 : 0; j < columns; ++j)
            if (const float s = cosines[i * columns + j]; s >= lefts.least(i0 + i) && agree(i0 + i, j0 + j))
              lefts.add(i0 + i, {s, static_cast<std::uint32_t>(j0 + j)});
      });
      parallel_for(columns, 128, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = std::max(begin, one_list && i0 + i >= j0 ? i0 + i + 1 - j0 : 0); j < end; ++j)
            if (const float s = cosines[i * columns + j]; s >= rights.least(j0 + j) && agree(i0 + i, j0 + j))
              rights.add(j0 + j, {s, static_cast<std::uint32_t>(i0 + i)});
      });
    }
    if (progress) progress(static_cast<double>(i0 + rows) / static_cast<double>(n));
  }
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < n; ++i)
    for (const auto& entry : lefts.of(i)) {
      const auto row = static_cast<std::uint32_t>(i);
      all.push_back(one_list && entry.partner < i ? Candidate{entry.partner, row, entry.score}
                                                  : Candidate{row, entry.partner, entry.score});
    }
  for (std::size_t j = 0; !one_list && j < m; ++j)
    for (const auto& entry : rights.of(j)) all.push_back({entry.partner, static_cast<std::uint32_t>(j), entry.score});
  unique_pairs(all);
  for (Candidate& c : all) c.score = cosine_score(c.score, a.data() + c.left * d, b.data() + c.right * d, d);
  sort_candidates(all);
  return all;
}

}  // namespace detail

LEXFORMER_INLINE std::vector<Candidate> vector_candidates(const Tensor<float>& left, const Tensor<float>& right, std::size_t top,
                                                          const std::function<void(double done)>& progress, const BlockingKeys& keys) {
  return detail::vector_pairs(left, &right, top, progress, keys);
}
LEXFORMER_INLINE std::vector<Candidate> vector_candidates(const Tensor<float>& rows, std::size_t top,
                                                          const std::function<void(double done)>& progress, const BlockingKeys& keys) {
  return detail::vector_pairs(rows, nullptr, top, progress, keys);
}

LEXFORMER_INLINE std::vector<Candidate> score_vectors(const Tensor<float>& left, const Tensor<float>* right,
                                                      std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs) {
  const auto a = detail::unit_rows(left, "score_vectors"), b = right == nullptr ? a : detail::unit_rows(*right, "score_vectors");
  const std::size_t d = a.dim(1);
  std::vector<Candidate> scored;
  for (const auto& [i, j] : pairs) {
    const float *const x = a.data() + i * d, *const y = b.data() + j * d;
    scored.push_back({i, j, cosine_score(std::max(0.0f, std::inner_product(x, x + d, y, 0.0f)), x, y, d)});
  }
  return scored;
}

LEXFORMER_INLINE float cosine_score(float rounded, const float* a, const float* b, std::size_t d) {
  return rounded > 0 && std::equal(a, a + d, b) ? 1.0f : std::min(rounded, std::nextafter(1.0f, 0.0f));
}

LEXFORMER_INLINE CandidateReason explain_vectors(const Tensor<float>& left, const Tensor<float>* right, std::size_t i, std::size_t j,
                                                 std::string kind, const BlockingKeys& keys) {
  const bool one_list = right == nullptr;
  const auto a = detail::unit_rows(left, "explain_vectors");
  const auto b = one_list ? a : detail::unit_rows(*right, "explain_vectors");
  const std::size_t d = a.dim(1);
  if (b.dim(1) != d) fail_usage("explain_vectors", "the left vectors have ", d, " numbers, the right ones ", b.dim(1));
  if (i >= a.dim(0) || j >= b.dim(0)) fail_usage("explain_vectors", "there is no such row");
  if (one_list && i == j) fail_usage("explain_vectors", "a row is no candidate of itself");
  CandidateReason reason{std::move(kind)};
  const auto cosine = [&](std::size_t x, std::size_t y) {
    return std::inner_product(a.data() + x * d, a.data() + (x + 1) * d, b.data() + y * d, 0.0f);
  };
  detail::set_ranks(reason, i, j, a.dim(0), b.dim(0), one_list,
                    [&](std::size_t x, std::size_t y) { return keys.agree(x, one_list ? y : a.dim(0) + y) ? cosine(x, y) : 0; });
  reason.score = static_cast<double>(cosine_score(cosine(i, j), a.data() + i * d, b.data() + j * d, d));
  return reason;
}

}  // namespace lexformer
#endif
