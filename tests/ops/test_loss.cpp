// SPDX-License-Identifier: MIT
// cross_entropy: what it refuses. Its gradients are in test_gradients.cpp.
#include "lexformer/ops/loss.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"

using namespace lexformer;
using test::error_message;
using test::random_tensor;

TEST_CASE_TEMPLATE("cross_entropy: logits without classes are refused, even if no row counts", T, float, bfloat16) {
  const Var<T> logits(Tensor<T>::zeros({2, 0}), true);
  CHECK(error_message([&] {
          cross_entropy(logits, std::vector<std::int32_t>{-100, -100});
        }) == "cross_entropy: logits (2, 0) have no classes; expected at least one");
}

TEST_CASE("cross_entropy: class weights are finite and 0 or more, also those of classes without a row") {
  const Var<float> logits(random_tensor<float>({2, 3}), true);
  const auto message = [&](std::vector<double> weights) {
    return error_message([&] { cross_entropy(logits, std::vector<std::int32_t>{0, 1}, {.class_weights = weights}); });
  };
  using Limits = std::numeric_limits<double>;
  CHECK(message({1, -1, 1}) == "cross_entropy: the weight of class 1 is -1; expected a finite number of 0 or more");
  CHECK(message({1, 1, Limits::infinity()}) == "cross_entropy: the weight of class 2 is inf; expected a finite number of 0 or more");
  CHECK(message({Limits::quiet_NaN(), 1, 1}).starts_with("cross_entropy: the weight of class 0 is "));
  CHECK(message({1, 1e300, 1}).starts_with("cross_entropy: the weight of class 1 is "));  // infinite as float
  CHECK(message({0, 1, 1}) == "no error");
  // Rows of weight 0 are as rows that are ignored.
  const auto loss = cross_entropy(logits, std::vector<std::int32_t>{0, 1}, {.class_weights = {0, 0, 1}});
  CHECK(loss.item() == 0);
  loss.backward();
  for (const float g : logits.grad().span()) CHECK(g == 0);
}
