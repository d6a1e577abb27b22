// SPDX-License-Identifier: MIT
#include "lexformer/train/optimizer.hpp"

#include <cstring>
#include <limits>

#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/train/schedule.hpp"
#include "support/error_message.hpp"
#include "support/golden.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

const std::vector<std::pair<std::string, Shape>> shapes = {{"linear.weight", {3, 4}}, {"linear.bias", {4}}, {"late", {2, 2}}};

template <class T>
Tensor<T> as_tensor(const double* values, Shape shape) {
  Tensor<T> t(shape);
  std::transform(values, values + shape.size(), t.mutable_data(), [](double v) { return static_cast<T>(v); });
  return t;
}

template <class T>
double distance(const Tensor<T>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i) worst = std::max(worst, std::abs(static_cast<double>(a.data()[i]) - b[i]));
  return worst;
}

/// The ten steps of tests/oracles/make_golden_optimizer.py.
template <class T>
void check_golden(double tolerance, bool in_one) {
  auto file = open_golden("adamw.txt");
  const Blocks golden = read_blocks(file);
  for (const std::string group : {"decay_all", "decay_matrices"}) {
    CAPTURE(group);
    std::vector<NamedParameter<T>> parameters;
    for (const auto& [name, shape] : shapes)
      parameters.push_back({name, Var<T>(as_tensor<T>(golden.at("start/" + name).data(), shape), true)});
    AdamW<T> optimizer(parameters,
                       {.beta1 = 0.85, .beta2 = 0.995, .eps = 1e-7, .weight_decay = 0.1, .decay_bias_and_norm = group == "decay_all"});
    for (std::size_t k = 0; k < 10; ++k) {
      for (auto& p : parameters) {
        const std::size_t n = p.var.size();
        if (p.name != "late" || k % 4 != 0) p.var.set_grad(as_tensor<T>(golden.at("gradients/" + p.name).data() + k * n, p.var.shape()));
      }
      const double max_norm = k % 2 == 1 ? 2.0 : 100.0, lr = golden.at("rates")[k];
      optimizer.set_lr(lr);
      const double norm = in_one ? optimizer.clip_and_step(max_norm).item() : clip_grad_norm(parameters, max_norm);
      CHECK(std::abs(norm - golden.at("norms/" + group)[k]) <= tolerance * norm);
      if (!in_one) optimizer.step();
      for (const auto& p : parameters) CHECK_FALSE(p.var.grad().defined());
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::string& name = parameters[i].name;
      CAPTURE(name);
      CHECK(distance(parameters[i].var.value(), golden.at("end/" + group + "/" + name)) <= tolerance);
      CHECK(distance(optimizer.state()[i].exp_avg, golden.at("exp_avg/" + group + "/" + name)) <= tolerance);
      CHECK(distance(optimizer.state()[i].exp_avg_sq, golden.at("exp_avg_sq/" + group + "/" + name)) <= tolerance);
      CHECK(optimizer.state()[i].step == (name == "late" ? 7 : 10));
    }
  }
}

/// One parameter of n elements and a gradient that depends on the step.
struct TwoTensors {
  std::vector<NamedParameter<float>> parameters;
  explicit TwoTensors(std::size_t n) : parameters{{"w", Var<float>(Tensor<float>({n}), true)}} {
    RandomStream random(1, random_site::user);
    for (float& x : parameters[0].var.mutable_value().mutable_span()) x = static_cast<float>(random.normal());
  }
  void run(AdamW<float>& optimizer, std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to; ++k) {
      RandomStream random(1, random_site::user, static_cast<std::uint32_t>(k + 1));
      Tensor<float> g(parameters[0].var.shape());
      for (float& x : g.mutable_span()) x = static_cast<float>(random.normal());
      parameters[0].var.set_grad(g);
      optimizer.set_lr(0.01);
      static_cast<void>(optimizer.clip_and_step(1.0));
    }
  }
  std::vector<float> weights() const { return parameters[0].var.value().to_vector(); }
};

}  // namespace

TEST_CASE("AdamW and clip_grad_norm: ten steps of PyTorch, in double and in float") {
  for (const bool in_one : {false, true}) {
    CAPTURE(in_one);
    check_golden<double>(1e-12, in_one);
    check_golden<float>(2e-6, in_one);
  }
}

