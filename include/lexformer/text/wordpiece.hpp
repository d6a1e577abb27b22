// SPDX-License-Identifier: MIT
// BERT's WordPiece tokenizer, identical to HuggingFace's fast BertTokenizer (PyPI `tokenizers` 0.23.3) in ids, type ids, word ids,
// offsets and truncation. tests/oracles/check_tokenizer.py verifies this.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/text/special_tokens.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer {

/// A word as split by the tokenizer: a run without whitespace and punctuation, one punctuation character, one Chinese ideograph, or a
/// special token in the text, e.g. [MASK]. Encoding::text and Encoding::whole_text return its characters.
struct Word {
  std::uint32_t begin, end;              // characters (code points) in the input text, end excluded
  std::uint32_t first, last;             // tokens, last excluded; at least one
  std::uint32_t text_begin, text_end;    // its own text in Encoding::characters
  std::uint32_t whole_begin, whole_end;  // the text of the whole space-separated word
  std::uint8_t type;                     // index of the input text: 0 or 1
  std::uint16_t pieces = 1;              // number of pieces, also of those that truncation or keep_whole() removed
};

/// The tokens and words of a text or a pair. ids, type_ids, word_ids and offsets have one value per token.
struct Encoding {
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> type_ids;                            // 0: [CLS], the first text and its [SEP]; 1: the second text and its [SEP]
  std::vector<std::int32_t> word_ids;                            // index of the token's word, from 0 in each text; -1: added [CLS], [SEP]
  std::vector<std::pair<std::uint32_t, std::uint32_t>> offsets;  // begin and end in characters (code points) of the original text

  std::vector<std::string> texts{};  // the input: 1 or 2 texts
  std::vector<Word> words{};         // in the order of their tokens; without words that lost all tokens to truncation
  std::u32string characters{};       // the normalized texts of the words, concatenated

  std::size_t size() const { return ids.size(); }

  /// The normalized text of a word: lower case and without accents for an uncased tokenizer. Complete even if the word is unknown or
  /// lost tokens to truncation.
  std::u32string_view text(const Word& word) const {
    return std::u32string_view(characters).substr(word.text_begin, word.text_end - word.text_begin);
  }
  /// The normalized text of the space-separated word that contains a word, with punctuation: `dht-fs5` for each of dht, - and fs5.
  /// A Chinese ideograph and a special token in the text are whole words.
  std::u32string_view whole_text(const Word& word) const {
    return std::u32string_view(characters).substr(word.whole_begin, word.whole_end - word.whole_begin);
  }
  /// The word of a token; null for the added [CLS] and [SEP].
  const Word* word_of(std::size_t token) const {
    const auto next = std::upper_bound(words.begin(), words.end(), token, [](std::size_t t, const Word& word) { return t < word.first; });
    return next == words.begin() || token >= std::prev(next)->last ? nullptr : &*std::prev(next);
  }
};

/// The tokenizer. All methods are const and thread-safe.
class Tokenizer {
 public:
  /// Errors: the vocabulary has no unknown, [CLS] or [SEP] token.
  explicit Tokenizer(Vocabulary vocabulary, TokenizerOptions options = {});

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const TokenizerOptions& options() const { return options_; }
  std::int32_t unk_id() const { return unk_; }
  /// Makes a word of several pieces one token, the unknown one, if `whole` holds for its normalized text.
  void keep_whole(std::function<bool(std::u32string_view word)> whole) { whole_ = std::move(whole); }
  bool is_whole(std::u32string_view word) const { return whole_ && whole_(word); }
  std::int32_t cls_id() const { return cls_; }
  std::int32_t sep_id() const { return sep_; }

  /// Encodes [CLS] text [SEP] in at most max_length tokens; truncates the text at its end. Errors: max_length is less than 2.
  Encoding encode(std::string_view text, std::size_t max_length) const;

  /// Encodes [CLS] left [SEP] right [SEP] in at most max_length tokens. Truncation is HuggingFace's longest_first: only the longer text is
  /// truncated if that is enough; else both get the same length, and for an odd number of pieces the originally longer text (right if
  /// equal) keeps one more. Errors: max_length is less than 3.
  Encoding encode_pair(std::string_view left, std::string_view right, std::size_t max_length) const;

  static constexpr std::string_view continuation = "##";  // prefix of pieces that do not start a word

 private:
  /// Buffers of one call, so that words need no allocation.
  struct Scratch {
    std::string bytes;
    std::vector<std::size_t> ends;  // ends[i]: end of character i in bytes
    std::vector<std::uint64_t> hashes;
    std::u32string text;
  };

  std::int32_t required(const std::string& token) const;

  /// Reserves memory so that most texts need one allocation per member, assuming three bytes per token.
  static void reserve(Encoding& out, std::size_t bytes, std::size_t max_length, std::size_t texts);

  /// Removes the tokens begin .. end - 1, the last ones of a text, and the words that have no other tokens.
  static void erase(Encoding& out, std::size_t begin, std::size_t end);

