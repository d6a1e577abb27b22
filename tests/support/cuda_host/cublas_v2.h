// SPDX-License-Identifier: MIT
// A replacement for cuBLAS's header: the calls that cuda/ makes, implemented with lexformer's own matrix product.
#pragma once

#include <cstdint>

#include "cuda_runtime.h"

#define CUBLAS_VERSION 130000

enum cudaDataType { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16BF = 14 };
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
using cublasHandle_t = struct cublasContext*;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) { return *handle = nullptr, CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
inline const char* cublasGetStatusString(cublasStatus_t) { return cudaGetErrorString(cudaErrorInvalidValue); }

/// C = alpha op(A) op(B) + beta C, column-major. A and B have the same type; C has this type, or float if they are bfloat16. TF32 is not
/// simulated.
cublasStatus_t cublasGemmEx_64(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                               std::int64_t k, const void* alpha, const void* a, cudaDataType type_a, std::int64_t lda, const void* b,
                               cudaDataType type_b, std::int64_t ldb, const void* beta, void* c, cudaDataType type_c, std::int64_t ldc,
                               cublasComputeType_t, cublasGemmAlgo_t);
/// The same for `count` products; the strides between their matrices are in elements.
cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                                             std::int64_t k, const void* alpha, const void* a, cudaDataType type_a, std::int64_t lda,
                                             long long step_a, const void* b, cudaDataType type_b, std::int64_t ldb, long long step_b,
                                             const void* beta, void* c, cudaDataType type_c, std::int64_t ldc, long long step_c,
                                             std::int64_t count, cublasComputeType_t, cublasGemmAlgo_t);
/// For groups of products of equal size. The lists of sizes and factors are in host memory, those of pointers in device memory. All types
/// are equal, and the matrices are aligned to 16 bytes.
cublasStatus_t cublasGemmGroupedBatchedEx_64(cublasHandle_t, const cublasOperation_t op_a[], const cublasOperation_t op_b[],
                                             const std::int64_t m[], const std::int64_t n[], const std::int64_t k[], const void* alpha,
                                             const void* const a[], cudaDataType type_a, const std::int64_t lda[], const void* const b[],
                                             cudaDataType type_b, const std::int64_t ldb[], const void* beta, void* const c[],
                                             cudaDataType type_c, const std::int64_t ldc[], std::int64_t groups, const std::int64_t size[],
                                             cublasComputeType_t);

namespace cuda_host {
/// The number of products that cuBLAS has computed, without cuBLASLt's.
std::size_t gemm_products();
}  // namespace cuda_host
