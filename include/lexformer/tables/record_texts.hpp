// SPDX-License-Identifier: MIT
// Two tables of records and a file of pairs of ids give pairs of texts: the columns of a record become one text, as plain text or as
// `COL name VAL value` (Ditto: Li et al., PVLDB 14(1), 2020, section 2.1).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/data/known_columns.hpp"
#include "lexformer/data/table.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/tables/records.hpp"

namespace lexformer {

/// plain: the values, joined by a separator; empty ones are left out. columns: `COL name VAL value` for each column, also for empty ones.
enum class Serialize { plain, columns };
template <>
inline constexpr Named<Serialize> names_of<Serialize>[] = {{"plain", Serialize::plain}, {"columns", Serialize::columns}};

/// A column of the left table and the one of the right table that means the same. Texts use the left name.
struct RecordColumn {
  std::string left, right;
  bool operator==(const RecordColumn&) const = default;
};

/// How a record becomes a text. A value is its words, separated by single spaces.
struct RecordTextOptions {
  std::vector<RecordColumn> columns{};         // in this order; empty: all, which must have the same names in both tables
  std::map<std::string, std::size_t> words{};  // the most words of a column, by its left name, so that later columns keep their room
  Serialize serialize = Serialize::plain;
  std::string separator = " ";     // between columns
  bool normalize_numbers = false;  // normalize_number() on each word
  RecordColumn id{"id", "id"};     // the columns of the ids, which are in no text; RecordPairs sets them
  bool operator==(const RecordTextOptions&) const = default;
};

/// The form in which a model file keeps the options.
Json to_json(const RecordTextOptions& options);
RecordTextOptions parse_record_text_options(const Json& json, const std::string& where);

/// The options in what a model keeps beside its own settings (CrossEncoder::metadata), or none: it was trained on pairs of texts. `model`
/// begins error messages.
std::optional<RecordTextOptions> kept_record_texts(const std::map<std::string, std::string>& metadata, const std::string& model);
/// Lets a model keep how these texts were made; null: it is trained on pairs of texts.
void keep_record_texts(const IdTexts* records, std::map<std::string, std::string>& metadata);

/// Parses "name" or "left=right". Names in double quotes may hold an equals sign (unquoted_name()). option: begins messages.
RecordColumn parse_record_column(std::string_view given, const std::string& option = "columns");

/// A word that is a number, possibly after a currency sign or a bracket and before punctuation, without separators of thousands, trailing
/// zeros of its fraction and exponent: 1,299.00 -> 1299, $5.50, -> $5.5,, 1.799E2 -> 179.9. An exponent has a sign + or a point before it,
/// since 12E4 may be a model number, and is from -15 to 15. Other words are returned unchanged, also numbers with a comma for the point.
std::string normalize_number(std::string_view word);

/// The options for two tables with all columns named. Errors: a column is not in its table; a column is named twice; without
/// RecordTextOptions::columns, the tables have different columns; a budget for a column that is not used.
RecordTextOptions resolve_columns(RecordTextOptions options, const RecordTable& left, const RecordTable& right);

/// The text of each record. `right`: whether the table is the right one.
/// Errors: a column is not in the table, or is nested.
std::vector<std::string> record_texts(const RecordTable& table, const RecordTextOptions& options, bool right);

/// Two tables of records, and their texts. Without a right table, pairs are of records of the left one.
class RecordPairs final : public IdTexts {
 public:
  RecordPairs(RecordTable left, std::optional<RecordTable> right, RecordTextOptions options);

  bool one_table() const { return !right_; }
  const RecordTable& left() const { return left_; }
  const RecordTable& right() const { return right_ ? *right_ : left_; }
  const std::vector<std::string>& left_texts() const { return left_texts_; }
  const std::vector<std::string>& right_texts() const { return right_ ? right_texts_ : left_texts_; }
  const RecordTextOptions& options() const { return options_; }

  /// The place of a record in its table. Errors: there is none with this id. `where` begins the message; `advice` ends it, unless the other
  /// table has the id.
  std::size_t left_place(const std::string& id, const std::string& where, const std::string& advice = "") const {
    return place(left(), right(), id, where, advice);
  }
  std::size_t right_place(const std::string& id, const std::string& where, const std::string& advice = "") const {
    return place(right(), left(), id, where, advice);
  }
  void put_texts(PairRow& row, const std::string& where, const std::string& advice) const override;
  Json description() const override;

