// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/core/random.hpp"
#include "lexformer/nn/module.hpp"

namespace lexformer {

/// Creates initial parameters. Each tensor has its own random stream, given by its index, so adding a layer at the end does not
/// change the tensors before it.
class Init {
 public:
  explicit Init(std::uint64_t seed = 0, double deviation = 0.02) : seed_(seed), deviation_(deviation) {}

  /// For models that are loaded from a file: allocates the normal() tensors without drawing values.
  static Init none() {
    Init init;
    init.blank_ = true;
    return init;
  }

  /// Draws from N(0, deviation^2); deviation is BERT's initializer_range.
  template <class T, class Dev>
  Var<T, Dev> normal(Shape shape) {
    if (blank_) return Var<T, Dev>(Tensor<T, Dev>(shape), true);
    RandomStream random(seed_, random_site::init + number_++);
    std::vector<T> values(shape.size());
    for (T& x : values) x = static_cast<T>(deviation_ * random.normal());
    return Var<T, Dev>(Tensor<T, Dev>::from(values, shape), true);
  }
  /// Draws from the uniform distribution on [-bound, bound). Init::none() also draws these.
  template <class T, class Dev>
  Var<T, Dev> uniform(Shape shape, double bound) {
    RandomStream random(seed_, random_site::init + number_++);
    std::vector<T> values(shape.size());
    for (T& x : values) x = static_cast<T>(bound * (2 * random.uniform() - 1));
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
