// SPDX-License-Identifier: MIT
// Ops against values computed by hand, at points where their results or derivatives are a matter of definition.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/operators.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/ops/window.hpp"

using namespace lexformer;
using test::error_message;
using test::max_error;
using test::random_tensor;

namespace {

using Values = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

Var<double> leaf(std::initializer_list<double> values) { return Var<double>(Tensor<double>::from(values), true); }
Var<double> leaf(std::initializer_list<double> values, Shape shape) { return Var<double>(Tensor<double>::from(values, shape), true); }
Values values_of(const Var<double>& x) { return x.value().to_vector(); }
Values gradient_of(const Var<double>& x) { return x.grad().to_vector(); }

}  // namespace

TEST_CASE("operators are the named ops") {
  const auto a = leaf({1, -2, 4}), b = leaf({2, 8, 0.5});
  CHECK(values_of(a + b) == Values{3, 6, 4.5});
  CHECK(values_of(a - b) == Values{-1, -10, 3.5});
  CHECK(values_of(a * b) == Values{2, -16, 2});
  CHECK(values_of(a / b) == Values{0.5, -0.25, 8});
  CHECK(values_of(-a) == Values{-1, 2, -4});
  CHECK(values_of(a + 1) == Values{2, -1, 5});
  CHECK(values_of(1 + a) == Values{2, -1, 5});
  CHECK(values_of(a - 1u) == Values{0, -3, 3});
  CHECK(values_of(1 - a) == Values{0, 3, -3});
  CHECK(values_of(2.5f * a) == Values{2.5, -5, 10});
  CHECK(values_of(a * 2.5) == Values{2.5, -5, 10});
  CHECK(values_of(a / 4) == Values{0.25, -0.5, 1});
  CHECK(values_of(4 / a) == Values{4, -2, 1});
  CHECK(values_of(a - leaf({1})) == Values{0, -3, 3});
  const Var<bfloat16> narrow(Tensor<bfloat16>::from({bfloat16(1.0f), bfloat16(3.0f)}));
  CHECK((0.5 * narrow - 2).value().to_vector() == std::vector<bfloat16>{bfloat16(-1.5f), bfloat16(-0.5f)});
}

TEST_CASE("maximum and minimum: a tie shares the gradient, a NaN stays") {
  const auto a = leaf({1, 5, 2}), b = leaf({3, 5, -2});
  sum(maximum(a, b) * leaf({10, 20, 30})).backward();
  CHECK(gradient_of(a) == Values{0, 10, 30});
  CHECK(gradient_of(b) == Values{10, 10, 0});
  const auto c = leaf({1, 5, 2}), d = leaf({3, 5, -2});
  sum(minimum(c, d) * leaf({10, 20, 30})).backward();
  CHECK(gradient_of(c) == Values{10, 10, 0});
  CHECK(gradient_of(d) == Values{0, 10, 30});
  for (const auto& y :
       {maximum(leaf({not_a_number, 1}), leaf({1, not_a_number})), minimum(leaf({not_a_number, 1}), leaf({1, not_a_number}))})
    for (const double x : values_of(y)) CHECK(std::isnan(x));
  CHECK(values_of(maximum(leaf({-infinity, 1}), leaf({0, infinity}))) == Values{0, infinity});
}

TEST_CASE("where: what is not taken does not count, in the value and in the gradient") {
  const auto a = leaf({1, not_a_number, infinity}), b = leaf({not_a_number, 2, -infinity});
  const auto y = where(Tensor<double>::from({1, 0, -0.5}), a, b);
  CHECK(values_of(y) == Values{1, 2, infinity});
  y.backward(Tensor<double>::from({10, 20, 30}));
  CHECK(gradient_of(a) == Values{10, 0, 30});
  CHECK(gradient_of(b) == Values{0, 20, 0});
  const auto row = leaf({1, 2}), column = leaf({3, 4, 5}, {3, 1}), scalar = leaf({9}, {});
  CHECK(where(Tensor<double>::from({1, 0}), column, scalar).value().to_vector() == Values{3, 9, 4, 9, 5, 9});
  CHECK(where(Tensor<double>::from({1, 0, 1}, {3, 1}), row, scalar).value().to_vector() == Values{1, 2, 9, 9, 1, 2});
  CHECK(error_message([&] { where(Tensor<double>(), row, row); }) == "where: the condition is undefined");
  CHECK(error_message([&] { where(Tensor<double>::ones({3}), row, row); }).starts_with("where: shapes (3,) and (2,) do not broadcast"));
}

