// SPDX-License-Identifier: MIT
// Shared by the replacements of cuBLAS and cuBLASLt.
#pragma once

#include "cublas_v2.h"
#include "lexformer/kernels/cpu.hpp"

namespace cuda_host {

inline std::size_t size_of(cudaDataType type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

/// Whether a matrix of `columns` columns with `rows` numbers each, at distance ld, lies in device memory.
inline bool is_matrix(const void* p, std::int64_t rows, std::int64_t columns, std::int64_t ld, cudaDataType type) {
  return ld >= rows && is_device(p, static_cast<std::size_t>((columns - 1) * ld + rows) * size_of(type));
}

/// The rows of lexformer's product are cuBLAS's columns, so the factors are exchanged.
template <class T, class C>
void product(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a, std::int64_t lda,
             const void* b, std::int64_t ldb, const void* beta, void* c, std::int64_t ldc, const void* bias) {
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  using A = lexformer::accumulate_t<T>;
  lexformer::Kernels<lexformer::Cpu>::gemm(trans_b, trans_a, size(n), size(m), size(k), *static_cast<const A*>(alpha),
                                           static_cast<const T*>(b), size(ldb), static_cast<const T*>(a), size(lda),
                                           *static_cast<const A*>(beta), static_cast<C*>(c), size(ldc), static_cast<const T*>(bias));
}

inline cublasStatus_t wrong(const char* what) {
  failed(cudaErrorInvalidValue, what);
  return CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace cuda_host
