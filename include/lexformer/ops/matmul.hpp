// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/autograd/var.hpp"

namespace lexformer {

struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;
};

/// y = op(a) op(b) with op(a) (m, k), op(b) (k, n) -> y (m, n).    da = dy op(b)^T, db = op(a)^T dy, transposed back where asked
template <class T, class Dev>
Var<T, Dev> matmul(const Var<T, Dev>& a, const Var<T, Dev>& b, MatmulOptions options = {}) {
  const Shape &sa = a.shape(), &sb = b.shape();
  if (sa.rank() != 2 || sb.rank() != 2) fail("matmul", "needs two matrices, got ", sa, " x ", sb);
  const bool ta = options.transpose_a, tb = options.transpose_b;
  const std::size_t m = sa[ta ? 1 : 0], k = sa[ta ? 0 : 1], n = sb[tb ? 0 : 1];
  if (k != sb[tb ? 1 : 0])
    fail("matmul", "inner sizes differ: ", sa, ta ? "^T" : "", " x ", sb, tb ? "^T" : "",
         sb[tb ? 0 : 1] == k ? "; did you mean the other transpose_b?" : "");
  Tensor<T, Dev> y({m, n});
  Kernels<Dev>::gemm(ta, tb, m, n, k, T{1}, a.value().data(), sa[1], b.value().data(), sb[1], T{0}, y.mutable_data(), n);
  return record("matmul", y, std::vector{a, b},
                [=, av = Saved(a.value()), bv = Saved(b.value()), da_needed = a.requires_grad(),
                 db_needed = b.requires_grad()](const Tensor<T, Dev>& dy) {
                  std::vector<Tensor<T, Dev>> d(2);
                  const std::size_t lda = av->dim(1), ldb = bv->dim(1);
                  if (da_needed) {
                    d[0] = Tensor<T, Dev>(av->shape());
                    if (ta)  // da (k, m) = op(b) dy^T
                      Kernels<Dev>::gemm(tb, true, k, m, n, T{1}, bv->data(), ldb, dy.data(), n, T{0}, d[0].mutable_data(), lda);
                    else  // da (m, k) = dy op(b)^T
                      Kernels<Dev>::gemm(false, !tb, m, k, n, T{1}, dy.data(), n, bv->data(), ldb, T{0}, d[0].mutable_data(), lda);
                  }
                  if (db_needed) {
                    d[1] = Tensor<T, Dev>(bv->shape());
                    if (tb)  // db (n, k) = dy^T op(a)
                      Kernels<Dev>::gemm(true, ta, n, k, m, T{1}, dy.data(), n, av->data(), lda, T{0}, d[1].mutable_data(), ldb);
                    else  // db (k, n) = op(a)^T dy
                      Kernels<Dev>::gemm(!ta, false, k, n, m, T{1}, av->data(), lda, dy.data(), n, T{0}, d[1].mutable_data(), ldb);
                  }
                  return d;
                });
}

/// y = [x w_0^T + b_0 | x w_1^T + b_1 | ...]: several linear layers on one input, their outputs side by side.
///   x (N, K), w_i (D_i, K) as HuggingFace stores it, b_i (D_i) or undefined -> y (N, sum of D_i)
///   dx = sum dy_i w_i,  dw_i = dy_i^T x,  db_i = column sums of dy_i
/// With the three projections of attention this is the fused QKV product: one output, no copies of weights.
template <class T, class Dev>
Var<T, Dev> linear(const Var<T, Dev>& x, const std::vector<Var<T, Dev>>& weights, const std::vector<Var<T, Dev>>& biases) {
  if (x.shape().rank() != 2) fail("linear", "x must be a matrix of rows, got ", x.shape());
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

/// y = x w^T + b.
template <class T, class Dev>
Var<T, Dev> linear(const Var<T, Dev>& x, const Var<T, Dev>& weight, const Var<T, Dev>& bias = {}) {
  return linear(x, std::vector{weight}, std::vector{bias});
}

}  // namespace lexformer
