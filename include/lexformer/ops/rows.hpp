// SPDX-License-Identifier: MIT
// Ops on rows: a row is a slice along the last axis (of size n).
#pragma once

#include <cstdint>

#include "lexformer/core/indices.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

/// The maximum or minimum of each row, and its index.
template <class T, class Dev>
struct RowExtreme {
  Var<T, Dev> values;                  // (...) for x (..., n)
  Indices<std::int32_t, Dev> indices;  // one per row, in 0 .. n-1
};

namespace detail {

/// The shape without its last axis, for ops that reduce that axis. Errors: a scalar, or rows of size 0.
inline Shape shape_of_rows(const char* op, const Shape& x) {
  if (x.rank() == 0 || x.last() == 0) fail(op, "needs a last axis of at least one element, got shape ", x);
  return Shape(x.begin(), x.end() - 1);
}

template <class T, class Dev>
RowExtreme<T, Dev> row_extreme(const char* name, bool largest, const Var<T, Dev>& x) {
  const Shape shape = shape_of_rows(name, x.shape());
  const std::size_t rows = x.shape().rows(), n = x.shape().last();
  Tensor<T, Dev> y(shape);
  Tensor<std::int32_t, Dev> index({rows});
  Kernels<Dev>::row_extreme(rows, n, largest, x.value().data(), y.mutable_data(), index.mutable_data());
  const Indices<std::int32_t, Dev> indices(index, 0, static_cast<std::int32_t>(n - 1));
  return {record(name, y, std::vector{x},
                 [=, all = x.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                   Tensor<T, Dev> dx(all);
                   Kernels<Dev>::row_extreme_grad(rows, n, indices.data(), dy.data(), dx.mutable_data());
                   return {dx};
                 }),
          indices};
}

/// Softmax of rows, or log-softmax if `log`.
template <class T, class Dev>
Var<T, Dev> softmax(const char* name, bool log, const Var<T, Dev>& x) {
  const std::size_t rows = shape_of_rows(name, x.shape()).size(), n = x.shape().last();
  Tensor<T, Dev> y(x.shape());
  Kernels<Dev>::softmax(rows, n, log, x.value().data(), y.mutable_data());
  return record(name, y, std::vector{x}, [=, kept = Saved(y)](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(dy.shape());
    Kernels<Dev>::softmax_grad(rows, n, log, dy.data(), kept->data(), dx.mutable_data());
    return {dx};
  });
}

}  // namespace detail

/// Softmax along the last axis: y_j = exp(x_j) / sum_k exp(x_k), x (..., n).    dx = y (dy - <y, dy>).    Errors: n = 0
template <class T, class Dev>
Var<T, Dev> softmax(const Var<T, Dev>& x) {
  return detail::softmax("softmax", false, x);
}

/// Log-softmax along the last axis: y = x - log(sum exp(x)), x (..., n).    dx = dy - exp(y) sum(dy).    Errors: n = 0
template <class T, class Dev>
Var<T, Dev> log_softmax(const Var<T, Dev>& x) {
  return detail::softmax("log_softmax", true, x);
}

/// Log-sum-exp along the last axis: y[i] = log(sum_j exp(x[i, j])), x (..., n) -> (...). The row maximum is subtracted before exp.
///   dx[i, j] = dy[i] exp(x[i, j] - y[i]);  a row of -inf gives -inf and gradient 0.    Errors: n = 0
template <class T, class Dev>
Var<T, Dev> log_sum_exp(const Var<T, Dev>& x) {
  using A = accumulate_t<T>;
  const std::size_t rows = x.shape().rows(), n = x.shape().last();
  Tensor<A, Dev> y(detail::shape_of_rows("log_sum_exp", x.shape()));
  Kernels<Dev>::log_sum_exp(rows, n, x.value().data(), y.mutable_data());
  return record("log_sum_exp", detail::cast<T>(y), std::vector{x},
                [=, xv = Saved(x.value()), yv = Saved(y)](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  Tensor<T, Dev> dx(xv->shape());
                  Kernels<Dev>::log_sum_exp_grad(rows, n, dy.data(), xv->data(), yv->data(), dx.mutable_data());
                  return {dx};
                });
}

/// Normalizes rows to L2 norm 1, as torch.nn.functional.normalize: y = x / max(|x|, eps) with |x| the norm along the last axis.
///   dx = (dy - y <y, dy>) / |x|,  or dy / eps where |x| < eps.    Errors: eps is not positive
template <class T, class Dev>
Var<T, Dev> l2_normalize(const Var<T, Dev>& x, accumulate_t<T> eps = static_cast<accumulate_t<T>>(1e-12)) {
  if (!(eps > 0)) fail("l2_normalize", "eps must be positive, got ", eps);
  Tensor<T, Dev> y(x.shape());
  const std::size_t rows = x.shape().rows(), n = x.shape().last();
  Tensor<accumulate_t<T>, Dev> norm({rows});
  Kernels<Dev>::l2_normalize(rows, n, eps, x.value().data(), y.mutable_data(), norm.mutable_data());
  return record("l2_normalize", y, std::vector{x},
                [=, yv = Saved(y), norm = Saved(norm)](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  Tensor<T, Dev> dx(dy.shape());
                  Kernels<Dev>::l2_normalize_grad(rows, n, eps, dy.data(), yv->data(), norm->data(), dx.mutable_data());
                  return {dx};
                });
}

