// SPDX-License-Identifier: MIT
#include "lexformer/words/love_batches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

using Lists = LoveBatches::Lists;

const std::vector<std::string> ten_words{"screen", "screens", "green", "camera", "cat", "phone", "kitchen", "oven", "monitor", "keyboard"};
const Lists nothing(10);

}  // namespace

TEST_CASE("LOVE's batches: each word once an epoch with its negatives; near words first, then others") {
  Lists near(10);
  near[0] = {1, 2};
  const LoveBatches batches(ten_words, nothing, near, {.batch = 4, .negatives = 3}, 7);
  REQUIRE(batches.size() == 3);
  std::map<std::int32_t, int> first;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch)
    for (std::size_t b = 0; b < 3; ++b) {
      const auto batch = batches.batch(epoch, b);
      REQUIRE(batch.words.size() == (b == 2 ? 2 : 4) * 4);
      REQUIRE(batch.spellings.size() == batch.words.size());
      for (std::size_t i = 0; i < batch.words.size(); i += 4) {
        ++first[batch.words[i]];
        const std::set<std::int32_t> group(batch.words.begin() + static_cast<std::ptrdiff_t>(i),
                                           batch.words.begin() + static_cast<std::ptrdiff_t>(i + 4));
        CHECK(group.size() == 4);  // no word twice
        if (batch.words[i] == 0) CHECK((group.count(1) == 1 && group.count(2) == 1));
      }
    }
  for (const auto& [word, times] : first) CHECK(times == 3);
  CHECK(first.size() == 10);
  CHECK(batches.batch(batches.order(1), 1, 2).spellings == batches.batch(1, 2).spellings);
  // Losses compare rows: a single last one joins the batch before it.
  const LoveBatches alone(ten_words, nothing, nothing, {.batch = 3, .negatives = 0}, 7);
  CHECK(alone.size() == 3);
  CHECK(alone.batch(0, 2).words.size() == 4);
  CHECK(LoveBatches(ten_words, nothing, nothing, {.batch = 4, .negatives = 0}, 7).size() == 3);
  // The same again from another object; other epochs and seeds differ.
  const LoveBatches again(ten_words, nothing, near, {.batch = 4, .negatives = 3}, 7),
      other(ten_words, nothing, near, {.batch = 4, .negatives = 3}, 8);
  CHECK(again.batch(1, 2).spellings == batches.batch(1, 2).spellings);
  CHECK(again.batch(1, 0).words != batches.batch(2, 0).words);
  CHECK(other.batch(1, 0).words != batches.batch(1, 0).words);
}

TEST_CASE("LOVE's batches: shares of the augmentations") {
  Lists synonyms(10);
  for (std::uint32_t w = 0; w < 10; ++w) synonyms[w] = {(w + 1) % 10};
  synonyms[3] = {};
  const LoveBatches batches(ten_words, synonyms, nothing, {.batch = 10, .negatives = 0}, 1);
  std::size_t rows = 0, synonym = 0, unchanged = 0, longer = 0;
  for (std::uint32_t epoch = 0; epoch < 2000; ++epoch) {
    const auto batch = batches.batch(epoch, 0);
    for (std::size_t i = 0; i < batch.words.size(); ++i) {
      const auto w = static_cast<std::size_t>(batch.words[i]);
      if (w == 4 || w == 3) {  // cat is too short for edits; camera has no synonym
        const bool kept = batch.spellings[i] == ten_words[w];
        CHECK((w == 3 || kept || batch.spellings[i] == ten_words[5]));
        continue;
      }
      ++rows;
      synonym += batch.spellings[i] == ten_words[(w + 1) % 10];
      unchanged += batch.spellings[i] == ten_words[w];
      longer += batch.spellings[i].size() == ten_words[w].size() + 1 && batch.spellings[i] != ten_words[(w + 1) % 10];
    }
  }
  const auto share = [&](std::size_t n) { return static_cast<double>(n) / static_cast<double>(rows); };
  CHECK(share(synonym) == doctest::Approx(0.36).epsilon(0.05));
  CHECK(share(unchanged) == doctest::Approx(0.36 + 0.07 * 0.1).epsilon(0.06));  // and swaps of equal letters
  CHECK(share(longer) == doctest::Approx(0.07).epsilon(0.1));
}

TEST_CASE("LOVE's batches: only with any_characters spellings have other characters than a-z") {
  for (const bool any_characters : {false, true}) {
    const LoveBatches batches(ten_words, nothing, nothing,
                              {.batch = 10, .insert = 0.3, .keyboard = 0.3, .synonym = 0, .any_characters = any_characters}, 1);
    bool other = false;
    for (std::uint32_t epoch = 0; epoch < 20; ++epoch)
      for (const std::string& spelling : batches.batch(epoch, 0).spellings)
        other = other || !std::all_of(spelling.begin(), spelling.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    CHECK(other == any_characters);
  }
}

TEST_CASE("LOVE's batches: options that do not fit") {
  const auto refused = [](const LoveBatchOptions& o, const char* part) {
    expect_error(
        ErrorKind::usage, [&] { LoveBatches(ten_words, nothing, nothing, o, 1); }, part);
  };
  refused({.negatives = 10}, "10 negatives for each word, but there are only 9 other words");
  refused({.batch = 0}, "in batches of 0");
  refused({.swap = 0.9}, "add up to 1.47");
  refused({.drop = -0.1}, "is -0.1; expected at least 0");
  expect_error(
      ErrorKind::failure, [] { LoveBatches(ten_words, Lists(3), nothing, {}, 1); }, "3 lists for 10 words");
  Lists broken(10);
  broken[2] = {10};
  expect_error(
      ErrorKind::failure, [&] { LoveBatches(ten_words, nothing, broken, {}, 1); }, "the word number 10 of 10 words");
  expect_error(
      ErrorKind::failure, [] { LoveBatches(ten_words, nothing, nothing, {}, 1).batch(0, 3); }, "there is no batch 3; an epoch has 3");
}
