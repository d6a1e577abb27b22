// SPDX-License-Identifier: MIT
// Columns by which records agree: those that must agree in every candidate (blocking keys, such as brand or postcode), and those that make
// a pair a candidate whatever its texts say (such as EAN).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/tables/blocking_keys.hpp"
#include "lexformer/tables/record_texts.hpp"

namespace lexformer {

/// What a missing value of a column that must agree agrees with. any: every value; none: no value, so the record has no candidates by text.
enum class MissingKey { any, none };
template <>
inline constexpr Named<MissingKey> names_of<MissingKey>[] = {{"any", MissingKey::any}, {"none", MissingKey::none}};

struct KeyOptions {
  std::vector<RecordColumn> same{};  // a pair is a candidate only if all of these agree
  std::vector<RecordColumn> also{};  // a pair is also a candidate if one of these agrees, whatever `same` says; missing values never agree
  MissingKey missing = MissingKey::any;
};

/// The keys of records, for RecordSearch.
struct RecordKeys {
  BlockingKeys same{};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> also{};  // pairs of places, sorted, each once
  std::vector<std::string> notes{};                             // what is worth telling
};

/// A value as it is compared: its letters and digits alone, in lower case and without accents. A number is compared by normalize_number(),
/// and without zeros at its beginning: 0012 and 12.0 are equal. Empty: the value is missing.
std::string key_value(std::string_view value);

/// A value of `also` that more than this many records of a table have adds no pairs: it tells no record from another.
inline constexpr std::size_t most_agreeing = 100;

namespace detail {
/// The place of a column. option: begins messages. Errors (file): as record_keys().
std::size_t key_place(const RecordTable& table, const std::string& name, const std::string& option);
}  // namespace detail

/// Reads the keys. Errors (usage): a column is named twice; LEFT=RIGHT within one table. Errors (file): there is no such column, or it is
/// nested.
RecordKeys record_keys(const RecordPairs& records, const KeyOptions& options);

/// What the keys say of a pair, a line for each column.
std::vector<std::string> explain_keys(const RecordPairs& records, const KeyOptions& options, std::size_t left, std::size_t right);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <span>
#include <unordered_map>

#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/text/nearest_name.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE std::string key_value(std::string_view value) {
  const std::string text = normalize_number(value);
  std::u32string key;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode_utf8(text, i);
    i += next.bytes;
    decompose(to_lower(next.character), [&](char32_t c) {
      if (!is_nonspacing_mark(c) && is_word_character(c) && c != U'_') key += c;
    });
  }
  if (key.find_first_not_of(U"0123456789") == key.npos) key.erase(0, std::min(key.find_first_not_of(U'0'), key.size() - 1));
  return to_utf8(key);
}

