// SPDX-License-Identifier: MIT
// Functions of one row: vectorized sums in a fixed order, softmax, and steps of attention. All except Wide and masked expect compute
// types, not storage types.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/dropout_mask.hpp"
#include "lexformer/kernels/scalar.hpp"

namespace lexformer::row {

/// f(0) + ... + f(n-1), summed in 16 lanes: vectorized, with the same order on every machine.
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

/// The same sum of f over several ascending ranges of 0 .. n-1, where f is 0 elsewhere: the same bits as lane_sum over all of them.
template <class A>
class LaneSum {
 public:
  template <class F>
  void add(std::size_t begin, std::size_t end, F&& f) {
    std::size_t i = begin;
    for (; i < end && i % lanes != 0; ++i) acc_[i % lanes] += f(i);
    for (; i + lanes <= end; i += lanes)
      for (std::size_t l = 0; l < lanes; ++l) acc_[l] += f(i + l);
    for (; i < end; ++i) acc_[i % lanes] += f(i);
  }
  A total() const {
    return lane_sum<A>(lanes, [this](std::size_t l) { return acc_[l]; });
  }

 private:
  static constexpr std::size_t lanes = 16;
  A acc_[lanes] = {};
};

/// max(x[0..n-1]), n > 0. May ignore NaN: softmax propagates it through x - max.
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

/// A row of a tensor in the compute type: in the output row itself, or in a buffer if T is only a storage type.
template <class T>
class Wide {
 public:
  /// Copies x into the row for an output y, and returns the row.
  template <class From>
  accumulate_t<T>* read(std::size_t n, const From* x, T* y) {
    accumulate_t<T>* const row = place(n, y);
    std::copy_n(x, n, row);
    return row;
  }
  /// Returns an uninitialized row of n elements for an output y.
  accumulate_t<T>* place(std::size_t n, T* y) {
    if constexpr (is_storage<T>) {
      buffer_.resize(n);
      return buffer_.data();
    } else {
      return y;
    }
  }
  /// Rounds the row to y.
  void write(T* y) const {
    if constexpr (is_storage<T>) std::transform(buffer_.begin(), buffer_.end(), y, [](auto x) { return static_cast<T>(x); });
  }

 private:
  std::vector<accumulate_t<T>> buffer_;
};

/// y = x * mask for the mask elements first .. first + n - 1; y may be x.
template <class T>
void masked(const DropoutMask& mask, std::uint64_t first, std::size_t n, const T* x, T* y) {
  constexpr std::size_t most = 512;
  accumulate_t<T> keep[most];
  for (std::size_t begin = 0; begin < n; begin += most) {
    const std::size_t count = std::min(most, n - begin);
    mask.fill(first + begin, count, keep);
    for (std::size_t j = 0; j < count; ++j) y[begin + j] = static_cast<T>(x[begin + j] * keep[j]);
  }
}

/// row[j] += table[code[j]] - zero
template <class T>
void add_lookup(std::size_t n, const T* table, T zero, const std::uint16_t* code, T* row) {
  for (std::size_t j = 0; j < n; ++j) row[j] += table[code[j]] - zero;
}

/// row = softmax(row). Returns log(sum exp(row)), from which `probabilities` recomputes the row.
template <class T>
T softmax(std::size_t n, T* row) {
  const T top = max(row, n);
  for (std::size_t j = 0; j < n; ++j) row[j] = scalar::exp(row[j] - top);
  const T total = lane_sum<T>(n, [row](std::size_t j) { return row[j]; });
  const T factor = T{1} / total;
  for (std::size_t j = 0; j < n; ++j) row[j] *= factor;
  return top + std::log(total);
}

/// row = log softmax(row)
template <class T>
void log_softmax(std::size_t n, T* row) {
  const T top = max(row, n);
  for (std::size_t j = 0; j < n; ++j) row[j] -= top;
  // Subtracted after top, not added to it: a large top would absorb it.
  const T log_total = std::log(lane_sum<T>(n, [row](std::size_t j) { return scalar::exp(row[j]); }));
  for (std::size_t j = 0; j < n; ++j) row[j] -= log_total;
}

/// row = exp(row - logsumexp)
template <class T>
void probabilities(std::size_t n, T logsumexp, T* row) {
  for (std::size_t j = 0; j < n; ++j) row[j] = scalar::exp(row[j] - logsumexp);
}

/// dp = p (dp - <p, dp>), in place
template <class P, class T>
void softmax_grad(std::size_t n, const P* p, T* dp) {
  const T dot = lane_sum<T>(n, [=](std::size_t j) { return p[j] * dp[j]; });
  for (std::size_t j = 0; j < n; ++j) dp[j] = p[j] * (dp[j] - dot);
}

}  // namespace lexformer::row
