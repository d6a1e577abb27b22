// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/autograd/var.hpp"

namespace lexformer {

/// Dropout (Srivastava et al. 2014): y[e] = x[e] / (1 - p) where element e is kept, else 0.    dx = dy with the same mask
/// The mask depends only on its key and on e, so backward draws it again instead of storing it.
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

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_DROPOUT(word, T) word template Var<T, Cpu> dropout<T, Cpu>(const Var<T, Cpu>&, const DropoutMask&);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_DROPOUT(extern, float)
LEXFORMER_DROPOUT(extern, double)
#endif

}  // namespace lexformer
