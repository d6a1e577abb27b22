// SPDX-License-Identifier: MIT
// Values out of a JSON object, each with its range checked. `where` names the file in messages.
// Without a default (std::nullopt) the key must be there; with one, the key may be missing or null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lexformer/core/names.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

namespace detail {
/// The value of a key, or nullptr for "take the default".
inline const Json* find_value(const Json& object, const std::string& key, bool needed, const std::string& where) {
  if (!object.is_object()) fail_file(where, "expected a JSON object, found ", object.type_name());
  const auto it = object.find(key);
  if (it != object.end() && (needed || !it->is_null())) return &*it;
  if (needed) fail_file(where, "the key ", in_quotes(key), " is missing");
  return nullptr;
}
inline std::string shown(const Json& value) {
  if (value.is_structured()) return cat("an ", value.type_name());
  return value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : value.dump();
}
}  // namespace detail

/// A whole number from min to max, written without fraction or exponent.
inline std::size_t get_size(const Json& object, const std::string& key, std::size_t min, std::size_t max, const std::string& where,
                            std::optional<std::size_t> otherwise = {}) {
  const Json* value = detail::find_value(object, key, !otherwise, where);
  if (value == nullptr) return *otherwise;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() < min || value->get<std::uint64_t>() > max)
    fail_file(where, in_quotes(key), " is ", detail::shown(*value), ", expected a whole number from ", min, " to ", max);
  return value->get<std::size_t>();
}

/// A number from min to max.
inline double get_number(const Json& object, const std::string& key, double min, double max, const std::string& where,
                         std::optional<double> otherwise = {}) {
  const Json* value = detail::find_value(object, key, !otherwise, where);
  if (value == nullptr) return *otherwise;
  if (!value->is_number() || !(value->get<double>() >= min && value->get<double>() <= max))
    fail_file(where, in_quotes(key), " is ", detail::shown(*value), ", expected a number from ", min, " to ", max);
  return value->get<double>();
}

inline bool get_bool(const Json& object, const std::string& key, const std::string& where, std::optional<bool> otherwise = {}) {
  const Json* value = detail::find_value(object, key, !otherwise, where);
  if (value == nullptr) return *otherwise;
  if (!value->is_boolean()) fail_file(where, in_quotes(key), " is ", detail::shown(*value), ", expected true or false");
  return value->get<bool>();
}

inline std::string get_string(const Json& object, const std::string& key, const std::string& where,
                              std::optional<std::string> otherwise = {}) {
  const Json* value = detail::find_value(object, key, !otherwise, where);
  if (value == nullptr) return *otherwise;
  if (!value->is_string()) fail_file(where, in_quotes(key), " is ", detail::shown(*value), ", expected a text");
  return value->get<std::string>();
}

/// A value of an enum by its name (core/names.hpp).
template <class E>
E get_name(const Json& object, const std::string& key, const std::string& where, std::optional<E> otherwise = {}) {
  const Json* value = detail::find_value(object, key, !otherwise, where);
  if (value == nullptr) return *otherwise;
  if (value->is_string())
    if (const auto found = find_name<E>(value->get_ref<const std::string&>())) return *found;
  fail_file(where, in_quotes(key), " is ", detail::shown(*value), ", expected one of: ", list_names<E>());
}

}  // namespace lexformer
