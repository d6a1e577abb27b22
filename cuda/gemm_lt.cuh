// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "lexformer/core/bfloat16.hpp"

namespace lexformer::cuda {

/// Computes c = alpha op(a) op(b) + bias with c (m, n) and bias (n) in one pass over c, by cuBLASLt. Parameters as in gemm. Returns false,
/// without any effect, if cuBLASLt has no algorithm for these matrices.
template <class T>
bool gemm_with_bias(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, accumulate_t<T> alpha, const T* a,
                    std::size_t lda, const T* b, std::size_t ldb, T* c, std::size_t ldc, const T* bias);

/// Computes c = op(a) op(b) and dbias (m) = the sums of the rows of op(a), in one pass over a. Otherwise as gemm_with_bias.
template <class T>
bool gemm_with_bias_grad(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, const T* a, std::size_t lda, const T* b,
                         std::size_t ldb, T* c, std::size_t ldc, T* dbias);

}  // namespace lexformer::cuda
