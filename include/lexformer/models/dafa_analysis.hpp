// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "lexformer/attention/dafa.hpp"
#include "lexformer/models/bert.hpp"

namespace lexformer {

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
DafaView<T, Dev> view_dafa(const BertEncoder<T, Dev>& encoder, const DeviceBatch<T, Dev>& batch, std::size_t layer) {
  const auto* dafa =
      layer < encoder.layers.size() ? dynamic_cast<const Dafa<T, Dev>*>(encoder.layers[layer].attention.core.get()) : nullptr;
  if (dafa == nullptr) fail("view_dafa", "layer ", layer, " has no DAFA");
  const NoGrad no_grad;
  const auto x = encoder(batch, {}, {.layers = layer}).last;
  auto shared = encoder.shared_scores(batch);  // a variable of its own, as in BertEncoder::run
  const LayerInputs<T, Dev> inputs{.batch = batch, .shared = std::move(shared)};
  const auto [qkv, scores] = encoder.layers[layer].attention.prepare(x, inputs);
  const AttentionInputs<T, Dev> in{qkv, batch, encoder.config.num_attention_heads, {}};
  const auto [semantic, dependency] = dafa->both(in, scores, {.attentions = Attentions::probabilities}, Attentions::probabilities);
  const auto fused = dafa->fusion(semantic.context, dependency.context, batch.offsets);
  return {semantic.attentions.value(), dependency.attentions.value(), fused.filter.defined() ? fused.filter.value() : Tensor<T, Dev>()};
}

}  // namespace lexformer
