// SPDX-License-Identifier: MIT
// Attention on the CPU: for each (sequence, head), strided matrix products and the row functions of row.hpp. The fields are documented
// in arguments.hpp, the formula in ops/attention.hpp. In bfloat16, processors that multiply bfloat16 (instructions.hpp) compute the
// products from q, k, v as they are stored and from rounded probabilities and gradients, with sums, softmax and terms in float; other
// processors compute everything in float copies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "lexformer/kernels/products/gemm.hpp"
#include "lexformer/kernels/products/instructions.hpp"
#include "lexformer/kernels/relative_rows_cpu.hpp"
#include "lexformer/kernels/rows_cpu.hpp"
#include "lexformer/kernels/wide_attention.hpp"

namespace lexformer {

namespace detail {

/// One (sequence, head), constructed for each block of work; uses the buffers of its thread. In: type of the factors of products.
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
        room_(row::whole_lanes(n_)),
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

  /// p_ = the scores S. If there is a gate, ungated_ = the scores before the gate.
  void scores() {
    p_.resize(n_ * room_);
    gemm(false, true, n_, n_, d_, a_.scale, q_, stride_, k_, stride_, T{0}, p_.data(), room_);
    for (std::size_t term = 0; term < relatives_.size(); ++term) {
      const auto& r = relatives_[term];
      const In* const table = turned_[term].data() + (r.tables == 1 ? 0 : h_ * d_ * r.rows);
      for_relative_rows(a_.longest, r, n_, [&](const RelativeRows& used) {
        products_.resize(used.tokens() * used.count);
        gemm(false, false, used.tokens(), used.count, d_, r.scale, (r.key_side ? k_ : q_) + used.begin * stride_, stride_,
             table + used.first, r.rows, T{0}, products_.data(), used.count);
        used.for_runs([&](std::size_t i, std::size_t j, std::size_t count, std::size_t x, std::ptrdiff_t step) {
          for_steps(count, step, [to = p_.data() + i * room_ + j, from = products_.data() + x](std::ptrdiff_t k, std::ptrdiff_t e) {
            to[k] += from[e];
          });
        });
      });
    }
    if (a_.gate != nullptr) {
      ungated_ = p_;
      multiply_rows(p_, a_.gate + pair_);
    }
    const T* const pair_bias = a_.pair_bias == nullptr ? nullptr : a_.pair_bias + (a_.pair_bias_heads == 1 ? 0 : h_ * a_.pairs) + pair_;
    for (std::size_t i = 0; i < n_; ++i) {
      T* row = p_.data() + i * room_;
      for (const auto& l : a_.lookups) {
        const T* table = l.table + h_ * l.levels;
        row::add_lookup(n_, table, a_.maps_are_scores ? T{0} : lookup_base(table[0]), l.code + pair_ + i * n_, row);
      }
      if (a_.position_bias != nullptr) {
        const T* bias = a_.position_bias + (h_ * a_.bias_length + i) * a_.bias_length;
        for (std::size_t j = 0; j < n_; ++j) row[j] += bias[j];
      }
      if (pair_bias != nullptr)
        for (std::size_t j = 0; j < n_; ++j) row[j] += pair_bias[i * n_ + j];
    }
  }

  /// p_ = softmax(p_); writes logsumexp[i * H] for each row i.
  void softmax(T* logsumexp) {
    for (std::size_t i = 0; i < n_; ++i) logsumexp[i * a_.heads] = row::padded_softmax(n_, p_.data() + i * room_);
  }
  /// map (n, n) = p_
  void write(In* map) const {
    for (std::size_t i = 0; i < n_; ++i) convert(n_, p_.data() + i * room_, map + i * n_);
  }
  /// p_ = softmax(p_), from the results of softmax().
  void probabilities(const T* logsumexp) {
    for (std::size_t i = 0; i < n_; ++i) {
      T* const row = p_.data() + i * room_;
      const T log_sum = logsumexp[i * a_.heads];
      if (std::abs(log_sum) < 256)
        row::padded_probabilities(n_, log_sum, row);
      else
        row::padded_softmax(n_, row);  // log_sum has lost digits: if a mask of -1e9 covers the whole row, all of log(n)
    }
  }

