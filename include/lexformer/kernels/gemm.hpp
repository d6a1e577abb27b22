// SPDX-License-Identifier: MIT
// The matrix product, with a strided row-major interface. With AVX2 or AVX-512 enabled, the implementation is gemm_tile.hpp, else
// Eigen's (gemm_eigen.hpp). Programs that link lexformer::compiled (LEXFORMER_COMPILED) include neither.
#pragma once

#include <cstddef>

#include "lexformer/core/bfloat16.hpp"

namespace lexformer {

/// Matrix product C = alpha op(A) op(B) + beta C with op(A) (m, k), op(B) (k, n), C (m, n), all row-major. With trans_a, A is stored as
/// (k, m); with trans_b, B is stored as (n, k). lda, ldb, ldc: distance between stored rows in elements. beta = 0 ignores the values of C.
/// With a bias (n), C = alpha op(A) op(B) + bias for each row, and beta is ignored.
/// The work is split into fixed blocks that run in parallel (parallel_for; serially inside another parallel_for). k is never split
/// between threads, and each element of C is summed in a fixed order, so the bits do not depend on the number of threads; with
/// gemm_tile.hpp, they do not depend on the other rows either.
template <class T>
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda, const T* b,
          std::size_t ldb, T beta, T* c, std::size_t ldc, const T* bias = nullptr);

/// The same for op(A) and op(B) of bfloat16. With AVX-512 BF16 enabled, pairs of them are multiplied and summed in float by one
/// instruction, which takes subnormal numbers as 0; else they are converted to float.
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const bfloat16* a, std::size_t lda,
          const bfloat16* b, std::size_t ldb, float beta, float* c, std::size_t ldc, const float* bias = nullptr);

}  // namespace lexformer

#if defined(LEXFORMER_COMPILED)
namespace lexformer {
extern template void gemm<float>(bool, bool, std::size_t, std::size_t, std::size_t, float, const float*, std::size_t, const float*,
                                 std::size_t, float, float*, std::size_t, const float*);
extern template void gemm<double>(bool, bool, std::size_t, std::size_t, std::size_t, double, const double*, std::size_t, const double*,
                                  std::size_t, double, double*, std::size_t, const double*);
}  // namespace lexformer
#elif defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include "lexformer/kernels/gemm_tile.hpp"
#else
#include "lexformer/kernels/gemm_eigen.hpp"
#endif
#if !defined(LEXFORMER_COMPILED)
#include "lexformer/kernels/gemm_bfloat16.hpp"
#endif
