// SPDX-License-Identifier: MIT
// Edits of one word at one character, as typing errors make them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// The characters, without and with shift, of the keys next to the key of c on a US keyboard; empty if c is not on it.
/// Keys are 1 wide and 1 high, successive rows are offset by 1.5, 0.25 and 0.5; keys up to a distance of 1.3 are neighbors.
std::string keyboard_neighbours(char32_t c);

/// swap      swaps a character with an adjacent one
/// drop      deletes a character
/// insert    inserts a random letter before a character
/// keyboard  replaces a character by a neighbouring letter of a US keyboard
enum class WordEdit { swap, drop, insert, keyboard };

/// Edits one random character of a word; the result may equal the word, e.g. if no neighbouring key is a letter. Words of fewer than four
/// characters are returned as they are. New characters are a-z; with any_characters the characters of PyPI's nlpaug, which LOVE's
/// released code uses: also capitals, digits and signs.
std::string edit_word(const std::string& word, WordEdit edit, bool any_characters, RandomStream& random);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

namespace lexformer {

LEXFORMER_INLINE std::string keyboard_neighbours(char32_t c) {
  struct Row {
    std::string_view plain, shifted;
    double left;
  };
  static constexpr Row rows[] = {{"`1234567890-=", "~!@#$%^&*()_+", 0.0},
                                 {"qwertyuiop[]\\", "QWERTYUIOP{}|", 1.5},
                                 {"asdfghjkl;'", "ASDFGHJKL:\"", 1.75},
                                 {"zxcvbnm,./", "ZXCVBNM<>?", 2.25}};
  std::string found;
  if (c >= 0x80) return found;
  for (std::size_t r = 0; r < 4; ++r) {
    const std::size_t k = std::min(rows[r].plain.find(static_cast<char>(c)), rows[r].shifted.find(static_cast<char>(c)));
    if (k == std::string_view::npos) continue;
    for (std::size_t row = r == 0 ? 0 : r - 1; row < std::min<std::size_t>(r + 2, 4); ++row)
      for (std::size_t key = 0; key < rows[row].plain.size(); ++key) {
        const double dx = rows[row].left + static_cast<double>(key) - rows[r].left - static_cast<double>(k), dy = row == r ? 0.0 : 1.0;
        if (dx * dx + dy * dy > 1.3 * 1.3 || (row == r && key == k)) continue;
        found += rows[row].plain[key];
        found += rows[row].shifted[key];
      }
  }
  return found;
}

LEXFORMER_INLINE std::string edit_word(const std::string& word, WordEdit edit, bool any_characters, RandomStream& random) {
  std::u32string text = to_utf32(word);
  if (text.size() < 4) return word;
  const auto one_of = [&](std::string_view characters) {
    return static_cast<char32_t>(static_cast<unsigned char>(characters[static_cast<std::size_t>(random.below(characters.size()))]));
  };
  const auto i = static_cast<std::size_t>(random.below(text.size()));
  switch (edit) {
    case WordEdit::swap: {
      const bool right = i == 0 || (i + 1 < text.size() && random.below(2) == 1);
      std::swap(text[i], text[right ? i + 1 : i - 1]);
      break;
    }
    case WordEdit::drop:
      text.erase(i, 1);
      break;
    case WordEdit::insert:
      text.insert(i, 1,
                  one_of(any_characters ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*()_+"
                                        : "abcdefghijklmnopqrstuvwxyz"));
      break;
    case WordEdit::keyboard: {
      std::string keys = keyboard_neighbours(text[i]);
      if (!any_characters) std::erase_if(keys, [](char c) { return c < 'a' || c > 'z'; });
      if (!keys.empty()) text[i] = one_of(keys);
      break;
    }
  }
  return to_utf8(text);
}

}  // namespace lexformer
#endif
