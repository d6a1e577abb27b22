// SPDX-License-Identifier: MIT
// Noise: a word in another case.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/noise/words.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Puts a word into another case, drawn evenly from those that change it: capitals (CAMERA), small letters (camera), a first capital
/// (Camera), or each letter at random (cAMerA). A word without a letter that has two cases stays.
std::string casing_noise(const std::string& word, RandomStream& random);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE std::string casing_noise(const std::string& word, RandomStream& random) {
  const std::u32string text = to_utf32(word);
  const auto flipped = [](char32_t c) { return is_capital(c) ? to_lower(c) : to_upper(c); };
  std::vector<std::size_t> letters;
  std::u32string upper = text, lower = text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (flipped(text[i]) == text[i]) continue;
    letters.push_back(i);
    upper[i] = to_upper(text[i]);
    lower[i] = to_lower(text[i]);
  }
  if (letters.empty()) return word;
  std::u32string title = lower;
  title[letters.front()] = upper[letters.front()];
  std::vector<std::u32string> cases;
  for (auto& other : {upper, lower, title})
    if (other != text && (cases.empty() || cases.back() != other)) cases.push_back(other);
  const auto drawn = static_cast<std::size_t>(random.below(cases.size() + 1));
  if (drawn < cases.size()) return to_utf8(cases[drawn]);
  std::u32string out = text;
  for (const std::size_t i : letters)
    if (random.below(2) == 1) out[i] = flipped(out[i]);
  if (out == text) {  // nothing flipped: one letter is
    char32_t& c = out[letters[static_cast<std::size_t>(random.below(letters.size()))]];
    c = flipped(c);
  }
  return to_utf8(out);
}

}  // namespace lexformer
#endif
