// SPDX-License-Identifier: MIT
// Turns texts and pairs into tokens: the special tokens around them, truncation, and one of several ways to split a text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/text/encoding.hpp"
#include "lexformer/text/token_template.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer {

class WordPiece;  // text/wordpiece.hpp

/// The tokenizer of a model: BERT's WordPiece, or with TokenizerOptions::pipeline what a tokenizer.json describes. Identical to
/// HuggingFace's (PyPI `tokenizers` 0.23.3) in ids, type ids, offsets and truncation. All methods are const and thread-safe.
class Tokenizer {
 public:
  /// Errors: the vocabulary has no unknown, [CLS] or [SEP] token, unless a pipeline says all.
  explicit Tokenizer(Vocabulary vocabulary, TokenizerOptions options = {});

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const TokenizerOptions& options() const { return options_; }
  /// Whether texts are split by BERT's WordPiece.
  bool is_wordpiece() const { return wordpiece_ != nullptr; }
  /// The ids of special tokens; -1: there is none.
  std::int32_t unk_id() const { return unk_; }
  std::int32_t cls_id() const { return cls_; }
  std::int32_t sep_id() const { return sep_; }
  /// The number of special tokens around a text (1) or a pair (2).
  std::size_t added(std::size_t texts) const { return around(texts).size(); }
  /// The token after the last text; -1: none.
  std::int32_t end_id(std::size_t texts) const { return around(texts).after.empty() ? -1 : around(texts).after.back().id; }
  /// How often the left text of a pair is read.
  std::size_t left_copies() const { return pair_.copies(); }
  /// The number of token types in a text or a pair, counted from 0.
  std::size_t types(std::size_t texts) const { return around(texts).types(); }

  /// Makes a word of several pieces one token, the unknown one, if `whole` holds for its normalized text. Errors: no WordPiece.
  void keep_whole(std::function<bool(std::u32string_view word)> whole);
  bool is_whole(std::u32string_view word) const;

  /// Encodes a text with its special tokens, as [CLS] text [SEP], in at most max_length tokens; truncates the text at its end.
  /// Errors: max_length is less than added(1), or less than 1.
  Encoding encode(std::string_view text, std::size_t max_length) const;

  /// Encodes a pair, as [CLS] left [SEP] right [SEP], in at most max_length tokens. Truncation is HuggingFace's longest_first: only the
  /// longer text is truncated if that is enough; else both get the same length, and for an odd number of pieces the originally longer text
  /// (right if equal) keeps one more. With PairForm::repeated the left text is truncated before it is repeated, so that its copies are
  /// equal. Errors: max_length is less than added(2), or less than 1.
  Encoding encode_pair(std::string_view left, std::string_view right, std::size_t max_length) const;

 private:
  const TokenTemplate& around(std::size_t texts) const { return texts == 1 ? single_ : pair_; }
  /// Reserves memory so that most texts need one allocation per member, assuming three bytes per token.
  static void reserve(Encoding& out, std::size_t bytes, std::size_t max_length, std::size_t texts);
  /// Changes the template of pairs to TokenizerOptions::pair_form. Errors (usage): it has no effect; its separator is unknown.
  void set_pair_form();
  /// Errors: the special tokens alone take more than max_length.
  void check_length(const TokenTemplate& around, std::size_t max_length, const char* who) const;

  void append_text(std::string_view text, Encoding& out) const;

  Vocabulary vocabulary_;
  TokenizerOptions options_;
  std::int32_t unk_ = -1, cls_ = -1, sep_ = -1;
  TokenTemplate single_, pair_;
  std::shared_ptr<WordPiece> wordpiece_{};  // null: options_.pipeline
};

/// Encodes texts in parallel: encode(text, max_length) of each.
std::vector<Encoding> encode_all(const Tokenizer& tokenizer, std::span<const std::string> texts, std::size_t max_length);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/core/parallel.hpp"
#include "lexformer/text/token_pipeline.hpp"
#include "lexformer/text/wordpiece.hpp"

namespace lexformer {

LEXFORMER_INLINE Tokenizer::Tokenizer(Vocabulary vocabulary, TokenizerOptions options)
    : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
  if (options_.pipeline) {
    const auto find = [&](const std::string& token) { return vocabulary_.id(token).value_or(-1); };
    unk_ = find(options_.unk);
    cls_ = find(options_.cls);
    sep_ = find(options_.sep);
    single_ = options_.pipeline->single();
    pair_ = options_.pipeline->pair();
    set_pair_form();
    return;
  }
  wordpiece_ = std::make_shared<WordPiece>(vocabulary_, options_);
  unk_ = WordPiece::required(vocabulary_, options_.unk);
  cls_ = WordPiece::required(vocabulary_, options_.cls);
  sep_ = WordPiece::required(vocabulary_, options_.sep);
  if (options_.add_cls) single_.before = pair_.before = {{cls_, 0}};
  if (options_.add_sep) single_.after = {{sep_, 0}};
  if (options_.add_middle_sep) pair_.between.assign(options_.two_middle_seps ? 2 : 1, {sep_, 0});
  if (options_.add_sep) pair_.after = {{sep_, options_.right_type}};
  pair_.right_type = options_.right_type;
  set_pair_form();
}

