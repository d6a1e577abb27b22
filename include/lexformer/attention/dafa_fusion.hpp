// SPDX-License-Identifier: MIT
// The adaptive fusion of DAFA (Song et al. 2022, eq. 7 to 9; attention/dafa.hpp). For each group, s_i and d_i are the vectors of token i
// from the semantic and the dependency attention; j runs over the tokens of the sequence:
//   d*_i = sum_j softmax_j(w_d . tanh(W_D d_j + W_s s_i + b_s)) d_j                                    (eq. 7, additive)
//   s*_i = sum_j softmax_j(w_s . tanh(W_S s_j + W_d d*_i + b_d)) s_j
//   d^_i = tanh(W_d^ d*_i + b_d^),   s^_i = tanh(W_s^ s*_i + b_s^)                                     (eq. 8)
//   g_i  = sigmoid(W_g [d^_i; s^_i]),   v_i = g_i s^_i + (1 - g_i) d^_i
//   f_i  = sigmoid(W_f [s_i; W_v v_i + b_v]),   l_i = f_i tanh(W_l v_i + b_l)                          (eq. 9)
//
// A group is what is fused as one: a head (H groups, d_v = D / H), or the concatenated heads (1 group, d_v = D); DafaScope chooses.
// G is the number of sets of weights: one for all groups (G = 1), or one for each (G = groups); DafaSharing chooses.
// The letters D and d of weights belong to the dependency attention: W_D multiplies d_j, W_d multiplies d*_i, W_d^ makes d^_i.
//
//   paper                 here
//   W_D, W_s, b_s, w_d    DafaFusion::dependency: key (G, d_a, d_v), query (G, d_a, d_v), bias (G, d_a), score (G, d_a)
//   W_S, W_d, b_d, w_s    DafaFusion::semantic, in the same way
//   W_d^, b_d^            gate_dependency (G, d_hid, d_v), gate_dependency_bias (G, d_hid)
//   W_s^, b_s^            gate_semantic, gate_semantic_bias
//   W_g                   gate_score (G, 2 d_hid)
//   W_v, b_v, W_f         filter_value (G, d_v, d_hid), filter_value_bias (G, d_v), filter_score (G, 2 d_v)
//   W_l, b_l              output_weight (G, d_v, d_hid), output_bias (G, d_v)
//
// Open points and misprints of the paper:
//   * Eq. 7 prints a concatenation inside the tanh. A part of each score then does not depend on j and cancels in the softmax, so that s_i,
//     and d*_i in the second line, have no effect. DafaScore::additive adds both parts; concat is as printed.
//   * The hidden size of eq. 7 is d_seq in the paper, the length of the sequence; here it is d_a, an option. Biases that softmax cancels
//     are left out.
//   * The output is s_i + l_i by default (DafaOutput::residual), or l_i as printed (literal), which is near 0 where the filter is.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "lexformer/core/names.hpp"
#include "lexformer/nn/init.hpp"
#include "lexformer/ops/additive_attention.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/operators.hpp"

namespace lexformer {

enum class DafaScore { additive, concat };    // of eq. 7: w . tanh(P_j + U_i), or as printed w . tanh([P_j; U_i]), where U_i has no effect
enum class DafaSharing { shared, head };      // one set of weights for all heads, or one for each
enum class DafaScope { head, merged };        // the fusion of each head, or of the concatenated heads
enum class DafaOutput { literal, residual };  // l_i, as printed, or s_i + l_i

template <>
inline constexpr Named<DafaScore> names_of<DafaScore>[] = {{"additive", DafaScore::additive}, {"concat", DafaScore::concat}};
template <>
inline constexpr Named<DafaSharing> names_of<DafaSharing>[] = {{"shared", DafaSharing::shared}, {"head", DafaSharing::head}};
template <>
inline constexpr Named<DafaScope> names_of<DafaScope>[] = {{"head", DafaScope::head}, {"merged", DafaScope::merged}};
template <>
inline constexpr Named<DafaOutput> names_of<DafaOutput>[] = {{"literal", DafaOutput::literal}, {"residual", DafaOutput::residual}};

/// The sizes of a fusion, and the parts that are left out.
struct DafaFusionOptions {
  DafaScore score = DafaScore::additive;
  DafaSharing sharing = DafaSharing::shared;
  DafaScope scope = DafaScope::head;
  DafaOutput output = DafaOutput::residual;
  std::size_t attention_size = 0;  // d_a, 0 = d_v
  std::size_t hidden_size = 0;     // d_hid, 0 = d_v
  bool without_cross = false, without_gate = false, without_filter = false;
};

/// The sizes of a fusion's weights.
struct DafaSizes {
  std::size_t groups;                     // H, or 1 for the concatenated heads
  std::size_t sets;                       // G: sets of weights
  std::size_t vector, attention, hidden;  // d_v, d_a, d_hid

