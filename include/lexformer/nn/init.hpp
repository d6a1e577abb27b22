// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/core/random.hpp"
#include "lexformer/nn/module.hpp"

namespace lexformer {

/// Initial parameters. Every tensor draws from its own counter, given by its running number, so adding a layer at the end
/// does not change those before it.
class Init {
 public:
  explicit Init(std::uint64_t seed = 0, double deviation = 0.02) : seed_(seed), deviation_(deviation) {}

  /// For a model whose tensors all come from a file: reserves the memory and draws nothing.
  static Init none() {
    Init init;
    init.blank_ = true;
    return init;
  }

  /// N(0, deviation^2): BERT's initializer_range.
  template <class T, class Dev>
  Var<T, Dev> normal(Shape shape) {
    if (blank_) return Var<T, Dev>(Tensor<T, Dev>(shape), true);
    RandomStream random(seed_, random_site::init + number_++);
    std::vector<T> values(shape.size());
    for (T& x : values) x = static_cast<T>(deviation_ * random.normal());
    return Var<T, Dev>(Tensor<T, Dev>::from(values, shape), true);
  }
  template <class T, class Dev>
  Var<T, Dev> constant(Shape shape, T value) {
    return Var<T, Dev>(Tensor<T, Dev>::full(shape, value), true);
  }

 private:
  std::uint64_t seed_;
  double deviation_;
  std::uint32_t number_ = 0;
  bool blank_ = false;
};

}  // namespace lexformer
