// SPDX-License-Identifier: MIT
// One row of attention scores: what is added to it, how it becomes probabilities, and the way back.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "lexformer/kernels/cpu.hpp"
#include "lexformer/kernels/scalar.hpp"

namespace lexformer::score_row {

/// row[j] += table[code[j]] - zero
template <class T>
void add_lookup(std::size_t n, const T* table, T zero, const std::uint16_t* code, T* row) {
  for (std::size_t j = 0; j < n; ++j) row[j] += table[code[j]] - zero;
}

/// row = softmax(row); returns log(sum exp(row)), from which `probabilities` makes the row again.
template <class T>
T softmax(std::size_t n, T* row) {
  using A = accumulate_t<T>;
  const T top = detail::row_max(row, n);
  for (std::size_t j = 0; j < n; ++j) row[j] = scalar::exp(row[j] - top);
  const A total = detail::lane_sum<A>(n, [row](std::size_t j) { return static_cast<A>(row[j]); });
  const T factor = T{1} / static_cast<T>(total);
  for (std::size_t j = 0; j < n; ++j) row[j] *= factor;
  return top + static_cast<T>(std::log(total));
}

/// row = exp(row - log_sum)
template <class T>
void probabilities(std::size_t n, T log_sum, T* row) {
  for (std::size_t j = 0; j < n; ++j) row[j] = scalar::exp(row[j] - log_sum);
}

/// ds = p (dp - <p, dp>), written over dp
template <class T>
void softmax_grad(std::size_t n, const T* p, T* dp) {
  using A = accumulate_t<T>;
  const A dot = detail::lane_sum<A>(n, [=](std::size_t j) { return static_cast<A>(p[j]) * dp[j]; });
  for (std::size_t j = 0; j < n; ++j) dp[j] = p[j] * (dp[j] - dot);
}

}  // namespace lexformer::score_row
