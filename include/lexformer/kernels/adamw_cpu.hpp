// SPDX-License-Identifier: MIT
// AdamW on the CPU: the update of a range of elements, and exact steps over the rows of a table of which few have a gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/interface.hpp"
#include "lexformer/kernels/scalar.hpp"

namespace lexformer {

namespace detail {

/// The factors of a step in the type of the moments. `clipped` multiplies the gradient.
template <class A>
struct AdamWNumbers {
  A clipped, decay, rest1, beta2, rest2, step_size, root_correction, eps;

  AdamWNumbers(const AdamWFactors& f, A clip)
      : clipped(clip),
        decay(static_cast<A>(f.decay)),
        rest1(static_cast<A>(1.0 - f.beta1)),
        beta2(static_cast<A>(f.beta2)),
        rest2(static_cast<A>(1.0 - f.beta2)),
        step_size(static_cast<A>(f.step_size)),
        root_correction(static_cast<A>(f.root_correction)),
        eps(static_cast<A>(f.eps)) {}

  /// The moments after a step with the gradient g.
  A next_m(A m, A g) const { return m + rest1 * (g - m); }
  A next_v(A v, A g) const { return beta2 * v + rest2 * g * g; }
};

/// The step of ElementwiseKernels::adamw for n elements. The numbers are a copy: a reference could alias the stores, which would prevent
/// vectorization.
template <class T, class A>
void adamw_elements(std::size_t n, const AdamWNumbers<A> by, const T* gradient, A* exp_avg, A* exp_avg_sq, A* master, T* parameter) {
  for (std::size_t i = 0; i < n; ++i) {
    const A g = by.clipped * static_cast<A>(gradient[i]);
    exp_avg[i] = by.next_m(exp_avg[i], g);
    exp_avg_sq[i] = by.next_v(exp_avg_sq[i], g);
    const A denominator = std::sqrt(exp_avg_sq[i]) / by.root_correction + by.eps;
    master[i] = master[i] * by.decay - by.step_size * exp_avg[i] / denominator;
    if constexpr (!std::is_same_v<T, A>) parameter[i] = static_cast<T>(master[i]);
  }
}

/// Replaces each of n elements x by next(next(...x)), `times` times. next(x) is not farther from 0 than x.
template <class A, class F>
void repeat_decay(std::size_t n, std::int64_t times, A* x, F&& next) {
  constexpr std::size_t part = 64;
  constexpr std::int64_t round = 32;  // between two looks at whether anything still changes
  for (std::size_t begin = 0; begin < n; begin += part) {
    const std::size_t count = std::min(part, n - begin);
    A now[part] = {}, before[part];
    std::copy_n(x + begin, count, now);
    for (std::int64_t left = times; left > 0; left -= round) {
      std::copy_n(now, part, before);
      for (std::int64_t k = std::min(round, left); k > 0; --k)
        for (std::size_t i = 0; i < part; ++i) now[i] = next(now[i]);
      if (std::equal(now, now + part, before)) break;  // 0, or so small that rounding restores it
    }
    std::copy_n(now, count, x + begin);
  }
}

}  // namespace detail

/// AdamW for a table (rows, columns) whose gradient has few rows, with the same bits as the step over the whole table. A row without a
/// gradient is at rest once its updates are too small to change its weights; then only its moments change, and these changes are made up
/// for when the row next gets a gradient, or by finish().
///
/// A row comes to rest if m = 0 or limit |m| <= |w| (sqrt(v) + eps) epsilon / 8 for all its elements, where epsilon is the distance of 1 to
/// the next number and `limit` a bound of step_size. The update is at most limit |m| / (sqrt(v) + eps), and w - update rounds to w if the
/// update is at most |w| epsilon / 4. Without a gradient m falls faster than sqrt(v), so a row at rest stays so until step_size exceeds
/// the limit: then all rows are updated again.
template <class T, class A = accumulate_t<T>>
class AdamWRows {
 public:
  AdamWRows() = default;
  /// All rows are at rest, if `zero` (the moments are 0), or none is.
  AdamWRows(std::size_t rows, std::size_t columns, bool zero)
      : columns_(columns), steps_(rows), moving_(rows, !zero), gradient_of_(rows, none), zeros_(columns) {
    list_.reserve(rows);
  }
  bool empty() const { return steps_.empty(); }
  /// The number of rows that each step updates.
  std::size_t moving() const { return static_cast<std::size_t>(std::count(moving_.begin(), moving_.end(), true)); }

  /// Brings the moments up to date, and lets the next step update all rows.
  void wake(const AdamWUpdate<T, A>& update) {
    finish(update.factors, update.exp_avg, update.exp_avg_sq);
    std::fill(moving_.begin(), moving_.end(), true);
  }

