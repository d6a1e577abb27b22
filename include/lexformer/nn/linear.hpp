// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <memory>
#include <type_traits>

#include "lexformer/nn/init.hpp"
#include "lexformer/nn/packed_weights.hpp"
#include "lexformer/ops/linear_packed.hpp"
#include "lexformer/ops/matmul.hpp"

namespace lexformer {

/// A linear layer: y = x W^T + b, x (N, in) -> y (N, out); weight (out, in) as HuggingFace stores it, bias (out). A layer without a bias
/// adds zeros, which are not a parameter, so that all products are the same.
template <class T = float, class Dev = Cpu>
struct Linear {
  Var<T, Dev> weight, bias;
  std::shared_ptr<const Int8Weights> int8{};  // if set, instead of `weight`, which is undefined then (Pretrained::quantize)
  PackedWeights<T, Dev> packed{};

  bool has_bias = true;

  Linear(std::size_t in, std::size_t out, Init& init, bool with_bias = true)
      : weight(init.normal<T, Dev>({out, in})), bias(init.constant<T, Dev>({out}, T{0})), has_bias(with_bias) {
    if (!has_bias) bias.set_requires_grad(false);
  }
  /// A layer with PyTorch's initial values: weight and bias uniform in +-1 / sqrt(in).
  static Linear uniform(std::size_t in, std::size_t out, Init& init) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    Linear layer(in, out, init);
    layer.weight = init.uniform<T, Dev>({out, in}, bound);
    layer.bias = init.uniform<T, Dev>({out}, bound);
    return layer;
  }
  Var<T, Dev> operator()(const Var<T, Dev>& x) const {
    if (int8) return linear_int8(x, *int8);
    if (const auto w = packed_weights()) return linear_bfloat16(x, *w);
    return linear(x, weight, bias);
  }
  /// Null if a gradient may be needed, or packed weights do not help.
  std::shared_ptr<const Bfloat16Weights> packed_weights() const {
    if constexpr (std::is_same_v<T, bfloat16>)
      return packed.of({weight}, {bias});
    else
      return nullptr;
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    if (weight.defined()) v("weight", weight);
    if (has_bias) v("bias", bias);
  }
};

}  // namespace lexformer
