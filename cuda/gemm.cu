// SPDX-License-Identifier: MIT
// The matrix product: by cuBLASLt, but by cuBLAS in double, in batches, and where cuBLASLt has no algorithm.
#include <atomic>

#include "cublas.cuh"
#include "gemm_lt.cuh"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"

namespace lexformer {
namespace cuda {
namespace {

std::atomic<bool>& tf32_allowed() {
  static std::atomic<bool> allowed{false};
  return allowed;
}

/// Initializes each row of c with the bias, or if there is none with factor * c; factor 0 ignores the values of c.
template <class T, class C>
__global__ void start_kernel(std::size_t rows, std::size_t n, accumulate_t<T> factor, const T* bias, C* c, std::size_t stride) {
  for (std::size_t r = first_row(); r < rows; r += row_step())
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) {
      C& value = c[r * stride + j];
      value = static_cast<C>(bias != nullptr ? static_cast<accumulate_t<T>>(bias[j]) : factor == 0 ? 0 : factor * value);
    }
}

}  // namespace

void check_cublas(cublasStatus_t status, const char* what, const char* file, int line) {
  if (status != CUBLAS_STATUS_SUCCESS) fail_at(what, file, line, cublasGetStatusString(status));
}

cublasHandle_t cublas() {
  static_cast<void>(stream());  // selects the device for this thread, also after the first call
  static const cublasHandle_t instance = [] {
    const cudaStream_t queue = stream();
    cublasHandle_t made = nullptr;
    LEXFORMER_CUBLAS_CHECK(cublasCreate(&made));
    LEXFORMER_CUBLAS_CHECK(cublasSetStream(made, queue));
    // Partial sums of bfloat16 are also added in float.
    LEXFORMER_CUBLAS_CHECK(
        cublasSetMathMode(made, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
    return made;
  }();
  return instance;
}

void set_tf32(bool on) { tf32_allowed() = on; }
bool tf32() { return tf32_allowed(); }

}  // namespace cuda

template <>
template <class T, class C>
void Kernels<Cuda>::gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, accumulate_t<T> alpha, const T* a,
                         std::size_t lda, const T* b, std::size_t ldb, accumulate_t<T> beta, C* c, std::size_t ldc,
                         const std::type_identity_t<T>* bias) {
  using namespace cuda;
  if (m == 0 || n == 0) return;
  constexpr bool lt = !std::is_same_v<T, double>;  // for double it supports no bias
  if constexpr (lt && std::is_same_v<T, C>)
    if (bias != nullptr && k > 0 &&
        gemm_lt(Epilogue::bias, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, accumulate_t<T>{0}, c, ldc, bias))
      return;
  if (bias != nullptr || k == 0) {
    const RowLaunch by_rows(m, n);
    launch(LEXFORMER_KERNEL((start_kernel<T, C>)), by_rows.grid, by_rows.block, 0, m, n, beta, bias, c, ldc);
    beta = 1;
  }
  if (k == 0) return;
  if constexpr (lt)
    if (gemm_lt<T>(Epilogue::none, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, nullptr)) return;
  // cuBLAS is column-major: it sees the transposed matrices, so we compute C^T = op(B)^T op(A)^T.
  const auto size = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  LEXFORMER_CUBLAS_CHECK(cublasGemmEx_64(cublas(), trans_b ? CUBLAS_OP_T : CUBLAS_OP_N, trans_a ? CUBLAS_OP_T : CUBLAS_OP_N, size(n),
                                         size(m), size(k), &alpha, b, type_of<T>, size(ldb), a, type_of<T>, size(lda), &beta, c, type_of<C>,
                                         size(ldc), compute_type<T>(), CUBLAS_GEMM_DEFAULT));
}

template <>
template <class T>
void Kernels<Cuda>::linear_grad(std::size_t rows, std::size_t columns, std::size_t k, const T* dy, std::size_t stride, const T* x, T* dw,
                                T* db) {
  if constexpr (!std::is_same_v<T, double>)
    if (rows * columns * k > 0 && cuda::gemm_lt(cuda::Epilogue::bias_grad, true, false, columns, k, rows, accumulate_t<T>{1}, dy, stride, x,
                                                k, accumulate_t<T>{0}, dw, k, static_cast<const T*>(db)))
      return;
  gemm(true, false, columns, k, rows, accumulate_t<T>{1}, dy, stride, x, k, accumulate_t<T>{0}, dw, k);
  RowKernels<Cuda>::column_sum(rows, columns, dy, stride, db);
}

template <>
template <class T>
void Kernels<Cuda>::gemm_batched(std::size_t batch, bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k,
                                 accumulate_t<T> alpha, const T* a, std::size_t step_a, const T* b, std::size_t step_b, T* c) {
  using namespace cuda;
  using A = accumulate_t<T>;
  const std::size_t lda = trans_a ? m : k, ldb = trans_b ? k : n;
  if (batch == 1) return gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, A{0}, c, n);
  if (batch * m * n == 0) return;
  if (k == 0) return Memory<Cuda>::zero(c, batch * m * n * sizeof(T));
  const auto size = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  const auto step = [](std::size_t value) { return static_cast<long long>(value); };
  const A zero{0};
  LEXFORMER_CUBLAS_CHECK(cublasGemmStridedBatchedEx_64(cublas(), trans_b ? CUBLAS_OP_T : CUBLAS_OP_N, trans_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                                                       size(n), size(m), size(k), &alpha, b, type_of<T>, size(ldb), step(step_b), a,
                                                       type_of<T>, size(lda), step(step_a), &zero, c, type_of<T>, size(n), step(m * n),
                                                       size(batch), compute_type<T>(), CUBLAS_GEMM_DEFAULT));
}

LEXFORMER_GEMM_INSTANCES(, Cuda)

}  // namespace lexformer
