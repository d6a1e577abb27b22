// SPDX-License-Identifier: MIT
// cuBLASLt, implemented with lexformer's own matrix product.
#include "cublasLt.h"

#include <algorithm>
#include <cstring>

#include "cublas_product.hpp"

using cuda_host::size_of;
using cuda_host::wrong;

namespace {

std::size_t products = 0, searches = 0;
bool exact = false;

template <class Field>
cublasStatus_t assign(Field& field, const void* value, std::size_t bytes) {
  if (bytes != sizeof(Field)) return wrong("cuBLASLt: an attribute of another size");
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

bool is_matrix(const void* p, const cublasLtMatrixLayoutOpaque_t& m) {
  return cuda_host::is_matrix(p, static_cast<std::int64_t>(m.rows), static_cast<std::int64_t>(m.columns), m.stride, m.type);
}

}  // namespace

std::size_t cuda_host::lt_products() { return products; }
std::size_t cuda_host::lt_searches() { return searches; }
void cuda_host::set_lt_exact(bool on) { exact = on; }

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDescOpaque_t* product, cublasComputeType_t compute, cudaDataType scale) {
  if (scale != CUDA_R_32F || compute == CUBLAS_COMPUTE_64F) return wrong("cuBLASLt: products of double have no bias");
  *product = {compute, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDescOpaque_t* product, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return assign(product->op_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return assign(product->op_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return assign(product->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return assign(product->bias, value, bytes);
  }
  return wrong("cuBLASLt: an attribute that products do not have");
}
cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayoutOpaque_t* layout, cudaDataType type, std::uint64_t rows, std::uint64_t columns,
                                        std::int64_t stride) {
  *layout = {type, rows, columns, stride};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreferenceOpaque_t* preference) {
  *preference = {0, 7, {256, 256, 256, 256}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreferenceOpaque_t* preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return assign(preference->workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return assign(preference->schemes, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return assign(preference->alignment[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return assign(preference->alignment[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return assign(preference->alignment[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return assign(preference->alignment[3], value, bytes);
  }
  return wrong("cuBLASLt: an attribute that preferences do not have");
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, const cublasLtMatmulDescOpaque_t* product,
                                              const cublasLtMatrixLayoutOpaque_t* a, const cublasLtMatrixLayoutOpaque_t* b,
                                              const cublasLtMatrixLayoutOpaque_t* c, const cublasLtMatrixLayoutOpaque_t* d,
                                              const cublasLtMatmulPreferenceOpaque_t* preference, int asked,
                                              cublasLtMatmulHeuristicResult_t* result, int* found) {
  const bool ta = product->op_a == CUBLAS_OP_T, tb = product->op_b == CUBLAS_OP_T;
  const bool wide_sums = a->type == CUDA_R_16BF && d->type == CUDA_R_32F && product->epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  if (a->type == CUDA_R_64F || a->type != b->type || c->type != d->type || (a->type != d->type && !wide_sums) || c->rows != d->rows ||
      c->columns != d->columns || (ta ? a->columns : a->rows) != d->rows || (tb ? b->rows : b->columns) != d->columns ||
      (ta ? a->rows : a->columns) != (tb ? b->columns : b->rows) || a->rows > static_cast<std::uint64_t>(a->stride) ||
      b->rows > static_cast<std::uint64_t>(b->stride) || d->rows > static_cast<std::uint64_t>(d->stride) ||
      d->rows * d->columns * a->rows * a->columns == 0 || asked < 1)
    return wrong("cuBLASLt: the types or sizes of the matrices do not fit");
  *found = *std::min_element(preference->alignment, preference->alignment + 4) < 16 ? 0 : 1;
  *result = {{*preference, d->columns}, 128, CUBLAS_STATUS_SUCCESS};
  ++searches;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, const cublasLtMatmulDescOpaque_t* product, const void* alpha, const void* a,
                              const cublasLtMatrixLayoutOpaque_t* left, const void* b, const cublasLtMatrixLayoutOpaque_t* right,
                              const void* beta, const void* c, const cublasLtMatrixLayoutOpaque_t*, void* d,
                              const cublasLtMatrixLayoutOpaque_t* out, const cublasLtMatmulAlgo_t* algo, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t) {
  if (cuda_host::skips_work()) return ++products, CUBLAS_STATUS_SUCCESS;
  if (exact && out->columns != algo->columns) return CUBLAS_STATUS_NOT_SUPPORTED;
  const void* const begins[] = {a, b, c, d, product->bias};
  const bool plain = product->epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  for (std::size_t i = 0; i < (plain ? 4u : 5u); ++i)
    if (reinterpret_cast<std::uintptr_t>(begins[i]) % (i < 4 ? algo->preference.alignment[i] : 16) != 0)
      return wrong("cuBLASLt: a matrix does not begin where the preference says, or the bias not at 16 bytes");
  const bool gradient = product->epilogue == CUBLASLT_EPILOGUE_BGRADB;
  if (!gradient && !plain && product->epilogue != CUBLASLT_EPILOGUE_BIAS) return wrong("cuBLASLt: an unknown epilogue");
  if (!is_matrix(a, *left) || !is_matrix(b, *right) || !is_matrix(d, *out) ||
      (!plain && !cuda_host::is_device(product->bias, (gradient ? out->columns : out->rows) * size_of(out->type))) ||
      workspace_bytes < 128 || !cuda_host::is_device(workspace, workspace_bytes))
    return wrong("cuBLASLt: a matrix, the bias or the workspace does not lie in device memory");
  const cuda_host::OpenMemory open;
  ++products;
  const bool ta = product->op_a == CUBLAS_OP_T, tb = product->op_b == CUBLAS_OP_T;
  const auto size = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  using lexformer::bfloat16;
  const auto run = left->type == CUDA_R_32F  ? cuda_host::product<float, float>
                   : out->type == CUDA_R_32F ? cuda_host::product<bfloat16, float>
                                             : cuda_host::product<bfloat16, bfloat16>;
  run(ta, tb, size(out->rows), size(out->columns), size(ta ? left->rows : left->columns), alpha, a, left->stride, b, right->stride, beta, d,
      out->stride, product->epilogue == CUBLASLT_EPILOGUE_BIAS ? product->bias : nullptr);
  if (gradient) {  // the sums of op(B) over its rows
    const std::size_t step = tb ? 1 : static_cast<std::size_t>(right->stride), next = tb ? static_cast<std::size_t>(right->stride) : 1;
    const std::size_t columns = out->columns, rows = tb ? right->columns : right->rows;
    const auto sum_rows = [&](const auto* x, auto* sums) {
      for (std::size_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (std::size_t i = 0; i < rows; ++i) sum += static_cast<float>(x[j * step + i * next]);
        sums[j] = static_cast<std::remove_reference_t<decltype(*sums)>>(sum);
      }
    };
    void* const sums = const_cast<void*>(product->bias);
    if (left->type == CUDA_R_32F)
      sum_rows(static_cast<const float*>(b), static_cast<float*>(sums));
    else
      sum_rows(static_cast<const lexformer::bfloat16*>(b), static_cast<lexformer::bfloat16*>(sums));
  }
  return CUBLAS_STATUS_SUCCESS;
}
