// SPDX-License-Identifier: MIT
// The kernels of the GPU, with the names and parameters of the CPU versions, where they are documented (elementwise_cpu.hpp, ...).
// Declarations only, without CUDA headers. The definitions are in cuda/, compiled for float, double and bfloat16; programs link
// lexformer::cuda. To use map() with your own function, include cuda/elementwise.cuh, instantiate map and compile with nvcc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "lexformer/core/broadcast.hpp"
#include "lexformer/core/device_cuda.hpp"
#include "lexformer/kernels/interface.hpp"
#include "lexformer/kernels/scalar.hpp"

namespace lexformer {

template <>
struct ElementwiseKernels<Cuda> {
  template <class F, class T>
  static void map(std::size_t n, const T* x, T* y);
  template <class F, class T>
  static void map(std::size_t n, const T* a, const T* b, T* y);
  template <class F, class T>
  static void map_broadcast(const Broadcast& plan, const T* a, const T* b, T* y);
  template <class T>
  static void sum_to(const Broadcast& plan, std::size_t size, const T* x, T* y);
  template <class T>
  static void gelu_with_grad(std::size_t n, T* x_to_y, T* dy_to_dx);
  template <class T>
  static void affine(std::size_t n, accumulate_t<T> scale, const T* x, accumulate_t<T> offset, T* y);
  template <class T>
  static void scale_by(std::size_t n, const accumulate_t<T>* factor, const T* x, T* y);
  template <class T>
  static void fill_quotient(std::size_t n, const accumulate_t<T>* value, accumulate_t<T> divisor, T* y);
  template <class T>
  static void add_to(std::size_t n, const T* x, T* y);
  template <class T, class To>
  static void cast(std::size_t n, const T* x, To* y);
  template <class T>
  static void dropout(std::size_t n, const DropoutMask& mask, const T* x, T* y);

  template <class T>
  static bool all_finite(std::size_t n, const T* x);
  template <class T>
  static void sum(std::size_t n, const T* x, accumulate_t<T>* out);
  template <class T>
  static void mean(std::size_t n, const T* x, accumulate_t<T>* out);
  /// One launch for all arrays, like adamw.
  template <class T>
  static void gradient_norm(const std::vector<Elements<T>>& arrays, const accumulate_t<T>* loss, const double* before, double* norm);
  template <class T, class A>
  static void adamw(const std::vector<AdamWUpdate<T, A>>& updates, const GradientClip& clip);
};

template <>
struct RowKernels<Cuda> {
  template <class T, class To>
  static void column_sum(std::size_t rows, std::size_t columns, const T* x, std::size_t stride, To* out);
  template <class T>
  static void fill_rows(std::size_t rows, std::size_t n, const T* x, T* y);
  template <class T>
  static void copy_columns(std::size_t rows, std::size_t n, const T* x, std::size_t stride_x, T* y, std::size_t stride_y);
  template <class T>
  static void expand_rows(std::size_t rows, std::size_t n, const T* x, T* y);
  template <class T>
  static void row_sum(std::size_t rows, std::size_t n, const T* x, T* y);
  template <class T>
  static void transpose(std::size_t batch, std::size_t rows, std::size_t columns, const T* x, T* y);
  template <class T>
  static void row_extreme(std::size_t rows, std::size_t n, bool largest, const T* x, T* y, std::int32_t* index);
  template <class T>
  static void row_extreme_grad(std::size_t rows, std::size_t n, const std::int32_t* index, const T* dy, T* dx);
  template <class T>
  static void log_sum_exp(std::size_t rows, std::size_t n, const T* x, accumulate_t<T>* y);
  template <class T>
  static void log_sum_exp_grad(std::size_t rows, std::size_t n, const T* dy, const T* x, const accumulate_t<T>* y, T* dx);
  template <class T>
  static void standardize(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* x, T* y, accumulate_t<T>* deviation);
  template <class T>
  static void standardize_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* y,
                               const accumulate_t<T>* deviation, T* dx);
  template <class T>
  static void l2_normalize(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* x, T* y, accumulate_t<T>* norm);
  template <class T>
  static void l2_normalize_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* y, const accumulate_t<T>* norm,
                                T* dx);
  template <class T, class To>
  static void softmax(std::size_t rows, std::size_t n, bool log, const T* x, To* y);
  template <class T>
  static void softmax_grad(std::size_t rows, std::size_t n, bool log, const T* dy, const T* y, T* dx);
  template <class T>
  static void layer_norm(std::size_t rows, std::size_t n, accumulate_t<T> eps, const DropoutMask& mask, const DropoutMask& output_mask,
                         const T* x, const T* residual, const T* gamma, const T* beta, T* xhat, accumulate_t<T>* rstd, T* y);
  template <class T>
  static void layer_norm_grad(std::size_t rows, std::size_t n, const DropoutMask& mask, const DropoutMask& output_mask, const T* dy,
                              const T* gamma, const T* xhat, const accumulate_t<T>* rstd, T* dz, T* dx, T* dgamma, T* dbeta);
};

