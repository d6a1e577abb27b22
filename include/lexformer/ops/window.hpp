// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/ragged.hpp"

namespace lexformer {

/// Windows around the tokens of each sequence: row i of y = rows i - before .. i + after of x, side by side; 0 for rows outside of the
/// sequence of i. A convolution over text is linear(window(x, offsets, before, after), weight, bias), weight (out, w D).
///   x (N, D) -> y (N, w D), w = before + 1 + after.    dx[i] = sum_k dy[i + before - k, part k] over the windows of the sequence
/// Errors: x is not a matrix of the offsets' tokens.
template <class T, class Dev>
Var<T, Dev> window(const Var<T, Dev>& x, const Offsets& offsets, std::size_t before, std::size_t after) {
  detail::check_token_rows("window", "x", x.shape(), offsets);
  const std::size_t n = x.dim(1), sequences = offsets.sequences();
  const auto begin = offsets.on<Dev>().token;
  Tensor<T, Dev> y({x.dim(0), (before + 1 + after) * n});
  Kernels<Dev>::window(sequences, n, before, after, begin.data(), x.value().data(), y.mutable_data());
  return record("window", y, std::vector{x}, [=, shape = x.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(shape);
    Kernels<Dev>::window_grad(sequences, n, before, after, begin.data(), dy.data(), dx.mutable_data());
    return {dx};
  });
}

}  // namespace lexformer
