// SPDX-License-Identifier: MIT
// The ops on the device: code above the kernels accesses memory only through them, so results equal those of the CPU.
#include "lexformer/ops/additive_attention.hpp"
#include "lexformer/ops/dropout.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/linear_cross_entropy.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/lstm.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/operators.hpp"
#include "lexformer/ops/rotary.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/ops/similarity_loss.hpp"
#include "lexformer/ops/window.hpp"
#include "lexformer/train/optimizer.hpp"
#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// Three training steps of a model of nearly all ops except attention: the losses and the final parameters.
template <class T, class Dev>
std::vector<T> train() {
  const std::size_t d = 12;
  std::vector<NamedParameter<T, Dev>> parameters;
  const auto parameter = [&](const std::string& name, Shape shape) {
    const auto values = random_tensor<T>(shape, static_cast<std::uint32_t>(parameters.size()), 0.3);
    Var<T, Dev> var(values.template to<Dev>(), true);
    parameters.push_back({name, var});
    return var;
  };
  const auto table = parameter("table", {20, d}), gamma = parameter("gamma", {d}), beta = parameter("beta", {d});
  const auto q = parameter("q", {d, d}), k = parameter("k", {d, d}), v = parameter("v", {d, d}), bias = parameter("bias", {d});
  const auto dense = parameter("dense", {2 * d, 3 * d}), classes = parameter("classes", {5, 2 * d}), gate = parameter("gate", {10, 1});
  const auto vocabulary = parameter("vocabulary", {20, d}), vocabulary_bias = parameter("vocabulary_bias", {20});
  const auto additive = parameter("additive", {3, d / 3});
  const auto input = parameter("input", {4 * d, 3 * d}), states = parameter("states", {4 * d, d}), gates = parameter("gates", {4 * d});
  AdamW<T, Dev> optimizer(parameters, {.lr = 0.05, .weight_decay = 0.1});

  const auto offsets = Offsets::from_lengths(std::vector<std::size_t>{4, 1, 5});
  const Indices<std::int32_t, Dev> ids(random_ids(10, 20)), positions(std::vector<std::int32_t>{0, 1, 2, 3, 0, 0, 1, 2, 3, 4});
  const std::vector<std::int32_t> labels = {3, -100, 1}, words = random_ids(10, 20, 1);
  std::vector<T> result;
  for (std::uint32_t step = 0; step < 3; ++step) {
    const DropoutMask mask{0.2f, {1, step, 2}};
    const auto x = residual_layer_norm(embedding(table, ids), dropout(embedding(table, ids), mask), gamma, beta, T(1e-5), mask);
    const auto qkv = rotary(linear(x, {q, k, v}, {bias, bias, Var<T, Dev>{}}), positions, 2);
    const auto mixed = matmul(softmax(scale(matmul(slice_columns(qkv, 0, d), slice_columns(qkv, d, 2 * d), {.transpose_b = true}), T(0.3))),
                              slice_columns(qkv, 2 * d, 3 * d));
    const auto hidden = gelu(linear(concat_columns(std::vector{x, multiply(mixed, sigmoid(gate)), tanh(mixed)}), dense));
    const auto pooled = sequence_mean(hidden, offsets);
    auto loss = cross_entropy(linear(pooled, classes), labels, {.class_weights = {1, 2, 1, 0.5, 1}});
    loss = add(loss, linear_cross_entropy(x, vocabulary, vocabulary_bias, words));
    loss = add(loss, scale(token_similarity(hidden, offsets), T(0.1)));
    loss = add(loss, mean(cosine_similarity(slice_rows(x, 0, 5), slice_rows(x, 5, 10))));
    loss = subtract(loss, scale(mse_loss(log_softmax(mixed), relu(gelu_tanh(x))), T(0.01)));
    loss = add(loss, scale(sum(divide(row_sum(x), add_scalar(multiply(row_sum(x), row_sum(x)), T{1}))), T(0.01)));
    loss = add(loss, mean(multiply(concat_rows(std::vector{slice_rows(x, 3, 4), x}),
                                   column_sum(select_columns(hidden, {1, 3, 3, 0, 2, 4, 5, 6, 7, 8, 9, 11})))));
    const auto pairs = reshape(x, {2, 5, d});
    const auto scores = matmul(l2_normalize(pairs), transpose(pairs));
    loss = loss + mean(log_sum_exp(scores)) / 10 + 0.1 * mean(row_max(scores).values * row_min(scores).values);
    loss = loss + mean(maximum(sequence_max(hidden, offsets), exp(-abs(pooled)))) - 1;
    const auto squares = x * x, replaced = replace_rows(squares, {3, 0}, slice_rows(squares, 8, 10));
    loss = loss + mean(where(relu(x).value(), log(1 + squares), sqrt(minimum(squares, replaced) + 2)));
    loss = loss + mean(squares * additive_attention(slice_columns(qkv, 0, d), x, additive, mixed, offsets, 3));
    loss = loss + mean(squares * lstm(window(mixed, offsets, 1, 1), offsets, input, states, gates, step % 2 == 1));
    loss.backward();
    result.push_back(loss.value().item());
    result.push_back(static_cast<T>(clip_grad_norm(parameters, 1.0)));
    optimizer.step();
  }
  for (const auto& p : parameters) {
    const auto values = p.var.value().to_vector();
    result.insert(result.end(), values.begin(), values.end());
  }
  return result;
}

}  // namespace

TEST_CASE("cuda: three training steps give what they give on the CPU, the same bits in any order of threads") {
  compare<double>([](auto device) { return train<double, decltype(device)>(); }, 1e-9);
  compare<float>([](auto device) { return train<float, decltype(device)>(); }, 1e-3);
}