  static void add(Encoding& out, std::int32_t id, std::int32_t word, std::uint32_t begin, std::uint32_t end);

  /// Appends the tokens of a text. Special tokens are matched in the raw text first; the parts in between are split into words.
  void append_text(std::string_view text, Encoding& out) const;

  /// Greedy longest match: the longest token that starts the word, then the longest ## token that continues it, and so on. If a step
  /// finds none, or the word is too long, the word becomes one unknown token. Returns the number of pieces.
  std::size_t append_word(std::span<const TextChar> word, std::int32_t index, Scratch& scratch, Encoding& out) const;

  Vocabulary vocabulary_;
  TokenizerOptions options_;
  std::function<bool(std::u32string_view word)> whole_;
  std::int32_t unk_, cls_, sep_;
  SpecialTokens special_;
  std::vector<bool> no_piece_{};  // ids that are no pieces of words; empty: none
};

/// Encodes texts in parallel: encode(text, max_length) of each.
std::vector<Encoding> encode_all(const Tokenizer& tokenizer, std::span<const std::string> texts, std::size_t max_length);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/core/parallel.hpp"

namespace lexformer {

LEXFORMER_INLINE Tokenizer::Tokenizer(Vocabulary vocabulary, TokenizerOptions options)
    : vocabulary_(std::move(vocabulary)),
      options_(std::move(options)),
      unk_(required(options_.unk)),
      cls_(required(options_.cls)),
      sep_(required(options_.sep)) {
  for (const std::string& token : {options_.unk, options_.cls, options_.sep, options_.pad, options_.mask})
    if (const auto id = vocabulary_.id(token); id && options_.match_special_tokens) special_.add({.content = token}, *id, options_);
  for (const AddedToken& token : options_.added_tokens) {
    const std::int32_t id = required(token.content);
    special_.add(token, id, options_);
    if (token.piece) continue;
    no_piece_.resize(vocabulary_.size());
    no_piece_[static_cast<std::size_t>(id)] = true;
  }
}

LEXFORMER_INLINE Encoding Tokenizer::encode(std::string_view text, std::size_t max_length) const {
  if (max_length < 2) fail_usage("encode", "max_length is ", max_length, ", but [CLS] and [SEP] alone take 2");
  Encoding out;
  reserve(out, text.size(), max_length, 1);
  if (options_.add_cls) add(out, cls_, -1, 0, 0);
  append_text(text, out);
  erase(out, std::min(out.size(), max_length - (options_.add_sep ? 1 : 0)), out.size());
  if (options_.add_sep) add(out, sep_, -1, 0, 0);
  if (out.size() == 0) fail("encode", "a text has no tokens, and this tokenizer adds neither [CLS] nor [SEP]");
  out.type_ids.assign(out.size(), 0);
  return out;
}

LEXFORMER_INLINE Encoding Tokenizer::encode_pair(std::string_view left, std::string_view right, std::size_t max_length) const {
  if (max_length < 3) fail_usage("encode_pair", "max_length is ", max_length, ", but [CLS] and two [SEP] alone take 3");
  Encoding out;
  reserve(out, left.size() + right.size(), max_length, 2);
  const std::size_t before = options_.add_cls ? 1 : 0, between = options_.add_middle_sep ? 1 : 0, after = options_.add_sep ? 1 : 0;
  if (before != 0) add(out, cls_, -1, 0, 0);
  append_text(left, out);
  const std::size_t middle = out.size();
  if (between != 0) add(out, sep_, -1, 0, 0);
  append_text(right, out);

  const std::size_t room = max_length - before - between - after;
  std::size_t n1 = middle - before, n2 = out.size() - middle - between;
  if (n1 + n2 > room) {
    std::size_t& shorter = n1 <= n2 ? n1 : n2;
    std::size_t& longer = n1 <= n2 ? n2 : n1;
    shorter = std::min(shorter, room / 2);
    longer = room - shorter;
  }
  erase(out, middle + between + n2, out.size());
  erase(out, n1 + before, middle);
  if (after != 0) add(out, sep_, -1, 0, 0);
  if (out.size() == 0) fail("encode_pair", "a pair has no tokens, and this tokenizer adds neither [CLS] nor [SEP]");
  out.type_ids.assign(out.size(), 1);
  std::fill_n(out.type_ids.begin(), before + n1 + between, std::uint8_t{0});
  return out;
}

LEXFORMER_INLINE std::int32_t Tokenizer::required(const std::string& token) const {
  const auto id = vocabulary_.id(token);
  if (!id)
    fail("Tokenizer", "the vocabulary (", vocabulary_.size(), " tokens) has no ", in_quotes(token),
         "; use the vocab.txt of a BERT model or set the names of the special tokens");
  return *id;
}

LEXFORMER_INLINE void Tokenizer::reserve(Encoding& out, std::size_t bytes, std::size_t max_length, std::size_t texts) {
  const std::size_t tokens = std::min(bytes / 3 + 4, max_length);
  out.ids.reserve(tokens);
  out.word_ids.reserve(tokens);
  out.offsets.reserve(tokens);
  out.words.reserve(tokens);
  out.characters.reserve(std::min(bytes, 8 * tokens));
  out.texts.reserve(texts);
}

LEXFORMER_INLINE void Tokenizer::erase(Encoding& out, std::size_t begin, std::size_t end) {
  if (begin == end) return;
  const auto cut = [](auto& list, std::size_t from, std::size_t to) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(from), list.begin() + static_cast<std::ptrdiff_t>(to));
    list.shrink_to_fit();
  };
  cut(out.ids, begin, end);
  cut(out.word_ids, begin, end);
  cut(out.offsets, begin, end);
  const auto word_at = [&](std::size_t token) {
    const auto at = std::find_if(out.words.begin(), out.words.end(), [&](const Word& word) { return word.first >= token; });
    return static_cast<std::size_t>(at - out.words.begin());
  };
  const std::size_t first = word_at(begin), last = word_at(end);
  if (first > 0) out.words[first - 1].last = std::min(out.words[first - 1].last, static_cast<std::uint32_t>(begin));
  const std::uint32_t from = first == 0 ? 0 : out.words[first - 1].whole_end;
  const auto to = last == out.words.size() ? static_cast<std::uint32_t>(out.characters.size()) : out.words[last].text_begin;
  const auto tokens = static_cast<std::uint32_t>(end - begin);
  for (std::size_t i = last; i < out.words.size(); ++i) {
    Word& word = out.words[i];
    for (auto* token : {&word.first, &word.last}) *token -= tokens;
    for (auto* place : {&word.text_begin, &word.text_end, &word.whole_begin, &word.whole_end}) *place -= to - from;
  }
  cut(out.characters, from, to);
  cut(out.words, first, last);
}

