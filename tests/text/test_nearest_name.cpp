// SPDX-License-Identifier: MIT
#include "lexformer/text/nearest_name.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace lexformer;

TEST_CASE("similarity_with_swaps: Levenshtein's without swaps, symmetric") {
  const std::u32string words[] = {U"", U"a", U"ab", U"ba", U"abc", U"acb", U"kitten", U"sitting", U"screen", U"sbreen"};
  for (const auto& a : words)
    for (const auto& b : words) {
      CHECK(detail::similarity_with_swaps(a, b) == detail::similarity_with_swaps(b, a));
      CHECK(detail::similarity_with_swaps(a, b) >= levenshtein(a, b));
    }
  CHECK(detail::similarity_with_swaps(U"kitten", U"sitting") == levenshtein(U"kitten", U"sitting"));
  CHECK(detail::similarity_with_swaps(U"ab", U"ba") == 0.5);
  CHECK(detail::similarity_with_swaps(U"abcd", U"acbd") == 0.75);
  CHECK(detail::similarity_with_swaps(U"", U"") == 1.0);
}

TEST_CASE("nearest_name: the most similar of the names that are similar enough, of equally similar ones the first") {
  const std::vector<std::string> names = {"--attention", "--augment", "--lr", "--label", "--labels"};
  CHECK(nearest_name("--atention", names) == "--attention");
  CHECK(nearest_name("--agument", names) == "--augment");
  CHECK(nearest_name("--labels", names) == "--labels");
  CHECK(nearest_name("--labelx", names) == "--label");
  CHECK(nearest_name("lae", std::vector<std::string>{"none", "lea"}) == "lea");
  CHECK(nearest_name("tvs", std::vector<std::string>{"csv", "tsv"}) == "tsv");
  CHECK(nearest_name("modle", std::vector<std::string>{"modal", "model"}) == "model");
  CHECK(nearest_name("id", std::vector<std::string>{"idx", "ID", "name"}) == "ID");
  CHECK(nearest_name("name", std::vector<std::string>{"named", " Name\t"}) == " Name\t");
  CHECK(nearest_name("\xC3\xA9t\xC3\xA9", std::vector<std::string>{"\xC3\x89T\xC3\x89"}) == "\xC3\x89T\xC3\x89");
  CHECK(nearest_name("name", std::vector<std::string>{"", "  "}) == "");
  CHECK(nearest_name("--nothing-like-it", names) == "");
  CHECK(nearest_name("", names) == "");
  CHECK(nearest_name("x", {}) == "");
  CHECK(nearest_name("abcd", std::vector<std::string>{"abxx"}, 0.5) == "abxx");
  CHECK(nearest_name("abcd", std::vector<std::string>{"abxx"}, 0.51) == "");
  CHECK(nearest_name(std::string(1u << 20, 'x'), names) == "");  // fast, since only the first characters are compared
  CHECK(did_you_mean("--atention", names) == "; did you mean '--attention'?");
  CHECK(did_you_mean("left", names) == "");
}
