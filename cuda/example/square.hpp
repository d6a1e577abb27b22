// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/core/device.hpp"

/// A user-defined function y = x^2: written as for the CPU, plus LEXFORMER_HD to also compile it for the GPU.
struct Square {
  template <class T>
  LEXFORMER_HD T operator()(T x) const {
    return x * x;
  }
};
