// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/broadcast.hpp"

namespace lexformer {

namespace detail {

/// y = F(a, b) with broadcasting.
template <class F, class T, class Dev>
Tensor<T, Dev> map_broadcast(const char* op, const Tensor<T, Dev>& a, const Tensor<T, Dev>& b) {
  if (a.shape() == b.shape()) {
    Tensor<T, Dev> y(a.shape());
    Kernels<Dev>::template map<F>(y.size(), a.data(), b.data(), y.mutable_data());
    return y;
  }
  const Broadcast plan(op, a.shape(), b.shape());
  Tensor<T, Dev> y(plan.shape());
  Kernels<Dev>::template map_broadcast<F>(plan, a.data(), b.data(), y.mutable_data());
  return y;
}

/// Sums g over the broadcast axes, to `shape`.
template <class T, class Dev>
Tensor<T, Dev> sum_to(const Tensor<T, Dev>& g, const Shape& shape) {
  if (g.shape() == shape) return g;
  Tensor<T, Dev> y(shape);
  Kernels<Dev>::sum_to(Broadcast("sum_to", g.shape(), shape), y.size(), g.data(), y.mutable_data());
  return y;
}

/// Converts to another scalar type; returns x itself if the type is the same.
template <class To, class T, class Dev>
Tensor<To, Dev> cast(const Tensor<T, Dev>& x) {
  if constexpr (std::is_same_v<To, T>) {
    return x;
  } else {
    Tensor<To, Dev> y(x.shape());
    Kernels<Dev>::cast(x.size(), x.data(), y.mutable_data());
    return y;
  }
}

/// Which of x and y the backward of y = F(x) keeps.
enum class Keep { input, output };

/// y = F(x).    dx = G(dy, kept)
template <class F, class G, Keep keep, class T, class Dev>
Var<T, Dev> unary(const char* name, const Var<T, Dev>& x) {
  Tensor<T, Dev> y(x.shape());
  Kernels<Dev>::template map<F>(y.size(), x.value().data(), y.mutable_data());
  return record(name, y, std::vector{x},
                [kept = Saved(keep == Keep::input ? x.value() : y)](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  Tensor<T, Dev> dx(dy.shape());
                  Kernels<Dev>::template map<G>(dx.size(), dy.data(), kept->data(), dx.mutable_data());
                  return {dx};
                });
}

/// y = c x + offset with constants.    dx = c dy
template <class T, class Dev>
Var<T, Dev> affine(const char* name, const Var<T, Dev>& x, accumulate_t<T> c, accumulate_t<T> offset) {
  Tensor<T, Dev> y(x.shape());
  Kernels<Dev>::affine(y.size(), c, x.value().data(), offset, y.mutable_data());
  return record(name, y, std::vector{x}, [c](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    if (c == 1) return {dy};
    Tensor<T, Dev> dx(dy.shape());
    Kernels<Dev>::affine(dx.size(), c, dy.data(), accumulate_t<T>{0}, dx.mutable_data());
    return {dx};
  });
}

/// y = F(a, b) for F = Maximum or Minimum, with broadcasting.
template <class F, class T, class Dev>
Var<T, Dev> extreme(const char* name, const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return record(name, map_broadcast<F>(name, a.value(), b.value()), std::vector{a, b},
                [name, av = Saved(a.value()), bv = Saved(b.value())](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  constexpr bool largest = std::is_same_v<F, scalar::Maximum>;
                  const auto share = map_broadcast<scalar::GreaterShare>(name, largest ? *av : *bv, largest ? *bv : *av);
                  const auto da = map_broadcast<scalar::Multiply>(name, dy, share);
                  return {sum_to(da, av->shape()), sum_to(map_broadcast<scalar::Subtract>(name, dy, da), bv->shape())};
                });
}

}  // namespace detail

/// Adds with broadcasting: y = a + b.    da = dy, db = dy, each summed over the broadcast axes
template <class T, class Dev>
Var<T, Dev> add(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return record("add", detail::map_broadcast<scalar::Add>("add", a.value(), b.value()), std::vector{a, b},
                [sa = a.shape(), sb = b.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  return {detail::sum_to(dy, sa), detail::sum_to(dy, sb)};
                });
}

/// Subtracts with broadcasting: y = a - b.    da = dy, db = -dy
template <class T, class Dev>
Var<T, Dev> subtract(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return record("subtract", detail::map_broadcast<scalar::Subtract>("subtract", a.value(), b.value()), std::vector{a, b},
                [sa = a.shape(), sb = b.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  Tensor<T, Dev> negative(dy.shape());
                  Kernels<Dev>::affine(dy.size(), T{-1}, dy.data(), T{0}, negative.mutable_data());
                  return {detail::sum_to(dy, sa), detail::sum_to(negative, sb)};
                });
}

/// Multiplies elementwise with broadcasting: y = a b.    da = dy b, db = dy a
template <class T, class Dev>
Var<T, Dev> multiply(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return record("multiply", detail::map_broadcast<scalar::Multiply>("multiply", a.value(), b.value()), std::vector{a, b},
                [av = Saved(a.value()), bv = Saved(b.value())](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  return {detail::sum_to(detail::map_broadcast<scalar::Multiply>("multiply", dy, *bv), av->shape()),
                          detail::sum_to(detail::map_broadcast<scalar::Multiply>("multiply", dy, *av), bv->shape())};
                });
}

/// Divides elementwise with broadcasting: y = a / b.    da = dy / b, db = -dy y / b
template <class T, class Dev>
Var<T, Dev> divide(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  const auto y = detail::map_broadcast<scalar::Divide>("divide", a.value(), b.value());
  return record("divide", y, std::vector{a, b},
                [yv = Saved(y), sa = a.shape(), bv = Saved(b.value())](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  const auto da = detail::map_broadcast<scalar::Divide>("divide", dy, *bv);
                  auto db = detail::map_broadcast<scalar::Multiply>("divide", da, *yv);
                  Kernels<Dev>::affine(db.size(), T{-1}, db.data(), T{0}, db.mutable_data());
                  return {detail::sum_to(da, sa), detail::sum_to(db, bv->shape())};
                });
}

/// Multiplies by a constant: y = c x.    dx = c dy
template <class T, class Dev>
Var<T, Dev> scale(const Var<T, Dev>& x, accumulate_t<T> c) {
  return detail::affine("scale", x, c, accumulate_t<T>{0});
}

/// Adds a constant: y = x + c.    dx = dy
template <class T, class Dev>
Var<T, Dev> add_scalar(const Var<T, Dev>& x, accumulate_t<T> c) {
  return detail::affine("add_scalar", x, accumulate_t<T>{1}, c);
}

/// Elementwise maximum with broadcasting: y = max(a, b), NaN if either is NaN.
///   da = dy where a > b, db = dy where b > a, dy / 2 each where a = b
template <class T, class Dev>
Var<T, Dev> maximum(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return detail::extreme<scalar::Maximum>("maximum", a, b);
}
/// Elementwise minimum with broadcasting: y = min(a, b), NaN if either is NaN.
///   da = dy where a < b, db = dy where b < a, dy / 2 each where a = b
template <class T, class Dev>
Var<T, Dev> minimum(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return detail::extreme<scalar::Minimum>("minimum", a, b);
}

/// Selects elementwise with broadcasting: y = a where the condition is not 0, else b. A NaN in the operand not selected is ignored.
///   da = dy where the condition is not 0, db = dy where it is 0; the condition has no gradient
template <class T, class Dev>
Var<T, Dev> where(const Tensor<T, Dev>& condition, const Var<T, Dev>& a, const Var<T, Dev>& b) {
  if (!condition.defined()) fail("where", "the condition is undefined");
  const auto y = detail::map_broadcast<scalar::Add>("where", detail::map_broadcast<scalar::Where>("where", condition, a.value()),
                                                    detail::map_broadcast<scalar::WhereNot>("where", condition, b.value()));
  return record("where", y, std::vector{a, b},
                [kept = Saved(condition), sa = a.shape(), sb = b.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  return {detail::sum_to(detail::map_broadcast<scalar::Where>("where", *kept, dy), sa),
                          detail::sum_to(detail::map_broadcast<scalar::WhereNot>("where", *kept, dy), sb)};
                });
}

/// The exact GELU, BERT's "gelu" (Hendrycks & Gimpel 2016): y = x Phi(x).    dx = dy (Phi(x) + x phi(x))
template <class T, class Dev>
Var<T, Dev> gelu(const Var<T, Dev>& x) {
  return detail::unary<scalar::Gelu, scalar::GeluGrad, detail::Keep::input>("gelu", x);
}
/// The tanh approximation of GELU, HuggingFace's "gelu_new" and "gelu_pytorch_tanh".
template <class T, class Dev>
Var<T, Dev> gelu_tanh(const Var<T, Dev>& x) {
  return detail::unary<scalar::GeluTanh, scalar::GeluTanhGrad, detail::Keep::input>("gelu_tanh", x);
}
/// Hyperbolic tangent: y = tanh(x).    dx = dy (1 - y^2)
template <class T, class Dev>
Var<T, Dev> tanh(const Var<T, Dev>& x) {
  return detail::unary<scalar::Tanh, scalar::TanhGrad, detail::Keep::output>("tanh", x);
}
/// Logistic sigmoid: y = 1 / (1 + e^-x).    dx = dy y (1 - y)
template <class T, class Dev>
Var<T, Dev> sigmoid(const Var<T, Dev>& x) {
  return detail::unary<scalar::Sigmoid, scalar::SigmoidGrad, detail::Keep::output>("sigmoid", x);
}
/// Rectified linear unit: y = max(x, 0).    dx = dy where y > 0
template <class T, class Dev>
Var<T, Dev> relu(const Var<T, Dev>& x) {
  return detail::unary<scalar::Relu, scalar::ReluGrad, detail::Keep::output>("relu", x);
}

/// Exponential: y = e^x; in float, 0 below x = -87.3.    dx = dy y
template <class T, class Dev>
Var<T, Dev> exp(const Var<T, Dev>& x) {
  return detail::unary<scalar::Exp, scalar::Multiply, detail::Keep::output>("exp", x);
}
/// Natural logarithm: y = ln x; -inf at 0, NaN below.    dx = dy / x
template <class T, class Dev>
Var<T, Dev> log(const Var<T, Dev>& x) {
  return detail::unary<scalar::Log, scalar::Divide, detail::Keep::input>("log", x);
}
/// Square root: y = sqrt(x); NaN below 0.    dx = dy / (2 y)
/// At x = 0 the gradient is infinite, or NaN if dy = 0, as in PyTorch: add an eps to x if it can be 0.
template <class T, class Dev>
Var<T, Dev> sqrt(const Var<T, Dev>& x) {
  return detail::unary<scalar::Sqrt, scalar::SqrtGrad, detail::Keep::output>("sqrt", x);
}
/// Absolute value: y = |x|.    dx = dy sign(x), 0 at 0
template <class T, class Dev>
Var<T, Dev> abs(const Var<T, Dev>& x) {
  return detail::unary<scalar::Abs, scalar::AbsGrad, detail::Keep::input>("abs", x);
}

/// Converts to another scalar type; returns x itself if the type is the same.    dx = dy, cast back
template <class To, class T, class Dev>
Var<To, Dev> cast(const Var<T, Dev>& x) {
  if constexpr (std::is_same_v<To, T>)
    return x;
  else
    return record("cast", detail::cast<To>(x.value()), std::vector{x},
                  [](const Tensor<To, Dev>& dy) -> std::vector<Tensor<T, Dev>> { return {detail::cast<T>(dy)}; });
}

}  // namespace lexformer
