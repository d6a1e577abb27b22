// SPDX-License-Identifier: MIT
// The kernels of a device: structs of static functions by subject, each declared and documented once for all devices. The CPU's are in
// elementwise_cpu.hpp, ...; the GPU's are in cuda/.
//
// T is the storage type of tensors. Scalars passed by value, statistics and losses have the compute type accumulate_t<T>, which is also
// used for all arithmetic.
//
// Kernels take pointers and sizes, not shapes. Pointers to numbers refer to device memory; lists of pointers (std::vector) are in host
// memory. Scalars that depend on device results, e.g. the gradient of a scalar, are passed as device pointers, so the host does not wait
// for the device. Only all_finite returns a value to the host, and waits for it.
// The same input gives the same bits for any number of threads: sums have a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "lexformer/core/broadcast.hpp"
#include "lexformer/kernels/arguments.hpp"

namespace lexformer {

template <class Dev>
struct ElementwiseKernels {
  /// y = F(x)
  template <class F, class T>
  static void map(std::size_t n, const T* x, T* y);
  /// y = F(a, b)
  template <class F, class T>
  static void map(std::size_t n, const T* a, const T* b, T* y);
  /// y = F(a, b), with a and b broadcast by the plan.
  template <class F, class T>
  static void map_broadcast(const Broadcast& plan, const T* a, const T* b, T* y);
  /// Sums x (shape of the plan's a and result) over the axes on which b is broadcast, to y (shape of b); rows in order.
  template <class T>
  static void sum_to(const Broadcast& plan, std::size_t size, const T* x, T* y);
  /// GELU and its gradient in one pass: y = GELU(x) replaces x, dx = dy GELU'(x) replaces dy.
  template <class T>
  static void gelu_with_grad(std::size_t n, T* x_to_y, T* dy_to_dx);
  /// y = scale x + offset
  template <class T>
  static void affine(std::size_t n, accumulate_t<T> scale, const T* x, accumulate_t<T> offset, T* y);
  /// y = factor[0] x
  template <class T>
  static void scale_by(std::size_t n, const accumulate_t<T>* factor, const T* x, T* y);
  /// y[i] = value[0] / divisor
  template <class T>
  static void fill_quotient(std::size_t n, const accumulate_t<T>* value, accumulate_t<T> divisor, T* y);
  /// y += x
  template <class T>
  static void add_to(std::size_t n, const T* x, T* y);
  /// y = x, converted to another type
  template <class T, class To>
  static void cast(std::size_t n, const T* x, To* y);
  /// y = x * mask
  template <class T>
  static void dropout(std::size_t n, const DropoutMask& mask, const T* x, T* y);
  /// Whether all elements are finite.
  template <class T>
  static bool all_finite(std::size_t n, const T* x);
  /// out[0] = sum of all elements, blocks in order.
  template <class T>
  static void sum(std::size_t n, const T* x, accumulate_t<T>* out);
  /// out[0] = mean of all elements, summed in the same order.
  template <class T>
  static void mean(std::size_t n, const T* x, accumulate_t<T>* out);
  /// *norm = L2 norm of all arrays together, summed in double in the order of the list; NaN if *loss or *before is given and not finite.
  template <class T>
  static void gradient_norm(const std::vector<Elements<T>>& arrays, const accumulate_t<T>* loss, const double* before, double* norm);
  /// One AdamW step for each parameter, in one pass over its elements, with g the clipped gradient:
  ///   m += (1 - beta1)(g - m);   v = beta2 v + (1 - beta2) g^2;   w = decay w - step_size m / (sqrt(v) / root_correction + eps)
  template <class T, class A>
  static void adamw(const std::vector<AdamWUpdate<T, A>>& updates, const GradientClip& clip);
};

template <class Dev>
struct RowKernels {
  /// out[j] = sum over rows i of x[i * stride + j], in order. out is of type T or accumulate_t<T>.
  template <class T, class To>
  static void column_sum(std::size_t rows, std::size_t columns, const T* x, std::size_t stride, To* out);
  /// y[i, j] = x[j]
  template <class T>
  static void fill_rows(std::size_t rows, std::size_t n, const T* x, T* y);
  /// y[i, j] = x[i, j] for j < n; x and y have different row strides.
  template <class T>
  static void copy_columns(std::size_t rows, std::size_t n, const T* x, std::size_t stride_x, T* y, std::size_t stride_y);
  /// y[i, j] = x[i]
  template <class T>
  static void expand_rows(std::size_t rows, std::size_t n, const T* x, T* y);
  /// y[i] = sum of row i
  template <class T>
  static void row_sum(std::size_t rows, std::size_t n, const T* x, T* y);
  /// Transposes each of the `batch` matrices (rows, columns) of x.
  template <class T>
  static void transpose(std::size_t batch, std::size_t rows, std::size_t columns, const T* x, T* y);
  /// y[i] = max (or min) of row i, index[i] = the first index that attains it. NaN counts as the extreme.
  template <class T>
  static void row_extreme(std::size_t rows, std::size_t n, bool largest, const T* x, T* y, std::int32_t* index);
  /// dx[i, j] = dy[i] for j = index[i], else 0.
  template <class T>
  static void row_extreme_grad(std::size_t rows, std::size_t n, const std::int32_t* index, const T* dy, T* dx);
  /// y[i] = log(sum exp(row i)); the row maximum is subtracted before exp.
  template <class T>
  static void log_sum_exp(std::size_t rows, std::size_t n, const T* x, accumulate_t<T>* y);
  /// dx[i, j] = dy[i] exp(x[i, j] - y[i])
  template <class T>
  static void log_sum_exp_grad(std::size_t rows, std::size_t n, const T* dy, const T* x, const accumulate_t<T>* y, T* dx);
  /// norm[i] = the L2 norm of row i;  y[i] = x[i] / max(norm[i], eps)
  template <class T>
  static void l2_normalize(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* x, T* y, accumulate_t<T>* norm);
  /// dx = (dy - y <y, dy>) / norm, or dy / eps if norm < eps.
  template <class T>
  static void l2_normalize_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* y, const accumulate_t<T>* norm,
                                T* dx);
  /// y = (x - mean) / (s + eps), s = sqrt(sum (x - mean)^2 / (n - 1)); deviation = s. n is at least 2.
  template <class T>
  static void standardize(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* x, T* y, accumulate_t<T>* deviation);
  /// dx = (dy - mean(dy)) / (s + eps) - y <dy, y> / ((n - 1) s); the last term is 0 for s = 0.
  template <class T>
  static void standardize_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* y,
                               const accumulate_t<T>* deviation, T* dx);
  /// y = softmax(x) by rows, or log-softmax if `log`. To is T or the compute type.
  template <class T, class To>
  static void softmax(std::size_t rows, std::size_t n, bool log, const T* x, To* y);
  /// dx = y (dy - <y, dy>), or for log-softmax dx = dy - exp(y) sum(dy).
  template <class T>
  static void softmax_grad(std::size_t rows, std::size_t n, bool log, const T* dy, const T* y, T* dx);
  /// z = residual + dropout(x) (residual and dropout may be absent);  xhat = (z - mean z) rstd;  y = xhat gamma + beta. xhat may be y, if
  /// only y is wanted.
  template <class T>
  static void layer_norm(std::size_t rows, std::size_t n, accumulate_t<T> eps, const DropoutMask& mask, const DropoutMask& output_mask,
                         const T* x, const T* residual, const T* gamma, const T* beta, T* xhat, accumulate_t<T>* rstd, T* y);
  /// With dy * output_mask for dy: dz = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gamma;  dx = dz * mask;  dgamma = sum dy xhat;
  /// dbeta = sum dy. Without mask dx may be dz.
  template <class T>
  static void layer_norm_grad(std::size_t rows, std::size_t n, const DropoutMask& mask, const DropoutMask& output_mask, const T* dy,
                              const T* gamma, const T* xhat, const accumulate_t<T>* rstd, T* dz, T* dx, T* dgamma, T* dbeta);
};