 private:
  static std::size_t place(const RecordTable& table, const RecordTable& other, const std::string& id, const std::string& where,
                           const std::string& advice);

  RecordTable left_;
  std::optional<RecordTable> right_;
  RecordTextOptions options_;
  std::vector<std::string> left_texts_, right_texts_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/models/head_names.hpp"
#include "lexformer/text/column_marks.hpp"
#include "lexformer/text/nearest_name.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE RecordColumn parse_record_column(std::string_view given, const std::string& option) {
  bool quoted = false;
  std::size_t equals = 0;
  for (; equals < given.size() && (quoted || given[equals] != '='); ++equals) quoted ^= given[equals] == '"';
  const std::string_view right = equals == given.size() ? given : given.substr(equals + 1);
  const RecordColumn column{unquoted_name(given.substr(0, equals)), unquoted_name(right)};
  if (column.left.empty() || column.right.empty()) fail_usage(option, in_quotes(given), " names no column; expected NAME or LEFT=RIGHT");
  return column;
}

namespace detail {
LEXFORMER_INLINE Json names_json(const RecordColumn& column) {
  Json names = Json::array();
  names.push_back(column.left);
  names.push_back(column.right);
  return names;
}
/// key: of the names, or of the list that they are in.
LEXFORMER_INLINE RecordColumn parse_names(const Json& names, const std::string& key, const std::string& where) {
  if (!names.is_array() || names.size() != 2 || !names[0].is_string() || !names[1].is_string())
    fail_file(where, in_quotes(key), " must have pairs of names");
  return {names[0].get<std::string>(), names[1].get<std::string>()};
}
}  // namespace detail

LEXFORMER_INLINE Json to_json(const RecordTextOptions& options) {
  Json json = Json::object();
  json["columns"] = Json::array();
  for (const RecordColumn& column : options.columns) json["columns"].push_back(detail::names_json(column));
  json["words"] = options.words;
  json["serialize"] = name_of(options.serialize);
  json["separator"] = options.separator;
  json["normalize_numbers"] = options.normalize_numbers;
  if (options.id != RecordTextOptions().id) json["id"] = detail::names_json(options.id);
  return json;
}

LEXFORMER_INLINE RecordTextOptions parse_record_text_options(const Json& json, const std::string& where) {
  if (!json.is_object()) fail_file(where, "expected a JSON object, found ", json.type_name());
  RecordTextOptions options;
  const Json& columns = *detail::find_value(json, "columns", true, where);
  if (!columns.is_array()) fail_file(where, "'columns' is ", columns.type_name(), ", expected an array");
  for (const Json& names : columns) options.columns.push_back(detail::parse_names(names, "columns", where));
  if (const Json* id = detail::find_value(json, "id", false, where)) options.id = detail::parse_names(*id, "id", where);
  const Json& words = *detail::find_value(json, "words", true, where);
  if (!words.is_object()) fail_file(where, "'words' is ", words.type_name(), ", expected an object");
  for (const auto& item : words.items()) options.words[item.key()] = get_size(words, item.key(), 1, 1u << 30, where);
  options.serialize = get_name<Serialize>(json, "serialize", where);
  options.separator = get_string(json, "separator", where);
  options.normalize_numbers = get_bool(json, "normalize_numbers", where);
  return options;
}

namespace detail {
/// The digits with the point before digits[point], times 10^exponent, without trailing zeros of the fraction. exponent: as "E2" or "e-03",
/// or empty. Returns an empty text if normalize_number() does not read such an exponent.
LEXFORMER_INLINE std::string decimal(std::string digits, std::size_t point, std::string_view exponent) {
  if (!exponent.empty()) {
    const bool plus = exponent.starts_with("E+") || exponent.starts_with("e+");
    int shift = 0;
    const char* const last = exponent.data() + exponent.size();
    const auto got = std::from_chars(exponent.data() + (plus ? 2 : 1), last, shift);
    const bool clear = plus ? shift >= 0 : point < digits.size();
    if (got.ec != std::errc() || got.ptr != last || shift < -15 || shift > 15 || !clear) return "";
    digits.insert(0, 15, '0');
    point = static_cast<std::size_t>(static_cast<int>(point) + 15 + shift);
    if (point > digits.size()) digits.append(point - digits.size(), '0');
    const std::size_t zeros = std::min(digits.find_first_not_of('0'), point - 1);  // one digit before the point stays
    digits.erase(0, zeros);
    point -= zeros;
  }
  digits.erase(std::max(point, digits.find_last_not_of('0') + 1));  // npos + 1 is 0
  if (point < digits.size()) digits.insert(point, 1, '.');
  return digits;
}
}  // namespace detail

LEXFORMER_INLINE std::string normalize_number(std::string_view word) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto first = static_cast<std::size_t>(std::find_if(word.begin(), word.end(), is_digit) - word.begin());
  const auto end = static_cast<std::size_t>(word.rend() - std::find_if(word.rbegin(), word.rend(), is_digit));
  if (first >= end) return std::string(word);
  // Around the digits there may be punctuation and currency signs, but no letters or digits of other scripts.
  const auto plain = [](std::string_view part) {
    for (std::size_t i = 0; i < part.size();) {
      const Decoded next = decode_utf8(part, i);
      if (is_word_character(next.character)) return false;
      i += next.bytes;
    }
    return true;
  };
  if (!plain(word.substr(0, first)) || !plain(word.substr(end))) return std::string(word);
  const std::string_view number = word.substr(first, end - first);
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::size_t point = std::min(number.find('.'), e);
  const std::string_view whole = number.substr(0, point), fraction = number.substr(std::min(point + 1, e), e - std::min(point + 1, e));
  std::string digits;
  const std::size_t commas = static_cast<std::size_t>(std::count(whole.begin(), whole.end(), ','));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool separates = (whole.size() - i) % 4 == 0;  // 1,299,000: every fourth character from the end
    if (commas > 0 ? (separates ? whole[i] != ',' : !is_digit(whole[i])) : !is_digit(whole[i])) return std::string(word);
    if (is_digit(whole[i])) digits += whole[i];
  }
  if (!std::all_of(fraction.begin(), fraction.end(), is_digit)) return std::string(word);
  const std::string value = detail::decimal(cat(digits, fraction), digits.size(), number.substr(e));
  return value.empty() ? std::string(word) : cat(word.substr(0, first), value, word.substr(end));
}

