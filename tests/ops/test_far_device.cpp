// SPDX-License-Identifier: MIT
// Ops access tensors only through kernels: on a device whose memory the host cannot read, each op has the bits of the CPU.
#include "../support/far_device.hpp"

#include <doctest/doctest.h>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/ops/additive_attention.hpp"
#include "lexformer/ops/attention.hpp"
#include "lexformer/ops/crf.hpp"
#include "lexformer/ops/dropout.hpp"
#include "lexformer/ops/feed_forward.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/linear_cross_entropy.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/lstm.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/operators.hpp"
#include "lexformer/ops/rotary.hpp"
#include "lexformer/ops/similarity_loss.hpp"
#include "lexformer/ops/window.hpp"

using namespace lexformer;
using test::error_message;
using test::random_tensor;

namespace {

const std::vector<std::int32_t> far_labels{2, 0, 1, 1, 2};
const Offsets far_offsets = Offsets::from_lengths(std::vector<std::size_t>{2, 1, 3});

/// The value of f and the gradients of its inputs.
template <class Dev, class F>
std::vector<std::vector<float>> outcome(const std::vector<Shape>& shapes, const F& f) {
  std::vector<Var<float, Dev>> v;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    v.emplace_back(random_tensor<float>(shapes[i], static_cast<std::uint32_t>(i)).template to<Dev>(), true);
  const auto y = f(v);
  y.backward(random_tensor<float>(y.shape(), 99).template to<Dev>());
  std::vector<std::vector<float>> all{y.value().to_vector()};
  for (const auto& x : v) all.push_back(x.grad().to_vector());
  return all;
}

template <class F>
void check_far(const char* name, const std::vector<Shape>& shapes, const F& f) {
  CAPTURE(name);
  CHECK(outcome<Far>(shapes, f) == outcome<Cpu>(shapes, f));
}

}  // namespace

