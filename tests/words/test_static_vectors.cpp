// SPDX-License-Identifier: MIT
#include "lexformer/words/static_vectors.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

/// The length of the word, in both columns.
struct LengthModel {
  float scale = 1;
  Tensor<float> vectors(std::span<const std::string> words) const {
    Tensor<float> out({words.size(), 2});
    for (std::size_t i = 0; i < out.size(); ++i) out.mutable_data()[i] = scale * static_cast<float>(words[i / 2].size());
    return out;
  }
};

const WordVectors& known_two() {
  static const WordVectors known({"oven", "lens"}, Tensor<float>::from({1, 2, 3, 4}, {2, 2}));
  return known;
}

}  // namespace

TEST_CASE("StaticVectors: known words, imputed words, words without a vector") {
  const std::vector<std::string> words{"lens", "ovens", "oven", "two words"};
  const auto check = [&](const StaticVectors& vectors, std::vector<float> values, std::vector<bool> known, std::vector<bool> found) {
    const auto rows = vectors.rows(words);
    CHECK(vectors.size() == 2);
    CHECK(std::vector<float>(rows.values.span().begin(), rows.values.span().end()) == values);
    CHECK(rows.known == known);
    CHECK(rows.found == found);
  };
  const WordImputer imputer(LengthModel{}, 2);
  const std::vector<bool> known{true, false, true, false};
  check({known_two(), imputer}, {3, 4, 5, 5, 1, 2, 0, 0}, known, {true, true, true, false});
  check({known_two(), std::nullopt}, {3, 4, 0, 0, 1, 2, 0, 0}, known, known);
  check({known_two(), std::nullopt, true}, {3, 4, 0, 0, 1, 2, 0, 0}, known, known);  // there is nothing to impute them
  check({known_two(), imputer, true}, {4, 4, 5, 5, 4, 4, 0, 0}, known, {true, true, true, false});
  check({{}, imputer}, {4, 4, 5, 5, 4, 4, 0, 0}, {false, false, false, false}, {true, true, true, false});
  CHECK(StaticVectors(known_two(), imputer).rows({}).values.shape() == Shape{0, 2});
}

TEST_CASE("StaticVectors: errors") {
  expect_error(
      ErrorKind::usage, [] { StaticVectors({}, std::nullopt); }, "there are neither known words nor a model");
  expect_error(
      ErrorKind::usage, [] { StaticVectors(known_two(), WordImputer(LengthModel{}, 3)); },
      "the known vectors have 2 numbers, the imputed ones 3");
  expect_error(
      ErrorKind::failure,
      [] { StaticVectors({}, WordImputer(LengthModel{std::numeric_limits<float>::infinity()}, 2)).rows(std::vector<std::string>{"a"}); },
      "the imputed vector of 'a' is not finite");
}
