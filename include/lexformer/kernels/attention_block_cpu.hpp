// SPDX-License-Identifier: MIT
// Attention of one (sequence, head) on the CPU: strided matrix products and the row functions of row.hpp. The fields are documented in
// arguments.hpp, the formula in ops/attention.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "lexformer/kernels/products/gemm.hpp"
#include "lexformer/kernels/products/widen.hpp"
#include "lexformer/kernels/relative_rows_cpu.hpp"
#include "lexformer/kernels/row.hpp"

namespace lexformer::detail {

/// One (sequence, head), constructed for each unit of work; uses the buffers of its thread. In: type of the factors of products.
/// The squares p_, g_, ... hold the queries of a block (for_queries) and a range of keys that contains all that they see. With several
/// blocks, products over many keys or queries add up in other parts than without a reach; all else has the same bits as if a pair bias of
/// -inf hid the keys.
template <class In>
class AttentionBlock {
 public:
  using T = accumulate_t<In>;
  /// Reads q, k, v and the relative tables from `args`, all else from `terms`, the same arguments in the compute type.
  /// turned: transposed_tables(args)
  AttentionBlock(const AttentionArgs<In>& args, const AttentionArgs<T>& terms, const std::vector<Tensor<In>>& turned, std::size_t s,
                 std::size_t h)
      : a_(terms),
        relatives_(args.relatives),
        turned_(turned),
        h_(h),
        first_(args.token_begin[s]),
        n_(args.token_begin[s + 1] - first_),
        d_(args.width / args.heads),
        stride_(3 * args.width),
        q_(args.qkv + first_ * stride_ + h * d_),
        k_(q_ + args.width),
        v_(k_ + args.width),
        pair_(args.pair_begin[s]),
        buffers_(thread_buffers()),
        p_(buffers_.p),
        g_(buffers_.g),
        mask_(buffers_.mask),
        ungated_(buffers_.ungated),
        products_(buffers_.products) {}

  /// Calls f() for each block of queries: for all at once if they see all keys. The first key is a multiple of the lanes, so that the sums
  /// of a row have the same order as over all keys.
  template <class F>
  void for_queries(F&& f) {
    const std::size_t size = a_.reach.sees_all(n_) ? n_ : most_queries;
    for (std::size_t begin = 0; begin < n_; begin += size) {
      queries_ = {begin, std::min(n_, begin + size)};
      keys_ = {a_.reach.begin(begin) / Lanes::count * Lanes::count, a_.reach.end(queries_.end - 1, n_)};
      rows_ = queries_.end - queries_.begin;
      columns_ = keys_.end - keys_.begin;
      room_ = row::whole_lanes(columns_);
      corner_ = queries_.begin * n_ + keys_.begin;
      f();
    }
  }

  /// p_ = the scores S. If there is a gate, ungated_ = the scores before the gate.
  void scores() {
    p_.resize(rows_ * room_);
    gemm(false, true, rows_, columns_, d_, a_.scale, query(q_), stride_, key(k_), stride_, T{0}, p_.data(), room_);
    for (std::size_t term = 0; term < relatives_.size(); ++term) {
      const auto& r = relatives_[term];
      const In* const table = turned_[term].data() + (r.tables == 1 ? 0 : h_ * d_ * r.rows);
      for_relative_rows(a_.longest, r, queries_, keys_, [&](const RelativeRows& used) {
        products_.resize(used.tokens() * used.count);
        gemm(false, false, used.tokens(), used.count, d_, r.scale, (r.key_side ? k_ : q_) + used.begin * stride_, stride_,
             table + used.first, r.rows, T{0}, products_.data(), used.count);
        used.for_runs([&](std::size_t i, std::size_t j, std::size_t count, std::size_t x, std::ptrdiff_t step) {
          for_steps(count, step,
                    [to = p_.data() + place(i, j), from = products_.data() + x](std::ptrdiff_t k, std::ptrdiff_t e) { to[k] += from[e]; });
        });
      });
    }
    if (a_.gate != nullptr) {
      ungated_ = p_;
      multiply_rows(p_, a_.gate + pair_ + corner_, n_);
    }
    const T* const pair_bias = a_.pair_bias == nullptr ? nullptr : a_.pair_bias + (a_.pair_bias_heads == 1 ? 0 : h_ * a_.pairs) + pair_;
    for (std::size_t i = 0; i < rows_; ++i) {
      T* row = p_.data() + i * room_;
      const std::size_t first = corner_ + i * n_;  // the row's first cell
      for (const auto& l : a_.lookups) {
        const T* table = l.table + h_ * l.levels;
        row::add_lookup(columns_, table, a_.maps_are_scores ? T{0} : lookup_base(table[0]), l.code + pair_ + first, row);
      }
      if (a_.position_bias != nullptr) {
        const T* bias = a_.position_bias + (h_ * a_.bias_length + queries_.begin + i) * a_.bias_length + keys_.begin;
        for (std::size_t j = 0; j < columns_; ++j) row[j] += bias[j];
      }
      if (pair_bias != nullptr)
        for (std::size_t j = 0; j < columns_; ++j) row[j] += pair_bias[first + j];
    }
    hide(p_, unseen);
  }

