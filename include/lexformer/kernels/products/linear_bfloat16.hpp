// SPDX-License-Identifier: MIT
// A linear layer in bfloat16 with packed weights, for inference: y = f(x W^T + b), summed in float and rounded once. Call these functions
// only if packs_bfloat16() (instructions.hpp).
#pragma once

#include <cstddef>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/kernels/products/bfloat16_weights.hpp"
#include "lexformer/kernels/products/instructions.hpp"

namespace lexformer {

/// y = f(x W^T + b), x (m, inputs), y (m, outputs), f = GELU (to 2.5e-6) if `gelu`, else the identity. Products, sums, bias and f are in
/// float; only y is rounded. AMX and AVX-512 BF16 take subnormal numbers as 0.
/// y must not overlap x.
/// Parallel over fixed blocks (parallel_for); the bits of a row depend neither on the number of threads nor on the other rows.
void linear_bfloat16(std::size_t m, const bfloat16* x, const Bfloat16Weights& w, bfloat16* y, bool gelu = false);

/// y = GELU(x W_1^T + b_1) W_2^T + b_2, x (m, inputs), y (m, outputs): two layers as above, with the same bits.
void feed_forward_bfloat16(std::size_t m, const bfloat16* x, const Bfloat16Weights& w1, const Bfloat16Weights& w2, bfloat16* y);

}  // namespace lexformer

#if LEXFORMER_BODIES && !defined(LEXFORMER_DISPATCH)
#include "lexformer/kernels/products/linear_bfloat16_tile.hpp"

namespace lexformer {

#if LEXFORMER_LEVEL >= 3
inline void linear_bfloat16(std::size_t m, const bfloat16* x, const Bfloat16Weights& w, bfloat16* y, bool gelu) {
  detail::Bfloat16Product::linear(m, x, w, y, gelu);
}
inline void feed_forward_bfloat16(std::size_t m, const bfloat16* x, const Bfloat16Weights& w1, const Bfloat16Weights& w2, bfloat16* y) {
  detail::Bfloat16Product::feed_forward(m, x, w1, w2, y);
}
#else
inline void linear_bfloat16(std::size_t, const bfloat16*, const Bfloat16Weights&, bfloat16*, bool) {
  fail("linear_bfloat16", "this program has no products of bfloat16");
}
inline void feed_forward_bfloat16(std::size_t, const bfloat16*, const Bfloat16Weights&, const Bfloat16Weights&, bfloat16*) {
  fail("feed_forward_bfloat16", "this program has no products of bfloat16");
}
#endif

}  // namespace lexformer
#endif
