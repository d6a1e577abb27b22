// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/core/names.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

/// The supported values of HuggingFace's `hidden_act`, and the activations of a Dense module.
enum class Activation { gelu, gelu_tanh, relu, tanh, silu, quick_gelu, identity };

template <>
inline constexpr Named<Activation> names_of<Activation>[] = {{"gelu", Activation::gelu},
                                                             {"gelu_python", Activation::gelu},
                                                             {"gelu_new", Activation::gelu_tanh},
                                                             {"gelu_fast", Activation::gelu_tanh},
                                                             {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                             {"relu", Activation::relu},
                                                             {"tanh", Activation::tanh},
                                                             {"silu", Activation::silu},
                                                             {"swish", Activation::silu},
                                                             {"quick_gelu", Activation::quick_gelu},
                                                             {"identity", Activation::identity},
                                                             {"linear", Activation::identity}};

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
    case Activation::silu:
      return multiply(x, sigmoid(x));
    case Activation::quick_gelu:  // an approximation of gelu
      return multiply(x, sigmoid(scale(x, static_cast<accumulate_t<T>>(1.702))));
    case Activation::identity:
      return x;
  }
  fail("activation", "the value is not an enumerator of Activation");
}

}  // namespace lexformer
