// SPDX-License-Identifier: MIT
// Analyses of an encoder over texts: similarity of hidden states and heads, and the direction in which heads look.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/dafa.hpp"
#include "lexformer/models/pretrained.hpp"
#include "lexformer/models/transformer.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/ops/similarity_loss.hpp"

namespace lexformer {

/// The up-down triangle of one sequence (arXiv 2210.04246, Algorithm 1): some heads attend to the right of a token, others to its left.
///   A head's map is the mean over the layers. Its score is the mass above the diagonal (keys to the right) minus the mass below it.
///   Group 1 is the half of the heads with the higher scores, group 2 the rest. up = mass of group 1's mean map above the diagonal / n,
///   down = mass of group 2's mean map below it / n.   The effect is present if both are at least `least` (0.7 in the paper).
/// Differs from the printed algorithm: its loop skips its own counter, and it divides by 64 for any sentence length. It leaves the
/// diagonal and the layers open; here the diagonal is excluded and the layers are averaged.
struct UpDown {
  double up = 0, down = 0;
  std::vector<double> scores;         // per head
  std::vector<std::size_t> group;     // 1 or 2, per head
  std::vector<double> all, one, two;  // n x n mean maps of all heads and of the groups

  bool shows(double least = 0.7) const { return up >= least && down >= least; }
};

/// Computes the triangle of sequence s from the probabilities of every layer, each (H, P).
/// Errors: no probabilities are given; there are fewer than 2 heads.
template <class T, class Dev>
UpDown up_down(const std::vector<Var<T, Dev>>& probabilities, const Offsets& offsets, std::size_t s) {
  if (probabilities.empty()) fail("up_down", "there are no attentions; encode with attentions = Attentions::probabilities");
  const std::size_t heads = probabilities[0].dim(0), n = offsets.length(s), cells = n * n;
  if (heads < 2) fail("up_down", "two groups need 2 heads or more");
  std::vector<std::vector<double>> map(heads, std::vector<double>(cells, 0.0));
  for (const auto& layer : probabilities) {
    const auto attentions = layer.value().template to<Cpu>();
    for (std::size_t h = 0; h < heads; ++h) {
      const T* p = attentions.data() + h * offsets.pairs() + offsets.pair_begin(s);
      for (std::size_t e = 0; e < cells; ++e) map[h][e] += static_cast<double>(p[e]) / static_cast<double>(probabilities.size());
    }
  }
  const auto mass = [n](const std::vector<double>& m, bool above) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = above ? i + 1 : 0; j < (above ? n : i); ++j) sum += m[i * n + j];
    return sum;
  };
  UpDown out;
  for (const auto& m : map) out.scores.push_back(mass(m, true) - mass(m, false));
  std::vector<std::size_t> order(heads);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return out.scores[a] > out.scores[b]; });
  out.group.assign(heads, 2);
  const std::size_t upper = heads / 2;
  for (std::size_t k = 0; k < upper; ++k) out.group[order[k]] = 1;
  out.all.assign(cells, 0);
  out.one.assign(cells, 0);
  out.two.assign(cells, 0);
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t e = 0; e < cells; ++e) {
      out.all[e] += map[h][e] / static_cast<double>(heads);
      (out.group[h] == 1 ? out.one : out.two)[e] += map[h][e] / static_cast<double>(out.group[h] == 1 ? upper : heads - upper);
    }
  out.up = mass(out.one, true) / static_cast<double>(n);
  out.down = mass(out.two, false) / static_cast<double>(n);
  return out;
}

/// Statistics of an encoder over texts. Each is the mean over the texts.
struct EncoderFigures {
  double token_similarity = 0;                // f(S) of the last layer, over the texts of at least two tokens
  std::vector<double> head_similarity;        // f(H) of the scores, per layer
  std::vector<double> head_similarity_after;  // f(H) of the probabilities, per layer
  double up_down = 0;                         // share of the texts in which the effect is present
  std::size_t texts = 0, tokens = 0;

  double mean_head_similarity() const {
    return std::accumulate(head_similarity.begin(), head_similarity.end(), 0.0) / static_cast<double>(head_similarity.size());
  }
};

