// SPDX-License-Identifier: MIT
// The tests of the kernels on a GPU; without a GPU they are skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "lexformer/kernels/cuda.hpp"

int main(int argc, char** argv) {
  if (!lexformer::cuda::available()) {
    std::puts("no device found: nothing was tried");
    return 0;
  }
  return doctest::Context(argc, argv).run();
}
