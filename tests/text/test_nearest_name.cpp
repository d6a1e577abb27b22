// SPDX-License-Identifier: MIT
#include "lexformer/text/nearest_name.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace lexformer;

TEST_CASE("nearest_name: the most similar of the names that are similar enough, of equally similar ones the first") {
  const std::vector<std::string> names = {"--attention", "--augment", "--lr", "--label", "--labels"};
  CHECK(nearest_name("--atention", names) == "--attention");
  CHECK(nearest_name("--agument", names) == "--augment");
  CHECK(nearest_name("--labels", names) == "--labels");
  CHECK(nearest_name("--labelx", names) == "--label");
  CHECK(nearest_name("--nothing-like-it", names) == "");
  CHECK(nearest_name("", names) == "");
  CHECK(nearest_name("x", {}) == "");
  CHECK(nearest_name("abcd", std::vector<std::string>{"abxx"}, 0.5) == "abxx");
  CHECK(nearest_name("abcd", std::vector<std::string>{"abxx"}, 0.51) == "");
  CHECK(nearest_name(std::string(1u << 20, 'x'), names) == "");  // in no time
  CHECK(did_you_mean("--atention", names) == "; did you mean '--attention'?");
  CHECK(did_you_mean("left", names) == "");
}
