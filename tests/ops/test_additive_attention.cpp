// SPDX-License-Identifier: MIT
// Additive attention against plain loops, and its gradients; the ranges of its two formulas of tanh; memory; bfloat16; bad input.
#include "lexformer/ops/additive_attention.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "../reference/additive_reference.hpp"
#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/elementwise.hpp"

using namespace lexformer;
using test::max_error;
using test::random_tensor;

namespace {

const Offsets four_sequences = Offsets::from_lengths(std::vector<std::size_t>{3, 1, 18, 7});

/// Random keys, queries, weights and values; `size` = the standard deviation of keys and queries.
std::vector<Tensor<double>> inputs(std::size_t heads, std::size_t a, std::size_t d, std::size_t weight_rows, double size = 1) {
  const std::size_t n = four_sequences.tokens();
  return {random_tensor({n, heads * a}, 0, size), random_tensor({n, heads * a}, 1, size), random_tensor({weight_rows, a}, 2),
          random_tensor({n, heads * d}, 3)};
}

template <class T>
Var<T> of_batch(const std::vector<Var<T>>& v, std::size_t heads) {
  return additive_attention(v[0], v[1], v[2], v[3], four_sequences, heads);
}
template <class T>
std::vector<Var<T>> leaves(const std::vector<Tensor<double>>& x) {
  std::vector<Var<T>> v;
  for (const auto& t : x) v.emplace_back(cast<T>(Var<double>(t)).value().clone(), true);
  return v;
}
/// The output and all gradients for a random cotangent.
template <class T>
std::vector<Tensor<T>> outcome(const std::vector<Var<T>>& v, std::size_t heads) {
  const auto y = of_batch(v, heads);
  y.backward(cast<T>(Var<float>(random_tensor<float>(y.shape(), 9))).value().clone());
  std::vector<Tensor<T>> all{y.value()};
  for (const auto& x : v) all.push_back(x.grad());
  return all;
}

}  // namespace

TEST_CASE("additive attention is what plain loops give, for features that fill vectors or do not") {
  for (const std::size_t heads : {1u, 2u, 3u})
    for (const std::size_t a : {1u, 3u, 8u, 21u, 32u})
      for (const bool shared : {true, false}) {
        CAPTURE(heads);
        CAPTURE(a);
        const auto x = inputs(heads, a, 5, shared ? 1 : heads);
        const auto expected = test::additive_reference(x[0], x[1], x[2], x[3], four_sequences, heads);
        CHECK(max_error(of_batch(leaves<double>(x), heads).value(), expected) < 1e-14);
        CHECK(max_error(of_batch(leaves<float>(x), heads).value(), expected) < 4e-6);
      }
}

TEST_CASE("additive attention: gradients, of moderate numbers and of ones whose exponentials overflow") {
  for (const double size : {0.5, 30.0})
    for (const bool shared : {true, false}) {
      CAPTURE(size);
      const auto x = inputs(2, 5, 3, shared ? 1 : 2, size);
      const auto result = gradcheck([](const std::vector<Var<double>>& v) { return of_batch(v, 2); }, x);
      CHECK_MESSAGE(result.ok, result.message);
      CHECK(max_error(of_batch(leaves<double>(x), 2).value(), test::additive_reference(x[0], x[1], x[2], x[3], four_sequences, 2)) < 1e-14);
      const auto exact = outcome(leaves<double>(x), 2);
      const auto found = outcome(leaves<float>(x), 2);
      for (std::size_t i = 0; i < exact.size(); ++i) CHECK(max_error(found[i], exact[i]) < 2e-5);
    }
}

TEST_CASE("additive attention: a sequence with huge numbers next to others, whose bits do not change") {
  auto x = inputs(2, 5, 3, 2);
  const auto before = of_batch(leaves<float>(x), 2).value();
  for (const double huge : {25.0, -25.0, 90.0, 1e30, -1e30, std::numeric_limits<double>::infinity()}) {
    CAPTURE(huge);
    x[0].mutable_data()[4 * 10 + 3] = huge;                                       // the first token of the third sequence, head 0
    x[1].mutable_data()[5 * 10 + 3] = std::abs(huge) < 1e6 ? -0.75 - huge : -25;  // their sum is moderate, or huge
    const auto after = of_batch(leaves<float>(x), 2).value();
    if (std::abs(huge) < 1e6) CHECK(max_error(after, test::additive_reference(x[0], x[1], x[2], x[3], four_sequences, 2)) < 4e-6);
    for (std::size_t i = 0; i < four_sequences.tokens(); ++i)
      for (std::size_t e = 0; e < 6; ++e) {
        CHECK(scalar::finite(after.at(i, e)));
        if (i < 4 || i >= 22 || e >= 3) CHECK(after.at(i, e) == before.at(i, e));
      }
  }
}

TEST_CASE("additive attention: a NaN spreads over its sequence and head only") {
  auto x = inputs(2, 5, 3, 2);
  x[0].mutable_data()[4 * 10 + 3] = std::numeric_limits<double>::quiet_NaN();
  const auto y = of_batch(leaves<float>(x), 2).value();
  for (std::size_t i = 0; i < four_sequences.tokens(); ++i)
    for (std::size_t e = 0; e < 6; ++e) CHECK(std::isnan(y.at(i, e)) == (i >= 4 && i < 22 && e < 3));
}

