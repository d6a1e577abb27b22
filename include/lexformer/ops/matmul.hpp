// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;
};

namespace detail {

/// A batch of matrices, `step` elements apart; step 0 = a single matrix for the whole batch.
template <class T>
struct Matrices {
  const T* data;
  std::size_t step;
};

/// The products op(a_i) op(b_i), (m, k) times (k, n), contiguous in a tensor of the given shape; if `summed`, their sum in the order of i.
template <class Dev, class T>
Tensor<T, Dev> products(std::size_t batch, bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, Matrices<T> a, Matrices<T> b,
                        const Shape& shape, bool summed) {
  if (!summed) {
    Tensor<T, Dev> y(shape);
    Kernels<Dev>::gemm_batched(batch, ta, tb, m, n, k, a.data, a.step, b.data, b.step, y.mutable_data());
    return y;
  }
  using A = accumulate_t<T>;
  auto sum = Tensor<A, Dev>::zeros(shape);
  for (std::size_t i = 0; i < batch; ++i)
    Kernels<Dev>::gemm(ta, tb, m, n, k, A{1}, a.data + i * a.step, ta ? m : k, b.data + i * b.step, tb ? k : n, A{1}, sum.mutable_data(),
                       n);
  return cast<T>(sum);
}

}  // namespace detail

/// Matrix product y = op(a) op(b), where op optionally transposes the last two axes.    da = dy op(b)^T, db = op(a)^T dy, transposed back
///   op(a) (m, k), op(b) (k, n) -> y (m, n);  batched: (..., m, k), (..., k, n) -> (..., m, n)
/// The leading axes must be equal, or one side must be a single matrix: it is multiplied with every matrix of the other side, and its
/// gradient is the sum over the batch. Errors: shapes do not match.
template <class T, class Dev>
Var<T, Dev> matmul(const Var<T, Dev>& a, const Var<T, Dev>& b, MatmulOptions options = {}) {
  const Shape &sa = a.shape(), &sb = b.shape();
  if (sa.rank() < 2 || sb.rank() < 2) fail("matmul", "needs two matrices, or batches of them, got ", sa, " x ", sb);
  const bool ta = options.transpose_a, tb = options.transpose_b;
  const std::size_t* const a_end = sa.end();
  const std::size_t* const b_end = sb.end();
  std::size_t m = a_end[ta ? -1 : -2], batch = 1;
  const std::size_t k = a_end[ta ? -2 : -1], n = b_end[tb ? -2 : -1];
  if (k != b_end[tb ? -1 : -2])
    fail("matmul", "inner sizes differ: ", sa, ta ? "^T" : "", " x ", sb, tb ? "^T" : "",
         n == k ? "; did you mean the other transpose_b?" : "");
  const bool many_a = sa.rank() > 2, many_b = sb.rank() > 2;
  if (many_a && many_b && !std::equal(sa.begin(), a_end - 2, sb.begin(), b_end - 2))
    fail("matmul", "the leading axes differ: ", sa, " x ", sb, "; they must be equal, or one side a single matrix");
  std::vector<std::size_t> dims(many_a ? sa.begin() : sb.begin(), many_a ? a_end : b_end);
  dims[dims.size() - 2] = m;
  dims.back() = n;
  for (std::size_t axis = 0; axis + 2 < dims.size(); ++axis) batch *= dims[axis];
  if (!many_b && !ta) {  // the matrices of a are stacked rows: one product
    m *= batch;
    batch = 1;
  }
  // Distance between consecutive matrices. A single matrix (step 0) gets the sum of the gradients over the batch.
  const std::size_t step_a = many_a ? m * k : 0, step_b = many_b ? k * n : 0, step_y = m * n;
  const bool sum_a = !many_a && batch != 1, sum_b = !many_b && batch != 1;
  const auto y = detail::products<Dev, T>(batch, ta, tb, m, n, k, {a.value().data(), step_a}, {b.value().data(), step_b},
                                          Shape(dims.begin(), dims.end()), false);
  return record("matmul", y, std::vector{a, b},
                [=, av = Saved(a.value()), bv = Saved(b.value()), da_needed = a.requires_grad(),
                 db_needed = b.requires_grad()](const Tensor<T, Dev>& dy) {
                  const detail::Matrices<T> left{av->data(), step_a}, right{bv->data(), step_b}, g{dy.data(), step_y};
                  const Shape &shape_a = av->shape(), &shape_b = bv->shape();
                  std::vector<Tensor<T, Dev>> d(2);
                  if (da_needed)  // (k, m) = op(b) dy^T or (m, k) = dy op(b)^T
                    d[0] = ta ? detail::products<Dev>(batch, tb, true, k, m, n, right, g, shape_a, sum_a)
                              : detail::products<Dev>(batch, false, !tb, m, k, n, g, right, shape_a, sum_a);
                  if (db_needed)  // (n, k) = dy^T op(a) or (k, n) = op(a)^T dy
                    d[1] = tb ? detail::products<Dev>(batch, true, ta, n, k, m, g, left, shape_b, sum_b)
                              : detail::products<Dev>(batch, !ta, false, k, n, m, left, g, shape_b, sum_b);
                  return d;
                });
}

