// SPDX-License-Identifier: MIT
// MTH's regularizers on whole models: their samples, values and gradients.
#include "lexformer/models/mth.hpp"

#include "../support/error_message.hpp"
#include "models/tiny.hpp"
#include "support/directions.hpp"

using namespace lexformer;

namespace {

const ForwardOptions forward{.training = true, .seed = 4, .step = 3};

/// Both weighted terms of one forward pass.
Var<double> regularizers(const CrossEncoder<double>& model, const Batch& batch, const MthOptions& options, const ForwardOptions& p) {
  const Mth<double> mth(options, 2, 3);
  const auto y = model.encoder()(batch, p, mth.encode(p));
  return mth.add_to(Var<double>(Tensor<double>::scalar(0)), mth.losses(y, batch.offsets, p));
}

}  // namespace

TEST_CASE("MTH: gradients of every parameter of the encoder, with dropout, of scores with every position scheme, and of probabilities") {
  for (const auto& variant : test::variants()) {
    CAPTURE(variant.name);
    for (const bool probabilities : {false, true}) {
      if (probabilities && variant.name != "ddrp" && variant.name != "lea") continue;  // to limit the run time
      auto model = test::tiny_model(variant.options, variant.edit);
      const auto batch = test::tiny_batch(model, 2, 5);
      const MthOptions options{.token_weight = 1, .head_weight = 0.5, .tokens = 4, .probabilities = probabilities};
      std::vector<Var<double>> leaves;
      ParameterVisitor<double> encoder;  // without the head
      model.encoder().visit(encoder);
      model.encoder().visit_terms(encoder);
      for (const auto& p : encoder.take())
        if (!p.buffer) leaves.push_back(p.var);
      const auto result = test::check_directions([&] { return regularizers(model, batch, options, forward); }, leaves);
      CHECK_MESSAGE(result.ok, result.message);
    }
  }
}

TEST_CASE("MTH: with all tokens and all heads it is f(S) and the mean of f(H); samples change with the step and come again") {
  const test::Threads one(1);
  auto model = test::tiny_model();
  const auto batch = test::tiny_batch(model);
  const ForwardOptions still{.seed = 4, .step = 3};
  const auto y = model.encoder()(batch, {}, {.attentions = Attentions::scores});
  const double tokens = token_similarity(y.last, batch.offsets).item();
  const double heads =
      (head_similarity(y.attentions[0], batch.offsets).item() + head_similarity(y.attentions[1], batch.offsets).item()) / 2;
  CHECK(regularizers(model, batch, {.token_weight = 2, .tokens = 1000}, still).item() == doctest::Approx(2 * tokens).epsilon(1e-12));
  CHECK(regularizers(model, batch, {.head_weight = 3, .heads = 3}, still).item() == doctest::Approx(3 * heads).epsilon(1e-12));

  const MthOptions sampled{.token_weight = 1, .head_weight = 1, .tokens = 3};
  double sum = 0, squares = 0;
  constexpr int steps = 400;
  for (std::uint32_t step = 0; step < steps; ++step) {
    const double value = regularizers(model, batch, sampled, {.seed = 4, .step = step}).item();
    CHECK(value == regularizers(model, batch, sampled, {.seed = 4, .step = step}).item());
    sum += value;
    squares += value * value;
  }
  const double mean = sum / steps, deviation = std::sqrt(squares / steps - mean * mean);
  CHECK(deviation > 0);
  CHECK(std::abs(mean - tokens - heads) < 5 * deviation / std::sqrt(steps));  // the mean over uniform samples is unbiased
}

TEST_CASE("MTH: heads differ between layers, and each is taken once") {
  const Mth<float> mth({.head_weight = 1, .heads = 4}, 6, 8);
  const auto encode = mth.encode(forward);
  REQUIRE(encode.layer_attention_heads.size() == 6);
  bool differ = false;
  for (auto heads : encode.layer_attention_heads) {
    differ = differ || heads != encode.layer_attention_heads[0];
    std::sort(heads.begin(), heads.end());
    CHECK(std::adjacent_find(heads.begin(), heads.end()) == heads.end());
    CHECK(heads.size() == 4);
    CHECK(heads.back() < 8);
  }
  CHECK(differ);
  CHECK(mth.encode(forward).layer_attention_heads == encode.layer_attention_heads);
}

TEST_CASE("MTH: samples that cannot be are refused") {
  CHECK(test::error_message([] { Mth<float>({.token_weight = 1, .tokens = 1}, 2, 3); }) == "mth: a cosine needs 2 tokens, got 1");
  CHECK(test::error_message([] { Mth<float>({.head_weight = 1, .heads = 4}, 2, 3); }) ==
        "mth: the head cosine needs 2 heads or more of the model's 3, got 4");
}
