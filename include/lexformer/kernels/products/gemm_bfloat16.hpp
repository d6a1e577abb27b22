// SPDX-License-Identifier: MIT
// The matrix product of bfloat16 (gemm.hpp) without AMX or AVX-512 BF16: by float copies.
#pragma once

#include "lexformer/kernels/products/widen.hpp"

namespace lexformer {

template <class T>  // NOLINTNEXTLINE(readability-redundant-declaration): gemm.hpp includes this file, and not the other way round
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda, const T* b,
          std::size_t ldb, T beta, T* c, std::size_t ldc, const T* bias);

namespace detail {

inline void gemm_by_copies(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const bfloat16* a,
                           std::size_t lda, const bfloat16* b, std::size_t ldb, float beta, float* c, std::size_t ldc, const float* bias) {
  const auto a_wide = widen(trans_a ? k : m, trans_a ? m : k, a, lda), b_wide = widen(trans_b ? n : k, trans_b ? k : n, b, ldb);
  gemm(trans_a, trans_b, m, n, k, alpha, a_wide.data(), a_wide.dim(1), b_wide.data(), b_wide.dim(1), beta, c, ldc, bias);
}

}  // namespace detail

}  // namespace lexformer
