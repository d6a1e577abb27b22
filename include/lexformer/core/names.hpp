// SPDX-License-Identifier: MIT
// Names of enum values, as used in options and files. To name the values of an enum, specialize names_of next to it:
//   template <> inline constexpr Named<Task> names_of<Task>[] = {{"classification", Task::classification}, ...};
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/error.hpp"

namespace lexformer {

template <class E>
struct Named {
  std::string_view name;
  E value;
};

/// The names of an enum's values. A value may have several names; the first is used for writing.
template <class E>
inline constexpr std::array<Named<E>, 0> names_of{};

/// The names of all values, in the order of the table.
template <class E>
std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& entry : names_of<E>) names.emplace_back(entry.name);
  return names;
}

/// "classification, regression"
template <class E>
std::string list_names() {
  return join(all_names<E>());
}

template <class E>
std::string name_of(E value) {
  for (const auto& entry : names_of<E>)
    if (entry.value == value) return std::string(entry.name);
  fail("name_of", "a value without a name");
}

template <class E>
std::optional<E> find_name(std::string_view name) {
  for (const auto& entry : names_of<E>)
    if (entry.name == name) return entry.value;
  return std::nullopt;
}

/// The value with this name. Errors (usage): the name is unknown; the message lists the known names.
template <class E>
E parse_name(std::string_view name, const std::string& where) {
  if (const auto value = find_name<E>(name)) return *value;
  fail_usage(where, "'", name, "' is not known; use one of: ", list_names<E>());
}

}  // namespace lexformer