  /// p_ = softmax(p_), exactly 0 for keys that are not seen; writes logsumexp[i * H] for each row i.
  void softmax(T* logsumexp) {
    for (std::size_t i = 0; i < rows_; ++i)
      logsumexp[(queries_.begin + i) * a_.heads] = row::padded_softmax(columns_, p_.data() + i * room_);
    hide(p_, T{0});
  }
  /// map (n, n) = p_, or `other` for keys that are not seen.
  void write(In* map, T other) const {
    for (std::size_t i = 0; i < rows_; ++i) convert(columns_, p_.data() + i * room_, map + corner_ + i * n_);
    fill_others(map, static_cast<In>(other));
  }
  /// p_ = softmax(p_), from the results of softmax().
  void probabilities(const T* logsumexp) {
    for (std::size_t i = 0; i < rows_; ++i) {
      T* const row = p_.data() + i * room_;
      const T log_sum = logsumexp[(queries_.begin + i) * a_.heads];
      if (std::abs(log_sum) < 256)
        row::padded_probabilities(columns_, log_sum, row);
      else
        row::padded_softmax(columns_, row);  // log_sum has lost digits: if a mask of -1e9 covers the whole row, all of log(n)
    }
    hide(p_, T{0});
  }

  /// out (n, d), row stride D, = dropout(p_) v; overwrites p_.
  void output(In* out) {
    if (a_.dropout.active()) {
      fill_mask();
      multiply_rows(p_, mask_.data(), columns_);
    }
    const In *const p = factor(p_), *const v = key(v_);
    out += queries_.begin * a_.width;
    if constexpr (std::is_same_v<In, T>) {
      gemm(false, false, rows_, d_, columns_, T{1}, p, room_, v, stride_, T{0}, out, a_.width);
    } else if (!gemm_rounded(false, false, rows_, d_, columns_, T{1}, p, room_, v, stride_, out, a_.width)) {  // a long sequence
      g_.resize(rows_ * d_);
      gemm(false, false, rows_, d_, columns_, T{1}, p, room_, v, stride_, T{0}, g_.data(), d_);
      for (std::size_t i = 0; i < rows_; ++i) convert(d_, g_.data() + i * d_, out + i * a_.width);
    }
  }

