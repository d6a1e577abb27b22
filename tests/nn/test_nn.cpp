// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "../support/error_message.hpp"
#include "../support/fork.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/nn/activation.hpp"
#include "lexformer/nn/embedding.hpp"
#include "lexformer/nn/init.hpp"
#include "lexformer/nn/layer_norm.hpp"
#include "lexformer/nn/linear.hpp"
#include "lexformer/nn/module.hpp"
#include "lexformer/nn/packed_weights.hpp"
#include "lexformer/nn/pooling.hpp"
#include "lexformer/nn/weight_cache.hpp"

using namespace lexformer;
using test::error_message;
using test::max_error;
using test::random_tensor;

namespace {

/// A module of modules, like a model.
struct Block {
  Embedding<> words;
  Linear<> dense;
  LayerNorm<> norm;
  Var<> scale;

  explicit Block(Init& init) : words(5, 4, init), dense(4, 3, init), norm(3, 1e-12, init), scale(Tensor<>::ones({1})) {}
  void visit(ParameterVisitor<>& v) {
    v("embeddings.words", words);
    v("dense", dense);
    v("", norm);  // adds no level to the names
    v.buffer("scale", scale);
  }
};
struct Model {
  std::vector<Block> layers;
  void visit(ParameterVisitor<>& v) {
    for (std::size_t i = 0; i < layers.size(); ++i) v(cat("layer.", i), layers[i]);
  }
};

}  // namespace

TEST_CASE("visit gives every parameter its dotted name, in order; they are the module's own") {
  Init init(1);
  Model model{{Block(init), Block(init)}};
  const auto parameters = named_parameters<float, Cpu>(model);
  const std::vector<std::string> names{"embeddings.words.weight", "dense.weight", "dense.bias", "weight", "bias", "scale"};
  REQUIRE(parameters.size() == 2 * names.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    CHECK(parameters[i].name == cat("layer.", i / names.size(), ".", names[i % names.size()]));
    CHECK(parameters[i].buffer == (i % names.size() == 5));
    CHECK(parameters[i].var.requires_grad() == !parameters[i].buffer);
  }
  CHECK(count(parameters) == 2 * (5 * 4 + 3 * 4 + 3 + 3 + 3));  // without buffers
  auto bias = parameters[2].var;
  bias.mutable_value().mutable_data()[0] = 7.0f;
  CHECK(model.layers[0].dense.bias.value().at(0) == 7.0f);
}

TEST_CASE("the layers compute what they say") {
  Init init(1, 0.5);
  const Linear<double> dense(4, 3, init);
  const LayerNorm<double> norm(3, 1e-12, init);
  const Embedding<double> table(5, 4, init);
  const auto x = table({4, 0});
  CHECK(x.value().at(0, 1) == table.weight.value().at(4, 1));
  const auto y = dense(x);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t o = 0; o < 3; ++o) {
      double sum = 0;
      for (std::size_t e = 0; e < 4; ++e) sum += x.value().at(i, e) * dense.weight.value().at(o, e);
      CHECK(y.value().at(i, o) == doctest::Approx(sum));
    }
  const auto z = norm(y);
  CHECK(z.value().at(0, 0) + z.value().at(0, 1) + z.value().at(0, 2) == doctest::Approx(0).scale(1));
  const Var<double> nothing(Tensor<double>::zeros({2, 3}));
  CHECK(max_error(norm(y, nothing, {}).value(), z.value()) == 0);
  CHECK(max_error(norm(nothing, y, DropoutMask{0.5f, {}}).value(), z.value()) == 0);  // dropout applies to x, not to the residual
}

