// SPDX-License-Identifier: MIT
// Byte-pair encoding as in GPT-2 and RoBERTa, identical to HuggingFace's model BPE (PyPI `tokenizers` 0.23.3).
// tests/oracles/check_pieces.py verifies this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/normalized_text.hpp"
#include "lexformer/text/pieces.hpp"
#include "lexformer/text/vocabulary.hpp"

namespace lexformer {

/// The settings of ByteBpe, as in a tokenizer.json.
struct ByteBpeOptions {
  std::optional<std::int32_t> unk = std::nullopt;  // the token of characters that the vocabulary lacks; none: they are left out
  bool fuse_unk = false;                           // a run of such characters is one token
  bool ignore_merges = false;                      // a piece that is in the vocabulary is one token, whatever the merges say
};

/// The model. Each character of a piece is a symbol, and each pair of neighbours that a merge names may become one symbol. The pair whose
/// merge comes first in the list is merged, of equal ones the leftmost, until no merge applies. With the pre-tokenizer byte_level the
/// characters are bytes. All methods are const and thread-safe.
class ByteBpe {
 public:
  /// The ids of two symbols that become one.
  using Merge = std::array<std::int32_t, 2>;

  /// Errors: an id is not in the vocabulary; a merge makes a token that is not in the vocabulary.
  ByteBpe(Vocabulary vocabulary, std::span<const Merge> merges, ByteBpeOptions options = {});

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const ByteBpeOptions& options() const { return options_; }

  /// Appends the tokens of a piece. Takes O(n log n) for n characters. Several tokens may stand for the same character, as its bytes
  /// do. After characters that are left out, places are wrong as in the reference: a token begins where the token before ended.
  void append(std::span<const NormalizedChar> piece, std::vector<Token>& out) const;

 private:
  /// A token and the characters of the piece that it stands for, last excluded.
  struct Symbol {
    std::int32_t id;
    std::uint32_t first, last;
  };
  /// What a pair becomes; merges with a low rank are made first.
  struct Pair {
    std::uint64_t ids = none;
    std::uint32_t rank = no_rank;
    std::int32_t merged = -1;
  };
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::uint32_t no_rank = ~std::uint32_t{0};
  static constexpr std::size_t short_piece = 24;  // symbols; longer pieces are merged with a queue

  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  /// The slot of a pair, or the empty slot for it. The table is at most half full, so there is one.
  std::size_t slot_of(std::uint64_t ids) const;
  const Pair& pair(const Symbol& left, const Symbol& right) const { return pairs_[slot_of(key(left.id, right.id))]; }

  std::int32_t id_of(char32_t character) const;
  /// The token that is the whole piece, or -1.
  std::int32_t whole_token(std::span<const NormalizedChar> piece) const;
  /// The characters of a piece as symbols. `symbols` has room for one of each. Returns their number.
  std::size_t split(std::span<const NormalizedChar> piece, std::span<Symbol> symbols) const;
  /// Gives symbols the places that they have in the reference after characters were left out.
  static void close_gaps(std::span<const NormalizedChar> piece, std::span<Symbol> symbols);
  /// Merges symbols, the first ones of the result are the tokens. Returns their number.
  std::size_t merge_short(std::span<Symbol> symbols) const;
  std::size_t merge_long(std::span<Symbol> symbols) const;

