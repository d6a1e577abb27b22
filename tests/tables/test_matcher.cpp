// SPDX-License-Identifier: MIT
// Matching as a function of values, with a model that knows the answers.
#include "lexformer/tables/matcher.hpp"

#include <set>

#include "lexformer/io/json.hpp"
#include "support/error_message.hpp"
#include "support/expect_error.hpp"
#include "support/logits_only.hpp"

using namespace lexformer;

namespace {

RecordTable table(const std::string& path, const std::vector<std::pair<std::string, std::string>>& records) {
  RecordTable made{path, {"name"}, {}};
  made.id = "id";
  for (const auto& [id, name] : records) {
    made.places.emplace(id, made.records.size());
    Record record;
    record.id = id;
    record.values = {name};
    made.records.push_back(record);
  }
  return made;
}

/// 40 records with words of their own, and the same with a letter less; right record i belongs to left record i.
RecordPairs two_tables() {
  std::vector<std::pair<std::string, std::string>> left, right;
  for (int i = 0; i < 40; ++i) {
    const std::string word = cat(std::string(3, static_cast<char>('a' + i % 20)), std::string(3, static_cast<char>('c' + i / 2)), "xyz");
    left.emplace_back(cat("l", i), cat(word, i % 2 == 0 ? " red" : " green", " lamp"));
    right.emplace_back(cat("r", i), cat(word.substr(1), i % 2 == 0 ? " red" : " green", " lamp"));
  }
  return RecordPairs(table("a", left), table("b", right), {});
}

/// Two classes; sure if the texts end alike after the first letter.
class Knowing final : public test::LogitsOnly {
 public:
  mutable std::size_t asked = 0;

  Tensor<float> logits(std::span<const PairExample> examples, std::size_t, const std::function<void(std::size_t)>&) const override {
    asked += examples.size();
    auto y = Tensor<float>::zeros({examples.size(), kind.labels});
    for (std::size_t i = 0; i < examples.size(); ++i)
      y.mutable_data()[i * kind.labels + kind.labels - 1] = examples[i].left.substr(1) == examples[i].right ? 3.0f : -3.0f;
    return y;
  }
};

std::set<std::pair<std::size_t, std::size_t>> places(const std::vector<Match>& matches) {
  std::set<std::pair<std::size_t, std::size_t>> all;
  for (const Match& m : matches) all.emplace(m.left, m.right);
  return all;
}

/// All candidates among the first 40 x 40 pairs: right ones are those of equal places.
LabelledPairs labels() {
  LabelledPairs pairs{"labels", {}, {}};
  for (std::size_t i = 0; i < 40; ++i)
    for (const std::size_t j : {i, (i + 1) % 40, (i + 20) % 40}) {
      pairs.places.emplace_back(i, j);
      pairs.labels.push_back(i == j ? 1 : 0);
    }
  return pairs;
}

}  // namespace

TEST_CASE("match_records: without a model, with one, and with labelled pairs the right pairs are found") {
  const auto records = two_tables();
  std::set<std::pair<std::size_t, std::size_t>> expected;
  for (std::size_t i = 0; i < 40; ++i) expected.emplace(i, i);
  CHECK(places(match_records(records)) == expected);
  const Knowing model;
  CHECK(places(match_records(records, &model)) == expected);
  const auto asked = model.asked;

  const auto pairs = labels();
  std::vector<std::string> notes;
  std::size_t rows = 0;
  const MatchHooks hooks{.note = [&](const std::string& text) { notes.push_back(text); },
                         .matched = [&](std::size_t done) { rows = done; }};
  const auto all = match_records(records, &model, &pairs, {}, hooks, false);
  CHECK(rows == 40);
  CHECK(notes.size() >= 5);
  CHECK(notes[0] == "40 x 40 records");
  std::vector<Match> found;
  std::size_t by_cascade = 0;
  for (const Match& m : all) {
    CHECK(m.probability.has_value());
    CHECK(m.model.has_value() == !m.by_cascade);
    if (m.match) found.push_back(m);
    by_cascade += m.by_cascade ? 1 : 0;
  }
  CHECK(places(found) == expected);
  CHECK(by_cascade > 0);
  const MatchStream stream(records, nullptr, nullptr, {});
  std::size_t labelled = 0;  // the labelled pairs that are candidates
  for (std::size_t i = 0; i < 40; ++i)
    for (const Match& m : stream.row(i)) labelled += m.right == i || m.right == (i + 1) % 40 || m.right == (i + 20) % 40 ? 1 : 0;
  CHECK(model.asked - asked == all.size() - by_cascade + labelled);
}