/// Several linear layers on one input, outputs concatenated by columns: y = [x w_0^T + b_0 | x w_1^T + b_1 | ...].
///   x (N, K), w_i (D_i, K) as HuggingFace stores it, b_i (D_i) or undefined -> y (N, sum of D_i)
///   dx = sum dy_i w_i,  dw_i = dy_i^T x,  db_i = column sums of dy_i
/// With the three projections of attention this is the fused QKV product: one output, no copies of the weights.
template <class T, class Dev>
Var<T, Dev> linear(const Var<T, Dev>& x, const std::vector<Var<T, Dev>>& weights, const std::vector<Var<T, Dev>>& biases) {
  if (x.shape().rank() != 2) fail("linear", "x must be a matrix (rows, in), got ", x.shape());
  if (weights.size() != biases.size())
    fail("linear", weights.size(), " weights but ", biases.size(), " biases (use an undefined Var for none)");
  const std::size_t rows = x.dim(0), k = x.dim(1);
  std::size_t columns = 0;
  std::vector<Var<T, Dev>> inputs{x};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Shape& w = weights[i].shape();
    if (w.rank() != 2 || w[1] != k) fail("linear", "weight ", w, " does not fit x ", x.shape(), "; a weight is (out, in)");
    if (biases[i].defined() && !(biases[i].shape() == Shape{w[0]})) fail("linear", "bias ", biases[i].shape(), " does not fit weight ", w);
    columns += w[0];
    inputs.push_back(weights[i]);
    inputs.push_back(biases[i]);
  }
  Tensor<T, Dev> y({rows, columns});
  T* out = y.mutable_data();
  std::vector<Saved<T, Dev>> kept;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t d = weights[i].dim(0);
    const T* bias = biases[i].defined() ? biases[i].value().data() : nullptr;
    Kernels<Dev>::gemm(false, true, rows, d, k, T{1}, x.value().data(), k, weights[i].value().data(), k, T{0}, out + begin, columns, bias);
    kept.emplace_back(weights[i].value());
    begin += d;
  }
  std::vector<bool> needed;
  for (const auto& v : inputs) needed.push_back(v.requires_grad());
  return record(
      "linear", y, inputs, [=, xv = Saved(x.value()), kept = std::move(kept), needed = std::move(needed)](const Tensor<T, Dev>& dy) {
        std::vector<Tensor<T, Dev>> d(needed.size());
        if (needed[0]) d[0] = Tensor<T, Dev>({rows, k});
        std::size_t first = 0;
        for (std::size_t i = 0; i < kept.size(); ++i) {
          const std::size_t width = kept[i]->dim(0);
          const T* g = dy.data() + first;
          if (needed[0])
            Kernels<Dev>::gemm(false, false, rows, k, width, T{1}, g, columns, kept[i]->data(), k, i == 0 ? T{0} : T{1},
                               d[0].mutable_data(), k);
          if (needed[1 + 2 * i]) {
            d[1 + 2 * i] = Tensor<T, Dev>({width, k});
            Kernels<Dev>::gemm(true, false, width, k, rows, T{1}, g, columns, xv->data(), k, T{0}, d[1 + 2 * i].mutable_data(), k);
          }
          if (needed[2 + 2 * i]) {
            d[2 + 2 * i] = Tensor<T, Dev>({width});
            Kernels<Dev>::column_sum(rows, width, g, columns, d[2 + 2 * i].mutable_data());
          }
          first += width;
        }
        return d;
      });
}

/// Linear layer: y = x w^T + b.    x (N, in), weight (out, in), bias (out) or undefined -> y (N, out)
template <class T, class Dev>
Var<T, Dev> linear(const Var<T, Dev>& x, const Var<T, Dev>& weight, const Var<T, Dev>& bias = {}) {
  return linear(x, std::vector{weight}, std::vector{bias});
}

// The instances in lexformer::compiled; the word is extern in programs that link it.
#define LEXFORMER_MATMUL(word, T)                                                                  \
  word template Var<T, Cpu> matmul<T, Cpu>(const Var<T, Cpu>&, const Var<T, Cpu>&, MatmulOptions); \
  word template Var<T, Cpu> linear<T, Cpu>(const Var<T, Cpu>&, const std::vector<Var<T, Cpu>>&, const std::vector<Var<T, Cpu>>&);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_MATMUL(extern, float)
LEXFORMER_MATMUL(extern, double)
#endif

}  // namespace lexformer
