// SPDX-License-Identifier: MIT
// The tests of the kernels on nvcc's PTX, translated to C++. At the end the program says how many kernels ran.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include "ptx_host.hpp"

int main(int argc, char** argv) {
  setenv("LEXFORMER_CUDA_CACHE", "off", 0);  // each block of device memory with its bounds
  const int result = doctest::Context(argc, argv).run();
  std::printf("PTX: %zu kernels are translated, %zu of them ran\n", ptx_host::translated(), ptx_host::launched());
  return result;
}