TEST_CASE("ops have the same bits on a device whose memory the host cannot read") {
  const DropoutMask mask{0.3f, {5, 2, 1}};
  check_far("add", {{2, 3}, {2, 3}}, [](const auto& v) { return add(v[0], v[1]); });
  check_far("subtract, repeated", {{2, 1, 3}, {4, 1}}, [](const auto& v) { return subtract(v[0], v[1]); });
  check_far("multiply, repeated", {{2, 3}, {3}}, [](const auto& v) { return multiply(v[0], v[1]); });
  check_far("divide, repeated", {{2, 3}, {}}, [](const auto& v) { return divide(v[0], v[1]); });
  check_far("scale", {{5}}, [](const auto& v) { return add_scalar(scale(v[0], 3.0f), 1.0f); });
  check_far("gelu", {{5}}, [](const auto& v) { return gelu(gelu_tanh(v[0])); });
  check_far("operators", {{5}, {5}}, [](const auto& v) { return 1 - (2 * v[0] - v[1] / 3) * v[0] / (1 / v[1]) + 4; });
  check_far("exp", {{5}}, [](const auto& v) { return log(exp(v[0]) + sqrt(abs(v[0]))); });
  check_far("maximum", {{2, 3}, {3}}, [](const auto& v) { return maximum(v[0], v[1]) - minimum(v[1], v[0]); });
  check_far("where", {{2, 3}, {3}}, [](const auto& v) { return where(relu(v[0]).value(), v[1], v[0]); });
  check_far("relu", {{5}}, [](const auto& v) { return relu(sigmoid(tanh(v[0]))); });
  check_far("cast", {{5}}, [](const auto& v) { return cast<float>(cast<double>(v[0])); });
  check_far("dropout", {{50}}, [&](const auto& v) { return dropout(v[0], mask); });
  check_far("embedding", {{5, 3}}, [](const auto& v) { return embedding(v[0], {4, 0, 4, 2}); });
  check_far("embedding of nothing", {{5, 3}}, [](const auto& v) { return embedding(v[0], {}); });
  check_far("embedding_sum", {{3, 3}, {5, 3}, {2, 3}}, [](const auto& v) {
    using V = std::decay_t<decltype(v[0])>;
    using Dev = std::conditional_t<std::is_same_v<V, Var<float, Far>>, Far, Cpu>;
    return embedding_sum(v[0], std::vector<TableRows<float, Dev>>{{v[1], {4, 0, 4}}, {v[2], {1, 1, 0}}});
  });
  check_far("select_columns", {{3, 4}}, [](const auto& v) { return select_columns(v[0], {2, 0, 2, 3, 2}); });
  check_far("reshape", {{3, 4}}, [](const auto& v) { return slice_columns(slice_rows(reshape(v[0], {4, 3}), 1, 3), 0, 2); });
  check_far("concat", {{3, 4}, {2, 4}}, [](const auto& v) { return concat_columns(std::vector{concat_rows(v), concat_rows(v)}); });
  check_far("sequence_mean", {{6, 4}}, [](const auto& v) { return sequence_mean(v[0], far_offsets); });
  check_far("sequence_max", {{6, 4}}, [](const auto& v) { return sequence_max(v[0], far_offsets); });
  check_far("replace_rows", {{6, 4}, {2, 4}}, [](const auto& v) { return replace_rows(v[0], {5, 2}, v[1]); });
  check_far("matmul", {{3, 4}, {5, 4}}, [](const auto& v) { return matmul(v[0], v[1], {.transpose_b = true}); });
  check_far("matmul of batches", {{2, 3, 4}, {2, 5, 4}}, [](const auto& v) { return matmul(v[0], v[1], {.transpose_b = true}); });
  check_far("matmul of a batch and one matrix", {{3, 4}, {2, 4, 5}}, [](const auto& v) { return matmul(v[0], v[1]); });
  check_far("transpose", {{2, 3, 4}}, [](const auto& v) { return transpose(v[0]); });
  check_far("linear", {{3, 4}, {5, 4}, {5}}, [](const auto& v) { return linear(v[0], v[1], v[2]); });
  check_far("feed_forward", {{3, 4}, {6, 4}, {6}, {5, 6}, {5}}, [](const auto& v) { return feed_forward(v[0], v[1], v[2], v[3], v[4]); });
  check_far("rotary", {{4, 24}}, [](const auto& v) { return rotary(v[0], {0, 1, 2, 7}, 2, 50); });
  check_far("additive_attention", {{6, 10}, {6, 10}, {2, 5}, {6, 4}},
            [](const auto& v) { return additive_attention(v[0], v[1], v[2], v[3], far_offsets, 2); });
  for (const bool reverse : {false, true})
    check_far("lstm", {{6, 3}, {16, 3}, {16, 4}, {16}}, [=](const auto& v) { return lstm(v[0], far_offsets, v[1], v[2], v[3], reverse); });
  check_far("crf_loss", {{6, 3}, {3, 3}, {3}, {3}}, [](const auto& v) {
    const std::vector<std::int32_t> y{0, 2, 1, 1, 0, 2};
    CHECK(crf_decode(v[0], far_offsets, v[1], v[2], v[3]).size() == 6);
    return crf_loss(v[0], far_offsets, y, v[1], v[2], v[3]);
  });
  check_far("window", {{6, 4}}, [](const auto& v) { return window(v[0], far_offsets, 1, 2); });
  check_far("softmax", {{3, 4}}, [](const auto& v) { return log_softmax(softmax(v[0])); });
  check_far("row_max", {{3, 4}}, [](const auto& v) { return row_max(v[0]).values - row_min(v[0]).values; });
  check_far("embedding of indices from the device", {{3, 4}},
            [](const auto& v) { return embedding(transpose(v[0]), row_max(v[0]).indices); });
  check_far("log_sum_exp", {{3, 4}}, [](const auto& v) { return log_sum_exp(v[0]); });
  check_far("standardize", {{3, 4}}, [](const auto& v) { return standardize(v[0], {0.25}); });
  check_far("l2_normalize", {{3, 4}}, [](const auto& v) { return l2_normalize(v[0]); });
  check_far("layer_norm", {{3, 4}, {3, 4}, {4}, {4}},
            [&](const auto& v) { return residual_layer_norm(v[0], v[1], v[2], v[3], 1e-5f, mask, mask); });
  check_far("sum", {{3, 4}}, [](const auto& v) { return sum(v[0]); });
  check_far("mean", {{3, 4}}, [](const auto& v) { return mean(v[0]); });
  check_far("row_sum", {{3, 4}}, [](const auto& v) { return row_sum(v[0]); });
  check_far("column_sum", {{3, 4}}, [](const auto& v) { return column_sum(v[0]); });
  check_far("cross_entropy", {{5, 3}}, [](const auto& v) {
    return cross_entropy(v[0], std::span(far_labels), {.ignore_index = 1, .class_weights = {0.5, 2.0, 3.0}});
  });
  check_far("linear_cross_entropy", {{5, 4}, {3, 4}, {3}},
            [](const auto& v) { return linear_cross_entropy(v[0], v[1], v[2], std::span(far_labels), {.chunk = 2}); });
  check_far("mse_loss", {{5, 3}, {5, 3}}, [](const auto& v) { return mse_loss(v[0], v[1]); });
  check_far("cosine_similarity", {{5, 3}, {5, 3}}, [](const auto& v) { return cosine_similarity(v[0], v[1]); });
  check_far("token_similarity", {{6, 4}}, [](const auto& v) { return token_similarity(v[0], far_offsets); });
  check_far("head_similarity", {{3, 14}}, [](const auto& v) { return head_similarity(v[0], far_offsets); });
}