TEST_CASE("Init: numbers do not depend on what comes later, nor on the shape of what comes before") {
  Init short_one(7), long_one(7), other_shapes(7), other_seed(8);
  const auto first = short_one.normal<float, Cpu>({10}), second = short_one.normal<float, Cpu>({3, 5});
  CHECK(long_one.normal<float, Cpu>({10}).value().to_vector() == first.value().to_vector());
  CHECK(long_one.normal<float, Cpu>({3, 5}).value().to_vector() == second.value().to_vector());
  long_one.normal<float, Cpu>({1000});
  other_shapes.normal<float, Cpu>({99});
  other_shapes.constant<float, Cpu>({4}, 1.0f);  // draws nothing
  CHECK(other_shapes.normal<float, Cpu>({15}).value().to_vector() == second.value().to_vector());
  CHECK(other_seed.normal<float, Cpu>({10}).value().to_vector() != first.value().to_vector());
  CHECK(second.value().to_vector()[0] != first.value().to_vector()[0]);
  CHECK(first.requires_grad());
  // The float values are the rounded double values, so a model checked in double starts from the same numbers.
  Init in_double(7);
  CHECK(static_cast<float>(in_double.normal<double, Cpu>({10}).value().at(3)) == first.value().at(3));
}

TEST_CASE("Init: mean 0 and the deviation asked for; a blank one only reserves memory") {
  for (const double deviation : {0.02, 1.0}) {
    Init init(3, deviation);
    const auto x = init.normal<double, Cpu>({20000});
    double sum = 0, squares = 0;
    for (const double v : x.value().span()) sum += v, squares += v * v;
    CHECK(std::abs(sum / 20000) < 4 * deviation / std::sqrt(20000.0));
    CHECK(std::abs(squares / 20000 / (deviation * deviation) - 1) < 4 * std::sqrt(2.0 / 20000));
  }
  Init blank = Init::none();
  const auto reserved = blank.normal<float, Cpu>({2, 3});
  CHECK(reserved.shape() == Shape{2, 3});
  CHECK(reserved.requires_grad());
  CHECK(blank.constant<float, Cpu>({2}, 1.0f).value().at(1) == 1.0f);
}

TEST_CASE("ForwardOptions: no dropout unless it trains; each site, step and seed drops other elements") {
  CHECK_FALSE(ForwardOptions{}.dropout(0.1, 3).active());
  CHECK_FALSE((ForwardOptions{.training = true}.dropout(0.0, 3).active()));
  const ForwardOptions forward{.training = true, .seed = 5, .step = 6};
  const auto mask = forward.dropout(0.25, 7);
  CHECK(mask.active());
  CHECK(mask.p == 0.25f);
  CHECK(mask.key.seed == 5);
  CHECK(mask.key.step == 6);
  CHECK(mask.key.site == 7);
  const auto drawn = [](const DropoutMask& m) {
    std::vector<float> y(256);
    m.fill(0, y.size(), y.data());
    return y;
  };
  CHECK(drawn(mask) == drawn(forward.dropout(0.25, 7)));
  CHECK(drawn(mask) != drawn(forward.dropout(0.25, 8)));
  CHECK(drawn(mask) != drawn(ForwardOptions{.training = true, .seed = 5, .step = 7}.dropout(0.25, 7)));
  CHECK(drawn(mask) != drawn(ForwardOptions{.training = true, .seed = 4, .step = 6}.dropout(0.25, 7)));
}

