// SPDX-License-Identifier: MIT
// BERT's WordPiece, identical to HuggingFace's fast BertTokenizer (PyPI `tokenizers` 0.23.3) in ids, word ids and offsets.
// tests/oracles/check_tokenizer.py verifies this.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/text/encoding.hpp"
#include "lexformer/text/special_tokens.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer {

/// Splits texts into words and words into pieces of the vocabulary. All methods are const and thread-safe.
class WordPiece {
 public:
  static constexpr std::string_view continuation = "##";  // prefix of pieces that do not start a word

  /// Errors: the vocabulary has no unknown token, or lacks an added one.
  WordPiece(const Vocabulary& vocabulary, const TokenizerOptions& options);

  /// The id of a special token. Errors: the vocabulary does not have it.
  static std::int32_t required(const Vocabulary& vocabulary, const std::string& token);

  /// Makes a word of several pieces one token, the unknown one, if `whole` holds for its normalized text.
  void keep_whole(std::function<bool(std::u32string_view word)> whole) { whole_ = std::move(whole); }
  bool is_whole(std::u32string_view word) const { return whole_ && whole_(word); }

  /// Appends the tokens and words of a text. Special tokens are matched in the raw text first; the parts in between are split into words.
  void append_text(const Vocabulary& vocabulary, const TokenizerOptions& options, std::string_view text, Encoding& out) const;

 private:
  /// Buffers of one call, so that words need no allocation.
  struct Scratch {
    std::string bytes;
    std::vector<std::size_t> ends;  // ends[i]: end of character i in bytes
    std::vector<std::uint64_t> hashes;
    std::u32string text;
  };

  /// Greedy longest match: the longest token that starts the word, then the longest ## token that continues it, and so on. If a step
  /// finds none, or the word is too long, the word becomes one unknown token. Returns the number of pieces.
  std::size_t append_word(const Vocabulary& vocabulary, std::span<const TextChar> word, std::int32_t index, Scratch& scratch,
                          Encoding& out) const;

