// SPDX-License-Identifier: MIT
#include "lexformer/tables/cascade.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "lexformer/core/random.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

struct CascadeData {
  std::vector<CheapEvidence> pairs;
  std::vector<std::uint8_t> found;
  std::vector<std::int32_t> labels;

  /// Matches have a larger score and a larger lead on average; the model is right with the probability `model`.
  CascadeData(std::size_t n, std::uint64_t seed, double gap, double model) {
    RandomStream random(seed, random_site::user);
    for (std::size_t i = 0; i < n; ++i) {
      labels.push_back(random.uniform() < 0.2 ? 1 : 0);
      const double shift = labels.back() == 1 ? gap : 0;
      pairs.push_back({0.3 + 0.1 * (shift + random.normal()), 0.1 * (shift + random.normal())});
      found.push_back(static_cast<std::uint8_t>((random.uniform() < model) == (labels.back() == 1)));
    }
  }
};

}  // namespace

TEST_CASE("fit_cascade: loses at most what is allowed, and decides the clear pairs") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const double loss : {0.0, 0.001, 0.02}) {
      const CascadeData data(2000, seed, 3, 0.95);
      const auto cascade = fit_cascade(data.pairs, data.found, data.labels, loss);
      const auto out = outcome(cascade, data.pairs, data.found, data.labels);
      CHECK(cascade.low <= cascade.high);
      CHECK(cascade.weight > 0);
      CHECK(out.lost_recall() <= loss + 1e-12);
      CHECK(out.lost_precision() <= loss + 1e-12);
      CHECK(out.decided_share() > 0.2);
    }
}

TEST_CASE("fit_cascade: more loss decides more; a higher low limit loses more than allowed") {
  const CascadeData data(3000, 20, 2, 0.97);
  const auto strict = fit_cascade(data.pairs, data.found, data.labels, 0.001);
  const auto loose = fit_cascade(data.pairs, data.found, data.labels, 0.05);
  CHECK(outcome(loose, data.pairs, data.found, data.labels).decided > outcome(strict, data.pairs, data.found, data.labels).decided);
  auto higher = strict;  // the next match that the model finds is lost, too
  higher.high = 2;
  double next = 2;
  for (std::size_t i = 0; i < data.pairs.size(); ++i)
    if (const double p = strict.probability(data.pairs[i]); data.labels[i] == 1 && data.found[i] != 0 && p >= strict.low)
      next = std::min(next, p);
  higher.low = std::nextafter(next, 2.0);
  CHECK(outcome(higher, data.pairs, data.found, data.labels).lost_recall() > 0.001);
}

TEST_CASE("cascade: by hand") {
  // A score of 0.9 is a match, 0.1 none; the model finds the matches and one pair more.
  const std::vector<CheapEvidence> pairs{{0.1, 0}, {0.2, 0}, {0.5, 0}, {0.6, 0}, {0.9, 0}};
  const std::vector<std::uint8_t> found{0, 1, 0, 1, 1};
  const std::vector<std::int32_t> labels{0, 0, 0, 1, 1};
  const auto cascade = fit_cascade(pairs, found, labels, 0);
  CHECK(cascade.decide(pairs[0]) == false);
  CHECK(cascade.decide(pairs[1]) == false);
  CHECK(cascade.decide(pairs[2]) == false);
  CHECK(cascade.decide(pairs[4]) == true);
  const auto out = outcome(cascade, pairs, found, labels);
  CHECK(out.found == 2);
  CHECK(out.wrong == 0);
  CHECK(out.model_wrong == 1);
  CHECK(out.lost_recall() == 0);
  CHECK(out.lost_precision() == doctest::Approx(2.0 / 3 - 1));
  CHECK_FALSE(Cascade().decide({0.5, 0.5}).has_value());
}

TEST_CASE("fit_cascade: a cheap score that falls where the labels rise decides nothing") {
  const std::vector<CheapEvidence> pairs{{0.1, 0}, {0.2, 0}, {0.8, 0}, {0.9, 0}};
  const std::vector<std::uint8_t> found{1, 1, 0, 0};
  const std::vector<std::int32_t> labels{1, 1, 0, 0};
  CHECK(outcome(fit_cascade(pairs, found, labels), pairs, found, labels).decided == 0);
}

TEST_CASE("cascade: bad input") {
  const std::vector<CheapEvidence> pairs{{0.1, 0}, {0.2, 0}};
  const std::vector<std::uint8_t> found{1};
  const std::vector<std::int32_t> labels{0, 1}, wrong{0, 2};
  CHECK(error_message([&] { fit_cascade(pairs, found, labels); }) ==
        "cascade: there are 2 pairs, 1 decisions and 2 labels; expected as many");
  CHECK(error_message([&] {
          fit_cascade(pairs, std::vector<std::uint8_t>{0, 1}, wrong);
        }) == "average_precision: the label of example 1 is 2, expected 0 or 1");
}
