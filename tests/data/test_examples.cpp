// SPDX-License-Identifier: MIT
#include "lexformer/data/examples.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using namespace lexformer;

TEST_CASE("a description of the data notices every change") {
  std::vector<PairExample> data;
  for (int i = 0; i < 5; ++i) data.push_back({cat("left ", i), cat("right ", i), i % 2, static_cast<float>(i) / 8});
  std::set<std::string> seen{describe(data)};
  for (const auto change :
       {+[](PairExample& e) { e.left += "x"; }, +[](PairExample& e) { e.right.pop_back(); }, +[](PairExample& e) { e.label = 7; },
        +[](PairExample& e) { e.target += 0.5f; }, +[](PairExample& e) { std::swap(e.left, e.right); }}) {
    auto other = data;
    change(other[2]);
    seen.insert(describe(other));
  }
  CHECK(seen.size() == 6);
  CHECK(describe(std::vector<PairExample>{{"a", "b", 1}}) == describe(std::vector<PairExample>{{"a", "b", 1}}));
  CHECK(describe(data).starts_with("5 pairs, crc32 "));
  CHECK(describe(data, 1).starts_with("5 texts, crc32 "));
}
