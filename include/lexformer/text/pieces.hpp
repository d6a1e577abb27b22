// SPDX-License-Identifier: MIT
// The pre-tokenizers of HuggingFace (PyPI `tokenizers` 0.23.3): they split a normalized text into pieces, each of which a model turns into
// tokens on its own. tests/oracles/check_pieces.py compares them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/normalized_text.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Whether the character is `\p{L}` of the regular expressions of `tokenizers` (Unicode 16).
bool is_letter(char32_t c);
/// Whether the character is `\p{N}` of the regular expressions of `tokenizers` (Unicode 16).
bool is_number(char32_t c);

/// The characters first .. last - 1 of a text; at least one.
struct Piece {
  std::uint32_t first, last;
  bool operator==(const Piece&) const = default;
};

/// What a pre-tokenizer does with the characters that it looks for.
enum class SplitBehaviour {
  isolated,              // each is a piece of its own
  removed,               // they are in no piece
  merged_with_previous,  // a piece ends after each
  merged_with_next,      // a piece begins with each
  contiguous             // a run of them is a piece
};

/// One pre-tokenizer. A tokenizer has a sequence of them; each splits the pieces of the one before.
struct PreTokenizer {
  enum class Kind {
    byte_level,        // GPT-2's regular expression; then each byte is a character (see byte_character)
    whitespace_split,  // at white space
    whitespace,        // the matches of \w+|[^\w\s]+
    metaspace,         // spaces become `replacement`, with which pieces begin
    punctuation,       // at punctuation
    digits,            // at numbers
    bert               // at white space; each punctuation character is a piece
  };
  enum class Prepend { always, first, never };

  Kind kind;
  bool add_prefix_space = true, use_regex = true;       // byte_level: a space before pieces without one; whether the expression splits
  char32_t replacement = 0x2581;                        // metaspace
  Prepend prepend_scheme = Prepend::always;             // metaspace: `replacement` before pieces without it; first: that begin at place 0
  bool split = true;                                    // metaspace: whether it splits
  SplitBehaviour behaviour = SplitBehaviour::isolated;  // punctuation
  bool individual_digits = false;                       // digits: each is a piece of its own

  /// Splits the pieces of a text, and may change the text: characters that it adds stand for the original characters beside them.
  void operator()(NormalizedText& text, std::vector<Piece>& pieces) const;
};

/// Sets `pieces` to what the pre-tokenizers make of a text, one after the other; without any, the text is one piece. An empty text has no
/// pieces. Errors: the text has more than 2^32 - 1 characters with those that are added.
void pre_tokenize(std::span<const PreTokenizer> sequence, NormalizedText& text, std::vector<Piece>& pieces);

/// The character for which a byte stands in vocabularies of GPT-2: itself if it is visible in Latin-1, else one from U+0100 on.
constexpr char32_t byte_character(unsigned char byte) {
  if (byte <= 0x20) return 0x100 + byte;
  if (byte < 0x7F || (byte > 0xA0 && byte != 0xAD)) return byte;
  return byte == 0xAD ? 0x143 : 0x121 + byte - 0x7F;
}

/// The end of the match at text[first] in text[first .. last - 1] of GPT-2's regular expression:
/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
std::uint32_t gpt2_match(std::span<const NormalizedChar> text, std::uint32_t first, std::uint32_t last);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <limits>
#include <string>

#include "lexformer/core/error.hpp"
#include "lexformer/text/letters_table.hpp"

namespace lexformer {

LEXFORMER_INLINE bool is_letter(char32_t c) {
  if (c < 0x80) return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  return detail::find_range(unicode_table::letters, c) != nullptr;
}
LEXFORMER_INLINE bool is_number(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return detail::find_range(unicode_table::numbers, c) != nullptr;
}
namespace detail {

/// What SplitBehaviour is about: characters that are in no piece, that are looked for, and others.
enum class SplitClass : std::uint8_t { dropped, found, other };

/// Splits each piece; class_of(character) is a SplitClass.
template <class ClassOf>
void split_pieces(std::span<const NormalizedChar> text, std::vector<Piece>& pieces, SplitBehaviour behaviour, ClassOf&& class_of) {
  const auto cut_between = [behaviour](SplitClass before, SplitClass after) {
    switch (behaviour) {
      case SplitBehaviour::isolated:
        return before == SplitClass::found || after == SplitClass::found;
      case SplitBehaviour::merged_with_previous:
        return before == SplitClass::found;
      case SplitBehaviour::merged_with_next:
        return after == SplitClass::found;
      default:
        return before != after;
    }
  };
  std::vector<Piece> out;
  out.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    std::uint32_t begin = piece.first;
    SplitClass before = SplitClass::dropped;
    for (std::uint32_t i = piece.first; i < piece.last; ++i) {
      SplitClass now = class_of(text[i].character);
      if (now == SplitClass::found && behaviour == SplitBehaviour::removed) now = SplitClass::dropped;
      if (before == SplitClass::dropped) {
        begin = i;
      } else if (now == SplitClass::dropped || cut_between(before, now)) {
        out.push_back({begin, i});
        begin = i;
      }
      before = now;
    }
    if (before != SplitClass::dropped) out.push_back({begin, piece.last});
  }
  pieces.swap(out);
}

/// Puts a character before each piece for which lacks(first character of the piece) holds; it stands for what that one stands for.
template <class Lacks>
void prepend_character(char32_t character, NormalizedText& text, std::vector<Piece>& pieces, Lacks&& lacks) {
  if (std::none_of(pieces.begin(), pieces.end(), [&](const Piece& piece) { return lacks(text[piece.first]); })) return;
  NormalizedText out;
  out.reserve(text.size() + pieces.size());
  for (Piece& piece : pieces) {
    const auto first = static_cast<std::uint32_t>(out.size());
    const NormalizedChar& next = text[piece.first];
    if (lacks(next)) out.push_back({character, next.begin, next.end});
    out.insert(out.end(), text.begin() + piece.first, text.begin() + piece.last);
    piece = {first, static_cast<std::uint32_t>(out.size())};
  }
  text.swap(out);
}

inline void split_gpt2(std::span<const NormalizedChar> text, std::vector<Piece>& pieces) {
  std::vector<Piece> out;
  out.reserve(text.size() / 4 + pieces.size());
  for (const Piece& piece : pieces)
    for (std::uint32_t first = piece.first; first < piece.last;) {
      const std::uint32_t end = gpt2_match(text, first, piece.last);
      out.push_back({first, end});
      first = end;
    }
  pieces.swap(out);
}

/// Makes each byte of the pieces a character.
inline void map_bytes(NormalizedText& text, std::vector<Piece>& pieces) {
  if (std::all_of(text.begin(), text.end(), [](const NormalizedChar& c) { return c.character < 0x80; })) {
    for (NormalizedChar& c : text) c.character = byte_character(static_cast<unsigned char>(c.character));
    return;
  }
  NormalizedText out;
  out.reserve(2 * text.size());
  std::string bytes;
  for (Piece& piece : pieces) {
    const auto first = static_cast<std::uint32_t>(out.size());
    for (std::uint32_t i = piece.first; i < piece.last; ++i) {
      bytes.clear();
      append_utf8(bytes, text[i].character);
      for (const char byte : bytes) out.push_back({byte_character(static_cast<unsigned char>(byte)), text[i].begin, text[i].end});
    }
    piece = {first, static_cast<std::uint32_t>(out.size())};
  }
  text.swap(out);
}

}  // namespace detail

