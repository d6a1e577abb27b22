// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "lexformer/nn/init.hpp"
#include "lexformer/ops/linear_packed.hpp"
#include "lexformer/ops/matmul.hpp"

namespace lexformer {

/// A linear layer: y = x W^T + b, x (N, in) -> y (N, out); weight (out, in) as HuggingFace stores it, bias (out).
template <class T = float, class Dev = Cpu>
struct Linear {
  Var<T, Dev> weight, bias;
  std::shared_ptr<const Int8Weights> int8{};  // if set, instead of `weight`, which is undefined then (Pretrained::quantize)

  Linear(std::size_t in, std::size_t out, Init& init) : weight(init.normal<T, Dev>({out, in})), bias(init.constant<T, Dev>({out}, T{0})) {}
  Var<T, Dev> operator()(const Var<T, Dev>& x) const { return int8 ? linear_int8(x, *int8) : linear(x, weight, bias); }
  void visit(ParameterVisitor<T, Dev>& v) {
    if (weight.defined()) v("weight", weight);
    v("bias", bias);
  }
};

}  // namespace lexformer
