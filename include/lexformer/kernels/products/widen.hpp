// SPDX-License-Identifier: MIT
// Conversion of matrices between a storage type (bfloat16) and its compute type: on the CPU, matrix products and attention of bfloat16 use
// float copies where the processor does not multiply bfloat16.
#pragma once

#include <algorithm>
#include <cstddef>

#include "lexformer/core/parallel.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer::detail {

/// A contiguous copy of the strided matrix x (rows, columns) in the compute type.
template <class T>
Tensor<accumulate_t<T>> widen(std::size_t rows, std::size_t columns, const T* x, std::size_t stride) {
  Tensor<accumulate_t<T>> y({rows, columns});
  auto* const to = y.mutable_data();
  parallel_for(rows, row_block(columns), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) std::copy_n(x + i * stride, columns, to + i * columns);
  });
  return y;
}

/// y = x, rounded to the type of y.
template <class T, class To>
void convert(std::size_t n, const T* x, To* y) {
  std::transform(x, x + n, y, [](T value) { return static_cast<To>(value); });
}

/// Rounds the contiguous matrix x to the strided matrix y (rows, columns).
template <class A, class T>
void narrow(std::size_t rows, std::size_t columns, const Tensor<A>& x, T* y, std::size_t stride) {
  const A* const from = x.data();
  parallel_for(rows, row_block(columns), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) convert(columns, from + i * columns, y + i * stride);
  });
}

}  // namespace lexformer::detail
