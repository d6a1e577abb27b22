// SPDX-License-Identifier: MIT
#include "lexformer/data/examples.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using namespace lexformer;

TEST_CASE("examples of a table") {
  const PairTable table{"t.tsv", {{"a", "b", "yes", 1, 3}, {"c", "d", "no", 2, 3}}};
  const auto pairs = class_examples(table, {"no", "yes"});
  CHECK(pairs[0].label == 1);
  CHECK(pairs[1].right == "d");
  const PairTable kept{"t.tsv", {{"a", "b", "1", 1, 3, {"id 7", ""}}}, {"id", "note"}};
  CHECK(class_examples(kept)[0].kept == std::vector<std::string>{"id 7", ""});
  CHECK(number_examples(kept)[0].kept == std::vector<std::string>{"id 7", ""});
  CHECK_THROWS_WITH(class_examples(table), doctest::Contains("t.tsv: line 1, column 3: unknown label 'yes'"));
  CHECK(number_examples({"t.tsv", {{"a", "b", "2.5", 1}}})[0].target == 2.5f);
}

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
