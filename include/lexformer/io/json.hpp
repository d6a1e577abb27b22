// SPDX-License-Identifier: MIT
// Strict JSON parsing and writing. lexformer.hpp does not include this header; a program that accesses JSON values includes it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

struct JsonLimits {
  std::size_t depth = 32;           // nesting depth of arrays and objects
  std::size_t bytes = 32ull << 20;  // of the text
  std::size_t values = 1000000;     // including keys and brackets: 2 bytes of text may need 200 bytes of memory
};

/// The limits of a tokenizer.json. XLM-R's has a million values.
inline constexpr JsonLimits tokenizer_limits{.depth = 32, .bytes = 32u << 20, .values = 4000000};

/// Parses one JSON text. `where` (a file, or a field of it) begins each message, followed by line and column.
/// Stricter than nlohmann's parser: also refuses duplicate keys (it would keep the last), a zero byte (it would stop there silently), deep
/// nesting, long text and too many values. io/config.hpp checks whether a number is an integer.
Json parse_json(std::string_view text, const std::string& where, JsonLimits limits = {});

/// What is wrong, without the JSON library's own number of the error: "key 'x' not found", "type must be array, but is number".
std::string json_reason(const Json::exception& error);

/// Returns f(), which reads values of a JSON text; an error of the JSON library becomes one of the file. `where` begins its message.
template <class F>
decltype(auto) read_json(const std::string& where, F&& f) {
  try {
    return f();
  } catch (const Json::exception& e) {
    fail_file(where, json_reason(e));
  }
}

/// Returns compact text with sorted keys. Errors: a string is not valid UTF-8.
std::string dump_json(const Json& value, const std::string& where);

namespace detail {

/// Checks a JSON text against the limits without building values; throws if one is exceeded. (Checking inside the parser that builds the
/// values would take quadratic time, because it scans all members of an object after each value.)
struct JsonCheck : nlohmann::json_sax<Json> {
  const std::string& where;
  JsonLimits limits;
  std::vector<std::set<std::string>> keys{};  // keys seen so far, per open object or array
  std::size_t events = 0;
  bool one_line = false;  // the text is a line of a file, which `where` names

  JsonCheck(const std::string& file, JsonLimits given) : where(file), limits(given) {}
  bool count() {
    if (++events > limits.values) fail_file(where, "has more than ", limits.values, " keys, values and brackets");
    return true;
  }
  bool open() {
    if (keys.size() == limits.depth) fail_file(where, "more than ", limits.depth, " arrays and objects inside each other");
    keys.emplace_back();
    return count();
  }
  bool close() {
    keys.pop_back();
    return count();
  }
  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!keys.back().insert(name).second) fail_file(where, "the key ", in_quotes(name), " occurs twice in one object");
    return count();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // The last part of "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error ...; last read: '...'" quotes bytes
    // of the input.
    const std::string reason = json_reason(error);
    std::string_view message = reason;
    if (message.starts_with("parse error at ")) message.remove_prefix(15);
    if (one_line && message.starts_with("line 1, ")) message.remove_prefix(8);
    fail_file(where, "not JSON: ", message.substr(0, message.find("; last read")));
  }
};

}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE std::string json_reason(const Json::exception& error) {
  const std::string_view message = error.what();  // "[json.exception.type_error.302] type must be ..."
  const auto end = message.find("] ");
  return std::string(end == message.npos ? message : message.substr(end + 2));
}

LEXFORMER_INLINE Json parse_json(std::string_view text, const std::string& where, JsonLimits limits) {
  if (text.size() > limits.bytes) fail_file(where, "has ", text.size(), " bytes, more than the ", limits.bytes, " allowed for JSON here");
  if (const auto zero = text.find('\0'); zero != text.npos) fail_file(where, "byte ", zero + 1, " is zero, which is not JSON");
  detail::JsonCheck check{where, limits};
  Json::sax_parse(text.begin(), text.end(), &check);
  return Json::parse(text.begin(), text.end());
}

LEXFORMER_INLINE std::string dump_json(const Json& value, const std::string& where) {
  try {
    return value.dump();
  } catch (const Json::exception&) {
    fail_file(where, "cannot be written as JSON: a text in it is not UTF-8");
  }
}

}  // namespace lexformer
#endif
