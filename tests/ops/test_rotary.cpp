// SPDX-License-Identifier: MIT
// rotary at far positions. Its gradient is in test_gradients.cpp, its meaning in tests/attention/test_positions.cpp.
#include "lexformer/ops/rotary.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "../support/random_tensor.hpp"
#include "lexformer/core/bfloat16.hpp"
#include "lexformer/ops/index.hpp"

using namespace lexformer;
using test::random_tensor;
using test::same_bits;

TEST_CASE_TEMPLATE("rotary: a few tokens at far positions turn as among all tokens", T, float, double, bfloat16) {
  const auto qkv = cast<T>(Var<double>(random_tensor({300, 24})));
  std::vector<std::int32_t> all(300);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
  const std::vector<std::int32_t> few{299, 7, 0, 299, 31};
  const auto dy = cast<T>(Var<double>(random_tensor({5, 24}, 1)));
  const Var<T> x(select_rows(qkv, few).value(), true), y(qkv.value(), true);
  const auto alone = rotary(x, few, 2), among = select_rows(rotary(y, all, 2), few);
  CHECK(same_bits(alone.value(), among.value()));
  alone.backward(dy.value());
  among.backward(dy.value());
  for (const std::size_t i : {1u, 2u, 4u})  // 299 occurs twice: its gradients are added
    CHECK(same_bits(slice_rows(Var<T>(x.grad()), i, i + 1).value(),
                    slice_rows(Var<T>(y.grad()), static_cast<std::size_t>(few[i]), static_cast<std::size_t>(few[i]) + 1).value()));
}

TEST_CASE("rotary: a token at a far position takes no memory for those before it") {
  const Var<float> x(random_tensor<float>({1, 3 * 64}), true);
  Memory<Cpu>::reset_peak();
  const std::size_t before = Memory<Cpu>::peak();
  const auto y = rotary(x, {1048575}, 1);
  CHECK(Memory<Cpu>::peak() - before < 64 * 1024);
  const double angle = 1048575 * std::pow(10000.0, -2.0 / 64), c = std::cos(angle), s = std::sin(angle);
  const auto at = [&](std::size_t j) { return static_cast<double>(x.value().at(0, j)); };
  CHECK(static_cast<double>(y.value().at(0, 2)) == doctest::Approx(at(2) * c - at(3) * s).epsilon(1e-5));
  CHECK(static_cast<double>(y.value().at(0, 3)) == doctest::Approx(at(3) * c + at(2) * s).epsilon(1e-5));
  CHECK(rotary(Var<float>(Tensor<float>({0, 6})), {}, 1).shape() == Shape{0, 6});
}
