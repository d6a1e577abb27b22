// SPDX-License-Identifier: MIT
// Whole models on the device: losses, gradients and two training steps equal those of the CPU, for every kind of cross-encoder and for a
// masked language model with MTH's regularizers.
#include "lexformer/models/mth.hpp"
#include "models/golden_bfloat16.hpp"
#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// The losses of two steps, the clipped gradients of the second, and the parameters after it.
template <class T, class Dev, class Model, class Loss>
std::vector<double> train(Model& model, const Loss& loss_at) {
  std::vector<double> numbers;
  const auto keep = [&](const auto& x) { numbers = joined(numbers, x.to_vector()); };
  auto parameters = model.parameters();
  AdamW<T, Dev> optimizer(parameters, {.lr = 0.01, .weight_decay = 0.1});
  for (std::uint32_t step = 0; step < 2; ++step) {
    const auto loss = loss_at(ForwardOptions{.training = true, .seed = 1, .step = step});
    keep(loss.value());
    loss.backward();
    std::vector<double> gradients;
    if (step == 1)
      for (const auto& p : parameters) gradients = joined(gradients, p.var.grad().to_vector());
    const double norm = optimizer.clip_and_step(0.5, loss.value()).item();
    for (double& g : gradients) g *= scalar::clip_factor(norm, 0.5);
    numbers.push_back(norm);
    numbers = joined(numbers, gradients);
  }
  for (const auto& p : parameters) keep(p.var.value());
  return numbers;
}

template <class T, class Dev>
std::vector<double> train_matcher(const Variant& variant, bool checkpointing = false) {
  CrossEncoder<T, Dev> model(tiny_file(variant.edit), variant.options);
  const auto batch = tiny_batch(tiny_model<double>(variant.options, variant.edit));
  model.calibrate(batch, {.training = true, .seed = 1});
  model.encoder().gradient_checkpointing = checkpointing;
  return train<T, Dev>(model, [&](const ForwardOptions& forward) { return loss_of(model, batch, forward); });
}

template <class T, class Dev>
std::vector<double> pretrain() {
  MaskedLm<T, Dev> model(tiny_file({{"position_embedding_type", "ddrp"}, {"position_options", {{"size", 5u}}}}), TrainingStart{.seed = 1});
  std::vector<Encoding> texts;
  for (const auto& [left, right] : pairs) texts.push_back(model.tokenizer().encode_pair(left, right, 20));
  const auto batch = make_batch(texts);
  const std::vector<std::int32_t> positions{1, 2, 9, 12}, words{7, 8, 3, 20};
  const Mth<T, Dev> mth({.token_weight = 1, .head_weight = 0.5, .tokens = 3}, 2, 3);
  return train<T, Dev>(model, [&](const ForwardOptions& forward) {
    const auto y = model(batch, positions, words, forward, mth.encode(forward));
    return mth.add_to(y.loss, mth.losses(y.encoder, batch.offsets, forward));
  });
}

/// In bfloat16, CPU and GPU round at different points: the results are close, and the GPU's bits do not depend on the order of threads.
template <class Body>
void compare_rounded(const Body& body) {
  const auto expected = body(Cpu{}), found = body(Cuda{});
  REQUIRE(found.size() == expected.size());
  double squares = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    squares += std::pow(found[i] - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  CHECK(std::sqrt(squares / size) < 0.02);
  cuda_host::set_order(1);
  CHECK(same_bits(body(Cuda{}), found));
  cuda_host::set_order(0);
}

}  // namespace

TEST_CASE("models: every kind of cross-encoder trains on the device as on the CPU") {
  for_each_variant([](const Variant& variant) {
    compare<double>([&](auto device) { return train_matcher<double, decltype(device)>(variant); }, 1e-10);
    compare_rounded([&](auto device) { return train_matcher<bfloat16, decltype(device)>(variant); });
  });
}
TEST_CASE("models: gradient checkpointing changes no bit on the device") {
  const Variant lea{"lea", with_lea()};
  CHECK(train_matcher<float, Cuda>(lea, true) == train_matcher<float, Cuda>(lea, false));
  CHECK(train_matcher<bfloat16, Cuda>(lea, true) == train_matcher<bfloat16, Cuda>(lea, false));
}
TEST_CASE("models: and with attention by cuBLAS") {
  const AttentionBy path(cuda::AttentionPath::cublas, 4096);  // a few of the batch's sequences at once
  for_each_variant([](const Variant& variant) {
    compare<double>([&](auto device) { return train_matcher<double, decltype(device)>(variant); }, 1e-10);
  });
  compare_rounded([](auto device) { return pretrain<bfloat16, decltype(device)>(); });
}
TEST_CASE("models: a masked language model trains on the device as on the CPU") {
  const Threads one(1);
  compare<double>([](auto device) { return pretrain<double, decltype(device)>(); }, 1e-10);
  compare_rounded([](auto device) { return pretrain<bfloat16, decltype(device)>(); });
}
TEST_CASE("models: bfloat16 on the device is as near to double as PyTorch's") {
  check_bfloat16_models<Cuda>();
  check_bfloat16_attention<Cuda>();
  const AttentionBy path(cuda::AttentionPath::cublas);
  check_bfloat16_models<Cuda>();
  check_bfloat16_attention<Cuda>();
}
