// SPDX-License-Identifier: MIT
// Losses of rankings: golden values and gradients from PyTorch (tests/oracles/make_golden_ranking.py), gradients, laws, bad input.
#include "lexformer/ops/ranking_loss.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/core/bfloat16.hpp"
#include "lexformer/io/safetensors.hpp"

using namespace lexformer;
using test::error_message;
using test::max_error;
using test::random_tensor;

namespace {

using RankingVars = std::vector<Var<double>>;
using RankingLoss = std::function<Var<double>(const RankingVars&)>;

const std::vector<double> similar_labels{0.875, 0.25, -0.5, 1, 0}, same_labels{1, 0, 1, 0, 0}, soft_labels{1, 0.25, 0, 1, 0};
const std::vector<double> graded_relevance{1, 0, 0, 0, 0, 0, 3, 0, 1, 0, 0.5, 0.25, 0, 0, 2};

/// The relevance of ListNet: the softmax of the labels of each query.
std::vector<double> softmax_of_rows(const std::vector<double>& x, std::size_t width) {
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(std::exp(x[i]));
  for (std::size_t q = 0; q < x.size() / width; ++q) {
    const double sum =
        std::accumulate(y.begin() + static_cast<std::ptrdiff_t>(q * width), y.begin() + static_cast<std::ptrdiff_t>((q + 1) * width), 0.0);
    for (std::size_t d = 0; d < width; ++d) y[q * width + d] /= sum;
  }
  return y;
}

struct RankingCase {
  std::string name, inputs;
  RankingLoss loss;
};
std::vector<RankingCase> ranking_cases() {
  using V = const RankingVars&;
  return {
      {"multiple_negatives", "ab", [](V v) { return multiple_negatives_ranking(v[0], v[1]); }},
      {"multiple_negatives_hard", "abcd",
       [](V v) {
         return multiple_negatives_ranking(v[0], v[1], {v[2], v[3]});
       }},
      {"multiple_negatives_factor", "abc", [](V v) { return multiple_negatives_ranking(v[0], v[1], {v[2]}, 3); }},
      {"cosine", "ab", [](V v) { return cosine_loss(v[0], v[1], similar_labels); }},
      {"contrastive", "ab", [](V v) { return contrastive_loss(v[0], v[1], same_labels); }},
      {"contrastive_margin", "ab", [](V v) { return contrastive_loss(v[0], v[1], same_labels, 1.25); }},
      {"binary", "x", [](V v) { return binary_cross_entropy(v[0], soft_labels); }},
      {"binary_weight", "x", [](V v) { return binary_cross_entropy(v[0], same_labels, 2.5); }},
      {"margin", "xy", [](V v) { return margin_ranking(v[0], v[1], 0.75); }},
      {"listwise", "s", [](V v) { return listwise_softmax(v[0], graded_relevance); }},
      {"list_net", "s", [](V v) { return listwise_softmax(v[0], softmax_of_rows(graded_relevance, 5)); }},
  };
}

}  // namespace

TEST_CASE("ranking losses: values and gradients as in PyTorch") {
  const char* const given = std::getenv("LEXFORMER_SOURCE_DIR");
  const auto file =
      TensorFile::read(std::string(given != nullptr ? given : LEXFORMER_SOURCE_DIR) + "/tests/golden/models/ranking.safetensors");
  double worst = 0;
  std::size_t compared = 0;
  for (const RankingCase& c : ranking_cases()) {
    const std::string& name = c.name;
    CAPTURE(name);
    RankingVars v;
    for (const char i : c.inputs) v.emplace_back(file.get<double>(std::string(1, i)), true);
    const auto y = c.loss(v);
    y.backward();
    worst = std::max(worst, std::abs(y.item() - file.get<double>(name).item()));
    for (std::size_t i = 0; i < v.size(); ++i) {
      const auto expected = file.get<double>(name + "/gradient/" + c.inputs[i]);
      REQUIRE(v[i].grad().shape() == expected.shape());
      worst = std::max(worst, max_error(v[i].grad(), expected));
      ++compared;
    }
    CHECK(worst <= 1e-10);
  }
  CHECK(compared == 21);
  MESSAGE("largest difference: " << worst);
}

