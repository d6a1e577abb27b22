// SPDX-License-Identifier: MIT
// Shared by LOVE's encoders.
#pragma once

#include <cstddef>

#include "lexformer/nn/linear.hpp"
#include "lexformer/ops/dropout.hpp"
#include "lexformer/ops/rows.hpp"

namespace lexformer {

/// LOVE's residual connection: Y = X + dropout(weight (C - mean) / (deviation + 1e-6) + bias) for the output C of a layer, (N, D). The
/// deviation divides by D - 1, as in the released code (ops/rows.hpp: standardize).
template <class T = float, class Dev = Cpu>
struct LoveNorm {
  Var<T, Dev> weight, bias;

  LoveNorm(std::size_t size, Init& init) : weight(init.constant<T, Dev>({size}, T{1})), bias(init.constant<T, Dev>({size}, T{0})) {}
  Var<T, Dev> operator()(const Var<T, Dev>& x, const Var<T, Dev>& c, const DropoutMask& mask) const {
    return add(x, dropout(add(multiply(standardize(c, accumulate_t<T>(1e-6)), weight), bias), mask));
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("weight", weight);
    v("bias", bias);
  }
};

}  // namespace lexformer
