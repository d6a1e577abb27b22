// SPDX-License-Identifier: MIT
// Additive attention on the CPU (formula: ops/additive_attention.hpp; fields: interface.hpp), for each (sequence, head).
// With r = 1 / (1 + e^2x):  tanh(x) = 1 - 2 r,  tanh'(x) = 4 (r - r^2). Since e^2(p + u) = e^2p e^2u, exponentials are computed per token,
// and a pair of tokens needs one product and one division per feature. In float, the absolute error of tanh is < 4e-7.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "lexformer/kernels/products/gemm.hpp"
#include "lexformer/kernels/rows_cpu.hpp"
#include "lexformer/kernels/wide_attention.hpp"

namespace lexformer {

namespace detail {

/// r of p and u, prepared as e^2p and e^2u.
struct TanhOfProduct {
  template <class A>
  static A prepare(A x) {
    return scalar::exp(A{2} * x);
  }
  template <class Vector>
  static void apply(const Vector& x, const Vector& y, Vector& r) {
    r = 1 / (1 + x * y);
  }
};
/// The same for numbers so large that the product could overflow; prepared as 2 p and 2 u.
struct TanhOfSum {
  template <class A>
  static A prepare(A x) {
    return A{2} * x;
  }
  template <class Vector>
  static void apply(const Vector& x, const Vector& y, Vector& r) {
    for (std::size_t l = 0; l < sizeof(Vector) / sizeof(x[0]); ++l) r[l] = 1 / (1 + scalar::exp(x[l] + y[l]));
  }
};

/// One (sequence, head), constructed for each block of work; uses the buffers of its thread. Features are processed in vectors of 32
/// bytes; padding at the end of a row has weight 0. No function takes or returns a vector by value: without AVX, the ABI differs.
template <class A>
class AdditiveBlock {
 public:
  AdditiveBlock(const AdditiveArgs<A>& args, std::size_t s, std::size_t h)
      : a_(args),
        n_(args.token_begin[s + 1] - args.token_begin[s]),
        padded_((args.key_size + lanes - 1) / lanes * lanes),
        key_(args.token_begin[s] * args.keys_width() + h * args.key_size),
        value_(args.token_begin[s] * args.values_width() + h * args.value_size),
        pair_(h * args.pairs + args.pair_begin[s]),
        b_(thread_buffers()) {
    prepare<TanhOfProduct>();
    products_ = moderate(b_.keys) && moderate(b_.queries);
    if (!products_) prepare<TanhOfSum>();
    const A* const weights = args.weights + (args.weight_rows == 1 ? 0 : h * args.key_size);
    b_.weights.assign(padded_, A{0});
    for (std::size_t e = 0; e < args.key_size; ++e) b_.weights[e] = A{-2} * weights[e];  // the sum of w does not change softmax
  }

  /// probabilities (H, P) and out (N, H d): the parts of this block.
  void forward(A* probabilities, A* out) const {
    A* const p = probabilities + pair_;
    const std::size_t row = (n_ + 15) / 16 * 16;  // whole vectors
    b_.scores.assign(n_ * row, -std::numeric_limits<A>::infinity());
    products_ ? scores<TanhOfProduct>(row) : scores<TanhOfSum>(row);
    // softmax, step by step for all rows: one after the other, short rows would wait for their sums.
    A* const x = b_.scores.data();
    for (std::size_t i = 0; i < n_; ++i) {
      const A top = row::max(x + i * row, row);
      for (std::size_t j = 0; j < row; ++j) x[i * row + j] -= top;
    }
    for (std::size_t e = 0; e < n_ * row; ++e) x[e] = scalar::exp(x[e]);
    for (std::size_t i = 0; i < n_; ++i) {
      const A* const from = x + i * row;
      const A factor = A{1} / row::lane_sum<A>(row, [from](std::size_t j) { return from[j]; });
      for (std::size_t j = 0; j < n_; ++j) p[i * n_ + j] = factor * from[j];
    }
    const std::size_t stride = a_.values_width();
    gemm(false, false, n_, a_.value_size, n_, A{1}, p, n_, a_.values + value_, stride, A{0}, out + value_, stride);
  }

