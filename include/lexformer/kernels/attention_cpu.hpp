// SPDX-License-Identifier: MIT
// Attention on the CPU: for each (sequence, head), strided matrix products and the row functions of row.hpp. The fields are documented
// in interface.hpp, the formula in ops/attention.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "lexformer/kernels/gemm.hpp"
#include "lexformer/kernels/relative_rows_cpu.hpp"
#include "lexformer/kernels/rows_cpu.hpp"
#include "lexformer/kernels/widen_cpu.hpp"

namespace lexformer {

namespace detail {

/// One (sequence, head), constructed for each block of work; uses the buffers of its thread.
template <class T>
class AttentionBlock {
 public:
  /// turned: transposed_tables(args)
  AttentionBlock(const AttentionArgs<T>& args, const std::vector<Tensor<T>>& turned, std::size_t s, std::size_t h)
      : a_(args),
        turned_(turned),
        h_(h),
        n_(args.token_begin[s + 1] - args.token_begin[s]),
        d_(args.width / args.heads),
        stride_(3 * args.width),
        q_(args.qkv + args.token_begin[s] * stride_ + h * d_),
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
  const T* scores() {
    p_.resize(n_ * n_);
    gemm(false, true, n_, n_, d_, a_.scale, q_, stride_, k_, stride_, T{0}, p_.data(), n_);
    for (std::size_t term = 0; term < a_.relatives.size(); ++term) {
      const auto& r = a_.relatives[term];
      const T* const table = turned_[term].data() + (r.tables == 1 ? 0 : h_ * d_ * r.rows);
      for_relative_rows(a_, r, n_, [&](const RelativeRows& used) {
        products_.resize(used.tokens() * used.count);
        gemm(false, false, used.tokens(), used.count, d_, r.scale, (r.key_side ? k_ : q_) + used.begin * stride_, stride_,
             table + used.first, r.rows, T{0}, products_.data(), used.count);
        used.for_runs([&](std::size_t i, std::size_t j, std::size_t count, std::size_t x, std::ptrdiff_t step) {
          for_steps(count, step,
                    [to = p_.data() + i * n_ + j, from = products_.data() + x](std::ptrdiff_t k, std::ptrdiff_t e) { to[k] += from[e]; });
        });
      });
    }
    if (a_.gate != nullptr) {
      ungated_ = p_;
      for (std::size_t e = 0; e < n_ * n_; ++e) p_[e] *= a_.gate[pair_ + e];
    }
    for (std::size_t i = 0; i < n_; ++i) {
      T* row = p_.data() + i * n_;
      for (const auto& l : a_.lookups) {
        const T* table = l.table + h_ * l.levels;
        row::add_lookup(n_, table, a_.maps_are_scores ? T{0} : lookup_base(table[0]), l.code + pair_ + i * n_, row);
      }
      if (a_.position_bias != nullptr) {
        const T* bias = a_.position_bias + (h_ * a_.bias_length + i) * a_.bias_length;
        for (std::size_t j = 0; j < n_; ++j) row[j] += bias[j];
      }
      if (a_.pair_bias != nullptr)
        for (std::size_t j = 0; j < n_; ++j) row[j] += a_.pair_bias[pair_ + i * n_ + j];
    }
    return p_.data();
  }

  /// p_ = softmax(p_); writes logsumexp[i * H] for each row i.
  const T* softmax(T* logsumexp) {
    for (std::size_t i = 0; i < n_; ++i) logsumexp[i * a_.heads] = row::softmax(n_, p_.data() + i * n_);
    return p_.data();
  }
  const T* probabilities(const T* logsumexp) {
    for (std::size_t i = 0; i < n_; ++i) {
      T* const row = p_.data() + i * n_;
      const T log_sum = logsumexp[i * a_.heads];
      if (std::abs(log_sum) < 256)
        row::probabilities(n_, log_sum, row);
      else
        row::softmax(n_, row);  // log_sum has lost digits: if a mask of -1e9 covers the whole row, all of log(n)
    }
    return p_.data();
  }

  /// out (n, d), row stride D, = dropout(p_) v; overwrites p_.
  void output(T* out) {
    if (a_.dropout.active()) {
      fill_mask();
      for (std::size_t e = 0; e < n_ * n_; ++e) p_[e] *= mask_[e];
    }
    gemm(false, false, n_, d_, n_, T{1}, p_.data(), n_, v_, stride_, T{0}, out, a_.width);
  }

