// SPDX-License-Identifier: MIT
// Words that are written alike: candidates for LOVE's hard negatives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// A word of a list and its similarity to another word.
struct NearWord {
  std::uint32_t index;
  float ratio;
  bool operator==(const NearWord&) const = default;
};

/// For each word of a list, the other words whose ratio 2 LCS(a, b) / (|a| + |b|) exceeds `least`, at most `most`: the largest ratios
/// first, equal ones in the order of the list. LCS is the length of the longest common subsequence, |a| the number of characters.
/// The ratio is 1 - d / (|a| + |b|), where d is the edit distance with substitutions of cost 2. Words that are equal, or empty, are not
/// near each other. The result does not depend on the number of threads.
std::vector<std::vector<NearWord>> near_words(std::span<const std::string> words, double least, std::size_t most);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <bit>
#include <map>

#include "lexformer/core/parallel.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {

/// The length of the longest common subsequence of one word and many others, in time |b| ceil(|a| / 64) for each (Hyyrö 2004).
/// Characters are numbers below `characters`.
class CommonSubsequence {
 public:
  explicit CommonSubsequence(std::size_t characters) : characters_(characters) {}

  void set(std::span<const std::uint32_t> a) {
    size_ = a.size();
    const std::size_t blocks = (size_ + 63) / 64;
    masks_.assign(characters_ * blocks, 0);
    for (std::size_t i = 0; i < size_; ++i) masks_[a[i] * blocks + i / 64] |= std::uint64_t{1} << (i % 64);
    start_.assign(blocks, ~std::uint64_t{0});
    if (size_ % 64 != 0) start_.back() >>= 64 - size_ % 64;
  }
  std::size_t length(std::span<const std::uint32_t> b) {
    // Bit i of the row is 0 where the LCS with a[0 .. i] is one longer than with a[0 .. i - 1].
    row_ = start_;
    const std::size_t blocks = row_.size();
    for (const std::uint32_t c : b) {
      bool carry = false;
      for (std::size_t k = 0; k < blocks; ++k) {
        const std::uint64_t v = row_[k], common = v & masks_[c * blocks + k];
        std::uint64_t sum = 0;
        const bool first = __builtin_add_overflow(v, common, &sum);
        const bool second = __builtin_add_overflow(sum, std::uint64_t{carry}, &sum);
        carry = first || second;
        row_[k] = sum | (v ^ common);
      }
    }
    std::size_t zeros = 0;
    for (std::size_t k = 0; k < blocks; ++k) zeros += static_cast<std::size_t>(std::popcount(~row_[k] & start_[k]));
    return zeros;
  }

 private:
  std::size_t characters_, size_ = 0;
  std::vector<std::uint64_t> masks_;  // of each character: its positions in the word
  std::vector<std::uint64_t> start_, row_;
};

/// One bit for each character of a word and its count so far, e.g. the second e. Characters share bits, so of a, at least
/// popcount(signature(a) & ~signature(b)) characters are in no common subsequence with b.
inline std::uint64_t signature(std::span<const std::uint32_t> word) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto before = static_cast<std::uint64_t>(std::count(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(i), word[i]));
    bits |= std::uint64_t{1} << ((word[i] + 29 * before) % 64);
  }
  return bits;
}

}  // namespace detail

LEXFORMER_INLINE std::vector<std::vector<NearWord>> near_words(std::span<const std::string> words, double least, std::size_t most) {
  std::map<char32_t, std::uint32_t> numbers;
  std::vector<std::vector<std::uint32_t>> spelled(words.size());
  std::size_t longest = 0;
  for (std::size_t w = 0; w < words.size(); ++w) {
    for (const char32_t c : to_utf32(words[w]))
      spelled[w].push_back(numbers.try_emplace(c, static_cast<std::uint32_t>(numbers.size())).first->second);
    longest = std::max(longest, spelled[w].size());
  }
  struct Spelled {
    std::uint32_t index;
    std::uint64_t signature;
  };
  std::vector<std::vector<Spelled>> of_length(longest + 1);  // words by length, ascending within a length
  for (std::size_t w = 0; w < words.size(); ++w)
    of_length[spelled[w].size()].push_back({static_cast<std::uint32_t>(w), detail::signature(spelled[w])});

  std::vector<std::vector<NearWord>> near(words.size());
  parallel_for(words.size(), 64, [&](std::size_t begin, std::size_t end) {
    detail::CommonSubsequence common(numbers.size());
    for (std::size_t w = begin; w < end; ++w) {
      const auto& a = spelled[w];
      auto& found = near[w];
      common.set(a);
      const std::uint64_t letters = detail::signature(a);
      for (std::size_t n = 1; n <= longest && !a.empty(); ++n) {
        const auto total = static_cast<double>(a.size() + n);
        const auto ratio = [&](std::size_t lcs) { return 2 * static_cast<double>(lcs) / total; };
        std::size_t enough = 0;  // the least LCS whose ratio exceeds `least`
        while (enough <= n && ratio(enough) <= least) ++enough;
        if (enough > std::min(n, a.size())) continue;  // the LCS is at most as long as the shorter word
        for (const auto& other : of_length[n]) {
          const auto only_a = static_cast<std::size_t>(std::popcount(letters & ~other.signature));
          const auto only_b = static_cast<std::size_t>(std::popcount(other.signature & ~letters));
          if (other.index == w || std::min(a.size() - only_a, n - only_b) < enough) continue;
          const std::size_t lcs = common.length(spelled[other.index]);
          if (lcs >= enough && !(lcs == n && n == a.size())) found.push_back({other.index, static_cast<float>(ratio(lcs))});
        }
      }
      std::sort(found.begin(), found.end(),
                [](const NearWord& x, const NearWord& y) { return x.ratio != y.ratio ? x.ratio > y.ratio : x.index < y.index; });
      if (found.size() > most) found.resize(most);
    }
  });
  return near;
}

}  // namespace lexformer
#endif
