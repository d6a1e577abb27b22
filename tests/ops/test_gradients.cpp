// SPDX-License-Identifier: MIT
// For every op: gradients against central differences in double, and float against double.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/additive_attention.hpp"
#include "lexformer/ops/dropout.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/feed_forward.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/lstm.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/operators.hpp"
#include "lexformer/ops/rotary.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/ops/window.hpp"

using namespace lexformer;
using test::max_error;
using test::random_tensor;

namespace {

/// One op on inputs of the given shapes, in double and in float.
struct Case {
  std::string name;
  std::vector<Shape> shapes;
  std::function<Var<double>(const std::vector<Var<double>>&)> f64;
  std::function<Var<float>(const std::vector<Var<float>>&)> f32;
};

#define CASE(name, shapes, body) \
  Case { name, std::vector<Shape> shapes, [](const auto&v) body, [](const auto&v) body }

const Offsets& offsets() {
  static const Offsets o = Offsets::from_lengths(std::vector<std::size_t>{2, 1, 4});
  return o;
}
/// A pattern of 0 and 1, in alternating runs of 2 and 3.
template <class V>
auto condition(const V& like, Shape shape) {
  using T = typename std::decay_t<decltype(like)>::value_type;
  Tensor<T> t(shape);
  for (std::size_t i = 0; i < t.size(); ++i) t.mutable_data()[i] = static_cast<T>(i % 5 < 2);
  return t;
}
template <class T>
Var<T> sum_of_rows(const std::type_identity_t<Var<T>>& base, const std::vector<Var<T>>& tables,
                   const std::vector<std::vector<std::int32_t>>& ids) {
  std::vector<TableRows<T, Cpu>> lookups;
  for (std::size_t k = 0; k < tables.size(); ++k) lookups.push_back({tables[k], ids[k]});
  return embedding_sum(base, lookups);
}
const DropoutMask mask{0.3f, {5, 2, 1}};

std::vector<Case> cases() {
  std::vector<Case> list;
  const std::vector<std::pair<Shape, Shape>> broadcasts = {{{3, 4}, {3, 4}}, {{3, 4}, {4}}, {{3, 1}, {1, 4}}, {{2, 3, 4}, {3, 1}},
                                                           {{}, {2, 3}},     {{2, 3}, {}},  {{1}, {1}},       {{0, 3}, {3}}};
  for (const auto& [a, b] : broadcasts) {
    list.push_back(CASE(cat("add ", a, b), ({a, b}), { return add(v[0], v[1]); }));
    list.push_back(CASE(cat("subtract ", a, b), ({a, b}), { return subtract(v[0], v[1]); }));
    list.push_back(CASE(cat("multiply ", a, b), ({a, b}), { return multiply(v[0], v[1]); }));
    list.push_back(CASE(cat("divide ", a, b), ({a, b}), { return divide(v[0], add_scalar(multiply(v[1], v[1]), {1})); }));
    list.push_back(CASE(cat("maximum ", a, b), ({a, b}), { return maximum(v[0], v[1]); }));
    list.push_back(CASE(cat("minimum ", a, b), ({a, b}), { return minimum(v[0], v[1]); }));
    list.push_back(CASE(cat("where ", a, b), ({a, b}), { return where(condition(v[0], v[1].shape()), v[0], v[1]); }));
    list.push_back(CASE(cat("operators ", a, b), ({a, b}), { return (v[0] - v[1]) * v[0] + v[1] / (v[0] * v[0] + 1) - (-v[1]); }));
  }
  for (const Shape& s : {Shape{}, Shape{1}, Shape{7}, Shape{3, 37}, Shape{0}}) {
    list.push_back(CASE(cat("gelu ", s), ({s}), { return gelu(v[0]); }));
    list.push_back(CASE(cat("gelu_tanh ", s), ({s}), { return gelu_tanh(v[0]); }));
    list.push_back(CASE(cat("tanh ", s), ({s}), { return tanh(v[0]); }));
    list.push_back(CASE(cat("sigmoid ", s), ({s}), { return sigmoid(v[0]); }));
    list.push_back(CASE(cat("relu ", s), ({s}), { return relu(v[0]); }));
    list.push_back(CASE(cat("scale ", s), ({s}), { return scale(v[0], {3}); }));
    list.push_back(CASE(cat("add_scalar ", s), ({s}), { return add_scalar(v[0], {3}); }));
    list.push_back(CASE(cat("exp ", s), ({s}), { return exp(v[0]); }));
    list.push_back(CASE(cat("log ", s), ({s}), { return log(v[0] * v[0] + 0.5); }));
    list.push_back(CASE(cat("sqrt ", s), ({s}), { return sqrt(v[0] * v[0] + 0.5); }));
    list.push_back(CASE(cat("abs ", s), ({s}), { return abs(v[0]); }));
    list.push_back(CASE(cat("operators with numbers ", s), ({s}), { return 2 - 3 * v[0] / 4 + 1 / (1.5 + v[0] * v[0] * 0.25) - 5; }));
    list.push_back(CASE(cat("sum ", s), ({s}), { return sum(v[0]); }));
    list.push_back(CASE(cat("dropout ", s), ({s}), { return dropout(v[0], mask); }));
    list.push_back(CASE(cat("reshape ", s), ({s}), { return reshape(v[0], {v[0].size(), 1}); }));
  }
  for (const Shape& s : {Shape{1, 1}, Shape{3, 5}, Shape{2, 3, 19}, Shape{4, 33}}) {
    const Shape d{s.last()};
    list.push_back(CASE(cat("softmax ", s), ({s}), { return softmax(v[0]); }));
    list.push_back(CASE(cat("log_softmax ", s), ({s}), { return log_softmax(v[0]); }));
    list.push_back(CASE(cat("log_sum_exp ", s), ({s}), { return log_sum_exp(v[0]); }));
    if (s.last() > 1) list.push_back(CASE(cat("standardize ", s), ({s}), { return standardize(v[0], {0.25}); }));
    list.push_back(CASE(cat("l2_normalize ", s), ({s}), { return l2_normalize(v[0]); }));
    list.push_back(CASE(cat("l2_normalize of short rows ", s), ({s}), { return l2_normalize(v[0], {100}); }));
    list.push_back(CASE(cat("row_max ", s), ({s}), { return row_max(v[0]).values; }));
    list.push_back(CASE(cat("row_min ", s), ({s}), { return row_min(v[0]).values; }));
    list.push_back(CASE(cat("transpose ", s), ({s}), { return transpose(v[0]); }));
    list.push_back(CASE(cat("mean ", s), ({s}), { return mean(v[0]); }));
    list.push_back(CASE(cat("row_sum ", s), ({s}), { return row_sum(v[0]); }));
    list.push_back(CASE(cat("column_sum ", s), ({s}), { return column_sum(v[0]); }));
    list.push_back(CASE(cat("layer_norm ", s), ({s, d, d}), { return layer_norm(v[0], v[1], v[2], {1}); }));
    list.push_back(CASE(cat("residual_layer_norm ", s), ({s, s, d, d}), { return residual_layer_norm(v[0], v[1], v[2], v[3], {1}); }));
    list.push_back(
        CASE(cat("residual_layer_norm dropout ", s), ({s, s, d, d}), { return residual_layer_norm(v[0], v[1], v[2], v[3], {1}, mask); }));
    list.push_back(CASE(cat("residual_layer_norm of both dropouts ", s), ({s, s, d, d}),
                        { return residual_layer_norm(v[0], v[1], v[2], v[3], {1}, mask, mask); }));
    list.push_back(CASE(cat("layer_norm dropout ", s), ({s, d, d}), { return layer_norm(v[0], v[1], v[2], {1}, mask); }));
    list.push_back(CASE(cat("same input twice ", s), ({s, d, d}), { return residual_layer_norm(v[0], v[0], v[1], v[2], {1}); }));
  }
  list.push_back(CASE("matmul nn", ({{3, 4}, {4, 5}}), { return matmul(v[0], v[1]); }));
  list.push_back(CASE("matmul nt", ({{3, 4}, {5, 4}}), { return matmul(v[0], v[1], {.transpose_b = true}); }));
  list.push_back(CASE("matmul tn", ({{4, 3}, {4, 5}}), { return matmul(v[0], v[1], {.transpose_a = true}); }));
  list.push_back(CASE("matmul tt", ({{4, 3}, {5, 4}}), { return matmul(v[0], v[1], {.transpose_a = true, .transpose_b = true}); }));
  list.push_back(CASE("matmul with a scale", ({{3, 4}, {5, 4}}), { return matmul(v[0], v[1], {.transpose_b = true, .scale = -1.7}); }));
  list.push_back(CASE("matmul of batches with a scale", ({{2, 3, 4}, {2, 4, 5}}), { return matmul(v[0], v[1], {.scale = 0.3}); }));
  list.push_back(
      CASE("matmul of one matrix and a batch with a scale", ({{3, 4}, {2, 4, 5}}), { return matmul(v[0], v[1], {.scale = 2}); }));
  list.push_back(CASE("matmul 1", ({{1, 1}, {1, 1}}), { return matmul(v[0], v[1]); }));
  list.push_back(CASE("matmul of itself", ({{3, 3}}), { return matmul(v[0], v[0]); }));
  for (const bool many_a : {false, true})
    for (const bool many_b : {false, true}) {
      const auto shape = [](bool many, std::size_t rows, std::size_t columns) {
        return many ? Shape{2, 3, rows, columns} : Shape{rows, columns};
      };
      const auto a = shape(many_a, 3, 4), at = shape(many_a, 4, 3), b = shape(many_b, 4, 5), bt = shape(many_b, 5, 4);
      list.push_back(CASE(cat("matmul nn ", a, b), ({a, b}), { return matmul(v[0], v[1]); }));
      list.push_back(CASE(cat("matmul nt ", a, bt), ({a, bt}), { return matmul(v[0], v[1], {.transpose_b = true}); }));
      list.push_back(CASE(cat("matmul tn ", at, b), ({at, b}), { return matmul(v[0], v[1], {.transpose_a = true}); }));
      list.push_back(
          CASE(cat("matmul tt ", at, bt), ({at, bt}), { return matmul(v[0], v[1], {.transpose_a = true, .transpose_b = true}); }));
    }
  list.push_back(CASE("matmul of no matrices", ({{0, 3, 4}, {0, 4, 2}}), { return matmul(v[0], v[1]); }));
  list.push_back(CASE("matmul of no matrices with one", ({{3, 4}, {0, 4, 2}}), { return matmul(v[0], v[1]); }));
  list.push_back(CASE("matmul of empty matrices", ({{2, 3, 0}, {2, 0, 4}}), { return matmul(v[0], v[1]); }));
  list.push_back(CASE("linear", ({{7, 4}, {5, 4}, {5}}), { return linear(v[0], v[1], v[2]); }));
  list.push_back(CASE("linear without bias", ({{7, 4}, {5, 4}}), { return linear(v[0], v[1]); }));
  list.push_back(CASE("feed_forward", ({{7, 4}, {6, 4}, {6}, {5, 6}, {5}}), { return feed_forward(v[0], v[1], v[2], v[3], v[4]); }));
  list.push_back(CASE("linear side by side", ({{7, 4}, {5, 4}, {5}, {2, 4}, {2}, {3, 4}, {3}}), {
    return linear(v[0], std::vector{v[1], v[3], v[5]}, std::vector{v[2], v[4], v[6]});
  }));
  list.push_back(CASE("embedding", ({{5, 3}}), { return embedding(v[0], {4, 0, 4, 2}); }));
  list.push_back(CASE("embedding of nothing", ({{5, 3}}), { return embedding(v[0], {}); }));
  list.push_back(CASE("embedding_sum", ({{4, 3}, {5, 3}, {2, 3}, {9, 3}}), {
    using Rows = std::decay_t<decltype(v)>;
    return sum_of_rows(v[0], Rows{v[1], v[2], v[3]}, {{4, 0, 4, 2}, {1, 1, 0, 1}, {8, 8, 8, 0}});
  }));
  list.push_back(CASE("embedding_sum without base", ({{5, 3}, {2, 3}}), {
    using Rows = std::decay_t<decltype(v)>;
    return sum_of_rows({}, Rows{v[0], v[1], v[0]}, {{4, 0, 4, 2}, {1, 1, 0, 1}, {0, 1, 2, 3}});
  }));
  list.push_back(CASE("slice_rows", ({{5, 3}}), { return slice_rows(v[0], 1, 4); }));
  list.push_back(CASE("select_columns", ({{3, 4}}), { return select_columns(v[0], {2, 0, 2, 3, 2}); }));
  list.push_back(CASE("rotary", ({{4, 24}}), { return rotary(v[0], {0, 1, 2, 7}, 2, 50); }));
  list.push_back(
      CASE("additive_attention", ({{7, 6}, {7, 6}, {2, 3}, {7, 4}}), { return additive_attention(v[0], v[1], v[2], v[3], offsets(), 2); }));
  list.push_back(CASE("slice_columns", ({{5, 4}}), { return slice_columns(v[0], 1, 3); }));
  list.push_back(CASE("concat_rows", ({{2, 3}, {1, 3}}), { return concat_rows(std::vector{v[0], v[1], v[0]}); }));
  list.push_back(CASE("concat_columns", ({{2, 3}, {2, 1}}), { return concat_columns(std::vector{v[0], v[1], v[0]}); }));
  list.push_back(CASE("replace_rows", ({{5, 3}, {2, 3}}), { return replace_rows(v[0], {4, 1}, v[1]); }));
  list.push_back(CASE("replace_rows by rows of itself", ({{5, 3}}), { return replace_rows(v[0], {4, 1}, slice_rows(v[0], 0, 2)); }));
  list.push_back(CASE("replace_rows by nothing", ({{5, 3}, {0, 3}}), { return replace_rows(v[0], {}, v[1]); }));
  list.push_back(CASE("sequence_max", ({{7, 3}}), { return sequence_max(v[0], offsets()); }));
  list.push_back(CASE("window", ({{7, 3}}), { return window(v[0], offsets(), 1, 2); }));
  list.push_back(CASE("window of later tokens", ({{7, 3}}), { return window(v[0], offsets(), 0, 9); }));
  list.push_back(CASE("lstm", ({{7, 3}, {8, 3}, {8, 2}, {8}}), { return lstm(v[0], offsets(), v[1], v[2], v[3]); }));
  list.push_back(CASE("lstm in reverse", ({{7, 3}, {8, 3}, {8, 2}}), { return lstm(v[0], offsets(), v[1], v[2], {}, true); }));
  list.push_back(CASE("sequence_mean", ({{7, 3}}), { return sequence_mean(v[0], offsets()); }));
  list.push_back(CASE("cross_entropy", ({{4, 3}}), { return cross_entropy(v[0], std::vector<std::int32_t>{0, 2, 1, 2}); }));
  list.push_back(CASE("cross_entropy weights and ignore", ({{4, 3}}), {
    return cross_entropy(v[0], std::vector<std::int32_t>{0, -100, 1, 2}, {.class_weights = {0.5, 2.0, 3.0}});
  }));
  list.push_back(CASE("cross_entropy all ignored", ({{1, 3}}), { return cross_entropy(v[0], std::vector<std::int32_t>{-100}); }));
  list.push_back(CASE("mse_loss", ({{4, 3}, {4, 3}}), { return mse_loss(v[0], v[1]); }));
  list.push_back(CASE("cosine_similarity", ({{4, 5}, {4, 5}}), { return cosine_similarity(v[0], v[1]); }));
  list.push_back(CASE("cast", ({{4, 5}}), { return cast<typename std::decay_t<decltype(v[0])>::value_type>(v[0]); }));
  return list;
}

}  // namespace

