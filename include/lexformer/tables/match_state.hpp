// SPDX-License-Identifier: MIT
// What a run of the matcher leaves for the next one, which then matches only new and changed records (MatchOptions::update): the weights
// of the search, the decisions, a hash of each record, the candidates and the model's scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/tables/candidate_update.hpp"
#include "lexformer/tables/column_weights.hpp"
#include "lexformer/tables/decisions.hpp"
#include "lexformer/tables/record_keys.hpp"
#include "lexformer/tables/record_texts.hpp"
#include "lexformer/tables/text_vectors.hpp"

namespace lexformer {

/// What the search weighs texts by.
struct SearchFrame {
  std::vector<double> weights{};  // of the compared columns; empty: a text is a whole
  std::size_t measure = 0;        // TextColumns::measure
  std::vector<TextFrame> kinds{};
};

/// The columns with the weights of a frame.
TextColumns weighed_columns(std::span<const SearchColumn> columns, const SearchFrame& frame);

/// Hashes of 64 bits of a record: of its id, and of the compared columns and its keys as they were read.
struct RecordHash {
  std::uint64_t id, content;
  bool operator==(const RecordHash&) const = default;
};
/// right: whether the table is the right one. Errors (file): as record_keys().
std::vector<RecordHash> record_hashes(const RecordTable& table, const RecordTextOptions& options, const KeyOptions& keys, bool right);

/// What has become of the records of a table.
struct RecordChanges {
  enum Kind : std::uint8_t { unchanged = 0, changed = 1, added = 2 };  // changed: another content with the same id
  std::vector<std::uint32_t> today;                                    // of each earlier record that is unchanged its place, else gone_text
  std::vector<std::uint8_t> kinds;                                     // of each record of today

  RecordChanges(std::span<const RecordHash> earlier, std::span<const RecordHash> now);
  std::size_t count(Kind kind) const;
  std::size_t gone() const { return today.size() - count(unchanged) - count(changed); }
};

struct MatchState {
  JsonValue about{};  // of the caller: what the run was made from
  SearchFrame frame{};
  Decisions decisions{};
  std::vector<RecordHash> left{}, right{};  // of one table: left alone
  std::vector<StandingCandidate> pairs{};   // by places in `left` and `right`
  std::vector<double> scores{};             // the model's for each pair, NaN where it was not asked; empty without a model
  std::size_t since = 0;                    // records that were new or changed since frame and decisions were chosen

  /// Writes a line with the version, a line of JSON with counts, weights and decisions, the arrays without gaps (keys and counts of each
  /// kind, left, right, places and sides of pairs, scores), and the CRC-32 of all of it.
  void save(const std::string& path) const;
  /// Errors (file): as read_file(); the file is not what save() wrote.
  static MatchState load(const std::string& path);
};

/// A state as it applies to the tables of today.
struct MatchUpdate {
  MatchState state;
  RecordChanges left, right;               // of one table both are the same
  std::vector<StandingCandidate> pairs{};  // by the places of today

  /// keys: of the earlier run and of this one. Errors (usage): one table where there were two, or the reverse.
  MatchUpdate(MatchState earlier, const RecordPairs& records, const KeyOptions& keys);
  /// Whether a pair of unchanged records can be left. If not, all is as in a run without the earlier state.
  bool keeps_pairs() const;
  /// The number of new and changed records.
  std::size_t records() const;
  /// The number in `pairs` of each pair of places of today; nothing for other pairs, nor for one whose records have changed sides.
  std::vector<std::optional<std::size_t>> numbers(std::span<const std::pair<std::size_t, std::size_t>> places) const;
  /// "left 3 new, 2 changed, 1 gone of 100 records; right ..."
  std::string text() const;