TEST_CASE("MatchStream: rows in any order, the likeliest pair first, shards that together are the whole") {
  const auto records = two_tables();
  const MatchStream whole(records, nullptr, nullptr, {});
  CHECK(whole.rows() == 40);
  CHECK(whole.pairs_before(0) == 0);
  const auto last = whole.row(39);
  CHECK(last.size() == whole.pairs_before(40) - whole.pairs_before(39));
  for (std::size_t i = 1; i < last.size(); ++i) CHECK(last[i - 1].score >= last[i].score);
  CHECK(last[0].left == 39);
  CHECK(last[0].right == 39);

  std::size_t rows = 0;
  for (std::size_t n = 1; n <= 3; ++n) {
    MatchOptions options;
    options.shard = Shard::parse(cat(n, "/3"));
    options.top = 1;
    const MatchStream part(records, nullptr, nullptr, options);
    rows += part.rows();
    for (std::size_t i = 0; i < part.rows(); ++i) {
      const auto row = part.row(i);
      CHECK(row.size() == 1);
      CHECK(row[0].score == whole.row(row[0].left)[0].score);
    }
    CHECK(part.identity() != whole.identity());
  }
  CHECK(rows == 40);
  for (const char* wrong : {"", "0/2", "3/2", "1/2/3", "a/b", "1/"})
    expect_error(
        ErrorKind::usage, [&] { Shard::parse(wrong); }, "is not I/N with I from 1 to N");
}

TEST_CASE("match_records: what does not fit is refused; a hook ends the call") {
  const auto records = two_tables();
  const RecordPairs one(table("a", {{"1", "red lamp"}, {"2", "red lamps"}}), {}, {});
  Knowing model;
  expect_error(
      ErrorKind::usage, [&] { match_records(one); }, "threshold: must be given");
  CHECK(match_records(one, nullptr, nullptr, {.decision = {.threshold = 0.5}}).size() == 1);
  expect_error(
      ErrorKind::usage, [&] { match_records(records, nullptr, nullptr, {.decision = {.threshold = 2}}); },
      "but the scores are from 0 to 1");
  model.kind.labels = 3;
  expect_error(
      ErrorKind::usage, [&] { match_records(records, &model); }, "has 3 classes");
  model.kind.labels = 1;
  expect_error(
      ErrorKind::usage, [&] { match_records(records, &model); }, "since it gives numbers");
  model.kind = {};
  model.kind.texts = 1;
  expect_error(
      ErrorKind::usage, [&] { match_records(records, &model); }, "reads single texts");
  auto equal = labels();
  for (auto& label : equal.labels) label = 0;
  expect_file_error([&] { match_records(records, nullptr, &equal); }, "all 120 pairs have the same label");

  struct Stop {};
  CHECK_THROWS_AS(match_records(records, nullptr, nullptr, {}, {.searching = [](double) { throw Stop(); }}), Stop);
  CHECK_THROWS_AS(match_records(records, nullptr, nullptr, {}, {.matched = [](std::size_t) { throw Stop(); }}), Stop);
}

TEST_CASE("RecordSearch: vectors of texts, and both sources") {
  const auto records = two_tables();
  const auto texts = search_texts(records);
  CandidateOptions options{.source = CandidateSource::embeddings, .top = 1};
  expect_error(
      ErrorKind::usage, [&] { RecordSearch(texts.first, texts.second, false, options); }, "embeddings needs an encoder");
  options.embed = [](std::span<const std::string> part) {  // the second and third letter, and the sixth
    auto y = Tensor<float>::zeros({part.size(), 60});
    for (std::size_t i = 0; i < part.size(); ++i)
      for (const char c : part[i])
        if (c >= 'a' && c <= 'z') y.mutable_data()[i * 60 + static_cast<std::size_t>(c - 'a')] += 1;
    return y;
  };
  const RecordSearch vectors(texts.first, texts.second, false, options);
  CHECK(vectors.pairs() == 1600);
  const auto near = vectors.find();
  CHECK(near.size() >= 40);
  CHECK(vectors.explain(0, 0).at(0).kind == "embeddings");
  options.source = CandidateSource::all;
  CHECK(RecordSearch(texts.first, texts.second, false, options).find().size() >= near.size());
  std::vector<std::pair<std::size_t, std::size_t>> matches{{0, 0}, {0, 0}, {1, 1}};
  const auto quality = blocking_quality(matches, near, false, 1600);
  CHECK(quality.matches == 2);
  CHECK(quality.candidates == near.size());
}

TEST_CASE("match tells of tables that share records") {
  std::vector<std::pair<std::string, std::string>> left, right;
  for (int i = 0; i < 40; ++i) {
    left.emplace_back(cat("l", i), cat("lamp number ", 7919 * i, i < 10 ? " red" : ""));
    right.emplace_back(cat("r", i), cat("lamp number ", 7919 * i, i < 10 ? " red" : " blue"));
  }
  const auto notes_of = [](RecordPairs records) {
    std::string all;
    match_records(records, nullptr, nullptr, {}, {.note = [&](const std::string& text) { all += text + "\n"; }});
    return all;
  };
  CHECK(notes_of(RecordPairs(table("a", left), table("b", right), {})).find("10 of 40 right records have an identical left record") !=
        std::string::npos);
  right[0].second += " blue";
  CHECK(notes_of(RecordPairs(table("a", left), table("b", right), {})).find("identical") == std::string::npos);
}