TEST_CASE("tanh by exponentials of each term: error in float") {
  double worst_product = 0, worst_sum = 0;
  for (double p = -19; p <= 19; p += 0.0371)
    for (const double sum : {-9.0, -3.3, -1.0, -0.21, -1e-3, 0.0, 1e-5, 0.1, 0.7, 2.0, 5.1, 12.0}) {
      const auto x = static_cast<float>(p), y = static_cast<float>(sum - p);
      const double exact = std::tanh(static_cast<double>(x) + static_cast<double>(y));
      float product = 0;
      detail::TanhOfProduct::apply(detail::TanhOfProduct::prepare(x), detail::TanhOfProduct::prepare(y), product);
      worst_product = std::max(worst_product, std::abs(1 - 2 * static_cast<double>(product) - exact));
      worst_sum = std::max(worst_sum, std::abs(static_cast<double>(scalar::tanh(x + y)) - exact));
    }
  CAPTURE(worst_sum);
  CHECK(worst_product < 4e-7);
}

TEST_CASE("additive attention: the same bits for any number of threads") {
  const auto x = inputs(3, 21, 5, 3);
  std::vector<std::vector<Tensor<float>>> by_threads;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    by_threads.push_back(outcome(leaves<float>(x), 3));
  }
  set_threads(0);
  for (const auto& found : by_threads)
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(test::same_bits(found[i], by_threads[0][i]));
}

TEST_CASE("additive attention in bfloat16: within the rounding of its results") {
  const auto narrow = leaves<bfloat16>(inputs(2, 21, 5, 2));
  std::vector<Var<double>> wide;  // the same numbers
  for (const auto& v : narrow) wide.emplace_back(cast<double>(cast<float>(v)).value().clone(), true);
  const auto y = of_batch(narrow, 2);
  const auto exact = of_batch(wide, 2);
  const auto cotangent = cast<bfloat16>(Var<float>(random_tensor<float>(y.shape(), 9)));
  y.backward(cotangent.value().clone());
  exact.backward(cast<double>(cast<float>(cotangent)).value().clone());
  const auto in_double = [](const Tensor<bfloat16>& t) { return cast<double>(cast<float>(Var<bfloat16>(t))).value(); };
  CHECK(max_error(in_double(y.value()), exact.value()) < 0.004);  // half a step is 2^-9 = 0.002
  for (std::size_t i = 0; i < wide.size(); ++i) CHECK(max_error(in_double(narrow[i].grad()), wide[i].grad()) < 0.004);
}

TEST_CASE("additive attention keeps the probabilities, and no tensor of all pairs and features") {
  const std::size_t n = 64, heads = 2, a = 32, row = heads * a;
  const auto one = Offsets::from_lengths(std::vector<std::size_t>{n});
  const Var<float> keys(random_tensor<float>({n, row}), true), queries(random_tensor<float>({n, row}, 1), true),
      weights(random_tensor<float>({1, a}, 2), true), values(random_tensor<float>({n, row}, 3), true);
  auto cotangent = random_tensor<float>({n, row}, 4);
  const std::size_t before = Memory<Cpu>::in_use(), page = 4096;  // the most that rounding adds to a block
  Memory<Cpu>::reset_peak();
  const auto y = additive_attention(keys, queries, weights, values, one, heads);
  const std::size_t map = heads * n * n * sizeof(float), rows = n * row * sizeof(float);
  CHECK(Memory<Cpu>::peak() - before <= map + rows + 2 * page);
  y.backward(std::move(cotangent));
  CHECK(Memory<Cpu>::peak() - before <= map + 4 * rows + 8 * page);
  CHECK(map + 4 * rows + 8 * page < n * n * a * sizeof(float));
}

TEST_CASE("additive attention refuses shapes that do not match, and values that changed before backward") {
  const auto x = inputs(2, 4, 3, 2);
  const auto message = [&](std::size_t which, Shape shape, std::size_t heads = 2) {
    auto v = leaves<double>(x);
    v[which] = Var<double>(Tensor<double>::zeros(shape));
    return test::error_message([&] { of_batch(v, heads); });
  };
  CHECK(message(0, {29, 7}) == "additive_attention: keys must be (N, H x) with H = 2 heads, got (29, 7)");
  CHECK(message(0, {29, 0}) == "additive_attention: keys must be (N, H x) with H = 2 heads, got (29, 0)");
  CHECK(message(0, {29, 4, 2}) == "additive_attention: keys must be (N, H x) with H = 2 heads, got (29, 4, 2)");
  CHECK(message(0, {28, 8}) == "additive_attention: keys (28, 8) but the offsets have 29 tokens");
  CHECK(message(1, {29, 6}) == "additive_attention: queries (29, 6) but keys (29, 8)");
  CHECK(message(2, {3, 4}) == "additive_attention: weights must be (1 or 2, 4), got (3, 4)");
  CHECK(message(2, {2, 5}) == "additive_attention: weights must be (1 or 2, 4), got (2, 5)");
  CHECK(message(2, {4}) == "additive_attention: weights must be (1 or 2, 4), got (4,)");
  CHECK(message(3, {29, 7}) == "additive_attention: values must be (N, H x) with H = 2 heads, got (29, 7)");
  CHECK(message(3, {30, 6}) == "additive_attention: values (30, 6) but the offsets have 29 tokens");
  CHECK(message(3, {29, 6}, 0) == "additive_attention: keys must be (N, H x) with H = 0 heads, got (29, 8)");
  const Var<double> none(Tensor<double>::zeros({0, 8}));
  CHECK(test::error_message([&] { additive_attention(none, none, Var<double>(x[2]), none, Offsets(), 2); }) ==
        "additive_attention: the batch is empty");
  for (std::size_t which = 0; which < 4; ++which) {
    auto v = leaves<double>(x);
    const auto y = of_batch(v, 2);
    v[which].mutable_value().mutable_data()[0] = 0;
    CHECK(test::error_message([&] { y.backward(Tensor<double>::ones(y.shape())); }).find("was changed in place") != std::string::npos);
  }
}
