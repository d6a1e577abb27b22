// SPDX-License-Identifier: MIT
// The tests on the stand-in for CUDA's runtime. They see each block of device memory, with its bounds and as nobody has written it; a run
// with LEXFORMER_CUDA_CACHE=on is another test.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("LEXFORMER_CUDA_CACHE", "off", 0);
  return doctest::Context(argc, argv).run();
}
