// SPDX-License-Identifier: MIT
// The attention probabilities of a cross-encoder for one example.
#pragma once

#include <optional>
#include <span>

#include "cli/program.hpp"

namespace program {

/// The mean (n, n), row-major, over layers and heads: all, or only the given layer, only the given head; both are numbered from 0.
template <class T, class Dev>
std::vector<double> mean_attention(const lx::CrossEncoder<T, Dev>& model, const lx::Encoding& encoding,
                                   std::optional<std::size_t> layer = {}, std::optional<std::size_t> head = {}) {
  const lx::NoGrad no_grad;
  const auto layers = model(model.batch(std::span(&encoding, 1)), {}, {.attentions = lx::Attentions::probabilities}).encoder.attentions;
  std::vector<double> mean(encoding.size() * encoding.size());
  for (std::size_t l = layer.value_or(0); l < (layer ? *layer + 1 : layers.size()); ++l) {
    const auto heads = lx::cast<float>(layers[l]).value().template to<lx::Cpu>();  // (heads, n n)
    const double share = 1.0 / static_cast<double>((layer ? 1 : layers.size()) * (head ? 1 : heads.dim(0)));
    for (std::size_t h = head.value_or(0); h < (head ? *head + 1 : heads.dim(0)); ++h)
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * static_cast<double>(heads.data()[h * mean.size() + i]);
  }
  return mean;
}

}  // namespace program