  /// Writes the parts of this block; dweights (a) = its share of the gradient of the weights.
  void backward(const A* probabilities, const A* dout, const AdditiveGrads<A>& to, A* dweights) const {
    const A *const p = probabilities + pair_, *const dy = dout + value_;
    const std::size_t d = a_.value_size, stride = a_.values_width();
    gemm(true, false, n_, d, n_, A{1}, p, n_, dy, stride, A{0}, to.values + value_, stride);
    b_.scores.resize(n_ * n_);
    gemm(false, true, n_, n_, d, A{1}, dy, stride, a_.values + value_, stride, A{0}, b_.scores.data(), n_);
    for (std::size_t i = 0; i < n_; ++i) row::softmax_grad(n_, p + i * n_, b_.scores.data() + i * n_);

    b_.dkeys.assign(n_ * padded_, A{0});
    b_.dqueries.resize(n_ * padded_);
    b_.dweights.resize(padded_);
    products_ ? slopes<TanhOfProduct>() : slopes<TanhOfSum>();
    for (std::size_t e = 0; e < a_.key_size; ++e) dweights[e] = A{-2} * b_.dweights[e];  // the rows of dS sum to 0
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t e = 0; e < a_.key_size; ++e) {
        const std::size_t at = key_ + i * a_.keys_width() + e;
        to.keys[at] = A{-2} * b_.weights[e] * b_.dkeys[i * padded_ + e];
        to.queries[at] = A{-2} * b_.weights[e] * b_.dqueries[i * padded_ + e];
      }
  }

 private:
  static constexpr std::size_t bytes = 32, lanes = bytes / sizeof(A);
  using Vector [[gnu::vector_size(bytes)]] = A;
  static void load(const A* from, Vector& to) { std::memcpy(&to, from, bytes); }
  static void store(const Vector& from, A* to) { std::memcpy(to, &from, bytes); }

  template <class R>
  void prepare() const {
    prepare<R>(a_.keys + key_, b_.keys);
    prepare<R>(a_.queries + key_, b_.queries);
  }
  template <class R>
  void prepare(const A* x, std::vector<A>& rows) const {
    rows.resize(n_ * padded_);
    for (std::size_t i = 0; i < n_; ++i) {
      const A* const from = x + i * a_.keys_width();
      A* const to = rows.data() + i * padded_;
      for (std::size_t e = 0; e < a_.key_size; ++e) to[e] = R::prepare(from[e]);
      std::fill(to + a_.key_size, to + padded_, A{1});
    }
  }
  /// Whether products of two such exponentials stay within the range of float. NaN need not be detected: it stays NaN.
  static bool moderate(const std::vector<A>& rows) {
    const A* const x = rows.data();
    return row::lane_sum<A>(rows.size(), [x](std::size_t e) { return x[e] > A(1e17) ? A{1} : x[e] < A(1e-17) ? A{1} : A{0}; }) == A{0};
  }

  /// The scores in rows of `row` elements; does not write the last row - n of each.
  template <class R>
  void scores(std::size_t row) const {
    const A *const keys = b_.keys.data(), *const queries = b_.queries.data(), *const weights = b_.weights.data();
    A* const to = b_.scores.data();
    const std::size_t n = n_, padded = padded_;  // copies: stores could change the members
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const A *const key = keys + j * padded, *const query = queries + i * padded;
        Vector sum = {};
        for (std::size_t e = 0; e < padded; e += lanes) {
          Vector x, y, w, r;
          load(key + e, x);
          load(query + e, y);
          load(weights + e, w);
          R::apply(x, y, r);
          sum += w * r;
        }
        A lane[lanes];
        store(sum, lane);
        for (std::size_t half = lanes / 2; half > 0; half /= 2)
          for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
        to[i * row + j] = lane[0];
      }
  }

  /// The sums of dS (r - r^2) for each key and each query, and of dS r over both.
  template <class R>
  void slopes() const {
    const A *const keys = b_.keys.data(), *const queries = b_.queries.data(), *const dscores = b_.scores.data();
    A *const dkeys = b_.dkeys.data(), *const dqueries = b_.dqueries.data();
    const std::size_t n = n_, padded = padded_;
    for (std::size_t e = 0; e < padded; e += lanes) {
      Vector dweights = {};
      for (std::size_t i = 0; i < n; ++i) {
        Vector query, dquery = {};
        load(queries + i * padded + e, query);
        for (std::size_t j = 0; j < n; ++j) {
          Vector key, dkey, r;
          load(keys + j * padded + e, key);
          load(dkeys + j * padded + e, dkey);
          R::apply(key, query, r);
          const Vector part = dscores[i * n + j] * r, slope = part - part * r;
          dkey += slope;
          dquery += slope;
          dweights += part;
          store(dkey, dkeys + j * padded + e);
        }
        store(dquery, dqueries + i * padded + e);
      }
      store(dweights, b_.dweights.data() + e);
    }
  }

