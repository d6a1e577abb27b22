// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>

namespace lexformer::test {

/// The number of random cases per law: LEXFORMER_CASES if it is set (docs/testing.md), else `ordinary`.
inline std::size_t cases(std::size_t ordinary) {
  const char* text = std::getenv("LEXFORMER_CASES");
  return text == nullptr ? ordinary : std::stoul(text);
}

}  // namespace lexformer::test
