// SPDX-License-Identifier: MIT
#include "lexformer/tables/vector_candidates.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

Tensor<float> random_vectors(std::size_t rows, std::size_t size, std::uint32_t seed) {
  Tensor<float> x({rows, size});
  RandomStream random(seed, 0);
  for (std::size_t i = 0; i < rows * size; ++i) x.mutable_data()[i] = static_cast<float>(random.normal());
  return x;
}

double vector_cosine(const Tensor<float>& x, std::size_t i, const Tensor<float>& y, std::size_t j) {
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t k = 0; k < x.dim(1); ++k) {
    const auto a = static_cast<double>(x.data()[i * x.dim(1) + k]), b = static_cast<double>(y.data()[j * x.dim(1) + k]);
    xy += a * b, xx += a * a, yy += b * b;
  }
  return xy / std::sqrt(xx * yy);
}

/// The pairs by their definition, from all cosines.
std::set<std::pair<std::size_t, std::size_t>> all_best(const Tensor<float>& x, const Tensor<float>& y, std::size_t top, bool one_list) {
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  const auto best = [&](const Tensor<float>& from, std::size_t i, const Tensor<float>& to, const auto& add) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t j = 0; j < to.dim(0); ++j)
      if (!(one_list && i == j))
        if (const double s = vector_cosine(from, i, to, j); s > 0) order.emplace_back(-s, j);
    std::sort(order.begin(), order.end());
    for (std::size_t k = 0; k < std::min(top, order.size()); ++k) add(order[k].second);
  };
  for (std::size_t i = 0; i < x.dim(0); ++i)
    best(x, i, y, [&](std::size_t j) { pairs.emplace(one_list ? std::min(i, j) : i, one_list ? std::max(i, j) : j); });
  for (std::size_t j = 0; !one_list && j < y.dim(0); ++j) best(y, j, x, [&](std::size_t i) { pairs.emplace(i, j); });
  return pairs;
}

void check_pairs(const std::vector<Candidate>& found, const std::set<std::pair<std::size_t, std::size_t>>& wanted, const Tensor<float>& x,
                 const Tensor<float>& y) {
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  double error = 0;
  for (const Candidate& c : found) {
    pairs.emplace(c.left, c.right);
    error = std::max(error, std::abs(vector_cosine(x, c.left, y, c.right) - static_cast<double>(c.score)));
  }
  CHECK(pairs == wanted);
  CHECK(pairs.size() == found.size());
  CHECK(error < 1e-6);
  CHECK(std::is_sorted(found.begin(), found.end(),
                       [](const Candidate& a, const Candidate& b) { return a.left != b.left ? a.left < b.left : a.score > b.score; }));
}

}  // namespace

TEST_CASE("vector_candidates: the pairs of the definition, for any number of threads") {
  const int before = threads();
  struct Sizes {
    std::size_t left, right, top;
  };
  for (const Sizes size : {Sizes{1, 1, 1}, Sizes{3, 7, 2}, Sizes{300, 41, 3}, Sizes{17, 4200, 5}}) {
    CAPTURE(size.left);
    const auto x = random_vectors(size.left, 6, 1), y = random_vectors(size.right, 6, 2);
    const std::size_t k = size.top;
    double last = 0;
    const auto found = vector_candidates(x, y, k, [&](double done) {
      CHECK(done > last);
      last = done;
    });
    CHECK(last == 1);
    check_pairs(found, all_best(x, y, k, false), x, y);
    for (const int t : {1, 3}) {
      set_threads(t);
      CHECK(vector_candidates(x, y, k) == found);
    }
    set_threads(before);
  }
}

TEST_CASE("vector_candidates: one list") {
  for (const std::size_t n : {std::size_t{1}, std::size_t{5}, std::size_t{600}}) {
    CAPTURE(n);
    const auto x = random_vectors(n, 5, 3);
    check_pairs(vector_candidates(x, 2), all_best(x, x, 2, true), x, x);
  }
}

TEST_CASE("vector_candidates: equal cosines, zeros, bad input") {
  const auto ones = Tensor<float>::from({1, 0, 1, 0, 0, 0}, {3, 2}), right = Tensor<float>::from({2, 0, 3, 0}, {2, 2});
  const auto found = vector_candidates(ones, right, 1);  // 0 and 1 prefer the first right row; both right rows prefer row 0
  REQUIRE(found.size() == 3);
  CHECK(found[0] == Candidate{0, 0, 1});
  CHECK(found[1] == Candidate{0, 1, 1});
  CHECK(found[2] == Candidate{1, 0, 1});
  CHECK(error_message([&] { vector_candidates(ones, random_vectors(2, 3, 1), 1); }).find("have 2 numbers, the right ones 3") !=
        std::string::npos);
  const auto broken = Tensor<float>::from({1, 0, 1, std::numeric_limits<float>::quiet_NaN()}, {2, 2});
  CHECK(error_message([&] { vector_candidates(ones, broken, 1); }).find("vector 2 has the value nan") != std::string::npos);
  CHECK(error_message([&] { vector_candidates(ones, right, 0); }).find("1 candidate or more, not 0") != std::string::npos);
}

TEST_CASE("explain_vectors: ranks in which a pair is a candidate") {
  const auto x = random_vectors(30, 4, 5), y = random_vectors(20, 4, 6);
  for (const bool one_list : {false, true}) {
    const auto& right = one_list ? x : y;
    const auto wanted = all_best(x, right, 3, one_list);
    for (std::size_t i = 0; i < x.dim(0); ++i)
      for (std::size_t j = one_list ? i + 1 : 0; j < right.dim(0); ++j) {
        const auto reason = explain_vectors(x, one_list ? nullptr : &y, i, j, "embeddings");
        CHECK(reason.kind == "embeddings");
        CHECK(reason.score == doctest::Approx(vector_cosine(x, i, right, j)).epsilon(1e-5));
        const auto near = [](std::size_t rank) { return rank > 0 && rank <= 3; };
        CHECK((near(reason.left_rank) || near(reason.right_rank)) == wanted.contains({i, j}));
      }
  }
  CHECK(error_message([&] { explain_vectors(x, nullptr, 1, 1, ""); }).find("no candidate of itself") != std::string::npos);
  CHECK(error_message([&] { explain_vectors(x, &y, 1, 20, ""); }).find("no such row") != std::string::npos);
}

TEST_CASE("vector_candidates: equal rows have the score 1, others less") {
  auto x = random_vectors(40, 384, 5);
  for (std::size_t i = 20; i < 40; ++i) std::copy_n(x.data() + (i - 20) * 384, 384, x.mutable_data() + i * 384);
  x.mutable_data()[39 * 384] += 1e-6f;
  for (const Candidate& c : vector_candidates(x, 1)) {
    if (c.left == 19)
      CHECK((c.right == 39 && c.score < 1 && c.score > 0.9999f));
    else
      CHECK((c.right == c.left + 20 && c.score == 1));
  }
  const auto reason = explain_vectors(x, nullptr, 3, 23, "embeddings");
  CHECK(reason.score == 1);
  CHECK(explain_vectors(x, nullptr, 19, 39, "embeddings").score < 1);
  const auto zeros = explain_vectors(Tensor<float>::zeros({2, 3}), nullptr, 0, 1, "embeddings");
  CHECK(zeros.score == 0);
  CHECK(zeros.left_rank == 0);
}
