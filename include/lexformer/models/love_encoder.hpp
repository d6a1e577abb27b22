// SPDX-License-Identifier: MIT
// LOVE's encoder (Chen et al., "Imputing Out-of-Vocabulary Embeddings with LOVE Makes Language Models Robust with Little Cost", ACL 2022):
// a vector for a word from its letters and pieces.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "lexformer/core/names.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/nn/embedding.hpp"
#include "lexformer/nn/linear.hpp"
#include "lexformer/ops/attention.hpp"
#include "lexformer/ops/dropout.hpp"
#include "lexformer/ops/rows.hpp"

namespace lexformer {

enum class LoveStructure { sequential, merge };  // the paper's eq. 4 and 5; the released model

template <>
inline constexpr auto names_of<LoveStructure> = std::to_array<Named<LoveStructure>>({{"sequential", LoveStructure::sequential},
                                                                                     {"merge", LoveStructure::merge}});

struct LoveOptions {
  std::size_t size = 300;       // D, of the vectors
  std::size_t rows = 0;         // V, of the table
  std::size_t pad = 0;          // the row of [PAD]
  std::size_t query_size = 32;  // Q, of queries and keys of the self-attention, all heads together
  std::size_t heads = 1, layers = 1;
  double dropout = 0.2;
  LoveStructure structure = LoveStructure::sequential;
  std::string scale = "quarter";  // of attention scores, see love_divisor()

  /// All but the rows of the table, which the vocabulary determines.
  void visit(OptionVisitor& v) {
    v.size("size", size, 2, 1 << 16, "size of the vectors");
    v.choice("structure", structure, "positional attention before self-attention (paper), or beside it (released model)");
    v.text("scale", scale,
           "attention scores are divided by the fourth root of the head size (quarter), its square root (sqrt), or a number");
    v.size("query_size", query_size, 1, 1 << 16, "size of the queries and keys of the self-attention, all heads together");
    v.size("heads", heads, 1, 256, "attention heads");
    v.size("layers", layers, 1, 64, "layers");
    v.number("dropout", dropout, 0, 0.99, "dropout after the normalization");
  }
};

/// The divisor of attention scores of heads of this size: its fourth root (quarter, the released code's), its square root (sqrt), or a
/// given number. Errors: the scale is none of these, or not in 0.001 .. 1000000.
inline double love_divisor(const std::string& scale, std::size_t head_size) {
  const auto d = static_cast<double>(head_size);
  if (scale == "quarter") return std::sqrt(std::sqrt(d));
  if (scale == "sqrt") return std::sqrt(d);
  double number = 0;
  const auto [end, error] = std::from_chars(scale.data(), scale.data() + scale.size(), number);
  if (error != std::errc() || end != scale.data() + scale.size() || !(number >= 1e-3 && number <= 1e6))
    fail_usage("LoveOptions", "scale is ", in_quotes(scale), "; expected quarter, sqrt or a number from 0.001 to 1000000");
  return number;
}

/// Returns the options if they fit each other. Errors (usage): a size is 0; [PAD] is not a row; D / heads is not an even number; Q is not a
/// multiple of the heads or exceeds D; the scale is unknown.
inline const LoveOptions& check_love_options(const LoveOptions& o) {
  if (o.size == 0 || o.rows == 0 || o.query_size == 0 || o.heads == 0 || o.layers == 0)
    fail_usage("LoveOptions", "size, rows, query_size, heads and layers must be positive, got ", o.size, ", ", o.rows, ", ", o.query_size,
               ", ", o.heads, ", ", o.layers);
  if (o.pad >= o.rows) fail_usage("LoveOptions", "[PAD] is row ", o.pad, " of a table of ", o.rows, " rows");
  if (o.size % (2 * o.heads) != 0)
    fail_usage("LoveOptions", "size / heads must be an even number, for sines and cosines; got ", o.size, " / ", o.heads);
  if (o.query_size % o.heads != 0 || o.query_size > o.size)
    fail_usage("LoveOptions", "query_size must be a multiple of the ", o.heads, " heads and at most the size ", o.size, "; got ",
               o.query_size);
  love_divisor(o.scale, 1);
  return o;
}

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

/// Words of n units each, X (N, D) their rows of the table:
///   A = relu(softmax(P P^T / s_p) X W_a^T + b_a)                      positional attention
///   Z = A (sequential) or X (merge);  q = relu(Z W_q^T + b_q),  k = relu(Z W_k^T + b_k)
///   B = softmax(q k^T / s_s) Z                                        self-attention
///   C = relu(B W_o^T + b_o) (sequential) or relu([B | A] W_o^T + b_o) (merge)
///   Y = X + dropout(gamma (C - mean) / (deviation + 1e-6) + beta);    the next layer reads Y as X; all layers share gamma and beta
///   vector of a word = sum of its rows of Y, scaled to length 1
/// s_p = love_divisor(scale, D / H), s_s = love_divisor(scale, Q / H) with H heads; P has D / H columns, the same for each head.
/// W_a (D, D), W_q, W_k (Q, D), W_o (D, D) or (D, 2 D). The deviation divides by D - 1, as in the released code (ops/rows.hpp:
/// standardize).
template <class T = float, class Dev = Cpu>
class LoveEncoder {
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

  Embedding<T, Dev> table;
  std::vector<Layer> layers;
  Var<T, Dev> norm_weight, norm_bias;
  LoveOptions options;