template <class Dev>
struct IndexKernels {
  /// y[i] = base[i] + table_1[ids_1[i]] + ..., added in this order; rows of n elements. base may be null.
  template <class T>
  static void gather_sum(std::size_t count, std::size_t n, const std::type_identity_t<T>* base, const std::vector<RowLookup<T>>& lookups,
                         T* y);
  /// y[i] = table[ids[i]], rows of n elements.
  template <class T>
  static void gather(std::size_t count, std::size_t n, const T* table, const std::int32_t* ids, T* y) {
    gather_sum(count, n, nullptr, std::vector<RowLookup<T>>{{ids, table}}, y);
  }
  /// For each lookup: gradient[r] = sum of the dy[i] with ids[i] = r, in the order of i; rows of n elements. Parallel over columns.
  template <class T>
  static void gather_sum_grad(std::size_t count, std::size_t n, const T* dy, const std::vector<RowLookupGrad<T>>& lookups);
  /// y[ids[i]] = x[i], or 0 if x is null; rows of n elements, distinct ids.
  template <class T>
  static void place_rows(std::size_t count, std::size_t n, const T* x, const std::int32_t* ids, T* y);
  /// y[h, c] = x[h, columns[c]]: x (rows, n), y (rows, count).
  template <class T>
  static void gather_columns(std::size_t rows, std::size_t n, std::size_t count, const T* x, const std::int32_t* columns, T* y);
  /// y[h, columns[c]] += x[h, c], columns in order: x (rows, count), y (rows, n).
  template <class T>
  static void scatter_add_columns(std::size_t rows, std::size_t n, std::size_t count, const T* x, const std::int32_t* columns,
                                  accumulate_t<T>* y);
  /// y[s] = mean of the rows begin[s] .. begin[s + 1] - 1 of x; rows of n elements.
  template <class T>
  static void sequence_mean(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* x, T* y);
  /// dx[i] = dy[s] / (begin[s + 1] - begin[s]) for the rows i of s.
  template <class T>
  static void sequence_mean_grad(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* dy, T* dx);
  /// y[s, j] = max of x[i, j] over the rows i of s; begin[s] + index[s, j] is the first row that attains it. NaN counts as the largest.
  template <class T>
  static void sequence_max(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* x, T* y, std::int32_t* index);
  /// dx[i, j] = dy[s, j] for the row i = begin[s] + index[s, j], else 0.
  template <class T>
  static void sequence_max_grad(std::size_t sequences, std::size_t n, const std::size_t* begin, const std::int32_t* index, const T* dy,
                                T* dx);
  /// Row i of y (N, (before + 1 + after) n) = the rows i - before .. i + after of x (N, n), 0 for those outside the sequence of i.
  template <class T>
  static void window(std::size_t sequences, std::size_t n, std::size_t before, std::size_t after, const std::size_t* begin, const T* x,
                     T* y);
  /// dx[i] = the sum of all parts of dy (N, (before + 1 + after) n) that were copied from row i, the latest window first.
  template <class T>
  static void window_grad(std::size_t sequences, std::size_t n, std::size_t before, std::size_t after, const std::size_t* begin,
                          const T* dy, T* dx);
  /// Rotates pairs of features of q and k, in rows (q | k | v) of 3 heads d elements, d even:
  ///   y_2t = x_2t c - x_2t+1 s,   y_2t+1 = x_2t+1 c + x_2t s   with (c, s) = turn[positions[i], t], s times `direction`, 1 or -1
  template <class T>
  static void rotary(std::size_t rows, std::size_t heads, std::size_t d, const accumulate_t<T>* turn, const std::int32_t* positions,
                     accumulate_t<T> direction, const T* x, T* y);
  /// y[h, i, j] = -slopes[h] |i - j|: y (heads, n, n).
  template <class T>
  static void distance_bias(std::size_t heads, std::size_t n, const double* slopes, T* y);
};

