// SPDX-License-Identifier: MIT
// One row of numbers: sums that are vector code and yet have one order everywhere, softmax, and what attention does to its scores.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/scalar.hpp"

namespace lexformer::row {

/// f(0) + ... + f(n-1) in 16 lanes, so that it becomes vector code and has one order everywhere.
template <class A, class F>
A lane_sum(std::size_t n, F&& f) {
  constexpr std::size_t lanes = 16;
  A acc[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l) acc[l] += f(i + l);
  for (std::size_t l = 0; i < n; ++i, ++l) acc[l] += f(i);
  for (std::size_t half = lanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) acc[l] += acc[l + half];
  return acc[0];
}

/// max(x[0..n-1]), n > 0. A NaN may be passed over: softmax finds it in x - max.
template <class T>
T max(const T* x, std::size_t n) {
  constexpr std::size_t lanes = 16;
  if (n < lanes) {
    T best = x[0];
    for (std::size_t i = 1; i < n; ++i) best = best > x[i] ? best : x[i];
    return best;
  }
  T acc[lanes];
  for (std::size_t l = 0; l < lanes; ++l) acc[l] = x[l];
  std::size_t i = lanes;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l) acc[l] = acc[l] > x[i + l] ? acc[l] : x[i + l];
  for (std::size_t l = 0; i < n; ++i, ++l) acc[l] = acc[l] > x[i] ? acc[l] : x[i];
  for (std::size_t half = lanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) acc[l] = acc[l] > acc[l + half] ? acc[l] : acc[l + half];
  return acc[0];
}

/// row[j] += table[code[j]] - zero
template <class T>
void add_lookup(std::size_t n, const T* table, T zero, const std::uint16_t* code, T* row) {
  for (std::size_t j = 0; j < n; ++j) row[j] += table[code[j]] - zero;
}

/// row = softmax(row); returns log(sum exp(row)), from which `probabilities` makes the row again.
template <class T>
T softmax(std::size_t n, T* row) {
  using A = accumulate_t<T>;
  const T top = max(row, n);
  for (std::size_t j = 0; j < n; ++j) row[j] = scalar::exp(row[j] - top);
  const A total = lane_sum<A>(n, [row](std::size_t j) { return static_cast<A>(row[j]); });
  const T factor = T{1} / static_cast<T>(total);
  for (std::size_t j = 0; j < n; ++j) row[j] *= factor;
  return top + static_cast<T>(std::log(total));
}

/// row = log softmax(row)
template <class T>
void log_softmax(std::size_t n, T* row) {
  using A = accumulate_t<T>;
  const T top = max(row, n);
  for (std::size_t j = 0; j < n; ++j) row[j] -= top;
  // The logarithm is taken off after top, whose size would swallow it.
  const A log_total = std::log(lane_sum<A>(n, [row](std::size_t j) { return static_cast<A>(scalar::exp(row[j])); }));
  for (std::size_t j = 0; j < n; ++j) row[j] -= log_total;
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
  const A dot = lane_sum<A>(n, [=](std::size_t j) { return static_cast<A>(p[j]) * dp[j]; });
  for (std::size_t j = 0; j < n; ++j) dp[j] = p[j] * (dp[j] - dot);
}

}  // namespace lexformer::row
