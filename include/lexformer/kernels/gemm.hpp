// SPDX-License-Identifier: MIT
// The matrix product behind one strided, row-major interface. Everything above calls gemm(); what computes one block stands
// in gemm_cpu.hpp, which a program that links lexformer::compiled (LEXFORMER_COMPILED) never includes.
#pragma once

#include <algorithm>
#include <cstddef>

#include "lexformer/core/parallel.hpp"

namespace lexformer {

/// C = alpha op(A) op(B) + beta C on the calling thread, with op(A) (m, k), op(B) (k, n), C (m, n), all row-major;
/// trans_a: A is stored (k, m). lda, ldb, ldc: elements from one stored row to the next. beta = 0 ignores what C holds.
template <class T>
void gemm_serial(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda, const T* b,
                 std::size_t ldb, T beta, T* c, std::size_t ldc);

/// The same product, its rows cut in fixed blocks that run in parallel. k is never split, so the bits do not depend on the
/// number of threads.
template <class T>
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda, const T* b,
          std::size_t ldb, T beta, T* c, std::size_t ldc) {
  // About eight blocks: enough for threads, few enough that packing B anew for each costs little.
  const std::size_t block = std::clamp<std::size_t>((m / 8 + 7) / 8 * 8, 96, 256);
  parallel_for(m, block, [&](std::size_t begin, std::size_t end) {
    gemm_serial(trans_a, trans_b, end - begin, n, k, alpha, a + begin * (trans_a ? 1 : lda), lda, b, ldb, beta, c + begin * ldc, ldc);
  });
}

}  // namespace lexformer

#if defined(LEXFORMER_COMPILED)
namespace lexformer {
extern template void gemm_serial<float>(bool, bool, std::size_t, std::size_t, std::size_t, float, const float*, std::size_t, const float*,
                                        std::size_t, float, float*, std::size_t);
extern template void gemm_serial<double>(bool, bool, std::size_t, std::size_t, std::size_t, double, const double*, std::size_t,
                                         const double*, std::size_t, double, double*, std::size_t);
}  // namespace lexformer
#else
#include "lexformer/kernels/gemm_cpu.hpp"
#endif
