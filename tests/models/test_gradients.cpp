// SPDX-License-Identifier: MIT
// Whole models: gradients against central differences in double, and float against double.
#include "models/tiny.hpp"
#include "support/directions.hpp"

using namespace lexformer;

namespace {

const ForwardOptions with_dropout{.training = true, .seed = 4, .step = 3};

}  // namespace

TEST_CASE("models: gradients of every parameter against differences, with dropout") {
  test::for_each_variant([&](test::Variant v) {
    auto model = test::tiny_model<double>(v.options, v.edit);
    const auto batch = test::tiny_batch(model, 2, 5);
    const auto parameters = model.parameters();
    std::vector<Var<double>> leaves;
    for (const auto& p : parameters) leaves.push_back(p.var);
    const auto result = test::check_directions([&] { return model(batch, with_dropout).logits; }, leaves);
    CHECK_MESSAGE(result.ok, result.message);
  });
}

TEST_CASE("models: float gives what double gives, forward and gradients, with dropout") {
  test::for_each_variant([&](test::Variant v) {
    auto exact = test::tiny_model<double>(v.options, v.edit);
    auto model = test::tiny_model<float>(v.options, v.edit);
    const auto batch = test::tiny_batch(model);
    const auto loss = test::loss_of(model, batch, with_dropout);
    const auto exact_loss = test::loss_of(exact, batch, with_dropout);
    CHECK(loss.item() == doctest::Approx(exact_loss.item()).epsilon(1e-5));
    loss.backward();
    exact_loss.backward();
    const auto parameters = model.parameters();
    const auto exact_parameters = exact.parameters();
    REQUIRE(parameters.size() == exact_parameters.size());
    double overall = 0;
    for (const auto& p : exact_parameters)
      for (const double x : p.var.grad().span()) overall = std::max(overall, std::abs(x));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& g = parameters[i].var.grad();
      const auto& e = exact_parameters[i].var.grad();
      double largest = 0.02 * overall, worst = 0;  // the gradient of a key's bias is 0 up to rounding
      for (std::size_t k = 0; k < e.size(); ++k) {
        largest = std::max(largest, std::abs(e.data()[k]));
        worst = std::max(worst, std::abs(static_cast<double>(g.data()[k]) - e.data()[k]));
      }
      CHECK_MESSAGE(worst <= 1e-5 * largest, parameters[i].name << " is off by " << worst << ", the scale is " << largest);
    }
  });
}
