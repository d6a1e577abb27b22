// SPDX-License-Identifier: MIT
// Elementwise kernels and sums of all elements, on the CPU. Work is split into fixed blocks, so the order of sums is fixed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "lexformer/core/broadcast.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/adamw_cpu.hpp"
#include "lexformer/kernels/interface.hpp"
#include "lexformer/kernels/row.hpp"
#include "lexformer/kernels/scalar.hpp"

namespace lexformer {

namespace detail {

template <class F, class T>
T combine(T a, T b) {
  return static_cast<T>(F{}(static_cast<accumulate_t<T>>(a), static_cast<accumulate_t<T>>(b)));
}

/// Sums sum_of(begin, end) of the blocks, in order.
template <class A, class F>
A sum_of_blocks(std::size_t n, F&& sum_of) {
  const std::size_t blocks = (n + element_block - 1) / element_block;
  std::vector<A> partial(blocks);
  parallel_for(blocks, 1,
               [&](std::size_t b, std::size_t) { partial[b] = sum_of(b * element_block, std::min(n, (b + 1) * element_block)); });
  A total{};
  for (const A& p : partial) total += p;
  return total;
}
/// The sum of f(i).
template <class A, class F>
A sum_of_elements(std::size_t n, F&& f) {
  return sum_of_blocks<A>(
      n, [&](std::size_t begin, std::size_t end) { return row::lane_sum<A>(end - begin, [&](std::size_t i) { return f(begin + i); }); });
}

template <class T>
double square(T x) {
  return static_cast<double>(x) * static_cast<double>(x);
}
/// The sum of squares over all rows in the order of sum_of_elements; the rows that are not stored are 0 and skipped.
template <class T>
double squares_of_rows(const Elements<T>& a) {
  return sum_of_blocks<double>(a.count, [&a](std::size_t begin, std::size_t end) {
    row::LaneSum<double> sum;
    const std::int32_t* const last = a.rows + a.row_count;
    for (const auto* r = std::lower_bound(a.rows, last, static_cast<std::int32_t>(begin / a.columns)); r != last; ++r) {
      const std::size_t start = static_cast<std::size_t>(*r) * a.columns;  // of the row
      if (start >= end) break;
      const T* const x = a.data + static_cast<std::size_t>(r - a.rows) * a.columns;
      sum.add(std::max(start, begin) - begin, std::min(start + a.columns, end) - begin,
              [=](std::size_t i) { return square(x[begin + i - start]); });
    }
    return sum.total();
  });
}

}  // namespace detail

template <>
template <class F, class T>
void ElementwiseKernels<Cpu>::map(std::size_t n, const T* x, T* y) {
  parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) y[i] = static_cast<T>(F{}(static_cast<accumulate_t<T>>(x[i])));
  });
}

template <>
template <class F, class T>
void ElementwiseKernels<Cpu>::map(std::size_t n, const T* a, const T* b, T* y) {
  parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) y[i] = detail::combine<F>(a[i], b[i]);
  });
}

template <>
template <class F, class T>
void ElementwiseKernels<Cpu>::map_broadcast(const Broadcast& plan, const T* a, const T* b, T* y) {
  const std::size_t n = plan.last(), step_a = plan.step_a(), step_b = plan.step_b();
  for (std::size_t r = 0; r < plan.rows(); ++r) {
    const auto begin = plan.row(r);
    for (std::size_t j = 0; j < n; ++j) y[r * n + j] = detail::combine<F>(a[begin.a + j * step_a], b[begin.b + j * step_b]);
  }
}

template <>
template <class T>
void ElementwiseKernels<Cpu>::sum_to(const Broadcast& plan, std::size_t size, const T* x, T* y) {
  std::vector<accumulate_t<T>> sums(size);
  const std::size_t n = plan.last(), step = plan.step_b();
  for (std::size_t r = 0; r < plan.rows(); ++r) {
    accumulate_t<T>* to = sums.data() + plan.row(r).b;
    for (std::size_t j = 0; j < n; ++j) to[j * step] += x[r * n + j];
  }
  for (std::size_t i = 0; i < size; ++i) y[i] = static_cast<T>(sums[i]);
}