TEST_CASE("exp, log, sqrt and abs at their ends") {
  const auto x = leaf({0, 4, 1});
  sum(sqrt(x)).backward();
  CHECK(gradient_of(x) == Values{infinity, 0.25, 0.5});
  const auto z = leaf({-3, 0, 2});
  const auto y = abs(z);
  CHECK(values_of(y) == Values{3, 0, 2});
  sum(y).backward();
  CHECK(gradient_of(z) == Values{-1, 0, 1});
  const auto l = leaf({0, 1, 2});
  CHECK(values_of(log(l))[0] == -infinity);
  CHECK(std::isnan(values_of(log(leaf({-1})))[0]));
  CHECK(std::isnan(values_of(sqrt(leaf({-1})))[0]));
  sum(log(l)).backward();
  CHECK(gradient_of(l) == Values{infinity, 1, 0.5});
  CHECK(values_of(exp(leaf({0, -infinity, infinity}))) == Values{1, 0, infinity});
  CHECK(exp(Var<float>(Tensor<float>::from({-1000.0f, 1000.0f}))).value().to_vector() ==
        std::vector<float>{0, std::numeric_limits<float>::infinity()});
}

TEST_CASE("row_max and row_min: the first of equal numbers, a NaN before all") {
  const auto x = leaf({3, 7, 7, 1, 1, 2, not_a_number, 9, not_a_number}, {3, 3});
  const auto most = row_max(x), least = row_min(x);
  CHECK(values_of(most.values)[0] == 7);
  CHECK(values_of(least.values)[1] == 1);
  CHECK(std::isnan(values_of(most.values)[2]));
  CHECK(std::isnan(values_of(least.values)[2]));
  CHECK(most.indices.to_vector() == std::vector<std::int32_t>{1, 2, 0});
  CHECK(least.indices.to_vector() == std::vector<std::int32_t>{0, 0, 0});
  CHECK(most.indices.within(3));
  most.values.backward(Tensor<double>::from({10, 20, 30}));
  CHECK(gradient_of(x) == Values{0, 10, 0, 0, 0, 20, 30, 0, 0});
  CHECK(row_max(leaf({4, 5})).values.shape() == Shape{});
  CHECK(error_message([] { row_max(leaf({1}, {})); }) == "row_max: needs a last axis of at least one element, got shape ()");
  CHECK(error_message([] { row_min(leaf({}, {2, 0})); }) == "row_min: needs a last axis of at least one element, got shape (2, 0)");
}

TEST_CASE("log_sum_exp: large numbers, and rows of infinities") {
  const auto x = leaf({1000, 1000, -infinity, -infinity, infinity, 1, -1000, -infinity}, {4, 2});
  const auto y = log_sum_exp(x);
  CHECK(values_of(y) == Values{1000 + std::log(2.0), -infinity, infinity, -1000});
  y.backward(Tensor<double>::ones({4}));
  const auto g = gradient_of(x);
  CHECK(g[0] == doctest::Approx(0.5));
  CHECK(g[2] == 0);
  CHECK(g[3] == 0);
  CHECK(g[6] == 1);
  CHECK(g[7] == 0);
  const auto f = Var<float>(Tensor<float>::from({200.0f, -200.0f, 0.0f}));
  CHECK(log_sum_exp(f).item() == 200.0f);
  CHECK(error_message([] { log_sum_exp(leaf({}, {2, 0})); }) == "log_sum_exp: needs a last axis of at least one element, got shape (2, 0)");
}

