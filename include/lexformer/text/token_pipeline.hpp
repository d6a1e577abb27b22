// SPDX-License-Identifier: MIT
// The tokenizer of a tokenizer.json: added tokens, normalizers, pre-tokenizers, and a model (byte-level BPE or Unigram), as PyPI
// `tokenizers` 0.23.3 runs them. tests/oracles/check_pipeline.py compares ids, offsets and pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/byte_bpe.hpp"
#include "lexformer/text/encoding.hpp"
#include "lexformer/text/normalized_text.hpp"
#include "lexformer/text/normalizer.hpp"
#include "lexformer/text/pieces.hpp"
#include "lexformer/text/special_tokens.hpp"
#include "lexformer/text/token_template.hpp"
#include "lexformer/text/unigram.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer {

/// The parts of a tokenizer.json.
struct TokenPipelineParts {
  std::vector<Normalizer> normalizers{};
  std::vector<PreTokenizer> pre_tokenizers{};
  std::shared_ptr<const ByteBpe> bpe{};  // the model: one of the two
  std::shared_ptr<const Unigram> unigram{};
  std::vector<std::pair<AddedToken, std::int32_t>> added{};  // with their ids
  std::optional<bool> trim{};                                // offsets without white space at both ends; whether texts got a space before
  TokenTemplate single{}, pair{};
  std::string json{};  // the text of the tokenizer.json
};

/// All methods are const and thread-safe.
class TokenPipeline {
 public:
  explicit TokenPipeline(TokenPipelineParts parts);

  const TokenTemplate& single() const { return parts_.single; }
  const TokenTemplate& pair() const { return parts_.pair; }
  const std::string& json() const { return parts_.json; }
  /// Errors (file), with `where` in front: a byte_level pre-tokenizer has another value.
  void check_prefix_space(bool expected, const std::string& where) const;

  /// A token of a text, with the number of its piece (HuggingFace's word id).
  struct PieceToken {
    std::int32_t id;
    std::uint32_t begin, end;  // characters of the text
    std::uint32_t piece;
    bool added;  // found in the text as a whole
  };
  std::vector<PieceToken> tokens(std::string_view text) const;

  /// Appends the tokens of a text. WordSplitter finds their words in the original text, whatever the model splits: a token belongs to the
  /// word of its first character that is not white space, and a token of white space alone to the word after it. So
  /// lexical terms compare the same words for all tokenizers. A word without a token of its own is left out.
  void append_text(const TokenizerOptions& options, std::string_view text, Encoding& out) const;

 private:
  struct Scratch {
    NormalizedText text, part;
    std::vector<Piece> pieces;
    std::vector<Token> tokens;
  };
  /// The text of a token; of an unknown one of Unigram what it stands for.
  std::string spelling(const Token& token, std::span<const NormalizedChar> piece) const;
  void append_part(Scratch& scratch, std::vector<PieceToken>& out, std::uint32_t& piece) const;
  /// found: the text of the token and of the white space that it takes.
  void append_added(Token token, std::string_view found, std::vector<PieceToken>& out, std::uint32_t& piece) const;