TEST_CASE("every op has the gradient of its value") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    std::vector<Tensor<double>> x;
    for (const Shape& s : c.shapes) x.push_back(random_tensor(s, static_cast<std::uint32_t>(x.size())));
    const auto result = gradcheck(c.f64, x);
    CHECK_MESSAGE(result.ok, result.message);
  }
}

TEST_CASE("float agrees with double, value and gradient") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    std::vector<Var<double>> x64;
    std::vector<Var<float>> x32;
    for (const Shape& s : c.shapes) {
      const auto x = random_tensor<float>(s, static_cast<std::uint32_t>(x32.size()));
      x32.emplace_back(x, true);
      x64.emplace_back(cast<double>(Var<float>(x)).value(), true);
    }
    const auto y64 = c.f64(x64);
    const auto y32 = c.f32(x32);
    CHECK(max_error(y32.value(), y64.value()) < 1e-5);
    const auto cotangent = random_tensor<float>(y32.shape(), 99);
    y32.backward(cotangent.clone());
    y64.backward(cast<double>(Var<float>(cotangent)).value());
    for (std::size_t i = 0; i < x32.size(); ++i) CHECK(max_error(x32[i].grad(), x64[i].grad()) < 2e-5);
  }
}

TEST_CASE_TEMPLATE("feed_forward has the bits of two linear layers and GELU, whichever parameters are trained", T, float, double,
                   bfloat16) {
  const std::vector<Shape> shapes{{7, 4}, {6, 4}, {6}, {5, 6}, {5}};
  for (unsigned trained = 1; trained < 32; ++trained) {
    CAPTURE(trained);
    std::vector<Tensor<T>> results[2];
    for (const bool fused : {false, true}) {
      std::vector<Var<T>> v;
      for (std::size_t i = 0; i < shapes.size(); ++i)
        v.emplace_back(random_tensor<T>(shapes[i], static_cast<std::uint32_t>(i)), ((trained >> i) & 1u) != 0);
      // x has another reader, whose gradient is there first.
      const auto y = fused ? feed_forward(v[0], v[1], v[2], v[3], v[4]) : linear(gelu(linear(v[0], v[1], v[2])), v[3], v[4]);
      const auto all = concat_columns(std::vector{y, v[0]});
      all.backward(random_tensor<T>(all.shape(), 9));
      auto& to = results[fused ? 1 : 0];
      to.push_back(y.value());
      for (const auto& x : v) to.push_back(x.requires_grad() ? x.grad() : Tensor<T>::zeros({}));
      const NoGrad no_grad;
      CHECK(test::same_bits(feed_forward(v[0], v[1], v[2], v[3], v[4]).value(), y.value()));
    }
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      // In double, 0.5 erfc(..) + x phi(x) has two products that the compiler may fuse with the sum; it chooses by what else reads them.
      if constexpr (std::is_same_v<T, double>)
        CHECK(max_error(results[0][i], results[1][i]) < 1e-14);
      else
        CHECK(test::same_bits(results[0][i], results[1][i]));
    }
  }
  const auto of = [](const Shape& x, const Shape& w1, const Shape& b1, const Shape& w2) {
    const auto var = [](const Shape& s) { return Var<T>(random_tensor<T>(s)); };
    return test::error_message([&] { feed_forward(var(x), var(w1), var(b1), var(w2), var({5})); });
  };
  CHECK(of({4}, {6, 4}, {6}, {5, 6}) == "feed_forward: x must be a matrix (rows, in), got (4,)");
  CHECK(of({7, 3}, {6, 4}, {6}, {5, 6}) == "feed_forward: w1 (6, 4) does not fit x (7, 3)");
  CHECK(of({7, 4}, {6, 4}, {6}, {5, 7}) == "feed_forward: w2 (5, 7) does not fit w1 (6, 4)");
  CHECK(of({7, 4}, {6, 4}, {5}, {5, 6}) == "feed_forward: biases (5,) and (5,) do not fit w1 (6, 4) and w2 (5, 6)");
  CHECK(feed_forward(Var<T>(Tensor<T>({0, 4})), Var<T>(random_tensor<T>({6, 4})), Var<T>(random_tensor<T>({6})),
                     Var<T>(random_tensor<T>({5, 6})), Var<T>(random_tensor<T>({5})))
            .shape() == Shape{0, 5});
}

