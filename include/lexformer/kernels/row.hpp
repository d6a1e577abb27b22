// SPDX-License-Identifier: MIT
// Functions of one row: vectorized sums in a fixed order, softmax, and steps of attention. Rows are of compute types, except in
// Wide, masked and max, and the probabilities of softmax_grad.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/dropout_mask.hpp"
#include "lexformer/kernels/scalar.hpp"

namespace lexformer::row {

/// 16 numbers in vectors of 32 bytes: an explicit type, since g++ 12 and clang 14 do not always keep an array of sums in vectors.
template <class A>
class Lanes {
 public:
  static constexpr std::size_t count = 16;

  /// Lane l = f(l).
  template <class F>
  [[gnu::always_inline]] static Lanes of(F&& f) {
    A x[count];
    for (std::size_t l = 0; l < count; ++l) x[l] = f(l);
    return load(x);
  }
  [[gnu::always_inline]] static Lanes load(const A* x) {
    Lanes lanes;
    for (std::size_t p = 0; p < parts; ++p) std::memcpy(&lanes.part_[p], x + p * width, sizeof(Part));  // g++ splits larger copies
    return lanes;
  }
  [[gnu::always_inline]] void store(A* x) const {
    for (std::size_t p = 0; p < parts; ++p) std::memcpy(x + p * width, &part_[p], sizeof(Part));
  }
  /// The first n lanes, `rest` in the others.
  [[gnu::always_inline]] Lanes first(std::size_t n, A rest) const {
    A x[count];
    store(x);
    return of([&](std::size_t l) { return static_cast<std::int32_t>(l) < static_cast<std::int32_t>(n) ? x[l] : rest; });
  }
  /// The sum. A product in x is rounded first: fused with the sum here, but not in another function, it would give other bits there.
  [[gnu::always_inline]] void add(const Lanes& x) {
    for (std::size_t p = 0; p < parts; ++p) {
      Part part = x.part_[p];
#if defined(__AVX__)
      __asm__("" : "+x"(part));
#endif
      part_[p] += part;
    }
  }
  /// The maximum; may ignore NaN.
  [[gnu::always_inline]] void raise(const Lanes& x) {
    for (std::size_t p = 0; p < parts; ++p) part_[p] = part_[p] > x.part_[p] ? part_[p] : x.part_[p];
  }
  /// op over all lanes: lanes l and l + 8, then l and l + 4, ...
  template <class Op>
  [[gnu::always_inline]] A across(Op&& op) const {
    A x[count];
    store(x);
    const auto halve = [&](auto half) {
      for (std::size_t l = 0; l < half; ++l) x[l] = op(x[l], x[l + half]);
    };
    halve(std::integral_constant<std::size_t, 8>());
    halve(std::integral_constant<std::size_t, 4>());
    halve(std::integral_constant<std::size_t, 2>());
    return op(x[0], x[1]);
  }

 private:
  static constexpr std::size_t width = 32 / sizeof(A), parts = count / width;
  using Part [[gnu::vector_size(32)]] = A;
  Part part_[parts];
};

/// f(0) + ... + f(n-1), summed in 16 lanes: vectorized, with the same order on every machine.
template <class A, class F>
[[gnu::always_inline]] inline A lane_sum(std::size_t n, F&& f) {
  constexpr std::size_t lanes = Lanes<A>::count;
  auto sum = Lanes<A>::of([](std::size_t) { return A{0}; });
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) sum.add(Lanes<A>::of([&](std::size_t l) { return static_cast<A>(f(i + l)); }));
  if (i < n) {
    A x[lanes] = {};
    for (std::size_t l = 0; i + l < n; ++l) x[l] = static_cast<A>(f(i + l));
    sum.add(Lanes<A>::load(x));
  }
  return sum.across([](A a, A b) { return a + b; });
}

/// The same sum of f over several ascending ranges of 0 .. n-1, where f is 0 elsewhere: the same bits as lane_sum over all of them.
template <class A>
class LaneSum {
 public:
  template <class F>
  void add(std::size_t begin, std::size_t end, F&& f) {
    for (std::size_t i = begin; i < end;) {
      if (i / lanes != block_) {
        add_pending();
        block_ = i / lanes;
      }
      if (i % lanes == 0 && i + lanes <= end) {
        sum_.add(Lanes<A>::of([&](std::size_t l) { return static_cast<A>(f(i + l)); }));
        i += lanes;
      } else {
        pending_[i % lanes] = static_cast<A>(f(i));
        ++i;
      }
    }
  }
  A total() {
    add_pending();
    return sum_.across([](A a, A b) { return a + b; });
  }

 private:
  static constexpr std::size_t lanes = Lanes<A>::count;
  void add_pending() {
    sum_.add(Lanes<A>::load(pending_));
    std::fill_n(pending_, lanes, A{0});
  }
  Lanes<A> sum_ = Lanes<A>::of([](std::size_t) { return A{0}; });
  A pending_[lanes] = {};  // of a block of which only parts are in ranges
  std::size_t block_ = 0;
};

/// max(x[0..n-1]), n > 0. May ignore NaN: softmax propagates it through x - max.
template <class T>
[[gnu::always_inline]] inline accumulate_t<T> max(const T* x, std::size_t n) {
  using A = accumulate_t<T>;
  constexpr std::size_t lanes = Lanes<A>::count;
  auto best = Lanes<A>::of([](std::size_t) { return -std::numeric_limits<A>::infinity(); });
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) best.raise(Lanes<A>::of([&](std::size_t l) { return static_cast<A>(x[i + l]); }));
  A top = best.across([](A a, A b) { return a > b ? a : b; });
  for (; i < n; ++i) top = top > static_cast<A>(x[i]) ? top : static_cast<A>(x[i]);
  return top;
}

