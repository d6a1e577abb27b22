// SPDX-License-Identifier: MIT
// cuBLAS, implemented with lexformer's own matrix product.
#include <numeric>
#include <vector>

#include "cublas_product.hpp"

using cuda_host::is_matrix;
using cuda_host::product;
using cuda_host::size_of;
using cuda_host::wrong;

namespace {
std::size_t computed = 0;
}  // namespace

std::size_t cuda_host::gemm_products() { return computed; }

cublasStatus_t cublasGemmEx_64(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                               std::int64_t k, const void* alpha, const void* a, cudaDataType type_a, std::int64_t lda, const void* b,
                               cudaDataType type_b, std::int64_t ldb, const void* beta, void* c, cudaDataType type_c, std::int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (cuda_host::skips_work()) return ++computed, CUBLAS_STATUS_SUCCESS;
  const bool ta = op_a == CUBLAS_OP_T, tb = op_b == CUBLAS_OP_T, wide = type_a == CUDA_R_64F, narrow = type_a == CUDA_R_16BF;
  if (m <= 0 || n <= 0 || k <= 0 || type_a != type_b || (type_a != type_c && !(narrow && type_c == CUDA_R_32F)) ||
      wide != (compute == CUBLAS_COMPUTE_64F) || (narrow && compute != CUBLAS_COMPUTE_32F) ||
      !is_matrix(a, ta ? k : m, ta ? m : k, lda, type_a) || !is_matrix(b, tb ? n : k, tb ? k : n, ldb, type_b) ||
      !is_matrix(c, m, n, ldc, type_c))
    return wrong("cuBLAS: the types or sizes of the matrices do not fit, or one does not lie in device memory");
  const cuda_host::OpenMemory open;
  using lexformer::bfloat16;
  const auto run = wide                   ? product<double, double>
                   : !narrow              ? product<float, float>
                   : type_c == CUDA_R_32F ? product<bfloat16, float>
                                          : product<bfloat16, bfloat16>;
  ++computed;
  run(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, nullptr);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m,
                                             std::int64_t n, std::int64_t k, const void* alpha, const void* a, cudaDataType type_a,
                                             std::int64_t lda, long long step_a, const void* b, cudaDataType type_b, std::int64_t ldb,
                                             long long step_b, const void* beta, void* c, cudaDataType type_c, std::int64_t ldc,
                                             long long step_c, std::int64_t count, cublasComputeType_t compute,
                                             cublasGemmAlgo_t algorithm) {
  const auto at = [](auto* p, std::int64_t i, long long step, cudaDataType type) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(p)>>, const char, char>;
    return static_cast<Byte*>(p) + i * step * static_cast<long long>(size_of(type));
  };
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  for (std::int64_t i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; ++i)
    status = cublasGemmEx_64(handle, op_a, op_b, m, n, k, alpha, at(a, i, step_a, type_a), type_a, lda, at(b, i, step_b, type_b), type_b,
                             ldb, beta, at(c, i, step_c, type_c), type_c, ldc, compute, algorithm);
  return status;
}

cublasStatus_t cublasGemmGroupedBatchedEx_64(cublasHandle_t handle, const cublasOperation_t op_a[], const cublasOperation_t op_b[],
                                             const std::int64_t m[], const std::int64_t n[], const std::int64_t k[], const void* alpha,
                                             const void* const a[], cudaDataType type_a, const std::int64_t lda[], const void* const b[],
                                             cudaDataType type_b, const std::int64_t ldb[], const void* beta, void* const c[],
                                             cudaDataType type_c, const std::int64_t ldc[], std::int64_t groups, const std::int64_t size[],
                                             cublasComputeType_t compute) {
  if (cuda_host::skips_work()) return ++computed, CUBLAS_STATUS_SUCCESS;
  if (type_a != type_b || type_a != type_c) return wrong("cuBLAS: grouped products take and give one type");
  const std::size_t factor_size = compute == CUBLAS_COMPUTE_64F ? 8 : 4;
  const auto count = static_cast<std::size_t>(std::accumulate(size, size + groups, std::int64_t{0}));
  if (!cuda_host::is_device(a, count * sizeof(*a)) || !cuda_host::is_device(b, count * sizeof(*b)) ||
      !cuda_host::is_device(c, count * sizeof(*c)))
    return wrong("cuBLAS: the lists of pointers do not lie in device memory");
  std::vector<const void*> left, right;
  std::vector<void*> out;
  {
    const cuda_host::OpenMemory open;
    left.assign(a, a + count);
    right.assign(b, b + count);
    out.assign(c, c + count);
  }
  std::size_t product = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const auto factor = [&](const void* list) { return static_cast<const char*>(list) + static_cast<std::size_t>(g) * factor_size; };
    for (const std::size_t end = product + static_cast<std::size_t>(size[g]); product < end; ++product) {
      for (const void* const p : {left[product], right[product], static_cast<const void*>(out[product])})
        if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0) return wrong("cuBLAS: a matrix of a grouped product does not begin at 16 bytes");
      const cublasStatus_t status =
          cublasGemmEx_64(handle, op_a[g], op_b[g], m[g], n[g], k[g], factor(alpha), left[product], type_a, lda[g], right[product], type_b,
                          ldb[g], factor(beta), out[product], type_c, ldc[g], compute, CUBLAS_GEMM_DEFAULT);
      if (status != CUBLAS_STATUS_SUCCESS) return status;
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}
