// SPDX-License-Identifier: MIT
// The matrix product, with a strided row-major interface. The implementation is gemm_blocks.hpp on processors with AVX2 or AVX-512, else
// Eigen's (gemm_eigen.hpp). Programs that link lexformer::compiled include neither: it chooses when the program runs (instructions.hpp).
#pragma once

#include <cstddef>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/kernels/products/instructions.hpp"

namespace lexformer {

template <class T>
struct FeedForward;  // kernels/products/feed_forward_args.hpp

/// Matrix product C = alpha op(A) op(B) + beta C with op(A) (m, k), op(B) (k, n), C (m, n), all row-major. With trans_a, A is stored as
/// (k, m); with trans_b, B is stored as (n, k). lda, ldb, ldc: distance between stored rows in elements. beta = 0 ignores the values of C.
/// With a bias (n), C = alpha op(A) op(B) + bias for each row, and beta is ignored.
/// The work is split into fixed blocks that run in parallel (parallel_for; serially inside another parallel_for). k is never split
/// between threads, and each element of C is summed in a fixed order, so the bits do not depend on the number of threads; with
/// gemm_blocks.hpp, they do not depend on the other rows either.
template <class T>
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda, const T* b,
          std::size_t ldb, T beta, T* c, std::size_t ldc, const T* bias = nullptr);

/// The same for op(A) and op(B) of bfloat16. AMX and AVX-512 BF16 multiply them as they are and sum in float, with subnormal numbers taken
/// as 0; other levels (instructions.hpp) convert them to float.
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const bfloat16* a, std::size_t lda,
          const bfloat16* b, std::size_t ldb, float beta, float* c, std::size_t ldc, const float* bias = nullptr);

/// C = alpha op(A) op(B), or + bias, with C of bfloat16, rounded once, in one pass. False, and C is not changed, if Eigen computes
/// products (no AVX2), a large k or k = 0 needs a product in float first.
bool gemm_rounded(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const bfloat16* a, std::size_t lda,
                  const bfloat16* b, std::size_t ldb, bfloat16* c, std::size_t ldc, const float* bias = nullptr);

/// y = f(x w1^T + b1) w2^T + b2, f the activation: two products by gemm(), with the same bits, over blocks of rows whose inner values stay
/// in a cache. Parallel; the activation is called on any thread and must not compute products. False, and y is not changed, if there are
/// few rows, the weights are large, `in` or `inner` is 0, or products are Eigen's (no AVX2): then call gemm() twice.
template <class T>
bool gemm_feed_forward(const FeedForward<T>& f);

}  // namespace lexformer

#if LEXFORMER_BODIES && !defined(LEXFORMER_DISPATCH)
#include "lexformer/kernels/products/gemm_native.hpp"
#else
namespace lexformer {
extern template void gemm<float>(bool, bool, std::size_t, std::size_t, std::size_t, float, const float*, std::size_t, const float*,
                                 std::size_t, float, float*, std::size_t, const float*);
extern template void gemm<double>(bool, bool, std::size_t, std::size_t, std::size_t, double, const double*, std::size_t, const double*,
                                  std::size_t, double, double*, std::size_t, const double*);
extern template bool gemm_feed_forward<float>(const FeedForward<float>&);
extern template bool gemm_feed_forward<double>(const FeedForward<double>&);
}  // namespace lexformer
#endif