LEXFORMER_INLINE RecordTextOptions resolve_columns(RecordTextOptions options, const RecordTable& left, const RecordTable& right) {
  const auto has = [](const RecordTable& table, const std::string& name) {
    return std::find(table.columns.begin(), table.columns.end(), name) != table.columns.end();
  };
  if (options.columns.empty()) {
    for (const auto& [a, b] : {std::pair(&left, &right), std::pair(&right, &left)})
      for (const auto& name : a->columns)
        if (!has(*b, name))
          fail_file(b->path, "has no column ", in_quotes(name), " as ", a->path, " has", did_you_mean(name, b->columns),
                    "; name the columns to compare: `columns` NAME,LEFT=RIGHT,...");
    for (const auto& name : left.columns) options.columns.push_back({name, name});
  }
  std::vector<std::string> names, right_names;
  for (const RecordColumn& column : options.columns) {
    names.push_back(column.left);
    right_names.push_back(column.right);
  }
  detail::check_different(names, {}, "columns");
  detail::check_different(right_names, {}, "columns");
  for (const RecordColumn& column : options.columns) {
    const auto check = [&](const RecordTable& table, const std::string& name) {
      if (name == table.id)
        fail_file(table.path, "the column ", in_quotes(name), " has the ids, which are in no text; `columns` names others");
      if (!has(table, name))
        fail_file(table.path, "there is no column ", in_quotes(name), " among ", in_quotes(join(table.columns)),
                  did_you_mean(name, table.columns), "; `columns` names others");
    };
    check(left, column.left);
    check(right, column.right);
  }
  for (const auto& [name, words] : options.words)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail_usage("column_words", in_quotes(name), " is none of the columns ", in_quotes(join(names)), did_you_mean(name, names));
  return options;
}

