// SPDX-License-Identifier: MIT
// Labels of pairs of ids that may be given more than once.
#pragma once

#include <map>
#include <utility>

#include "cli/program.hpp"

namespace program {

/// The key of a pair of ids. Within one table the order of the two does not matter.
inline std::pair<std::string, std::string> pair_key(const std::string& left, const std::string& right, bool one_table) {
  return one_table && right < left ? std::pair(right, left) : std::pair(left, right);
}

/// Refuses a pair of ids with two different labels.
class GivenLabels {
 public:
  /// one_table: the order of the two ids does not matter.
  explicit GivenLabels(bool one_table) : one_table_(one_table) {}

  /// Errors (file): the pair had another label.
  void add(const std::string& left, const std::string& right, const std::string& label, const std::string& file, std::size_t line) {
    const auto& [key, place] = *labels_.try_emplace(pair_key(left, right, one_table_), label, lx::cat(file, ": line ", line)).first;
    if (place.first != label)
      lx::fail_file(lx::cat(file, ": line ", line), "the pair ", lx::in_quotes(left), ", ", lx::in_quotes(right), " has the label ",
                    lx::in_quotes(label), ", but ", lx::in_quotes(place.first), " in ", place.second, "; keep one of them");
  }

 private:
  bool one_table_;
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> labels_;  // of a pair: its label, and where that is
};

}  // namespace program
