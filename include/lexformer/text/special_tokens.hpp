// SPDX-License-Identifier: MIT
// Finds special and added tokens in a text before it is split into words, as the library tokenizers does.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer {

class SpecialTokens {
 public:
  struct Token {
    AddedToken flags;
    std::int32_t id;
    std::u32string text;  // as it is found
  };
  /// A token in a text and its place, with the whitespace that it takes.
  struct Found {
    const Token* token;
    std::size_t first, last;  // bytes, or normalized characters; last excluded
  };

  /// text: as it is found; of a token that is found in the normalized text this is its normalized text, and without any it is not found.
  void add(const AddedToken& token, std::int32_t id, std::u32string text);

  /// The next token in the text as it is, from the byte `begin`.
  std::optional<Found> next(std::string_view text, std::size_t begin) const;
  /// The next token in the normalized text, from the character `begin`. Characters have a member `character`.
  template <class Character>
  std::optional<Found> next(std::span<const Character> text, std::size_t begin) const;

 private:
  std::vector<Token> plain_, normalized_;  // the longest first: of those at one place it is taken
  std::array<bool, 256> starts_{};         // the first bytes of plain_
};

template <class Character>
std::optional<SpecialTokens::Found> SpecialTokens::next(std::span<const Character> text, std::size_t begin) const {
  if (normalized_.empty()) return {};
  const auto at = [&](std::size_t i) { return text[i].character; };
  for (std::size_t i = begin; i < text.size();) {
    const auto same = [](char32_t c, const Character& x) { return c == x.character; };
    const auto here = [&](const Token& t) {
      return t.text.size() <= text.size() - i &&
             std::equal(t.text.begin(), t.text.end(), text.begin() + static_cast<std::ptrdiff_t>(i), same);
    };
    const auto token = std::find_if(normalized_.begin(), normalized_.end(), here);
    if (token == normalized_.end()) {
      ++i;
      continue;
    }
    std::size_t first = i, last = i + token->text.size();
    i = last;
    if (token->flags.single_word && ((first > 0 && joins_words(at(first - 1))) || (last < text.size() && joins_words(at(last))))) continue;
    while (token->flags.lstrip && first > begin && is_whitespace(at(first - 1))) --first;
    while (token->flags.rstrip && last < text.size() && is_whitespace(at(last))) ++last;
    return Found{&*token, first, last};
  }
  return {};
}

}  // namespace lexformer

#if LEXFORMER_BODIES

namespace lexformer {

namespace detail {
/// The first byte of the character that ends before a byte of a text.
LEXFORMER_INLINE std::size_t start_before(std::string_view text, std::size_t end) {
  std::size_t start = end - 1;
  while (start > 0 && end - start < 4 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  return start + decode_utf8(text, start).bytes == end ? start : end - 1;
}
}  // namespace detail

LEXFORMER_INLINE void SpecialTokens::add(const AddedToken& token, std::int32_t id, std::u32string text) {
  if (text.empty()) return;
  if (!token.normalized) starts_[static_cast<unsigned char>(token.content[0])] = true;
  auto& all = token.normalized ? normalized_ : plain_;
  const auto shorter = [&](const Token& other) { return other.text.size() < text.size(); };
  const auto place = std::find_if(all.begin(), all.end(), shorter);
  all.insert(place, Token{token, id, std::move(text)});
}

LEXFORMER_INLINE std::optional<SpecialTokens::Found> SpecialTokens::next(std::string_view text, std::size_t begin) const {
  if (plain_.empty()) return {};
  const auto character_before = [&](std::size_t end) { return decode_utf8(text, detail::start_before(text, end)).character; };
  for (std::size_t i = begin; i < text.size();) {
    const auto here = [&](const Token& t) { return text.substr(i).starts_with(t.flags.content); };
    const auto token = starts_[static_cast<unsigned char>(text[i])] ? std::find_if(plain_.begin(), plain_.end(), here) : plain_.end();
    if (token == plain_.end()) {
      ++i;
      continue;
    }
    std::size_t first = i, last = i + token->flags.content.size();
    i = last;
    if (token->flags.single_word &&
        ((first > 0 && joins_words(character_before(first))) || (last < text.size() && joins_words(decode_utf8(text, last).character))))
      continue;
    while (token->flags.lstrip && first > begin && is_whitespace(character_before(first))) first = detail::start_before(text, first);
    while (token->flags.rstrip && last < text.size() && is_whitespace(decode_utf8(text, last).character))
      last += decode_utf8(text, last).bytes;
    return Found{&*token, first, last};
  }
  return {};
}

}  // namespace lexformer
#endif
