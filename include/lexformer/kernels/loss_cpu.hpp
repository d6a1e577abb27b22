// SPDX-License-Identifier: MIT
// Losses and vector similarities, on the CPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lexformer/kernels/elementwise_cpu.hpp"

namespace lexformer {

namespace detail {

template <class T>
accumulate_t<T> dot(std::size_t n, const T* p, const T* q) {
  return row::lane_sum<accumulate_t<T>>(n, [=](std::size_t j) { return static_cast<accumulate_t<T>>(p[j]) * q[j]; });
}

/// Computes sum = s and norm[i] = max(|x_i|, 1e-8). Returns the sum of |u_i|^2.
template <class T, class A>
A unit_sum(const T* x, const VectorGroup& g, std::vector<A>& sum, std::vector<A>& norm) {
  A own{0};
  sum.assign(g.length, A{0});
  norm.resize(g.count);
  for (std::size_t i = 0; i < g.count; ++i) {
    const T* v = x + g.first + i * g.stride;
    const A squares = row::lane_sum<A>(g.length, [v](std::size_t e) { return static_cast<A>(v[e]) * static_cast<A>(v[e]); });
    norm[i] = std::max<A>(std::sqrt(squares), A(1e-8));
    const A inverse = A{1} / norm[i];
    for (std::size_t e = 0; e < g.length; ++e) sum[e] += static_cast<A>(v[e]) * inverse;
    own += squares * inverse * inverse;
  }
  return own;
}

template <class A>
A ordered_pairs(const VectorGroup& g) {
  return static_cast<A>(g.count) * static_cast<A>(g.count - 1);
}

}  // namespace detail

template <>
template <class T>
void LossKernels<Cpu>::cross_entropy(std::size_t rows, std::size_t n, const std::int32_t* labels, accumulate_t<T> factor, T* x,
                                     accumulate_t<T>* loss) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    row::Wide<T> wide;
    for (std::size_t r = begin; r < end; ++r) {
      A* const z = wide.read(n, x + r * n, x + r * n);
      const auto y = static_cast<std::size_t>(labels[r]);
      const A top = row::max(z, n), chosen = z[y] - top;
      for (std::size_t j = 0; j < n; ++j) z[j] = scalar::exp(z[j] - top);
      const A total = row::lane_sum<A>(n, [z](std::size_t j) { return z[j]; }), scale = factor / total;
      loss[r] = std::log(total) - chosen;
      for (std::size_t j = 0; j < n; ++j) z[j] *= scale;
      z[y] -= factor;
      wide.write(x + r * n);
    }
  });
}

template <>
template <class A>
void LossKernels<Cpu>::mean_loss(std::size_t rows, const A* loss, A* out) {
  A total{0};
  for (std::size_t i = 0; i < rows; ++i) total += loss[i];
  *out = total / static_cast<A>(rows);
}

template <>
template <class A>
void LossKernels<Cpu>::negative_log_likelihood(std::size_t rows, std::size_t n, const std::int32_t* labels, const A* weight, A total,
                                               const A* log_p, A* out) {
  A loss{0};
  for (std::size_t i = 0; i < rows; ++i)
    if (labels[i] >= 0) loss -= (weight == nullptr ? A{1} : weight[i]) * log_p[i * n + static_cast<std::size_t>(labels[i])];
  if (total != A{0}) loss /= total;
  *out = loss;
}

template <>
template <class A, class T>
void LossKernels<Cpu>::negative_log_likelihood_grad(std::size_t rows, std::size_t n, const std::int32_t* labels, const A* weight, A total,
                                                    const A* dy, const A* log_p, T* dx) {
  for (std::size_t i = 0; i < rows; ++i) {
    const A w = labels[i] < 0 ? A{0} : weight == nullptr ? A{1} : weight[i];
    if (w == A{0}) {
      std::fill_n(dx + i * n, n, T{0});
      continue;
    }
    const A factor = w / total * *dy;
    for (std::size_t c = 0; c < n; ++c) {
      const A p = scalar::exp(log_p[i * n + c]), target = c == static_cast<std::size_t>(labels[i]) ? A{1} : A{0};
      dx[i * n + c] = static_cast<T>(factor * (p - target));
    }
  }
}

template <>
template <class T>
void LossKernels<Cpu>::cosine_similarity(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* a, const T* b, T* y) {
  using A = accumulate_t<T>;
  for (std::size_t i = 0; i < rows; ++i) {
    const T *p = a + i * n, *q = b + i * n;
    y[i] = static_cast<T>(detail::dot(n, p, q) / std::max<A>(std::sqrt(detail::dot(n, p, p) * detail::dot(n, q, q)), eps));
  }
}

template <>
template <class T>
void LossKernels<Cpu>::cosine_similarity_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* a, const T* b,
                                              T* da, T* db) {
  using A = accumulate_t<T>;
  for (std::size_t i = 0; i < rows; ++i) {
    const T *p = a + i * n, *q = b + i * n;
    const A pp = detail::dot(n, p, p), qq = detail::dot(n, q, q), norm = std::sqrt(pp * qq), g = dy[i];
    const bool clamped = norm < eps;
    const A inverse = A{1} / std::max<A>(norm, eps), cosine = clamped ? A{0} : detail::dot(n, p, q) * inverse;
    for (std::size_t j = 0; j < n; ++j) {
      da[i * n + j] = static_cast<T>(g * (q[j] * inverse - (clamped ? A{0} : cosine * p[j] / pp)));
      db[i * n + j] = static_cast<T>(g * (p[j] * inverse - (clamped ? A{0} : cosine * q[j] / qq)));
    }
  }
}

template <>
template <class T>
void LossKernels<Cpu>::pairwise_cosine(const VectorGroups& all, const T* x, accumulate_t<T>* out) {
  using A = accumulate_t<T>;
  std::vector<A> values(all.groups);
  parallel_for(all.groups, 1, [&](std::size_t k, std::size_t) {
    std::vector<A> s, norm;
    const A own = detail::unit_sum(x, all.list[k], s, norm);
    const A squares = row::lane_sum<A>(s.size(), [&s](std::size_t e) { return s[e] * s[e]; });
    values[k] = (squares - own) / detail::ordered_pairs<A>(all.list[k]);
  });
  A total{0};
  for (const A value : values) total += value;
  if (all.groups > 0) total /= static_cast<A>(all.groups);
  *out = total;
}

template <>
template <class T>
void LossKernels<Cpu>::pairwise_cosine_grad(const VectorGroups& all, const accumulate_t<T>* dy, const T* x, T* dx) {
  using A = accumulate_t<T>;
  parallel_for(all.groups, 1, [&](std::size_t k, std::size_t) {
    const VectorGroup& g = all.list[k];
    std::vector<A> s, norm;
    detail::unit_sum(x, g, s, norm);
    const A factor = *dy * A{2} / (detail::ordered_pairs<A>(g) * static_cast<A>(all.groups));
    for (std::size_t i = 0; i < g.count; ++i) {
      const T* v = x + g.first + i * g.stride;
      T* d = dx + g.first + i * g.stride;
      const A inverse = A{1} / norm[i];
      // If |x_i| <= 1e-8, the divisor is a constant, and x_i's own part of s is subtracted.
      const A along = norm[i] > A(1e-8)
                          ? row::lane_sum<A>(g.length, [&](std::size_t e) { return s[e] * static_cast<A>(v[e]); }) * inverse * inverse
                          : inverse;
      for (std::size_t e = 0; e < g.length; ++e) d[e] = static_cast<T>(d[e] + factor * inverse * (s[e] - along * static_cast<A>(v[e])));
    }
  });
}

}  // namespace lexformer