  /// Computes the gradients from dout (n, d), row stride D, and from the gradients of the returned scores or probabilities (else null).
  /// Writes the qkv of `grads` and adds to the rest: tables have a row for each head, pair bias and gate are (H, P).
  void backward(const In* dout, const In* dscores, const In* dprobabilities, const AttentionGrads<T>& grads) {
    T* dq = grads.qkv + first_ * stride_ + h_ * d_;
    T *dk = dq + a_.width, *dv = dk + a_.width;
    const bool whole = rows_ == n_;  // else the blocks add up
    if (queries_.begin == 0 && (!whole || dout == nullptr))
      for (std::size_t i = 0; i < n_; ++i)
        for (T* const to : {dk, dv}) std::fill_n(to + i * stride_, d_, T{0});
    const T before = whole ? T{0} : T{1};
    g_.assign(rows_ * room_, T{0});
    if (dout != nullptr) {
      dout += queries_.begin * a_.width;
      gemm(false, true, rows_, columns_, d_, T{1}, dout, a_.width, key(v_), stride_, T{0}, g_.data(), room_);
      const bool drops = a_.dropout.active();
      if (drops) {
        fill_mask();
        multiply_rows(g_, mask_.data(), columns_);
        for (std::size_t i = 0; i < rows_; ++i)
          for (std::size_t j = 0; j < columns_; ++j) mask_[i * columns_ + j] *= p_[i * room_ + j];
      }
      gemm(true, false, columns_, d_, rows_, T{1}, factor(drops ? mask_ : p_), drops ? columns_ : room_, dout, a_.width, before, key(dv),
           stride_);
    }
    if (dprobabilities != nullptr) for_cells([&](std::size_t cell, std::size_t e) { g_[e] += dprobabilities[cell]; });
    for (std::size_t i = 0; i < rows_; ++i) row::softmax_grad(room_, p_.data() + i * room_, g_.data() + i * room_);
    if (dscores != nullptr) {
      for_cells([&](std::size_t cell, std::size_t e) { g_[e] += dscores[cell]; });
      hide(g_, T{0});
    }
    // g_ is now the gradient of the scores.

    add_bias_grads(grads);
    if (a_.gate != nullptr) multiply_rows(g_, a_.gate + pair_ + corner_, n_);

    const In* const g = factor(g_);
    gemm(false, false, rows_, d_, columns_, a_.scale, g, room_, key(k_), stride_, T{0}, query(dq), stride_);
    gemm(true, false, columns_, d_, rows_, a_.scale, g, room_, query(q_), stride_, before, key(dk), stride_);
    add_relative_grads(dq, dk, grads);
  }

 private:
  using Lanes = row::Lanes<T>;
  static constexpr std::size_t most_queries = 64;  // of a block, if there is a reach
  static constexpr T unseen = -std::numeric_limits<T>::infinity();

  /// The first row of the block's queries, or keys, in a part of qkv or of its gradient.
  template <class X>
  X* query(X* part) const {
    return part + queries_.begin * stride_;
  }
  template <class X>
  X* key(X* part) const {
    return part + keys_.begin * stride_;
  }
  std::size_t place(std::size_t i, std::size_t j) const { return (i - queries_.begin) * room_ + j - keys_.begin; }

  /// Adds the gradients of relative tables, and their parts of dq and dk, from the gradient of the scores before the gate.
  void add_relative_grads(T* dq, T* dk, const AttentionGrads<T>& grads) {
    for (std::size_t t = 0; t < relatives_.size(); ++t) {
      const auto& r = relatives_[t];
      const In* const table = r.table + (r.tables == 1 ? 0 : h_ * r.rows * d_);
      for_relative_rows(a_.longest, r, queries_, keys_, [&](const RelativeRows& used) {
        products_.assign(used.tokens() * used.count, T{0});
        used.for_runs([&](std::size_t i, std::size_t j, std::size_t count, std::size_t x, std::ptrdiff_t step) {
          const T* const from = g_.data() + place(i, j);
          T* const to = products_.data() + x;
          if (step == 0 && count > 1)
            *to += row::lane_sum<T>(count, [from](std::size_t k) { return from[k]; });
          else
            for_steps(count, step, [from, to](std::ptrdiff_t k, std::ptrdiff_t e) { to[e] += from[k]; });
        });
        const std::size_t at = used.begin * stride_;
        const In* const products = factor(products_);
        gemm(false, false, used.tokens(), d_, used.count, r.scale, products, used.count, table + used.first * d_, d_, T{1},
             (r.key_side ? dk : dq) + at, stride_);
        if (grads.relatives[t] != nullptr)
          gemm(true, false, used.count, d_, used.tokens(), r.scale, products, used.count, (r.key_side ? k_ : q_) + at, stride_, T{1},
               grads.relatives[t] + (h_ * r.rows + used.first) * d_, d_);
      });
    }
  }

