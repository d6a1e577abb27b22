// SPDX-License-Identifier: MIT
// The matrix products of lexformer::compiled, one function of each kind; src/products*.cpp define them.
#pragma once

#include <cstddef>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/kernels/products/bfloat16_weights.hpp"
#include "lexformer/kernels/products/feed_forward_args.hpp"
#include "lexformer/kernels/products/instructions.hpp"
#include "lexformer/kernels/products/int8_weights.hpp"

namespace lexformer::detail {

/// gemm of gemm.hpp for factors of type In.
template <class In, class T = accumulate_t<In>>
using Gemm = void(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const In* a, std::size_t lda,
                  const In* b, std::size_t ldb, T beta, T* c, std::size_t ldc, const T* bias);

/// The products of one level of instructions; gemm.hpp, linear_bfloat16.hpp and gemm_int8.hpp document them.
struct Products {
  Gemm<float>* gemm_float;
  Gemm<double>* gemm_double;
  Gemm<bfloat16>* gemm_bfloat16;
  bool (*feed_forward_float)(const FeedForward<float>& f);
  bool (*feed_forward_double)(const FeedForward<double>& f);
  bool (*gemm_rounded)(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const bfloat16* a,
                       std::size_t lda, const bfloat16* b, std::size_t ldb, bfloat16* c, std::size_t ldc, const float* bias);
  // Null below avx512.
  void (*linear_bfloat16)(std::size_t m, const bfloat16* x, const Bfloat16Weights& w, bfloat16* y, bool gelu) = nullptr;
  void (*feed_forward_bfloat16)(std::size_t m, const bfloat16* x, const Bfloat16Weights& w1, const Bfloat16Weights& w2,
                                bfloat16* y) = nullptr;
  void (*linear_int8)(std::size_t m, const float* x, std::size_t ldx, const Int8Weights& w, float* y, std::size_t ldy, bool gelu);
  void (*feed_forward_int8)(std::size_t m, const float* x, const Int8Weights& w1, const Int8Weights& w2, float* y);
};

/// Whether this processor has the instructions of a level.
bool has_instructions(Instructions level);
/// The products of a level, for a processor that has it.
Products products(Instructions level);

}  // namespace lexformer::detail
