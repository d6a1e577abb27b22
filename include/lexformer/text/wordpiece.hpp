// SPDX-License-Identifier: MIT
// BERT's WordPiece tokenizer, token by token what HuggingFace's fast BertTokenizer (PyPI `tokenizers` 0.23.3) gives:
// ids, type ids, word ids, offsets, truncation. tools/check_tokenizer.py shows it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/error.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer {

/// The tokens of a text or of a pair; all four have the same length.
struct Encoding {
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> type_ids;                            // 0: [CLS], the first text and its [SEP]; 1: the second text and its [SEP]
  std::vector<std::int32_t> word_ids;                            // the word of a piece, from 0 in each text; -1: added [CLS] and [SEP]
  std::vector<std::pair<std::uint32_t, std::uint32_t>> offsets;  // begin and end in characters (code points) of the original text

  std::size_t size() const { return ids.size(); }
};

/// Tokenizes; all methods are const and may run in several threads at once.
class WordPieceTokenizer {
 public:
  /// The vocabulary must hold the unknown, [CLS] and [SEP] tokens.
  explicit WordPieceTokenizer(Vocabulary vocabulary, TokenizerOptions options = {})
      : vocabulary_(std::move(vocabulary)),
        options_(std::move(options)),
        unk_(required(options_.unk)),
        cls_(required(options_.cls)),
        sep_(required(options_.sep)) {
    for (const std::string& token : {options_.unk, options_.cls, options_.sep, options_.pad, options_.mask})
      if (const auto id = vocabulary_.id(token)) {
        special_.push_back({token, *id});
        starts_special_[static_cast<unsigned char>(token[0])] = true;
      }
    // Where two begin at one place the longer one counts.
    std::stable_sort(special_.begin(), special_.end(), [](const Special& a, const Special& b) { return a.text.size() > b.text.size(); });
  }

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const TokenizerOptions& options() const { return options_; }
  std::int32_t unk_id() const { return unk_; }
  std::int32_t cls_id() const { return cls_; }
  std::int32_t sep_id() const { return sep_; }

  /// [CLS] text [SEP], at most max_length tokens: the text loses pieces at its end.
  Encoding encode(std::string_view text, std::size_t max_length) const {
    if (max_length < 2) fail_usage("encode", "max_length is ", max_length, ", but [CLS] and [SEP] alone take 2");
    Encoding out;
    begin(out);
    append_text(text, out);
    finish(out, std::min(out.size(), max_length - 1), 0);
    return out;
  }