  /// Adds the gradients of lookup tables, position bias, pair bias and gate, from the gradient of the scores.
  void add_bias_grads(const AttentionGrads<T>& grads) {
    for (std::size_t l = 0; l < a_.lookups.size(); ++l) {
      if (grads.lookups[l] == nullptr) continue;
      T* to = grads.lookups[l] + h_ * a_.lookups[l].levels;
      const std::uint16_t* code = a_.lookups[l].code + pair_;
      for_cells([&](std::size_t cell, std::size_t e) {
        if (code[cell] == 0 && !a_.maps_are_scores) return;
        to[code[cell]] += g_[e];
        if (!a_.maps_are_scores) to[0] -= g_[e];  // the gradients of a row of scores sum to 0
      });
    }
    if (grads.position_bias != nullptr)
      for (std::size_t i = queries_.begin; i < queries_.end; ++i)
        for (std::size_t j = keys_.begin; j < keys_.end; ++j)
          grads.position_bias[(h_ * a_.bias_length + i) * a_.bias_length + j] += g_[place(i, j)];
    const std::size_t first = h_ * a_.pairs + pair_;
    if (grads.pair_bias != nullptr) {
      for_cells([&](std::size_t cell, std::size_t e) { grads.pair_bias[first + cell] = g_[e]; });
      fill_others(grads.pair_bias + first, T{0});
    }
    if (grads.gate != nullptr) {
      for_cells([&](std::size_t cell, std::size_t e) { grads.gate[first + cell] = g_[e] * ungated_[e]; });
      fill_others(grads.gate + first, T{0});
    }
  }
  /// mask_ (queries, keys) = the factors of dropout.
  void fill_mask() {
    mask_.resize(rows_ * columns_);
    const std::size_t first = h_ * a_.pairs + pair_ + corner_;
    if (columns_ == n_) return a_.dropout.fill(first, rows_ * n_, mask_.data());
    for (std::size_t i = 0; i < rows_; ++i) a_.dropout.fill(first + i * n_, columns_, mask_.data() + i * columns_);
  }
  /// Calls f(cell, e) for all cells of the block: e is the place in its squares, cell that in a square of all queries and keys.
  template <class F>
  void for_cells(F&& f) const {
    for (std::size_t i = 0; i < rows_; ++i)
      for (std::size_t j = 0; j < columns_; ++j) f(corner_ + i * n_ + j, i * room_ + j);
  }
  /// x = value for the keys of the block that a query does not see.
  void hide(std::vector<T>& x, T value) const {
    for (std::size_t i = queries_.begin; i < queries_.end; ++i) {
      T* const row = x.data() + place(i, keys_.begin);
      std::fill(row, row + (std::max(a_.reach.begin(i), keys_.begin) - keys_.begin), value);
      std::fill(row + (a_.reach.end(i, n_) - keys_.begin), row + columns_, value);
    }
  }
  /// square (n, n) = value for the queries of the block and the keys before and after it.
  template <class X>
  void fill_others(X* square, X value) const {
    for (std::size_t i = queries_.begin; i < queries_.end; ++i) {
      std::fill(square + i * n_, square + i * n_ + keys_.begin, value);
      std::fill(square + i * n_ + keys_.end, square + (i + 1) * n_, value);
    }
  }
  /// x *= y for all cells, with y_stride elements from one row of y to the next.
  void multiply_rows(std::vector<T>& x, const T* y, std::size_t y_stride) const {
    for (std::size_t i = 0; i < rows_; ++i)
      for (std::size_t j = 0; j < columns_; ++j) x[i * room_ + j] *= y[i * y_stride + j];
  }
  /// x as a factor of a product, until the next call.
  const In* factor(const std::vector<T>& x) {
    if constexpr (std::is_same_v<In, T>) {
      return x.data();
    } else {
      buffers_.factor.resize(x.size());
      convert(x.size(), x.data(), buffers_.factor.data());
      return buffers_.factor.data();
    }
  }

  const AttentionArgs<T>& a_;
  const std::vector<typename AttentionArgs<In>::Relative>& relatives_;
  const std::vector<Tensor<In>>& turned_;
  std::size_t h_, first_, n_, d_, stride_;
  const In *q_, *k_, *v_;
  std::size_t pair_;
  TokenRange queries_{}, keys_{};  // of the block
  std::size_t rows_ = 0, columns_ = 0, room_ = 0,
              corner_ = 0;  // their numbers; rows of p_, g_ and ungated_ have room_ elements; first cell

  // Reused by all blocks of a thread. The reference is taken once per block, since each access to a thread_local costs a call.
  struct Buffers {
    std::vector<T> p, g, mask, ungated, products;
    std::vector<In> factor;
  };
  static Buffers& thread_buffers() {  // not a static member: g++ 12 fails if two types are instantiated late
    static thread_local Buffers buffers;
    return buffers;
  }
  Buffers& buffers_;
  std::vector<T>&p_, &g_, &mask_, &ungated_, &products_;
};

}  // namespace lexformer::detail