TEST_CASE_TEMPLATE("softmax and log_softmax: rows without an element are refused", T, float, double, bfloat16) {
  const Var<T> rows(Tensor<T>::zeros({2, 0})), scalar(Tensor<T>::zeros({})), none(Tensor<T>::zeros({0, 2}));
  CHECK(error_message([&] { softmax(rows); }) == "softmax: needs a last axis of at least one element, got shape (2, 0)");
  CHECK(error_message([&] { log_softmax(rows); }) == "log_softmax: needs a last axis of at least one element, got shape (2, 0)");
  CHECK(error_message([&] { softmax(scalar); }) == "softmax: needs a last axis of at least one element, got shape ()");
  CHECK(log_softmax(none).shape() == Shape{0, 2});
}

TEST_CASE("standardize: mean 0, unbiased deviation 1 but for eps, and a constant row") {
  const auto x = leaf({1, 2, 3, 6});
  const auto y = values_of(standardize(x, 1e-6));
  const double s = std::sqrt(14.0 / 3);  // squares of -2, -1, 0, 3 over n - 1
  for (std::size_t j = 0; j < 4; ++j) CHECK(y[j] == doctest::Approx(std::vector<double>{-2, -1, 0, 3}[j] / (s + 1e-6)).epsilon(1e-14));
  const auto constant = leaf({5, 5, 5});
  const auto zero = standardize(constant, 1e-6);
  CHECK(values_of(zero) == Values{0, 0, 0});
  CHECK(error_message([&] { standardize(leaf({1}), 1e-6); }).starts_with("standardize: needs rows of at least 2 elements"));
  CHECK(error_message([&] { standardize(x, 0.0); }).starts_with("standardize: needs rows of at least 2 elements and a positive eps"));
}

TEST_CASE("l2_normalize: rows of length 1, and what it does to a row of zeros") {
  const auto x = leaf({3, 4, 0, 0, 0.3, 0.4}, {3, 2});
  const auto y = l2_normalize(x, 1.0);
  CHECK(max_error(y.value(), Tensor<double>::from({0.6, 0.8, 0, 0, 0.3, 0.4}, {3, 2})) < 1e-15);
  y.backward(Tensor<double>::from({1, 0, 5, 6, 1, 0}, {3, 2}));
  CHECK(max_error(x.grad(), Tensor<double>::from({0.128, -0.096, 5, 6, 1, 0}, {3, 2})) < 1e-15);
  CHECK(values_of(l2_normalize(leaf({0, 0}))) == Values{0, 0});
  CHECK(error_message([&] { l2_normalize(x, 0.0); }) == "l2_normalize: eps must be positive, got 0");
}

TEST_CASE("transpose changes the last two axes") {
  const auto x = random_tensor({2, 40, 70});
  const auto y = transpose(Var<double>(x)).value();
  CHECK(y.shape() == Shape{2, 70, 40});
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 40; ++i)
      for (std::size_t j = 0; j < 70; ++j) REQUIRE(y.at(b, j, i) == x.at(b, i, j));
  CHECK(transpose(Var<double>(Tensor<double>({3, 0, 2}))).shape() == Shape{3, 2, 0});
  CHECK(error_message([] { transpose(leaf({1, 2})); }) == "transpose: needs at least two axes, got shape (2,)");
}

TEST_CASE("matmul of batches is matmul of each matrix, and of one matrix with all") {
  for (const std::size_t batch : {std::size_t{1}, std::size_t{3}, std::size_t{40}}) {
    const Var<double> a(random_tensor({batch, 5, 4}, 1)), b(random_tensor({batch, 4, 6}, 2));
    const auto y = matmul(a, b), one_a = matmul(slice_rows(reshape(a, {batch * 5, 4}), 0, 5), b),
               one_b = matmul(a, reshape(slice_rows(b, 0, 1), {4, 6}));
    CHECK(y.shape() == Shape{batch, 5, 6});
    for (std::size_t i = 0; i < batch; ++i) {
      const auto at = [](const Var<double>& x, std::size_t s, Shape shape) { return reshape(slice_rows(x, s, s + 1), shape); };
      const auto ai = at(a, i, {5, 4}), bi = at(b, i, {4, 6});
      CHECK(max_error(at(y, i, {5, 6}).value(), matmul(ai, bi).value()) == 0);
      CHECK(max_error(at(one_a, i, {5, 6}).value(), matmul(at(a, 0, {5, 4}), bi).value()) == 0);
      CHECK(max_error(at(one_b, i, {5, 6}).value(), matmul(ai, at(b, 0, {4, 6})).value()) < 1e-15);
    }
    CHECK(max_error(matmul(a, b, {.scale = -2}).value(), scale(y, -2).value()) == 0);
  }
  const auto message = [](Shape a, Shape b) {
    return error_message([&] { matmul(Var<double>(Tensor<double>::zeros(a)), Var<double>(Tensor<double>::zeros(b))); });
  };
  CHECK(message({2, 3, 4}, {3, 4, 5}) ==
        "matmul: the leading axes differ: (2, 3, 4) x (3, 4, 5); they must be equal, or one side a single matrix");
  CHECK(message({1, 2, 3, 4}, {2, 4, 5}).starts_with("matmul: the leading axes differ"));
  CHECK(message({2, 3, 4}, {2, 3, 5}) == "matmul: inner sizes differ: (2, 3, 4) x (2, 3, 5)");
  CHECK(message({3, 4}, {5, 4}) == "matmul: inner sizes differ: (3, 4) x (5, 4); did you mean the other transpose_b?");
  CHECK(message({4}, {4, 5}) == "matmul: needs two matrices, or batches of them, got (4,) x (4, 5)");
}

