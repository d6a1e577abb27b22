// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lexformer/core/random.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer::test {

/// Normal values; each `stream` gives different ones.
template <class T = double>
Tensor<T> random_tensor(Shape shape, std::uint32_t stream = 0, double deviation = 1.0) {
  RandomStream random(7, random_site::user, stream);
  Tensor<T> t(shape);
  for (T& x : t.mutable_span()) x = static_cast<T>(deviation * random.normal());
  return t;
}

/// max |a - b| / max(1, |a|, |b|); 0 only if the shapes are equal.
template <class A, class B>
double max_error(const Tensor<A>& a, const Tensor<B>& b) {
  if (!(a.shape() == b.shape())) return 1e30;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a.data()[i]), y = static_cast<double>(b.data()[i]);
    const double e = std::abs(x - y) / std::max({1.0, std::abs(x), std::abs(y)});
    if (!(e <= worst)) worst = e;
  }
  return worst;
}

/// Same shape and same bytes: NaN equals itself, and 0 differs from -0.
template <class T>
bool same_bits(const Tensor<T>& a, const Tensor<T>& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace lexformer::test
