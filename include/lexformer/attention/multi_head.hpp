// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lexformer/attention/term.hpp"
#include "lexformer/nn/layer_norm.hpp"
#include "lexformer/nn/linear.hpp"
#include "lexformer/ops/dropout.hpp"

namespace lexformer {

struct MultiHeadOptions {
  std::size_t width = 0, heads = 0;
  double attention_dropout = 0, hidden_dropout = 0, layer_norm_eps = 1e-12;
  bool qkv_bias = true, dense_bias = true, norm_bias = true;
  bool pre_norm = false;  // x + f(LayerNorm(x)) in place of LayerNorm(x + f(x))
  bool norms = true;      // whether there is a LayerNorm
  double scale = 0;       // of q . k, unless a term sets it; 0: 1 / sqrt(d)
};

/// The inputs of an attention layer besides its hidden states.
template <class T = float, class Dev = Cpu>
struct LayerInputs {
  const DeviceBatch<T, Dev>& batch;
  ForwardOptions forward{};
  AttentionOptions attention{};  // which scores or probabilities are returned; the layer sets `dropout`
  ScoreTerms<T, Dev> shared{};   // from the terms that all layers share
  bool* calibrated = nullptr;    // if set: calibrate every term; becomes false if a term could not be calibrated
};

/// Multi-head self-attention with residual connection, as in BERT (Vaswani et al. 2017; Devlin et al. 2019):
///   y = LayerNorm(x + dropout(attention(x W_q^T + b_q | x W_k^T + b_k | x W_v^T + b_v) W_o^T + b_o)),   x, y (N, D): N tokens, width D
/// With pre_norm y = x + dropout(attention(LayerNorm(x) ...) W_o^T + b_o). Parameters have the names of HuggingFace's BertAttention. The
/// weights of query, key and value are slices of one Tensor, and so are their biases, so that linear() computes all three by one product.
template <class T = float, class Dev = Cpu>
struct MultiHeadAttention {
  Linear<T, Dev> query, key, value, dense;
  LayerNorm<T, Dev> norm;
  std::shared_ptr<const Int8Weights> int8{};  // of query, key and value, if they are in 8 bits
  PackedWeights<T, Dev> packed{};             // of the same
  MultiHeadOptions options;
  std::uint32_t attention_site, output_site;                    // of dropout
  std::vector<std::shared_ptr<AttentionTerm<T, Dev>>> terms{};  // named and owned by the encoder
  std::shared_ptr<AttentionCore<T, Dev>> core{};                // null: a single call of attention()

  MultiHeadAttention(const MultiHeadOptions& o, Init& init, DropoutSites& sites)
      : query(o.width, o.width, init, o.qkv_bias),
        key(o.width, o.width, init, o.qkv_bias),
        value(o.width, o.width, init, o.qkv_bias),
        dense(o.width, o.width, init, o.dense_bias),
        norm(o.width, o.layer_norm_eps, init, o.norm_bias),
        options(o),
        attention_site(sites.next()),
        output_site(sites.next()) {
    if (o.heads == 0 || o.width == 0 || o.width % o.heads != 0)
      fail("MultiHeadAttention", "width ", o.width, " is not divisible by ", o.heads, " heads");
    join({&query.weight, &key.weight, &value.weight}, {3 * o.width, o.width});
    join({&query.bias, &key.bias, &value.bias}, {3 * o.width});
  }

  /// q, k and v in one product.
  Var<T, Dev> projections(const Var<T, Dev>& x) const {
    if (int8) return linear_int8(x, *int8);
    const std::vector weights{query.weight, key.weight, value.weight}, biases{query.bias, key.bias, value.bias};
    if (const auto w = packed.of(weights, biases)) return linear_bfloat16(x, *w);
    return linear(x, weights, biases);
  }

  /// x W_q^T + b_q and x W_k^T + b_k of rows x that are not tokens, (R, D) -> (R, D). The products are not in 8 bits, even if the weights
  /// are.
  Var<T, Dev> query_of(const Var<T, Dev>& x) const { return project(x, query, 0); }
  Var<T, Dev> key_of(const Var<T, Dev>& x) const { return project(x, key, options.width); }

  /// The inputs of the attention call: q, k and v after the terms' transformations, and the score terms.
  struct Prepared {
    Var<T, Dev> qkv;  // (N, 3 D)
    ScoreTerms<T, Dev> scores;
  };
  Prepared prepare(const Var<T, Dev>& x, const LayerInputs<T, Dev>& layer) const {
    auto qkv = projections(x);
    const AttentionInputs<T, Dev> in{qkv, layer.batch, options.heads, layer.forward, this};
    for (const auto& term : terms) qkv = term->transform(in);
    auto scores = layer.shared;
    if (options.scale != 0 && !scores.scale) scores.scale = static_cast<accumulate_t<T>>(options.scale);
    for (const auto& term : terms) {
      if (layer.calibrated != nullptr && !term->calibrate(in, scores)) *layer.calibrated = false;
      term->contribute(in, scores);
    }
    return {std::move(qkv), std::move(scores)};
  }

  struct Output {
    Var<T, Dev> hidden;      // (N, D)
    Var<T, Dev> attentions;  // (requested heads, P), P token pairs; or undefined
  };
  Output operator()(const Var<T, Dev>& x, const LayerInputs<T, Dev>& layer) const {
    const NameScope scope("attention");
    const auto [qkv, scores] = prepare(options.pre_norm && options.norms ? norm(x) : x, layer);
    const AttentionInputs<T, Dev> in{qkv, layer.batch, options.heads, layer.forward, this};
    auto call = layer.attention;
    call.dropout = layer.forward.dropout(options.attention_dropout, attention_site);
    const auto y = core ? (*core)(in, scores, call) : attention(qkv, layer.batch.offsets, options.heads, scores, call);
    const auto mask = layer.forward.dropout(options.hidden_dropout, output_site);
    if (options.pre_norm) return {add(x, dropout(dense(y.context), mask)), y.attentions};
    return {norm(dense(y.context), x, mask), y.attentions};
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("self.query", query);
    v("self.key", key);
    v("self.value", value);
    v("output.dense", dense);
    if (options.norms) v("output.LayerNorm", norm);
  }

 private:
  /// first_row: of the layer's weights among those in 8 bits.
  Var<T, Dev> project(const Var<T, Dev>& x, const Linear<T, Dev>& layer, std::size_t first_row) const {
    if (!int8) return linear(x, layer.weight, layer.bias);
    const auto floats = int8->unpack(first_row, options.width).dequantized();
    const Var<float> weight(Tensor<float>::from(floats, {options.width, options.width}));
    return linear(x, Var<T, Dev>(cast<T>(weight).value().template to<Dev>()), layer.bias);
  }
  /// Moves the values into one Tensor.
  static void join(const std::vector<Var<T, Dev>*>& parts, const Shape& shape) {
    Tensor<T, Dev> all(shape);
    std::size_t begin = 0;
    for (Var<T, Dev>* part : parts) {
      const auto& value = part->value();
      Memory<Dev>::copy(all.mutable_data() + begin * (value.size() / value.dim(0)), value.data(), value.size() * sizeof(T));
      part->mutable_value() = all.slice(begin, begin + value.dim(0));
      begin += part->dim(0);
    }
  }
};

}  // namespace lexformer