TEST_CASE("sequence_max: the first token that has the largest number gets the gradient") {
  const auto offsets = Offsets::from_lengths(std::vector<std::size_t>{3, 1});
  const auto x = leaf({1, 5, 4, 5, 4, -1, -7, -8}, {4, 2});
  const auto y = sequence_max(x, offsets);
  CHECK(values_of(y) == Values{4, 5, -7, -8});
  y.backward(Tensor<double>::from({10, 20, 30, 40}, {2, 2}));
  CHECK(gradient_of(x) == Values{0, 20, 10, 0, 0, 0, 30, 40});
  CHECK(error_message([&] { sequence_max(leaf({1, 2}, {2, 1}), offsets); }) == "sequence_max: x (2, 1) but the offsets have 4 tokens");
}

TEST_CASE("window: the rows around each token, zeros outside of its sequence") {
  const auto offsets = Offsets::from_lengths(std::vector<std::size_t>{3, 1});
  const auto x = leaf({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  const auto y = window(x, offsets, 1, 2);
  CHECK(y.shape() == Shape{4, 8});
  CHECK(values_of(y) == Values{0, 0, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 0, 0, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 7, 8, 0, 0, 0, 0});
  y.backward(Tensor<double>::ones({4, 8}));
  CHECK(gradient_of(x) == Values{2, 2, 3, 3, 3, 3, 1, 1});
  CHECK(values_of(window(x, offsets, 0, 0)) == values_of(x));
  CHECK(values_of(window(x, offsets, 2, 0)) == Values{0, 0, 0, 0, 1, 2, 0, 0, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 7, 8});
  CHECK(error_message([&] { window(leaf({1, 2}, {2, 1}), offsets, 1, 1); }) == "window: x (2, 1) but the offsets have 4 tokens");
}

TEST_CASE("select_rows names itself in its errors") {
  const auto x = leaf({1, 2, 3, 4}, {2, 2});
  CHECK(values_of(select_rows(x, {1, 0, 1})) == Values{3, 4, 1, 2, 3, 4});
  CHECK(error_message([&] { select_rows(x, {0, 2}); }) == "select_rows: id 2 at position 1 is outside the table of 2 rows");
  CHECK(error_message([&] { select_rows(leaf({1, 2}), {0}); }) == "select_rows: the table must be (V, D), got (2,)");
  CHECK(error_message([&] { embedding(x, {0, 2}); }) == "embedding: id 2 at position 1 is outside the table of 2 rows");
}

TEST_CASE("replace_rows: x keeps its own rows, and no row is named twice") {
  const auto x = leaf({1, 2, 3, 4, 5, 6}, {3, 2}), values = leaf({10, 20, 30, 40}, {2, 2});
  const auto y = replace_rows(x, {2, 0}, values);
  CHECK(values_of(y) == Values{30, 40, 3, 4, 10, 20});
  CHECK(values_of(x) == Values{1, 2, 3, 4, 5, 6});
  y.backward(Tensor<double>::from({1, 2, 3, 4, 5, 6}, {3, 2}));
  CHECK(gradient_of(x) == Values{0, 0, 3, 4, 0, 0});
  CHECK(gradient_of(values) == Values{5, 6, 1, 2});
  CHECK(error_message([&] { replace_rows(x, {1, 1}, values); }) == "replace_rows: row 1 is given more than once");
  CHECK(error_message([&] { replace_rows(x, {1, 3}, values); }) == "replace_rows: row 3 is out of range for x (3, 2)");
  CHECK(error_message([&] { replace_rows(x, {1, -1}, values); }) == "replace_rows: row -1 is out of range for x (3, 2)");
  CHECK(error_message([&] { replace_rows(x, {1}, values); }) ==
        "replace_rows: 1 rows of x (3, 2) need values of the same number of rows and columns, got (2, 2)");
}

TEST_CASE("linear: layers whose weights are slices of one tensor give what separate ones give, and add to a gradient that is there") {
  const auto x_value = random_tensor<double>({3, 4}, 1), w = random_tensor<double>({5, 4}, 2), b = random_tensor<double>({5}, 3);
  for (const bool frozen : {false, true}) {  // one of the weights
    std::vector<std::vector<Values>> results;
    for (const bool slices : {false, true}) {
      const auto part = [&](const Tensor<double>& t, std::size_t begin, std::size_t end, bool trained = true) {
        return Var<double>(slices ? t.slice(begin, end) : t.slice(begin, end).clone(), trained);
      };
      const Var<double> x(x_value, true);
      const std::vector weights{part(w, 0, 2), part(w, 2, 5, !frozen)}, biases{part(b, 0, 2), part(b, 2, 5)};
      const auto y = linear(x, weights, biases);
      sum(y * y).backward();
      (sum(x * x) + sum(linear(x, weights, biases))).backward();  // x has a gradient before linear adds its own
      results.push_back({values_of(y), gradient_of(x), gradient_of(weights[0]), frozen ? Values{} : gradient_of(weights[1]),
                         gradient_of(biases[0]), gradient_of(biases[1])});
    }
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      REQUIRE(results[0][i].size() == results[1][i].size());
      for (std::size_t e = 0; e < results[0][i].size(); ++e) CHECK(std::abs(results[0][i][e] - results[1][i][e]) < 1e-12);
    }
  }
}

TEST_CASE("linear: no layers are refused") {
  CHECK(error_message([] {
          linear(leaf({1, 2}, {1, 2}), std::vector<Var<double>>{}, std::vector<Var<double>>{});
        }) == "linear: there are no weights; expected one or more layers");
}

TEST_CASE("linear: the gradient of a value that others share is not written to") {
  const auto w = leaf({1, 2, 3, 4}, {2, 2});
  auto x = leaf({5, 6}, {1, 2});
  const auto gradient = Tensor<double>::from({10, 20}, {1, 2});
  x.set_grad(gradient);
  sum(linear(x, w)).backward();
  CHECK(gradient_of(x) == Values{14, 26});
  CHECK(gradient.to_vector() == Values{10, 20});
}

TEST_CASE("layer_norm: the same bits and gradients, whichever inputs have gradients") {
  const auto x = random_tensor({4, 10}, 1), residual = random_tensor({4, 10}, 2), gamma = random_tensor({10}, 3),
             beta = random_tensor({10}, 4);
  const auto run = [&](int wanted) {
    std::vector<Var<double>> v;
    for (const auto* t : {&x, &residual, &gamma, &beta}) v.emplace_back(*t, (wanted >> v.size() & 1) != 0);
    const auto y = residual_layer_norm(v[0], v[1], v[2], v[3], 1e-5);
    if (wanted != 0) y.backward(random_tensor({4, 10}, 5));
    return std::pair(y.value(), v);
  };
  const auto [expected, all] = run(15);
  for (int wanted = 0; wanted < 15; ++wanted) {
    CAPTURE(wanted);
    const auto [y, v] = run(wanted);
    CHECK(max_error(y, expected) == 0);
    for (std::size_t i = 0; i < v.size(); ++i)
      if (v[i].requires_grad()) CHECK(max_error(v[i].grad(), all[i].grad()) == 0);
  }
}
