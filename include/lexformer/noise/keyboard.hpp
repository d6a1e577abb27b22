// SPDX-License-Identifier: MIT
// Noise: a neighbouring key is hit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/noise/word_edit.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Replaces one letter or digit a-z, A-Z, 0-9 of a word, all equally likely, by what a neighbouring key of a US keyboard gives, all equally
/// likely. Shift stays as it is, so a capital becomes a capital or a sign above another: "Sony" -> "Sojy", "L" -> "K" or ":". A word
/// without such a character stays.
std::string keyboard_noise(const std::string& word, RandomStream& random);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE std::string keyboard_noise(const std::string& word, RandomStream& random) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto byte = static_cast<unsigned char>(word[i]);
    if (byte < 0x80 && byte != '_' && is_word_character(byte)) places.push_back(i);
  }
  if (places.empty()) return word;
  const auto at = [&](std::size_t n) { return static_cast<std::size_t>(random.below(n)); };
  std::string out = word;
  char& key = out[places[at(places.size())]];
  const std::string keys = keyboard_neighbours(static_cast<unsigned char>(key));  // of each key first what it is without shift
  const bool shift = key >= 'A' && key <= 'Z';
  key = keys[2 * at(keys.size() / 2) + (shift ? 1 : 0)];
  return out;
}

}  // namespace lexformer
#endif
