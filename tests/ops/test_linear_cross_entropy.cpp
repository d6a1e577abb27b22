// SPDX-License-Identifier: MIT
// linear_cross_entropy against its definition, cross_entropy(linear(...)), for several chunk sizes.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/linear_cross_entropy.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/matmul.hpp"

using namespace lexformer;
using test::error_message;
using test::max_error;
using test::random_tensor;
using test::same_bits;

namespace {

constexpr std::size_t case_rows = 23, case_width = 7, case_classes = 37;

std::vector<std::int32_t> some_labels(std::size_t count = case_rows) {
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>((5 * i + 3) % case_classes));
  return labels;
}

template <class T>
struct Inputs {
  Var<T> x, weight, bias;

  explicit Inputs(bool with_bias = true)
      : x(random_tensor<T>({case_rows, case_width}, 1), true),
        weight(random_tensor<T>({case_classes, case_width}, 2), true),
        bias(with_bias ? Var<T>(random_tensor<T>({case_classes}, 3), true) : Var<T>()) {}
};

}  // namespace

TEST_CASE("linear_cross_entropy: the definition, forward and gradients, for chunks of any size") {
  const auto labels = some_labels();
  for (const bool with_bias : {true, false}) {
    for (const std::size_t chunk : {0u, 1u, 2u, 5u, 22u, 23u, 24u, 1000u}) {
      CAPTURE(chunk);
      CAPTURE(with_bias);
      const Inputs<double> a(with_bias), b(with_bias);
      const auto loss = linear_cross_entropy(a.x, a.weight, a.bias, std::span(labels), {.chunk = chunk});
      const auto expected = cross_entropy(linear(b.x, b.weight, b.bias), std::span(labels));
      CHECK(std::abs(loss.item() - expected.item()) < 1e-14 * expected.item());
      scale(loss, 3.0).backward();
      scale(expected, 3.0).backward();
      CHECK(max_error(a.x.grad(), b.x.grad()) < 1e-14);
      CHECK(max_error(a.weight.grad(), b.weight.grad()) < 1e-14);
      if (with_bias) CHECK(max_error(a.bias.grad(), b.bias.grad()) < 1e-14);
    }
  }
}

TEST_CASE("linear_cross_entropy: gradients against central differences") {
  const auto labels = some_labels();
  for (const std::size_t chunk : {0u, 9u}) {
    const auto result = gradcheck(
        [&](const std::vector<Var<double>>& v) { return linear_cross_entropy(v[0], v[1], v[2], std::span(labels), {.chunk = chunk}); },
        {random_tensor({case_rows, case_width}, 1), random_tensor({case_classes, case_width}, 2), random_tensor({case_classes}, 3)});
    CHECK_MESSAGE(result.ok, result.message);
  }
}

TEST_CASE("linear_cross_entropy: float gives what double gives") {
  const auto labels = some_labels();
  const Inputs<float> a;
  const Inputs<double> b;
  const auto loss = linear_cross_entropy(a.x, a.weight, a.bias, std::span(labels), {.chunk = 6});
  const auto exact = linear_cross_entropy(b.x, b.weight, b.bias, std::span(labels), {.chunk = 6});
  CHECK(static_cast<double>(loss.item()) == doctest::Approx(exact.item()).epsilon(1e-6));
  loss.backward();
  exact.backward();
  CHECK(max_error(a.x.grad(), b.x.grad()) < 1e-6);
  CHECK(max_error(a.weight.grad(), b.weight.grad()) < 1e-6);
  CHECK(max_error(a.bias.grad(), b.bias.grad()) < 1e-6);
}

TEST_CASE("linear_cross_entropy: large logits neither overflow nor lose the small ones") {
  const Var<float> x(Tensor<float>::from({300.0f, -300.0f}, {2, 1}), true), weight(Tensor<float>::from({1.0f, -1.0f, 0.0f}, {3, 1}), true);
  const std::vector<std::int32_t> labels{1, 1};
  const auto loss = linear_cross_entropy(x, weight, Var<float>(), std::span(labels));
  CHECK(loss.item() == 300.0f);  // 600 and 0
  loss.backward();
  CHECK(max_error(x.grad(), Tensor<float>::from({1.0f, 0.0f}, {2, 1})) < 1e-30);
}

