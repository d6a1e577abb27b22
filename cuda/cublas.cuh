// SPDX-License-Identifier: MIT
// What calls of cuBLAS have in common.
#pragma once

#include <cublas_v2.h>

#include <type_traits>

#include "device.cuh"

namespace lexformer::cuda {

/// Throws "what at file:line: why".
void check_cublas(cublasStatus_t status, const char* what, const char* file, int line);
#define LEXFORMER_CUBLAS_CHECK(call) ::lexformer::cuda::check_cublas((call), #call, __FILE__, __LINE__)

/// The one handle, on the stream that everything is queued on.
cublasHandle_t cublas();

/// What cuBLAS calls a type.
template <class T>
constexpr cudaDataType type_of = std::is_same_v<T, float>    ? CUDA_R_32F
                                 : std::is_same_v<T, double> ? CUDA_R_64F
                                                             : CUDA_R_16BF;
/// How it multiplies numbers of type T.
template <class T>
cublasComputeType_t compute_type() {
  return std::is_same_v<T, double>            ? CUBLAS_COMPUTE_64F
         : std::is_same_v<T, float> && tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32
                                              : CUBLAS_COMPUTE_32F;
}

}  // namespace lexformer::cuda
