// SPDX-License-Identifier: MIT
// Noise: letters of other alphabets that look like Latin ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Latin letters and the Cyrillic, Greek, Armenian and phonetic letters with about the same shape in common fonts. The list is our own.
const std::vector<std::pair<char, std::u32string_view>>& lookalikes();

/// Replaces one letter of a word, drawn evenly from those with look-alikes, by one of its look-alikes, drawn evenly. A word without such a
/// letter stays.
std::string lookalike_noise(const std::string& word, RandomStream& random);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE const std::vector<std::pair<char, std::u32string_view>>& lookalikes() {
  static const std::vector<std::pair<char, std::u32string_view>> table = {
      {'a', U"\u0430\u0251"}, {'c', U"\u0441\u03F2"}, {'d', U"\u0501"},       {'e', U"\u0435"},       {'g', U"\u0261"},
      {'h', U"\u04BB"},       {'i', U"\u0456"},       {'j', U"\u0458"},       {'k', U"\u043A\u03BA"}, {'l', U"\u04CF"},
      {'n', U"\u0578"},       {'o', U"\u043E\u03BF"}, {'p', U"\u0440\u03C1"}, {'q', U"\u051B"},       {'s', U"\u0455"},
      {'u', U"\u057D\u03C5"}, {'v', U"\u0475\u03BD"}, {'w', U"\u051D"},       {'x', U"\u0445"},       {'y', U"\u0443"},
      {'A', U"\u0410\u0391"}, {'B', U"\u0412\u0392"}, {'C', U"\u0421"},       {'E', U"\u0415\u0395"}, {'H', U"\u041D\u0397"},
      {'I', U"\u0406\u0399"}, {'J', U"\u0408"},       {'K', U"\u041A\u039A"}, {'M', U"\u041C\u039C"}, {'N', U"\u039D"},
      {'O', U"\u041E\u039F"}, {'P', U"\u0420\u03A1"}, {'S', U"\u0405"},       {'T', U"\u0422\u03A4"}, {'X', U"\u0425\u03A7"},
      {'Y', U"\u04AE\u03A5"}, {'Z', U"\u0396"}};
  return table;
}

LEXFORMER_INLINE std::string lookalike_noise(const std::string& word, RandomStream& random) {
  std::vector<std::pair<std::size_t, std::u32string_view>> places;
  for (std::size_t i = 0; i < word.size(); ++i)
    for (const auto& [letter, others] : lookalikes())
      if (word[i] == letter) places.emplace_back(i, others);
  if (places.empty()) return word;
  const auto& [place, others] = places[static_cast<std::size_t>(random.below(places.size()))];
  std::string out = word.substr(0, place);
  append_utf8(out, others[static_cast<std::size_t>(random.below(others.size()))]);
  return out += word.substr(place + 1);
}

}  // namespace lexformer
#endif
