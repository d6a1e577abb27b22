// SPDX-License-Identifier: MIT
#include "lexformer/data/table_examples.hpp"

#include <doctest/doctest.h>

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