TEST_CASE_TEMPLATE("feed_forward without a gradient has the same bits, for many rows", T, float, double, bfloat16) {
  std::vector<Var<T>> v;
  for (const Shape& s : {Shape{1601, 9}, Shape{21, 9}, Shape{21}, Shape{7, 21}, Shape{7}}) v.emplace_back(random_tensor<T>(s, 3), true);
  const auto recorded = feed_forward(v[0], v[1], v[2], v[3], v[4]);
  CHECK(recorded.requires_grad());
  const NoGrad no_grad;
  const auto y = feed_forward(v[0], v[1], v[2], v[3], v[4]);
  CHECK(!y.requires_grad());
  CHECK(test::same_bits(y.value(), recorded.value()));
}

TEST_CASE("every op refuses an input without value") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    if (c.name == "cast") continue;  // to the same type: returns x itself
    for (std::size_t i = 0; i < c.shapes.size(); ++i) {
      const bool optional = (c.name.starts_with("linear") && i > 0 && i % 2 == 0) ||
                            (c.name.starts_with("residual_layer_norm") && i == 1) || (c.name == "lstm" && i == 3) ||
                            (c.name == "embedding_sum" && i == 0);
      CAPTURE(i);
      for (const Var<float>& none : {Var<float>(), Var<float>(Tensor<float>())}) {
        std::vector<Var<float>> v;
        for (const Shape& s : c.shapes) v.emplace_back(random_tensor<float>(s));
        v[i] = none;
        const std::string message = test::error_message([&] { c.f32(v); });
        CHECK_MESSAGE((optional || message.starts_with("Var: the variable ")), message);
      }
    }
  }
}

TEST_CASE("float and double join in one graph through cast") {
  const auto result = gradcheck([](const auto& v) { return cast<double>(cast<double>(multiply(v[0], v[0]))); }, {random_tensor({3})});
  CHECK(result.ok);
  Var<double> master(random_tensor({3}), true);
  const auto loss = sum(cast<double>(scale(cast<float>(master), 2.0f)));
  loss.backward();
  CHECK(master.grad().at(1) == 2.0);
}