  /// [CLS] left [SEP] right [SEP], at most max_length tokens. Truncation is HuggingFace's longest_first: only the longer text is cut
  /// if that is enough; else both are cut to the same length, and of an odd number of pieces the originally longer text (right if equal)
  /// keeps the extra one.
  Encoding encode_pair(std::string_view left, std::string_view right, std::size_t max_length) const {
    if (max_length < 3) fail_usage("encode_pair", "max_length is ", max_length, ", but [CLS] and two [SEP] alone take 3");
    Encoding out, second;
    begin(out);
    append_text(left, out);
    append_text(right, second);

    const std::size_t room = max_length - 3;
    std::size_t n1 = out.size() - 1, n2 = second.size();
    if (n1 + n2 > room) {
      std::size_t& shorter = n1 <= n2 ? n1 : n2;
      std::size_t& longer = n1 <= n2 ? n2 : n1;
      shorter = std::min(shorter, room / 2);
      longer = room - shorter;
    }
    finish(out, n1 + 1, 0);

    const auto append = [n2](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(n2));
    };
    append(out.ids, second.ids);
    append(out.word_ids, second.word_ids);
    append(out.offsets, second.offsets);
    out.type_ids.resize(out.ids.size(), 1);
    finish(out, out.size(), 1);
    return out;
  }

  /// The pieces first ... last - 1 of one word as one text, as HuggingFace's decoder joins them: "##" dropped. It is the normalised word
  /// (small letters, no accents for an uncased model); an unknown word is "[UNK]"; of a word cut by truncation it is what remains.
  std::string word_text(const Encoding& encoding, std::size_t first, std::size_t last) const {
    if (first > last || last > encoding.size()) fail("word_text", "pieces ", first, " ... ", last, " of ", encoding.size(), " tokens");
    std::string text;
    for (std::size_t i = first; i < last; ++i) {
      std::string_view piece = vocabulary_.token(encoding.ids[i]);
      if (i > first && piece.starts_with(continuation)) piece.remove_prefix(continuation.size());
      text += piece;
    }
    return text;
  }

  static constexpr std::string_view continuation = "##";  // marks a piece that does not begin a word

 private:
  struct Special {
    std::string text;
    std::int32_t id;
  };
  /// Buffers of one call, so that a word costs no allocation.
  struct Scratch {
    std::string bytes;
    std::vector<std::size_t> ends;  // ends[i]: end of character i in bytes
    std::vector<std::uint64_t> hashes;
  };

  std::int32_t required(const std::string& token) const {
    const auto id = vocabulary_.id(token);
    if (!id)
      fail("WordPieceTokenizer", "the vocabulary (", vocabulary_.size(), " tokens) has no ", in_quotes(token),
           "; take the vocab.txt of a BERT model or set the special tokens' names");
    return *id;
  }

  void begin(Encoding& out) const { add(out, cls_, -1, 0, 0); }
  /// Cuts to `length` tokens and adds [SEP].
  void finish(Encoding& out, std::size_t length, std::uint8_t type) const {
    out.ids.resize(length);
    out.word_ids.resize(length);
    out.offsets.resize(length);
    add(out, sep_, -1, 0, 0);
    out.type_ids.resize(out.ids.size(), type);
  }

  static void add(Encoding& out, std::int32_t id, std::int32_t word, std::uint32_t begin, std::uint32_t end) {
    out.ids.push_back(id);
    out.word_ids.push_back(word);
    out.offsets.emplace_back(begin, end);
  }

  /// Special tokens are looked for in the raw text, before anything else; what stands between them is split into words.
  void append_text(std::string_view text, Encoding& out) const {
    WordSplitter splitter(options_);
    Scratch scratch;
    std::uint32_t origin = 0;
    std::int32_t word_index = 0;
    const auto append_words = [&](std::string_view part) {
      origin += splitter.split(part, origin, [&](std::span<const TextChar> word) { append_word(word, word_index++, scratch, out); });
    };
    std::size_t begin = 0;
    for (std::size_t i = 0; options_.match_special_tokens && i < text.size();) {
      const Special* special = starts_special_[static_cast<unsigned char>(text[i])] ? special_at(text.substr(i)) : nullptr;
      if (special == nullptr) {
        ++i;
        continue;
      }
      append_words(text.substr(begin, i - begin));
      const auto length = static_cast<std::uint32_t>(to_utf32(special->text).size());
      add(out, special->id, word_index++, origin, origin + length);
      origin += length;
      begin = i += special->text.size();
    }
    append_words(text.substr(begin));
  }

  const Special* special_at(std::string_view text) const {
    for (const Special& special : special_)
      if (text.starts_with(special.text)) return &special;
    return nullptr;
  }

  /// Greedy: the longest token that begins the word, then the longest ## token that continues it, ... If one step finds none, or the word
  /// is too long, the whole word is one unknown token.
  void append_word(std::span<const TextChar> word, std::int32_t index, Scratch& scratch, Encoding& out) const {
    const auto unknown = [&] { add(out, unk_, index, word.front().origin, word.back().origin + 1); };
    if (word.size() > options_.max_word_chars) return unknown();

    scratch.bytes.clear();
    scratch.ends.clear();
    for (const TextChar& c : word) {
      append_utf8(scratch.bytes, c.character);
      scratch.ends.push_back(scratch.bytes.size());
    }
    const std::string_view bytes = scratch.bytes;
    const std::size_t before = out.ids.size();
    for (std::size_t first = 0; first < word.size();) {
      const std::string_view prefix = first == 0 ? std::string_view{} : continuation;
      const std::size_t start = first == 0 ? 0 : scratch.ends[first - 1];
      // Hashes of all candidates in one pass; then the longest that is in the vocabulary.
      scratch.hashes.clear();
      std::uint64_t hash = Vocabulary::hash_append(Vocabulary::hash_start, prefix);
      for (std::size_t i = first, from = start; i < word.size() && prefix.size() + scratch.ends[i] - start <= vocabulary_.longest(); ++i) {
        hash = Vocabulary::hash_append(hash, bytes.substr(from, scratch.ends[i] - from));
        from = scratch.ends[i];
        scratch.hashes.push_back(hash);
      }
      std::int32_t id = -1;
      std::size_t last = first + scratch.hashes.size();  // one past the candidate's last character
      for (; last > first; --last) {
        id = vocabulary_.find(scratch.hashes[last - first - 1], prefix, bytes.substr(start, scratch.ends[last - 1] - start));
        if (id >= 0) break;
      }
      if (id < 0) {
        out.ids.resize(before);
        out.word_ids.resize(before);
        out.offsets.resize(before);
        return unknown();
      }
      add(out, id, index, word[first].origin, word[last - 1].origin + 1);
      first = last;
    }
  }

  Vocabulary vocabulary_;
  TokenizerOptions options_;
  std::int32_t unk_, cls_, sep_;
  std::vector<Special> special_;
  std::array<bool, 256> starts_special_{};
};

}  // namespace lexformer
