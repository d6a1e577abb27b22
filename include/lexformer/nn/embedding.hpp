// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/nn/init.hpp"
#include "lexformer/ops/index.hpp"

namespace lexformer {

/// A lookup table: y[i] = weight[ids[i]], weight (rows, D), N ids -> y (N, D).
template <class T = float, class Dev = Cpu>
struct Embedding {
  Var<T, Dev> weight;

  Embedding(std::size_t rows, std::size_t width, Init& init) : weight(init.normal<T, Dev>({rows, width})) {}
  Var<T, Dev> operator()(const Indices<std::int32_t, Dev>& ids) const { return embedding(weight, ids); }
  void visit(ParameterVisitor<T, Dev>& v) { v("weight", weight); }
};

}  // namespace lexformer