  Vocabulary vocabulary_;
  ByteBpeOptions options_;
  std::vector<Pair> pairs_;
  std::array<std::int32_t, 0x144> characters_{};  // ids of the characters that stand for bytes
};

/// Takes the white space at both ends of a token off its place, as `trim_offsets` of the post-processors ByteLevel and RobertaProcessing
/// does. text: what the token spells, in which U+0120 is a space; for an added token what it was found as. first: whether it is the first
/// token of its text; with add_prefix_space that one, and each that begins at place 0, keeps a single space at the begin: the added one.
void trim_offsets(Token& token, std::string_view text, bool first, bool add_prefix_space);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <queue>
#include <string>

#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"

namespace lexformer {

LEXFORMER_INLINE ByteBpe::ByteBpe(Vocabulary vocabulary, std::span<const Merge> merges, ByteBpeOptions options)
    : vocabulary_(std::move(vocabulary)), options_(options) {
  if (options_.unk) vocabulary_.token(*options_.unk);
  std::size_t slots = 16;
  while (slots < 2 * merges.size()) slots *= 2;
  pairs_.resize(slots);
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right] = merges[rank];
    const std::string merged = vocabulary_.token(left) + vocabulary_.token(right);
    const auto id = vocabulary_.id(merged);
    if (!id) fail("ByteBpe", "merge ", rank, " makes `", merged, "`, which is not in the vocabulary");
    pairs_[slot_of(key(left, right))] = {key(left, right), static_cast<std::uint32_t>(rank), *id};
  }
  for (char32_t c = 0; c < characters_.size(); ++c) {
    std::string text;
    append_utf8(text, c);
    characters_[c] = vocabulary_.id(text).value_or(-1);
  }
}

LEXFORMER_INLINE std::size_t ByteBpe::slot_of(std::uint64_t ids) const {
  const std::size_t mask = pairs_.size() - 1;
  std::size_t slot = SeededHash{}(ids)&mask;
  while (pairs_[slot].ids != ids && pairs_[slot].ids != none) slot = (slot + 1) & mask;
  return slot;
}

LEXFORMER_INLINE std::int32_t ByteBpe::id_of(char32_t character) const {
  if (character < characters_.size()) return characters_[character];
  std::string text;
  append_utf8(text, character);
  return vocabulary_.id(text).value_or(-1);
}

LEXFORMER_INLINE std::int32_t ByteBpe::whole_token(std::span<const NormalizedChar> piece) const {
  if (piece.size() > vocabulary_.longest()) return -1;
  std::string text;
  for (const NormalizedChar& c : piece) append_utf8(text, c.character);
  return vocabulary_.id(text).value_or(-1);
}

LEXFORMER_INLINE std::size_t ByteBpe::split(std::span<const NormalizedChar> piece, std::span<Symbol> symbols) const {
  std::size_t size = 0;
  bool gaps = false, after_unknown = false;
  for (std::uint32_t i = 0; i < piece.size(); ++i) {
    const std::int32_t id = id_of(piece[i].character);
    if (id < 0 && !options_.unk) {
      gaps = true;
    } else if (id < 0 && after_unknown && options_.fuse_unk) {
      symbols[size - 1].last = i + 1;
    } else {
      symbols[size++] = {id < 0 ? *options_.unk : id, i, i + 1};
      after_unknown = id < 0;
    }
  }
  if (gaps) close_gaps(piece, symbols.first(size));
  return size;
}

LEXFORMER_INLINE void ByteBpe::close_gaps(std::span<const NormalizedChar> piece, std::span<Symbol> symbols) {
  std::vector<std::uint32_t> character_of;  // of each byte of the piece in UTF-8
  std::string bytes;
  for (std::uint32_t i = 0; i < piece.size(); ++i) {
    append_utf8(bytes, piece[i].character);
    character_of.resize(bytes.size(), i);
  }
  std::size_t end = 0;
  for (Symbol& symbol : symbols) {
    const std::size_t begin = end;
    bytes.clear();
    append_utf8(bytes, piece[symbol.first].character);
    end += bytes.size();
    symbol = {symbol.id, character_of[begin], character_of[end - 1] + 1};
  }
}

LEXFORMER_INLINE std::size_t ByteBpe::merge_short(std::span<Symbol> symbols) const {
  std::array<Pair, short_piece> next;  // next[i]: what symbols i and i + 1 become
  std::size_t size = symbols.size();
  for (std::size_t i = 0; i + 1 < size; ++i) next[i] = pair(symbols[i], symbols[i + 1]);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i)
      if (next[i].rank < next[best].rank) best = i;
    if (next[best].rank == no_rank) break;
    symbols[best] = {next[best].merged, symbols[best].first, symbols[best + 1].last};
    --size;
    for (std::size_t i = best + 1; i < size; ++i) {
      symbols[i] = symbols[i + 1];
      next[i - 1] = next[i];
    }
    if (best > 0) next[best - 1] = pair(symbols[best - 1], symbols[best]);
    if (best + 1 < size) next[best] = pair(symbols[best], symbols[best + 1]);
  }
  return size;
}

