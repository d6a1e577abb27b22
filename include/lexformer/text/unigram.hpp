// SPDX-License-Identifier: MIT
// SentencePiece's Unigram model as in XLM-R and DeBERTa-v3, identical to HuggingFace's model Unigram (PyPI `tokenizers` 0.23.3).
// tests/oracles/check_pieces.py verifies this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/normalized_text.hpp"
#include "lexformer/text/vocabulary.hpp"

namespace lexformer {

/// The model. The tokens of a piece are those with the largest sum of scores (Viterbi's algorithm); of equal sums the one found first
/// counts, whose last token is the longer one. A character without a token is unknown, with the lowest score of the vocabulary - 10, and
/// a run of them is one token. All methods are const and thread-safe.
class Unigram {
 public:
  /// scores: one per token. unk: the token of what is unknown. byte_fallback: an unknown run becomes the tokens <0x00> ... <0xFF> of its
  /// bytes in UTF-8, if all of them exist. Errors: the number of scores is another one; a score is not finite; unk is not in the
  /// vocabulary.
  Unigram(Vocabulary vocabulary, std::vector<double> scores, std::int32_t unk, bool byte_fallback = false);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const std::vector<double>& scores() const { return scores_; }
  std::int32_t unk_id() const { return unk_; }
  bool byte_fallback() const { return byte_fallback_; }

  /// Appends the tokens of a piece. Takes O(n k) for n characters and tokens of at most k.
  void append(std::span<const NormalizedChar> piece, std::vector<Token>& out) const;

 private:
  /// A step in the tree of the tokens' characters: from a node by a character to a node. Node 0 is the root.
  struct Edge {
    std::uint64_t from = 0;  // node << 21 | character
    std::uint32_t to = 0;    // 0: the slot is empty
    std::int32_t id = -1;    // the token that ends here
  };
  /// The best tokens of the first characters of a piece: the score, and the last of the tokens.
  struct Best {
    double score;
    std::uint32_t first;
    std::int32_t id;
  };
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};

  void add_token(std::string_view token, std::int32_t id);
  std::size_t slot_of(std::uint64_t from) const;
  const Edge& edge(std::uint32_t node, char32_t character) const { return edges_[slot_of(std::uint64_t{node} << 21 | character)]; }

  /// Appends the tokens of a piece whose best ones are known; best has one more element than the piece.
  void append_best(std::span<const NormalizedChar> piece, std::span<const Best> best, std::vector<Token>& out) const;
  void append_unknown(std::span<const NormalizedChar> run, std::vector<Token>& out) const;