  DafaSizes(const DafaFusionOptions& o, std::size_t heads, std::size_t width)
      : groups(o.scope == DafaScope::merged ? 1 : heads),
        sets(o.sharing == DafaSharing::head ? groups : 1),
        vector(width / groups),
        attention(o.attention_size == 0 ? vector : o.attention_size),
        hidden(o.hidden_size == 0 ? vector : o.hidden_size) {}
};

/// A linear layer applied to each of H groups: x (N tokens, H in), weight (G, out, in), bias (G, out) or undefined -> (N, H out).
/// G = 1: the same for all groups, in one product; G = H: one for each.
template <class T, class Dev>
Var<T, Dev> head_linear(const Var<T, Dev>& x, const Var<T, Dev>& weight, const Var<T, Dev>& bias, std::size_t heads) {
  const std::size_t sets = weight.dim(0), out = weight.dim(1), in = weight.dim(2), rows = x.dim(0);
  const auto matrix = reshape(weight, {sets * out, in});
  const auto vector = bias.defined() ? reshape(bias, {sets * out}) : bias;
  if (sets == 1) return reshape(linear(reshape(x, {rows * heads, in}), matrix, vector), {rows, heads * out});
  std::vector<Var<T, Dev>> parts;
  for (std::size_t h = 0; h < heads; ++h)
    parts.push_back(linear(slice_columns(x, h * in, (h + 1) * in), slice_rows(matrix, h * out, (h + 1) * out),
                           bias.defined() ? reshape(slice_rows(bias, h, h + 1), {out}) : bias));
  return concat_columns(parts);
}

/// Fuses the contexts s and d, (N, D) each, of the semantic and the dependency attention, for each group, by eq. 7 to 9.
/// without_cross: d* = d, s* = s. without_gate: v = (s* + d*) / 2. without_filter: l = v. Without all three the output is (s + d) / 2.
template <class T = float, class Dev = Cpu>
struct DafaFusion {
  /// The weights of eq. 7 for one of its two lines.
  struct Cross {
    Var<T, Dev> key, query, bias, score;  // score: (G, 2 d_a) with concat
    void visit(ParameterVisitor<T, Dev>& v) {
      v("key", key);
      v("query", query);
      v("bias", bias);
      v("score", score);
    }
  };
  DafaFusionOptions options;
  std::size_t groups;  // H, or 1 for the concatenated heads
  Cross dependency, semantic;
  Var<T, Dev> gate_dependency, gate_dependency_bias, gate_semantic, gate_semantic_bias, gate_score;
  Var<T, Dev> filter_value, filter_value_bias, filter_score;
  Var<T, Dev> output_weight, output_bias;

  /// New matrices are uniform in +-1 / sqrt(inputs), as in PyTorch's Linear.
  DafaFusion(const DafaFusionOptions& o, std::size_t heads, std::size_t width, Init& init)
      : DafaFusion(o, DafaSizes(o, heads, width), init) {}
  DafaFusion(const DafaFusionOptions& o, const DafaSizes& sizes, Init& init) : options(o), groups(sizes.groups) {
    const std::size_t sets = sizes.sets, v = sizes.vector, a = sizes.attention, h = sizes.hidden;
    const auto uniform = [&](Shape shape, std::size_t inputs) {
      return init.uniform<T, Dev>(shape, 1 / std::sqrt(static_cast<double>(inputs)));
    };
    const auto cross = [&] {
      const std::size_t scored = o.score == DafaScore::concat ? 2 * a : a;
      Cross c;
      c.key = uniform({sets, a, v}, v);
      c.query = uniform({sets, a, v}, v);
      c.bias = uniform({sets, a}, v);
      c.score = uniform({sets, scored}, scored);
      return c;
    };
    if (!o.without_cross) {
      dependency = cross();
      semantic = cross();
    }
    if (!o.without_gate) {
      gate_dependency = uniform({sets, h, v}, v);
      gate_dependency_bias = uniform({sets, h}, v);
      gate_semantic = uniform({sets, h, v}, v);
      gate_semantic_bias = uniform({sets, h}, v);
      gate_score = uniform({sets, 2 * h}, 2 * h);
    }
    if (!o.without_filter) {
      filter_value = uniform({sets, v, h}, h);
      filter_value_bias = uniform({sets, v}, h);
      filter_score = uniform({sets, 2 * v}, 2 * v);
      output_weight = uniform({sets, v, h}, h);
      output_bias = uniform({sets, v}, h);
    }
  }