TEST_CASE("clip_and_step updates nothing from the first step on whose norm or loss is not finite") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [gradient, loss] : {std::pair{nan, 1.0f}, {-infinity, 1.0f}, {2.0f, nan}, {2.0f, infinity}}) {
    std::vector<NamedParameter<float>> parameters = {{"w", Var<float>(Tensor<float>::ones({2}), true)}};
    AdamW<float> optimizer(parameters, {.lr = 0.1, .weight_decay = 0.1});
    const auto step = [&](float g, float l) {
      parameters[0].var.set_grad(Tensor<float>::from({3.0f, g}));
      const double norm = optimizer.clip_and_step(1.0, Tensor<float>::from({l})).item();
      CHECK_FALSE(parameters[0].var.grad().defined());
      return norm;
    };
    CHECK(step(4.0f, 1.0f) == doctest::Approx(5.0));
    const auto saved = optimizer.state();
    const auto weights = parameters[0].var.value().to_vector(), moments = optimizer.state()[0].exp_avg.to_vector();
    CHECK(weights[0] < 1.0f);
    CHECK_FALSE(std::isfinite(step(gradient, loss)));
    CHECK(std::isnan(step(4.0f, 1.0f)));
    CHECK(parameters[0].var.value().to_vector() == weights);
    CHECK(optimizer.state()[0].exp_avg.to_vector() == moments);
    optimizer.load_state(saved);
    CHECK(step(4.0f, 1.0f) == doctest::Approx(5.0));

    std::vector<NamedParameter<float>> unbroken = {{"w", Var<float>(Tensor<float>::ones({2}), true)}};
    AdamW<float> other(unbroken, {.lr = 0.1, .weight_decay = 0.1});
    for (int i = 0; i < 2; ++i) {
      unbroken[0].var.set_grad(Tensor<float>::from({3.0f, 4.0f}));
      CHECK(other.clip_and_step(1.0).item() == doctest::Approx(5.0));
    }
    CHECK(parameters[0].var.value().to_vector() == unbroken[0].var.value().to_vector());
  }
}

TEST_CASE("clip_and_step without a gradient changes nothing, and refuses a senseless norm or loss") {
  std::vector<NamedParameter<float>> parameters = {{"w", Var<float>(Tensor<float>::ones({2}), true)}};
  AdamW<float> optimizer(parameters, {.weight_decay = 0.1});
  CHECK(optimizer.clip_and_step(1.0).item() == 0.0);
  CHECK(parameters[0].var.value().to_vector() == std::vector<float>{1, 1});
  CHECK(optimizer.state()[0].step == 0);
  CHECK_THROWS_WITH(static_cast<void>(optimizer.clip_and_step(-1.0)), "AdamW::clip_and_step: max_norm is -1, expected more than 0");
  CHECK_THROWS_WITH(static_cast<void>(optimizer.clip_and_step(1.0, Tensor<float>::ones({2}))),
                    "AdamW::clip_and_step: the loss is (2,), expected one number");
  CHECK(std::isnan(optimizer.clip_and_step(1.0, Tensor<float>::from({infinity})).item()));
  CHECK(std::isnan(optimizer.clip_and_step(1.0).item()));
}

TEST_CASE("AdamW leaves alone what is frozen, has no gradient or is a buffer") {
  const auto ones = [](bool grad) { return Var<double>(Tensor<double>::ones({2, 2}), grad); };
  std::vector<NamedParameter<double>> parameters = {{"a", ones(true)}, {"b", ones(true)}, {"c", ones(false)}, {"alpha", ones(true), true}};
  parameters[0].var.set_grad(Tensor<double>::ones({2, 2}));
  parameters[3].var.set_grad(Tensor<double>::ones({2, 2}));
  AdamW<double> optimizer(parameters, {.lr = 0.5, .weight_decay = 0.1});
  optimizer.step();
  CHECK(parameters[0].var.value().at(0, 0) == doctest::Approx(0.95 - 0.5).epsilon(1e-6));
  for (std::size_t i = 1; i < 4; ++i) CHECK(parameters[i].var.value().to_vector() == std::vector<double>(4, 1.0));
  CHECK_FALSE(optimizer.state()[1].exp_avg.defined());
}

