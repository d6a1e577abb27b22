// SPDX-License-Identifier: MIT
// Arithmetic operators for Vars: shorthand for add, subtract, multiply, divide, scale and add_scalar.
#pragma once

#include <type_traits>

#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

template <class T, class Dev>
Var<T, Dev> operator+(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return add(a, b);
}
template <class T, class Dev>
Var<T, Dev> operator-(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return subtract(a, b);
}
template <class T, class Dev>
Var<T, Dev> operator*(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return multiply(a, b);
}
template <class T, class Dev>
Var<T, Dev> operator/(const Var<T, Dev>& a, const Var<T, Dev>& b) {
  return divide(a, b);
}
template <class T, class Dev>
Var<T, Dev> operator-(const Var<T, Dev>& x) {
  return scale(x, accumulate_t<T>{-1});
}

/// An operand that is a plain number of any arithmetic type.
template <class S>
concept Number = std::is_arithmetic_v<S>;

template <class T, class Dev, Number S>
Var<T, Dev> operator+(const Var<T, Dev>& x, S c) {
  return add_scalar(x, static_cast<accumulate_t<T>>(c));
}
template <class T, class Dev, Number S>
Var<T, Dev> operator+(S c, const Var<T, Dev>& x) {
  return x + c;
}
template <class T, class Dev, Number S>
Var<T, Dev> operator-(const Var<T, Dev>& x, S c) {
  return add_scalar(x, -static_cast<accumulate_t<T>>(c));
}
/// y = c - x.    dx = -dy
template <class T, class Dev, Number S>
Var<T, Dev> operator-(S c, const Var<T, Dev>& x) {
  return detail::affine("subtract", x, accumulate_t<T>{-1}, static_cast<accumulate_t<T>>(c));
}
template <class T, class Dev, Number S>
Var<T, Dev> operator*(const Var<T, Dev>& x, S c) {
  return scale(x, static_cast<accumulate_t<T>>(c));
}
template <class T, class Dev, Number S>
Var<T, Dev> operator*(S c, const Var<T, Dev>& x) {
  return x * c;
}
/// y = x / c, computed as x (1 / c).    dx = dy / c
template <class T, class Dev, Number S>
Var<T, Dev> operator/(const Var<T, Dev>& x, S c) {
  return scale(x, accumulate_t<T>{1} / static_cast<accumulate_t<T>>(c));
}
/// y = c / x, with c rounded to T.    dx = -dy y / x
template <class T, class Dev, Number S>
Var<T, Dev> operator/(S c, const Var<T, Dev>& x) {
  return divide(Var<T, Dev>(Tensor<T, Dev>::scalar(static_cast<T>(static_cast<accumulate_t<T>>(c)))), x);
}

}  // namespace lexformer
