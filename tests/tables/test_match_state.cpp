// SPDX-License-Identifier: MIT
// A run that goes on from the state of an earlier one gives what a run over all records gives with the earlier weights and decisions.
#include "lexformer/tables/match_state.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/tables/matcher.hpp"
#include "support/expect_error.hpp"
#include "support/logits_only.hpp"

using namespace lexformer;

namespace {

using Rows = std::vector<std::vector<std::string>>;  // id, name, number

RecordTable standing_table(const std::string& path, const Rows& rows) {
  RecordTable made{path, {"name", "number"}, {}};
  made.id = "id";
  for (const auto& row : rows) {
    Record record;
    record.id = row[0];
    record.values = {row[1], row[2]};
    made.places.emplace(record.id, made.records.size());
    made.records.push_back(record);
  }
  return made;
}

/// Left record i belongs to right record i, which has a letter less.
Rows standing_rows(const std::string& side, int first, int last) {
  Rows made;
  for (int i = first; i < last; ++i) {
    const std::string word = cat(std::string(3, static_cast<char>('a' + i % 20)), std::string(3, static_cast<char>('c' + i / 2)), "xyz");
    made.push_back({cat(side, i), cat(side == "l" ? word : word.substr(1), i % 3 == 0 ? " red" : " green", " lamp"), cat(i % 7)});
  }
  return made;
}

/// Logits that depend on both texts, and on nothing else; asked: pairs.
class TextModel final : public test::LogitsOnly {
 public:
  mutable std::size_t asked = 0;

  Tensor<float> logits(std::span<const PairExample> examples, std::size_t, const std::function<void(std::size_t)>&) const override {
    asked += examples.size();
    auto y = Tensor<float>::zeros({examples.size(), kind.labels});
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const auto [left, right] = std::pair(examples[i].left.substr(1, 6), examples[i].right.substr(0, 6));
      y.mutable_data()[i * kind.labels + 1] =
          (left == right ? 3.0f : -3.0f) + static_cast<float>(fnv1a(examples[i].left + examples[i].right) % 100) / 100;
    }
    return y;
  }
};

std::string shown(const MatchStream& stream) {
  std::string all;
  for (std::size_t i = 0; i < stream.rows(); ++i)
    for (const Match& m : stream.row(i)) {
      all += cat(m.left, " ", m.right, " ", m.score, " ", m.match, " ", m.by_cascade, " ", m.probability.value_or(-1), " ");
      all += cat(m.model.value_or(-1), "\n");
    }
  return all;
}

/// A state with the weights and decisions of `state` alone, so that all records of today are matched.
MatchState without_records(MatchState state) {
  for (auto* side : {&state.left, &state.right})
    for (RecordHash& key : *side) key.content = 0;
  state.scores.clear();
  return state;
}

}  // namespace

TEST_CASE("MatchStream: an update is a run over all records with the earlier weights and decisions") {
  const TextModel model;
  for (const bool one : {false, true})
    for (const bool scored : {false, true}) {
      const TextModel* const scorer = scored ? &model : nullptr;
      MatchOptions options{.decision = {.threshold = 0.5}, .top = 4, .keep_state = true};
      options.candidates.top = 3;
      const auto records = [&](const Rows& left, const Rows& right) {
        return RecordPairs(standing_table("a", left), one ? std::nullopt : std::optional(standing_table("b", right)), {});
      };
      auto left = standing_rows("l", 0, 40), right = standing_rows("r", 0, 40);
      const auto before = records(left, right);
      const MatchStream first(before, scorer, nullptr, options);
      const auto first_rows = shown(first);
      const auto state = first.state();
      CHECK(state.since == 0);

      const MatchUpdate same(state, before, {});
      CHECK(same.records() == 0);
      options.update = &same;
      model.asked = 0;
      CHECK(shown(MatchStream(before, scorer, nullptr, options)) == first_rows);
      CHECK(model.asked == 0);

      left[5][1] += " new";
      left.erase(left.begin() + 20);
      right[31][2] = "99";
      for (auto& row : standing_rows("l", 50, 53)) left.push_back(row);
      for (auto& row : standing_rows("r", 50, 52)) right.insert(right.begin() + 10, row);
      const auto today = records(left, right);
      const MatchUpdate update(state, today, {}), everything(without_records(state), today, {});
      CHECK(update.left.count(RecordChanges::added) == 3);
      CHECK(update.left.count(RecordChanges::changed) == 1);
      CHECK(update.left.gone() == 1);
      CHECK(update.keeps_pairs());
      CHECK_FALSE(everything.keeps_pairs());
      CHECK(update.records() == (one ? 4 : 7));
      options.update = &update;
      model.asked = 0;
      const MatchStream updated(today, scorer, nullptr, options);
      const auto updated_rows = shown(updated);
      const auto asked = std::exchange(model.asked, 0);
      options.update = &everything;
      const MatchStream all(today, scorer, nullptr, options);
      CHECK(updated_rows == shown(all));
      CHECK(updated_rows != first_rows);
      CHECK(asked <= model.asked / 2);
      CHECK((asked > 0) == scored);
      CHECK(updated.state().since == update.records());
      CHECK(updated.state().pairs.size() == all.state().pairs.size());
    }
}