  /// Computes the gradients from dout (n, d), row stride D, and from the gradients of the returned scores or probabilities (else null).
  /// Writes the qkv of `grads` and adds to the rest: tables have a row for each head, pair bias and gate are (H, P).
  void backward(const T* dout, const T* dscores, const T* dprobabilities, const AttentionGrads<T>& grads) {
    const std::size_t cells = n_ * n_;
    T* dq = grads.qkv + (q_ - a_.qkv);
    T *dk = dq + a_.width, *dv = dk + a_.width;
    g_.assign(cells, T{0});
    if (dout != nullptr) {
      gemm(false, true, n_, n_, d_, T{1}, dout, a_.width, v_, stride_, T{0}, g_.data(), n_);
      if (a_.dropout.active()) {
        fill_mask();
        for (std::size_t e = 0; e < cells; ++e) g_[e] *= mask_[e];
        for (std::size_t e = 0; e < cells; ++e) mask_[e] *= p_[e];
      }
      gemm(true, false, n_, d_, n_, T{1}, a_.dropout.active() ? mask_.data() : p_.data(), n_, dout, a_.width, T{0}, dv, stride_);
    } else {
      for (std::size_t i = 0; i < n_; ++i) std::fill_n(dv + i * stride_, d_, T{0});
    }
    if (dprobabilities != nullptr)
      for (std::size_t e = 0; e < cells; ++e) g_[e] += dprobabilities[e];
    for (std::size_t i = 0; i < n_; ++i) row::softmax_grad(n_, p_.data() + i * n_, g_.data() + i * n_);
    if (dscores != nullptr)
      for (std::size_t e = 0; e < cells; ++e) g_[e] += dscores[e];
    // g_ is now the gradient of the scores.

    for (std::size_t l = 0; l < a_.lookups.size(); ++l) {
      if (grads.lookups[l] == nullptr) continue;
      T* to = grads.lookups[l] + h_ * a_.lookups[l].levels;
      const std::uint16_t* code = a_.lookups[l].code + pair_;
      for (std::size_t e = 0; e < cells; ++e) {
        if (code[e] == 0 && !a_.maps_are_scores) continue;
        to[code[e]] += g_[e];
        if (!a_.maps_are_scores) to[0] -= g_[e];  // the gradients of a row of scores sum to 0
      }
    }
    if (grads.position_bias != nullptr)
      for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t j = 0; j < n_; ++j) grads.position_bias[(h_ * a_.bias_length + i) * a_.bias_length + j] += g_[i * n_ + j];
    if (grads.pair_bias != nullptr) std::copy_n(g_.data(), cells, grads.pair_bias + h_ * a_.pairs + pair_);
    if (grads.gate != nullptr)
      for (std::size_t e = 0; e < cells; ++e) grads.gate[h_ * a_.pairs + pair_ + e] = g_[e] * ungated_[e];
    if (a_.gate != nullptr)
      for (std::size_t e = 0; e < cells; ++e) g_[e] *= a_.gate[pair_ + e];

    gemm(false, false, n_, d_, n_, a_.scale, g_.data(), n_, k_, stride_, T{0}, dq, stride_);
    gemm(true, false, n_, d_, n_, a_.scale, g_.data(), n_, q_, stride_, T{0}, dk, stride_);
    for (std::size_t t = 0; t < a_.relatives.size(); ++t) {
      const auto& r = a_.relatives[t];
      const T* const table = r.table + (r.tables == 1 ? 0 : h_ * r.rows * d_);
      for_relative_rows(a_, r, n_, [&](const RelativeRows& used) {
        products_.assign(used.tokens() * used.count, T{0});
        used.for_runs([&](std::size_t i, std::size_t j, std::size_t count, std::size_t x, std::ptrdiff_t step) {
          const T* const from = g_.data() + i * n_ + j;
          T* const to = products_.data() + x;
          if (step == 0 && count > 1)
            *to += row::lane_sum<T>(count, [from](std::size_t k) { return from[k]; });
          else
            for_steps(count, step, [from, to](std::ptrdiff_t k, std::ptrdiff_t e) { to[e] += from[k]; });
        });
        const std::size_t at = used.begin * stride_;
        gemm(false, false, used.tokens(), d_, used.count, r.scale, products_.data(), used.count, table + used.first * d_, d_, T{1},
             (r.key_side ? dk : dq) + at, stride_);
        if (grads.relatives[t] != nullptr)
          gemm(true, false, used.count, d_, used.tokens(), r.scale, products_.data(), used.count, (r.key_side ? k_ : q_) + at, stride_,
               T{1}, grads.relatives[t] + (h_ * r.rows + used.first) * d_, d_);
      });
    }
  }

 private:
  void fill_mask() {
    mask_.resize(n_ * n_);
    a_.dropout.fill(h_ * a_.pairs + pair_, n_ * n_, mask_.data());
  }

  const AttentionArgs<T>& a_;
  const std::vector<Tensor<T>>& turned_;
  std::size_t h_, n_, d_, stride_;
  const T *q_, *k_, *v_;
  std::size_t pair_;

