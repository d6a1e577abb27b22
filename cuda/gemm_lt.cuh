// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "lexformer/core/bfloat16.hpp"

namespace lexformer::cuda {

/// An operation fused with a product op(a) op(b): none; c + bias, with bias (n); or the gradient of a bias, which is written to bias (m):
/// the sums of the rows of op(a).
enum class Epilogue { none, bias, bias_grad };

/// Computes c = alpha op(a) op(b) + beta c with the epilogue, by cuBLASLt. Parameters as in gemm; none of the sizes is 0. Returns false,
/// without any effect, if cuBLASLt has no algorithm for these matrices.
template <class T, class C>
bool gemm_lt(Epilogue epilogue, bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, accumulate_t<T> alpha, const T* a,
             std::size_t lda, const T* b, std::size_t ldb, accumulate_t<T> beta, C* c, std::size_t ldc, const T* bias);

}  // namespace lexformer::cuda
