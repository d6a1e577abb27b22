// SPDX-License-Identifier: MIT
// The kernel of one's own function: all that nvcc has to see.
#include "square.hpp"

#include "../elementwise.cuh"

template void lexformer::ElementwiseKernels<lexformer::Cuda>::map<Square, float>(std::size_t, const float*, float*);