TEST_CASE("ranking losses: gradients against differences") {
  for (const RankingCase& c : ranking_cases()) {
    const std::string& name = c.name;
    CAPTURE(name);
    std::vector<Tensor<double>> x;
    for (const char i : c.inputs)
      x.push_back(i == 's'  ? random_tensor({3, 5}, 7)
                  : i < 'x' ? random_tensor({5, 4}, static_cast<std::uint32_t>(i))
                            : random_tensor({5}, static_cast<std::uint32_t>(i)));
    const auto result = gradcheck(c.loss, x);
    CHECK_MESSAGE(result.ok, result.message);
  }
}

TEST_CASE("ranking losses: laws") {
  const Var<double> a(random_tensor({4, 3}, 1)), b(random_tensor({4, 3}, 2));
  // One row has no negatives. Hard negatives can only raise the loss. The length of vectors has no effect.
  CHECK(multiple_negatives_ranking(slice_rows(a, 0, 1), slice_rows(b, 0, 1)).item() == doctest::Approx(0));
  const double plain = multiple_negatives_ranking(a, b).item();
  CHECK(multiple_negatives_ranking(a, b, {slice_rows(a, 0, 2)}).item() > plain);
  CHECK(multiple_negatives_ranking(scale(a, 3), scale(b, 0.1)).item() == doctest::Approx(plain).epsilon(1e-12));
  // It is the listwise softmax of the matrix of cosines, with each row's own document as the relevant one.
  std::vector<double> own(16, 0.0);
  for (std::size_t i = 0; i < 4; ++i) own[i * 5] = 1;
  const auto cosines = scale(matmul(l2_normalize(a), l2_normalize(b), {.transpose_b = true}), 20);
  CHECK(listwise_softmax(cosines, own).item() == doctest::Approx(plain).epsilon(1e-12));
  // By hand: orthogonal, equal and opposite vectors.
  const Var<double> left(Tensor<double>::from({1, 0, 1, 0, 1, 0}, {3, 2})), right(Tensor<double>::from({0, 2, 5, 0, -1, 0}, {3, 2}));
  CHECK(cosine_loss(left, right, std::vector<double>{0, 1, 1}).item() == doctest::Approx(4.0 / 3));
  CHECK(contrastive_loss(left, right, std::vector<double>{1, 0, 1}).item() == doctest::Approx((1 + 0.25 + 4) / 6));
  CHECK(margin_ranking(Var<double>(Tensor<double>::from({3, 1}, {2})), Var<double>(Tensor<double>::from({1, 3}, {2})), 1).item() == 1.5);
  // Extreme logits: no overflow, and the right limit.
  const Var<double> far(Tensor<double>::from({1000, -1000, 1000, -1000}, {4, 1}), true);
  const auto y = binary_cross_entropy(far, std::vector<double>{1, 0, 0, 1});
  CHECK(y.item() == 500);
  y.backward();
  CHECK(far.grad().to_vector() == std::vector<double>{0, 0, 0.25, -0.25});
}

TEST_CASE("listwise softmax: queries without a relevant document are left out") {
  const Var<double> s(random_tensor({2, 3}), true);
  const double first = listwise_softmax(slice_rows(s, 0, 1), std::vector<double>{0, 1, 0}).item();
  const auto both = listwise_softmax(s, std::vector<double>{0, 1, 0, 0, 0, 0});
  CHECK(both.item() == doctest::Approx(first).epsilon(1e-14));
  both.backward();
  for (std::size_t d = 0; d < 3; ++d) CHECK(s.grad().at(1, d) == 0);
  CHECK(listwise_softmax(s, std::vector<double>(6, 0.0)).item() == 0);
}

