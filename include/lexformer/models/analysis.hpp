// SPDX-License-Identifier: MIT
// What an encoder's hidden states and heads look like over texts: similarities, and which way heads look.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "lexformer/data/make_batch.hpp"
#include "lexformer/models/bert.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/ops/similarity_loss.hpp"

namespace lexformer {

/// The up-down triangle of one sequence (arXiv 2210.04246, Algorithm 1): some heads look to the right of a token, others to its left.
///   The maps of a head are averaged over the layers; a head's score is its mass above the diagonal (keys to the right) less that below.
///   Group 1 is the upper half of the heads by that score, group 2 the others; up = mass of group 1's mean map above the diagonal / n,
///   down = mass of group 2's below it / n.   The effect shows where both are at least `least` (the paper: 0.7).
/// Repaired: the printed loop skips its own counter, and divides by 64 whatever the sentence's length; diagonal and layers, which it
/// leaves open, are left out and averaged.
struct UpDown {
  double up = 0, down = 0;
  std::vector<double> scores;         // of each head
  std::vector<std::size_t> group;     // 1 or 2, of each head
  std::vector<double> all, one, two;  // n x n mean maps of all heads and of the groups

  bool shows(double least = 0.7) const { return up >= least && down >= least; }
};

/// From the probabilities of every layer, each (H, P), of sequence s.
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

/// Figures of an encoder over texts, each the mean over them.
struct EncoderFigures {
  double token_similarity = 0;                // f(S) of the last layer, over the texts of two tokens or more
  std::vector<double> head_similarity;        // f(H) of each layer's scores
  std::vector<double> head_similarity_after;  // of each layer's probabilities
  double up_down = 0;                         // share of the texts in which the effect shows
  std::size_t texts = 0, tokens = 0;

  double mean_head_similarity() const {
    return std::accumulate(head_similarity.begin(), head_similarity.end(), 0.0) / static_cast<double>(head_similarity.size());
  }
};

template <class T, class Dev>
EncoderFigures encoder_figures(const BertEncoder<T, Dev>& encoder, std::span<const Encoding> texts, double least = 0.7) {
  const NoGrad no_grad;
  const std::size_t layers = encoder.layers.size();
  EncoderFigures out;
  out.head_similarity.assign(layers, 0);
  out.head_similarity_after.assign(layers, 0);
  std::size_t several = 0;
  for (const Encoding& text : texts) {  // one by one: the maps of a batch would take its size in memory for every layer
    const auto batch = make_batch(std::span(&text, 1));
    const auto y = encoder(batch, {}, {.attentions = Attentions::scores});
    std::vector<Var<T, Dev>> probabilities;
    for (const auto& scores : y.attentions)
      probabilities.push_back(reshape(softmax(reshape(scores, {scores.size() / text.size(), text.size()})), scores.shape()));
    if (text.size() > 1) {
      out.token_similarity += static_cast<double>(token_similarity(y.last, batch.offsets).item());
      ++several;
    }
    for (std::size_t layer = 0; layer < layers; ++layer) {
      out.head_similarity[layer] += static_cast<double>(head_similarity(y.attentions[layer], batch.offsets).item());
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

}  // namespace lexformer
