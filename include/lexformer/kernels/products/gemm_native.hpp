// SPDX-License-Identifier: MIT
// The matrix products of the headers alone (gemm.hpp), for the instructions that the compiler may use.
#pragma once

#include "lexformer/kernels/products/gemm_amx.hpp"
#include "lexformer/kernels/products/gemm_bfloat16.hpp"
#include "lexformer/kernels/products/instructions.hpp"
#if LEXFORMER_LEVEL >= 1
#include "lexformer/kernels/products/gemm_tile.hpp"
#else
#include "lexformer/kernels/products/gemm_eigen.hpp"
#endif

namespace lexformer {

namespace detail {
#if LEXFORMER_LEVEL >= 6
using Bfloat16GemmTile = AmxGemmTile;
#elif LEXFORMER_LEVEL >= 5
using Bfloat16GemmTile = GemmTile<bfloat16>;
#elif LEXFORMER_LEVEL >= 1
using Bfloat16GemmTile = WideTile;
#endif
}  // namespace detail

template <class T>
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda, const T* b,
          std::size_t ldb, T beta, T* c, std::size_t ldc, const T* bias) {
#if LEXFORMER_LEVEL >= 1
  detail::BlockedGemm<detail::GemmTile<T>>::product(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias);
#else
  detail::gemm_eigen(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias);
#endif
}

template <class T>
bool gemm_feed_forward([[maybe_unused]] const FeedForward<T>& f) {
#if LEXFORMER_LEVEL >= 1
  return detail::BlockedGemm<detail::GemmTile<T>>::feed_forward(f);
#else
  return false;
#endif
}

inline void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const bfloat16* a, std::size_t lda,
                 const bfloat16* b, std::size_t ldb, float beta, float* c, std::size_t ldc, const float* bias) {
#if LEXFORMER_LEVEL >= 1
  detail::BlockedGemm<detail::Bfloat16GemmTile>::product(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias);
#else
  detail::gemm_by_copies(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias);
#endif
}

#if LEXFORMER_LEVEL >= 1
inline bool gemm_rounded(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const bfloat16* a,
                         std::size_t lda, const bfloat16* b, std::size_t ldb, bfloat16* c, std::size_t ldc, const float* bias) {
  return detail::BlockedGemm<detail::Bfloat16GemmTile>::rounded_product(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, c, ldc, bias);
}
#else
inline bool gemm_rounded(bool, bool, std::size_t, std::size_t, std::size_t, float, const bfloat16*, std::size_t, const bfloat16*,
                         std::size_t, bfloat16*, std::size_t, const float*) {
  return false;
}
#endif

}  // namespace lexformer
