// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace lexformer {

/// The arrays of gemm_feed_forward() (gemm.hpp), row-major.
template <class T>
struct FeedForward {
  std::size_t rows, in, inner, out;
  const T *x, *w1, *b1, *w2, *b2;                    // (rows, in), (inner, in), (inner), (out, inner), (out)
  void (*activation)(std::size_t count, T* values);  // in place
  T* y;                                              // (rows, out)
};

}  // namespace lexformer