 private:
  bool one_table_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE TextColumns weighed_columns(std::span<const SearchColumn> columns, const SearchFrame& frame) {
  if (columns.size() != frame.weights.size())
    fail("SearchFrame", "there are ", columns.size(), " columns and ", frame.weights.size(), " weights");
  TextColumns weighed;
  weighed.measure = std::min(frame.measure, columns.size() - 1);
  for (std::size_t c = 0; c < columns.size(); ++c) weighed.columns.push_back({columns[c].left, columns[c].right, frame.weights[c]});
  return weighed;
}

LEXFORMER_INLINE std::vector<RecordHash> record_hashes(const RecordTable& table, const RecordTextOptions& options, const KeyOptions& keys,
                                                       bool right) {
  std::vector<std::size_t> places;
  const auto put = [&](const std::vector<RecordColumn>& columns, const char* option) {
    for (const RecordColumn& column : columns) places.push_back(detail::key_place(table, right ? column.right : column.left, option));
  };
  put(options.columns, "columns");
  put(keys.same, "same");
  put(keys.also, "also");
  std::vector<RecordHash> hashes;
  hashes.reserve(table.records.size());
  std::string content;
  for (const Record& record : table.records) {
    content.clear();
    for (const std::size_t place : places) content += cat(record.values[place].size(), ":", record.values[place]);
    hashes.push_back({detail::siphash13(record.id, 0, 0), detail::siphash13(content, 0, 0)});
  }
  return hashes;
}

LEXFORMER_INLINE RecordChanges::RecordChanges(std::span<const RecordHash> earlier, std::span<const RecordHash> now)
    : today(earlier.size(), gone_text), kinds(now.size(), added) {
  std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> places;
  for (std::uint32_t i = 0; i < earlier.size(); ++i) places.emplace(earlier[i].id, i);
  for (std::uint32_t i = 0; i < now.size(); ++i) {
    const auto found = places.find(now[i].id);
    if (found == places.end()) continue;
    const bool same = earlier[found->second] == now[i];
    kinds[i] = same ? unchanged : changed;
    if (same) today[found->second] = i;
  }
}
LEXFORMER_INLINE std::size_t RecordChanges::count(Kind kind) const {
  return static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), kind));
}

namespace detail {

inline constexpr std::string_view match_state_start = "lexformer match state 1\n";

/// Reads arrays one after the other.
struct ArrayReader {
  std::string_view bytes;
  const std::string& where;