namespace detail {

LEXFORMER_INLINE std::size_t key_place(const RecordTable& table, const std::string& name, const std::string& option) {
  const auto at = static_cast<std::size_t>(std::find(table.columns.begin(), table.columns.end(), name) - table.columns.begin());
  if (at == table.columns.size())
    fail_file(table.path, "there is no column ", in_quotes(name), " among ", in_quotes(join(table.columns)),
              did_you_mean(name, table.columns), "; `", option, "` names others");
  for (const auto& [nested, what] : table.nested)
    if (nested == name) fail_file(table.path, what, ", expected a text, a number, true, false or null; `", option, "` names other columns");
  return at;
}

/// A column of all records: the numbers of its values.
struct KeyColumn {
  std::string name;                  // "same brand"
  KeyValues values{};                // as in BlockingKeys
  std::vector<std::string> texts{};  // of each number but 0
};
LEXFORMER_INLINE KeyColumn key_column(const RecordPairs& records, const RecordColumn& column, const std::string& option) {
  if (records.one_table() && column.left != column.right)
    fail_usage(option, in_quotes(column.left), " and ", in_quotes(column.right), " are given for one table; name one column");
  KeyColumn key{cat(option, " ", column.left)};
  std::unordered_map<std::string, std::uint32_t, SeededHash> numbers;
  const auto put = [&](const RecordTable& table, const std::string& name) {
    const std::size_t place = key_place(table, name, option);
    for (const Record& record : table.records) {
      const std::string value = key_value(record.values[place]);
      const auto number = static_cast<std::uint32_t>(numbers.size() + 1);
      const bool added = !value.empty() && numbers.emplace(value, number).second;
      if (added) key.texts.push_back(record.values[place]);
      key.values.push_back(value.empty() ? 0 : added ? number : numbers.at(value));
    }
  };
  put(records.left(), column.left);
  if (!records.one_table()) put(records.right(), column.right);
  return key;
}

/// The places of the records of one table that have each value: value v from starts[v] to starts[v + 1].
struct ValuePlaces {
  std::vector<std::uint32_t> starts, places;
  ValuePlaces(std::span<const std::uint32_t> values, std::size_t numbers) : starts(numbers + 2, 0), places(values.size()) {
    for (const std::uint32_t value : values) ++starts[value + 1];
    for (std::size_t v = 1; v < starts.size(); ++v) starts[v] += starts[v - 1];
    std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
    for (std::uint32_t i = 0; i < values.size(); ++i) places[next[values[i]]++] = i;
  }
  std::span<const std::uint32_t> of(std::size_t value) const {
    return std::span(places).subspan(starts[value], starts[value + 1] - starts[value]);
  }
};

/// Adds the pairs of records with equal values, and tells of values that too many records have.
LEXFORMER_INLINE void add_agreeing(const KeyColumn& key, std::size_t lefts, bool one_table, RecordKeys& keys) {
  const auto values = std::span<const std::uint32_t>(key.values);
  const ValuePlaces left(values.first(lefts), key.texts.size());
  const ValuePlaces right(one_table ? values : values.subspan(lefts), key.texts.size());
  std::size_t frequent = 0, most = 0, of_most = 0;
  for (std::size_t value = 1; value <= key.texts.size(); ++value) {
    const auto a = left.of(value), b = right.of(value);
    const std::size_t records = std::max(a.size(), b.size());
    if (records > most_agreeing && !a.empty() && !b.empty()) {
      ++frequent;
      if (records > most) most = records, of_most = value;
      continue;
    }
    for (const std::uint32_t i : a)
      for (const std::uint32_t j : b)
        if (!one_table || i < j) keys.also.emplace_back(i, j);
  }
  if (frequent > 0)
    keys.notes.push_back(cat(key.name, ": ", frequent, frequent == 1 ? " value adds" : " values add", " no pairs, since more than ",
                             most_agreeing, " records have it, e.g. ", in_quotes(key.texts[of_most - 1]), " (", most,
                             " records); empty values that stand for nothing"));
}

/// Tells how many records have a value, and how many of these the other table has as well.
LEXFORMER_INLINE void tell_values(const KeyColumn& key, std::size_t lefts, bool one_table, RecordKeys& keys) {
  const auto values = std::span<const std::uint32_t>(key.values);
  std::vector<std::size_t> left(key.texts.size() + 1, 0), right(left);
  for (std::size_t i = 0; i < values.size(); ++i) ++(i < lefts ? left : right)[values[i]];
  std::size_t of_both = 0;
  for (std::size_t v = 1; v < left.size(); ++v) of_both += (left[v] > (one_table ? 1 : 0) && (one_table || right[v] > 0)) ? 1u : 0u;
  const std::size_t rights = values.size() - lefts;
  keys.notes.push_back(one_table
                           ? cat(key.name, ": ", lefts - left[0], " of ", lefts, " records have a value; ", of_both, " values occur again")
                           : cat(key.name, ": ", lefts - left[0], " of ", lefts, " left and ", rights - right[0], " of ", rights,
                                 " right records have a value; ", of_both, " values are in both tables"));
}

inline void check_key_columns(const std::vector<RecordColumn>& columns, const std::string& option) {
  std::vector<std::string> names;
  for (const RecordColumn& column : columns) names.push_back(cat(column.left, "=", column.right));
  check_different(names, {}, option);
}

}  // namespace detail

LEXFORMER_INLINE RecordKeys record_keys(const RecordPairs& records, const KeyOptions& options) {
  detail::check_key_columns(options.same, "same");
  detail::check_key_columns(options.also, "also");
  const std::size_t lefts = records.left().records.size();
  RecordKeys keys;
  keys.same.missing_agrees = options.missing == MissingKey::any;
  for (const RecordColumn& column : options.same) {
    auto key = detail::key_column(records, column, "same");
    detail::tell_values(key, lefts, records.one_table(), keys);
    keys.same.keys.push_back(std::move(key.values));
  }
  for (const RecordColumn& column : options.also) {
    const auto key = detail::key_column(records, column, "also");
    detail::tell_values(key, lefts, records.one_table(), keys);
    detail::add_agreeing(key, lefts, records.one_table(), keys);
  }
  std::sort(keys.also.begin(), keys.also.end());
  keys.also.erase(std::unique(keys.also.begin(), keys.also.end()), keys.also.end());
  return keys;
}

LEXFORMER_INLINE std::vector<std::string> explain_keys(const RecordPairs& records, const KeyOptions& options, std::size_t left,
                                                       std::size_t right) {
  std::vector<std::string> lines;
  const auto put = [&](const RecordColumn& column, const std::string& option, const auto& verdict) {
    const std::string& a = records.left().records[left].values[detail::key_place(records.left(), column.left, option)];
    const std::string& b = records.right().records[right].values[detail::key_place(records.right(), column.right, option)];
    const std::string x = key_value(a), y = key_value(b);
    lines.push_back(cat(option, " ", column.left, ": ", in_quotes(a), " and ", in_quotes(b), ": ", verdict(x, y)));
  };
  for (const RecordColumn& column : options.same)
    put(column, "same", [&](const std::string& x, const std::string& y) {
      if (x.empty() || y.empty())
        return options.missing == MissingKey::any ? "a missing value agrees with every value" : "a missing value agrees with none";
      return x == y ? "agree" : "differ: no candidate by its texts";
    });
  const bool turned = records.one_table() && right < left;
  const std::pair pair(static_cast<std::uint32_t>(turned ? right : left), static_cast<std::uint32_t>(turned ? left : right));
  for (const RecordColumn& column : options.also)
    put(column, "also", [&](const std::string& x, const std::string& y) {
      if (x.empty() || x != y) return "do not agree";
      const auto also = record_keys(records, {{}, {column}}).also;
      return std::binary_search(also.begin(), also.end(), pair) ? "agree: a candidate" : "agree, but too many records have this value";
    });
  return lines;
}

}  // namespace lexformer
#endif
