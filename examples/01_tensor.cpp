// SPDX-License-Identifier: MIT
// Tensors: data with a shape, row-major, no gradient.   Try: build/release/bin/01_tensor
#include <iostream>
#include <lexformer/lexformer.hpp>

namespace lx = lexformer;

int main() {
  const auto x = lx::Tensor<>::from({1, 2, 3, 4, 5, 6}, {2, 3});  // (2, 3), float, on the CPU
  std::cout << "x = " << x << "\n";
  std::cout << "element (1, 2) = " << x.at(1, 2) << ", second row = " << x.slice(1, 2) << "\n";

  auto y = x.reshape({3, 2});  // shares the memory
  y.mutable_data()[0] = 10;    // also changes x
  std::cout << "x after a change through y: " << x << "\n";
  std::cout << "a clone has its own memory: " << x.clone() << "\n";

  lx::save_npy("01_tensor.npy", x);  // numpy reads it
  std::cout << "read back: " << lx::load_npy<float>("01_tensor.npy") << "\n";

  try {
    x.reshape({4, 2});
  } catch (const lx::Error& error) {
    std::cout << "an error names place and problem: " << error.what() << "\n";
  }
}
