// SPDX-License-Identifier: MIT
#include "lexformer/words/substrings.hpp"

#include <doctest/doctest.h>

using namespace lexformer;

namespace {
using Texts = std::vector<std::string>;
}

TEST_CASE("Substrings: of a marked word, by first character and length, with repetitions") {
  const Substrings three_to_six;
  CHECK(three_to_six.of("ab") == Texts{"<ab", "<ab>", "ab>"});
  CHECK(three_to_six.of("ab", false) == Texts{"<ab", "ab>"});
  CHECK(three_to_six.of("Ä") == Texts{"<ä>"});  // lower case; a character, not a byte
  CHECK(three_to_six.of("Ä", false).empty());
  CHECK(three_to_six.of("") == Texts{"<>"});  // none has three characters
  const Substrings one{.shortest = 1, .longest = 1, .begin = '^', .end = '@'};
  CHECK(one.of("aba") == Texts{"^", "a", "b", "a", "@"});
  // n (n + 1) / 2 of all lengths, of a word of 14 characters with its marks; those of 3 to 30 characters are 12 * 13 / 2
  CHECK(Substrings{.shortest = 3, .longest = 30}.of("misspellings").size() == 78);
  CHECK(one.of(std::string(1000, 'x')).size() == Substrings::max_characters + 2);
}

TEST_CASE("frequent_substrings: the most frequent first, equally frequent ones as they occur") {
  const Texts words{"ab", "cab", "ab"};
  CHECK(frequent_substrings(words, {}, 100) == Texts{"ab>", "<ab", "<ab>", "<ca", "<cab", "<cab>", "cab", "cab>"});
  CHECK(frequent_substrings(words, {}, 2) == Texts{"ab>", "<ab"});
  CHECK(frequent_substrings(words, {}, 3, false) == Texts{"ab>", "<ab", "<ca"});
}

TEST_CASE("fnv1a: the values of its authors; another prime, another hash") {
  CHECK(fnv1a("") == 0x811c9dc5u);
  CHECK(fnv1a("a") == 0xe40c292cu);
  CHECK(fnv1a("foobar") == 0xbf9cf968u);
  CHECK(fnv1a("foobar", 0x01000194u) != fnv1a("foobar"));
}