LEXFORMER_INLINE std::size_t ByteBpe::merge_long(std::span<Symbol> symbols) const {
  constexpr std::uint32_t nothing = ~std::uint32_t{0};
  struct Step {
    std::uint32_t rank;
    std::int32_t merged;
    std::uint32_t left, right;
    bool operator>(const Step& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
  };
  std::vector<std::uint32_t> before(symbols.size()), after(symbols.size());
  std::vector<Step> steps;
  const auto step_of = [&](std::uint32_t left, std::uint32_t right) {
    const Pair& found = pair(symbols[left], symbols[right]);
    return Step{found.rank, found.merged, left, right};
  };
  for (std::uint32_t i = 0; i < symbols.size(); ++i) {
    before[i] = i == 0 ? nothing : i - 1;
    after[i] = i + 1 == symbols.size() ? nothing : i + 1;
    if (i > 0)
      if (const Step step = step_of(i - 1, i); step.rank != no_rank) steps.push_back(step);
  }
  std::priority_queue<Step, std::vector<Step>, std::greater<>> queue(std::greater<>{}, std::move(steps));
  const auto push = [&](std::uint32_t left, std::uint32_t right) {
    if (left == nothing || right == nothing) return;
    if (const Step step = step_of(left, right); step.rank != no_rank) queue.push(step);
  };
  while (!queue.empty()) {
    const Step step = queue.top();
    queue.pop();
    // The pair has changed: a symbol was merged into another one (its id is -1), or is another one by now.
    if (symbols[step.left].id < 0 || symbols[step.right].id < 0 || after[step.left] != step.right) continue;
    if (step_of(step.left, step.right).rank != step.rank) continue;
    symbols[step.left].id = step.merged;
    symbols[step.left].last = symbols[step.right].last;
    symbols[step.right].id = -1;
    after[step.left] = after[step.right];
    if (after[step.left] != nothing) before[after[step.left]] = step.left;
    push(before[step.left], step.left);
    push(step.left, after[step.left]);
  }
  return static_cast<std::size_t>(std::remove_if(symbols.begin(), symbols.end(), [](const Symbol& s) { return s.id < 0; }) -
                                  symbols.begin());
}

LEXFORMER_INLINE void ByteBpe::append(std::span<const NormalizedChar> piece, std::vector<Token>& out) const {
  if (piece.empty()) return;
  if (const std::int32_t id = options_.ignore_merges ? whole_token(piece) : -1; id >= 0)
    return out.push_back({id, piece.front().begin, piece.back().end});
  std::array<Symbol, short_piece> few;
  std::vector<Symbol> many(piece.size() > short_piece ? piece.size() : 0);
  std::span<Symbol> symbols = many.empty() ? std::span<Symbol>(few) : many;
  const std::size_t size = split(piece, symbols);
  const std::size_t tokens = size > short_piece ? merge_long(symbols.first(size)) : merge_short(symbols.first(size));
  for (const Symbol& symbol : symbols.first(tokens)) out.push_back({symbol.id, piece[symbol.first].begin, piece[symbol.last - 1].end});
}

LEXFORMER_INLINE void trim_offsets(Token& token, std::string_view text, bool first, bool add_prefix_space) {
  const auto is_space = [](char32_t c) { return c == byte_character(' ') || is_whitespace(c); };
  const std::u32string characters = to_utf32(text);
  const auto leading = static_cast<std::uint32_t>(std::find_if_not(characters.begin(), characters.end(), is_space) - characters.begin());
  const auto trailing =
      static_cast<std::uint32_t>(std::find_if_not(characters.rbegin(), characters.rend(), is_space) - characters.rbegin());
  const bool added = leading == 1 && add_prefix_space && (first || token.begin == 0);
  token.begin = std::min(token.begin + leading - (added ? 1 : 0), token.end);
  if (trailing > 0 && token.end >= trailing) token.end = std::max(token.end - trailing, token.begin);
}

}  // namespace lexformer
#endif
