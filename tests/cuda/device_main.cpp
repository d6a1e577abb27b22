// SPDX-License-Identifier: MIT
// The tests of the kernels on a GPU; without a GPU they are skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>

#include "lexformer/kernels/cuda.hpp"

namespace cuda_host {
void set_order(std::uint64_t seed);
void set_order(std::uint64_t) {}
}  // namespace cuda_host

int main(int argc, char** argv) {
  if (!lexformer::cuda::available()) {
    std::puts("no device found: nothing was tried");
    return 0;
  }
  return doctest::Context(argc, argv).run();
}
