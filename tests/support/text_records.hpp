// SPDX-License-Identifier: MIT
// What the programs *_stdin.cpp of tests/oracles have in common: records on standard input and lists of numbers.
#pragma once

#include <cstddef>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace text_records {

inline std::string read_all() {
  std::ios::sync_with_stdio(false);
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

struct PairRecord {
  std::size_t max_length;
  std::string left;
  std::optional<std::string> right;
};

/// Reads "<max_length> <bytes of left> <bytes of right or -1>\n<left><right>\n" for each record.
inline std::vector<PairRecord> read_pairs() {
  const std::string input = read_all();
  std::vector<PairRecord> records;
  for (std::size_t at = 0; at < input.size(); ++at) {
    const std::size_t end = input.find('\n', at), space = input.find(' ', at), space2 = input.find(' ', space + 1);
    const std::size_t left = std::stoul(input.substr(space + 1, space2 - space));
    const long right = std::stol(input.substr(space2 + 1, end - space2));
    records.push_back({std::stoul(input.substr(at, space - at)), input.substr(end + 1, left), {}});
    at = end + 1 + left;
    if (right < 0) continue;
    records.back().right = input.substr(at, static_cast<std::size_t>(right));
    at += static_cast<std::size_t>(right);
  }
  return records;
}

/// number(value) of each value, e.g. "1 2 3|".
template <class Values, class Number>
std::string list(const Values& values, Number number) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) out += (i == 0 ? "" : " ") + std::to_string(number(values[i]));
  return out + '|';
}

template <class Values>
std::string list(const Values& values) {
  return list(values, [](auto x) { return static_cast<long>(x); });
}

}  // namespace text_records
