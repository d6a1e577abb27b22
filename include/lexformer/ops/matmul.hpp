// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;
  double scale = 1;
};

namespace detail {

/// A batch of matrices, `step` elements apart; step 0 = a single matrix for the whole batch.
template <class T>
struct Matrices {
  const T* data;
  std::size_t step;
};

/// The products scale op(a_i) op(b_i), (m, k) times (k, n), contiguous in a tensor of the given shape; if `summed`, their sum in the order
/// of i.
template <class Dev, class T>
Tensor<T, Dev> products(std::size_t batch, bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, accumulate_t<T> scale,
                        Matrices<T> a, Matrices<T> b, const Shape& shape, bool summed) {
  if (!summed) {
    Tensor<T, Dev> y(shape);
    Kernels<Dev>::gemm_batched(batch, ta, tb, m, n, k, scale, a.data, a.step, b.data, b.step, y.mutable_data());
    return y;
  }
  using A = accumulate_t<T>;
  auto sum = Tensor<A, Dev>::zeros(shape);
  for (std::size_t i = 0; i < batch; ++i)
    Kernels<Dev>::gemm(ta, tb, m, n, k, scale, a.data + i * a.step, ta ? m : k, b.data + i * b.step, tb ? k : n, A{1}, sum.mutable_data(),
                       n);
  return cast<T>(sum);
}

/// Whether the values lie one after the other in memory, as slices of one Tensor do, and are trained or frozen together.
template <class T, class Dev>
bool adjoining(const std::vector<Var<T, Dev>>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].defined()) return false;
    if (i == 0) continue;
    const auto &before = parts[i - 1].value(), &value = parts[i].value();
    if (!value.shares_storage(before) || value.data() != before.data() + before.size() ||
        parts[i].requires_grad() != parts[0].requires_grad())
      return false;
  }
  return true;
}

/// Whether a linear layer adds dx to the gradient that x has already, as of a residual connection, within the product. Not where the
/// product rounds to storage only without such a sum (gemm_rounded).
template <class T, class Dev>
inline constexpr bool linear_adds = !(is_storage<T> && std::is_same_v<Dev, Cpu>);

/// The gradients of a linear layer's weight and bias, if they are needed: dw = dy^T x (width, k), db = column sums of dy.
///   x (rows, k); dy: `width` columns of a matrix whose rows have `stride` elements
template <class T, class Dev>
std::pair<Tensor<T, Dev>, Tensor<T, Dev>> linear_weight_grads(bool dw_needed, bool db_needed, std::size_t rows, std::size_t width,
                                                              std::size_t k, const T* dy, std::size_t stride, const T* x) {
  Tensor<T, Dev> dw, db;
  if (dw_needed) dw = Tensor<T, Dev>({width, k});
  if (db_needed) db = Tensor<T, Dev>({width});
  if (dw_needed && db_needed)
    Kernels<Dev>::linear_grad(rows, width, k, dy, stride, x, dw.mutable_data(), db.mutable_data());
  else if (dw_needed)
    Kernels<Dev>::gemm(true, false, width, k, rows, T{1}, dy, stride, x, k, T{0}, dw.mutable_data(), k);
  else if (db_needed)
    Kernels<Dev>::column_sum(rows, width, dy, stride, db.mutable_data());
  return {dw, db};
}

}  // namespace detail

/// Matrix product y = scale op(a) op(b), where op optionally transposes the last two axes.
///   da = scale dy op(b)^T, db = scale op(a)^T dy, transposed back
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
  const auto factor = static_cast<accumulate_t<T>>(options.scale);
  const bool sum_a = !many_a && batch != 1, sum_b = !many_b && batch != 1;
  const auto y = detail::products<Dev, T>(batch, ta, tb, m, n, k, factor, {a.value().data(), step_a}, {b.value().data(), step_b},
                                          Shape(dims.begin(), dims.end()), false);
  return record("matmul", y, std::vector{a, b},
                [=, av = Saved(a.value()), bv = Saved(b.value()), da_needed = a.requires_grad(),
                 db_needed = b.requires_grad()](const Tensor<T, Dev>& dy) {
                  const detail::Matrices<T> left{av->data(), step_a}, right{bv->data(), step_b}, g{dy.data(), step_y};
                  const Shape &shape_a = av->shape(), &shape_b = bv->shape();
                  std::vector<Tensor<T, Dev>> d(2);
                  if (da_needed)  // (k, m) = op(b) dy^T or (m, k) = dy op(b)^T
                    d[0] = ta ? detail::products<Dev>(batch, tb, true, k, m, n, factor, right, g, shape_a, sum_a)
                              : detail::products<Dev>(batch, false, !tb, m, k, n, factor, g, right, shape_a, sum_a);
                  if (db_needed)  // (n, k) = dy^T op(a) or (k, n) = op(a)^T dy
                    d[1] = tb ? detail::products<Dev>(batch, true, ta, n, k, m, factor, g, left, shape_b, sum_b)
                              : detail::products<Dev>(batch, !ta, false, k, n, m, factor, left, g, shape_b, sum_b);
                  return d;
                });
}

