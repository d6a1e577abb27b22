// SPDX-License-Identifier: MIT
// The float functions against the standard library in double, on dense grids, with the error bounds stated in scalar.hpp.
#include "lexformer/kernels/scalar.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

using namespace lexformer;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();

/// max error(x) over about 200,000 floats from low to high, inclusive.
template <class F>
double worst(float low, float high, F&& error) {
  constexpr int steps = 200000;
  double most = std::max(error(low), error(high));
  for (int i = 1; i < steps; ++i) {
    const double e = error(low + (high - low) * (static_cast<float>(i) / steps));
    if (!(e <= most)) most = e;
  }
  return most;
}
double relative(float approximate, double exact) { return std::abs(static_cast<double>(approximate) - exact) / std::abs(exact); }
double absolute(float approximate, double exact) { return std::abs(static_cast<double>(approximate) - exact); }

double cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double pdf(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::acos(-1.0)); }

}  // namespace

TEST_CASE("exp in float") {
  const auto error = [](float x) { return relative(scalar::exp(x), std::exp(static_cast<double>(x))); };
  CHECK(worst(-87.3f, 88.3f, error) < 2e-7);
  CHECK(worst(-1.0f, 1.0f, error) < 2e-7);
  CHECK(scalar::exp(0.0f) == 1.0f);
  CHECK(scalar::exp(-88.0f) == scalar::exp(-87.3f));
  CHECK(scalar::exp(-infinity) == scalar::exp(-87.3f));
  CHECK(scalar::exp(100.0f) == scalar::exp(88.3f));
  CHECK(scalar::exp(infinity) == scalar::exp(88.3f));
  CHECK(std::isnan(scalar::exp(not_a_number)));
}

TEST_CASE("the op exp in float: zero and infinity at the ends") {
  const scalar::Exp op;
  const auto error = [&](float x) { return relative(op(x), std::exp(static_cast<double>(x))); };
  CHECK(worst(-87.3f, 88.72f, error) < 3e-7);
  CHECK(op(0.0f) == 1.0f);
  CHECK(op(-88.0f) == 0.0f);
  CHECK(op(-infinity) == 0.0f);
  CHECK(op(88.73f) == infinity);
  CHECK(op(infinity) == infinity);
  CHECK(std::isnan(op(not_a_number)));
}

TEST_CASE("tanh in float") {
  const auto error = [](float x) { return x == 0.0f ? 0.0 : relative(scalar::tanh(x), std::tanh(static_cast<double>(x))); };
  CHECK(worst(-12.0f, 12.0f, error) < 4e-7);
  CHECK(worst(-0.7f, 0.7f, error) < 4e-7);
  CHECK(worst(-1e-4f, 1e-4f, error) < 4e-7);
  CHECK(scalar::tanh(0.0f) == 0.0f);
  CHECK(scalar::tanh(100.0f) == 1.0f);
  CHECK(scalar::tanh(infinity) == 1.0f);
  CHECK(scalar::tanh(-infinity) == -1.0f);
  CHECK(std::isnan(scalar::tanh(not_a_number)));
}

TEST_CASE("the normal distribution in float") {
  const auto tail = [](float x) { return relative(scalar::normal(x).cdf, cdf(static_cast<double>(x))); };
  const auto density = [](float x) { return relative(scalar::normal(x).pdf, pdf(static_cast<double>(x))); };
  CHECK(worst(-4.0f, 0.0f, tail) < 1e-6);
  CHECK(worst(-13.0f, 0.0f, tail) < 6e-6);
  CHECK(worst(-4.0f, 4.0f, density) < 1e-6);
  CHECK(worst(-13.0f, 13.0f, density) < 6e-6);
  CHECK(worst(-20.0f, 20.0f, [](float x) { return absolute(scalar::normal(x).cdf, cdf(static_cast<double>(x))); }) < 2e-7);
  CHECK(scalar::normal(infinity).cdf == 1.0f);
  CHECK(scalar::normal(-infinity).cdf == 0.0f);
  CHECK(std::isnan(scalar::normal(not_a_number).cdf));
  CHECK(std::isnan(scalar::normal(not_a_number).pdf));
}

TEST_CASE("GELU and its derivative in float") {
  // Relative to max(1, |x|), since y approaches x for large x.
  const auto gelu = [](float x) {
    const auto exact = static_cast<double>(x);
    return absolute(scalar::Gelu{}(x), exact * cdf(exact)) / std::max(1.0, std::abs(exact));
  };
  const auto gradient = [](float x) {
    const auto exact = static_cast<double>(x);
    return absolute(scalar::GeluGrad{}(1.0f, x), cdf(exact) + exact * pdf(exact));
  };
  CHECK(worst(-20.0f, 20.0f, gelu) < 2e-7);
  CHECK(worst(-20.0f, 20.0f, gradient) < 3e-7);
  CHECK(scalar::Gelu{}(1000.0f) == 1000.0f);
  CHECK(std::abs(scalar::Gelu{}(-1000.0f)) < 1e-35f);
  CHECK(scalar::GeluGrad{}(3.0f, 1000.0f) == 3.0f);
  CHECK(std::isnan(scalar::Gelu{}(not_a_number)));
  CHECK(std::isnan(scalar::GeluGrad{}(1.0f, not_a_number)));

  // The approximation differs from the exact function by up to 5e-4, so a mix-up is detected.
  const auto approximation = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
  };
  const auto gelu_tanh = [&](float x) {
    return absolute(scalar::GeluTanh{}(x), approximation(static_cast<double>(x))) / std::max(1.0, std::abs(static_cast<double>(x)));
  };
  CHECK(worst(-20.0f, 20.0f, gelu_tanh) < 4e-7);
  CHECK(worst(-3.0f, 3.0f, [](float x) { return absolute(scalar::GeluTanh{}(x), static_cast<double>(scalar::Gelu{}(x))); }) > 4e-4);
}

TEST_CASE("sigmoid in float") {
  const auto error = [](float x) { return relative(scalar::sigmoid(x), 1.0 / (1.0 + std::exp(-static_cast<double>(x)))); };
  CHECK(worst(-86.0f, 86.0f, error) < 4e-7);
  CHECK(scalar::sigmoid(0.0f) == 0.5f);
  CHECK(scalar::sigmoid(infinity) == 1.0f);
  CHECK(scalar::sigmoid(-infinity) < 1e-38f);
  CHECK(std::isnan(scalar::sigmoid(not_a_number)));
}

TEST_CASE("relu keeps NaN; its derivative at 0 is 0") {
  CHECK(scalar::Relu{}(-1.0f) == 0.0f);
  CHECK(scalar::Relu{}(2.0f) == 2.0f);
  CHECK(scalar::Relu{}(infinity) == infinity);
  CHECK(std::isnan(scalar::Relu{}(not_a_number)));
  CHECK(scalar::ReluGrad{}(5.0f, 0.0f) == 0.0f);
  CHECK(scalar::ReluGrad{}(5.0f, 2.0f) == 5.0f);
}

TEST_CASE("in double the standard functions are used") {
  for (double x = -9; x < 9; x += 0.37) {
    CHECK(scalar::exp(x) == std::exp(x));
    CHECK(scalar::tanh(x) == std::tanh(x));
    CHECK(std::abs(scalar::normal(x).cdf - cdf(x)) <= 1e-15 * cdf(x) + 1e-16);
    CHECK(std::abs(scalar::normal(x).pdf - pdf(x)) <= 1e-15);
  }
}