template <>
template <class T>
void ElementwiseKernels<Cpu>::gelu_with_grad(std::size_t n, T* x_to_y, T* dy_to_dx) {
  parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto both = scalar::gelu_with_grad(static_cast<accumulate_t<T>>(dy_to_dx[i]), static_cast<accumulate_t<T>>(x_to_y[i]));
      x_to_y[i] = static_cast<T>(both.y);
      dy_to_dx[i] = static_cast<T>(both.dx);
    }
  });
}

template <>
template <class T>
void ElementwiseKernels<Cpu>::affine(std::size_t n, accumulate_t<T> scale, const T* x, accumulate_t<T> offset, T* y) {
  parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) y[i] = static_cast<T>(scale * x[i] + offset);
  });
}

template <>
template <class T>
void ElementwiseKernels<Cpu>::scale_by(std::size_t n, const accumulate_t<T>* factor, const T* x, T* y) {
  affine(n, *factor, x, 0, y);
}

template <>
template <class T>
void ElementwiseKernels<Cpu>::fill_quotient(std::size_t n, const accumulate_t<T>* value, accumulate_t<T> divisor, T* y) {
  std::fill_n(y, n, static_cast<T>(*value / divisor));
}

template <>
template <class T>
void ElementwiseKernels<Cpu>::add_to(std::size_t n, const T* x, T* y) {
  parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) y[i] = static_cast<T>(y[i] + x[i]);
  });
}

template <>
template <class T, class To>
void ElementwiseKernels<Cpu>::cast(std::size_t n, const T* x, To* y) {
  parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) y[i] = static_cast<To>(static_cast<accumulate_t<T>>(x[i]));
  });
}

template <>
template <class T>
void ElementwiseKernels<Cpu>::dropout(std::size_t n, const DropoutMask& mask, const T* x, T* y) {
  parallel_for(n, detail::element_block,
               [&](std::size_t begin, std::size_t end) { row::masked(mask, begin, end - begin, x + begin, y + begin); });
}

template <>
template <class T>
bool ElementwiseKernels<Cpu>::all_finite(std::size_t n, const T* x) {
  return row::lane_sum<accumulate_t<T>>(n, [x](std::size_t i) { return x[i] - x[i]; }) == 0;  // x - x is NaN unless x is finite
}

template <>
template <class T>
void ElementwiseKernels<Cpu>::sum(std::size_t n, const T* x, accumulate_t<T>* out) {
  using A = accumulate_t<T>;
  *out = detail::sum_of_elements<A>(n, [x](std::size_t i) { return static_cast<A>(x[i]); });
}

template <>
template <class T>
void ElementwiseKernels<Cpu>::mean(std::size_t n, const T* x, accumulate_t<T>* out) {
  using A = accumulate_t<T>;
  *out = detail::sum_of_elements<A>(n, [x](std::size_t i) { return static_cast<A>(x[i]); }) / static_cast<A>(n);
}

template <>
template <class T>
void ElementwiseKernels<Cpu>::gradient_norm(const std::vector<Elements<T>>& arrays, const accumulate_t<T>* loss, const double* before,
                                            double* norm) {
  double squares = 0;
  for (const auto& a : arrays)
    squares += a.columns != 0 ? detail::squares_of_rows(a)
                              : detail::sum_of_elements<double>(a.count, [x = a.data](std::size_t i) { return detail::square(x[i]); });
  *norm = scalar::gradient_norm(squares, loss, before);
}

template <>
template <class T, class A>
void ElementwiseKernels<Cpu>::adamw(const std::vector<AdamWUpdate<T, A>>& updates, const GradientClip& clip) {
  if (clip.norm != nullptr && !scalar::finite(*clip.norm)) return;
  const auto clipped = static_cast<A>(clip.norm == nullptr ? 1.0 : scalar::clip_factor(*clip.norm, clip.max_norm));
  for (const auto& update : updates)
    parallel_for(update.count, detail::element_block, [&update, clipped](std::size_t begin, std::size_t end) {
      detail::adamw_elements(end - begin, detail::AdamWNumbers<A>(update.factors, clipped), update.gradient + begin, update.exp_avg + begin,
                             update.exp_avg_sq + begin, update.master + begin, update.parameter + begin);
    });
}

}  // namespace lexformer