TEST_CASE("activations go by HuggingFace's names") {
  const Var<double> x(Tensor<double>::from({-1.0, 0.5}));
  const auto at = [&](const std::string& name) { return activate(parse_name<Activation>(name, "test"), x).value().to_vector(); };
  CHECK(at("gelu")[1] == doctest::Approx(0.34573123063700656).epsilon(1e-14));  // x Phi(x)
  CHECK(at("gelu_new")[1] == doctest::Approx(0.34571400982514394).epsilon(1e-14));
  CHECK(at("gelu_new") == at("gelu_pytorch_tanh"));
  CHECK(at("relu") == std::vector<double>{0.0, 0.5});
  CHECK(at("tanh")[0] == doctest::Approx(-0.7615941559557649).epsilon(1e-14));
  CHECK(name_of(Activation::gelu_tanh) == "gelu_new");
  CHECK(at("gelu") == at("gelu_python"));
  CHECK(at("gelu_new") == at("gelu_fast"));
  CHECK(at("silu")[1] == doctest::Approx(0.3112296656009273).epsilon(1e-14));         // x / (1 + e^-x)
  CHECK(at("quick_gelu")[1] == doctest::Approx(0.35038843660638014).epsilon(1e-12));  // x / (1 + e^-1.702x)
  CHECK(at("swish") == at("silu"));
  CHECK(name_of(Activation::silu) == "silu");
  CHECK(error_message([] { parse_name<Activation>("mish", "activation"); }) ==
        "activation: 'mish' is not known; use one of: gelu, gelu_python, gelu_new, gelu_fast, gelu_pytorch_tanh, relu, tanh, silu, swish, "
        "quick_gelu, identity, linear");
}

TEST_CASE("a linear layer in bfloat16 packs its weights for inference, and again after they changed") {
  Init init(1);
  Linear<bfloat16> layer(40, 33, init);
  const Var x(test::random_tensor<bfloat16>({5, 40}, 1));
  const auto near = [](const Var<bfloat16>& a, const Var<bfloat16>& b) {
    for (std::size_t i = 0; i < a.value().size(); ++i)
      CHECK(static_cast<double>(a.value().data()[i]) == doctest::Approx(static_cast<double>(b.value().data()[i])).epsilon(0.01));
  };
  CHECK(layer.packed_weights() == nullptr);  // a gradient may be needed
  const auto check = [&](const Linear<bfloat16>& l) {
    const auto y = l(x);
    CHECK(y.requires_grad());
    const NoGrad no_grad;
    const auto packed = l.packed_weights();
    CHECK((packed != nullptr) == packs_bfloat16());
    CHECK(l.packed_weights() == packed);
    near(l(x), y);
    return packed;
  };
  const auto first = check(layer);
  layer.weight.mutable_value().mutable_data()[7] = static_cast<bfloat16>(3.0f);
  const auto second = check(layer);
  layer.bias.mutable_value().mutable_data()[2] = static_cast<bfloat16>(-2.0f);
  const auto third = check(layer);
  layer.weight = Var(test::random_tensor<bfloat16>({33, 40}, 9), true);
  const auto fourth = check(layer);
  const auto both = test::random_tensor<bfloat16>({66, 40}, 10);
  layer.weight = Var(both.slice(0, 33), true);
  check(layer);
  layer.weight = Var(both.slice(33, 66), true);  // the same storage
  check(layer);
  const Linear<bfloat16> copy = layer;
  const auto fifth = check(copy);
  if (!packs_bfloat16()) return;
  CHECK(first != second);
  CHECK(second != third);
  CHECK(third != fourth);
  CHECK(fourth != fifth);
  CHECK(layer.packed_weights() == nullptr);
}

TEST_CASE("weight cache: a value is made again after a change of weights; errors leave nothing behind") {
  const WeightCache<float> cache;
  Var<float> a(test::random_tensor<float>({3}, 1));
  int made = 0;
  const auto value = [&](const std::vector<Var<float>>& weights) {
    return *cache.of(weights, [&] {
      ++made;
      if (weights.empty()) fail("test", "no weights");
      return std::make_shared<const float>(weights[0].value().data()[0]);
    });
  };
  CHECK(value({a}) == value({a}));
  CHECK(made == 1);
  a.mutable_value().mutable_data()[0] = 7;
  CHECK(value({a}) == 7);
  CHECK(value({a, {}}) == 7);
  CHECK(made == 3);
  CHECK_THROWS(value({}));
  CHECK(value({a, {}}) == 7);
  CHECK(made == 5);
  const auto copy = cache;
  CHECK(*copy.of({a, {}}, [] { return std::make_shared<const float>(1.0f); }) == 1);
}