LEXFORMER_INLINE std::uint32_t gpt2_match(std::span<const NormalizedChar> text, std::uint32_t first, std::uint32_t last) {
  enum Class { letter, number, space, other };
  const auto class_at = [&](std::uint32_t i) {
    const char32_t c = text[i].character;
    return is_letter(c) ? letter : is_whitespace(c) ? space : is_number(c) ? number : other;
  };
  const auto at = [&](std::uint32_t i) { return i < last ? text[i].character : U'\0'; };
  if (at(first) == '\'') {
    const char32_t c = at(first + 1), d = at(first + 2);
    if (c == 's' || c == 't' || c == 'm' || c == 'd') return first + 2;
    if (((c == 'r' || c == 'v') && d == 'e') || (c == 'l' && d == 'l')) return first + 3;
  }
  const std::uint32_t start = at(first) == ' ' ? first + 1 : first;
  const Class run = start < last ? class_at(start) : space;
  std::uint32_t end = run == space ? first + 1 : start + 1;
  while (end < last && class_at(end) == run) ++end;
  return run == space && end < last && end - first > 1 ? end - 1 : end;  // white space leaves its last character to what follows
}

LEXFORMER_INLINE void PreTokenizer::operator()(NormalizedText& text, std::vector<Piece>& pieces) const {
  using detail::SplitClass;
  const auto split_at = [&](SplitBehaviour how, auto&& found) {
    detail::split_pieces(text, pieces, how, [&](char32_t c) { return found(c) ? SplitClass::found : SplitClass::other; });
  };
  const auto split_words = [&](SplitBehaviour how, auto&& found) {
    detail::split_pieces(text, pieces, how, [&](char32_t c) {
      return is_whitespace(c) ? SplitClass::dropped : found(c) ? SplitClass::found : SplitClass::other;
    });
  };
  switch (kind) {
    case Kind::byte_level:
      if (add_prefix_space) detail::prepend_character(' ', text, pieces, [](const NormalizedChar& c) { return c.character != ' '; });
      if (use_regex) detail::split_gpt2(text, pieces);
      return detail::map_bytes(text, pieces);
    case Kind::whitespace_split:
      return split_at(SplitBehaviour::removed, is_whitespace);
    case Kind::whitespace:
      return split_words(SplitBehaviour::contiguous, joins_words);
    case Kind::bert:
      return split_words(SplitBehaviour::isolated, is_punctuation);
    case Kind::punctuation:
      return split_at(behaviour, is_punctuation);
    case Kind::digits:
      return split_at(individual_digits ? SplitBehaviour::isolated : SplitBehaviour::contiguous, [](char32_t c) {
        return is_number(c) || (c >= 0x80 && detail::find_range(unicode_table::newer_numbers, c) != nullptr);
      });
    case Kind::metaspace:
      for (NormalizedChar& c : text)
        if (c.character == ' ') c.character = replacement;
      if (prepend_scheme != Prepend::never)
        detail::prepend_character(replacement, text, pieces, [this](const NormalizedChar& c) {
          return c.character != replacement && (prepend_scheme == Prepend::always || c.begin == 0);
        });
      if (split) split_at(SplitBehaviour::merged_with_next, [this](char32_t c) { return c == replacement; });
  }
}

LEXFORMER_INLINE void pre_tokenize(std::span<const PreTokenizer> sequence, NormalizedText& text, std::vector<Piece>& pieces) {
  pieces.clear();
  if (text.empty()) return;
  pieces.push_back({0, static_cast<std::uint32_t>(text.size())});
  for (const PreTokenizer& step : sequence) {
    step(text, pieces);
    if (text.size() > std::numeric_limits<std::uint32_t>::max()) fail("pre_tokenize", "a text is too long; split it");
  }
}

}  // namespace lexformer
#endif
