// SPDX-License-Identifier: MIT
#include "lexformer/words/near_words.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"

using namespace lexformer;

namespace {

/// The definition: LCS by similarity.hpp's table, all pairs, sorted.
std::vector<std::vector<NearWord>> near_by_definition(const std::vector<std::u32string>& words, double least, std::size_t most) {
  std::vector<std::vector<NearWord>> all(words.size());
  for (std::size_t a = 0; a < words.size(); ++a) {
    for (std::size_t b = 0; b < words.size(); ++b) {
      if (a == b || words[a] == words[b] || words[a].empty() || words[b].empty()) continue;
      const auto common = std::round(lcs(words[a], words[b]) * static_cast<double>(std::max(words[a].size(), words[b].size())));
      const double ratio = 2 * common / static_cast<double>(words[a].size() + words[b].size());
      if (ratio > least) all[a].push_back({static_cast<std::uint32_t>(b), static_cast<float>(ratio)});
    }
    std::stable_sort(all[a].begin(), all[a].end(), [](const NearWord& x, const NearWord& y) { return x.ratio > y.ratio; });
    if (all[a].size() > most) all[a].resize(most);
  }
  return all;
}

}  // namespace

TEST_CASE("near words: ratios of known pairs, the largest first, without the word itself") {
  const std::vector<std::string> words{"screen", "sbreen", "green", "screens", "tree", "screen", ""};
  const auto near = near_words(words, 0.7, 10);
  // screen: screens 12/13, sbreen 10/12, green 8/11 (r e e n); tree 6/10 is below.
  REQUIRE(near[0].size() == 3);
  CHECK(near[0][0] == NearWord{3, 12.0f / 13});
  CHECK(near[0][1] == NearWord{1, 10.0f / 12});
  CHECK(near[0][2] == NearWord{2, 8.0f / 11});
  CHECK(near[6].empty());
  CHECK(near_words(words, 0.7, 1)[0].size() == 1);
  CHECK(near_words(words, 0.92, 10)[0].size() == 1);
}

TEST_CASE("near words: equal to the definition on random words, of more than 64 characters and other scripts, for any number of threads") {
  RandomStream random(3, random_site::user);
  std::vector<std::u32string> words;
  std::vector<std::string> texts;
  for (int w = 0; w < 300; ++w) {
    // Every third word is an edited copy of an earlier one; some are long.
    std::u32string word;
    if (w % 3 == 2) {
      word = words[static_cast<std::size_t>(random.below(words.size()))];
      for (int k = 0; k < 3 && !word.empty(); ++k) word.erase(static_cast<std::size_t>(random.below(word.size())), 1);
    } else {
      const auto length = random.below(w % 10 == 0 ? 150 : 12);
      for (std::uint64_t i = 0; i < length; ++i) word += U"abcdeäλ"[random.below(7)];
    }
    words.push_back(word);
    texts.push_back(to_utf8(word));
  }
  for (const double least : {0.5, 0.7}) {
    const auto expected = near_by_definition(words, least, 20);
    for (const int threads : {1, 2, 3}) {
      set_threads(threads);
      CHECK(near_words(texts, least, 20) == expected);
      set_threads(0);
    }
    std::size_t count = 0;
    for (const auto& list : expected) count += list.size();
    CHECK(count > 300);
  }
}