LEXFORMER_INLINE void Tokenizer::add(Encoding& out, std::int32_t id, std::int32_t word, std::uint32_t begin, std::uint32_t end) {
  out.ids.push_back(id);
  out.word_ids.push_back(word);
  out.offsets.emplace_back(begin, end);
}

LEXFORMER_INLINE void Tokenizer::append_text(std::string_view text, Encoding& out) const {
  WordSplitter splitter(options_);
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
    add(out, special.id, static_cast<std::int32_t>(out.words.size() - first_word), begin, end);
    out.characters += special.text;
    add_word(out.size() - 1, out.characters.size() - special.text.size(), begin, end, false, 1);
  };
  const auto use_word = [&](std::span<const TextChar> word, bool joined) {
    const std::size_t token = out.size(), character = out.characters.size();
    const std::size_t pieces = append_word(word, static_cast<std::int32_t>(out.words.size() - first_word), scratch, out);
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

LEXFORMER_INLINE std::size_t Tokenizer::append_word(std::span<const TextChar> word, std::int32_t index, Scratch& scratch,
                                                    Encoding& out) const {
  const std::size_t before = out.ids.size();
  const auto unknown = [&](std::size_t pieces) {
    out.ids.resize(before);
    out.word_ids.resize(before);
    out.offsets.resize(before);
    add(out, unk_, index, word.front().origin, word.back().origin + 1);
    return pieces;
  };
  if (word.size() > options_.max_word_chars) return unknown(1);

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
    for (std::size_t i = first, from = start; i < word.size() && prefix.size() + scratch.ends[i] - start <= vocabulary_.longest(); ++i) {
      hash = Vocabulary::hash_append(hash, bytes.substr(from, scratch.ends[i] - from));
      from = scratch.ends[i];
      scratch.hashes.push_back(hash);
    }
    std::int32_t id = -1;
    std::size_t last = first + scratch.hashes.size();  // end of the candidate, excluded
    for (; last > first; --last) {
      id = vocabulary_.find(scratch.hashes[last - first - 1], prefix, bytes.substr(start, scratch.ends[last - 1] - start));
      if (id >= 0 && (no_piece_.empty() || !no_piece_[static_cast<std::size_t>(id)])) break;
    }
    if (last == first) return unknown(1);
    add(out, id, index, word[first].origin, word[last - 1].origin + 1);
    first = last;
  }
  const std::size_t pieces = out.ids.size() - before;
  if (pieces == 1 || !whole_) return pieces;
  scratch.text.clear();
  for (const TextChar& c : word) scratch.text += c.character;
  return whole_(scratch.text) ? unknown(pieces) : pieces;
}

LEXFORMER_INLINE std::vector<Encoding> encode_all(const Tokenizer& tokenizer, std::span<const std::string> texts, std::size_t max_length) {
  std::vector<Encoding> encodings(texts.size());
  parallel_for(texts.size(), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) encodings[i] = tokenizer.encode(texts[i], max_length);
  });
  return encodings;
}

}  // namespace lexformer
#endif
