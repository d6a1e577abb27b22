// SPDX-License-Identifier: MIT
// The matrix product behind one strided, row-major interface. Everything above calls gemm(). Where the compiler may use AVX2 or
// AVX-512 its body is our own (gemm_tile.hpp), elsewhere Eigen's (gemm_eigen.hpp); a program that links lexformer::compiled
// (LEXFORMER_COMPILED) includes neither.
#pragma once

#include <cstddef>

namespace lexformer {

/// C = alpha op(A) op(B) + beta C with op(A) (m, k), op(B) (k, n), C (m, n), all row-major; trans_a: A is stored (k, m), trans_b:
/// B is stored (n, k). lda, ldb, ldc: elements from one stored row to the next. beta = 0 ignores what C holds.
/// With a bias (n) every row of C is alpha op(A) op(B) + bias instead, and beta does not count.
/// The work is cut in fixed blocks that run in parallel (parallel_for; serially inside another parallel_for). k is never split between
/// threads and every element of C is summed in one order, so the bits do not depend on the number of threads; with our own kernel they
/// do not depend on the other rows either.
template <class T>
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda, const T* b,
          std::size_t ldb, T beta, T* c, std::size_t ldc, const T* bias = nullptr);

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
