// SPDX-License-Identifier: MIT
// Weights of bfloat16 in the order in which the products of linear_bfloat16.hpp read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer {

/// The weights W (outputs, inputs) of linear layers on one input, as panels of 32 outputs, each (inputs / 2, 32, 2), filled with zeros up
/// to 32 outputs and 32 inputs.
class Bfloat16Weights {
 public:
  static constexpr std::size_t panel = 32, group = 2, step = 32;

  /// The outputs of all layers are concatenated. A bias has one number per output, or is undefined, which counts as zeros.
  Bfloat16Weights(const std::vector<Tensor<bfloat16>>& layers, const std::vector<Tensor<bfloat16>>& biases);

  std::size_t outputs() const { return outputs_; }
  std::size_t inputs() const { return inputs_; }
  std::size_t inputs_packed() const { return std::max<std::size_t>(1, (inputs_ + step - 1) / step) * step; }
  std::size_t panels() const { return (outputs_ + panel - 1) / panel; }
  std::size_t panel_bytes() const { return inputs_packed() * panel * sizeof(bfloat16); }

  const bfloat16* packed(std::size_t i) const { return packed_.data() + i * inputs_packed() * panel; }  // panel i
  const float* biases() const { return biases_.data(); }                                                // filled up to whole panels

 private:
  std::size_t outputs_ = 0, inputs_ = 0;
  Tensor<bfloat16> packed_;
  std::vector<float> biases_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/core/error.hpp"
#include "lexformer/core/parallel.hpp"

namespace lexformer {

LEXFORMER_INLINE Bfloat16Weights::Bfloat16Weights(const std::vector<Tensor<bfloat16>>& layers,
                                                  const std::vector<Tensor<bfloat16>>& biases) {
  if (layers.empty() || layers.size() != biases.size()) fail("Bfloat16Weights", layers.size(), " layers and ", biases.size(), " biases");
  inputs_ = layers[0].dim(1);
  std::vector<const bfloat16*> row;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& l = layers[i];
    if (l.rank() != 2 || l.dim(1) != inputs_ || (biases[i].defined() && biases[i].size() != l.dim(0)))
      fail("Bfloat16Weights", "layer ", i, " ", l.shape(), " with bias ", biases[i].shape(), "; there are ", inputs_, " inputs");
    for (std::size_t r = 0; r < l.dim(0); ++r) {
      row.push_back(l.data() + r * inputs_);
      biases_.push_back(biases[i].defined() ? static_cast<float>(biases[i].data()[r]) : 0.0f);
    }
  }
  outputs_ = row.size();
  biases_.resize(panels() * panel);
  packed_ = Tensor<bfloat16>::zeros({std::max<std::size_t>(1, panels() * panel * inputs_packed())});
  bfloat16* const all = packed_.mutable_data();
  parallel_for(panels(), 1, [&](std::size_t j, std::size_t) {
    bfloat16* const to = all + j * inputs_packed() * panel;
    for (std::size_t c = 0; c < std::min(panel, outputs_ - j * panel); ++c)
      for (std::size_t p = 0; p < inputs_; ++p) to[(p / group * panel + c) * group + p % group] = row[j * panel + c][p];
  });
}

}  // namespace lexformer
#endif
