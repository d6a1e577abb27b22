// SPDX-License-Identifier: MIT
// Reads values from a JSON object and checks their ranges. `where` names the file in messages.
// Without a default (std::nullopt) the key is required; with one, it may be missing or null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

namespace detail {
/// Returns the value of a key, or nullptr if the default applies.
const Json* find_value(const Json& object, const std::string& key, bool needed, const std::string& where);
/// Formats a value for messages.
std::string shown(const Json& value);
/// Returns the index in `names` of the key's value, or names.size() if the default applies.
std::size_t find_choice(const Json& object, const std::string& key, bool needed, const std::vector<std::string>& names,
                        const std::string& where);
}  // namespace detail

/// Reads an integer from min to max, written without fraction or exponent.
std::size_t get_size(const Json& object, const std::string& key, std::size_t min, std::size_t max, const std::string& where,
                     std::optional<std::size_t> otherwise = {});

/// Reads a number from min to max.
double get_number(const Json& object, const std::string& key, double min, double max, const std::string& where,
                  std::optional<double> otherwise = {});

bool get_bool(const Json& object, const std::string& key, const std::string& where, std::optional<bool> otherwise = {});

std::string get_string(const Json& object, const std::string& key, const std::string& where, std::optional<std::string> otherwise = {});

/// Reads an enum value by name (core/names.hpp).
template <class E>
E get_name(const Json& object, const std::string& key, const std::string& where, std::optional<E> otherwise = {}) {
  const std::size_t i = detail::find_choice(object, key, !otherwise, all_names<E>(), where);
  return i < std::size(names_of<E>) ? names_of<E>[i].value : *otherwise;
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

#include "lexformer/io/json.hpp"

namespace lexformer {

namespace detail {
LEXFORMER_INLINE const Json* find_value(const Json& object, const std::string& key, bool needed, const std::string& where) {
  if (!object.is_object()) fail_file(where, "expected a JSON object, found ", object.type_name());
  const auto it = object.find(key);
  if (it != object.end() && (needed || !it->is_null())) return &*it;
  if (needed) fail_file(where, "the key ", in_quotes(key), " is missing");
  return nullptr;
}
LEXFORMER_INLINE std::string shown(const Json& value) {
  if (value.is_structured()) return cat("an ", value.type_name());
  return value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : value.dump();
}
LEXFORMER_INLINE std::size_t find_choice(const Json& object, const std::string& key, bool needed, const std::vector<std::string>& names,
                                         const std::string& where) {
  const Json* value = find_value(object, key, needed, where);
  if (value == nullptr) return names.size();
  const auto found = value->is_string() ? std::find(names.begin(), names.end(), value->get_ref<const std::string&>()) : names.end();
  if (found == names.end()) fail_file(where, in_quotes(key), " is ", shown(*value), ", expected one of: ", join(names));
  return static_cast<std::size_t>(found - names.begin());
}
}  // namespace detail

LEXFORMER_INLINE std::size_t get_size(const Json& object, const std::string& key, std::size_t min, std::size_t max,
                                      const std::string& where, std::optional<std::size_t> otherwise) {
  const Json* value = detail::find_value(object, key, !otherwise, where);
  if (value == nullptr) return *otherwise;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() < min || value->get<std::uint64_t>() > max)
    fail_file(where, in_quotes(key), " is ", detail::shown(*value), ", expected a whole number from ", min, " to ", max);
  return value->get<std::size_t>();
}

LEXFORMER_INLINE double get_number(const Json& object, const std::string& key, double min, double max, const std::string& where,
                                   std::optional<double> otherwise) {
  const Json* value = detail::find_value(object, key, !otherwise, where);
  if (value == nullptr) return *otherwise;
  if (!value->is_number() || !(value->get<double>() >= min && value->get<double>() <= max))
    fail_file(where, in_quotes(key), " is ", detail::shown(*value), ", expected a number from ", min, " to ", max);
  return value->get<double>();
}

LEXFORMER_INLINE bool get_bool(const Json& object, const std::string& key, const std::string& where, std::optional<bool> otherwise) {
  const Json* value = detail::find_value(object, key, !otherwise, where);
  if (value == nullptr) return *otherwise;
  if (!value->is_boolean()) fail_file(where, in_quotes(key), " is ", detail::shown(*value), ", expected true or false");
  return value->get<bool>();
}

LEXFORMER_INLINE std::string get_string(const Json& object, const std::string& key, const std::string& where,
                                        std::optional<std::string> otherwise) {
  const Json* value = detail::find_value(object, key, !otherwise, where);
  if (value == nullptr) return *otherwise;
  if (!value->is_string()) fail_file(where, in_quotes(key), " is ", detail::shown(*value), ", expected a text");
  return value->get<std::string>();
}

}  // namespace lexformer
#endif
