// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/indices.hpp"

namespace lexformer {

/// Rotary position embedding (Su et al. 2021, "RoFormer", eq. 34): in each head of q and k, rotates the features (2t, 2t + 1)
/// of a token at position m by the angle m w_t, w_t = base^(-2t/d); v is unchanged.
///   y_2t = x_2t cos - x_2t+1 sin,   y_2t+1 = x_2t+1 cos + x_2t sin,   so that positions enter q_i . k_j only as i - j
///   qkv (N, 3 D) with d = D / heads even, positions N integers in 0 .. 2^20 - 1 -> (N, 3 D).    dqkv = dy rotated by the negative angle
/// Errors: shapes do not match, d is odd, or a position is out of range.
template <class T, class Dev>
Var<T, Dev> rotary(const Var<T, Dev>& qkv, const std::type_identity_t<Indices<std::int32_t, Dev>>& positions, std::size_t heads,
                   double base = 10000) {
  if (qkv.shape().rank() != 2 || heads == 0 || qkv.dim(1) % (3 * heads) != 0)
    fail("rotary", "qkv must be (N, 3 D) with D divisible by ", heads, " heads, got ", qkv.shape());
  const std::size_t n = qkv.dim(0), width = qkv.dim(1) / 3, d = width / heads, half = d / 2;
  if (d % 2 != 0) fail("rotary", "the head width must be even, got ", d);
  if (positions.size() != n) fail("rotary", positions.size(), " positions for ", n, " tokens");
  for (const std::int32_t m : positions.min() < 0 ? positions.to_vector() : std::vector<std::int32_t>{})
    if (m < 0) fail("rotary", "position ", m, " is negative");
  const std::size_t last = static_cast<std::size_t>(positions.max());
  if (last >= std::size_t{1} << 20) fail("rotary", "position ", last, " is too large; the largest supported position is 1048575");
  using A = accumulate_t<T>;
  // The table has a row for each position, or for each token where these are fewer, as for a token far from the start.
  std::vector<std::int32_t> position_of(std::min(n, last + 1));
  std::iota(position_of.begin(), position_of.end(), 0);
  Indices<std::int32_t, Dev> row = positions;
  if (n <= last) {
    row = position_of;
    position_of = positions.to_vector();
  }
  const std::size_t rows = position_of.size();
  std::vector<A> turn(rows * d);  // cos and sin for each row and pair of features
  for (std::size_t t = 0; t < half; ++t) {
    const double speed = std::pow(base, -2.0 * static_cast<double>(t) / static_cast<double>(d));
    for (std::size_t i = 0; i < rows; ++i) {
      const double angle = position_of[i] * speed;
      turn[i * d + 2 * t] = static_cast<A>(std::cos(angle));
      turn[i * d + 2 * t + 1] = static_cast<A>(std::sin(angle));
    }
  }
  const auto apply = [=, table = Tensor<A, Dev>::from(turn, {rows, d})](const Tensor<T, Dev>& x, A direction) {
    Tensor<T, Dev> y({n, 3 * width});
    Kernels<Dev>::rotary(n, heads, d, table.data(), row.data(), direction, x.data(), y.mutable_data());
    return y;
  };
  return record("rotary", apply(qkv.value(), A{1}), std::vector{qkv},
                [apply](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> { return {apply(dy, A{-1})}; });
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_ROTARY(word, T) \
  word template Var<T, Cpu> rotary<T, Cpu>(const Var<T, Cpu>&, const Indices<std::int32_t, Cpu>&, std::size_t, double);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_ROTARY(extern, float)
LEXFORMER_ROTARY(extern, double)
#endif

}  // namespace lexformer