  /// Starts as PyTorch does: the table N(0, 1) with a row of zeros for [PAD]; matrices and biases uniform in +-1 / sqrt(inputs).
  /// Errors: those of check_love_options().
  LoveEncoder(const LoveOptions& o, std::uint64_t seed) : LoveEncoder(o, Init(seed, 1.0)) {
    auto values = table.weight.value().template to<Cpu>();
    std::fill_n(values.mutable_data() + o.pad * o.size, o.size, T{0});
    table.weight.mutable_value().assign(values.span());
  }
  /// For a model that is loaded from a file: the table has no values yet.
  explicit LoveEncoder(const LoveOptions& o) : LoveEncoder(o, Init::none()) {}

  /// Computes the vectors of B words. ids: the units of all words, one after another -> (B, D)
  Var<T, Dev> operator()(const Indices<std::int32_t, Dev>& ids, const Offsets& words, const ForwardOptions& forward = {}) const {
    if (ids.size() != words.tokens()) fail("LoveEncoder", ids.size(), " ids but the offsets have ", words.tokens(), " units");
    const auto bias = position_bias(words.longest());
    auto x = table(ids);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto y = mix(layers[i], x, words, bias);
      const auto normed = add(multiply(standardize(y, accumulate_t<T>(1e-6)), norm_weight), norm_bias);
      x = add(x, dropout(normed, forward.dropout(options.dropout, static_cast<std::uint32_t>(i))));
    }
    return l2_normalize(sequence_mean(x, words));  // the mean has the direction of the sum
  }

  void visit(ParameterVisitor<T, Dev>& v) {
    v("units", table);
    for (std::size_t i = 0; i < layers.size(); ++i) v(cat("layer.", i), layers[i]);
    v("norm.weight", norm_weight);
    v("norm.bias", norm_bias);
  }

 private:
  LoveEncoder(const LoveOptions& o, Init init)
      : table(check_love_options(o).rows, o.size, init),
        norm_weight(init.constant<T, Dev>({o.size}, T{1})),
        norm_bias(init.constant<T, Dev>({o.size}, T{0})),
        options(o),
        scores_(position_scores(usual_length, o.size / o.heads)) {
    const auto linear_layer = [&](std::size_t in, std::size_t out) {
      const double bound = 1 / std::sqrt(static_cast<double>(in));
      Linear<T, Dev> layer(in, out, init);
      layer.weight = init.uniform<T, Dev>({out, in}, bound);
      layer.bias = init.uniform<T, Dev>({out}, bound);
      return layer;
    };
    for (std::size_t i = 0; i < o.layers; ++i) {
      auto position = linear_layer(o.size, o.size), query = linear_layer(o.size, o.query_size), key = linear_layer(o.size, o.query_size);
      auto output = linear_layer(o.structure == LoveStructure::merge ? 2 * o.size : o.size, o.size);
      layers.push_back({std::move(position), std::move(query), std::move(key), std::move(output)});
    }
  }

  static constexpr std::size_t usual_length = 64;  // units of a word; the scores of longer ones are computed each time
  std::vector<double> scores_;

  /// P P^T / s_p, (H, n, n).
  Var<T, Dev> position_bias(std::size_t n) const {
    const std::size_t d = options.size / options.heads;
    const auto scores = n <= scores_.size() ? scores_ : position_scores(n, d);
    const double divisor = love_divisor(options.scale, d);
    std::vector<T> bias;
    for (std::size_t h = 0; h < options.heads; ++h)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) bias.push_back(static_cast<T>(scores[i < j ? j - i : i - j] / divisor));
    return Var<T, Dev>(Tensor<T, Dev>::from(bias, {options.heads, n, n}));
  }

  /// Appends zeros to each head's columns, so that queries and keys (N, Q) become as wide as values: (N, D).
  Var<T, Dev> widen(const Var<T, Dev>& x) const {
    const std::size_t from = options.query_size / options.heads, to = options.size / options.heads;
    if (from == to) return x;
    const Var<T, Dev> zeros(Tensor<T, Dev>::zeros({x.dim(0), to - from}));
    std::vector<Var<T, Dev>> parts;
    for (std::size_t h = 0; h < options.heads; ++h) {
      parts.push_back(slice_columns(x, h * from, (h + 1) * from));
      parts.push_back(zeros);
    }
    return concat_columns(parts);
  }

  /// C of the formulas above.
  Var<T, Dev> mix(const Layer& layer, const Var<T, Dev>& x, const Offsets& words, const Var<T, Dev>& bias) const {
    const std::size_t heads = options.heads;
    ScoreTerms<T, Dev> by_position, by_content;
    by_position.position_bias = bias;
    by_content.scale = static_cast<accumulate_t<T>>(1 / love_divisor(options.scale, options.query_size / heads));
    const Var<T, Dev> no_query_and_key(Tensor<T, Dev>::zeros({x.dim(0), 2 * x.dim(1)}));
    const auto blurred = attention(concat_columns<T, Dev>({no_query_and_key, x}), words, heads, by_position).context;
    const auto a = relu(layer.position(blurred));
    const auto& z = options.structure == LoveStructure::sequential ? a : x;
    const auto q = widen(relu(layer.query(z))), k = widen(relu(layer.key(z)));
    const auto b = attention(concat_columns<T, Dev>({q, k, z}), words, heads, by_content).context;
    return relu(layer.output(options.structure == LoveStructure::sequential ? b : concat_columns<T, Dev>({b, a})));
  }
};

}  // namespace lexformer
