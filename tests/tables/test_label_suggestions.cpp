// SPDX-License-Identifier: MIT
#include "lexformer/tables/label_suggestions.hpp"

#include <doctest/doctest.h>

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
