// SPDX-License-Identifier: MIT
// What the ops compute, on the CPU.
#pragma once

#include <cstddef>

#include "lexformer/kernels/attention_cpu.hpp"
#include "lexformer/kernels/elementwise_cpu.hpp"
#include "lexformer/kernels/gemm.hpp"
#include "lexformer/kernels/index_cpu.hpp"
#include "lexformer/kernels/loss_cpu.hpp"
#include "lexformer/kernels/rows_cpu.hpp"

namespace lexformer {

template <>
struct Kernels<Cpu> : ElementwiseKernels<Cpu>, RowKernels<Cpu>, IndexKernels<Cpu>, LossKernels<Cpu>, AttentionKernels<Cpu> {
  /// C = alpha op(A) op(B) + beta C, or + bias: gemm.hpp.
  template <class T>
  static void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda,
                   const T* b, std::size_t ldb, T beta, T* c, std::size_t ldc, const T* bias = nullptr) {
    lexformer::gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias);
  }
};

}  // namespace lexformer
