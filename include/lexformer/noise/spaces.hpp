// SPDX-License-Identifier: MIT
// Noise: spaces are dropped or put within words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// For each word of at least `min_chars` characters, with probability `share`: drops the whitespace after it, or puts a space between two
/// of its characters (not before a nonspacing mark); both equally likely, all places equally likely. The last word is only split, a word of
/// one character only joined: "hdmi cable" -> "hdmicable", "hd mi cable". A text of one such word stays.
std::string space_noise(std::string_view text, double share, std::size_t min_chars, RandomStream& random);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE std::string space_noise(std::string_view text, double share, std::size_t min_chars, RandomStream& random) {
  struct SpacedWord {
    std::size_t begin, end, characters;  // begin and end in bytes
    std::vector<std::size_t> places;     // where it can be split
  };
  std::vector<SpacedWord> words;
  bool inside = false;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode_utf8(text, i);
    const bool space = is_whitespace(next.character);
    if (!space) {
      if (!inside)
        words.push_back({i, i, 0, {}});
      else if (!is_nonspacing_mark(next.character))
        words.back().places.push_back(i);
      words.back().end = i + next.bytes;
      ++words.back().characters;
    }
    inside = !space;
    i += next.bytes;
  }
  std::string out;
  std::size_t done = 0;
  for (std::size_t w = 0; w < words.size(); ++w) {
    const auto& [begin, end, characters, places] = words[w];
    if (characters < min_chars || random.uniform() >= share) continue;
    const bool last = w + 1 == words.size();
    if (!last && (places.empty() || random.below(2) == 0)) {
      out.append(text, done, end - done);
      done = words[w + 1].begin;
    } else if (!places.empty()) {
      const std::size_t place = places[static_cast<std::size_t>(random.below(places.size()))];
      out.append(text, done, place - done);
      out += ' ';
      done = place;
    }
  }
  return out.append(text, done);
}

}  // namespace lexformer
#endif
