// SPDX-License-Identifier: MIT
// Helpers for calls of cuBLAS.
#pragma once

#include <cublas_v2.h>

#include <type_traits>

#include "device.cuh"

namespace lexformer::cuda {

/// Throws "what at file:line: why" if status is an error.
void check_cublas(cublasStatus_t status, const char* what, const char* file, int line);
#define LEXFORMER_CUBLAS_CHECK(call) ::lexformer::cuda::check_cublas((call), #call, __FILE__, __LINE__)

/// The only handle, on stream().
cublasHandle_t cublas();

/// The cuBLAS data type of T.
template <class T>
constexpr cudaDataType type_of = std::is_same_v<T, float>    ? CUDA_R_32F
                                 : std::is_same_v<T, double> ? CUDA_R_64F
                                                             : CUDA_R_16BF;
/// The cuBLAS compute type for products of type T.
template <class T>
cublasComputeType_t compute_type() {
  return std::is_same_v<T, double>            ? CUBLAS_COMPUTE_64F
         : std::is_same_v<T, float> && tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32
                                              : CUBLAS_COMPUTE_32F;
}

}  // namespace lexformer::cuda
