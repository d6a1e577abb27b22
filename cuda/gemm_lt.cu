// SPDX-License-Identifier: MIT
// The matrix product with a bias or the gradient of one, by cuBLASLt. Its GELU epilogues use the tanh approximation and BERT needs the
// exact function, so GELU is a separate kernel.
#include "gemm_bias.cuh"

#include <cublasLt.h>

#include <cstdint>

#include "cublas.cuh"

namespace lexformer::cuda {
namespace {

cublasLtHandle_t cublas_lt() {
  static const cublasLtHandle_t instance = [] {
    cublasLtHandle_t made = nullptr;
    LEXFORMER_CUBLAS_CHECK(cublasLtCreate(&made));
    return made;
  }();
  return instance;
}

/// The alignment of an address: the largest power of two, up to 256, that divides it.
std::uint32_t alignment(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p) | 256u;
  return static_cast<std::uint32_t>(address & (~address + 1));
}

/// The product with one of cuBLASLt's epilogues, which reads or writes `bias`. cuBLASLt is column-major: its A is b, and its B is a.
template <class T>
bool product_with(cublasLtEpilogue_t epilogue, bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k,
                  accumulate_t<T> alpha, const T* a, std::size_t lda, const T* b, std::size_t ldb, T* c, std::size_t ldc, const T* bias) {
  if (alignment(bias) < 16) return false;  // the preferences below cover only the matrices
  cublasLtMatmulDescOpaque_t product;
  LEXFORMER_CUBLAS_CHECK(cublasLtMatmulDescInit(&product, compute_type<T>(), CUDA_R_32F));
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    LEXFORMER_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(&product, attribute, &value, sizeof(value)));
  };
  const auto operation = [](bool transposed) { return static_cast<std::int32_t>(transposed ? CUBLAS_OP_T : CUBLAS_OP_N); };
  const void* const bias_pointer = bias;
  set(CUBLASLT_MATMUL_DESC_TRANSA, operation(trans_b));  // column-major, as in gemm(): C^T = op(B)^T op(A)^T
  set(CUBLASLT_MATMUL_DESC_TRANSB, operation(trans_a));
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(epilogue));
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_pointer);

  const auto layout = [](std::size_t rows, std::size_t columns, std::size_t stride) {
    cublasLtMatrixLayoutOpaque_t made;
    LEXFORMER_CUBLAS_CHECK(cublasLtMatrixLayoutInit(&made, type_of<T>, rows, columns, static_cast<std::int64_t>(stride)));
    return made;
  };
  auto left = trans_b ? layout(k, n, ldb) : layout(n, k, ldb), right = trans_a ? layout(m, k, lda) : layout(k, m, lda);
  auto out = layout(n, m, ldc);

  cublasLtMatmulPreferenceOpaque_t preference;
  LEXFORMER_CUBLAS_CHECK(cublasLtMatmulPreferenceInit(&preference));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    LEXFORMER_CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof(value)));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{32} << 20);
  // Partial sums are added in float and in a fixed order, not by atomics.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(c));

  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const cublasStatus_t searched =
      cublasLtMatmulAlgoGetHeuristic(cublas_lt(), &product, &left, &right, &out, &out, &preference, 1, &best, &found);
  if (searched == CUBLAS_STATUS_NOT_SUPPORTED || (searched == CUBLAS_STATUS_SUCCESS && found == 0)) return false;
  LEXFORMER_CUBLAS_CHECK(searched);
  LEXFORMER_CUBLAS_CHECK(best.state);
  const Temporary<char> workspace(best.workspaceSize);
  const accumulate_t<T> zero{0};
  const cublasStatus_t done = cublasLtMatmul(cublas_lt(), &product, &alpha, b, &left, a, &right, &zero, c, &out, c, &out, &best.algo,
                                             workspace.data(), best.workspaceSize, stream());
  if (done == CUBLAS_STATUS_NOT_SUPPORTED) return false;
  check_cublas(done, "cublasLtMatmul", __FILE__, __LINE__);
  return true;
}

}  // namespace

template <class T>
bool gemm_with_bias(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, accumulate_t<T> alpha, const T* a,
                    std::size_t lda, const T* b, std::size_t ldb, T* c, std::size_t ldc, const T* bias) {
  return product_with(CUBLASLT_EPILOGUE_BIAS, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, c, ldc, bias);
}
template <class T>
bool gemm_with_bias_grad(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, const T* a, std::size_t lda, const T* b,
                         std::size_t ldb, T* c, std::size_t ldc, T* dbias) {
  return product_with(CUBLASLT_EPILOGUE_BGRADB, trans_a, trans_b, m, n, k, accumulate_t<T>{1}, a, lda, b, ldb, c, ldc,
                      static_cast<const T*>(dbias));
}

#define LEXFORMER_GEMM_BIAS(T)                                                                                                            \
  template bool gemm_with_bias<T>(bool, bool, std::size_t, std::size_t, std::size_t, float, const T*, std::size_t, const T*, std::size_t, \
                                  T*, std::size_t, const T*);                                                                             \
  template bool gemm_with_bias_grad<T>(bool, bool, std::size_t, std::size_t, std::size_t, const T*, std::size_t, const T*, std::size_t,   \
                                       T*, std::size_t, T*);
LEXFORMER_GEMM_BIAS(float)
LEXFORMER_GEMM_BIAS(bfloat16)

}  // namespace lexformer::cuda