  /// out (n, d), row stride D, = dropout(p_) v; overwrites p_.
  void output(In* out) {
    if (a_.dropout.active()) {
      fill_mask();
      multiply_rows(p_, mask_.data());
    }
    const In* const p = factor(p_);
    if constexpr (std::is_same_v<In, T>) {
      gemm(false, false, n_, d_, n_, T{1}, p, room_, v_, stride_, T{0}, out, a_.width);
    } else if (!gemm_rounded(false, false, n_, d_, n_, T{1}, p, room_, v_, stride_, out, a_.width)) {  // a long sequence
      g_.resize(n_ * d_);
      gemm(false, false, n_, d_, n_, T{1}, p, room_, v_, stride_, T{0}, g_.data(), d_);
      for (std::size_t i = 0; i < n_; ++i) convert(d_, g_.data() + i * d_, out + i * a_.width);
    }
  }

  /// Computes the gradients from dout (n, d), row stride D, and from the gradients of the returned scores or probabilities (else null).
  /// Writes the qkv of `grads` and adds to the rest: tables have a row for each head, pair bias and gate are (H, P).
  void backward(const In* dout, const In* dscores, const In* dprobabilities, const AttentionGrads<T>& grads) {
    T* dq = grads.qkv + first_ * stride_ + h_ * d_;
    T *dk = dq + a_.width, *dv = dk + a_.width;
    g_.assign(n_ * room_, T{0});
    if (dout != nullptr) {
      gemm(false, true, n_, n_, d_, T{1}, dout, a_.width, v_, stride_, T{0}, g_.data(), room_);
      const bool drops = a_.dropout.active();
      if (drops) {
        fill_mask();
        multiply_rows(g_, mask_.data());
        for_cells([&](std::size_t cell, std::size_t e) { mask_[cell] *= p_[e]; });
      }
      gemm(true, false, n_, d_, n_, T{1}, factor(drops ? mask_ : p_), drops ? n_ : room_, dout, a_.width, T{0}, dv, stride_);
    } else {
      for (std::size_t i = 0; i < n_; ++i) std::fill_n(dv + i * stride_, d_, T{0});
    }
    if (dprobabilities != nullptr) for_cells([&](std::size_t cell, std::size_t e) { g_[e] += dprobabilities[cell]; });
    for (std::size_t i = 0; i < n_; ++i) row::softmax_grad(room_, p_.data() + i * room_, g_.data() + i * room_);
    if (dscores != nullptr) for_cells([&](std::size_t cell, std::size_t e) { g_[e] += dscores[cell]; });
    // g_ is now the gradient of the scores.

    add_bias_grads(grads);
    if (a_.gate != nullptr) multiply_rows(g_, a_.gate + pair_);

    const In* const g = factor(g_);
    gemm(false, false, n_, d_, n_, a_.scale, g, room_, k_, stride_, T{0}, dq, stride_);
    gemm(true, false, n_, d_, n_, a_.scale, g, room_, q_, stride_, T{0}, dk, stride_);
    for (std::size_t t = 0; t < relatives_.size(); ++t) {
      const auto& r = relatives_[t];
      const In* const table = r.table + (r.tables == 1 ? 0 : h_ * r.rows * d_);
      for_relative_rows(a_.longest, r, n_, [&](const RelativeRows& used) {
        products_.assign(used.tokens() * used.count, T{0});
        used.for_runs([&](std::size_t i, std::size_t j, std::size_t count, std::size_t x, std::ptrdiff_t step) {
          const T* const from = g_.data() + i * room_ + j;
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

 private:
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
      for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t j = 0; j < n_; ++j) grads.position_bias[(h_ * a_.bias_length + i) * a_.bias_length + j] += g_[i * room_ + j];
    const std::size_t first = h_ * a_.pairs + pair_;
    if (grads.pair_bias != nullptr) for_cells([&](std::size_t cell, std::size_t e) { grads.pair_bias[first + cell] = g_[e]; });
    if (grads.gate != nullptr) for_cells([&](std::size_t cell, std::size_t e) { grads.gate[first + cell] = g_[e] * ungated_[e]; });
  }
  void fill_mask() {
    mask_.resize(n_ * n_);
    a_.dropout.fill(h_ * a_.pairs + pair_, n_ * n_, mask_.data());
  }
  /// Calls f(cell, e) for all cells of the scores: cell counts n_ in a row, and e room_.
  template <class F>
  void for_cells(F&& f) const {
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) f(i * n_ + j, i * room_ + j);
  }
  /// x *= y for all cells, with n_ elements in a row of y.
  void multiply_rows(std::vector<T>& x, const T* y) const {
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) x[i * room_ + j] *= y[i * n_ + j];
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
  std::size_t h_, first_, n_, room_, d_, stride_;  // rows of p_, g_ and ungated_ have room_ elements
  const In *q_, *k_, *v_;
  std::size_t pair_;

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

/// The map of (s, h), or null.
template <class T>
T* map_of(const AttentionArgs<std::remove_const_t<T>>& a, std::size_t s, std::size_t h, T* attentions) {
  if (attentions == nullptr || a.map_row == nullptr || a.map_row[h] < 0) return nullptr;
  return attentions + static_cast<std::size_t>(a.map_row[h]) * a.pairs + a.pair_begin[s];
}

template <class In>
void attention_of(const AttentionArgs<In>& a, const AttentionArgs<accumulate_t<In>>& terms, In* context, accumulate_t<In>* logsumexp,
                  In* attentions) {
  const auto turned = transposed_tables(a);
  parallel_for(a.sequences * a.heads, 1, [&](std::size_t unit, std::size_t) {
    const std::size_t s = unit / a.heads, h = unit % a.heads, first = a.token_begin[s];
    AttentionBlock<In> block(a, terms, turned, s, h);
    In* const to = map_of(a, s, h, attentions);
    block.scores();
    if (to != nullptr && a.maps_are_scores) block.write(to);
    block.softmax(logsumexp + first * a.heads + h);
    if (to != nullptr && !a.maps_are_scores) block.write(to);
    block.output(context + first * a.width + h * a.width / a.heads);
  });
}

template <class In, class T = accumulate_t<In>>
void gradients_of(const AttentionArgs<In>& a, const AttentionArgs<T>& terms, const T* logsumexp, const In* dcontext, const In* dmaps,
                  const AttentionGrads<T>& grads) {
  const std::size_t heads = a.heads, d = a.width / heads, lookups = a.lookups.size(), tables = lookups + a.relatives.size();
  const auto table = [lookups](auto& g, std::size_t t) -> auto& { return t < lookups ? g.lookups[t] : g.relatives[t - lookups]; };
  const auto size_of_head = [&](std::size_t t) { return t < lookups ? a.lookups[t].levels : a.relatives[t - lookups].rows * d; };
  // With a position bias, a head processes all sequences in order; else each chunk of 4 sequences has partial tables.
  const std::size_t chunk = grads.position_bias != nullptr ? a.sequences : std::min<std::size_t>(4, a.sequences);
  const std::size_t chunks = (a.sequences + chunk - 1) / chunk;
  AttentionGrads<T> base = grads;
  Tensor<T> pair_bias, gate;               // one per head, summed below if the heads share them
  std::vector<Tensor<T>> partial(tables);  // (chunks, H, ...)
  const auto of_heads = [&](T* wanted, Tensor<T>& sums) -> T* {
    if (wanted == nullptr) return nullptr;
    sums = Tensor<T>({heads, a.pairs});
    return sums.mutable_data();
  };
  if (a.pair_bias_heads == 1) base.pair_bias = of_heads(grads.pair_bias, pair_bias);
  base.gate = of_heads(grads.gate, gate);
  if (grads.position_bias != nullptr) std::fill_n(grads.position_bias, heads * a.bias_length * a.bias_length, T{0});
  for (std::size_t t = 0; t < tables; ++t) {
    if (table(grads, t) == nullptr) continue;
    partial[t] = Tensor<T>::zeros({chunks, heads, size_of_head(t)});
    table(base, t) = partial[t].mutable_data();
  }

  const auto turned = transposed_tables(a);
  parallel_for(chunks * heads, 1, [&](std::size_t unit, std::size_t) {
    const std::size_t c = unit / heads, h = unit % heads;
    auto to = base;
    for (std::size_t t = 0; t < tables; ++t)
      if (table(to, t) != nullptr) table(to, t) += c * heads * size_of_head(t);
    for (std::size_t s = c * chunk; s < std::min(a.sequences, (c + 1) * chunk); ++s) {
      const std::size_t first = a.token_begin[s];
      AttentionBlock<In> block(a, terms, turned, s, h);
      block.scores();
      block.probabilities(logsumexp + first * heads + h);
      const In* const dmap = map_of(a, s, h, dmaps);
      block.backward(dcontext == nullptr ? nullptr : dcontext + first * a.width + h * d, a.maps_are_scores ? dmap : nullptr,
                     a.maps_are_scores ? nullptr : dmap, to);
    }
  });

  if (pair_bias.defined()) RowKernels<Cpu>::column_sum(heads, a.pairs, pair_bias.data(), a.pairs, grads.pair_bias);
  if (grads.gate != nullptr) RowKernels<Cpu>::column_sum(heads, a.pairs, gate.data(), a.pairs, grads.gate);
  for (std::size_t t = 0; t < tables; ++t) {
    if (table(grads, t) == nullptr) continue;
    // If the heads share a table, also sum over the heads.
    const std::size_t size = (t < lookups ? heads : a.relatives[t - lookups].tables) * size_of_head(t);
    RowKernels<Cpu>::column_sum(partial[t].size() / size, size, partial[t].data(), size, table(grads, t));
  }
}

}  // namespace detail

template <>
template <class T>
void AttentionKernels<Cpu>::attention(const AttentionArgs<T>& a, T* context, accumulate_t<T>* logsumexp, T* attentions) {
  if constexpr (is_storage<T>) {
    const bool direct = multiplies_bfloat16();
    const detail::WideAttention<T> wide(a, !direct);
    if (direct) return detail::attention_of(a, wide.args, context, logsumexp, attentions);
    const std::size_t n = wide.maps_size(a);
    Tensor<accumulate_t<T>> y({a.tokens * a.width}), m({n});
    detail::attention_of(wide.args, wide.args, y.mutable_data(), logsumexp, m.mutable_data());
    detail::narrow(1, y.size(), y, context, y.size());
    detail::narrow(1, n, m, attentions, n);
  } else {
    detail::attention_of(a, a, context, logsumexp, attentions);
  }
}

template <>
template <class T>
void AttentionKernels<Cpu>::attention_grad(const AttentionArgs<T>& a, const T* /*context*/, const accumulate_t<T>* logsumexp,
                                           const T* dcontext, const T* dmaps, const AttentionGrads<T>& grads) {
  if constexpr (is_storage<T>) {
    const bool direct = multiplies_bfloat16();
    detail::WideAttention<T> wide(a, !direct);
    detail::WideGradients<T> to(a, grads);
    if (direct)
      detail::gradients_of(a, wide.args, logsumexp, dcontext, dmaps, to.grads);
    else
      detail::gradients_of(wide.args, wide.args, logsumexp, wide.wide(a.tokens * a.width, dcontext), wide.wide(wide.maps_size(a), dmaps),
                           to.grads);
    to.write();
  } else {
    detail::gradients_of(a, a, logsumexp, dcontext, dmaps, grads);
  }
}

}  // namespace lexformer
