// SPDX-License-Identifier: MIT
#include "lexformer/tables/match_quality.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lexformer/core/random.hpp"
#include "lexformer/metrics/logistic.hpp"
#include "lexformer/metrics/score_calibration.hpp"
#include "lexformer/tables/similarity_curve.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

TEST_CASE("MatchQuality: with all labels the estimate is exact") {
  MatchQuality quality;
  for (int i = 0; i < 40; ++i) {
    const double p = (i + 0.5) / 40;
    quality.add(p, i >= 20);
    quality.add_label(p, i >= 20, i % 3 == 0);
  }
  // matches: 0, 3, ..., 39 (14), of which 21, ..., 39 (7) are found among 20
  const auto q = quality.estimate();
  CHECK(q.labels == 40);
  CHECK(q.matches == doctest::Approx(14));
  for (const auto& [estimate, value] : {std::pair(q.precision, 7.0 / 20), std::pair(q.recall, 7.0 / 14), std::pair(q.f1, 14.0 / 34)})
    for (const double number : {estimate.value, estimate.low, estimate.high}) CHECK(number == doctest::Approx(value).epsilon(1e-9));
}

TEST_CASE("MatchQuality: labels correct probabilities that are too sure") {
  // The true logit is z - 1.5; without labels the estimate believes z.
  RandomStream random(7, 0);
  MatchQuality unlabelled, labelled;
  double found = 0, right = 0, all = 0;
  for (int i = 0; i < 20000; ++i) {
    const double z = 12 * random.uniform() - 8, p = logistic(z);
    const bool match = z >= 0, label = random.uniform() < logistic(z - 1.5);
    unlabelled.add(p, match);
    labelled.add(p, match);
    if (i % 50 == 0) labelled.add_label(p, match, label);
    found += match ? 1 : 0;
    right += match && label ? 1 : 0;
    all += label ? 1 : 0;
  }
  const double precision = right / found, recall = right / all;
  const auto before = unlabelled.estimate(), after = labelled.estimate();
  CHECK(before.precision.value > precision + 0.1);
  CHECK(std::abs(after.precision.value - precision) < 0.05);
  CHECK(std::abs(after.recall.value - recall) < 0.1);
  CHECK(after.precision.low < precision);
  CHECK(precision < after.precision.high);
  CHECK(after.precision.high - after.precision.low < 0.6 * (before.precision.high - before.precision.low));
  CHECK(labelled.weights()[0] == doctest::Approx(-1.5).epsilon(0.35));
  CHECK(to_text(Estimate{0.931, 0.88, 0.965}) == "93.1 % [88.0, 96.5]");
}

TEST_CASE("MatchQuality: labels that contradict the probabilities do not fit") {
  MatchQuality good, bad;
  for (int i = 0; i < 60; ++i) {
    good.add_label(i < 30 ? 0.9 : 0.05, i < 30, i % 10 != 0 && i < 30);
    bad.add_label(0.05, i < 30, i % 3 != 0 && i < 30);  // one probability for all, but the decisions are good
  }
  CHECK(good.fits());
  CHECK(!bad.fits());
  CHECK(MatchQuality().fits());
}

TEST_CASE("MatchQuality: without matches, and without pairs") {
  MatchQuality quality;
  CHECK_THROWS_AS(quality.estimate(), Error);
  quality.add(0, false);
  quality.add(1, false);
  const auto q = quality.estimate();
  CHECK(q.precision.value == 0);
  CHECK(q.recall.value == 0);
  CHECK(q.matches == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("MatchQuality: labels of pairs that were not counted, and repeated ones, are refused") {
  MatchQuality quality;
  quality.add(0.4, false);
  quality.add_label(0.4, false, true);
  CHECK(quality.estimate().matches == doctest::Approx(1));
  CHECK_THROWS_AS(quality.estimate(0), Error);
  quality.add_label(0.4, false, true);
  CHECK_THROWS_AS(quality.estimate(), Error);
  MatchQuality other;
  other.add(0.4, false);
  other.add_label(0.4, true, true);
  CHECK_THROWS_AS(other.estimate(), Error);
}

TEST_CASE("expected thresholds: a recall of one is reached, in whatever order the pairs are") {
  RandomStream random(19, 0);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> scores, p;
    for (int i = 0; i < 300; ++i) {
      scores.push_back(random.uniform());
      p.push_back(random.uniform());
    }
    CHECK(expected_recall_threshold(scores, p, 1).value() < *std::min_element(scores.begin(), scores.end()));
  }
}

TEST_CASE("expected thresholds agree with their definitions") {
  RandomStream random(5, 0);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> scores, p;
    for (std::size_t i = 0; i < 1 + random.below(12); ++i) {
      scores.push_back(static_cast<double>(random.below(6)));
      p.push_back(random.uniform());
    }
    const auto at = [&](double t) {
      double sum = 0, count = 0, all = 0;
      for (std::size_t i = 0; i < p.size(); ++i) {
        all += p[i];
        sum += scores[i] >= t ? p[i] : 0;
        count += scores[i] >= t ? 1 : 0;
      }
      return std::array{2 * sum / (count + all), sum / count, sum / all};
    };
    const auto f1 = at(expected_f1_threshold(scores, p))[0];
    std::optional<double> most_precise;
    double best_f1 = 0;
    for (const double s : scores) {
      best_f1 = std::max(best_f1, at(s)[0]);
      if (at(s)[1] >= 0.7) most_precise = std::min(most_precise.value_or(s), s);
    }
    CHECK(f1 == doctest::Approx(best_f1));
    const auto precise = expected_precision_threshold(scores, p, 0.7);
    REQUIRE(precise.has_value() == most_precise.has_value());
    if (precise) CHECK(at(*precise)[1] == doctest::Approx(at(*most_precise)[1]));
    const auto complete = expected_recall_threshold(scores, p, 0.6);
    CHECK(at(complete.value())[2] >= 0.6);
    double lowest = 1e9;  // that is above the threshold
    for (const double s : scores) lowest = s >= *complete ? std::min(lowest, s) : lowest;
    for (const double s : scores)
      if (s > lowest) CHECK(at(s)[2] < 0.6);
  }
}