template <class Dev>
struct LossKernels {
  /// loss[i] = -log softmax(x_i)[labels[i]]; overwrites x with its gradient factor (softmax(x_i) - onehot(labels[i])).
  template <class T>
  static void cross_entropy(std::size_t rows, std::size_t n, const std::int32_t* labels, accumulate_t<T> factor, T* x,
                            accumulate_t<T>* loss);
  /// out[0] = mean of the losses, summed in order.
  template <class A>
  static void mean_loss(std::size_t rows, const A* loss, A* out);
  /// out[0] = -sum_i weight[i] log_p[i, labels[i]] / total, rows in order; ignores rows with a negative label. total 0: no division.
  /// Without weight (null), all weights are 1.
  template <class A>
  static void negative_log_likelihood(std::size_t rows, std::size_t n, const std::int32_t* labels, const A* weight, A total, const A* log_p,
                                      A* out);
  /// The gradient with respect to the logits:  dx_i = weight[i] / total dy[0] (exp(log_p_i) - onehot(labels[i]))
  template <class A, class T>
  static void negative_log_likelihood_grad(std::size_t rows, std::size_t n, const std::int32_t* labels, const A* weight, A total,
                                           const A* dy, const A* log_p, T* dx);
  /// y[i] = <a_i, b_i> / max(|a_i| |b_i|, eps); rows of n elements.
  template <class T>
  static void cosine_similarity(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* a, const T* b, T* y);
  /// da_i = dy[i] (b_i / (|a_i| |b_i|) - y_i a_i / |a_i|^2), db likewise; if eps is the divisor, it is a constant.
  template <class T>
  static void cosine_similarity_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* a, const T* b, T* da,
                                     T* db);
  /// out[0] = mean over the groups of f = 2 / (n (n - 1)) sum_{i<j} cos(x_i, x_j); 0 without groups. Computed in linear time from the sum s
  /// of the unit vectors u_i = x_i / max(|x_i|, 1e-8):   f = (|s|^2 - sum |u_i|^2) / (n (n - 1))
  template <class T>
  static void pairwise_cosine(const VectorGroups& all, const T* x, accumulate_t<T>* out);
  /// dx_i += dy[0] 2 (s - (s . u_i) u_i) / (n (n - 1) |x_i| groups), for |x_i| > 1e-8.
  template <class T>
  static void pairwise_cosine_grad(const VectorGroups& all, const accumulate_t<T>* dy, const T* x, T* dx);
};

