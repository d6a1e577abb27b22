// SPDX-License-Identifier: MIT
// LOVE's encoder "attention": self-attention of the units, without projections.
#pragma once

#include <cstddef>

#include "lexformer/ops/attention.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/words/love_layers.hpp"
#include "lexformer/words/love_options.hpp"

namespace lexformer {

/// Units of B words, X (N, D) their rows of the table:
///   Y = LoveNorm(X, softmax(X X^T / s) X); the next layer reads Y as X; all layers share one LoveNorm
///   vector of a word = maximum of its rows of Y, in each column
/// s = love_divisor(scale, D / H) with H heads of D / H columns each.
template <class T = float, class Dev = Cpu>
class LoveAttention {
 public:
  LoveNorm<T, Dev> norm;

  LoveAttention(const LoveOptions& o, Init& init) : norm(o.size, init), options_(o) {}
  static double weights(const LoveOptions&) { return 0; }

  Var<T, Dev> operator()(Var<T, Dev> x, const Offsets& words, const ForwardOptions& forward) const {
    ScoreTerms<T, Dev> terms;
    terms.scale = static_cast<accumulate_t<T>>(1 / love_divisor(options_.scale, options_.size / options_.heads));
    for (std::size_t i = 0; i < options_.layers; ++i) {
      const auto mixed = attention(concat_columns<T, Dev>({x, x, x}), words, options_.heads, terms).context;
      x = norm(x, mixed, forward.dropout(options_.dropout, static_cast<std::uint32_t>(i)));
    }
    return sequence_max(x, words);
  }
  void visit(ParameterVisitor<T, Dev>& v) { v("norm", norm); }

 private:
  LoveOptions options_;
};

}  // namespace lexformer