/// Standardizes rows: y = (x - mean x) / (s + eps), s = sqrt(sum_j (x_j - mean x)^2 / (n - 1)), x (..., n).
///   dx = (dy - mean(dy)) / (s + eps) - y <dy, y> / ((n - 1) s); the last term is 0 where s = 0.
/// Differs from layer_norm: s divides by n - 1, and eps is outside of the root. Errors: n < 2, or eps is not positive.
template <class T, class Dev>
Var<T, Dev> standardize(const Var<T, Dev>& x, accumulate_t<T> eps) {
  const std::size_t rows = x.shape().rows(), n = x.shape().rank() == 0 ? 0 : x.shape().last();
  if (n < 2 || !(eps > 0)) fail("standardize", "needs rows of at least 2 elements and a positive eps, got ", x.shape(), " and ", eps);
  Tensor<T, Dev> y(x.shape());
  Tensor<accumulate_t<T>, Dev> deviation({rows});
  Kernels<Dev>::standardize(rows, n, eps, x.value().data(), y.mutable_data(), deviation.mutable_data());
  return record("standardize", y, std::vector{x},
                [=, yv = Saved(y), deviation = Saved(deviation)](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  Tensor<T, Dev> dx(dy.shape());
                  Kernels<Dev>::standardize_grad(rows, n, eps, dy.data(), yv->data(), deviation->data(), dx.mutable_data());
                  return {dx};
                });
}

/// Row maximum: values[i] = max_j x[i, j], x (..., n) -> (...); indices[i] is the first j that attains it. NaN counts as the largest.
///   dx[i, indices[i]] = dvalues[i], 0 elsewhere.    Errors: n = 0
template <class T, class Dev>
RowExtreme<T, Dev> row_max(const Var<T, Dev>& x) {
  return detail::row_extreme("row_max", true, x);
}
/// Row minimum: values[i] = min_j x[i, j], otherwise as row_max. NaN counts as the smallest.
template <class T, class Dev>
RowExtreme<T, Dev> row_min(const Var<T, Dev>& x) {
  return detail::row_extreme("row_min", false, x);
}

/// y = LayerNorm(residual + dropout(x)):  z = residual + x mask,  xhat = (z - mean z) / sqrt(var z + eps),  y = xhat gamma + beta.
///   x, residual (N, D), gamma, beta (D) -> y (N, D); residual may be undefined; the variance divides by D (Ba et al. 2016)
///   dz = (g - mean(g) - xhat mean(g xhat)) / sqrt(var + eps) with g = dy gamma;  dx = dz mask;  dresidual = dz
/// With output_dropout, y is also multiplied by that mask, and so is dy in its gradients.
/// Fuses three passes into one, since it follows every sublayer of BERT.
template <class T, class Dev>
Var<T, Dev> residual_layer_norm(const Var<T, Dev>& x, const Var<T, Dev>& residual, const Var<T, Dev>& gamma, const Var<T, Dev>& beta,
                                accumulate_t<T> eps, const DropoutMask& dropout = {}, const DropoutMask& output_dropout = {}) {
  const std::size_t n = x.shape().last(), rows = x.shape().rows();
  if (!(gamma.shape() == Shape{n}) || !(beta.shape() == Shape{n}))
    fail("layer_norm", "gamma ", gamma.shape(), " and beta ", beta.shape(), " must be (", n, ",) for x ", x.shape());
  if (residual.defined() && !(residual.shape() == x.shape()))
    fail("layer_norm", "residual ", residual.shape(), " differs from x ", x.shape());
  const std::vector inputs{x, residual, gamma, beta};
  Tensor<T, Dev> y(x.shape());
  auto xhat = is_recorded(inputs) ? Tensor<T, Dev>(x.shape()) : y;
  Tensor<accumulate_t<T>, Dev> rstd({rows});
  Kernels<Dev>::layer_norm(rows, n, eps, dropout, output_dropout, x.value().data(), residual.defined() ? residual.value().data() : nullptr,
                           gamma.value().data(), beta.value().data(), xhat.mutable_data(), rstd.mutable_data(), y.mutable_data());
  return record(
      "layer_norm", y, inputs,
      [=, xhat = Saved(xhat), rstd = Saved(rstd), gv = Saved(gamma.value())](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
        Tensor<T, Dev> dz(dy.shape()), dgamma({n}), dbeta({n});
        auto dx = dropout.active() ? Tensor<T, Dev>(dy.shape()) : dz;
        Kernels<Dev>::layer_norm_grad(rows, n, dropout, output_dropout, dy.data(), gv->data(), xhat->data(), rstd->data(),
                                      dz.mutable_data(), dx.mutable_data(), dgamma.mutable_data(), dbeta.mutable_data());
        return {dx, dz, dgamma, dbeta};
      });
}

