// SPDX-License-Identifier: MIT
#include "lexformer/tables/label_suggestions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>

#include "lexformer/core/random.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// 40 left and 40 right records. Record i of both sides is about topic i / 10, with words that no other topic has.
struct TopicTables {
  std::vector<std::string> left, right;

  TopicTables() {
    const char* words[] = {"camera lens zoom", "printer toner paper", "guitar strings amplifier", "bottle water steel"};
    for (int i = 0; i < 40; ++i) {
      left.push_back(cat(words[i / 10], " ", static_cast<char>('a' + i % 10), i));
      right.push_back(cat(words[i / 10], " ", static_cast<char>('k' + i % 10), i));
    }
  }
  TextVectors vectors() const { return {left, right, TextFeatures{}}; }
};

std::vector<ScoredPair> scored_topics(double (*score)(std::size_t)) {
  std::vector<ScoredPair> pairs;
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 40; ++j) pairs.push_back({i, j, score(pairs.size())});
  return pairs;
}

double wavy_score(std::size_t i) { return static_cast<double>((i * 7919) % 1601) / 1600; }

}  // namespace

TEST_CASE("uncertainty: 1 at the threshold, 0 at both ends") {
  CHECK(uncertainty(0.3, 0.3) == 1);
  CHECK(uncertainty(0.15, 0.3) == doctest::Approx(0.5));
  CHECK(uncertainty(0.65, 0.3) == doctest::Approx(0.5));
  for (const double certain : {0.0, 1.0, -3.0, 2.0}) CHECK(uncertainty(certain, 0.3) == 0);
}

TEST_CASE("suggest_labels: different pairs, the same for the same seed, all if there are few") {
  const TopicTables tables;
  const auto texts = tables.vectors();
  const auto pairs = scored_topics(wavy_score);
  for (const auto by : {SuggestBy::uncertainty, SuggestBy::spread, SuggestBy::random}) {
    CAPTURE(name_of(by));
    SuggestOptions options{.by = by, .count = 30};
    const auto chosen = suggest_labels(pairs, texts, 40, options);
    CHECK(chosen.size() == 30);
    CHECK(std::set<std::size_t>(chosen.begin(), chosen.end()).size() == 30);
    CHECK(suggest_labels(pairs, texts, 40, options) == chosen);
    options.seed = 2;
    CHECK(suggest_labels(pairs, texts, 40, options) != chosen);
    options.count = 5000;
    const auto all = suggest_labels(pairs, texts, 40, options);
    CHECK(std::set<std::size_t>(all.begin(), all.end()).size() == pairs.size());
    CHECK(suggest_labels({}, texts, 40, options).empty());
    options.count = 0;
    CHECK(suggest_labels(pairs, texts, 40, options).empty());
  }
}

TEST_CASE("suggest_labels: uncertain pairs of different records and topics") {
  const TopicTables tables;
  const auto texts = tables.vectors();
  // Only pairs of equal records are uncertain at all.
  const auto pairs = scored_topics([](std::size_t i) { return i % 41 == 0 ? 0.2 + 0.001 * static_cast<double>(i / 41) : 1.0; });
  std::size_t runs_with_all_topics = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::set<std::size_t> topics;
    for (const std::size_t i : suggest_labels(pairs, texts, 40, {.count = 4, .threshold = 0.2, .seed = seed})) {
      CHECK(pairs[i].left == pairs[i].right);
      topics.insert(pairs[i].left / 10);
    }
    if (topics.size() == 4) ++runs_with_all_topics;
  }
  CHECK(runs_with_all_topics >= 6);  // 2 of 20 are expected from draws that do not see the records

  // Of the ten most uncertain pairs one is drawn: the others share a record with it.
  std::vector<ScoredPair> row;
  for (std::size_t j = 0; j < 10; ++j) row.push_back({0, j, 0.5});
  for (std::size_t j = 10; j < 40; j += 10) row.push_back({j, j, 0.1});
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const auto of_row = suggest_labels(row, texts, 40, {.count = 4, .seed = seed});
    std::size_t of_record = 0;
    for (const std::size_t i : of_row)
      if (row[i].left == 0) ++of_record;
    CHECK(of_record == 1);
  }
}

TEST_CASE("suggest_labels: spread covers all ranges of the score, random does not see it") {
  const TopicTables tables;
  const auto texts = tables.vectors();
  // 1 pair in 100 has a high score.
  const auto pairs =
      scored_topics([](std::size_t i) { return i % 100 == 0 ? 0.9 + 1e-5 * static_cast<double>(i) : 0.0001 * static_cast<double>(i); });
  std::size_t high = 0, by_chance = 0;
  const auto spread = suggest_labels(pairs, texts, 40, {.by = SuggestBy::spread, .count = 20});
  for (const std::size_t i : spread)
    if (pairs[i].score > 0.5) ++high;
  CHECK(high >= 3);
  CHECK(pairs[spread[0]].score >= 0.9);
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
    for (const std::size_t i : suggest_labels(pairs, texts, 40, {.by = SuggestBy::random, .count = 20, .seed = seed}))
      if (pairs[i].score > 0.5) ++by_chance;
  CHECK(by_chance >= 1);
  CHECK(by_chance <= 25);  // 10 expected
  const std::vector<ScoredPair> equal(7, ScoredPair{1, 1, 0.25});
  CHECK(suggest_labels(equal, texts, 40, {.by = SuggestBy::spread, .count = 3}).size() == 3);
}

