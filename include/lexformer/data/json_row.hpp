// SPDX-License-Identifier: MIT
// A line of .jsonl: an object whose values keep the characters of the file, so that no number is rounded.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

struct JsonField {
  enum class Kind { text, number, boolean, null, nested } kind = Kind::null;
  std::string text{};         // of a number: as it was written; of an array or object: its JSON; of null: nothing
  const char* type = "null";  // for messages: string, number, boolean, null, array, object

  bool is_structured() const { return kind == Kind::nested; }
};

/// The fields by their keys.
using JsonRow = std::map<std::string, JsonField>;

/// Parses an object of at most `bytes` bytes. `where` (file and line) begins each message. The escapes of zero and of half a surrogate
/// pair, which no text in UTF-8 holds, become U+FFFD. Errors (file): as parse_json(); the line is not an object.
JsonRow parse_json_row(std::string line, const std::string& where, std::size_t bytes);

/// The keys of a row.
std::vector<std::string> keys_of(const JsonRow& row);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <string_view>

#include "lexformer/io/json.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {

/// Replaces the escapes that stand for no character by the escape of U+FFFD.
LEXFORMER_INLINE void replace_no_characters(std::string& line) {
  const auto code = [&](std::size_t i) {  // of an escape \uXXXX at i; -1: there is none
    if (i + 6 > line.size() || line[i] != '\\' || line[i + 1] != 'u') return -1;
    int value = 0;
    for (const char c : std::string_view(line).substr(i + 2, 4)) {
      const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
      if (digit < 0) return -1;
      value = 16 * value + digit;
    }
    return value;
  };
  for (std::size_t i = line.find('\\'); i < line.size(); i = line.find('\\', i)) {
    const int c = code(i), next = code(i + 6);
    if (c >= 0xD800 && c < 0xDC00 && next >= 0xDC00 && next < 0xE000) {
      i += 12;
    } else if (c >= 0) {
      if (c == 0 || (c >= 0xD800 && c < 0xE000)) line.replace(i + 2, 4, "fffd");
      i += 6;
    } else {
      i += 2;  // another escape
    }
  }
}

/// Collects the fields of an object. Arrays and objects in it are written as compact JSON.
struct JsonRowParser : JsonCheck {
  std::string_view line;
  JsonRow row{};
  JsonField* field = nullptr;

  JsonRowParser(std::string_view text, const std::string& file, JsonLimits given) : JsonCheck(file, given), line(text) { one_line = true; }

  void begin_value() {
    if (keys.empty()) return;
    if (const char last = field->text.empty() ? '[' : field->text.back(); keys.size() > 1 && last != '[' && last != '{' && last != ':')
      field->text += ',';
  }
  bool put(JsonField::Kind kind, std::string text, const char* type) {
    if (keys.empty()) fail_file(where, "expected a JSON object, found ", type);
    if (keys.size() == 1) {
      *field = {kind, std::move(text), type};
    } else {
      begin_value();
      field->text += kind == JsonField::Kind::text ? Json(text).dump() : kind == JsonField::Kind::null ? "null" : text;
    }
    return count();
  }
  bool begin(char bracket, const char* type) {
    if (keys.empty() && bracket == '[')
      fail_file(where, "expected a JSON object, found array; a .jsonl has one object in each line, as jq -c '.[]' writes them");
    if (keys.size() == 1) *field = {JsonField::Kind::nested, "", type};
    begin_value();
    if (!keys.empty()) field->text += bracket;
    return open();
  }
  bool end(char bracket) {
    close();
    if (!keys.empty()) field->text += bracket;
    return true;
  }
  bool null() override { return put(JsonField::Kind::null, "", "null"); }
  bool boolean(bool value) override { return put(JsonField::Kind::boolean, value ? "true" : "false", "boolean"); }
  // Whole numbers have one form but for -0, which is negative and 0.
  bool number_integer(number_integer_t value) override {
    return put(JsonField::Kind::number, value == 0 ? "-0" : std::to_string(value), "number");
  }
  bool number_unsigned(number_unsigned_t value) override { return put(JsonField::Kind::number, std::to_string(value), "number"); }
  bool number_float(number_float_t, const string_t& written) override { return put(JsonField::Kind::number, written, "number"); }
  bool string(string_t& value) override { return put(JsonField::Kind::text, std::move(value), "string"); }
  bool start_object(std::size_t) override { return begin('{', "object"); }
  bool end_object() override { return end('}'); }
  bool start_array(std::size_t) override { return begin('[', "array"); }
  bool end_array() override { return end(']'); }
  bool key(string_t& name) override {
    JsonCheck::key(name);
    if (keys.size() == 1) {
      field = &row[name];
    } else {
      begin_value();
      field->text += Json(name).dump() + ':';
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& error) override {
    if (dynamic_cast<const nlohmann::detail::out_of_range*>(&error) != nullptr)
      fail_file(where, "the number ", token, " is beyond 1.8e308; write it in double quotes");
    const std::size_t at = std::min(position > 0 ? position - 1 : 0, line.size());
    const auto letter = [&](std::size_t i) { return i < line.size() && ((line[i] | 0x20) >= 'a') && ((line[i] | 0x20) <= 'z'); };
    std::size_t begin = at, last = at;
    while (begin > 0 && letter(begin - 1)) --begin;
    while (letter(last)) ++last;
    const std::string word(line.substr(begin, last - begin)), lower = lower_case(word);
    const std::string place = cat(where, ", column ", begin + 1);
    if (lower == "nan" || lower == "infinity" || lower == "inf" || lower == "none" || lower == "undefined")
      fail_file(place, word, " is not JSON; write null");
    if (lower == "true" || lower == "false") fail_file(place, word, " is not JSON; write ", lower);
    if (at < line.size() && line[at] == '\'') fail_file(place, "not JSON: texts and keys have double quotes");
    if (position > line.size())
      fail_file(where, "not JSON: the line ends inside an object; a .jsonl has one object in each line, as jq -c . writes them");
    return JsonCheck::parse_error(position, token, error);
  }
};

}  // namespace detail

LEXFORMER_INLINE JsonRow parse_json_row(std::string line, const std::string& where, std::size_t bytes) {
  if (line.size() > bytes) fail_file(where, "has ", line.size(), " bytes, more than the ", bytes, " allowed for JSON here");
  detail::replace_no_characters(line);
  detail::JsonRowParser parser(line, where, {.depth = 32, .bytes = bytes});
  Json::sax_parse(line.begin(), line.end(), &parser);
  return std::move(parser.row);
}

LEXFORMER_INLINE std::vector<std::string> keys_of(const JsonRow& row) {
  std::vector<std::string> keys;
  for (const auto& field : row) keys.push_back(field.first);
  return keys;
}

}  // namespace lexformer
#endif
