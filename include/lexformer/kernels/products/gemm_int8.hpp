// SPDX-License-Identifier: MIT
// A linear layer in 8 bits, for inference: y = f(x W^T + b) with x and W rounded to integers and exact 32-bit sums of their products.
// The products are computed by AMX, AVX-512 VNNI, AVX-VNNI, AVX2 or plain C++ (gemm_int8_tile.hpp, instructions.hpp). All of them give the
// same integers, and the steps before and after them are rounded alike, so y has the same bits.
#pragma once

#include <cstddef>

#include "lexformer/core/compiled.hpp"
#include "lexformer/kernels/products/int8_weights.hpp"

namespace lexformer {

/// y = f(x W^T + b), x (m, inputs), y (m, outputs), f = GELU (to 2.5e-6) if `gelu`, else the identity.
/// A row of x is rounded to s (u - z): from l = min(0, min x) to h = max(0, max x) in 255 steps s = (h - l) / 255, with the integers
/// z = round(-l / s) and u = round(x / s) + z, limited to 0 ... 255; so 0 stays 0. Then y(i, j) = f(s_i t_j (sum_p u(i, p) q(j, p) -
/// z_i sum_p q(j, p)) + b_j) with the scale t_j of output j; the product of the two sums is exact, s_i is multiplied before t_j.
/// A row that holds NaN or inf, or whose h - l overflows, gives NaN; one with h - l < 1e-30 counts as zeros.
/// Parallel over fixed blocks (parallel_for); the bits of a row depend neither on the number of threads nor on the other rows.
void linear_int8(std::size_t m, const float* x, std::size_t ldx, const Int8Weights& w, float* y, std::size_t ldy, bool gelu = false);

/// y = GELU(x W_1^T + b_1) W_2^T + b_2, x (m, inputs), y (m, outputs), contiguous: two layers as above, with the same bits.
void feed_forward_int8(std::size_t m, const float* x, const Int8Weights& w1, const Int8Weights& w2, float* y);

}  // namespace lexformer

#if LEXFORMER_BODIES && !defined(LEXFORMER_DISPATCH)
#include "lexformer/kernels/products/gemm_int8_tile.hpp"

namespace lexformer {

inline void linear_int8(std::size_t m, const float* x, std::size_t ldx, const Int8Weights& w, float* y, std::size_t ldy, bool gelu) {
  detail::Int8Product::linear(m, x, ldx, w, y, ldy, gelu);
}
inline void feed_forward_int8(std::size_t m, const float* x, const Int8Weights& w1, const Int8Weights& w2, float* y) {
  detail::Int8Product::feed_forward(m, x, w1, w2, y);
}

}  // namespace lexformer
#endif
