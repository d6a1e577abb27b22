// SPDX-License-Identifier: MIT
// The substrings of a word between two marks, and a hash of them: the input of BoS and KVQ-FH.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// The substrings of `shortest` to `longest` characters of a word in lower case between the marks `begin` and `end`. A word counts up to
/// its first max_characters characters; invalid UTF-8 is removed.
struct Substrings {
  static constexpr std::size_t max_characters = 100;

  std::size_t shortest = 3, longest = 6;
  char begin = '<', end = '>';

  /// The substrings with repetitions, in the order of their first characters, the shorter ones first. A marked word of fewer than
  /// `shortest` characters is its only substring. Without `whole` the marked word itself is left out.   `ab`, 3 to 6: `<ab`, `<ab>`, `ab>`
  std::vector<std::string> of(std::string_view word, bool whole = true) const;
};

/// Substrings with these settings. Errors (usage): `shortest` is more than `longest`; `who` begins the message.
Substrings check_substrings(const Substrings& substrings, const std::string& who);

/// The distinct substrings of words, the most frequent first (equally frequent ones in the order in which they occur), at most `most`.
std::vector<std::string> frequent_substrings(std::span<const std::string> words, const Substrings& substrings, std::size_t most,
                                             bool whole = true);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <unordered_map>

#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<std::string> Substrings::of(std::string_view word, bool whole) const {
  std::u32string marked = to_utf32(lower_case(word)).substr(0, max_characters);
  marked.insert(marked.begin(), static_cast<char32_t>(begin));
  marked += static_cast<char32_t>(end);
  std::vector<std::string> all;
  for (std::size_t first = 0; first < marked.size(); ++first)
    for (std::size_t length = shortest; length <= std::min(longest, marked.size() - first); ++length)
      if (whole || length < marked.size()) all.push_back(to_utf8(std::u32string_view(marked).substr(first, length)));
  if (all.empty() && whole) all.push_back(to_utf8(marked));
  return all;
}

LEXFORMER_INLINE Substrings check_substrings(const Substrings& s, const std::string& who) {
  if (s.shortest > s.longest) fail_usage(who, "shortest is ", s.shortest, ", more than longest, ", s.longest);
  return s;
}

LEXFORMER_INLINE std::vector<std::string> frequent_substrings(std::span<const std::string> words, const Substrings& substrings,
                                                              std::size_t most, bool whole) {
  std::unordered_map<std::string, std::size_t, SeededHash> index;
  std::vector<std::size_t> counts, order;
  for (const std::string& word : words)
    for (std::string& part : substrings.of(word, whole)) {
      const auto [found, added] = index.emplace(std::move(part), counts.size());
      if (added) counts.push_back(0);
      ++counts[found->second];
    }
  std::vector<const std::string*> texts(counts.size());
  for (const auto& [text, number] : index) texts[number] = &text;
  for (std::size_t i = 0; i < counts.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  order.resize(std::min(order.size(), most));
  std::vector<std::string> all;
  all.reserve(order.size());
  for (const std::size_t i : order) all.push_back(*texts[i]);
  return all;
}

}  // namespace lexformer
#endif
