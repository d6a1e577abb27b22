// SPDX-License-Identifier: MIT
// The kernels of the CPU.
#pragma once

#include <cstddef>
#include <type_traits>

#include "lexformer/kernels/additive_cpu.hpp"
#include "lexformer/kernels/attention_cpu.hpp"
#include "lexformer/kernels/crf_cpu.hpp"
#include "lexformer/kernels/elementwise_cpu.hpp"
#include "lexformer/kernels/index_cpu.hpp"
#include "lexformer/kernels/instances.hpp"
#include "lexformer/kernels/loss_cpu.hpp"
#include "lexformer/kernels/lstm_cpu.hpp"
#include "lexformer/kernels/products/gemm.hpp"
#include "lexformer/kernels/rows_cpu.hpp"
#include "lexformer/kernels/wide_attention.hpp"

namespace lexformer {

template <>
template <class T, class C>
void Kernels<Cpu>::gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, accumulate_t<T> alpha, const T* a,
                        std::size_t lda, const T* b, std::size_t ldb, accumulate_t<T> beta, C* c, std::size_t ldc,
                        const std::type_identity_t<T>* bias) {
  if constexpr (is_storage<T>) {
    const auto bias_wide = detail::widen(bias == nullptr ? 0 : 1, n, bias, n);
    const accumulate_t<T>* const added = bias == nullptr ? nullptr : bias_wide.data();
    if constexpr (is_storage<C>) {
      if (beta == 0 && lexformer::gemm_rounded(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, c, ldc, added)) return;
      auto product = beta == 0 ? Tensor<accumulate_t<T>>({m, n}) : detail::widen(m, n, c, ldc);
      lexformer::gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, product.mutable_data(), n, added);
      detail::narrow(m, n, product, c, ldc);
    } else {
      lexformer::gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, added);
    }
  } else {
    lexformer::gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias);
  }
}

template <>
template <class T>
void Kernels<Cpu>::linear_grad(std::size_t rows, std::size_t columns, std::size_t k, const T* dy, std::size_t stride, const T* x, T* dw,
                               T* db) {
  gemm(true, false, columns, k, rows, accumulate_t<T>{1}, dy, stride, x, k, accumulate_t<T>{0}, dw, k);
  RowKernels<Cpu>::column_sum(rows, columns, dy, stride, db);
}

template <>
template <class T>
void Kernels<Cpu>::gemm_batched(std::size_t batch, bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k,
                                accumulate_t<T> alpha, const T* a, std::size_t step_a, const T* b, std::size_t step_b, T* c) {
  const auto multiply = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      gemm(trans_a, trans_b, m, n, k, alpha, a + i * step_a, trans_a ? m : k, b + i * step_b, trans_b ? k : n, accumulate_t<T>{0},
           c + i * m * n, n);
  };
  if (batch < static_cast<std::size_t>(threads()))
    multiply(0, batch);  // the threads share each product
  else
    parallel_for(batch, 1, multiply);
}
#if defined(LEXFORMER_COMPILED)
LEXFORMER_KERNELS(extern, Cpu)
#endif

}  // namespace lexformer