  Vocabulary vocabulary_;
  std::vector<double> scores_;
  std::int32_t unk_;
  bool byte_fallback_;
  double unk_score_ = 0;
  std::vector<Edge> edges_{};  // a hash table, at most half full
  unsigned shift_ = 0;         // 64 - log2 of its size
  std::uint64_t multiplier_;   // odd and random: no file can contain tokens chosen to collide
  std::uint32_t nodes_ = 1;
  std::array<std::int32_t, 256> bytes_{};
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <string>

#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"

namespace lexformer {

LEXFORMER_INLINE Unigram::Unigram(Vocabulary vocabulary, std::vector<double> scores, std::int32_t unk, bool byte_fallback)
    : vocabulary_(std::move(vocabulary)),
      scores_(std::move(scores)),
      unk_(unk),
      byte_fallback_(byte_fallback),
      multiplier_(SeededHash{}(std::uint64_t{0}) | 1) {
  vocabulary_.token(unk_);
  if (scores_.size() != vocabulary_.size())
    fail("Unigram", "the vocabulary has ", vocabulary_.size(), " tokens, but there are ", scores_.size(), " scores");
  for (std::size_t i = 0; i < scores_.size(); ++i)
    if (!std::isfinite(scores_[i])) fail("Unigram", "the score of token ", i, " is ", scores_[i], "; expected a finite number");
  unk_score_ = *std::min_element(scores_.begin(), scores_.end()) - 10;
  edges_.resize(16);
  shift_ = 60;
  for (std::size_t i = 0; i < scores_.size(); ++i) add_token(vocabulary_.tokens()[i], static_cast<std::int32_t>(i));
  for (unsigned byte = 0; byte < 256; ++byte) {
    static constexpr std::string_view digits = "0123456789ABCDEF";
    bytes_[byte] = vocabulary_.id(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + '>').value_or(-1);
  }
}

LEXFORMER_INLINE std::size_t Unigram::slot_of(std::uint64_t from) const {
  const std::size_t mask = edges_.size() - 1;
  std::size_t slot = from * multiplier_ >> shift_;
  while (edges_[slot].from != from && edges_[slot].to != 0) slot = (slot + 1) & mask;
  return slot;
}

LEXFORMER_INLINE void Unigram::add_token(std::string_view token, std::int32_t id) {
  Edge* last = nullptr;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < token.size();) {
    const Decoded next = decode_utf8(token, i);
    i += next.bytes;
    if (2 * std::size_t{nodes_} > edges_.size()) {
      std::vector<Edge> old(2 * edges_.size());
      old.swap(edges_);
      --shift_;
      for (const Edge& edge : old)
        if (edge.to != 0) edges_[slot_of(edge.from)] = edge;
    }
    const std::uint64_t from = std::uint64_t{node} << 21 | next.character;
    last = &edges_[slot_of(from)];
    if (last->to == 0) *last = {from, nodes_++, -1};
    node = last->to;
  }
  if (last != nullptr) last->id = id;  // the last of equal tokens counts, as in Vocabulary
}

LEXFORMER_INLINE void Unigram::append(std::span<const NormalizedChar> piece, std::vector<Token>& out) const {
  if (piece.empty()) return;
  constexpr std::size_t few = 64;
  std::array<Best, few> some;
  std::vector<Best> many(piece.size() < few ? 0 : piece.size() + 1);
  const std::span<Best> best = many.empty() ? std::span<Best>(some).first(piece.size() + 1) : many;
  for (Best& b : best) b = {0, nowhere, -1};
  const auto offer = [&](std::size_t end, double score, std::size_t first, std::int32_t id) {
    if (best[end].first == nowhere || score > best[end].score) best[end] = {score, static_cast<std::uint32_t>(first), id};
  };
  for (std::size_t first = 0; first < piece.size(); ++first) {
    bool known = false;  // whether the character is a token
    std::uint32_t node = 0;
    for (std::size_t i = first; i < piece.size(); ++i) {
      const Edge& next = edge(node, piece[i].character);
      if (next.to == 0) break;
      node = next.to;
      if (next.id < 0) continue;
      offer(i + 1, best[first].score + scores_[static_cast<std::size_t>(next.id)], first, next.id);
      known = known || i == first;
    }
    if (!known) offer(first + 1, best[first].score + unk_score_, first, unk_);
  }
  append_best(piece, best, out);
}

LEXFORMER_INLINE void Unigram::append_best(std::span<const NormalizedChar> piece, std::span<const Best> best,
                                           std::vector<Token>& out) const {
  const auto start = static_cast<std::ptrdiff_t>(out.size());
  for (std::size_t end = piece.size(); end > 0;) {
    std::size_t first = best[end].first;
    if (best[end].id != unk_) {
      out.push_back({best[end].id, piece[first].begin, piece[end - 1].end});
    } else {
      while (first > 0 && best[first].id == unk_) first = best[first].first;
      append_unknown(piece.subspan(first, end - first), out);
    }
    end = first;
  }
  std::reverse(out.begin() + start, out.end());
}

LEXFORMER_INLINE void Unigram::append_unknown(std::span<const NormalizedChar> run, std::vector<Token>& out) const {
  std::string text;
  for (const NormalizedChar& c : run) append_utf8(text, c.character);
  const std::uint32_t begin = run.front().begin, end = run.back().end;
  if (const auto id = vocabulary_.id(text)) return out.push_back({*id, begin, end});  // a token whose characters are better apart
  const auto lacks = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)] < 0; };
  if (!byte_fallback_ || std::any_of(text.begin(), text.end(), lacks)) return out.push_back({unk_, begin, end});
  for (auto byte = text.rbegin(); byte != text.rend(); ++byte)  // the caller reverses the tokens
    out.push_back({bytes_[static_cast<unsigned char>(*byte)], begin, end});
}

}  // namespace lexformer
#endif
