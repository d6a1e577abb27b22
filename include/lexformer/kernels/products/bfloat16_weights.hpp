// SPDX-License-Identifier: MIT
// Weights of bfloat16 in the order in which the products of linear_bfloat16.hpp read them.
#pragma once

#include <cstddef>
#include <vector>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/products/weight_panels.hpp"

namespace lexformer {

/// Weights in bfloat16, with the bias of each output in float.
class Bfloat16Weights : public WeightPanels<bfloat16> {
 public:
  /// The outputs of all layers are concatenated. A bias has one number per output, or is undefined, which counts as zeros.
  Bfloat16Weights(const std::vector<Tensor<bfloat16>>& layers, const std::vector<Tensor<bfloat16>>& biases);

  const float* biases() const { return biases_.data(); }  // filled up to whole panels

 private:
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
  const std::size_t inputs = layers[0].dim(1);
  std::vector<const bfloat16*> row;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& l = layers[i];
    if (l.rank() != 2 || l.dim(1) != inputs || (biases[i].defined() && biases[i].size() != l.dim(0)))
      fail("Bfloat16Weights", "layer ", i, " ", l.shape(), " with bias ", biases[i].shape(), "; there are ", inputs, " inputs");
    for (std::size_t r = 0; r < l.dim(0); ++r) {
      row.push_back(l.data() + r * inputs);
      biases_.push_back(biases[i].defined() ? static_cast<float>(biases[i].data()[r]) : 0.0f);
    }
  }
  resize(row.size(), inputs);
  biases_.resize(panels() * panel);
  bfloat16* const to = packed_.mutable_data();
  parallel_for(row.size(), panel, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t p = 0; p < inputs; ++p) to[place(j, p)] = row[j][p];
  });
}

}  // namespace lexformer
#endif