  /// One step, where update.gradient holds only the given rows.
  void step(const AdamWUpdate<T, A>& update, const std::vector<std::int32_t>& rows, const GradientClip& clip) {
    if (clip.norm != nullptr && !scalar::finite(*clip.norm)) return;
    const detail::AdamWNumbers<A> by(update.factors,
                                     static_cast<A>(clip.norm == nullptr ? 1.0 : scalar::clip_factor(*clip.norm, clip.max_norm)));
    const bool may_rest = can_rest(update.factors, by);
    if (!may_rest || by.step_size > limit_) {
      wake(update);
      limit_ = 2 * by.step_size;
    }
    if (by.step_size < limit_ / 4) limit_ = 2 * by.step_size;  // rows at rest are so under any smaller limit
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const auto r = static_cast<std::size_t>(rows[k]);
      gradient_of_[r] = static_cast<std::int32_t>(k);
      moving_[r] = true;
    }
    list_.clear();
    for (std::size_t r = 0; r < moving_.size(); ++r)
      if (moving_[r]) list_.push_back(r);
    parallel_for(list_.size(), block(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t r = list_[k], at = r * columns_;
        A *const m = update.exp_avg + at, *const v = update.exp_avg_sq + at, *const w = update.master + at;
        catch_up(r, by, update.exp_avg, update.exp_avg_sq);
        const T* const g = gradient_of_[r] == none ? zeros_.data() : update.gradient + static_cast<std::size_t>(gradient_of_[r]) * columns_;
        detail::adamw_elements(columns_, by, g, m, v, w, update.parameter + at);
        steps_[r] = step_ + 1;
        moving_[r] = !may_rest || !rests(by, m, v, w);
      }
    });
    ++step_;
    for (const std::int32_t r : rows) gradient_of_[static_cast<std::size_t>(r)] = none;
  }

  /// Brings the moments of all rows up to date.
  void finish(const AdamWFactors& factors, A* exp_avg, A* exp_avg_sq) {
    const detail::AdamWNumbers<A> by(factors, A{1});
    parallel_for(steps_.size(), block(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) catch_up(r, by, exp_avg, exp_avg_sq);
    });
  }

 private:
  using Flag = unsigned char;  // not bool: threads write neighbours
  static constexpr std::int32_t none = -1;
  static constexpr A smallest = A(0x1p-60);  // weights below it, except those with m = 0, do not rest

  std::size_t block() const { return std::max<std::size_t>(1, 16384 / std::max<std::size_t>(1, columns_)); }

  /// Whether the reasoning above holds: weights do not decay, m falls faster than sqrt(v), and numbers so small that they lose digits do
  /// not matter beside eps.
  static bool can_rest(const AdamWFactors& f, const detail::AdamWNumbers<A>& by) {
    return by.decay == A{1} && f.beta1 * f.beta1 <= 0.99 * f.beta2 && f.eps >= 0x1p-50 && f.step_size <= 0x1p38 * f.eps;
  }
  bool rests(const detail::AdamWNumbers<A>& by, const A* m, const A* v, const A* w) const {
    constexpr std::size_t most = 64;  // a row that moves is mostly known by its first elements
    for (std::size_t begin = 0; begin < columns_; begin += most) {
      int moving = 0;
      for (std::size_t i = begin; i < std::min(begin + most, columns_); ++i) {
        const A weight = std::abs(w[i]), bound = weight * (std::sqrt(v[i]) + by.eps) * (std::numeric_limits<A>::epsilon() / 8);
        moving += !(limit_ * std::abs(m[i]) <= bound) || (m[i] != A{0} && weight < smallest);
      }
      if (moving != 0) return false;
    }
    return true;
  }
  void catch_up(std::size_t r, const detail::AdamWNumbers<A>& by, A* exp_avg, A* exp_avg_sq) {
    if (steps_[r] == step_) return;
    detail::repeat_decay(columns_, step_ - steps_[r], exp_avg + r * columns_, [by](A m) { return by.next_m(m, A{0}); });
    detail::repeat_decay(columns_, step_ - steps_[r], exp_avg_sq + r * columns_, [by](A v) { return by.next_v(v, A{0}); });
    steps_[r] = step_;
  }

  std::size_t columns_ = 0;
  std::int64_t step_ = 0;                  // steps done
  A limit_ = 0;                            // of step_size
  std::vector<std::int64_t> steps_;        // of each row: the step up to which its moments are known
  std::vector<Flag> moving_;               // of each row: whether each step updates it
  std::vector<std::int32_t> gradient_of_;  // of each row: its number in the gradient, during step()
  std::vector<std::size_t> list_;          // the rows that step() updates, ascending
  std::vector<T> zeros_;
};

}  // namespace lexformer