template <>
struct IndexKernels<Cuda> {
  template <class T>
  static void gather_sum(std::size_t count, std::size_t n, const std::type_identity_t<T>* base, const std::vector<RowLookup<T>>& lookups,
                         T* y);
  template <class T>
  static void gather(std::size_t count, std::size_t n, const T* table, const std::int32_t* ids, T* y) {
    gather_sum(count, n, nullptr, std::vector<RowLookup<T>>{{ids, table}}, y);
  }
  /// Sums the rows of each id in order, in chunks of fixed size.
  template <class T>
  static void gather_sum_grad(std::size_t count, std::size_t n, const T* dy, const std::vector<RowLookupGrad<T>>& lookups);
  template <class T>
  static void place_rows(std::size_t count, std::size_t n, const T* x, const std::int32_t* ids, T* y);
  template <class T>
  static void gather_columns(std::size_t rows, std::size_t n, std::size_t count, const T* x, const std::int32_t* columns, T* y);
  template <class T>
  static void scatter_add_columns(std::size_t rows, std::size_t n, std::size_t count, const T* x, const std::int32_t* columns,
                                  accumulate_t<T>* y);
  template <class T>
  static void sequence_mean(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* x, T* y);
  template <class T>
  static void sequence_mean_grad(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* dy, T* dx);
  template <class T>
  static void sequence_max(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* x, T* y, std::int32_t* index);
  template <class T>
  static void sequence_max_grad(std::size_t sequences, std::size_t n, const std::size_t* begin, const std::int32_t* index, const T* dy,
                                T* dx);
  template <class T>
  static void window(std::size_t sequences, std::size_t n, std::size_t before, std::size_t after, const std::size_t* begin, const T* x,
                     T* y);
  template <class T>
  static void window_grad(std::size_t sequences, std::size_t n, std::size_t before, std::size_t after, const std::size_t* begin,
                          const T* dy, T* dx);
  template <class T>
  static void rotary(std::size_t rows, std::size_t heads, std::size_t d, const accumulate_t<T>* turn, const std::int32_t* positions,
                     accumulate_t<T> direction, const T* x, T* y);
  template <class T>
  static void distance_bias(std::size_t heads, std::size_t n, const double* slopes, T* y);
};

