// SPDX-License-Identifier: MIT
// The LSTM against plain loops in both directions, its gradients; other sequences, threads, bfloat16, bad input.
#include "lexformer/ops/lstm.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/nn/lstm.hpp"

using namespace lexformer;
using test::error_message;
using test::max_error;
using test::random_tensor;

namespace {

const Offsets lstm_offsets = Offsets::from_lengths(std::vector<std::size_t>{3, 1, 9, 3, 5});

/// x, W_x, W_h, b for lstm_inputs of d numbers and n states.
std::vector<Tensor<double>> lstm_inputs(std::size_t d, std::size_t n, const Offsets& offsets = lstm_offsets) {
  return {random_tensor({offsets.tokens(), d}, 0), random_tensor({4 * n, d}, 1, 0.6), random_tensor({4 * n, n}, 2, 0.6),
          random_tensor({4 * n}, 3)};
}
template <class T>
std::vector<Var<T>> lstm_leaves(const std::vector<Tensor<double>>& x) {
  std::vector<Var<T>> v;
  for (const auto& t : x) v.emplace_back(cast<T>(Var<double>(t)).value().clone(), true);
  return v;
}
template <class T>
Var<T> of_batch(const std::vector<Var<T>>& v, bool reverse, const Offsets& offsets = lstm_offsets) {
  return lstm(v[0], offsets, v[1], v[2], v[3], reverse);
}
/// The states and all gradients for a random cotangent.
template <class T>
std::vector<Tensor<T>> lstm_outcome(const std::vector<Tensor<double>>& x, bool reverse) {
  const auto v = lstm_leaves<T>(x);
  const auto y = of_batch(v, reverse);
  y.backward(cast<T>(Var<double>(random_tensor(y.shape(), 9))).value().clone());
  std::vector<Tensor<T>> all{y.value()};
  for (const auto& leaf : v) all.push_back(leaf.grad());
  return all;
}

/// Token by token, as the formulas say.
Tensor<double> reference(const std::vector<Tensor<double>>& v, bool reverse) {
  const std::size_t d = v[0].dim(1), n = v[2].dim(1);
  Tensor<double> y({lstm_offsets.tokens(), n});
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (std::size_t s = 0; s < lstm_offsets.sequences(); ++s) {
    std::vector<double> h(n, 0.0), c(n, 0.0);
    for (std::size_t t = 0; t < lstm_offsets.length(s); ++t) {
      const std::size_t token = reverse ? lstm_offsets.begin(s + 1) - 1 - t : lstm_offsets.begin(s) + t;
      std::vector<double> sums;
      for (std::size_t k = 0; k < 4 * n; ++k) {
        double sum = v[3].data()[k];
        for (std::size_t j = 0; j < d; ++j) sum += v[1].at(k, j) * v[0].at(token, j);
        for (std::size_t j = 0; j < n; ++j) sum += v[2].at(k, j) * h[j];
        sums.push_back(sum);
      }
      for (std::size_t j = 0; j < n; ++j) {
        c[j] = sigmoid(sums[n + j]) * c[j] + sigmoid(sums[j]) * std::tanh(sums[2 * n + j]);
        h[j] = sigmoid(sums[3 * n + j]) * std::tanh(c[j]);
        y.mutable_data()[token * n + j] = h[j];
      }
    }
  }
  return y;
}

}  // namespace

TEST_CASE("lstm is what plain loops give, in both directions") {
  for (const bool reverse : {false, true})
    for (const std::size_t n : {1u, 4u, 33u}) {
      CAPTURE(reverse);
      CAPTURE(n);
      const auto x = lstm_inputs(3, n);
      CHECK(max_error(of_batch(lstm_leaves<double>(x), reverse).value(), reference(x, reverse)) < 1e-14);
      CHECK(max_error(of_batch(lstm_leaves<float>(x), reverse).value(), reference(x, reverse)) < 4e-6);
      CHECK(max_error(of_batch(lstm_leaves<bfloat16>(x), reverse).value(), reference(x, reverse)) < 0.05);
    }
}

TEST_CASE("lstm: gradients by finite differences, in float and bfloat16 those of double") {
  for (const bool reverse : {false, true}) {
    CAPTURE(reverse);
    const auto x = lstm_inputs(3, 4);
    const auto result = gradcheck([&](const std::vector<Var<double>>& v) { return of_batch(v, reverse); }, x);
    CHECK_MESSAGE(result.ok, result.message);
    const auto exact = lstm_outcome<double>(x, reverse);
    const auto single = lstm_outcome<float>(x, reverse);
    const auto half = lstm_outcome<bfloat16>(x, reverse);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      CAPTURE(i);
      CHECK(max_error(single[i], exact[i]) < 1e-5);
      CHECK(max_error(half[i], exact[i]) < 0.1);
    }
  }
  // One token each: there is no step whose gradient W_h could have.
  const auto single = Offsets::from_lengths(std::vector<std::size_t>{1, 1});
  const auto v = lstm_leaves<double>(lstm_inputs(3, 4, single));
  of_batch(v, false, single).backward(random_tensor({2, 4}));
  CHECK(max_error(v[2].grad(), Tensor<double>::zeros({16, 4})) == 0);
  CHECK(max_error(v[3].grad(), Tensor<double>::zeros({16})) > 1e-3);
  // Without bias, and with fixed weights.
  const auto parts = lstm_inputs(3, 4);
  const Var<double> input(parts[1]), hidden(parts[2]);
  const auto result = gradcheck([&](const std::vector<Var<double>>& u) { return lstm(u[0], lstm_offsets, input, hidden); }, {parts[0]});
  CHECK_MESSAGE(result.ok, result.message);
}

