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

/// Sums g down to `shape`, from which it was broadcast.
template <class T, class Dev>
Tensor<T, Dev> sum_to(const Tensor<T, Dev>& g, const Shape& shape) {
  if (g.shape() == shape) return g;
  Tensor<T, Dev> y(shape);
  Kernels<Dev>::sum_to(Broadcast("sum_to", g.shape(), shape), y.size(), g.data(), y.mutable_data());
  return y;
}

/// The same values in another scalar type; x itself where that is its own.
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

/// Whether a backward closure keeps x or y of y = F(x).
enum class Keep { input, output };

/// y = F(x) with the derivative functor G(dy, kept).
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

}  // namespace detail

/// y = a + b, shapes broadcast.    da = dy, db = dy, each summed over the axes that were repeated
template <class T, class Dev>
Var<T, Dev> add(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return record("add", detail::map_broadcast<scalar::Add>("add", a.value(), b.value()), std::vector{a, b},
                [sa = a.shape(), sb = b.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  return {detail::sum_to(dy, sa), detail::sum_to(dy, sb)};
                });
}

/// y = a - b, shapes broadcast.    da = dy, db = -dy
template <class T, class Dev>
Var<T, Dev> subtract(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return record("subtract", detail::map_broadcast<scalar::Subtract>("subtract", a.value(), b.value()), std::vector{a, b},
                [sa = a.shape(), sb = b.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  Tensor<T, Dev> negative(dy.shape());
                  Kernels<Dev>::affine(dy.size(), T{-1}, dy.data(), T{0}, negative.mutable_data());
                  return {detail::sum_to(dy, sa), detail::sum_to(negative, sb)};
                });
}

/// y = a b elementwise, shapes broadcast.    da = dy b, db = dy a
template <class T, class Dev>
Var<T, Dev> multiply(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return record("multiply", detail::map_broadcast<scalar::Multiply>("multiply", a.value(), b.value()), std::vector{a, b},
                [av = Saved(a.value()), bv = Saved(b.value())](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  return {detail::sum_to(detail::map_broadcast<scalar::Multiply>("multiply", dy, *bv), av->shape()),
                          detail::sum_to(detail::map_broadcast<scalar::Multiply>("multiply", dy, *av), bv->shape())};
                });
}

/// y = a / b elementwise, shapes broadcast.    da = dy / b, db = -dy y / b
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

/// y = c x with a constant c.    dx = c dy
template <class T, class Dev>
Var<T, Dev> scale(const Var<T, Dev>& x, accumulate_t<T> c) {
  Tensor<T, Dev> y(x.shape());
  Kernels<Dev>::affine(y.size(), c, x.value().data(), T{0}, y.mutable_data());
  return record("scale", y, std::vector{x}, [c](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(dy.shape());
    Kernels<Dev>::affine(dx.size(), c, dy.data(), T{0}, dx.mutable_data());
    return {dx};
  });
}

/// y = x + c with a constant c.    dx = dy
template <class T, class Dev>
Var<T, Dev> add_scalar(const Var<T, Dev>& x, accumulate_t<T> c) {
  Tensor<T, Dev> y(x.shape());
  Kernels<Dev>::affine(y.size(), T{1}, x.value().data(), c, y.mutable_data());
  return record("add_scalar", y, std::vector{x}, [](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> { return {dy}; });
}

/// y = x Phi(x): the exact GELU, BERT's "gelu" (Hendrycks & Gimpel 2016).    dx = dy (Phi(x) + x phi(x))
template <class T, class Dev>
Var<T, Dev> gelu(const Var<T, Dev>& x) {
  return detail::unary<scalar::Gelu, scalar::GeluGrad, detail::Keep::input>("gelu", x);
}
/// The tanh approximation of GELU, HuggingFace's "gelu_new" and "gelu_pytorch_tanh".
template <class T, class Dev>
Var<T, Dev> gelu_tanh(const Var<T, Dev>& x) {
  return detail::unary<scalar::GeluTanh, scalar::GeluTanhGrad, detail::Keep::input>("gelu_tanh", x);
}
/// y = tanh(x).    dx = dy (1 - y^2)
template <class T, class Dev>
Var<T, Dev> tanh(const Var<T, Dev>& x) {
  return detail::unary<scalar::Tanh, scalar::TanhGrad, detail::Keep::output>("tanh", x);
}
/// y = 1 / (1 + e^-x).    dx = dy y (1 - y)
template <class T, class Dev>
Var<T, Dev> sigmoid(const Var<T, Dev>& x) {
  return detail::unary<scalar::Sigmoid, scalar::SigmoidGrad, detail::Keep::output>("sigmoid", x);
}
/// y = max(x, 0).    dx = dy where y > 0
template <class T, class Dev>
Var<T, Dev> relu(const Var<T, Dev>& x) {
  return detail::unary<scalar::Relu, scalar::ReluGrad, detail::Keep::output>("relu", x);
}

/// The same values in another scalar type; x itself where that is its own.    dx = dy, cast back
template <class To, class T, class Dev>
Var<To, Dev> cast(const Var<T, Dev>& x) {
  if constexpr (std::is_same_v<To, T>)
    return x;
  else
    return record("cast", detail::cast<To>(x.value()), std::vector{x},
                  [](const Tensor<To, Dev>& dy) -> std::vector<Tensor<T, Dev>> { return {detail::cast<T>(dy)}; });
}

}  // namespace lexformer
