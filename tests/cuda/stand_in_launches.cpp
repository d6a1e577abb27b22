// SPDX-License-Identifier: MIT
// How much work a training step puts on the stream: what a GPU waits for when batches are small.
#include "cublasLt.h"
#include "lexformer/train/optimizer.hpp"
#include "models/tiny.hpp"
#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// Kernels, products and memory operations of the second step of a cross-encoder of six layers in bfloat16, with heads of 32.
std::size_t work_of_a_step(const CrossEncoderOptions& options) {
  const Json edit{{"num_hidden_layers", 6u}, {"hidden_size", 64u}, {"num_attention_heads", 2u}, {"intermediate_size", 256u}};
  CrossEncoder<bfloat16, Cuda> model(tiny_file(edit), options);
  const auto batch = tiny_batch(tiny_model<double>(options, edit));
  model.calibrate(batch, {.training = true, .seed = 1});
  AdamW<bfloat16, Cuda> optimizer(model.parameters(), {.lr = 0.01});
  std::size_t before = 0, after = 0;
  for (std::uint32_t step = 0; step < 2; ++step) {
    before = after;
    const auto loss = loss_of(model, batch, {.training = true, .seed = 1, .step = step});
    loss.backward();
    static_cast<void>(optimizer.clip_and_step(0.5, loss.value()));
    after = cuda_host::launches() + cuda_host::gemm_products() + cuda_host::lt_products() + cuda_host::fills() + cuda_host::uploads();
  }
  return after - before;
}

}  // namespace

TEST_CASE("stand-in: the launches of a training step with six layers") {
  // A layer: 4 products and 4 kernels forward, 8 and 6 backward.
  CHECK(work_of_a_step({.seed = 1}) <= 190);
  CHECK(work_of_a_step({.attention = {TermConfig("lea")}, .seed = 1}) <= 210);
}
