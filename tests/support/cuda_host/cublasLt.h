// SPDX-License-Identifier: MIT
// A replacement for cuBLASLt's header: the calls that cuda/ makes, implemented with lexformer's own matrix product. It finds no algorithm
// for matrices or a bias that are not aligned to 16 bytes, and trusts a stated alignment only if it is true.
#pragma once

#include "cublas_v2.h"

enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8
};
enum cublasLtEpilogue_t { CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_BIAS = 4, CUBLASLT_EPILOGUE_BGRADB = 512 };
enum cublasLtReductionScheme_t { CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2 };
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8
};

using cublasLtHandle_t = struct cublasLtContext*;
struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  std::int32_t op_a, op_b;
  std::uint32_t epilogue;
  const void* bias;
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType type;
  std::uint64_t rows, columns;
  std::int64_t stride;
};
struct cublasLtMatmulPreferenceOpaque_t {
  std::uint64_t workspace;
  std::uint32_t schemes;
  std::uint32_t alignment[4];
};
struct cublasLtMatmulAlgo_t {
  cublasLtMatmulPreferenceOpaque_t preference;
  std::uint64_t columns;  // of the result that was searched for
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  std::size_t workspaceSize;
  cublasStatus_t state;
};

inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return *handle = nullptr, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDescOpaque_t*, cublasComputeType_t, cudaDataType scale);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDescOpaque_t*, cublasLtMatmulDescAttributes_t, const void* value,
                                              std::size_t bytes);
cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayoutOpaque_t*, cudaDataType, std::uint64_t rows, std::uint64_t columns,
                                        std::int64_t stride);
cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreferenceOpaque_t*);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreferenceOpaque_t*, cublasLtMatmulPreferenceAttributes_t,
                                                    const void* value, std::size_t bytes);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, const cublasLtMatmulDescOpaque_t*, const cublasLtMatrixLayoutOpaque_t* a,
                                              const cublasLtMatrixLayoutOpaque_t* b, const cublasLtMatrixLayoutOpaque_t* c,
                                              const cublasLtMatrixLayoutOpaque_t* d, const cublasLtMatmulPreferenceOpaque_t*, int asked,
                                              cublasLtMatmulHeuristicResult_t*, int* found);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, const cublasLtMatmulDescOpaque_t*, const void* alpha, const void* a,
                              const cublasLtMatrixLayoutOpaque_t*, const void* b, const cublasLtMatrixLayoutOpaque_t*, const void* beta,
                              const void* c, const cublasLtMatrixLayoutOpaque_t*, void* d, const cublasLtMatrixLayoutOpaque_t*,
                              const cublasLtMatmulAlgo_t*, void* workspace, std::size_t workspace_bytes, cudaStream_t);
namespace cuda_host {
/// The number of products that cuBLASLt has computed, and of searches for an algorithm.
std::size_t lt_products();
std::size_t lt_searches();
/// Lets cublasLtMatmul not support a result with another number of columns than the search was for.
void set_lt_exact(bool on);
}  // namespace cuda_host