  // Reused by all blocks of a thread. The reference is taken once per block, since each access to a thread_local costs a call.
  struct Buffers {
    std::vector<T> p, g, mask, ungated, products;
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

template <class T>
void attention_of(const AttentionArgs<T>& a, T* context, T* logsumexp, T* attentions) {
  const auto turned = transposed_tables(a);
  parallel_for(a.sequences * a.heads, 1, [&](std::size_t unit, std::size_t) {
    const std::size_t s = unit / a.heads, h = unit % a.heads, first = a.token_begin[s], n = a.token_begin[s + 1] - first;
    AttentionBlock<T> block(a, turned, s, h);
    T* const to = map_of(a, s, h, attentions);
    const T* scores = block.scores();
    if (to != nullptr && a.maps_are_scores) std::copy_n(scores, n * n, to);
    const T* p = block.softmax(logsumexp + first * a.heads + h);
    if (to != nullptr && !a.maps_are_scores) std::copy_n(p, n * n, to);
    block.output(context + first * a.width + h * a.width / a.heads);
  });
}

template <class T>
void gradients_of(const AttentionArgs<T>& a, const T* logsumexp, const T* dcontext, const T* dmaps, const AttentionGrads<T>& grads) {
  const std::size_t heads = a.heads, d = a.width / heads, lookups = a.lookups.size(), tables = lookups + a.relatives.size();
  const auto table = [lookups](auto& g, std::size_t t) -> auto& { return t < lookups ? g.lookups[t] : g.relatives[t - lookups]; };
  const auto size_of_head = [&](std::size_t t) { return t < lookups ? a.lookups[t].levels : a.relatives[t - lookups].rows * d; };
  // With a position bias, a head processes all sequences in order; else each chunk of 4 sequences has partial tables.
  const std::size_t chunk = grads.position_bias != nullptr ? a.sequences : std::min<std::size_t>(4, a.sequences);
  const std::size_t chunks = (a.sequences + chunk - 1) / chunk;
  AttentionGrads<T> base = grads;
  Tensor<T> pair_bias, gate;               // one per head, summed below
  std::vector<Tensor<T>> partial(tables);  // (chunks, H, ...)
  const auto of_heads = [&](T* wanted, Tensor<T>& sums) -> T* {
    if (wanted == nullptr) return nullptr;
    sums = Tensor<T>({heads, a.pairs});
    return sums.mutable_data();
  };
  base.pair_bias = of_heads(grads.pair_bias, pair_bias);
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
      AttentionBlock<T> block(a, turned, s, h);
      block.scores();
      block.probabilities(logsumexp + first * heads + h);
      const T* dmap = map_of(a, s, h, dmaps);
      block.backward(dcontext == nullptr ? nullptr : dcontext + first * a.width + h * d, a.maps_are_scores ? dmap : nullptr,
                     a.maps_are_scores ? nullptr : dmap, to);
    }
  });

  if (grads.pair_bias != nullptr) RowKernels<Cpu>::column_sum(heads, a.pairs, pair_bias.data(), a.pairs, grads.pair_bias);
  if (grads.gate != nullptr) RowKernels<Cpu>::column_sum(heads, a.pairs, gate.data(), a.pairs, grads.gate);
  for (std::size_t t = 0; t < tables; ++t) {
    if (table(grads, t) == nullptr) continue;
    // If the heads share a table, sum over the heads, too.
    const std::size_t size = (t < lookups ? heads : a.relatives[t - lookups].tables) * size_of_head(t);
    RowKernels<Cpu>::column_sum(partial[t].size() / size, size, partial[t].data(), size, table(grads, t));
  }
}

}  // namespace detail

template <>
template <class T>
void AttentionKernels<Cpu>::attention(const AttentionArgs<T>& a, T* context, accumulate_t<T>* logsumexp, T* attentions) {
  if constexpr (is_storage<T>) {
    const detail::WideAttention<T> wide(a);
    const std::size_t n = wide.maps_size(a);
    Tensor<accumulate_t<T>> y({a.tokens * a.width}), m({n});
    attention(wide.args, y.mutable_data(), logsumexp, m.mutable_data());
    detail::narrow(1, y.size(), y, context, y.size());
    detail::narrow(1, n, m, attentions, n);
  } else {
    detail::attention_of(a, context, logsumexp, attentions);
  }
}

template <>
template <class T>
void AttentionKernels<Cpu>::attention_grad(const AttentionArgs<T>& a, const T* /*context*/, const accumulate_t<T>* logsumexp,
                                           const T* dcontext, const T* dmaps, const AttentionGrads<T>& grads) {
  if constexpr (is_storage<T>) {
    detail::WideAttention<T> wide(a);
    detail::WideGradients<T> to(a, grads);
    detail::gradients_of(wide.args, logsumexp, wide.wide(a.tokens * a.width, dcontext), wide.wide(wide.maps_size(a), dmaps), to.grads);
    to.write();
  } else {
    detail::gradients_of(a, logsumexp, dcontext, dmaps, grads);
  }
}

}  // namespace lexformer