template <class Dev>
struct AttentionKernels {
  /// Computes context (N, D); logsumexp (N, H) = log sum_j exp(S_ij), from which attention_grad recomputes P; and attentions (rows, P) = S
  /// if maps_are_scores, else P before dropout, for the heads in map_row.
  template <class T>
  static void attention(const AttentionArgs<T>& a, T* context, accumulate_t<T>* logsumexp, T* attentions);
  /// Writes the requested gradients, from the gradients of context and maps (null = nothing depends on them). `context` and `logsumexp` are
  /// the outputs of attention(). Tables get a partial sum per chunk of sequences; the partial sums are added in order, and the position
  /// bias is summed over the sequences in order. The CPU does not need `context`: it computes sum_j P_ij dP_ij = <dcontext_i, context_i>
  /// itself.
  template <class T>
  static void attention_grad(const AttentionArgs<T>& a, const T* context, const accumulate_t<T>* logsumexp, const T* dcontext,
                             const T* dmaps, const AttentionGrads<T>& grads);
};

template <class Dev>
struct AdditiveKernels {
  /// probabilities (H, P) = softmax_j(w . tanh(P_j + U_i)), which the gradient needs; out (N, H d) = probabilities X.
  template <class T>
  static void additive_attention(const AdditiveArgs<T>& a, accumulate_t<T>* probabilities, T* out);
  /// Writes all gradients; `probabilities` is the output of additive_attention(). Each (sequence, head) has a partial gradient of the
  /// weights; these are added in order.
  template <class T>
  static void additive_attention_grad(const AdditiveArgs<T>& a, const accumulate_t<T>* probabilities, const T* dout,
                                      const AdditiveGrads<T>& grads);
};

