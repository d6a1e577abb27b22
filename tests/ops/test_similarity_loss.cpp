// SPDX-License-Identifier: MIT
// Token and head similarity against the sum over all pairs, and their gradients.
#include "lexformer/ops/similarity_loss.hpp"

#include <doctest/doctest.h>

#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/loss.hpp"

using namespace lexformer;
using test::random_tensor;

namespace {

const Offsets batch = Offsets::from_lengths(std::vector<std::size_t>{3, 1, 5, 2});

/// The mean cosine of all pairs, computed pair by pair.
double pair_by_pair(const std::vector<std::vector<double>>& vectors) {
  double sum = 0, pairs = 0;
  for (std::size_t i = 0; i < vectors.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      double ab = 0, aa = 0, bb = 0;
      for (std::size_t e = 0; e < vectors[i].size(); ++e) {
        ab += vectors[i][e] * vectors[j][e];
        aa += vectors[i][e] * vectors[i][e];
        bb += vectors[j][e] * vectors[j][e];
      }
      sum += ab / std::sqrt(aa * bb);
      ++pairs;
    }
  return sum / pairs;
}

}  // namespace

TEST_CASE("token similarity is the mean over pairs, over sequences of two tokens or more") {
  const auto x = random_tensor({batch.tokens(), 4});
  double expected = 0;
  for (const std::size_t s : {0u, 2u, 3u}) {
    std::vector<std::vector<double>> vectors;
    for (std::size_t i = batch.begin(s); i < batch.begin(s + 1); ++i) vectors.emplace_back(x.data() + i * 4, x.data() + (i + 1) * 4);
    expected += pair_by_pair(vectors) / 3;
  }
  CHECK(token_similarity(Var<double>(x), batch).item() == doctest::Approx(expected).epsilon(1e-13));
  CHECK(token_similarity(cast<float>(Var<double>(x)), batch).item() == doctest::Approx(expected).epsilon(1e-5));
}

TEST_CASE("head similarity is the mean over pairs of attentions and sequences") {
  const auto attentions = random_tensor({3, batch.pairs()});
  double expected = 0;
  for (std::size_t s = 0; s < 4; ++s) {
    std::vector<std::vector<double>> heads;
    for (std::size_t h = 0; h < 3; ++h) {
      const double* begin = attentions.data() + h * batch.pairs() + batch.pair_begin(s);
      heads.emplace_back(begin, begin + batch.length(s) * batch.length(s));
    }
    expected += pair_by_pair(heads) / 4;
  }
  CHECK(head_similarity(Var<double>(attentions), batch).item() == doctest::Approx(expected).epsilon(1e-13));
}

TEST_CASE("token and head similarity: gradients") {
  const auto token =
      gradcheck([](const std::vector<Var<double>>& v) { return token_similarity(v[0], batch); }, {random_tensor({batch.tokens(), 4})});
  CHECK_MESSAGE(token.ok, token.message);
  const auto head =
      gradcheck([](const std::vector<Var<double>>& v) { return head_similarity(v[0], batch); }, {random_tensor({3, batch.pairs()})});
  CHECK_MESSAGE(head.ok, head.message);
}

TEST_CASE("token similarity: equal vectors 1, a simplex the least, one token or none nothing, zeros no division") {
  const auto four = Offsets::from_lengths(std::vector<std::size_t>{4});
  CHECK(token_similarity(Var<double>(Tensor<double>::ones({4, 3})), four).item() == doctest::Approx(1));
  const auto simplex = Tensor<double>::from({1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1}, {4, 3});
  CHECK(token_similarity(Var<double>(simplex), four).item() == doctest::Approx(-1.0 / 3));
  const auto one = Offsets::from_lengths(std::vector<std::size_t>{1});
  const Var<double> single(Tensor<double>::ones({1, 3}), true);
  const auto y = token_similarity(single, one);
  CHECK(y.item() == 0);
  y.backward();
  CHECK(single.grad().data()[0] == 0);
  const Var<double> zeros(Tensor<double>::zeros({4, 3}), true);
  const auto nothing = token_similarity(zeros, four);
  CHECK(nothing.item() == 0);
  nothing.backward();
  const auto half = Tensor<double>::from({1, 2, 3, 0, 0, 0}, {2, 3});
  CHECK(token_similarity(Var<double>(half), Offsets::from_lengths(std::vector<std::size_t>{2})).item() == doctest::Approx(0));
  for (const double g : zeros.grad().span()) CHECK(g == 0);
  CHECK_THROWS_WITH_AS(token_similarity(single, four), "token_similarity: x (1, 3) but the offsets have 4 tokens", Error);
  CHECK_THROWS_WITH_AS(head_similarity(single, four), "head_similarity: attentions (1, 3) but the offsets have 16 token pairs", Error);
}