  struct Buffers {
    std::vector<A> keys, queries, weights, dkeys, dqueries, dweights;  // rows of padded_ elements
    std::vector<A> scores;
  };
  static Buffers& thread_buffers() {
    static thread_local Buffers buffers;
    return buffers;
  }

  const AdditiveArgs<A>& a_;
  std::size_t n_, padded_, key_, value_, pair_;  // key_, value_, pair_: the first element in rows of keys, of values, in probabilities
  Buffers& b_;
  bool products_ = true;
};

/// The inputs of additive attention in the compute type.
template <class T>
struct WideAdditive {
  using A = accumulate_t<T>;
  Tensor<A> keys, queries, weights, values;
  AdditiveArgs<A> args;

  explicit WideAdditive(const AdditiveArgs<T>& a)
      : keys(widen(a.tokens, a.keys_width(), a.keys, a.keys_width())),
        queries(widen(a.tokens, a.keys_width(), a.queries, a.keys_width())),
        weights(widen(a.weight_rows, a.key_size, a.weights, a.key_size)),
        values(widen(a.tokens, a.values_width(), a.values, a.values_width())),
        args{a.sequences, a.tokens,     a.pairs,       a.longest,   a.token_begin,  a.pair_begin,   a.heads,
             a.key_size,  a.value_size, a.weight_rows, keys.data(), queries.data(), weights.data(), values.data()} {}
};

}  // namespace detail

template <>
template <class T>
void AdditiveKernels<Cpu>::additive_attention(const AdditiveArgs<T>& a, accumulate_t<T>* probabilities, T* out) {
  using A = accumulate_t<T>;
  if constexpr (is_storage<T>) {
    const detail::WideAdditive<T> wide(a);
    Tensor<A> y({a.tokens, a.values_width()});
    additive_attention(wide.args, probabilities, y.mutable_data());
    detail::narrow(a.tokens, a.values_width(), y, out, a.values_width());
  } else {
    parallel_for(a.sequences * a.heads, 1, [&](std::size_t unit, std::size_t) {
      detail::AdditiveBlock<A>(a, unit / a.heads, unit % a.heads).forward(probabilities, out);
    });
  }
}

template <>
template <class T>
void AdditiveKernels<Cpu>::additive_attention_grad(const AdditiveArgs<T>& a, const accumulate_t<T>* probabilities, const T* dout,
                                                   const AdditiveGrads<T>& grads) {
  using A = accumulate_t<T>;
  if constexpr (is_storage<T>) {
    const detail::WideAdditive<T> wide(a);
    const auto dy = detail::widen(a.tokens, a.values_width(), dout, a.values_width());
    Tensor<A> keys(wide.keys.shape()), queries(wide.queries.shape()), weights(wide.weights.shape()), values(wide.values.shape());
    additive_attention_grad(wide.args, probabilities, dy.data(),
                            {keys.mutable_data(), queries.mutable_data(), weights.mutable_data(), values.mutable_data()});
    detail::narrow(a.tokens, a.keys_width(), keys, grads.keys, a.keys_width());
    detail::narrow(a.tokens, a.keys_width(), queries, grads.queries, a.keys_width());
    detail::narrow(a.weight_rows, a.key_size, weights, grads.weights, a.key_size);
    detail::narrow(a.tokens, a.values_width(), values, grads.values, a.values_width());
  } else {
    Tensor<A> partial({a.sequences, a.heads, a.key_size});
    A* const dweights = partial.mutable_data();
    parallel_for(a.sequences * a.heads, 1, [&](std::size_t unit, std::size_t) {
      detail::AdditiveBlock<A>(a, unit / a.heads, unit % a.heads).backward(probabilities, dout, grads, dweights + unit * a.key_size);
    });
    const std::size_t columns = a.weight_rows * a.key_size;
    RowKernels<Cpu>::column_sum(partial.size() / columns, columns, partial.data(), columns, grads.weights);
  }
}

}  // namespace lexformer