TEST_CASE("similarities_of_strangers: by hand") {
  // left 0: right 0 (0.8), 1 (0.5), 2 (0.25); left 1: right 1 (0.75); right 1 is also left 0's second best
  const Evidence evidence({{0, 0, 0.8f}, {0, 1, 0.5f}, {0, 2, 0.25f}, {1, 1, 0.75f}}, false);
  // Without right 0, left 0's best is right 1, which has left 1: 0.5 / (0.5 + 0.75). Left 1 has no second candidate.
  CHECK(similarities_of_strangers(evidence, true) == std::vector<double>{0.4, 0});
  // Without left 1, right 1's best is left 0, which has right 0.
  const auto right = similarities_of_strangers(evidence, false);
  REQUIRE(right.size() == 3);
  CHECK(right[1] == doctest::Approx(0.5 / (0.5 + 0.8)));
  CHECK(right[0] == 0);
}

namespace {

/// Two tables of n records, of which the first `matched` have a partner at the same place: with a cosine around 0.8, while strangers have
/// cosines around 0.4.
Evidence synthetic(std::uint32_t n, std::uint32_t matched, RandomStream& random) {
  std::vector<Candidate> candidates;
  const auto cosine = [&](double mean) { return static_cast<float>(std::clamp(mean + 0.07 * random.normal(), 0.05, 0.999)); };
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t k = 0; k < 8; ++k) {
      const auto j = k == 0 ? i : static_cast<std::uint32_t>((i + 1 + 37 * k) % n);
      candidates.push_back({i, j, cosine(k == 0 && i < matched ? 0.8 : 0.4)});
    }
  return {std::move(candidates), false};
}

}  // namespace

TEST_CASE("fit_similarity_curve: the expected precision is near the true one if most records have a partner, and falls with their share") {
  RandomStream random(11, 0);
  double before = 2;
  for (const std::uint32_t matched : {2000u, 1800u, 1000u, 300u}) {
    CAPTURE(matched);
    const Evidence evidence = synthetic(2000, matched, random);
    const auto curve = fit_similarity_curve(evidence);
    REQUIRE(curve.has_value());
    double found = 0, expected = 0, right = 0;
    for (std::size_t i = 0; i < evidence.size(); ++i) {
      const double s = evidence.similarity(i);
      if (s < 0.5) continue;
      const auto& c = evidence.candidates[i];
      ++found;
      expected += (*curve)(s);
      right += c.left == c.right && c.left < matched ? 1 : 0;
    }
    CHECK(expected / found < before);
    before = expected / found;
    if (matched >= 1800) CHECK(std::abs(expected - right) < 0.04 * found);
  }
}

TEST_CASE("law: the probability does not fall where the similarity rises") {
  RandomStream random(13, 0);
  const auto curve = fit_similarity_curve(synthetic(300, 100, random)).value();
  for (int i = 0; i < 1000; ++i) CHECK(curve(i / 1000.0) <= curve((i + 1) / 1000.0));
  CHECK(curve(0) >= 0);
  CHECK(curve(1) <= 1);
}

TEST_CASE("fit_similarity_curve: not within one table") {
  CHECK(!fit_similarity_curve(Evidence({{0, 1, 0.5f}}, true)));
  CHECK(fit_similarity_curve(Evidence({}, false)));
  CHECK(fit_similarity_curve(Evidence({{0, 0, 0.5f}}, false)));
}
