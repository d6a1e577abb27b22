// SPDX-License-Identifier: MIT
// Options (core/options.hpp) as JSON objects.
#pragma once

#include <string>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

/// Converts options to a JSON object.
Json options_json(const VisitOptions& visit);
/// Writes an option into a JSON object, by its name.
void write_option(const Option& option, Json& object);
/// The options that identify a run, by their keys (Option::identity).
Json identity_json(const VisitOptions& visit);
/// Sets options from a JSON object, or from its text; options that it does not name keep their values. Errors (file): an unknown name; a
/// value out of range.
void set_options(const Json& object, const std::string& where, const VisitOptions& visit);
void read_options(const std::string& text, const std::string& where, const VisitOptions& visit);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <set>
#include <vector>

#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

namespace detail {

LEXFORMER_INLINE void write_option(const Option& o, const std::string& key, Json& to) {
  using Kind = Option::Kind;
  const auto optional = [&](const auto& value) { to[key] = value ? Json(*value) : Json(); };
  switch (o.kind) {
    case Kind::flag:
      to[key] = o.as<bool>();
      return;
    case Kind::size:
      to[key] = o.as<std::size_t>();
      return;
    case Kind::integer:
      to[key] = o.as<int>();
      return;
    case Kind::number:
      to[key] = o.as<double>();
      return;
    case Kind::text:
      to[key] = o.as<std::string>();
      return;
    case Kind::optional_size:
      return optional(o.as<std::optional<std::size_t>>());
    case Kind::optional_number:
      return optional(o.as<std::optional<double>>());
    case Kind::optional_text:
      return optional(o.as<std::optional<std::string>>());
    case Kind::sizes:
      to[key] = o.as<std::vector<std::size_t>>();
      return;
    case Kind::numbers:
      to[key] = o.as<std::vector<double>>();
      return;
    case Kind::texts:
      to[key] = o.as<std::vector<std::string>>();
      return;
    case Kind::choice:
      to[key] = o.chosen();
      return;
    case Kind::counts:
      if (const auto& words = *static_cast<std::map<std::string, std::size_t>*>(o.second); o.as<std::size_t>() > 0)
        to[key] = {{"total", o.as<std::size_t>()}, {"words", words}};
      return;
    case Kind::layers:
      to["first_layer"] = o.as<std::size_t>();
      to["last_layer"] = *static_cast<std::size_t*>(o.second);
  }
}

LEXFORMER_INLINE void read_counts(const Option& o, const Json& from, const std::string& where) {
  const auto found = from.find(o.name);
  if (found == from.end()) return;
  const std::string here = where + ": " + o.name;
  if (!found->is_object() || !found->contains("words") || !(*found)["words"].is_object())
    fail_file(here, "expected an object with 'total' and 'words'");
  constexpr std::size_t most = std::size_t{1} << 48;
  const std::size_t total = o.as<std::size_t>() = get_size(*found, "total", 0, most, here);
  auto& words = *static_cast<std::map<std::string, std::size_t>*>(o.second);
  words.clear();
  for (const auto& word : (*found)["words"].items()) words[word.key()] = get_size((*found)["words"], word.key(), 0, total, here);
}

/// Options of files are flags, numbers, texts and choices. Only a command line has the other kinds.
LEXFORMER_INLINE void read_option(const Option& o, const Json& from, const std::string& where) {
  using Kind = Option::Kind;
  const auto whole = [](double x) { return x < 0x1p64 ? static_cast<std::size_t>(x) : ~std::size_t{0}; };
  const auto size = [&](const std::string& key, std::size_t& value) {
    value = get_size(from, key, whole(o.bounds.min), whole(o.bounds.max), where, value);
  };
  switch (o.kind) {
    case Kind::flag:
      o.as<bool>() = get_bool(from, o.name, where, o.as<bool>());
      return;
    case Kind::size:
      return size(o.name, o.as<std::size_t>());
    case Kind::number:
      o.as<double>() = get_number(from, o.name, o.bounds.min, o.bounds.max, where, o.as<double>());
      return;
    case Kind::text:
      o.as<std::string>() = get_string(from, o.name, where, o.as<std::string>());
      return;
    case Kind::choice:
      if (const std::size_t i = find_choice(from, o.name, false, o.names, where); i < o.names.size()) o.select(i);
      return;
    case Kind::counts:
      return read_counts(o, from, where);
    case Kind::layers:
      size("first_layer", o.as<std::size_t>());
      size("last_layer", *static_cast<std::size_t*>(o.second));
      return;
    default:
      fail(where, "the option ", o.name, " cannot be read from a file");
  }
}

}  // namespace detail

LEXFORMER_INLINE void write_option(const Option& option, Json& object) { detail::write_option(option, option.name, object); }
LEXFORMER_INLINE Json options_json(const VisitOptions& visit) {
  OptionVisitor options;
  visit(options);
  Json json = Json::object();
  for (const Option& option : options.options()) write_option(option, json);
  return json;
}
LEXFORMER_INLINE Json identity_json(const VisitOptions& visit) {
  OptionVisitor options;
  visit(options);
  Json json = Json::object();
  for (const Option& option : options.options())
    if (option.in_identity) detail::write_option(option, option.file_key(), json);
  return json;
}
LEXFORMER_INLINE void read_options(const std::string& text, const std::string& where, const VisitOptions& visit) {
  set_options(parse_json(text, where), where, visit);
}
LEXFORMER_INLINE void set_options(const Json& json, const std::string& where, const VisitOptions& visit) {
  if (!json.is_object()) fail_file(where, "expected a JSON object, found ", json.type_name());
  OptionVisitor options;
  visit(options);
  std::set<std::string> known;
  for (const Option& option : options.options()) {
    detail::read_option(option, json, where);
    known.insert(option.kind == Option::Kind::layers ? "first_layer" : option.name);
    if (option.kind == Option::Kind::layers) known.insert("last_layer");
  }
  for (const auto& item : json.items())
    if (!known.contains(item.key()))
      fail_file(where, in_quotes(item.key()), " is not an option; ", known.empty() ? "there are none" : "expected one of: " + join(known));
}

}  // namespace lexformer
#endif
