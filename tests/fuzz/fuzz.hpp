// SPDX-License-Identifier: MIT
// Shared by the fuzzing harnesses. Each harness is one LLVMFuzzerTestOneInput, run by libFuzzer (tools/fuzz.sh), and on the seed corpus
// alone in every test run (replay.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lexformer/core/error.hpp"

namespace fuzz {

/// A condition that must hold; otherwise the input is a finding.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

/// Runs body. It may throw only an Error whose message is one line of printable UTF-8. Returns true if it did not throw.
template <class Body>
bool accepts(Body&& body) {
  try {
    body();
    return true;
  } catch (const lexformer::Error& error) {
    const std::string_view text = error.what();
    require(lexformer::one_line(text, text.size()) == text, "the message is not one line of printable UTF-8");
    return false;
  }
}

/// The first bytes of an input are choices, the rest is text. After the end all choices are 0.
struct Input {
  std::string_view rest;

  Input(const std::uint8_t* data, std::size_t size) : rest(reinterpret_cast<const char*>(data), size) {}
  std::size_t below(std::size_t n) {
    if (rest.empty()) return 0;
    const std::size_t choice = static_cast<unsigned char>(rest[0]) % n;
    rest.remove_prefix(1);
    return choice;
  }
  bool flag() { return below(2) == 1; }
  /// Returns the text before the next `mark` and skips the mark; all the rest if there is none.
  std::string_view until(char mark) {
    const std::size_t end = rest.find(mark) < rest.size() ? rest.find(mark) : rest.size();
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(end < rest.size() ? end + 1 : end);
    return part;
  }
};

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
