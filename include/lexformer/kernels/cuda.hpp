// SPDX-License-Identifier: MIT
// The kernels of the GPU (kernels/interface.hpp), without CUDA headers. The definitions are in cuda/, compiled for float, double and
// bfloat16; programs link lexformer::cuda. To use map() with your own function, include cuda/elementwise.cuh, instantiate map and compile
// with nvcc.
#pragma once

#include "lexformer/core/device_cuda.hpp"
#include "lexformer/kernels/interface.hpp"
#include "lexformer/kernels/scalar.hpp"
