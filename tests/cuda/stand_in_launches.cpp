// SPDX-License-Identifier: MIT
// How much work a training step puts on the stream: what a GPU waits for when batches are small.
#include <cstdlib>
#include <string_view>

#include "../support/batches.hpp"
#include "cublasLt.h"
#include "cuda_runtime.h"
#include "lexformer/train/optimizer.hpp"
#include "models/tiny.hpp"
#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

bool cached() {
  const char* const value = std::getenv("LEXFORMER_CUDA_CACHE");
  return value != nullptr && std::string_view(value) == "on";
}

/// Kernels and products, fills, uploads, and allocations of the fourth step of a cross-encoder of six layers in bfloat16, with heads of 32.
struct Work {
  std::size_t launches = 0, fills = 0, uploads = 0, allocations = 0;
};
Work work_of_a_step(const CrossEncoderOptions& options) {
  const Json edit{{"num_hidden_layers", 6u}, {"hidden_size", 64u}, {"num_attention_heads", 2u}, {"intermediate_size", 256u}};
  CrossEncoder<bfloat16, Cuda> model(tiny_file(edit), options);
  const auto original = tiny_batch(tiny_model<double>(options, edit));
  model.calibrate(original, {.training = true, .seed = 1});
  AdamW<bfloat16, Cuda> optimizer(model.parameters(), {.lr = 0.01});
  Work before, after;
  for (std::uint32_t step = 0; step < 4; ++step) {
    before = after;
    auto batch = original;
    std::vector<std::size_t> lengths;
    for (std::size_t s = 0; s < batch.size(); ++s) lengths.push_back(original.offsets.length(s));
    batch.offsets = Offsets::from_lengths(lengths);  // no list is in device memory yet, as in training
    const auto loss = loss_of(model, batch, {.training = true, .seed = 1, .step = step});
    loss.backward();
    static_cast<void>(optimizer.clip_and_step(0.5, loss.value()));
    after = {cuda_host::launches() + cuda_host::gemm_products() + cuda_host::lt_products(), cuda_host::fills(), cuda_host::uploads(),
             cuda_host::allocations()};
  }
  return {after.launches - before.launches, after.fills - before.fills, after.uploads - before.uploads,
          after.allocations - before.allocations};
}

}  // namespace

TEST_CASE("stand-in: the launches of a training step with six layers") {
  // A layer: 4 products and 4 kernels forward, 8 and 4 backward: 20. All else: 23.
  for (const bool lea : {false, true}) {
    CrossEncoderOptions options{.seed = 1};
    if (lea) options.attention = {TermConfig("lea")};
    const Work work = work_of_a_step(options);
    CHECK(work.launches <= (lea ? 152 : 143));
    CHECK(work.fills == 0);
    CHECK(work.uploads <= 5);
    if (cached())
      CHECK(work.allocations == 0);
    else
      CHECK(work.allocations > 300);
  }
}

TEST_CASE("stand-in: steps with other numbers of tokens allocate nothing once memory fits the largest") {
  if (!cached()) return;
  const Json edit{{"num_hidden_layers", 2u},
                  {"hidden_size", 64u},
                  {"num_attention_heads", 2u},
                  {"intermediate_size", 256u},
                  {"max_position_embeddings", 128u}};
  CrossEncoder<bfloat16, Cuda> model(tiny_file(edit), {.seed = 1});
  AdamW<bfloat16, Cuda> optimizer(model.parameters(), {.lr = 0.01});
  Memory<Cuda>::trim();
  cuda_host::skip_work(true);
  std::size_t warm = 0;
  for (std::uint32_t step = 0; step < 120; ++step) {
    if (step == 60) warm = cuda_host::allocations();
    // 32 sequences with 640 to 3,200 tokens; the first batch is the largest, the second the smallest.
    RandomStream random(1, random_site::user, step);
    const std::size_t mean = step == 0 ? 100 : step == 1 ? 20 : 20 + random.below(80);
    std::vector<std::size_t> lengths(32, mean);
    for (std::size_t s = 1; s < 32 && step > 1; ++s) lengths[s] -= random.below(mean / 4);
    Batch batch = batch_of_lengths(lengths);
    batch.labels.assign(32, 0);
    const auto loss = loss_of(model, batch, {.training = true, .seed = 1, .step = step});
    loss.backward();
    static_cast<void>(optimizer.clip_and_step(0.5, loss.value()));
  }
  cuda_host::skip_work(false);
  CHECK(cuda_host::allocations() == warm);
}

TEST_CASE("stand-in: a released block of device memory is used for others of up to half its size, until trim()") {
  if (!cached()) return;
  for (const std::size_t bytes : {1u, 1000u, 5000u, 100000u}) {
    Memory<Cuda>::trim();
    const auto first = Memory<Cuda>::allocate(bytes);
    CHECK(first.capacity >= bytes);
    CHECK(first.capacity <= std::max<std::size_t>(bytes + bytes / 8 + 1, 256 + bytes));
    const std::size_t before = cuda_host::allocations();
    Memory<Cuda>::release(first);
    const auto second = Memory<Cuda>::allocate(first.capacity);
    CHECK(second.data == first.data);
    const auto third = Memory<Cuda>::allocate(bytes);
    CHECK(third.data != first.data);
    CHECK(cuda_host::allocations() == before + 1);
    Memory<Cuda>::release(second);
    const auto half = Memory<Cuda>::allocate(first.capacity / 2);
    CHECK(half.data == first.data);
    CHECK(half.capacity == first.capacity);
    CHECK(cuda_host::allocations() == before + 1);
    if (first.capacity > 512) {
      const auto less = Memory<Cuda>::allocate(first.capacity / 4);
      CHECK(cuda_host::allocations() == before + 2);
      Memory<Cuda>::release(less);
    }
    Memory<Cuda>::release(half);
    Memory<Cuda>::release(third);
    Memory<Cuda>::trim();
    CHECK_FALSE(cuda_host::is_device(first.data));
  }
}
