// SPDX-License-Identifier: MIT
// PAM, the positional attention module of LOVE (Chen et al. 2022, section 4.2; words/love.hpp). X (n, d) are the vectors of a word's units:
//   X_bar = SA(PA(X)) W^O                                               (eq. 4)
//   PA(X) = softmax(P P^T / sqrt(d)) X W^V                              (eq. 5)
//   SA: multi-head self-attention;  P: sinusoids of the positions (Vaswani et al. 2017)
//
//   paper        here
//   P P^T        position_scores()
//   W^V          LovePam::Layer::position
//   SA           LovePam::Layer::query, key; the values are its input
//   W^O          LovePam::Layer::output
//
// Beyond the printed equations, as in the authors' code:
//   * Linear layers have biases and ReLU; a residual connection and a normalization follow (LoveNorm), one for all layers.
//   * LoveStructure::sequential is eq. 4. With merge, the default and the released model, PA and SA both read X, and W^O joins them.
//     With 300 dimensions and without the table, sequential has 200,464 parameters and merge 290,464.
//   * SA has no projection of values. Scores are divided by the fourth root of the size of a head (LoveOptions::scale): sqrt(d), as
//     printed, gives wide windows, not the trigrams of Appendix C.4.
//   * The vector of a word is the mean over its units, [CLS], [SUB] and [SEP] included. LoveEncoder scales it to length 1.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "lexformer/core/names.hpp"
#include "lexformer/ops/attention.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/words/love_layers.hpp"
#include "lexformer/words/love_options.hpp"

namespace lexformer {

/// Scores of positional attention: entry m is P_i . P_j for |i - j| = m, where P[t, 2k] = sin(t / 10000^(2k / d)) and P[t, 2k + 1] is the
/// cosine of the same; the product is sum_k cos((i - j) / 10000^(2k / d)). d is even.
inline std::vector<double> position_scores(std::size_t n, std::size_t d) {
  std::vector<double> scores(n);
  for (std::size_t k = 0; 2 * k < d; ++k) {
    const double frequency = std::pow(10000.0, -2 * static_cast<double>(k) / static_cast<double>(d));
    for (std::size_t m = 0; m < n; ++m) scores[m] += std::cos(static_cast<double>(m) * frequency);
  }
  return scores;
}

/// All layers of PAM. X (N, D): the units of B words, one word after another; softmax is over the units of a word.
///   A = relu(softmax(P P^T / s_p) X W_v^T + b_v)                      positional attention
///   Z = A (sequential) or X (merge);  q = relu(Z W_q^T + b_q),  k = relu(Z W_k^T + b_k)
///   S = softmax(q k^T / s_s) Z                                        self-attention
///   C = relu(S W_o^T + b_o) (sequential) or relu([S | A] W_o^T + b_o) (merge)
///   Y = LoveNorm(X, C); the next layer reads Y as X; all layers share one LoveNorm;  vector of a word = mean of its rows of Y
/// s_p = love_divisor(scale, D / H), s_s = love_divisor(scale, Q / H) with H heads; P has D / H columns, the same for each head.
/// W_v (D, D), W_q, W_k (Q, D), W_o (D, D) or (D, 2 D).
template <class T = float, class Dev = Cpu>
class LovePam {
 public:
  struct Layer {
    Linear<T, Dev> position, query, key, output;

    void visit(ParameterVisitor<T, Dev>& v) {
      v("position", position);
      v("query", query);
      v("key", key);
      v("output", output);
    }
  };

  std::vector<Layer> layers;
  LoveNorm<T, Dev> norm;

  LovePam(const LoveOptions& o, Init& init) : norm(o.size, init), options_(o), scores_(position_scores(usual_length, o.size / o.heads)) {
    for (std::size_t i = 0; i < o.layers; ++i) {
      auto position = Linear<T, Dev>::uniform(o.size, o.size, init), query = Linear<T, Dev>::uniform(o.size, o.query_size, init),
           key = Linear<T, Dev>::uniform(o.size, o.query_size, init);
      auto output = Linear<T, Dev>::uniform(o.structure == LoveStructure::merge ? 2 * o.size : o.size, o.size, init);
      layers.push_back({std::move(position), std::move(query), std::move(key), std::move(output)});
    }
  }
  /// Number of elements of the weights, without biases.
  static double weights(const LoveOptions& o) {
    const auto d = static_cast<double>(o.size), q = static_cast<double>(o.query_size);
    return static_cast<double>(o.layers) * (d * d + 2 * q * d + (o.structure == LoveStructure::merge ? 2 : 1) * d * d);
  }