  std::function<bool(std::u32string_view word)> whole_;
  std::int32_t unk_;
  std::size_t max_word_chars_;
  SpecialTokens special_;
  std::vector<bool> no_piece_{};  // ids that are no pieces of words; empty: none
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE WordPiece::WordPiece(const Vocabulary& vocabulary, const TokenizerOptions& options)
    : unk_(required(vocabulary, options.unk)), max_word_chars_(options.max_word_chars) {
  const auto normalized = [&](const std::string& content) {
    WordSplitter splitter(options);
    splitter.normalize(content, 0);
    std::u32string text;
    for (const TextChar& c : splitter.characters()) text += c.character;
    return text;
  };
  for (const std::string& token : {options.unk, options.cls, options.sep, options.pad, options.mask})
    if (const auto id = vocabulary.id(token); id && options.match_special_tokens) special_.add({.content = token}, *id, to_utf32(token));
  for (const AddedToken& token : options.added_tokens) {
    const std::int32_t id = required(vocabulary, token.content);
    special_.add(token, id, token.normalized ? normalized(token.content) : to_utf32(token.content));
    if (token.piece) continue;
    no_piece_.resize(vocabulary.size());
    no_piece_[static_cast<std::size_t>(id)] = true;
  }
}

LEXFORMER_INLINE std::int32_t WordPiece::required(const Vocabulary& vocabulary, const std::string& token) {
  const auto id = vocabulary.id(token);
  if (!id)
    fail("Tokenizer", "the vocabulary (", vocabulary.size(), " tokens) has no ", in_quotes(token),
         "; use the vocab.txt of a BERT model or set the names of the special tokens");
  return *id;
}

LEXFORMER_INLINE void WordPiece::append_text(const Vocabulary& vocabulary, const TokenizerOptions& options, std::string_view text,
                                             Encoding& out) const {
  WordSplitter splitter(options);
  Scratch scratch;
  std::uint32_t origin = 0;
  const std::size_t first_word = out.words.size();
  const auto type = static_cast<std::uint8_t>(out.texts.size());
  out.texts.emplace_back(text);
  // Adds the word whose tokens and characters were just appended. joined: it continues a space-separated word.
  const auto add_word = [&](std::size_t token, std::size_t character, std::uint32_t begin, std::uint32_t end, bool joined,
                            std::size_t pieces) {
    if (out.characters.size() > std::numeric_limits<std::uint32_t>::max()) fail("Tokenizer", "a text is too long; split it");
    const auto text_begin = static_cast<std::uint32_t>(character), text_end = static_cast<std::uint32_t>(out.characters.size());
    const std::uint32_t whole_begin = joined ? out.words.back().whole_begin : text_begin;
    out.words.push_back({begin, end, static_cast<std::uint32_t>(token), static_cast<std::uint32_t>(out.size()), text_begin, text_end,
                         whole_begin, text_end, type, static_cast<std::uint16_t>(std::min<std::size_t>(pieces, 0xFFFF))});
  };
  const auto add_special = [&](const SpecialTokens::Token& special, std::uint32_t begin, std::uint32_t end) {
    detail::add_token(out, special.id, static_cast<std::int32_t>(out.words.size() - first_word), begin, end);
    out.characters += special.text;
    add_word(out.size() - 1, out.characters.size() - special.text.size(), begin, end, false, 1);
  };
  const auto use_word = [&](std::span<const TextChar> word, bool joined) {
    const std::size_t token = out.size(), character = out.characters.size();
    const std::size_t pieces = append_word(vocabulary, word, static_cast<std::int32_t>(out.words.size() - first_word), scratch, out);
    out.characters.resize(character + word.size());
    for (std::size_t i = 0; i < word.size(); ++i) out.characters[character + i] = word[i].character;
    add_word(token, character, word.front().origin, word.back().origin + 1, joined, pieces);
  };
  const auto append_words = [&](std::string_view part) {
    origin += splitter.normalize(part, origin);
    const auto all = splitter.characters();
    for (std::size_t begin = 0;;) {
      const auto found = special_.next(all, begin);
      splitter.split_characters(begin, found ? found->first : all.size(), use_word);
      if (!found) return;
      add_special(*found->token, all[found->first].origin, all[found->last - 1].origin + 1);
      begin = found->last;
    }
  };
  for (std::size_t begin = 0;;) {
    const auto found = special_.next(text, begin);
    append_words(text.substr(begin, (found ? found->first : text.size()) - begin));
    if (!found) break;
    const auto end = origin + static_cast<std::uint32_t>(to_utf32(text.substr(found->first, found->last - found->first)).size());
    add_special(*found->token, origin, end);
    origin = end;
    begin = found->last;
  }
  for (std::size_t i = out.words.size(); i-- > first_word + 1;)
    if (out.words[i - 1].whole_begin == out.words[i].whole_begin) out.words[i - 1].whole_end = out.words[i].whole_end;
}

LEXFORMER_INLINE std::size_t WordPiece::append_word(const Vocabulary& vocabulary, std::span<const TextChar> word, std::int32_t index,
                                                    Scratch& scratch, Encoding& out) const {
  const std::size_t before = out.ids.size();
  const auto unknown = [&](std::size_t pieces) {
    out.ids.resize(before);
    out.word_ids.resize(before);
    out.offsets.resize(before);
    detail::add_token(out, unk_, index, word.front().origin, word.back().origin + 1);
    return pieces;
  };
  if (word.size() > max_word_chars_) return unknown(1);

  scratch.bytes.clear();
  scratch.ends.clear();
  for (const TextChar& c : word) {
    append_utf8(scratch.bytes, c.character);
    scratch.ends.push_back(scratch.bytes.size());
  }
  const std::string_view bytes = scratch.bytes;
  for (std::size_t first = 0; first < word.size();) {
    const std::string_view prefix = first == 0 ? std::string_view{} : continuation;
    const std::size_t start = first == 0 ? 0 : scratch.ends[first - 1];
    // Hash all candidates in one pass, then find the longest one in the vocabulary.
    scratch.hashes.clear();
    std::uint64_t hash = Vocabulary::hash_append(Vocabulary::hash_start, prefix);
    for (std::size_t i = first, from = start; i < word.size() && prefix.size() + scratch.ends[i] - start <= vocabulary.longest(); ++i) {
      hash = Vocabulary::hash_append(hash, bytes.substr(from, scratch.ends[i] - from));
      from = scratch.ends[i];
      scratch.hashes.push_back(hash);
    }
    std::int32_t id = -1;
    std::size_t last = first + scratch.hashes.size();  // end of the candidate, excluded
    for (; last > first; --last) {
      id = vocabulary.find(scratch.hashes[last - first - 1], prefix, bytes.substr(start, scratch.ends[last - 1] - start));
      if (id >= 0 && (no_piece_.empty() || !no_piece_[static_cast<std::size_t>(id)])) break;
    }
    if (last == first) return unknown(1);
    detail::add_token(out, id, index, word[first].origin, word[last - 1].origin + 1);
    first = last;
  }
  const std::size_t pieces = out.ids.size() - before;
  if (pieces == 1 || !whole_) return pieces;
  scratch.text.clear();
  for (const TextChar& c : word) scratch.text += c.character;
  return whole_(scratch.text) ? unknown(pieces) : pieces;
}

}  // namespace lexformer
#endif