TEST_CASE("AdamW: a factor of the learning rate of one parameter is another optimizer's rate") {
  const auto trained = [](double lr, double factor) {
    std::vector<NamedParameter<double>> parameters{{"a", Var<double>(Tensor<double>::from({1, 2}, {2}), true)},
                                                   {"b", Var<double>(Tensor<double>::from({3, 4}, {2}), true)}};
    AdamW<double> optimizer(parameters, {.lr = lr, .weight_decay = 0.1});
    optimizer.set_lr_factor("b", factor);
    for (int k = 0; k < 3; ++k) {
      optimizer.set_lr(lr / (k + 1));
      sum(multiply(multiply(parameters[0].var, parameters[1].var), parameters[1].var)).backward();
      optimizer.step();
    }
    return std::pair(parameters[0].var.value().to_vector(), parameters[1].var.value().to_vector());
  };
  // With a factor of 0 b stays, and a is trained as before beside a constant.
  CHECK(trained(0.01, 0).second == std::vector<double>{3, 4});
  CHECK(trained(0.01, 1) != trained(0.01, 4));
  std::vector<NamedParameter<double>> one{{"b", Var<double>(Tensor<double>::from({3, 4}, {2}), true)}},
      other{{"b", Var<double>(Tensor<double>::from({3, 4}, {2}), true)}};
  AdamW<double> scaled(one, {.lr = 0.25, .weight_decay = 0.1}), plain(other, {.lr = 1, .weight_decay = 0.1});
  scaled.set_lr_factor("b", 4);
  for (auto* of : {&one, &other}) sum(multiply((*of)[0].var, (*of)[0].var)).backward();
  scaled.step();
  plain.step();
  CHECK(one[0].var.value().to_vector() == other[0].var.value().to_vector());
  CHECK(error_message([&] { scaled.set_lr_factor("c", 1); }) == "AdamW::set_lr_factor: there is no parameter 'c'");
  CHECK(error_message([&] { scaled.set_lr_factor("b", -1); }).starts_with("AdamW::set_lr_factor: the factor of 'b' is -1"));
}

TEST_CASE("a step between forward and backward is noticed") {
  std::vector<NamedParameter<double>> parameters = {{"w", Var<double>(Tensor<double>::ones({2}), true)}};
  AdamW<double> optimizer(parameters);
  const auto loss = [&] { return multiply(parameters[0].var, parameters[0].var); };
  const auto late = loss();
  loss().backward(Tensor<double>::ones({2}));
  optimizer.step();
  CHECK_THROWS_AS(late.backward(Tensor<double>::ones({2})), Error);
}

TEST_CASE("AdamW keeps weights in the type of its moments, where rounding would swallow the steps") {
  // 1000 steps of 1e-8 from 1: each is below half a unit in the last place of a float.
  float parameter = 1.0f;
  double master = 1.0, m = 0.0, v = 0.0;
  const float gradient = -1.0f;
  for (int t = 1; t <= 1000; ++t) {
    const double c1 = 1 - std::pow(0.9, t), c2 = 1 - std::pow(0.999, t);
    Kernels<Cpu>::adamw(
        std::vector<AdamWUpdate<float, double>>{
            {1, {1.0, 0.9, 0.999, 1e-8 / c1, std::sqrt(c2), 1e-8}, &gradient, &m, &v, &master, &parameter}},
        {});
  }
  CHECK(master == doctest::Approx(1.0 + 1e-5).epsilon(1e-9));
  CHECK(parameter == static_cast<float>(master));
}

TEST_CASE("clip_grad_norm scales a gradient that two parameters share once") {
  std::vector<NamedParameter<double>> parameters = {{"a", Var<double>(Tensor<double>::ones({2}), true)},
                                                    {"b", Var<double>(Tensor<double>::ones({2}), true)}};
  add(parameters[0].var, parameters[1].var).backward(Tensor<double>::full({2}, 3.0));
  CHECK(clip_grad_norm(parameters, 0.6) == doctest::Approx(6.0));
  for (const auto& p : parameters)
    for (const double g : p.var.grad().to_vector()) CHECK(g == doctest::Approx(0.3));
}

TEST_CASE("clip_grad_norm returns a norm that is not finite and changes nothing") {
  std::vector<NamedParameter<float>> parameters = {{"a", Var<float>(Tensor<float>::ones({2}), true)},
                                                   {"b", Var<float>(Tensor<float>::ones({1}), true)}};
  parameters[0].var.set_grad(Tensor<float>::from({8.0f, std::numeric_limits<float>::quiet_NaN()}));
  CHECK(std::isnan(clip_grad_norm(parameters, 1.0)));
  CHECK(parameters[0].var.grad().at(0) == 8.0f);
  parameters[0].var.set_grad(Tensor<float>::from({8.0f, std::numeric_limits<float>::infinity()}));
  CHECK(std::isinf(clip_grad_norm(parameters, 1.0)));
  // Squares that overflow a float do not overflow the norm.
  parameters[0].var.set_grad(Tensor<float>::from({3e30f, 4e30f}));
  CHECK(clip_grad_norm(parameters, 1.0) == doctest::Approx(5e30));
  CHECK(parameters[0].var.grad().at(1) == doctest::Approx(0.8));
  CHECK_THROWS_AS(clip_grad_norm(parameters, 0.0), Error);
}

