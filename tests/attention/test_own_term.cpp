// SPDX-License-Identifier: MIT
// A user-defined term beside LEA in one multi-head attention (examples/05_attention_term.cpp).
#include <doctest/doctest.h>

#include "../support/batches.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/attention/lea.hpp"
#include "lexformer/attention/multi_head.hpp"
#include "lexformer/attention/terms.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/index.hpp"

using namespace lexformer;
using test::max_error;
using test::random_tensor;

namespace {

/// S_ij += -slope_h |i - j|
struct Nearness final : AttentionTerm<double> {
  Var<double> slope;  // (H, 1)

  explicit Nearness(std::size_t heads) : slope(Tensor<double>::full({heads, 1}, 0.1), true) {}
  void contribute(const AttentionInputs<double>& in, ScoreTerms<double>& out) const override {
    const std::size_t n = in.batch.offsets.longest();
    Tensor<double> distance({1, n * n});
    for (std::size_t e = 0; e < n * n; ++e) distance.mutable_data()[e] = -std::abs(static_cast<double>(e / n) - static_cast<double>(e % n));
    out.add_position_bias(reshape(multiply(slope, Var<double>(distance)), {in.heads, n, n}));
  }
  void visit(ParameterVisitor<double>& v) override { v("slope", slope); }
};

template <class T, class Dev>
struct Nothing final : AttentionTerm<T, Dev> {
  Nothing(const EncoderSizes&, Init&) {}
  void contribute(const AttentionInputs<T, Dev>&, ScoreTerms<T, Dev>&) const override {}
  void visit(ParameterVisitor<T, Dev>&) override {}
};

Batch batch() {
  Batch b = test::batch_of_lengths({3, 4});
  Codes lexical{{}, {0, 0.5, 1}};
  for (std::size_t i = 0; i < b.offsets.pairs(); ++i) lexical.codes.push_back(static_cast<std::uint16_t>(i * i % 3));
  b.features["lexical"] = {Per::pair, lexical};
  return b;
}

}  // namespace

TEST_CASE("a user's term works beside LEA, with every gradient") {
  Init init(1, 0.5);
  DropoutSites sites(0, 8);
  MultiHeadAttention<double> layer({.width = 6, .heads = 2, .attention_dropout = 0.2, .hidden_dropout = 0.1}, init, sites);
  const auto near = std::make_shared<Nearness>(2);
  const auto lea = std::make_shared<Lea<double>>(LeaOptions{.dimension = 8, .alpha = LeaAlpha::constant, .alpha_value = 1.7}, 2, init);
  layer.terms = {near, lea};
  const DeviceBatch<double> b = batch();
  auto parameters = named_parameters<double, Cpu>(layer);
  for (const auto& term : layer.terms)
    for (const auto& p : named_parameters<double, Cpu>(*term)) parameters.push_back(p);

  std::string names;
  for (const auto& p : parameters) names += p.name + " ";
  CHECK(names ==
        "self.query.weight self.query.bias self.key.weight self.key.bias self.value.weight self.value.bias output.dense.weight "
        "output.dense.bias output.LayerNorm.weight output.LayerNorm.bias slope projection alpha ");

  std::vector<Tensor<double>> inputs{random_tensor({7, 6})};
  for (const auto& p : parameters)
    if (!p.buffer) inputs.push_back(p.var.value());
  for (const bool training : {false, true}) {
    const auto result = gradcheck(
        [&](const std::vector<Var<double>>& v) {
          auto& l = layer;
          Var<double>* const to[] = {&l.query.weight, &l.query.bias, &l.key.weight,  &l.key.bias,  &l.value.weight, &l.value.bias,
                                     &l.dense.weight, &l.dense.bias, &l.norm.weight, &l.norm.bias, &near->slope,    &lea->projection};
          for (std::size_t i = 0; i < std::size(to); ++i) *to[i] = v[i + 1];
          return layer(v[0], {.batch = b, .forward = {.training = training, .seed = 3, .step = 1}}).hidden;
        },
        inputs);
    CHECK_MESSAGE(result.ok, result.message);
  }
}

TEST_CASE("a registered term is known by its name, which is taken once") {
  register_term<Nothing, double>("nothing");
  const auto terms = configure_terms<double, Cpu>({{"nothing", "{}"}}, {.layers = 3, .heads = 2, .width = 6}, "here");
  REQUIRE(terms.size() == 1);
  Init init;
  DropoutSites sites(0, 8);
  CHECK(terms[0].factory->make({.layers = 3, .heads = 2, .width = 6}, init, sites).size() == 3);
  CHECK_THROWS_WITH_AS((register_term<Nothing, double>("nothing")),
                       "register_term: there is an attention term 'nothing' already; take another name", Error);
  CHECK_THROWS_WITH_AS((register_term<Nothing>("lea")), "register_term: there is an attention term 'lea' already; take another name",
                       Error);
  CHECK_THROWS_WITH_AS((configure_terms<float, Cpu>({{"nothing", "{}"}}, {.layers = 3, .heads = 2, .width = 6}, "here")),
                       doctest::Contains("here: the attention term 'nothing' is not known; this program has: alibi, "), Error);
}

TEST_CASE("a term that adds zeros changes nothing, one that does not, does; scores show it") {
  Init init(1, 0.5);
  DropoutSites sites(0, 8);
  MultiHeadAttention<double> layer({.width = 6, .heads = 2}, init, sites);
  const DeviceBatch<double> b = batch();
  const Var<double> x(random_tensor({7, 6}));
  const auto plain = layer(x, {.batch = b, .attention = {.attentions = Attentions::scores}});
  const auto near = std::make_shared<Nearness>(2);
  layer.terms = {near};
  near->slope.mutable_value() = Tensor<double>::zeros({2, 1});
  CHECK(max_error(layer(x, {.batch = b}).hidden.value(), plain.hidden.value()) == 0);
  near->slope.mutable_value() = Tensor<double>::from({0.25, 2}, {2, 1});
  const auto with = layer(x, {.batch = b, .attention = {.attentions = Attentions::scores}});
  CHECK(max_error(with.hidden.value(), plain.hidden.value()) > 1e-3);
  // Row 0 of the second sequence: its block begins after the 9 pairs of the first.
  for (std::size_t j = 0; j < 4; ++j) {
    CHECK(with.attentions.value().at(0, 9 + j) == doctest::Approx(plain.attentions.value().at(0, 9 + j) - 0.25 * static_cast<double>(j)));
    CHECK(with.attentions.value().at(1, 9 + j) == doctest::Approx(plain.attentions.value().at(1, 9 + j) - 2 * static_cast<double>(j)));
  }
  CHECK(layer(x, {.batch = b, .attention = {.attentions = Attentions::probabilities, .attention_heads = {1}}}).attentions.shape() ==
        Shape{1, 25});
  CHECK_FALSE(layer(x, {.batch = b}).attentions.defined());
}

TEST_CASE("multi-head attention divides its width into equal heads") {
  Init init;
  DropoutSites sites(0, 8);
  CHECK_THROWS_WITH_AS(MultiHeadAttention<>({.width = 6, .heads = 4}, init, sites),
                       "MultiHeadAttention: width 6 is not divisible by 4 heads", Error);
  CHECK_THROWS_WITH_AS(MultiHeadAttention<>({.width = 6, .heads = 0}, init, sites),
                       "MultiHeadAttention: width 6 is not divisible by 0 heads", Error);
}