LEXFORMER_INLINE void Tokenizer::set_pair_form() {
  const PairForm form = options_.pair_form;
  if (form == PairForm::plain) return;
  const bool lacks = pair_.between.empty() || pair_.after.empty();
  if (form == PairForm::separated && !lacks)
    fail_usage("pair_form", "separated adds tokens after both texts, but this tokenizer has them already; use plain");
  if (lacks) {
    if (options_.pair_separator.empty())
      fail_usage("pair_separator", "is missing: the tokenizer has no token after a text, and the config no 'eos_token_id'; name a token");
    const auto id = vocabulary_.id(options_.pair_separator);
    if (!id) fail_usage("pair_separator", in_quotes(options_.pair_separator), " is not in the vocabulary; name a token that is");
    if (pair_.between.empty()) pair_.between = {{*id, pair_.left_type}};
    if (pair_.after.empty()) pair_.after = {{*id, pair_.right_type}};
  }
  pair_.repeated = form == PairForm::repeated;
}

LEXFORMER_INLINE void Tokenizer::keep_whole(std::function<bool(std::u32string_view word)> whole) {
  if (!wordpiece_) fail_usage("Tokenizer", "whole words can be kept by WordPiece only; this model has another tokenizer");
  auto own = std::make_shared<WordPiece>(*wordpiece_);  // copies of this tokenizer stay as they are
  own->keep_whole(std::move(whole));
  wordpiece_ = std::move(own);
}

LEXFORMER_INLINE bool Tokenizer::is_whole(std::u32string_view word) const { return wordpiece_ && wordpiece_->is_whole(word); }

LEXFORMER_INLINE void Tokenizer::check_length(const TokenTemplate& around, std::size_t max_length, const char* who) const {
  if (max_length < std::max(around.size(), std::size_t{1}))
    fail_usage(who, "max_length is ", max_length, ", but the special tokens alone take ", around.size());
}

LEXFORMER_INLINE Encoding Tokenizer::encode(std::string_view text, std::size_t max_length) const {
  check_length(single_, max_length, "encode");
  Encoding out;
  reserve(out, text.size(), max_length, 1);
  single_.add(single_.before, out);
  append_text(text, out);
  detail::erase_tokens(out, std::min(out.size(), max_length - single_.after.size()), out.size());
  single_.add(single_.after, out);
  if (out.size() == 0) fail("encode", "a text has no tokens, and this tokenizer adds no special tokens");
  single_.set_types(out, out.size());
  return out;
}

LEXFORMER_INLINE Encoding Tokenizer::encode_pair(std::string_view left, std::string_view right, std::size_t max_length) const {
  check_length(pair_, max_length, "encode_pair");
  Encoding out;
  reserve(out, left.size() + right.size(), max_length, 2);
  const std::size_t before = pair_.before.size(), between = pair_.between.size();
  pair_.add(pair_.before, out);
  append_text(left, out);
  const std::size_t middle = out.size();
  pair_.add(pair_.between, out);
  append_text(right, out);

  const std::size_t room = max_length - pair_.size(), copies = pair_.copies();
  std::size_t n1 = middle - before, n2 = out.size() - middle - between;
  if (copies * n1 + n2 > room) {
    const std::size_t equal = room / (copies + 1);
    if (n1 <= n2) {
      n1 = std::min(n1, equal);
      n2 = std::min(n2, room - copies * n1);
    } else {
      n2 = std::min(n2, equal);
      n1 = (room - n2) / copies;
    }
  }
  detail::erase_tokens(out, middle + between + n2, out.size());
  detail::erase_tokens(out, n1 + before, middle);
  if (pair_.repeated) {
    pair_.add(pair_.between, out);
    detail::repeat_tokens(out, before, before + n1);
  }
  pair_.add(pair_.after, out);
  if (out.size() == 0) fail("encode_pair", "a pair has no tokens, and this tokenizer adds no special tokens");
  pair_.set_types(out, before + n1 + between, pair_.repeated ? n1 + pair_.after.size() : 0);
  return out;
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

LEXFORMER_INLINE void Tokenizer::append_text(std::string_view text, Encoding& out) const {
  if (wordpiece_)
    wordpiece_->append_text(vocabulary_, options_, text, out);
  else
    options_.pipeline->append_text(options_, text, out);
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
