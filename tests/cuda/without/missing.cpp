// SPDX-License-Identifier: MIT
// A build without CUDA: a program that can use a GPU links, and fails with a clear message when it tries.
#include <doctest/doctest.h>

#include "../../support/error_message.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/cuda.hpp"

using namespace lexformer;

TEST_CASE("without CUDA the device is missing, in one sentence") {
  CHECK_FALSE(cuda::available());
  const std::string message = "cuda: this build of lexformer has no CUDA; configure it with -DLEXFORMER_CUDA=ON, or use the CPU";
  CHECK(test::error_message([] { Tensor<float, Cuda>::zeros({3}); }) == message);
  CHECK(test::error_message([] { Kernels<Cuda>::softmax<double, double>(1, 1, false, nullptr, nullptr); }) == message);
  CHECK(test::error_message([] { cuda::synchronize(); }) == message);
  CHECK(Memory<Cuda>::in_use() == 0);
  CHECK(cuda::attention_path() == cuda::AttentionPath::fused);
}