template <class T, class Dev>
EncoderFigures encoder_figures(const Pretrained<T, Dev>& model, std::span<const Encoding> texts, double least = 0.7) {
  const NoGrad no_grad;
  const auto& encoder = model.encoder();
  const std::size_t layers = encoder.layers.size();
  EncoderFigures out;
  out.head_similarity.assign(layers, 0);
  out.head_similarity_after.assign(layers, 0);
  std::size_t several = 0;
  for (const Encoding& text : texts) {  // one by one, because a batch needs memory for the maps of every layer
    const auto batch = model.batch(std::span(&text, 1));
    const auto y = encoder(batch, {}, {.attentions = Attentions::scores});
    std::vector<Var<T, Dev>> probabilities;
    for (const auto& scores : y.attentions)
      probabilities.push_back(reshape(softmax(reshape(scores, {scores.size() / text.size(), text.size()})), scores.shape()));
    if (text.size() > 1) {
      out.token_similarity += static_cast<double>(token_similarity(y.last, batch.offsets).item());
      ++several;
    }
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const auto& compared = encoder.config.hides_pairs() ? probabilities[layer] : y.attentions[layer];
      out.head_similarity[layer] += static_cast<double>(head_similarity(compared, batch.offsets).item());
      out.head_similarity_after[layer] += static_cast<double>(head_similarity(probabilities[layer], batch.offsets).item());
    }
    if (encoder.config.num_attention_heads > 1) out.up_down += up_down(probabilities, batch.offsets, 0).shows(least) ? 1 : 0;
    ++out.texts;
    out.tokens += text.size();
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, out.texts));
  out.token_similarity /= static_cast<double>(std::max<std::size_t>(1, several));
  for (double& x : out.head_similarity) x /= count;
  for (double& x : out.head_similarity_after) x /= count;
  out.up_down /= count;
  return out;
}

/// The attention probabilities of one sequence, the mean over layers and heads: all, or only the given layer, only the given head, both
/// numbered from 0. (n, n), row-major. Model: CrossEncoder.
template <class Model>
std::vector<double> mean_attention(const Model& model, const Encoding& encoding, std::optional<std::size_t> layer = {},
                                   std::optional<std::size_t> head = {}) {
  const NoGrad no_grad;
  const auto layers = model(model.batch(std::span(&encoding, 1)), {}, {.attentions = Attentions::probabilities}).encoder.attentions;
  std::vector<double> mean(encoding.size() * encoding.size());
  for (std::size_t l = layer.value_or(0); l < (layer ? *layer + 1 : layers.size()); ++l) {
    const auto heads = cast<float>(layers[l]).value().template to<Cpu>();  // (heads, n n)
    const double share = 1.0 / static_cast<double>((layer ? 1 : layers.size()) * (head ? 1 : heads.dim(0)));
    for (std::size_t h = head.value_or(0); h < (head ? *head + 1 : heads.dim(0)); ++h)
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * static_cast<double>(heads.data()[h * mean.size() + i]);
  }
  return mean;
}

/// The two attentions of a layer with DAFA and its filter gate.
template <class T = float, class Dev = Cpu>
struct DafaView {
  Tensor<T, Dev> semantic, dependency;  // attention probabilities of Sem and Dep, (H, P)
  Tensor<T, Dev> filter;                // f of eq. 9, (N, heads that are fused); undefined without filter

  /// The mean of f over the heads and the tokens of each sequence.
  std::vector<double> filter_means(const Offsets& offsets) const {
    const auto values = filter.template to<Cpu>();
    std::vector<double> means;
    for (std::size_t s = 0; s < offsets.sequences(); ++s) {
      double sum = 0;
      const std::size_t columns = values.dim(1), first = offsets.begin(s) * columns, count = offsets.length(s) * columns;
      for (std::size_t e = first; e < first + count; ++e) sum += static_cast<double>(values.data()[e]);
      means.push_back(sum / static_cast<double>(count));
    }
    return means;
  }
};

/// Computes the attentions and the filter gate of one layer. Errors: the layer has no DAFA.
template <class T, class Dev>
DafaView<T, Dev> view_dafa(const Transformer<T, Dev>& encoder, const DeviceBatch<T, Dev>& batch, std::size_t layer) {
  const auto* dafa =
      layer < encoder.layers.size() ? dynamic_cast<const Dafa<T, Dev>*>(encoder.layers[layer].attention.core.get()) : nullptr;
  if (dafa == nullptr) fail("view_dafa", "layer ", layer, " has no DAFA");
  const NoGrad no_grad;
  const auto x = encoder(batch, {}, {.layers = layer}).last;
  auto shared = encoder.shared_scores(batch);  // a variable of its own, as in Transformer::run
  const LayerInputs<T, Dev> inputs{.batch = batch, .shared = std::move(shared)};
  const auto [qkv, scores] = encoder.layers[layer].attention.prepare(x, inputs);
  const AttentionInputs<T, Dev> in{qkv, batch, encoder.config.num_attention_heads, {}};
  const auto [semantic, dependency] = dafa->both(in, scores, {.attentions = Attentions::probabilities}, Attentions::probabilities);
  const auto fused = dafa->fusion(semantic.context, dependency.context, batch.offsets);
  return {semantic.attentions.value(), dependency.attentions.value(), fused.filter.defined() ? fused.filter.value() : Tensor<T, Dev>()};
}

}  // namespace lexformer