TEST_CASE("clipping and AdamW give the same bits with 1, 2 and 3 threads") {
  std::vector<std::vector<float>> results;
  for (int count : {1, 2, 3}) {
    set_threads(count);
    TwoTensors toy(50001);
    AdamW<float> optimizer(toy.parameters, {.weight_decay = 0.01});
    toy.run(optimizer, 0, 3);
    results.push_back(toy.weights());
  }
  set_threads(0);
  CHECK(results[1] == results[0]);
  CHECK(results[2] == results[0]);
}

TEST_CASE("AdamW goes on from a saved state with the same bits, and refuses one that does not fit") {
  TwoTensors whole(100), halves(100);
  AdamW<float> one(whole.parameters), first(halves.parameters);
  one.load_state(one.state());  // also with empty slots
  whole.run(one, 0, 8);
  halves.run(first, 0, 4);
  AdamW<float> second(halves.parameters);
  auto saved = first.state();
  saved[0].exp_avg = saved[0].exp_avg.clone();
  saved[0].exp_avg_sq = saved[0].exp_avg_sq.clone();
  second.load_state(saved);
  halves.run(second, 4, 8);
  CHECK(halves.weights() == whole.weights());

  AdamW<float> other({{"v", Var<float>(Tensor<float>::ones({100}), true)}});
  CHECK_THROWS_WITH(other.load_state(saved), "AdamW::load_state: nothing is saved for the parameter 'v'");
  AdamW<float> smaller({{"w", Var<float>(Tensor<float>::ones({99}), true)}});
  CHECK_THROWS_WITH(smaller.load_state(saved), doctest::Contains("does not fit"));
  for (const std::int64_t step : {std::int64_t{-1}, (std::int64_t{1} << 53) + 1, std::numeric_limits<std::int64_t>::max()}) {
    auto broken = saved;
    broken[0].step = step;  // the largest value would overflow in the next step
    CHECK_THROWS_WITH(second.load_state(broken), doctest::Contains("steps, expected 0 to 9007199254740992"));
  }
  saved[0].exp_avg_sq = {};
  CHECK_THROWS_WITH(second.load_state(saved), doctest::Contains("does not fit"));
  CHECK_THROWS_AS(second.load_state({}), Error);
}

TEST_CASE("AdamW refuses senseless options") {
  const std::vector<NamedParameter<float>> w = {{"w", Var<float>(Tensor<float>::ones({2}), true)}};
  CHECK_THROWS_AS(AdamW<float>(w, {.lr = -1}), Error);
  CHECK_THROWS_AS(AdamW<float>(w, {.beta2 = 1.0}), Error);
  CHECK_THROWS_AS(AdamW<float>(w, {.eps = std::numeric_limits<double>::quiet_NaN()}), Error);
  CHECK_THROWS_WITH(AdamW<float>({w[0], w[0]}), "AdamW: two parameters are called 'w'");
  AdamW<float> optimizer(w);
  CHECK_THROWS_AS(optimizer.set_lr(std::numeric_limits<double>::infinity()), Error);
  CHECK_THROWS_AS(optimizer.set_lr(-1e-3), Error);
  CHECK(optimizer.lr() == 5e-5);
  optimizer.set_lr(1e-3);
  CHECK(optimizer.lr() == 1e-3);
}

TEST_CASE("a parameter under two names counts once in the norm") {
  const Var<double> w(Tensor<double>::ones({2}), true);
  std::vector<NamedParameter<double>> parameters = {{"a", w}, {"b", w}};
  const auto backward = [&] { add(w, w).backward(Tensor<double>::from({1.5, 2.0}, {2})); };
  backward();
  CHECK(clip_grad_norm(parameters, 0.5) == doctest::Approx(5.0));
  CHECK(w.grad().to_vector()[0] == doctest::Approx(0.3));
  parameters[0].var.clear_grad();
  backward();
  AdamW<double> optimizer(parameters, {});
  CHECK(optimizer.clip_and_step(0.5).item() == doctest::Approx(5.0));
}