template <>
struct LossKernels<Cuda> {
  template <class T>
  static void cross_entropy(std::size_t rows, std::size_t n, const std::int32_t* labels, accumulate_t<T> factor, T* x,
                            accumulate_t<T>* loss);
  template <class A>
  static void mean_loss(std::size_t rows, const A* loss, A* out);
  template <class A>
  static void negative_log_likelihood(std::size_t rows, std::size_t n, const std::int32_t* labels, const A* weight, A total, const A* log_p,
                                      A* out);
  template <class A, class T>
  static void negative_log_likelihood_grad(std::size_t rows, std::size_t n, const std::int32_t* labels, const A* weight, A total,
                                           const A* dy, const A* log_p, T* dx);
  template <class T>
  static void cosine_similarity(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* a, const T* b, T* y);
  template <class T>
  static void cosine_similarity_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* a, const T* b, T* da,
                                     T* db);
  template <class T>
  static void pairwise_cosine(const VectorGroups& all, const T* x, accumulate_t<T>* out);
  template <class T>
  static void pairwise_cosine_grad(const VectorGroups& all, const accumulate_t<T>* dy, const T* x, T* dx);
};

/// Fused by default: scores and probabilities exist only in tiles, so memory grows with the number of tokens, not of token pairs.
template <>
struct AttentionKernels<Cuda> {
  template <class T>
  static void attention(const AttentionArgs<T>& args, T* context, accumulate_t<T>* logsumexp, T* attentions);
  template <class T>
  static void attention_grad(const AttentionArgs<T>& args, const T* context, const accumulate_t<T>* logsumexp, const T* dcontext,
                             const T* dmaps, const AttentionGrads<T>& grads);
};

template <>
struct AdditiveKernels<Cuda> {
  template <class T>
  static void additive_attention(const AdditiveArgs<T>& args, accumulate_t<T>* probabilities, T* out);
  template <class T>
  static void additive_attention_grad(const AdditiveArgs<T>& args, const accumulate_t<T>* probabilities, const T* dout,
                                      const AdditiveGrads<T>& grads);
};

template <>
struct LstmKernels<Cuda> {
  template <class T>
  static void lstm_step(std::size_t rows, std::size_t n, const accumulate_t<T>* before, accumulate_t<T>* gates, accumulate_t<T>* c, T* h);
  template <class T>
  static void lstm_step_grad(std::size_t rows, std::size_t n, const accumulate_t<T>* gates, const accumulate_t<T>* before,
                             const accumulate_t<T>* c, const T* dy, const accumulate_t<T>* dh, accumulate_t<T>* dc, T* dgates);
};

template <>
struct CrfKernels<Cuda> {
  template <class A>
  static void crf_forward(const CrfArgs<A>& c, const std::int32_t* labels, A* alpha, A* log_z, A* loss);
  template <class A>
  static void crf_grad(const CrfArgs<A>& c, const std::int32_t* labels, const A* alpha, const A* log_z, const A* dy, A* beta,
                       const CrfGrads<A>& d);
  template <class A>
  static void crf_decode(const CrfArgs<A>& c, std::int32_t* best);
};

template <>
struct Kernels<Cuda> : ElementwiseKernels<Cuda>,
                       RowKernels<Cuda>,
                       IndexKernels<Cuda>,
                       LossKernels<Cuda>,
                       AttentionKernels<Cuda>,
                       AdditiveKernels<Cuda>,
                       LstmKernels<Cuda>,
                       CrfKernels<Cuda> {
  /// C = alpha op(A) op(B) + beta C, or + bias (gemm.hpp), by cuBLAS. float uses TF32 only if cuda::set_tf32 enables it; bfloat16 is
  /// accumulated in float.
  template <class T, class C>
  static void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, accumulate_t<T> alpha, const T* a,
                   std::size_t lda, const T* b, std::size_t ldb, accumulate_t<T> beta, C* c, std::size_t ldc,
                   const std::type_identity_t<T>* bias = nullptr);
  /// By one product of cuBLASLt, if it has an algorithm for these matrices.
  template <class T>
  static void linear_grad(std::size_t rows, std::size_t columns, std::size_t k, const T* dy, std::size_t stride, const T* x, T* dw, T* db);
  template <class T>
  static void gemm_batched(std::size_t batch, bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k,
                           accumulate_t<T> alpha, const T* a, std::size_t step_a, const T* b, std::size_t step_b, T* c);
};

}  // namespace lexformer
