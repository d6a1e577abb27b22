// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lexformer/attention/term.hpp"
#include "lexformer/data/batch.hpp"
#include "lexformer/nn/layer_norm.hpp"
#include "lexformer/nn/linear.hpp"
#include "lexformer/ops/rotary.hpp"

namespace lexformer {

struct MultiHeadOptions {
  std::size_t width = 0, heads = 0;
  double attention_dropout = 0, hidden_dropout = 0, layer_norm_eps = 1e-12;
  std::uint32_t site = 0;  // dropout sites: site (probabilities), site + 1 (output)
  double rope_base = 0;    // of rotary positions; 0 = none
};

/// Multi-head self-attention of BERT with its residual (Vaswani et al. 2017; Devlin et al. 2019):
///   y = LayerNorm(x + dropout(attention(x W_q^T + b_q | x W_k^T + b_k | x W_v^T + b_v) W_o^T + b_o)),   x, y (N, D)
/// Names are those of HuggingFace's BertAttention.
template <class T = float, class Dev = Cpu>
struct MultiHeadAttention {
  Linear<T, Dev> query, key, value, dense;
  LayerNorm<T, Dev> norm;
  MultiHeadOptions options;
  std::vector<std::shared_ptr<AttentionTerm<T, Dev>>> terms;  // named and owned by the encoder

  MultiHeadAttention(const MultiHeadOptions& o, Init& init)
      : query(o.width, o.width, init),
        key(o.width, o.width, init),
        value(o.width, o.width, init),
        dense(o.width, o.width, init),
        norm(o.width, o.layer_norm_eps, init),
        options(o) {
    if (o.heads == 0 || o.width % o.heads != 0) fail("MultiHeadAttention", "width ", o.width, " cannot be cut into ", o.heads, " heads");
  }

  struct Output {
    Var<T, Dev> hidden;      // (N, D)
    Var<T, Dev> attentions;  // (heads asked for, P) or undefined
  };
  /// `scores`: what terms that all layers share have made.
  Output operator()(const Var<T, Dev>& x, const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {},
                    Attentions attentions = Attentions::none, const std::vector<std::size_t>& attention_heads = {},
                    ScoreTerms<T, Dev> scores = {}) const {
    const NameScope scope("attention");
    auto qkv = linear(x, std::vector{query.weight, key.weight, value.weight}, std::vector{query.bias, key.bias, value.bias});  // (N, 3D)
    if (options.rope_base != 0) {
      scores.claim_positions("rope");
      qkv = rotary(qkv, batch.position_ids, options.heads, options.rope_base);
    }
    for (const auto& term : terms) term->contribute({qkv, batch, options.heads, forward}, scores);
    const auto y = attention(qkv, batch.offsets, options.heads, scores,
                             {.dropout = forward.dropout(options.attention_dropout, options.site),
                              .attentions = attentions,
                              .attention_heads = attention_heads});
    return {norm(dense(y.context), x, forward.dropout(options.hidden_dropout, options.site + 1)), y.attentions};
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("self.query", query);
    v("self.key", key);
    v("self.value", value);
    v("output.dense", dense);
    v("output.LayerNorm", norm);
  }
};

}  // namespace lexformer