LEXFORMER_INLINE std::vector<std::string> record_texts(const RecordTable& table, const RecordTextOptions& options, bool right) {
  struct Place {
    std::size_t column, words;
  };
  std::vector<Place> places;
  for (const RecordColumn& column : options.columns) {
    const std::string& name = right ? column.right : column.left;
    const auto at = static_cast<std::size_t>(std::find(table.columns.begin(), table.columns.end(), name) - table.columns.begin());
    if (at == table.columns.size()) fail_file(table.path, "there is no column ", in_quotes(name), did_you_mean(name, table.columns));
    for (const auto& [nested, what] : table.nested)
      if (nested == name)
        fail_file(table.path, what, ", expected a text, a number, true, false or null; `columns` names the columns to compare");
    const auto most = options.words.find(column.left);
    places.push_back({at, most == options.words.end() ? static_cast<std::size_t>(-1) : most->second});
  }
  const auto value_of = [&](std::string_view value, std::size_t most) {
    std::string out;
    std::size_t begin = 0, count = 0;
    const auto end_word = [&](std::size_t end) {
      if (end > begin && count < most) {
        if (count++ > 0) out += ' ';
        const std::string_view word = value.substr(begin, end - begin);
        out += options.normalize_numbers ? normalize_number(word) : std::string(word);
      }
    };
    for (std::size_t i = 0; i < value.size();) {
      const Decoded next = decode_utf8(value, i);
      if (is_whitespace(next.character)) {
        end_word(i);
        begin = i + next.bytes;
      }
      i += next.bytes;
    }
    end_word(value.size());
    return out;
  };
  std::vector<std::string> texts;
  texts.reserve(table.records.size());
  for (const Record& record : table.records) {
    std::string text;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::string value = value_of(record.values[places[i].column], places[i].words);
      const bool named = options.serialize == Serialize::columns;
      if (value.empty() && !named) continue;
      if (!text.empty()) text += options.separator;
      if (named) text += column_mark(options.columns[i].left) + (value.empty() ? "" : " ");
      text += value;
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

LEXFORMER_INLINE RecordPairs::RecordPairs(RecordTable left, std::optional<RecordTable> right, RecordTextOptions options)
    : left_(std::move(left)), right_(std::move(right)), options_(resolve_columns(std::move(options), left_, right_ ? *right_ : left_)) {
  options_.id = {left_.id, (right_ ? *right_ : left_).id};
  left_texts_ = record_texts(left_, options_, false);
  if (right_) right_texts_ = record_texts(*right_, options_, true);
}

LEXFORMER_INLINE void RecordPairs::put_texts(PairRow& row, const std::string& where, const std::string& advice) const {
  const std::size_t left = left_place(row.left, where, advice), right = right_place(row.right, where, advice);
  row.left_id = std::exchange(row.left, left_texts()[left]);
  row.right_id = std::exchange(row.right, right_texts()[right]);
}

LEXFORMER_INLINE Json RecordPairs::description() const { return to_json(options_); }

LEXFORMER_INLINE std::optional<RecordTextOptions> kept_record_texts(const std::map<std::string, std::string>& metadata,
                                                                    const std::string& model) {
  const auto found = metadata.find(std::string(detail::records_key));
  if (found == metadata.end()) return std::nullopt;
  const std::string where = model + ": " + found->first;
  return parse_record_text_options(parse_json(found->second, where), where);
}

LEXFORMER_INLINE void keep_record_texts(const IdTexts* records, std::map<std::string, std::string>& metadata) {
  const std::string key(detail::records_key);
  metadata.erase(key);
  if (records != nullptr) metadata[key] = dump_json(records->description(), key);
}

LEXFORMER_INLINE std::size_t RecordPairs::place(const RecordTable& table, const RecordTable& other, const std::string& id,
                                                const std::string& where, const std::string& advice) {
  const auto found = table.places.find(id);
  if (found == table.places.end())
    fail_file(where, "there is no record with the id ", in_quotes(id), " in ", table.path,
              other.places.contains(id) ? cat("; ", other.path, " has it: are the tables swapped?")
              : id.ends_with(".0") && table.places.contains(id.substr(0, id.size() - 2))
                  ? cat("; ", in_quotes(id.substr(0, id.size() - 2)), " is one: write the ids as whole numbers")
                  : advice);
  return found->second;
}

}  // namespace lexformer
#endif
