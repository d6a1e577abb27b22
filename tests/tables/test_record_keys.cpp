// SPDX-License-Identifier: MIT
#include "lexformer/tables/record_keys.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lexformer/tables/record_search.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

RecordTable key_table(const std::string& path, std::vector<std::string> columns, const std::vector<std::vector<std::string>>& rows) {
  RecordTable table{path, std::move(columns), {}};
  for (const auto& row : rows) {
    table.places.emplace(cat(path, table.records.size()), table.records.size());
    table.records.push_back({cat(path, table.records.size()), row});
  }
  return table;
}

RecordPairs shops() {
  return {
      key_table("a", {"title", "brand", "ean"},
                {{"red lamp", "Philips", "0012345"}, {"blue lamp", "", "77"}, {"green lamp", "Osram GmbH", ""}, {"black tv", "Sony", "5"}}),
      key_table("b", {"title", "maker", "ean"},
                {{"red lamp", "philips", "9"}, {"blue lamp", "OSRAM-GmbH", "12345.0"}, {"oven", "Sony", "5"}, {"sink", "", ""}}),
      {.columns = {{"title", "title"}}}};
}

Pairs pairs_of(const std::vector<Candidate>& found) {
  Pairs pairs;
  for (const auto& c : found) pairs.emplace_back(c.left, c.right);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace

TEST_CASE("key_value: letters and digits alone, and numbers however they are written") {
  CHECK(key_value("Hewlett-Packard ") == "hewlettpackard");
  CHECK(key_value("caf\xC3\x89") == "cafe");
  CHECK(key_value("0012") == "12");
  CHECK(key_value("12.0") == "12");
  CHECK(key_value("1,299.00") == "1299");
  CHECK(key_value("000") == "0");
  CHECK(key_value("00a") == "00a");
  CHECK(key_value(" -_. ") == "");
  CHECK(key_value("") == "");
}

TEST_CASE("record_keys: columns that must agree, columns that add pairs, missing values") {
  const RecordPairs records = shops();
  const auto keys = record_keys(records, {.same = {{"brand", "maker"}}, .also = {{"ean", "ean"}}});
  REQUIRE(keys.same.keys.size() == 1);
  CHECK(keys.same.agree(0, 4));
  CHECK(!keys.same.agree(0, 5));
  CHECK(keys.same.agree(2, 5));
  CHECK(keys.same.agree(1, 4));
  CHECK(keys.same.agree(1, 7));
  CHECK(keys.also == Pairs{{0, 1}, {3, 2}});
  CHECK(keys.notes.at(0) == "same brand: 3 of 4 left and 3 of 4 right records have a value; 3 values are in both tables");
  CHECK(keys.notes.at(1) == "also ean: 3 of 4 left and 3 of 4 right records have a value; 2 values are in both tables");
  const auto none = record_keys(records, {.same = {{"brand", "maker"}}, .missing = MissingKey::none});
  CHECK(!none.same.agree(1, 4));
  CHECK(!none.same.agree(1, 7));
  CHECK(none.same.agree(0, 4));
}

TEST_CASE("RecordSearch keeps to keys, and adds the pairs of `also`") {
  const RecordPairs records = shops();
  const auto texts = search_texts(records);
  CandidateOptions options;
  options.keys = record_keys(records, {.same = {{"brand", "maker"}}, .also = {{"ean", "ean"}}});
  // 1 has no brand, so it is compared with all; 3 and 2 share no n-gram.
  const Pairs wanted = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 1}, {3, 2}};
  const auto found = RecordSearch(texts.first, texts.second, false, options).find();
  CHECK(pairs_of(found) == wanted);
  for (const auto& c : found) {
    if (c.left == 3) CHECK(c.score == 0);
    if (c.left == 0 && c.right == 1) CHECK((c.score > 0 && c.score < 1));
    if (c.left == c.right && c.left < 2) CHECK(c.score == 1);
  }
  options.source = CandidateSource::none;
  CHECK(pairs_of(RecordSearch(texts.first, texts.second, false, options).find()) ==
        Pairs{{0, 0}, {0, 1}, {0, 3}, {1, 0}, {1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 3}, {3, 2}, {3, 3}});
  options.source = CandidateSource::embeddings;
  options.embed = [](std::span<const std::string> part) {  // the counts of two letters
    auto y = Tensor<float>::zeros({part.size(), 2});
    for (std::size_t i = 0; i < part.size(); ++i)
      for (const char c : part[i])
        if (c == 'e' || c == 'v') y.mutable_data()[2 * i + (c == 'e' ? 0 : 1)] += 1;
    return y;
  };
  const auto near = RecordSearch(texts.first, texts.second, false, options).find();
  CHECK(pairs_of(near) == Pairs{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 1}, {3, 2}});
  for (const auto& c : near)
    if (c.left == 3) CHECK(c.score == doctest::Approx(std::sqrt(0.5)));  // of `black tv` and `oven`
  const auto reasons = RecordSearch(texts.first, texts.second, false, options).explain(2, 0);
  CHECK(reasons.at(0).left_rank == 0);
  options.nearest = [](const auto&, const auto*, std::size_t, const auto&) { return std::vector<Candidate>(); };
  expect_error(
      ErrorKind::usage, [&] { RecordSearch(texts.first, texts.second, false, options); }, "cannot keep to keys");
}

TEST_CASE("record_keys: within one table, and values that too many records have") {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < 130; ++i) rows.push_back({cat("x", i), i < 101 ? "n/a" : i < 120 ? "" : cat(i / 2)});
  const RecordPairs records{key_table("a", {"title", "ean"}, rows), {}, {}};
  const auto keys = record_keys(records, {.also = {{"ean", "ean"}}});
  CHECK(keys.also == Pairs{{120, 121}, {122, 123}, {124, 125}, {126, 127}, {128, 129}});
  REQUIRE(keys.notes.size() == 2);
  CHECK(keys.notes[0] == "also ean: 111 of 130 records have a value; 6 values occur again");
  CHECK(keys.notes[1].find("1 value adds no pairs, since more than 100 records have it, e.g. 'n/a' (101 records)") != std::string::npos);
  expect_error(
      ErrorKind::usage,
      [&] {
        record_keys(records, {.same = {{"ean", "title"}}});
      },
      "'ean' and 'title' are given for one table");
}

TEST_CASE("record_keys: what cannot be a key is refused") {
  const RecordPairs records = shops();
  expect_error(
      ErrorKind::usage,
      [&] {
        record_keys(records, {.also = {{"ean", "ean"}, {"ean", "ean"}}});
      },
      "'ean=ean' is named twice");
  expect_file_error(
      [&] {
        record_keys(records, {.same = {{"brand", "brand"}}});
      },
      "b: there is no column 'brand' among 'title, maker, ean'");
}

TEST_CASE("explain_keys says what the keys say") {
  const RecordPairs records = shops();
  const KeyOptions options{.same = {{"brand", "maker"}}, .also = {{"ean", "ean"}}};
  using Lines = std::vector<std::string>;
  CHECK(explain_keys(records, options, 0, 1) == Lines{"same brand: 'Philips' and 'OSRAM-GmbH': differ: no candidate by its texts",
                                                      "also ean: '0012345' and '12345.0': agree: a candidate"});
  CHECK(explain_keys(records, options, 1, 0) ==
        Lines{"same brand: '' and 'philips': a missing value agrees with every value", "also ean: '77' and '9': do not agree"});
}
