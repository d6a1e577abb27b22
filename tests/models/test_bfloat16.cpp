// SPDX-License-Identifier: MIT
// Models in bfloat16: their error against double, and that training keeps its weights in float.
#include <cmath>
#include <limits>
#include <numeric>

#include "lexformer/train/state.hpp"
#include "models/golden_bfloat16.hpp"
#include "support/expect_error.hpp"
#include "support/random_tensor.hpp"

using namespace lexformer;

TEST_CASE("bfloat16: logits and gradients are as near to double as PyTorch's") {
  const test::Threads one(1);
  test::check_bfloat16_models<Cpu>();
}
TEST_CASE("bfloat16: attention with a lookup is as near to double as PyTorch's with a gathered bias") {
  test::check_bfloat16_attention<Cpu>();
}
TEST_CASE("bfloat16: training adds up in float what one weight could not hold, and goes on from a checkpoint to the same bytes") {
  const test::Threads one(1);
  CrossEncoderOptions options;
  options.attention = {"lea"};
  auto model = test::tiny_model<bfloat16>(options);
  AdamW<bfloat16> optimizer(model.parameters(), {.lr = 1e-4});
  const auto batch = test::tiny_batch(model);
  const auto step = [&](auto& m, auto& o, std::uint32_t k) {
    const auto loss = cross_entropy(m(batch, {.training = true, .seed = 1, .step = k}).logits, batch.labels);
    static_assert(std::is_same_v<decltype(loss.item()), float>);
    loss.backward();
    clip_grad_norm(m.parameters(), 1.0);
    o.step();
    return loss.item();
  };
  const auto evaluate = [&] { return cross_entropy(model(batch).logits, batch.labels).item(); };
  step(model, optimizer, 0);
  const float first = evaluate();
  // 1e-4 is less than half the spacing of bfloat16 numbers around 0.1: without float weights most would never change.
  std::size_t between = 0, all = 0;
  for (std::size_t i = 0; i < optimizer.state().size(); ++i) {
    const auto& slot = optimizer.state()[i];
    const auto& weights = optimizer.parameters()[i].var.value();
    if (slot.step == 0) continue;
    for (std::size_t e = 0; e < weights.size(); ++e) {
      const float master = slot.master.data()[e];
      REQUIRE(bfloat16(master).bits == weights.data()[e].bits);
      between += float{weights.data()[e]} != master;
      ++all;
    }
  }
  CHECK(between > all / 2);

  const TemporaryFolder folder;
  const std::string moments = folder / "optimizer.safetensors";
  optimizer_tensors(optimizer).write(moments);
  model.save(folder / "model.lxf");
  for (std::uint32_t k = 1; k < 60; ++k) step(model, optimizer, k);
  CHECK(evaluate() < 0.9f * first);

  auto resumed = CrossEncoder<bfloat16>::load(folder / "model.lxf");
  AdamW<bfloat16> again(resumed.parameters(), {.lr = 1e-4});
  again.load_state(read_optimizer_tensors(TensorFile::read(moments), again, moments));
  for (std::uint32_t k = 1; k < 60; ++k) step(resumed, again, k);
  const auto expected = model.state(), found = resumed.state();
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(test::same_bits(found[i].var.value(), expected[i].var.value()));
}
