// SPDX-License-Identifier: MIT
// Attention of a storage type (bfloat16) in its compute type: copies of its inputs, and gradients that are rounded at the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lexformer/kernels/arguments.hpp"
#include "lexformer/kernels/products/widen.hpp"

namespace lexformer::detail {

/// The inputs of attention in the compute type.
template <class T>
struct WideAttention {
  using A = accumulate_t<T>;
  AttentionArgs<A> args;

  /// factors: also q, k, v and the relative terms.
  WideAttention(const AttentionArgs<T>& a, bool factors) {
    args.sequences = a.sequences;
    args.tokens = a.tokens;
    args.pairs = a.pairs;
    args.longest = a.longest;
    args.token_begin = a.token_begin;
    args.pair_begin = a.pair_begin;
    args.host_token_begin = a.host_token_begin;
    args.heads = a.heads;
    args.width = a.width;
    args.scale = a.scale;
    if (factors) args.qkv = wide(a.tokens * 3 * a.width, a.qkv);
    args.position_bias = wide(position_bias_size(a), a.position_bias);
    args.bias_length = a.bias_length;
    args.pair_bias = wide(a.pair_bias_heads * a.pairs, a.pair_bias);
    args.pair_bias_heads = a.pair_bias_heads;
    args.gate = wide(a.pairs, a.gate);
    args.dropout = a.dropout;
    args.reach = a.reach;
    args.map_row = a.map_row;
    args.maps_are_scores = a.maps_are_scores;
    for (const auto& l : a.lookups) args.lookups.push_back({wide(a.heads * l.levels, l.table), l.levels, l.code});
    if (factors)
      for (const auto& r : a.relatives)
        args.relatives.push_back({r.key_side, wide(relative_size(a, r), r.table), r.tables, r.rows, r.bucket, r.scale});
  }
  /// A copy of n elements in the compute type; null for null.
  const A* wide(std::size_t n, const T* x) {
    if (x == nullptr) return nullptr;
    kept_.push_back(widen(1, n, x, n));
    return kept_.back().data();
  }
  static std::size_t position_bias_size(const AttentionArgs<T>& a) { return a.heads * a.bias_length * a.bias_length; }
  static std::size_t relative_size(const AttentionArgs<T>& a, const typename AttentionArgs<T>::Relative& r) {
    return r.tables * r.rows * (a.width / a.heads);
  }
  /// Number of elements of the requested maps.
  static std::size_t maps_size(const AttentionArgs<T>& a) {
    if (a.map_row == nullptr) return 0;
    return a.pairs * static_cast<std::size_t>(std::count_if(a.map_row, a.map_row + a.heads, [](auto row) { return row >= 0; }));
  }

 private:
  std::vector<Tensor<A>> kept_;
};

/// The outputs of attention_grad in the compute type; write() rounds them to their destinations.
template <class T>
class WideGradients {
 public:
  using A = accumulate_t<T>;
  AttentionGrads<A> grads;

  WideGradients(const AttentionArgs<T>& a, const AttentionGrads<T>& to) {
    using Wide = WideAttention<T>;
    grads.qkv = place(a.tokens * 3 * a.width, to.qkv);
    grads.position_bias = place(Wide::position_bias_size(a), to.position_bias);
    grads.pair_bias = place(a.pair_bias_heads * a.pairs, to.pair_bias);
    grads.gate = place(a.pairs, to.gate);
    for (std::size_t l = 0; l < a.lookups.size(); ++l) grads.lookups.push_back(place(a.heads * a.lookups[l].levels, to.lookups[l]));
    for (std::size_t r = 0; r < a.relatives.size(); ++r)
      grads.relatives.push_back(place(Wide::relative_size(a, a.relatives[r]), to.relatives[r]));
  }
  void write() const {
    for (const auto& part : parts_) narrow(1, part.value.size(), part.value, part.to, part.value.size());
  }

 private:
  struct Part {
    Tensor<A> value;
    T* to;
  };
  A* place(std::size_t n, T* to) {
    if (to == nullptr) return nullptr;
    parts_.push_back({Tensor<A>({n}), to});
    return parts_.back().value.mutable_data();
  }
  std::vector<Part> parts_;
};

}  // namespace lexformer::detail