TEST_CASE("listwise softmax: a document with score -inf and relevance 0 is as if it were not there") {
  const Var<double> s(random_tensor({2, 3}), true), hidden(Tensor<double>::full({2, 1}, -std::numeric_limits<double>::infinity()), true);
  const auto loss = [&] { return listwise_softmax(concat_columns(std::vector{s, hidden}), std::vector<double>{0, 1, 2, 0, 3, 0, 1, 0}); };
  CHECK(loss().item() == doctest::Approx(listwise_softmax(s, std::vector<double>{0, 1, 2, 3, 0, 1}).item()).epsilon(1e-14));
  loss().backward();
  CHECK(hidden.grad().to_vector() == std::vector<double>{0, 0});
  const auto result = gradcheck(loss, {s});
  CHECK_MESSAGE(result.ok, result.message);
}

TEST_CASE("ranking losses in float and bfloat16") {
  const auto x = random_tensor({5, 4}, 1), z = random_tensor({5, 4}, 2);
  const auto all = [&]<class T>(T) {
    const auto a = cast<T>(Var<double>(x)), b = cast<T>(Var<double>(z));
    return std::vector<double>{
        static_cast<double>(multiple_negatives_ranking(a, b).item()), static_cast<double>(cosine_loss(a, b, similar_labels).item()),
        static_cast<double>(contrastive_loss(a, b, same_labels).item()), static_cast<double>(margin_ranking(a, b, 1).item())};
  };
  const auto exact = all(double()), single = all(float()), half = all(bfloat16());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    CHECK(single[i] == doctest::Approx(exact[i]).epsilon(1e-5));
    CHECK(half[i] == doctest::Approx(exact[i]).epsilon(0.05));
  }
}

TEST_CASE("ranking losses: bad input") {
  const Var<double> a(random_tensor({3, 4})), b(random_tensor({3, 5})), s(random_tensor({2, 3}));
  CHECK(error_message([&] { multiple_negatives_ranking(a, b); }) ==
        "multiple_negatives_ranking: needs anchors and positives (B, D) of equal shape with B >= 1, got (3, 4) and (3, 5)");
  CHECK(error_message([&] { multiple_negatives_ranking(a, a, {b}); }) ==
        "multiple_negatives_ranking: negatives (3, 5) do not match anchors (3, 4); expected (M, D)");
  CHECK(error_message([&] { multiple_negatives_ranking(a, a, {}, 0); }) ==
        "multiple_negatives_ranking: the factor must be positive, got 0");
  CHECK(error_message([&] {
          cosine_loss(a, a, std::vector<double>{1, 0});
        }) == "cosine_loss: 2 labels for 3 rows; expected one for each, and one or more");
  CHECK(error_message([&] { cosine_loss(a, a, std::vector<double>{1, 0, 5}); }) == "cosine_loss: label 5 of row 2 is not in -1 .. 1");
  CHECK(error_message([&] {
          contrastive_loss(a, a, std::vector<double>{1, 0, -1});
        }) == "contrastive_loss: label -1 of row 2 is not in 0 .. 1");
  CHECK(error_message([&] { contrastive_loss(a, a, same_labels, 0); }) == "contrastive_loss: the margin must be positive, got 0");
  CHECK(error_message([&] { binary_cross_entropy(a, same_labels); }) == "binary_cross_entropy: needs logits (B) or (B, 1), got (3, 4)");
  CHECK(error_message([&] { margin_ranking(a, b, 1); }) == "margin_ranking: needs scores of equal shape, got (3, 4) and (3, 5)");
  CHECK(error_message([&] { listwise_softmax(s, same_labels); }) ==
        "listwise_softmax: scores (2, 3) for 5 numbers of relevance; expected (queries, documents)");
  CHECK(error_message([&] {
          listwise_softmax(s, std::vector<double>{0, 1, 0, 0, -2, 1});
        }) == "listwise_softmax: the relevance of document 1 of query 1 is -2; expected 0 or more");
}
