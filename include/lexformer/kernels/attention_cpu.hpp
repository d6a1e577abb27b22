// SPDX-License-Identifier: MIT
// Attention on the CPU, for all sequences and heads in parallel. In bfloat16, processors that multiply bfloat16 (instructions.hpp) compute
// the products from q, k, v as they are stored and from rounded probabilities and gradients, with sums, softmax and terms in float; other
// processors compute everything in float copies.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "lexformer/kernels/attention_block_cpu.hpp"
#include "lexformer/kernels/products/instructions.hpp"
#include "lexformer/kernels/rows_cpu.hpp"
#include "lexformer/kernels/wide_attention.hpp"

namespace lexformer {

namespace detail {

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
    block.for_queries([&] {
      block.scores();
      if (to != nullptr && a.maps_are_scores) block.write(to, -std::numeric_limits<accumulate_t<In>>::infinity());
      block.softmax(logsumexp + first * a.heads + h);
      if (to != nullptr && !a.maps_are_scores) block.write(to, 0);
      block.output(context + first * a.width + h * a.width / a.heads);
    });
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
      const In* const dmap = map_of(a, s, h, dmaps);
      block.for_queries([&] {
        block.scores();
        block.probabilities(logsumexp + first * heads + h);
        block.backward(dcontext == nullptr ? nullptr : dcontext + first * a.width + h * d, a.maps_are_scores ? dmap : nullptr,
                       a.maps_are_scores ? nullptr : dmap, to);
      });
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
