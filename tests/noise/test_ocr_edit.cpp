// SPDX-License-Identifier: MIT
// Confusions of optical character recognition, alone and as typos of mode ocr.
#include "lexformer/noise/ocr_edit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lexformer/noise/typos.hpp"

using namespace lexformer;

namespace {

/// Whether one confusion turns a into b.
bool is_confused(const std::string& a, const std::string& b) {
  for (const auto& [x, y] : ocr_confusions())
    for (const auto& [from, to] : {std::pair{x, y}, {y, x}})
      for (std::size_t i = a.find(from); i != a.npos; i = a.find(from, i + 1))
        if (a.substr(0, i) + std::string(to) + a.substr(i + from.size()) == b) return true;
  return false;
}

}  // namespace

TEST_CASE("ocr_edit: one confusion, all of a word's equally often; a word without any stays") {
  std::set<std::pair<std::string_view, std::string_view>> pairs;
  for (const auto& pair : ocr_confusions()) {
    CHECK(pair.first != pair.second);
    CHECK_MESSAGE(pairs.insert(std::minmax(pair.first, pair.second)).second, pair.first, " ", pair.second);
  }
  std::map<std::string, std::size_t> found;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RandomStream random(seed, random_site::typos);
    const std::string changed = ocr_edit("xm\xC3\xA9k", random);
    REQUIRE(is_confused("xm\xC3\xA9k", changed));
    ++found[changed];
  }
  CHECK(found.size() == 2);  // rn, nn for m
  for (const auto& edit : found)
    CHECK_MESSAGE(std::abs(static_cast<double>(edit.second) / 4000 - 0.5) < 0.03, edit.first, ": ", edit.second);
  std::map<std::string, std::size_t> of_digits;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed, random_site::typos);
    ++of_digits[ocr_edit("5", random)];
  }
  CHECK(of_digits.size() == 2);  // s, S
  RandomStream random(1, random_site::typos);
  for (const char* word : {"", "xx", "7", "\xC3\xA9", "\xFF"}) CHECK(ocr_edit(word, random) == word);
}

TEST_CASE("typos of mode ocr: a share of the words at whitespace, the rest stays") {
  const std::string text = "The\tmodern  (clown) of 1850 xx";
  const auto changed = [&](const TypoOptions& options, std::uint64_t seed) {
    RandomStream random = typo_stream(seed, 0, 0);
    return add_typos(text, options, random);
  };
  const TypoOptions half{.mode = TypoMode::ocr, .word_share = 0.5};
  std::size_t hits = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string after = changed(half, seed);
    CHECK(after == changed(half, seed));
    std::vector<std::string> words[2];
    for (const auto& [s, into] : {std::pair{&text, &words[0]}, {&after, &words[1]}}) {
      into->emplace_back();
      for (const char c : *s)
        if (c == ' ' || c == '\t')
          into->emplace_back();
        else
          into->back() += c;
    }
    REQUIRE(words[0].size() == words[1].size());
    for (std::size_t i = 0; i < words[0].size(); ++i) {
      if (words[0][i] == words[1][i]) continue;
      ++hits;
      CHECK(is_confused(words[0][i], words[1][i]));
    }
  }
  CHECK(std::abs(static_cast<double>(hits) / (5 * 2000) - 0.5) < 0.02);  // xx cannot change
  CHECK(changed({.mode = TypoMode::ocr, .word_share = 0}, 1) == text);
  CHECK(changed({.mode = TypoMode::ocr, .word_share = 1, .min_chars = 8}, 1) == text);
  RandomStream random = typo_stream(1, 0, 0);
  CHECK_THROWS_WITH(add_typos("a", {.mode = TypoMode::ocr, .respace = true}, random), doctest::Contains("mode ocr has others"));
  CHECK(describe(half).starts_with("ocr word_share=0.5"));
}