TEST_CASE("MatchState: saved and loaded it is the same; other files are refused") {
  const RecordPairs records(standing_table("a", standing_rows("l", 0, 20)), standing_table("b", standing_rows("r", 0, 20)), {});
  const TextModel model;
  const MatchOptions options{.decision = {.calibration = Calibration{}}, .keep_state = true};
  const MatchStream stream(records, &model, nullptr, options);
  (void)shown(stream);
  auto state = stream.state();
  state.about = Json{{"columns", "name"}};
  state.decisions.curve = SimilarityCurve{{-1.0 / 3, 1, 2, 3}, {0.1, 0.2, 0.3}};
  state.decisions.combined = CombinedScore{false, {{1.0 / 7, 2, 3}, 4}};
  state.decisions.cascade = Cascade{0.5, {1.0 / 9, 3}, 0.01, 0.99};
  state.frame.weights = {1, 0.3};
  const std::string path = (std::filesystem::temp_directory_path() / cat("lexformer-state-", process_id())).string();
  state.save(path);
  const auto loaded = MatchState::load(path);
  CHECK(loaded.about == state.about);
  CHECK(to_json(loaded.decisions) == to_json(state.decisions));
  CHECK(loaded.left == state.left);
  CHECK(loaded.right == state.right);
  CHECK(loaded.scores == state.scores);
  CHECK(loaded.frame.weights == state.frame.weights);
  CHECK(loaded.frame.kinds.at(0).keys == state.frame.kinds.at(0).keys);
  CHECK(loaded.frame.kinds[0].counts == state.frame.kinds[0].counts);
  CHECK(loaded.pairs.size() == state.pairs.size());
  loaded.save(path + "2");
  const std::string bytes = read_file(path);
  CHECK(read_file(path + "2") == bytes);

  const auto refused = [&](const std::string& content, const std::string& why) {
    write_file_atomic(path, content);
    expect_error(
        ErrorKind::file, [&] { MatchState::load(path); }, why);
  };
  refused("left_id,right_id\n", "is not a state of a match");
  refused("", "is not a state of a match");
  refused(bytes.substr(0, bytes.size() - 9), "is damaged");
  auto flipped = bytes;
  flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
  refused(flipped, "is damaged");
  const auto with_sum = [](std::string content) {
    const std::uint32_t sum = crc32(content);
    return content.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  };
  refused(with_sum(bytes.substr(0, bytes.size() - 40)), "is shorter than it says");
  state.pairs[0].right = 20;
  state.save(path);
  expect_error(
      ErrorKind::file, [&] { MatchState::load(path); }, "has a pair of records that it does not have");
  std::filesystem::remove(path);
  std::filesystem::remove(path + "2");
  const RecordPairs one(standing_table("a", standing_rows("l", 0, 20)), {}, {});
  expect_error(
      ErrorKind::usage, [&] { MatchUpdate(state, one, {}); }, "update: the earlier run had two tables");
}

TEST_CASE("RecordChanges: by id and content; the compared columns and the keys count") {
  Rows before = standing_rows("l", 0, 4), now = {before[2], before[0], {"l1", "other", "1"}, {"l9", "new", "9"}};
  now[0][1] += "";
  const RecordTextOptions names{.columns = {{"name", "name"}}}, both{.columns = {{"name", "name"}, {"number", "number"}}};
  const auto changes = [&](const RecordTextOptions& o, const KeyOptions& keys = {}) {
    return RecordChanges(record_hashes(standing_table("a", before), o, keys, false),
                         record_hashes(standing_table("a", now), o, keys, false));
  };
  CHECK(changes(both).today == std::vector<std::uint32_t>{1, gone_text, 0, gone_text});
  CHECK(changes(both).kinds == std::vector<std::uint8_t>{0, 0, 1, 2});
  CHECK(changes(both).gone() == 1);
  now[1][2] = "77";  // not a compared column
  CHECK(changes(names).count(RecordChanges::unchanged) == 2);
  CHECK(changes(both).count(RecordChanges::unchanged) == 1);
  CHECK(changes(names, {.same = both.columns}).count(RecordChanges::unchanged) == 1);
  CHECK(changes(names, {.also = both.columns}).count(RecordChanges::unchanged) == 1);
}
