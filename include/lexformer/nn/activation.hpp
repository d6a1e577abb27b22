// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/core/names.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

/// The supported values of HuggingFace's `hidden_act`.
enum class Activation { gelu, gelu_tanh, relu, tanh };

template <>
inline constexpr Named<Activation> names_of<Activation>[] = {{"gelu", Activation::gelu},
                                                             {"gelu_new", Activation::gelu_tanh},
                                                             {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                             {"relu", Activation::relu},
                                                             {"tanh", Activation::tanh}};

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
  fail("activation", "the value is not an enumerator of Activation");
}

}  // namespace lexformer
