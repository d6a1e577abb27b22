// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/nn/init.hpp"
#include "lexformer/ops/rows.hpp"

namespace lexformer {

/// LayerNorm over the last axis of width D (Ba et al. 2016): weight gamma (D), bias beta (D). BERT's epsilon is 1e-12.
template <class T = float, class Dev = Cpu>
struct LayerNorm {
  Var<T, Dev> weight, bias;
  double eps;

  LayerNorm(std::size_t width, double epsilon, Init& init)
      : weight(init.constant<T, Dev>({width}, T{1})), bias(init.constant<T, Dev>({width}, T{0})), eps(epsilon) {}
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
    v("bias", bias);
  }
};

}  // namespace lexformer