/// Layer normalization along the last axis (Ba et al. 2016), then dropout: y = ((x - mean x) / sqrt(var x + eps) gamma + beta) mask.
template <class T, class Dev>
Var<T, Dev> layer_norm(const Var<T, Dev>& x, const Var<T, Dev>& gamma, const Var<T, Dev>& beta, accumulate_t<T> eps,
                       const DropoutMask& dropout = {}) {
  return residual_layer_norm(x, Var<T, Dev>{}, gamma, beta, eps, {}, dropout);
}

/// Sum of all elements, a scalar.    dx = dy everywhere
template <class T, class Dev>
Var<accumulate_t<T>, Dev> sum(const Var<T, Dev>& x) {
  using A = accumulate_t<T>;
  Tensor<A, Dev> y{Shape{}};
  Kernels<Dev>::sum(x.size(), x.value().data(), y.mutable_data());
  return record("sum", y, std::vector{x}, [shape = x.shape()](const Tensor<A, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(shape);
    Kernels<Dev>::fill_quotient(dx.size(), dy.data(), A{1}, dx.mutable_data());
    return {dx};
  });
}

/// Mean of all elements, a scalar.    dx = dy / size.    Errors: x is empty
template <class T, class Dev>
Var<accumulate_t<T>, Dev> mean(const Var<T, Dev>& x) {
  using A = accumulate_t<T>;
  if (x.size() == 0) fail("mean", "x is empty, shape ", x.shape());
  Tensor<A, Dev> y{Shape{}};
  Kernels<Dev>::mean(x.size(), x.value().data(), y.mutable_data());
  return record("mean", y, std::vector{x}, [shape = x.shape()](const Tensor<A, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(shape);
    Kernels<Dev>::fill_quotient(dx.size(), dy.data(), static_cast<A>(dx.size()), dx.mutable_data());
    return {dx};
  });
}

/// Sum of each row: x (..., n) -> y (...).    dx[i, j] = dy[i].    Errors: x is a scalar
template <class T, class Dev>
Var<T, Dev> row_sum(const Var<T, Dev>& x) {
  if (x.shape().rank() == 0) fail("row_sum", "x is a scalar; it needs at least one axis");
  const std::size_t n = x.shape().last(), rows = x.shape().rows();
  Tensor<T, Dev> y(Shape(x.shape().begin(), x.shape().end() - 1));
  Kernels<Dev>::row_sum(rows, n, x.value().data(), y.mutable_data());
  return record("row_sum", y, std::vector{x}, [=, shape = x.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(shape);
    Kernels<Dev>::expand_rows(rows, n, dy.data(), dx.mutable_data());
    return {dx};
  });
}

/// Sum of each column: y[j] = sum_i x[i, j], x (N, D) -> y (D).    dx[i, j] = dy[j]
template <class T, class Dev>
Var<T, Dev> column_sum(const Var<T, Dev>& x) {
  const std::size_t rows = x.shape().rows(), n = x.shape().last();
  Tensor<T, Dev> y({n});
  Kernels<Dev>::column_sum(rows, n, x.value().data(), n, y.mutable_data());
  return record("column_sum", y, std::vector{x}, [=, shape = x.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(shape);
    Kernels<Dev>::fill_rows(rows, n, dy.data(), dx.mutable_data());
    return {dx};
  });
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_ROWS(word, T)                                                                                                         \
  word template Var<T, Cpu> softmax<T, Cpu>(const Var<T, Cpu>&);                                                                        \
  word template Var<T, Cpu> log_softmax<T, Cpu>(const Var<T, Cpu>&);                                                                    \
  word template Var<T, Cpu> log_sum_exp<T, Cpu>(const Var<T, Cpu>&);                                                                    \
  word template Var<T, Cpu> l2_normalize<T, Cpu>(const Var<T, Cpu>&, accumulate_t<T>);                                                  \
  word template Var<T, Cpu> standardize<T, Cpu>(const Var<T, Cpu>&, accumulate_t<T>);                                                   \
  word template Var<accumulate_t<T>, Cpu> sum<T, Cpu>(const Var<T, Cpu>&);                                                              \
  word template Var<accumulate_t<T>, Cpu> mean<T, Cpu>(const Var<T, Cpu>&);                                                             \
  word template Var<T, Cpu> row_sum<T, Cpu>(const Var<T, Cpu>&);                                                                        \
  word template Var<T, Cpu> residual_layer_norm<T, Cpu>(const Var<T, Cpu>&, const Var<T, Cpu>&, const Var<T, Cpu>&, const Var<T, Cpu>&, \
                                                        accumulate_t<T>, const DropoutMask&, const DropoutMask&);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_ROWS(extern, float)
LEXFORMER_ROWS(extern, double)
#endif

}  // namespace lexformer