TEST_CASE("attention has the same bits on a device whose memory the host cannot read, with every term") {
  const std::vector<Shape> shapes = {{6, 18}, {2, 3}, {2, 5, 3}, {1, 5, 3}, {2, 4, 4}, {14}, {14}, {2, 14}};
  for (const auto attentions : {Attentions::scores, Attentions::probabilities})
    check_far("attention", shapes, [&](const auto& v) {
      auto terms = ScoreTerms<float, std::conditional_t<std::is_same_v<std::decay_t<decltype(v[0])>, Var<float, Far>>, Far, Cpu>>{};
      terms.lookups.push_back({v[1], std::vector<std::uint16_t>{0, 1, 2, 0, 1, 2, 2, 0, 1, 1, 1, 0, 2, 0}});
      const std::vector<std::int32_t> buckets{0, 1, 2, 3, 4};
      terms.relatives.push_back({v[2], buckets, false, 0.5f});
      terms.relatives.push_back({v[3], buckets, true, 0.7f});
      terms.position_bias = v[4];
      terms.gate = v[5];
      terms.add_pair_bias(v[6]);
      terms.add_pair_bias(v[7]);
      const auto y =
          attention(v[0], far_offsets, 2, terms, {.dropout = {0.2f, {1, 2, 3}}, .attentions = attentions, .attention_heads = {1}});
      return concat_rows(std::vector{reshape(y.context, {36, 1}), reshape(y.attentions, {14, 1})});
    });
}

TEST_CASE("what is wrong with numbers on a device is said as on the CPU") {
  const Var<float, Far> x(Tensor<float, Far>::zeros({2, 6}));
  CHECK(error_message([&] { embedding(x, {0, 1, 2, -1}); }) == "embedding: id 2 at position 2 is outside the table of 2 rows");
  const auto sum_of = [&](const Var<float, Far>& base, const Indices<std::int32_t, Far>& more, const Var<float, Far>& other) {
    return error_message([&] { embedding_sum(base, {TableRows<float, Far>{x, {0, 1}}, {other, more}}); });
  };
  const Var<float, Far> narrow(Tensor<float, Far>::zeros({2, 5}));
  CHECK(sum_of({}, {0, 1, 1}, x) == "embedding: 3 rows of the table (2, 6) cannot be added to 2 rows of the table (2, 6)");
  CHECK(sum_of({}, {0, 1}, narrow) == "embedding: 2 rows of the table (2, 5) cannot be added to 2 rows of the table (2, 6)");
  CHECK(sum_of({}, {0, 2}, x) == "embedding: id 2 at position 1 is outside the table of 2 rows");
  CHECK(sum_of(narrow, {0, 1}, x) == "embedding: the sum is (2, 6), but base is (2, 5)");
  CHECK(error_message([&] { embedding_sum(x, std::vector<TableRows<float, Far>>{}); }) == "embedding: there are 0 tables, expected 1 to 4");
  CHECK(error_message([&] { select_columns(x, {5, -3, 7}); }).starts_with("select_columns: column -3 is out of range for x"));
  CHECK(error_message([&] { rotary(x, {3, -2}, 1); }) == "rotary: position -2 is negative");
  CHECK(error_message([&] {
          rotary(x, {3, 2147483647}, 1);
        }) == "rotary: position 2147483647 is too large; the largest supported position is 1048575");
  const CheckFinite check;
  CHECK(error_message([&] { divide(x, x); }).find("divide: the result is not finite") != std::string::npos);
}
