// SPDX-License-Identifier: MIT
#include "lexformer/data/queries.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/random.hpp"

using namespace lexformer;

TEST_CASE("query numbers: equal left texts, in order of appearance") {
  CHECK(query_numbers(std::vector<PairExample>{{"b", "x"}, {"a", "x"}, {"b", "y"}, {"", "z"}}) == std::vector<std::size_t>{0, 1, 0, 2});
  CHECK(query_numbers({}).empty());
}

TEST_CASE("negatives: so many for each relevant pair, never a document of the query, all different, by the seed") {
  RandomStream random(4, random_site::user);
  std::vector<PairExample> examples;
  std::map<std::string, std::set<std::string>> documents;
  for (std::size_t i = 0; i < 300; ++i) {
    PairExample e{"q" + std::to_string(random.below(40)), "d" + std::to_string(random.below(100))};
    if (random.below(3) > 0) e.target = 0.5f;
    if (i % 5 == 0) e.label = 1;
    documents[e.left].insert(e.right);
    examples.push_back(std::move(e));
  }
  const auto more = with_negatives(examples, 3, 1);
  std::size_t relevant = 0;
  for (const auto& e : examples)
    if (e.label == 1 || e.target > 0) ++relevant;
  REQUIRE(more.size() == 300 + 3 * relevant);
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (i < 300) {
      CHECK(more[i].right == examples[i].right);
      continue;
    }
    CHECK((more[i].label == 0 && more[i].target == 0));
    CHECK(documents.at(more[i].left).count(more[i].right) == 0);
    CHECK(more[i].right.front() == 'd');
    CHECK(seen.emplace(more[i].left, more[i].right).second);
  }
  const auto texts = [](const std::vector<PairExample>& all) { return describe(all); };
  CHECK(texts(with_negatives(examples, 3, 1)) == texts(more));
  CHECK(texts(with_negatives(examples, 3, 2)) != texts(more));
  CHECK(texts(with_negatives(examples, 0, 1)) == texts(examples));
  // Fewer, if there are no others.
  CHECK(with_negatives({{"a", "x", 1}, {"a", "y", 0}, {"b", "z", 1}}, 5, 1).size() == 3 + 1 + 2);
}