  template <class T>
  std::vector<T> take(std::size_t count) {
    if (count > bytes.size() / sizeof(T)) fail_file(where, "is shorter than it says");
    std::vector<T> values(count);
    std::copy_n(bytes.data(), count * sizeof(T), reinterpret_cast<char*>(values.data()));
    bytes.remove_prefix(count * sizeof(T));
    return values;
  }
};
template <class T>
void put_array(std::string& bytes, const std::vector<T>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace detail

LEXFORMER_INLINE void MatchState::save(const std::string& path) const {
  Json header = {{"about", static_cast<const Json&>(about)},
                 {"weights", frame.weights},
                 {"measure", frame.measure},
                 {"decisions", to_json(decisions)},
                 {"left", left.size()},
                 {"right", right.size()},
                 {"pairs", pairs.size()},
                 {"scored", !scores.empty()},
                 {"since", since},
                 {"kinds", Json::array()}};
  for (const TextFrame& kind : frame.kinds)
    header["kinds"].push_back({{"features", kind.keys.size()}, {"texts", kind.texts}, {"limit", kind.limit}});
  std::string bytes = cat(detail::match_state_start, dump_json(header, path), "\n");
  for (const TextFrame& kind : frame.kinds) {
    detail::put_array(bytes, kind.keys);
    detail::put_array(bytes, kind.counts);
  }
  detail::put_array(bytes, left);
  detail::put_array(bytes, right);
  std::vector<std::uint32_t> places;
  std::vector<std::uint8_t> sides;
  for (const auto& pair : pairs) {
    places.insert(places.end(), {pair.left, pair.right});
    sides.push_back(pair.sides);
  }
  detail::put_array(bytes, places);
  detail::put_array(bytes, sides);
  detail::put_array(bytes, scores);
  detail::put_array(bytes, std::vector<std::uint32_t>{crc32(bytes)});
  write_file_atomic(path, bytes);
}

LEXFORMER_INLINE MatchState MatchState::load(const std::string& path) {
  const std::string bytes = read_file(path);
  constexpr std::size_t most = std::size_t{1} << 32, sum = sizeof(std::uint32_t);
  const std::size_t start = detail::match_state_start.size(), end = bytes.find('\n', start);
  if (!bytes.starts_with(detail::match_state_start) || end == bytes.npos || bytes.size() < end + 1 + sum)
    fail_file(path, "is not a state of a match, or of another version; make it by a run without an earlier state");
  const std::string_view all(bytes);
  detail::ArrayReader last{all.substr(bytes.size() - sum), path};
  if (last.take<std::uint32_t>(1)[0] != crc32(all.substr(0, bytes.size() - sum))) fail_file(path, "is damaged: its checksum differs");
  const Json header = parse_json(all.substr(start, end - start), path);
  detail::ArrayReader arrays{all.substr(end + 1, bytes.size() - sum - end - 1), path};
  const auto size = [&](const Json& json, const char* key) { return get_size(json, key, 0, most, path); };
  MatchState state;
  state.about = *detail::find_value(header, "about", true, path);
  state.decisions = parse_decisions(*detail::find_value(header, "decisions", true, path), path);
  state.since = size(header, "since");
  state.frame.measure = size(header, "measure");
  read_json(path, [&] { state.frame.weights = header.at("weights").get<std::vector<double>>(); });
  for (const Json& kind : *detail::find_value(header, "kinds", true, path)) {
    const std::size_t features = size(kind, "features");
    auto keys = arrays.take<std::uint64_t>(features);
    auto counts = arrays.take<std::uint32_t>(features);
    state.frame.kinds.push_back({std::move(keys), std::move(counts), size(kind, "texts"), get_number(kind, "limit", 0, 1e300, path)});
  }
  state.left = arrays.take<RecordHash>(size(header, "left"));
  state.right = arrays.take<RecordHash>(size(header, "right"));
  const std::size_t pairs = size(header, "pairs"), rights = state.right.empty() ? state.left.size() : state.right.size();
  const auto places = arrays.take<std::uint32_t>(2 * pairs);
  const auto sides = arrays.take<std::uint8_t>(pairs);
  if (get_bool(header, "scored", path)) state.scores = arrays.take<double>(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    if (places[2 * i] >= state.left.size() || places[2 * i + 1] >= rights) fail_file(path, "has a pair of records that it does not have");
    state.pairs.push_back({places[2 * i], places[2 * i + 1], sides[i]});
  }
  return state;
}

LEXFORMER_INLINE MatchUpdate::MatchUpdate(MatchState earlier, const RecordPairs& records, const KeyOptions& keys)
    : state(std::move(earlier)),
      left(state.left, record_hashes(records.left(), records.options(), keys, false)),
      right(records.one_table() ? left : RecordChanges(state.right, record_hashes(records.right(), records.options(), keys, true))),
      one_table_(records.one_table()) {
  if (state.right.empty() != one_table_) fail_usage("update", "the earlier run had ", state.right.empty() ? "one table" : "two tables");
  for (const auto& pair : state.pairs) pairs.push_back({left.today[pair.left], right.today[pair.right], pair.sides});
}

LEXFORMER_INLINE bool MatchUpdate::keeps_pairs() const {
  const std::size_t least = one_table_ ? 2 : 1;
  return left.count(RecordChanges::unchanged) >= least && right.count(RecordChanges::unchanged) >= least;
}
LEXFORMER_INLINE std::size_t MatchUpdate::records() const {
  const auto moved = [](const RecordChanges& c) { return c.count(RecordChanges::added) + c.count(RecordChanges::changed); };
  return moved(left) + (one_table_ ? 0 : moved(right));
}
LEXFORMER_INLINE std::vector<std::optional<std::size_t>> MatchUpdate::numbers(
    std::span<const std::pair<std::size_t, std::size_t>> places) const {
  std::unordered_map<std::uint64_t, std::size_t, SeededHash> known;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (pairs[i].left != gone_text && pairs[i].right != gone_text && !(one_table_ && pairs[i].left > pairs[i].right))
      known.emplace(detail::pair_number(pairs[i].left, pairs[i].right, false), i);
  std::vector<std::optional<std::size_t>> out;
  for (const auto& [l, r] : places) {
    const auto found = known.find(detail::pair_number(l, r, false));
    out.push_back(found == known.end() ? std::nullopt : std::optional(found->second));
  }
  return out;
}
LEXFORMER_INLINE std::string MatchUpdate::text() const {
  const auto of = [](const RecordChanges& c) {
    return cat(c.count(RecordChanges::added), " new, ", c.count(RecordChanges::changed), " changed, ", c.gone(), " gone");
  };
  return one_table_ ? cat("records: ", of(left)) : cat("left records: ", of(left), "; right records: ", of(right));
}

}  // namespace lexformer
#endif