  TokenPipelineParts parts_;
  SpecialTokens special_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

namespace lexformer {

LEXFORMER_INLINE TokenPipeline::TokenPipeline(TokenPipelineParts parts) : parts_(std::move(parts)) {
  for (const auto& [token, id] : parts_.added) {
    std::u32string text = to_utf32(token.content);
    if (token.normalized) {
      NormalizedText characters = to_characters(token.content);
      normalize(parts_.normalizers, characters);
      text.clear();
      for (const NormalizedChar& c : characters) text += c.character;
    }
    special_.add(token, id, std::move(text));
  }
}

LEXFORMER_INLINE void TokenPipeline::check_prefix_space(bool expected, const std::string& where) const {
  for (const PreTokenizer& step : parts_.pre_tokenizers)
    if (step.kind == PreTokenizer::Kind::byte_level && step.add_prefix_space != expected)
      fail_file(where, "'add_prefix_space' is ", expected ? "true" : "false", ", but tokenizer.json has ", expected ? "false" : "true",
                "; make them equal");
}

LEXFORMER_INLINE std::vector<TokenPipeline::PieceToken> TokenPipeline::tokens(std::string_view text) const {
  std::vector<PieceToken> out;
  Scratch scratch;
  std::uint32_t piece = 0, origin = 0;
  // The text between two tokens that are found in the raw text.
  const auto append = [&](std::string_view raw) {
    if (raw.empty()) return;
    scratch.text = to_characters(raw, origin);
    origin += static_cast<std::uint32_t>(scratch.text.size());
    normalize(parts_.normalizers, scratch.text);
    const std::span<const NormalizedChar> all = scratch.text;
    for (std::size_t begin = 0;;) {
      const auto found = special_.next(all, begin);
      const std::size_t end = found ? found->first : all.size();
      scratch.part.assign(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end));
      append_part(scratch, out, piece);
      if (!found) return;
      std::string taken;
      for (const NormalizedChar& c : all.subspan(found->first, found->last - found->first)) append_utf8(taken, c.character);
      append_added({found->token->id, all[found->first].begin, all[found->last - 1].end}, taken, out, piece);
      begin = found->last;
    }
  };
  for (std::size_t begin = 0;;) {
    const auto found = special_.next(text, begin);
    append(text.substr(begin, (found ? found->first : text.size()) - begin));
    if (!found) break;
    const std::string_view taken = text.substr(found->first, found->last - found->first);
    const auto end = origin + static_cast<std::uint32_t>(to_characters(taken).size());
    append_added({found->token->id, origin, end}, taken, out, piece);
    origin = end;
    begin = found->last;
  }
  return out;
}

LEXFORMER_INLINE std::string TokenPipeline::spelling(const Token& token, std::span<const NormalizedChar> piece) const {
  if (parts_.bpe) return parts_.bpe->vocabulary().token(token.id);
  if (token.id != parts_.unigram->unk_id()) return parts_.unigram->vocabulary().token(token.id);
  std::string text;
  for (const NormalizedChar& c : piece)
    if (c.begin >= token.begin && c.end <= token.end) append_utf8(text, c.character);
  return text;
}

LEXFORMER_INLINE void TokenPipeline::append_part(Scratch& scratch, std::vector<PieceToken>& out, std::uint32_t& piece) const {
  if (scratch.part.empty()) return;
  pre_tokenize(parts_.pre_tokenizers, scratch.part, scratch.pieces);
  for (const Piece& p : scratch.pieces) {
    scratch.tokens.clear();
    const auto characters = std::span<const NormalizedChar>(scratch.part).subspan(p.first, p.last - p.first);
    if (parts_.bpe)
      parts_.bpe->append(characters, scratch.tokens);
    else
      parts_.unigram->append(characters, scratch.tokens);
    for (Token& token : scratch.tokens) {
      if (parts_.trim) trim_offsets(token, spelling(token, characters), out.empty(), *parts_.trim);
      out.push_back({token.id, token.begin, token.end, piece, false});
    }
    ++piece;
  }
}

LEXFORMER_INLINE void TokenPipeline::append_added(Token token, std::string_view found, std::vector<PieceToken>& out,
                                                  std::uint32_t& piece) const {
  if (parts_.trim) trim_offsets(token, found, out.empty(), *parts_.trim);
  out.push_back({token.id, token.begin, token.end, piece++, true});
}

namespace detail {

struct WordPlace {
  std::uint32_t begin, end, text_begin, text_end, whole_begin, whole_end;
};

/// Finds the words of `text`, whose code points are `characters`: added tokens, and what WordSplitter finds between them. Appends their
/// texts to out.characters.
LEXFORMER_INLINE std::vector<WordPlace> find_words(const TokenizerOptions& options, std::string_view text, std::u32string_view characters,
                                                   std::span<const TokenPipeline::PieceToken> tokens, Encoding& out) {
  std::vector<WordPlace> found;
  WordSplitter splitter(options);
  std::size_t byte = 0;
  std::uint32_t place = 0;
  const auto byte_of = [&](std::uint32_t character) {  // from the last place on
    for (; place < character; ++place) byte += decode_utf8(text, byte).bytes;
    return byte;
  };
  const auto end_of = [&] { return static_cast<std::uint32_t>(out.characters.size()); };
  const auto split = [&](std::uint32_t begin, std::uint32_t end) {
    const std::size_t from = byte_of(begin), to = byte_of(end);
    splitter.split(text.substr(from, to - from), begin, [&](std::span<const TextChar> word, bool joined) {
      const std::uint32_t start = end_of();
      for (const TextChar& c : word) out.characters += c.character;
      found.push_back({word.front().origin, word.back().origin + 1, start, end_of(), joined ? found.back().whole_begin : start, end_of()});
    });
  };
  std::uint32_t last = 0;
  for (const auto& token : tokens) {
    if (!token.added) continue;
    split(last, std::max(last, token.begin));
    const std::uint32_t start = end_of();
    out.characters += characters.substr(token.begin, token.end - token.begin);
    found.push_back({token.begin, token.end, start, end_of(), start, end_of()});
    last = token.end;
  }
  split(last, static_cast<std::uint32_t>(characters.size()));
  for (std::size_t i = found.size(); i-- > 1;)
    if (found[i - 1].whole_begin == found[i].whole_begin) found[i - 1].whole_end = found[i].whole_end;
  return found;
}

}  // namespace detail

LEXFORMER_INLINE void TokenPipeline::append_text(const TokenizerOptions& options, std::string_view text, Encoding& out) const {
  const std::vector<PieceToken> all = tokens(text);
  const std::u32string characters = to_utf32(text);
  const auto type = static_cast<std::uint8_t>(out.texts.size());
  const std::size_t first_word = out.words.size();
  out.texts.emplace_back(text);
  const auto words = detail::find_words(options, text, characters, all, out);
  std::size_t next = 0;                 // the first word that ends after the token's place
  std::size_t taken = ~std::size_t{0};  // the word of the last token that has one
  for (const PieceToken& token : all) {
    std::uint32_t place = token.begin;
    while (place < characters.size() && is_whitespace(characters[place])) ++place;
    while (next < words.size() && words[next].end <= place) ++next;
    const bool has_word = next < words.size() && words[next].begin <= place && place < characters.size();
    const auto index = static_cast<std::uint32_t>(out.size());
    if (has_word && taken != next) {
      const auto& w = words[next];
      out.words.push_back({w.begin, w.end, index, index, w.text_begin, w.text_end, w.whole_begin, w.whole_end, type, 0});
      taken = next;
    }
    if (has_word) {  // also of tokens in between that have none, e.g. of a control character
      Word& word = out.words.back();
      const auto number = static_cast<std::int32_t>(out.words.size() - 1 - first_word);
      for (std::size_t t = word.last; t < index; ++t) out.word_ids[t] = number;
      word.last = index + 1;
      word.pieces = static_cast<std::uint16_t>(std::min<std::uint32_t>(word.last - word.first, 0xFFFF));
    }
    detail::add_token(out, token.id, has_word ? static_cast<std::int32_t>(out.words.size() - 1 - first_word) : -1, token.begin, token.end);
  }
}

}  // namespace lexformer
#endif
