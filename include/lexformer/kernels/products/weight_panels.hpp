// SPDX-License-Identifier: MIT
// The order in which linear layers with packed weights (panel_product.hpp) read them.
#pragma once

#include <algorithm>
#include <cstddef>

#include "lexformer/core/tensor.hpp"

namespace lexformer {

/// The weights W (outputs, inputs) of one or several linear layers on one input: panels of 32 outputs, each (inputs / group, 32, group)
/// with groups of four bytes, filled with zeros up to 32 outputs and 64 bytes of inputs.
template <class T>
class WeightPanels {
 public:
  static constexpr std::size_t panel = 32, group = 4 / sizeof(T), step = 64 / sizeof(T);

  std::size_t outputs() const { return outputs_; }
  std::size_t inputs() const { return inputs_; }
  std::size_t inputs_packed() const { return std::max<std::size_t>(1, (inputs_ + step - 1) / step) * step; }
  std::size_t panels() const { return (outputs_ + panel - 1) / panel; }
  std::size_t panel_bytes() const { return inputs_packed() * panel * sizeof(T); }
  const T* packed(std::size_t i) const { return packed_.data() + i * inputs_packed() * panel; }  // panel i

 protected:
  WeightPanels() = default;
  /// Makes the panels, filled with zeros.
  void resize(std::size_t outputs, std::size_t inputs) {
    outputs_ = outputs;
    inputs_ = inputs;
    packed_ = Tensor<T>::zeros({std::max<std::size_t>(1, panels() * panel * inputs_packed())});
  }
  /// The place of the weight of an output and an input among all packed ones.
  std::size_t place(std::size_t output, std::size_t input) const {
    return output / panel * panel * inputs_packed() + (input / group * panel + output % panel) * group + input % group;
  }
  Tensor<T> packed_;

 private:
  std::size_t outputs_ = 0, inputs_ = 0;
};

}  // namespace lexformer
