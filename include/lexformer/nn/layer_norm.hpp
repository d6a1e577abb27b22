// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/nn/init.hpp"
#include "lexformer/ops/rows.hpp"

namespace lexformer {

/// LayerNorm over the last axis of width D (Ba et al. 2016): weight gamma (D), bias beta (D). BERT's epsilon is 1e-12. Without a bias, beta
/// is zero and not a parameter.
template <class T = float, class Dev = Cpu>
struct LayerNorm {
  Var<T, Dev> weight, bias;
  double eps;

  bool has_bias = true;

  LayerNorm(std::size_t width, double epsilon, Init& init, bool with_bias = true)
      : weight(init.constant<T, Dev>({width}, T{1})), bias(init.constant<T, Dev>({width}, T{0})), eps(epsilon), has_bias(with_bias) {
    if (!has_bias) bias.set_requires_grad(false);
  }
  /// dropout(LayerNorm(x)) in one pass.
  Var<T, Dev> operator()(const Var<T, Dev>& x, const DropoutMask& dropout = {}) const {
    return layer_norm(x, weight, bias, static_cast<accumulate_t<T>>(eps), dropout);
  }
  /// LayerNorm(residual + dropout(x)) in one pass.
  Var<T, Dev> operator()(const Var<T, Dev>& x, const Var<T, Dev>& residual, const DropoutMask& dropout) const {
    return residual_layer_norm(x, residual, weight, bias, static_cast<accumulate_t<T>>(eps), dropout);
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("weight", weight);
    if (has_bias) v("bias", bias);
  }
};

}  // namespace lexformer