  struct Output {
    Var<T, Dev> context;  // (N, D)
    Var<T, Dev> filter;   // f, (N, groups); undefined without filter
  };
  /// s, d (N, D) -> (N, D)
  Output operator()(const Var<T, Dev>& s, const Var<T, Dev>& d, const Offsets& offsets) const {
    auto d_star = d, s_star = s;
    if (!options.without_cross) {
      d_star = cross(dependency, d, s, offsets);
      s_star = cross(semantic, s, d_star, offsets);
    }
    Var<T, Dev> v;
    if (options.without_gate) {
      v = (s_star + d_star) * 0.5;
    } else {
      const auto d_hat = tanh(head_linear(d_star, gate_dependency, gate_dependency_bias, groups));
      const auto s_hat = tanh(head_linear(s_star, gate_semantic, gate_semantic_bias, groups));
      const auto g = sigmoid(dot(gate_score, d_hat, s_hat));
      v = d_hat + per_head(g, s_hat - d_hat);
    }
    const bool average = options.without_cross && options.without_gate && options.without_filter;
    if (options.without_filter) return {options.output == DafaOutput::residual && !average ? s + v : v, {}};
    const auto f = sigmoid(dot(filter_score, s, head_linear(v, filter_value, filter_value_bias, groups)));
    const auto l = per_head(f, tanh(head_linear(v, output_weight, output_bias, groups)));
    return {options.output == DafaOutput::residual ? s + l : l, f};
  }

  void visit(ParameterVisitor<T, Dev>& v) {
    if (!options.without_cross) {
      v("dependency", dependency);
      v("semantic", semantic);
    }
    if (!options.without_gate) {
      v("gate.dependency", gate_dependency);
      v("gate.dependency_bias", gate_dependency_bias);
      v("gate.semantic", gate_semantic);
      v("gate.semantic_bias", gate_semantic_bias);
      v("gate.score", gate_score);
    }
    if (!options.without_filter) {
      v("filter.value", filter_value);
      v("filter.value_bias", filter_value_bias);
      v("filter.score", filter_score);
      v("output.weight", output_weight);
      v("output.bias", output_bias);
    }
  }

 private:
  /// One line of eq. 7: the attention of `from` over the vectors of `over`.
  Var<T, Dev> cross(const Cross& c, const Var<T, Dev>& over, const Var<T, Dev>& from, const Offsets& offsets) const {
    auto key = head_linear(over, c.key, {}, groups), query = head_linear(from, c.query, c.bias, groups);
    if (options.score == DafaScore::concat) {  // tanh([P_j; U_i]) = tanh([P_j; 0] + [0; U_i])
      const Var<T, Dev> zero(Tensor<T, Dev>::zeros({over.dim(0), key.dim(1) / groups}));
      const std::size_t a = zero.dim(1);
      std::vector<Var<T, Dev>> keys, queries;
      for (std::size_t h = 0; h < groups; ++h) {
        keys.insert(keys.end(), {slice_columns(key, h * a, (h + 1) * a), zero});
        queries.insert(queries.end(), {zero, slice_columns(query, h * a, (h + 1) * a)});
      }
      key = concat_columns(keys);
      query = concat_columns(queries);
    }
    return additive_attention(key, query, c.score, over, offsets, groups);
  }
  /// w . [x; y] of each head: w (G, 2 k), x and y (N, H k) -> (N, H)
  Var<T, Dev> dot(const Var<T, Dev>& w, const Var<T, Dev>& x, const Var<T, Dev>& y) const {
    const std::size_t sets = w.dim(0), k = w.dim(1) / 2;
    return head_linear(x, reshape(slice_columns(w, 0, k), {sets, 1, k}), {}, groups) +
           head_linear(y, reshape(slice_columns(w, k, 2 * k), {sets, 1, k}), {}, groups);
  }
  /// x (N, H k) times one factor per head, (N, H).
  Var<T, Dev> per_head(const Var<T, Dev>& factor, const Var<T, Dev>& x) const {
    const std::size_t rows = x.dim(0) * groups;
    return reshape(reshape(factor, {rows, 1}) * reshape(x, {rows, x.dim(1) / groups}), x.shape());
  }
};

}  // namespace lexformer
