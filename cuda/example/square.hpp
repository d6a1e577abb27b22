// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/core/device.hpp"

/// y = x^2, a function of one's own: what one writes for the CPU, and LEXFORMER_HD, which lets a GPU run it as well.
struct Square {
  template <class T>
  LEXFORMER_HD T operator()(T x) const {
    return x * x;
  }
};