TEST_CASE("suggest_labels: bad input") {
  const TopicTables tables;
  const auto texts = tables.vectors();
  const std::vector<ScoredPair> bad{{0, 0, 0.5}, {0, 1, std::numeric_limits<double>::quiet_NaN()}};
  CHECK(error_message([&] { suggest_labels(bad, texts, 40); }).find("the score of pair 1 is nan") != std::string::npos);
  CHECK(error_message([&] {
          suggest_labels({}, texts, 40, {.threshold = 1});
        }).find("the threshold is 1, expected a number between 0 and 1") != std::string::npos);
}

namespace {

/// 3000 pairs with probabilities that are mostly small; those of at least one half are matches.
struct DecidedPairs {
  std::vector<double> p;
  std::vector<std::uint8_t> match;

  DecidedPairs() {
    RandomStream random(17, 0);
    for (int i = 0; i < 3000; ++i) {
      p.push_back(std::pow(random.uniform(), 6));
      match.push_back(p.back() >= 0.5 ? 1 : 0);
    }
  }
};

}  // namespace

TEST_CASE("sample_pairs: half of the matches, different pairs, the same for the same seed") {
  const DecidedPairs pairs;
  const auto drawn = sample_pairs(pairs.p, pairs.match, 101, 4);
  std::set<std::size_t> places;
  std::size_t matches = 0;
  for (const auto& [place, weight] : drawn) {
    places.insert(place);
    matches += pairs.match[place];
    CHECK(weight >= 1);
  }
  CHECK(places.size() == drawn.size());
  CHECK(matches >= 50);
  CHECK(matches <= 51);
  CHECK(drawn.size() >= 100);
  CHECK(drawn.size() <= 101);
  const auto again = sample_pairs(pairs.p, pairs.match, 101, 4), other = sample_pairs(pairs.p, pairs.match, 101, 5);
  REQUIRE(again.size() == drawn.size());
  bool same = other.size() == drawn.size();
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    CHECK(again[i].place == drawn[i].place);
    same = same && other[i].place == drawn[i].place;
  }
  CHECK(!same);
}

TEST_CASE("sample_pairs: a pair is drawn with the probability 1 / weight") {
  const DecidedPairs pairs;
  constexpr int seeds = 2000;
  std::vector<double> drawn(pairs.p.size()), weights(pairs.p.size());
  double total = 0;
  for (int seed = 1; seed <= seeds; ++seed)
    for (const auto& [place, weight] : sample_pairs(pairs.p, pairs.match, 60, static_cast<std::uint64_t>(seed))) {
      ++drawn[place];
      weights[place] = weight;
      total += weight;
    }
  CHECK(total / seeds == doctest::Approx(3000).epsilon(0.02));  // the sum of the weights estimates the number of pairs
  double deviation = 0, often = 0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (weights[i] == 0) continue;
    const double expected = seeds / weights[i];
    deviation += std::pow(drawn[i] - expected, 2) / (expected * (1 - 1 / weights[i]) + 1e-9);
    ++often;
  }
  CHECK(deviation / often < 1.3);  // the variance of a binomial number
}

TEST_CASE("sample_pairs: all pairs if there are few, also of one decision alone") {
  const std::vector<double> p{0.1, 0.9, 0.5, 0};
  for (const auto& match :
       {std::vector<std::uint8_t>{0, 1, 1, 0}, std::vector<std::uint8_t>{0, 0, 0, 0}, std::vector<std::uint8_t>{1, 1, 1, 1}}) {
    std::set<std::size_t> places;
    for (const auto& [place, weight] : sample_pairs(p, match, 10)) {
      CHECK(weight == doctest::Approx(1));
      places.insert(place);
    }
    CHECK(places.size() == 4);
  }
  CHECK(sample_pairs({}, {}, 10).empty());
  CHECK(sample_pairs(p, std::vector<std::uint8_t>(4), 0).empty());
  CHECK(error_message([&] { sample_pairs(p, std::vector<std::uint8_t>(3), 1); }).find("4 probabilities and 3 decisions") !=
        std::string::npos);
  CHECK(error_message([] { sample_pairs(std::vector<double>{1.5}, std::vector<std::uint8_t>{1}, 1); }).find("a probability is 1.5") !=
        std::string::npos);
}