  /// x (N, D), the units of B words -> (B, D)
  Var<T, Dev> operator()(Var<T, Dev> x, const Offsets& words, const ForwardOptions& forward) const {
    const auto bias = position_bias(words.longest());
    for (std::size_t i = 0; i < layers.size(); ++i)
      x = norm(x, mix(layers[i], x, words, bias), forward.dropout(options_.dropout, static_cast<std::uint32_t>(i)));
    return sequence_mean(x, words);
  }

  /// The weights of both attentions in each layer, after the softmax: (H, pairs), for each head the n x n blocks of the words.
  struct Weights {
    std::vector<Var<T, Dev>> position, content;
  };
  Weights attention_weights(Var<T, Dev> x, const Offsets& words) const {
    const auto bias = position_bias(words.longest());
    Weights weights;
    for (const auto& layer : layers) x = norm(x, mix(layer, x, words, bias, &weights), {});
    return weights;
  }

  void visit(ParameterVisitor<T, Dev>& v) {
    for (std::size_t i = 0; i < layers.size(); ++i) v(cat("layer.", i), layers[i]);
    v("norm", norm);
  }

 private:
  /// P P^T / s_p, (H, n, n).
  Var<T, Dev> position_bias(std::size_t n) const {
    const std::size_t d = options_.size / options_.heads;
    const auto scores = n <= scores_.size() ? scores_ : position_scores(n, d);
    const double divisor = love_divisor(options_.scale, d);
    std::vector<T> bias;
    for (std::size_t h = 0; h < options_.heads; ++h)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) bias.push_back(static_cast<T>(scores[i < j ? j - i : i - j] / divisor));
    return Var<T, Dev>(Tensor<T, Dev>::from(bias, {options_.heads, n, n}));
  }

  /// Appends zeros to each head's columns, so that queries and keys (N, Q) become as wide as values: (N, D).
  Var<T, Dev> widen(const Var<T, Dev>& x) const {
    const std::size_t from = options_.query_size / options_.heads, to = options_.size / options_.heads;
    if (from == to) return x;
    const Var<T, Dev> zeros(Tensor<T, Dev>::zeros({x.dim(0), to - from}));
    std::vector<Var<T, Dev>> parts;
    for (std::size_t h = 0; h < options_.heads; ++h) {
      parts.push_back(slice_columns(x, h * from, (h + 1) * from));
      parts.push_back(zeros);
    }
    return concat_columns(parts);
  }

  /// C: positional attention, self-attention and W_o. Appends the weights of both attentions where they are asked for.
  Var<T, Dev> mix(const Layer& layer, const Var<T, Dev>& x, const Offsets& words, const Var<T, Dev>& bias,
                  Weights* weights = nullptr) const {
    const std::size_t heads = options_.heads;
    const AttentionOptions keep{.attentions = weights == nullptr ? Attentions::none : Attentions::probabilities};
    ScoreTerms<T, Dev> by_position, by_content;
    by_position.position_bias = bias;
    by_content.scale = static_cast<accumulate_t<T>>(1 / love_divisor(options_.scale, options_.query_size / heads));
    const Var<T, Dev> no_query_and_key(Tensor<T, Dev>::zeros({x.dim(0), 2 * x.dim(1)}));  // the scores are P P^T / s_p alone
    const auto pa = attention(concat_columns<T, Dev>({no_query_and_key, x}), words, heads, by_position, keep);
    const auto a = relu(layer.position(pa.context));
    const auto& z = options_.structure == LoveStructure::sequential ? a : x;
    const auto q = widen(relu(layer.query(z))), k = widen(relu(layer.key(z)));
    const auto sa = attention(concat_columns<T, Dev>({q, k, z}), words, heads, by_content, keep);
    if (weights != nullptr) {
      weights->position.push_back(pa.attentions);
      weights->content.push_back(sa.attentions);
    }
    return relu(layer.output(options_.structure == LoveStructure::sequential ? sa.context : concat_columns<T, Dev>({sa.context, a})));
  }

  static constexpr std::size_t usual_length = 64;  // units of a word; the scores of longer ones are computed each time

  LoveOptions options_;
  std::vector<double> scores_;  // of up to usual_length units
};

}  // namespace lexformer
