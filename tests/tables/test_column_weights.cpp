// SPDX-License-Identifier: MIT
#include "lexformer/tables/column_weights.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lexformer/core/random.hpp"
#include "lexformer/tables/record_search.hpp"

using namespace lexformer;

namespace {

using TextList = std::vector<std::string>;

std::string words(RandomStream& random, std::size_t count, std::uint32_t vocabulary) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word = (random.below(vocabulary) + 1) * 0x9e3779b97f4a7c15u;
    text += i > 0 ? " " : "";
    for (int k = 0; k < 5; ++k, word = word * 6364136223846793005u + 1442695040888963407u)
      text += static_cast<char>('a' + (word >> 33) % 26);
  }
  return text;
}

/// Titles of one record that differ in a letter, text that is written anew by each side and missing in every fourth record, a number.
std::vector<SearchColumn> shop_columns(std::size_t records) {
  RandomStream random(3, random_site::share);
  std::vector<SearchColumn> columns = {{"notes", {}, {}}, {"title", {}, {}}, {"price", {}, {}}, {"state", {}, {}}};
  for (std::size_t i = 0; i < records; ++i) {
    std::string title = words(random, 4, 400);
    columns[1].left.push_back(title);
    columns[1].right.push_back(title.erase(i % 9, 1));
    for (auto* texts : {&columns[0].left, &columns[0].right}) texts->push_back(random.below(4) == 0 ? "" : words(random, 60, 1000));
    for (auto* texts : {&columns[2].left, &columns[2].right}) texts->push_back(std::to_string(random.below(90)));
    for (auto* texts : {&columns[3].left, &columns[3].right}) texts->push_back("new in its original box");
  }
  return columns;
}

}  // namespace

TEST_CASE("a text in columns has the weighed sum of their vectors, limited by the measure") {
  const TextList title = {"red", ""}, notes = {"red blue green grey", "blue"};
  const double both = 1 + std::log(3.0 / 3), one = 1 + std::log(3.0 / 2);  // in two texts or in one
  const TextVectors v(TextColumns{{{title, {}}, {notes, {}, 0.5}}, 0}, {0});
  REQUIRE(v.features() == 4);
  const double limit = one / std::sqrt(both * both + 3 * one * one);  // the mean norm of the titles that are there, by that of the notes
  const double red = one + 0.5 * limit * one, green = 0.5 * limit * one, blue = 0.5 * limit * both;
  const double norm = std::sqrt(red * red + 2 * green * green + blue * blue);
  for (const auto& c : v[0]) {
    const double expected = v.key(c.feature) == TextFeatures::key(U"red")    ? red
                            : v.key(c.feature) == TextFeatures::key(U"blue") ? blue
                                                                             : green;
    if (v.key(c.feature) <= TextFeatures::key(U"red")) CHECK(static_cast<double>(c.weight) == doctest::Approx(expected / norm));
  }
  CHECK(v[0].size() == 4);
  CHECK(static_cast<double>(v.cosine(0, 1)) == doctest::Approx(blue / norm));  // the other has one word
  const TextVectors alone(TextColumns{{{notes, {}, 0.3}}, 0}, {0}), whole(notes, {}, {0});
  CHECK(static_cast<double>(alone.cosine(0, 1)) == doctest::Approx(static_cast<double>(whole.cosine(0, 1))));
}

TEST_CASE("a text that does not recur counts less than the title, and short or constant columns are as in a whole text") {
  const auto columns = shop_columns(200);
  const TextColumns weighed = weigh_columns(columns, false);
  REQUIRE(weighed.columns.size() == 4);
  CHECK(weighed.measure == 1);
  CHECK(weighed.columns[0].weight >= 0.05);
  CHECK(weighed.columns[0].weight < 0.5);
  for (std::size_t c = 1; c < 4; ++c) CHECK(weighed.columns[c].weight == 1);
  CHECK(describe_weights(columns, weighed).ends_with("title 1.00, price 1.00, state 1.00"));

  const TextList left = join_columns(columns, false), right = join_columns(columns, true);
  CHECK(left[0].find(columns[1].left[0] + " " + columns[2].left[0] + " new") != std::string::npos);
  std::vector<std::pair<std::size_t, std::size_t>> matches;
  for (std::size_t i = 0; i < left.size(); ++i) matches.emplace_back(i, i);
  const auto recall = [&](const TextColumns& given) {
    CandidateOptions options{.top = 3};
    options.columns = given;
    return blocking_quality(matches, RecordSearch(left, right, false, options).find(), false, 1).recall();
  };
  CHECK(recall(weighed) == 1);
  CHECK(recall({}) < 0.9);
}

TEST_CASE("nothing is weighed with a single text") {
  auto columns = shop_columns(40);
  columns.erase(columns.begin());
  CHECK(weigh_columns(columns, false).columns.empty());
  CHECK(describe_weights(columns, {}).empty());
  CHECK(weigh_columns({}, false).columns.empty());
  for (auto& column : columns) column.left.clear(), column.right.clear();
  CHECK(weigh_columns(columns, false).columns.empty());
}

TEST_CASE("within one table a record is not its own partner") {
  auto columns = shop_columns(100);
  for (auto& column : columns) {
    column.left.insert(column.left.end(), column.right.begin(), column.right.end());
    column.right.clear();
  }
  const TextColumns weighed = weigh_columns(columns, true);
  REQUIRE(weighed.columns.size() == 4);
  CHECK(weighed.measure == 1);
  CHECK(weighed.columns[0].weight < 0.5);  // 1 if each were its own
}
