// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/autograd/var.hpp"

namespace lexformer {

/// y[e] = x[e] / (1 - p) where element e is kept, else 0 (Srivastava et al. 2014). Which are kept is a function of the
/// mask's key and of e alone, so backward draws the same numbers again instead of storing them.    dx = dy, masked alike
template <class T, class Dev>
Var<T, Dev> dropout(const Var<T, Dev>& x, const DropoutMask& mask) {
  if (!mask.active()) return x;
  Tensor<T, Dev> y(x.shape());
  Kernels<Dev>::dropout(y.size(), mask, x.value().data(), y.mutable_data());
  return record("dropout", y, std::vector{x}, [mask](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(dy.shape());
    Kernels<Dev>::dropout(dx.size(), mask, dy.data(), dx.mutable_data());
    return {dx};
  });
}

}  // namespace lexformer