TEST_CASE("packed weights: layers of another number, errors leave nothing behind, several threads") {
  if (!packs_bfloat16()) return;
  const NoGrad outer;
  const auto make = [](std::size_t rows, std::uint32_t stream) { return Var(test::random_tensor<bfloat16>({rows, 8}, stream)); };
  const Var a = make(3, 1), b = make(5, 2), bias(test::random_tensor<bfloat16>({3}, 3)), wrong(test::random_tensor<bfloat16>({4}, 3));
  const PackedWeights<bfloat16, Cpu> packed;
  for (int i = 0; i < 2; ++i)
    CHECK(error_message([&] { packed.of({a}, {wrong}); }).starts_with("Bfloat16Weights: layer 0 (3, 8) with bias (4,)"));
  CHECK(packed.of({a}, {bias})->outputs() == 3);
  CHECK(packed.of({a, b}, {bias, {}})->outputs() == 8);
  CHECK(packed.of({a}, {{}})->biases()[1] == 0.0f);
  Var changed(test::random_tensor<bfloat16>({3, 8}, 4));
  bfloat16* const kept = changed.mutable_value().mutable_data();
  const auto first = packed.of({changed}, {bias});
  kept[0] = bfloat16(7.0f);
  changed.mutable_value().touch();
  CHECK(packed.of({changed}, {bias}) != first);
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<const Bfloat16Weights>> found(4);
  for (std::size_t t = 0; t < found.size(); ++t)
    threads.emplace_back([&, t] {
      const NoGrad no_grad;  // of this thread
      for (int i = 0; i < 50; ++i) found[t] = packed.of({a, b}, {bias, {}});
    });
  for (auto& thread : threads) thread.join();
  for (const auto& f : found) CHECK(f == found[0]);
}

#if defined(LEXFORMER_TEST_FORK)
TEST_CASE("packed weights: a forked child does not wait for another thread of its parent that packs") {
  if (!packs_bfloat16()) return;
  const PackedWeights<bfloat16, Cpu> packed;
  Var weight(test::random_tensor<bfloat16>({512, 512}, 1));
  std::atomic<bool> begun{false}, done{false};
  std::thread other([&] {
    const NoGrad no_grad;
    while (!done) {
      weight.mutable_value().touch();
      packed.of({weight}, {{}});
      begun = true;
    }
  });
  while (!begun) std::this_thread::yield();
  const NoGrad no_grad;
  bool right = true;
  for (int i = 0; i < 5 && right; ++i) right = test::in_child([&] { return packed.of({weight}, {{}})->outputs() == 512; });
  done = true;
  other.join();
  CHECK(right);
}
#endif

TEST_CASE("pool: the first token, the mean or the maximum of each sequence, or all tokens") {
  const auto offsets = Offsets::from_lengths(std::vector<std::size_t>{2, 1});
  const Var<> hidden(Tensor<>::from({1, 8, 3, 2, -5, -6}, {3, 2}));
  const auto pooled = [&](Pooling pooling) {
    const auto y = pool(hidden, offsets, pooling).value();
    return std::vector<float>(y.span().begin(), y.span().end());
  };
  CHECK(pooled(Pooling::none) == std::vector<float>{1, 8, 3, 2, -5, -6});
  CHECK(pooled(Pooling::cls) == std::vector<float>{1, 8, -5, -6});
  CHECK(pooled(Pooling::mean) == std::vector<float>{2, 5, -5, -6});
  CHECK(pooled(Pooling::max) == std::vector<float>{3, 8, -5, -6});
  const Var<> other(Tensor<>::zeros({4, 2}));
  CHECK(error_message([&] { pool(other, offsets, Pooling::cls); }) == "pool: hidden (4, 2) but the offsets have 3 tokens");
  CHECK(error_message([&] { pool(other, offsets, Pooling::mean); }) == "sequence_mean: x (4, 2) but the offsets have 3 tokens");
}