TEST_CASE("lstm: neither other sequences nor their order nor the number of threads changes a bit") {
  const auto x = lstm_inputs(5, 70);
  const auto all = lstm_outcome<float>(x, true);
  for (const int threads : {1, 2, 3}) {
    set_threads(threads);
    const auto again = lstm_outcome<float>(x, true);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(test::same_bits(again[i], all[i]));
  }
  set_threads(0);
  // The sequences in reverse order.
  const auto v = lstm_leaves<float>(x);
  std::vector<std::int32_t> rows;
  std::vector<std::size_t> lengths;
  for (std::size_t s = lstm_offsets.sequences(); s-- > 0;) {
    for (std::size_t i = lstm_offsets.begin(s); i < lstm_offsets.begin(s + 1); ++i) rows.push_back(static_cast<std::int32_t>(i));
    lengths.push_back(lstm_offsets.length(s));
  }
  const auto turned = lstm(select_rows(v[0], rows), Offsets::from_lengths(lengths), v[1], v[2], v[3], true);
  CHECK(max_error(turned.value(), select_rows(Var<float>(all[0]), rows).value()) < 1e-6);
  // A sequence alone.
  const auto alone = lstm(slice_rows(v[0], 4, 13), Offsets::from_lengths(std::vector<std::size_t>{9}), v[1], v[2], v[3], true);
  CHECK(max_error(alone.value(), all[0].slice(4, 13)) < 1e-6);
}

TEST_CASE("BiLstm: both directions side by side; last_states: each where it has read the sequence") {
  Init init(3);
  BiLstm<double> layer(3, 2, init);
  const auto parameters = named_parameters<double, Cpu>(layer);
  CHECK(parameters.size() == 8);
  CHECK(parameters[0].name == "forward.weight_ih");
  CHECK(parameters[7].name == "reverse.bias_hh");
  for (const auto& p : parameters)
    for (const double x : p.var.value().span()) CHECK(std::abs(x) <= std::sqrt(0.5));
  const Var<double> x(random_tensor({lstm_offsets.tokens(), 3}), true);
  const auto y = layer(x, lstm_offsets);
  CHECK(max_error(slice_columns(y, 0, 2).value(), layer.forward(x, lstm_offsets).value()) == 0);
  CHECK(max_error(slice_columns(y, 2, 4).value(), layer.reverse(x, lstm_offsets, true).value()) == 0);
  const auto last = last_states(y, lstm_offsets).value();
  for (std::size_t s = 0; s < lstm_offsets.sequences(); ++s)
    for (std::size_t j = 0; j < 4; ++j)
      CHECK(last.at(s, j) == y.value().at(j < 2 ? lstm_offsets.begin(s + 1) - 1 : lstm_offsets.begin(s), j));
  std::vector<Var<double>> all{x};
  for (const auto& p : parameters) all.push_back(p.var);
  const auto result = gradcheck([&] { return last_states(layer(x, lstm_offsets), lstm_offsets); }, all);
  CHECK_MESSAGE(result.ok, result.message);
}

TEST_CASE("lstm: what does not fit") {
  const auto v = lstm_leaves<double>(lstm_inputs(3, 4));
  CHECK(error_message([&] { lstm(v[0], lstm_offsets, v[1], v[1]); }) == "lstm: the weight of hidden states must be (4 H, H), got (16, 3)");
  CHECK(error_message([&] { lstm(v[0], lstm_offsets, v[0], v[2]); }) == "lstm: the weight of inputs must be (16, D), got (21, 3)");
  CHECK(error_message([&] { lstm(v[1], lstm_offsets, v[1], v[2]); }) == "lstm: x (16, 3) but the offsets have 21 tokens");
  CHECK(error_message([&] { lstm(v[0], lstm_offsets, v[2], v[2]); }).starts_with("linear: weight (16, 4)"));
  const Var<double> nothing(Tensor<double>({0, 3}));
  CHECK(error_message([&] { lstm(nothing, Offsets(), v[1], v[2]); }) == "lstm: the batch is empty");
  CHECK(error_message([&] { last_states(v[1], lstm_offsets); }) == "last_states: states (16, 3) but the offsets have 21 tokens");
  CHECK(error_message([&] { last_states(v[0], lstm_offsets); }) == "last_states: states must have two directions, (N, 2 H), got (21, 3)");
}