template <class Dev>
struct LstmKernels {
  /// One step of `rows` sequences with states of n numbers. gates (rows, 4 n) holds the sums i, f, g, o and becomes their activations;
  ///   c = sigmoid(f) before + sigmoid(i) tanh(g),   h = sigmoid(o) tanh(c);   before, c, h (rows, n)
  template <class T>
  static void lstm_step(std::size_t rows, std::size_t n, const accumulate_t<T>* before, accumulate_t<T>* gates, accumulate_t<T>* c, T* h);
  /// The gradients of one step. gates, before, c: as lstm_step() left them; dy (rows, n) = the gradient of h from outside, dh (rows, n)
  /// from the next step. dc (rows, n): of c from the next step; becomes the gradient of `before`. dgates (rows, 4 n): of the sums.
  template <class T>
  static void lstm_step_grad(std::size_t rows, std::size_t n, const accumulate_t<T>* gates, const accumulate_t<T>* before,
                             const accumulate_t<T>* c, const T* dy, const accumulate_t<T>* dh, accumulate_t<T>* dc, T* dgates);
};

template <class Dev>
struct CrfKernels {
  /// alpha[t, j] = the log of the sum over all paths up to token t with label j there, (N, L); log_z (B); loss[0] = the mean of
  /// log_z - score of the labels, summed in order.
  template <class A>
  static void crf_forward(const CrfArgs<A>& c, const std::int32_t* labels, A* alpha, A* log_z, A* loss);
  /// The gradients of crf_forward's loss for dy[0]. beta (N, L) is work space: the log of the sum over all paths after token t.
  template <class A>
  static void crf_grad(const CrfArgs<A>& c, const std::int32_t* labels, const A* alpha, const A* log_z, const A* dy, A* beta,
                       const CrfGrads<A>& d);
  /// best (N): the labels of the path with the highest score of each sequence, of equal ones the smaller label at the last differing token.
  template <class A>
  static void crf_decode(const CrfArgs<A>& c, std::int32_t* best);
};

/// All kernels of a device.
template <class Dev>
struct Kernels : ElementwiseKernels<Dev>,
                 RowKernels<Dev>,
                 IndexKernels<Dev>,
                 LossKernels<Dev>,
                 AttentionKernels<Dev>,
                 AdditiveKernels<Dev>,
                 LstmKernels<Dev>,
                 CrfKernels<Dev> {
  /// C = alpha op(A) op(B) + beta C, or + bias (gemm.hpp). C is of type T or accumulate_t<T>. On a GPU by cuBLAS: float uses TF32 only if
  /// cuda::set_tf32 enables it; bfloat16 is accumulated in float.
  template <class T, class C>
  static void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, accumulate_t<T> alpha, const T* a,
                   std::size_t lda, const T* b, std::size_t ldb, accumulate_t<T> beta, C* c, std::size_t ldc,
                   const std::type_identity_t<T>* bias = nullptr);
  /// The gradients of a linear layer: dw (columns, k) = dy^T x,  db (columns) = column sums of dy, whose rows are `stride` apart.
  template <class T>
  static void linear_grad(std::size_t rows, std::size_t columns, std::size_t k, const T* dy, std::size_t stride, const T* x, T* dw, T* db);
  /// C_i = alpha op(A_i) op(B_i) for `batch` contiguous matrices: A_i at a + i step_a, B_i at b + i step_b (step 0 = shared), C_i at
  /// c + i m n.
  template <class T>
  static void gemm_batched(std::size_t batch, bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k,
                           accumulate_t<T> alpha, const T* a, std::size_t step_a, const T* b, std::size_t step_b, T* c);
};

}  // namespace lexformer