namespace detail {
/// Checks the shapes of linear() and returns the number of output columns.
template <class T, class Dev>
std::size_t linear_columns(const Var<T, Dev>& x, const std::vector<Var<T, Dev>>& weights, const std::vector<Var<T, Dev>>& biases) {
  if (x.shape().rank() != 2) fail("linear", "x must be a matrix (rows, in), got ", x.shape());
  if (weights.size() != biases.size())
    fail("linear", weights.size(), " weights but ", biases.size(), " biases (use an undefined Var for none)");
  if (weights.empty()) fail("linear", "there are no weights; expected one or more layers");
  std::size_t columns = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Shape& w = weights[i].shape();
    if (w.rank() != 2 || w[1] != x.dim(1)) fail("linear", "weight ", w, " does not fit x ", x.shape(), "; a weight is (out, in)");
    if (biases[i].defined() && !(biases[i].shape() == Shape{w[0]})) fail("linear", "bias ", biases[i].shape(), " does not fit weight ", w);
    columns += w[0];
  }
  return columns;
}
}  // namespace detail

/// Several linear layers on one input, outputs concatenated by columns: y = [x w_0^T + b_0 | x w_1^T + b_1 | ...].
///   x (N, K), w_i (D_i, K) as HuggingFace stores it, b_i (D_i) or undefined -> y (N, sum of D_i)
///   dx = sum dy_i w_i,  dw_i = dy_i^T x,  db_i = column sums of dy_i
/// Weights that lie one after the other in memory (and so their biases, if any) are one block, with one product for all: so are the three
/// projections of attention. Errors: shapes do not match, or there are no weights.
template <class T, class Dev>
Var<T, Dev> linear(const Var<T, Dev>& x, const std::vector<Var<T, Dev>>& weights, const std::vector<Var<T, Dev>>& biases) {
  const std::size_t columns = detail::linear_columns(x, weights, biases), rows = x.dim(0), k = x.dim(1);
  std::vector<Var<T, Dev>> inputs{x};
  for (std::size_t i = 0; i < weights.size(); ++i) inputs.insert(inputs.end(), {weights[i], biases[i]});
  // Products: each for the layers first ... end - 1, with the output columns from `begin` on.
  struct Block {
    std::size_t first, end, begin, width;
    Saved<T, Dev> weight;
  };
  const bool none = std::none_of(biases.begin(), biases.end(), [](const auto& b) { return b.defined(); });
  const std::size_t together = detail::adjoining(weights) && (none || detail::adjoining(biases)) ? weights.size() : 1;
  Tensor<T, Dev> y({rows, columns});
  T* const out = y.mutable_data();
  std::vector<Block> blocks;
  for (std::size_t i = 0, begin = 0; i < weights.size(); i += together) {
    std::size_t width = 0;
    for (std::size_t part = i; part < i + together; ++part) width += weights[part].dim(0);
    const T* const bias = biases[i].defined() ? biases[i].value().data() : nullptr;
    Kernels<Dev>::gemm(false, true, rows, width, k, T{1}, x.value().data(), k, weights[i].value().data(), k, T{0}, out + begin, columns,
                       bias);
    blocks.push_back({i, i + together, begin, width, weights[i].value()});
    begin += width;
  }
  std::vector<bool> needed;
  std::vector<std::size_t> widths;
  for (const auto& v : inputs) needed.push_back(v.requires_grad());
  for (const auto& w : weights) widths.push_back(w.dim(0));
  constexpr bool adds = detail::linear_adds<T, Dev>;
  return record_all(
      "linear", std::vector{std::move(y)}, inputs,
      [=, xv = Saved(x.value()), blocks = std::move(blocks), needed = std::move(needed),
       widths = std::move(widths)](const std::vector<Tensor<T, Dev>>& given) {
        const Tensor<T, Dev>& dy = given[0];
        std::vector<Tensor<T, Dev>> d(needed.size());
        if (needed[0]) d[0] = adds && given[1].defined() ? given[1] : Tensor<T, Dev>({rows, k});
        T beta = adds && given[1].defined() ? T{1} : T{0};
        for (const Block& block : blocks) {
          const T* const g = dy.data() + block.begin;
          if (needed[0])
            Kernels<Dev>::gemm(false, false, rows, k, block.width, T{1}, g, columns, block.weight->data(), k, std::exchange(beta, T{1}),
                               d[0].mutable_data(), k);
          const auto [dw, db] = detail::linear_weight_grads<T, Dev>(needed[1 + 2 * block.first], needed[2 + 2 * block.first], rows,
                                                                    block.width, k, g, columns, xv->data());
          for (std::size_t i = block.first, begin = 0; i < block.end; begin += widths[i++]) {
            if (dw.defined()) d[1 + 2 * i] = dw.slice(begin, begin + widths[i]);
            if (db.defined()) d[2 + 2 * i] = db.slice(begin, begin + widths[i]);
          }
        }
        return d;
      },
      adds)[0];
}

/// Linear layer: y = x w^T + b.    x (N, in), weight (out, in), bias (out) or undefined -> y (N, out)
template <class T, class Dev>
Var<T, Dev> linear(const Var<T, Dev>& x, const Var<T, Dev>& weight, const Var<T, Dev>& bias = {}) {
  return linear(x, std::vector{weight}, std::vector{bias});
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_MATMUL(word, T)                                                                  \
  word template Var<T, Cpu> matmul<T, Cpu>(const Var<T, Cpu>&, const Var<T, Cpu>&, MatmulOptions); \
  word template Var<T, Cpu> linear<T, Cpu>(const Var<T, Cpu>&, const std::vector<Var<T, Cpu>>&, const std::vector<Var<T, Cpu>>&);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_MATMUL(extern, float)
LEXFORMER_MATMUL(extern, double)
#endif

}  // namespace lexformer
