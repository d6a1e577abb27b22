// SPDX-License-Identifier: MIT
// A user-defined function on the GPU. Any C++ compiler can compile this file; it links lexformer::cuda and the object of square.cu.
#include <iostream>
#include <vector>

#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/cuda.hpp"
#include "square.hpp"

int main() try {
  namespace lx = lexformer;
  const auto x = lx::Tensor<float, lx::Cuda>::from({1, 2, 3, 4});
  lx::Tensor<float, lx::Cuda> y(x.shape());
  lx::Kernels<lx::Cuda>::map<Square>(x.size(), x.data(), y.mutable_data());
  for (const float value : y.to_vector()) std::cout << value << ' ';  // 1 4 9 16
  std::cout << '\n';
} catch (const lexformer::Error& error) {
  std::cerr << error.what() << '\n';
  return error.exit_code();
}