TEST_CASE("linear_cross_entropy: the same bits for any number of threads") {
  // Wide enough that products and rows are split into several blocks.
  const Shape in{150, 64}, table{900, 64};
  std::vector<std::int32_t> labels;
  for (std::int32_t i = 0; i < 150; ++i) labels.push_back(i * 6);
  std::vector<std::vector<Tensor<float>>> found;
  for (const int threads : {1, 2, 5}) {
    set_threads(threads);
    const Var<float> x(random_tensor<float>(in, 1), true), weight(random_tensor<float>(table, 2), true),
        bias(random_tensor<float>({900}, 3), true);
    const auto loss = linear_cross_entropy(x, weight, bias, std::span(std::as_const(labels)), {.chunk = 64});
    loss.backward();
    found.push_back({loss.value(), x.grad(), weight.grad(), bias.grad()});
  }
  set_threads(0);
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    CHECK(same_bits(found[0][i], found[1][i]));
    CHECK(same_bits(found[0][i], found[2][i]));
  }
}

TEST_CASE("linear_cross_entropy: only what is asked for is computed, and gradients add up") {
  const auto labels = some_labels();
  Inputs<double> a;
  const Inputs<double> b;
  a.weight.set_requires_grad(false);
  linear_cross_entropy(a.x, a.weight, a.bias, std::span(labels)).backward();
  linear_cross_entropy(b.x, b.weight, b.bias, std::span(labels)).backward();
  CHECK(same_bits(a.x.grad(), b.x.grad()));
  CHECK(same_bits(a.bias.grad(), b.bias.grad()));
  const auto once = b.weight.grad().clone();
  linear_cross_entropy(b.x, b.weight, b.bias, std::span(labels)).backward();
  for (std::size_t i = 0; i < once.size(); ++i) CHECK(b.weight.grad().data()[i] == 2 * once.data()[i]);
  {
    const NoGrad no_grad;
    CHECK_FALSE(linear_cross_entropy(b.x, b.weight, b.bias, std::span(labels)).requires_grad());
  }
  // A table that is both input and weight gets both gradients, as in a model with tied embeddings.
  const Var<double> tied(random_tensor({case_classes, case_width}, 2), true), same(random_tensor({case_classes, case_width}, 2), true);
  const auto many = some_labels(case_classes);
  linear_cross_entropy(tied, tied, Var<double>(), std::span(many), {.chunk = 10}).backward();
  cross_entropy(linear(same, same), std::span(many)).backward();
  CHECK(max_error(tied.grad(), same.grad()) < 1e-14);
}

TEST_CASE("linear_cross_entropy: a value that is not finite reaches the loss") {
  const auto labels = some_labels();
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Inputs<double> a;
    a.x.mutable_value().mutable_data()[3 * case_width] = bad;
    CHECK_FALSE(std::isfinite(linear_cross_entropy(a.x, a.weight, a.bias, std::span(labels), {.chunk = 2}).item()));
  }
}

TEST_CASE("linear_cross_entropy: what does not fit") {
  const Inputs<double> a;
  auto labels = some_labels();
  const auto message = [&](const Var<double>& x, const Var<double>& weight, const Var<double>& bias) {
    return error_message([&] { linear_cross_entropy(x, weight, bias, std::span(std::as_const(labels))); });
  };
  CHECK(message(a.bias, a.weight, a.bias) == "linear_cross_entropy: x (37,) and weight (37, 7); expected (rows, in) and (classes, in)");
  CHECK(message(a.x, a.x, a.bias) == "linear_cross_entropy: bias (37,) does not fit weight (23, 7)");
  CHECK(message(a.x, Var<double>(random_tensor({4, 6})), a.bias)
            .ends_with("x (23, 7) and weight (4, 6); expected (rows, in) and (classes, in)"));
  labels[4] = 37;
  CHECK(message(a.x, a.weight, a.bias) == "linear_cross_entropy: label 37 of row 4 is not one of the 37 classes");
  labels[4] = -100;
  CHECK(message(a.x, a.weight, a.bias) == "linear_cross_entropy: label -100 of row 4 is not one of the 37 classes");
  labels.pop_back();
  CHECK(message(a.x, a.weight, a.bias) == "linear_cross_entropy: x (23, 7) for 22 labels; expected one label per row");
  labels.clear();
  CHECK(message(Var<double>(Tensor<double>({0, case_width})), a.weight, a.bias) ==
        "linear_cross_entropy: x has no rows, so the mean loss is undefined");
}
