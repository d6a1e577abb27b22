// SPDX-License-Identifier: MIT
// What is told of labelled pairs and of the decisions that they choose.
#include "lexformer/tables/decisions.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lexformer/metrics/metrics.hpp"

using namespace lexformer;

namespace {

/// Pair (i, i) is a match for i below `matches` and a candidate with a large cosine for i below `found`; (i, i + 1) is another candidate.
struct Case {
  LabelledPairs pairs{"labels", {}, {}};
  std::vector<Candidate> candidates{};

  Case(std::size_t matches, std::size_t found) {
    for (std::size_t i = 0; i < matches; ++i)
      for (const std::size_t j : {i, i + 1}) {
        pairs.places.emplace_back(i, j);
        pairs.labels.push_back(i == j ? 1 : 0);
        if (i != j || i < found)
          candidates.push_back(
              {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), i == j ? 0.9f : 0.1f + 0.001f * static_cast<float>(i)});
      }
  }
};

RecordTable table(const std::string& path, const std::vector<std::vector<std::string>>& values) {
  RecordTable made{path, {"name", "number"}, {}};
  made.id = "id";
  for (const auto& row : values) {
    Record record;
    record.id = cat(made.records.size());
    record.values = row;
    made.places.emplace(record.id, made.records.size());
    made.records.push_back(record);
  }
  return made;
}

}  // namespace

TEST_CASE("choose_decisions: matches that are no candidates are told of and count as missed in F1") {
  for (const std::size_t found : {std::size_t{40}, std::size_t{39}, std::size_t{30}}) {
    const Case labels(40, found);
    const Evidence evidence(labels.candidates, false);
    ValidationPairs valid(labels.pairs, evidence);
    CHECK(valid.lost == 40 - found);
    for (const auto label : valid.labels) valid.scores.push_back(label == 1 ? 0.9 : 0.1);
    std::vector<std::string> notes;
    choose_decisions({}, 0.5, &valid, true, true, [&](const std::string& note) { notes.push_back(note); });
    if (found < 40) {
      CHECK(notes.at(0) == (found == 39 ? "labels: 1 of 40 labelled matches is not a candidate; recall and F1 count it as missed"
                                        : "labels: 10 of 40 labelled matches are not candidates; recall and F1 count them as missed"));
      notes.erase(notes.begin());
    }
    const auto f1 = percent(2.0 * static_cast<double>(found) / static_cast<double>(40 + found));
    CHECK(notes.at(0).find(cat("best F1 ", f1, " with the evidence of the candidate search (cross-fitted), ", f1, " by the model alone")) !=
          std::string::npos);
    CHECK(notes.back().find(cat("100.0 % precision and ", percent(static_cast<double>(found) / 40), " recall at threshold")) !=
          std::string::npos);
  }
}

TEST_CASE("choose_cascade: a gain is said to be one") {
  const Case labels(40, 40);
  const Evidence evidence(labels.candidates, false);
  ValidationPairs valid(labels.pairs, evidence);
  std::string note;
  const auto told = [&](const std::vector<double>& scores) {
    valid.scores = scores;
    Decisions decisions;
    decisions.threshold = 0.5;
    choose_cascade(valid, evidence, decisions, [&](const std::string& text) { note = text; });
    return note;
  };
  std::vector<double> none(valid.labels.size(), 0.2), right;
  for (const auto label : valid.labels) right.push_back(label == 1 ? 0.9 : 0.1);
  CHECK(told(none).find("where recall rises by 2.5 and precision rises by 100.0 points") != std::string::npos);
  CHECK(told(right).find("where recall falls by 0.0 and precision falls by 0.0 points") != std::string::npos);
}

TEST_CASE("telling_columns: a column that is equal in all matches and in no other pair") {
  std::vector<std::vector<std::string>> left, right;
  for (int i = 0; i < 24; ++i) {
    left.push_back({cat("lamp ", i), cat(i)});
    right.push_back({cat("lamp no ", i), cat(i)});
  }
  LabelledPairs pairs{"labels", {}, {}};
  for (std::size_t i = 0; i < 20; ++i) {
    pairs.places.emplace_back(i, i < 10 ? i : i + 1);
    pairs.labels.push_back(i < 10 ? 1 : 0);
  }
  const auto told = [&] { return telling_columns(pairs, RecordPairs(table("a", left), table("b", right), {})); };
  CHECK(told() == std::vector<std::string>{"number"});
  CHECK(telling_columns(pairs, RecordPairs(table("a", left), table("b", right), {.columns = {{"number", "number"}}})).empty());
  for (auto* table : {&left, &right}) table->at(3)[1] = "";  // a match
  CHECK(told().empty());
  for (auto* table : {&left, &right}) table->at(3)[1] = "3";
  right[12][1] = "11";  // of another pair
  CHECK(told().empty());
  right[12][1] = "12";
  CHECK(!told().empty());
  for (const std::size_t last : {std::size_t{19}, std::size_t{0}}) {  // nine of a kind
    auto fewer = pairs;
    fewer.places.erase(fewer.places.begin() + static_cast<std::ptrdiff_t>(last));
    fewer.labels.erase(fewer.labels.begin() + static_cast<std::ptrdiff_t>(last));
    CHECK(telling_columns(fewer, RecordPairs(table("a", left), table("b", right), {})).empty());
  }
}
