// SPDX-License-Identifier: MIT
// The matrix product by cuBLASLt, with a bias or the gradient of one. Its GELU epilogues use the tanh approximation and BERT needs the
// exact function, so GELU is a separate kernel.
#include "gemm_lt.cuh"

#include <cublasLt.h>

#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

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

/// The alignment of an address: the largest power of two, up to 16, that divides it. No algorithm needs more.
std::uint32_t alignment(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p) | 16u;
  return static_cast<std::uint32_t>(address & (~address + 1));
}

/// A number of tokens, rounded up to a multiple of an eighth of the largest power of two below, at least of 16.
std::size_t size_class(std::size_t count) {
  const std::size_t unit = std::max<std::size_t>(16, std::bit_floor(count) / 8);
  return (count + unit - 1) / unit * unit;
}

/// The values that the choice of an algorithm depends on.
struct Problem {
  Epilogue epilogue;
  cublasComputeType_t compute;
  bool trans_a, trans_b;
  std::size_t m, n, k, lda, ldb, ldc;
  std::uint32_t alignment_a, alignment_b, alignment_c;

  auto operator<=>(const Problem&) const = default;

  /// Batches have many numbers of tokens, and the search for an algorithm takes the host longer than a product takes the GPU: one search
  /// serves a class of sizes. In a linear layer and its gradients the number of tokens is m or k and not the stride of a matrix. Products
  /// for which it is n, such as similarities within a batch, are searched for each size.
  Problem of_class() const {
    Problem p = *this;
    if (!trans_a) p.m = size_class(m);
    if (trans_a && !trans_b) p.k = size_class(k);
    return p;
  }
};

/// Descriptions of a problem's matrices. cuBLASLt is column-major, as in gemm(): its A is b, and its B is a.
template <class T, class C>
struct Layouts {
  cublasLtMatmulDescOpaque_t product;
  cublasLtMatrixLayoutOpaque_t left, right, out;

  Layouts(const Problem& p, const void* bias) {
    LEXFORMER_CUBLAS_CHECK(cublasLtMatmulDescInit(&product, p.compute, CUDA_R_32F));
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
      LEXFORMER_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(&product, attribute, &value, sizeof(value)));
    };
    const auto operation = [](bool transposed) { return static_cast<std::int32_t>(transposed ? CUBLAS_OP_T : CUBLAS_OP_N); };
    set(CUBLASLT_MATMUL_DESC_TRANSA, operation(p.trans_b));  // C^T = op(B)^T op(A)^T
    set(CUBLASLT_MATMUL_DESC_TRANSB, operation(p.trans_a));
    if (p.epilogue != Epilogue::none) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE,
          static_cast<std::uint32_t>(p.epilogue == Epilogue::bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_BGRADB));
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    const auto layout = [](auto& made, cudaDataType type, std::size_t rows, std::size_t columns, std::size_t stride) {
      LEXFORMER_CUBLAS_CHECK(cublasLtMatrixLayoutInit(&made, type, rows, columns, static_cast<std::int64_t>(stride)));
    };
    p.trans_b ? layout(left, type_of<T>, p.k, p.n, p.ldb) : layout(left, type_of<T>, p.n, p.k, p.ldb);
    p.trans_a ? layout(right, type_of<T>, p.m, p.k, p.lda) : layout(right, type_of<T>, p.k, p.m, p.lda);
    layout(out, type_of<C>, p.n, p.m, p.ldc);
  }
};

struct Algorithm {
  cublasLtMatmulAlgo_t algo;
  std::size_t workspace;
};

/// Asks cuBLASLt for its best algorithm, if it has one. After an error there is none: cuBLAS then reports what is wrong.
template <class T, class C>
std::optional<Algorithm> search(const Problem& p) {
  Layouts<T, C> of(p, nullptr);
  cublasLtMatmulPreferenceOpaque_t preference;
  LEXFORMER_CUBLAS_CHECK(cublasLtMatmulPreferenceInit(&preference));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    LEXFORMER_CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof(value)));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{32} << 20);
  // Partial sums are added in float and in a fixed order, not by atomics.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.alignment_b);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.alignment_a);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.alignment_c);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.alignment_c);

  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const cublasStatus_t searched =
      cublasLtMatmulAlgoGetHeuristic(cublas_lt(), &of.product, &of.left, &of.right, &of.out, &of.out, &preference, 1, &best, &found);
  if (searched != CUBLAS_STATUS_SUCCESS || found == 0 || best.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return Algorithm{best.algo, best.workspaceSize};
}

/// The result of search() for a class of problems.
template <class T, class C>
std::optional<Algorithm> algorithm_for(const Problem& problem) {
  static std::mutex mutex;
  static auto* const known = new std::map<Problem, std::optional<Algorithm>>;
  const std::lock_guard lock(mutex);
  if (known->size() == 10000) known->clear();  // some are searched for each size; a service would collect them without end
  const auto found = known->find(problem);
  return found != known->end() ? found->second : known->emplace(problem, search<T, C>(problem)).first->second;
}

}  // namespace

template <class T, class C>
bool gemm_lt(Epilogue epilogue, bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, accumulate_t<T> alpha, const T* a,
             std::size_t lda, const T* b, std::size_t ldb, accumulate_t<T> beta, C* c, std::size_t ldc, const T* bias) {
  if (epilogue != Epilogue::none && alignment(bias) < 16) return false;  // the preferences cover only the matrices
  const Problem problem{epilogue, compute_type<T>(), trans_a, trans_b, m, n, k, lda, ldb, ldc, alignment(a), alignment(b), alignment(c)};
  Layouts<T, C> of(problem, bias);
  const auto run = [&](const Problem& searched) {
    const auto by = algorithm_for<T, C>(searched);
    if (!by) return false;
    std::optional<Temporary<char>> workspace;
    if (by->workspace > 0) workspace.emplace(by->workspace);
    const cublasStatus_t done = cublasLtMatmul(cublas_lt(), &of.product, &alpha, b, &of.left, a, &of.right, &beta, c, &of.out, c, &of.out,
                                               &by->algo, workspace ? workspace->data() : nullptr, by->workspace, stream());
    if (done == CUBLAS_STATUS_NOT_SUPPORTED || (done == CUBLAS_STATUS_INVALID_VALUE && searched != problem)) return false;
    check_cublas(done, "cublasLtMatmul", __FILE__, __LINE__);
    return true;
  };
  const Problem in_class = problem.of_class();
  // An algorithm for the class may not support all of its sizes.
  return run(in_class) || (problem != in_class && run(problem));
}

#define LEXFORMER_GEMM_LT(T, C)                                                                                                    \
  template bool gemm_lt<T, C>(Epilogue, bool, bool, std::size_t, std::size_t, std::size_t, float, const T*, std::size_t, const T*, \
                              std::size_t, float, C*, std::size_t, const T*);
LEXFORMER_GEMM_LT(float, float)
LEXFORMER_GEMM_LT(bfloat16, bfloat16)
LEXFORMER_GEMM_LT(bfloat16, float)

}  // namespace lexformer::cuda