/// A row of a tensor in the compute type: in the output row itself, or in a buffer if T is only a storage type.
template <class T>
class Wide {
 public:
  /// Copies x into the row for an output y, and returns the row.
  template <class From>
  accumulate_t<T>* read(std::size_t n, const From* x, T* y) {
    accumulate_t<T>* const row = place(n, y);
    std::copy_n(x, n, row);
    return row;
  }
  /// Returns an uninitialized row of n elements for an output y.
  accumulate_t<T>* place(std::size_t n, T* y) {
    if constexpr (is_storage<T>) {
      buffer_.resize(n);
      return buffer_.data();
    } else {
      return y;
    }
  }
  /// Rounds the row to y.
  void write(T* y) const {
    if constexpr (is_storage<T>) std::transform(buffer_.begin(), buffer_.end(), y, [](auto x) { return static_cast<T>(x); });
  }

 private:
  std::vector<accumulate_t<T>> buffer_;
};

/// y = x * mask for the mask elements first .. first + n - 1; y may be x.
template <class T, class To>
void masked(const DropoutMask& mask, std::uint64_t first, std::size_t n, const T* x, To* y) {
  constexpr std::size_t most = 512;
  accumulate_t<T> keep[most];
  for (std::size_t begin = 0; begin < n; begin += most) {
    const std::size_t count = std::min(most, n - begin);
    mask.fill(first + begin, count, keep);
    for (std::size_t j = 0; j < count; ++j) y[begin + j] = static_cast<To>(x[begin + j] * keep[j]);
  }
}

/// row[j] += table[code[j]] - zero
template <class T>
void add_lookup(std::size_t n, const T* table, T zero, const std::uint16_t* code, T* row) {
  for (std::size_t j = 0; j < n; ++j) row[j] += table[code[j]] - zero;
}

/// row = softmax(row). Returns log(sum exp(row)), from which padded_probabilities() recomputes the row.
template <class T>
T softmax(std::size_t n, T* row) {
  const T top = max(row, n);
  for (std::size_t j = 0; j < n; ++j) row[j] = scalar::exp(row[j] - top);
  const T total = lane_sum<T>(n, [row](std::size_t j) { return row[j]; });
  const T factor = T{1} / total;
  for (std::size_t j = 0; j < n; ++j) row[j] *= factor;
  return top + std::log(total);
}

/// row = log softmax(row)
template <class T>
void log_softmax(std::size_t n, T* row) {
  const T top = max(row, n);
  for (std::size_t j = 0; j < n; ++j) row[j] -= top;
  // Subtracted after top, not added to it: a large top would absorb it.
  const T log_total = std::log(lane_sum<T>(n, [row](std::size_t j) { return scalar::exp(row[j]); }));
  for (std::size_t j = 0; j < n; ++j) row[j] -= log_total;
}

// Rows of attention have room for whole_lanes(n) elements, so that all work is on whole vectors. The elements from n on may have any
// values; afterwards they are 0, or NaN if the row is.

inline std::size_t whole_lanes(std::size_t n) {
  constexpr std::size_t lanes = Lanes<float>::count;
  return (n + lanes - 1) / lanes * lanes;
}

/// softmax(n, row) with the same bits.
template <class T>
T padded_softmax(std::size_t n, T* row) {
  using Vector = Lanes<T>;
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  auto best = Vector::of([](std::size_t) { return lowest; }), sum = Vector::of([](std::size_t) { return T{0}; });
  std::size_t i = 0;
  for (; i + Vector::count <= n; i += Vector::count) best.raise(Vector::load(row + i));
  if (i < n) best.raise(Vector::load(row + i).first(n - i, lowest));
  const T top = best.across([](T a, T b) { return a > b ? a : b; });
  const std::size_t room = whole_lanes(n);
  for (std::size_t j = 0; j < room; ++j) row[j] = scalar::exp(row[j] - top);
  for (i = 0; i + Vector::count <= n; i += Vector::count) sum.add(Vector::load(row + i));
  if (i < n) {
    const auto last = Vector::load(row + i).first(n - i, T{0});
    last.store(row + i);
    sum.add(last);
  }
  const T total = sum.across([](T a, T b) { return a + b; }), factor = T{1} / total;
  for (std::size_t j = 0; j < room; ++j) row[j] *= factor;
  return top + std::log(total);
}

/// row = exp(row - logsumexp)
template <class T>
void padded_probabilities(std::size_t n, T logsumexp, T* row) {
  const std::size_t room = whole_lanes(n);
  for (std::size_t j = 0; j < room; ++j) row[j] = scalar::exp(row[j] - logsumexp);
  if (const std::size_t rest = n % Lanes<T>::count; rest > 0) Lanes<T>::load(row + n - rest).first(rest, T{0}).store(row + n - rest);
}

/// dp = p (dp - <p, dp>), in place
template <class P, class T>
void softmax_grad(std::size_t n, const P* p, T* dp) {
  const T dot = lane_sum<T>(n, [=](std::size_t j) { return p[j] * dp[j]; });
  for (std::size_t j = 0; j < n; ++j) dp[j] = p[j] * (dp[j] - dot);
}

}  // namespace lexformer::row
