// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#ifndef LEXFORMER_SOURCE_DIR
#define LEXFORMER_SOURCE_DIR "."
#endif

namespace lexformer::test {

using Blocks = std::map<std::string, std::vector<double>>;

inline std::ifstream open_golden(const std::string& name) {
  std::ifstream in(LEXFORMER_SOURCE_DIR "/tests/golden/" + name);
  REQUIRE_MESSAGE(in.good(), "tests/golden/" << name << " cannot be opened");
  return in;
}

inline std::vector<double> read_numbers(std::istream& in) {
  std::size_t count = 0;
  in >> count;
  std::vector<double> values(count);
  for (double& v : values) in >> v;
  REQUIRE(in.good());
  return values;
}

/// Reads lines `name count numbers...` up to `last` or the end of the file.
inline Blocks read_blocks(std::istream& in, const std::string& last = "") {
  Blocks blocks;
  for (std::string name; in >> name;) {
    blocks[name] = read_numbers(in);
    if (name == last) break;
  }
  return blocks;
}

}  // namespace lexformer::test
