// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

/// The activations of HuggingFace's `hidden_act`, by its names.
enum class Activation { gelu, gelu_tanh, relu, tanh };

inline Activation parse_activation(const std::string& name) {
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (name == "relu") return Activation::relu;
  if (name == "tanh") return Activation::tanh;
  fail_usage("activation", "'", name, "' is not known; use gelu, gelu_new, gelu_pytorch_tanh, relu or tanh");
}

template <class T, class Dev>
Var<T, Dev> activate(Activation activation, const Var<T, Dev>& x) {
  switch (activation) {
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    case Activation::relu:
      return relu(x);
    case Activation::tanh:
      return tanh(x);
  }
  fail("activation", "unknown value");
}

}  // namespace lexformer
