// SPDX-License-Identifier: MIT
// A second implementation of the WordPiece tokenizer for differential tests, which applies each step to the whole text. It shares only
// the character tables with the library; these are tested against golden values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/text/tokenizer.hpp"

namespace reference {

using lexformer::Encoding;
using lexformer::TokenizerOptions;

struct Char {
  char32_t c;
  std::uint32_t origin;
};
using Text = std::vector<Char>;

inline Text normalise(const Text& text, const TokenizerOptions& options) {
  Text out;
  if (options.clean_text) {
    for (Char x : text) {
      if (lexformer::is_dropped(x.c)) continue;
      if (lexformer::is_whitespace(x.c)) x.c = U' ';
      out.push_back(x);
    }
  } else {
    out = text;
  }
  if (options.handle_chinese_chars)
    for (std::size_t i = 0; i < out.size(); ++i)
      if (lexformer::is_chinese(out[i].c)) {
        out.insert(out.begin() + static_cast<std::ptrdiff_t>(i), {U' ', out[i].origin});
        out.insert(out.begin() + static_cast<std::ptrdiff_t>(i) + 2, {U' ', out[i].origin});
        i += 2;
      }
  if (options.strip_accents.value_or(options.lowercase)) {
    std::vector<std::pair<char32_t, bool>> parts;  // with a flag: the first part of its character
    for (const Char& x : out) {
      std::u32string all;
      lexformer::decompose(x.c, [&](char32_t part) { all += part; });
      for (std::size_t k = 0; k < all.size(); ++k) parts.emplace_back(all[k], k == 0);
    }
    for (bool swapped = true; swapped;) {  // canonical ordering by exchanging neighbours, as the Unicode standard defines it
      swapped = false;
      for (std::size_t k = 1; k < parts.size(); ++k) {
        const auto a = lexformer::combining_class(parts[k - 1].first), b = lexformer::combining_class(parts[k].first);
        if (b != 0 && a > b) {
          std::swap(parts[k - 1], parts[k]);
          swapped = true;
        }
      }
    }
    Text stripped;
    std::size_t used = 0;
    for (const auto& [c, first] : parts) {
      used += first ? 1 : 0;
      if (!lexformer::is_nonspacing_mark(c)) stripped.push_back({c, out[used - 1].origin});
    }
    out = stripped;
  }
  if (options.lowercase) {
    Text lowered;
    for (const Char& x : out) {
      lowered.push_back({lexformer::to_lower(x.c), x.origin});
      if (x.c == 0x130) lowered.push_back({0x307, x.origin});
    }
    out = lowered;
  }
  return out;
}

class WordPiece {
 public:
  WordPiece(std::vector<std::string> tokens, TokenizerOptions options) : options_(std::move(options)) {
    for (std::size_t i = 0; i < tokens.size(); ++i) ids_[tokens[i]] = static_cast<std::int32_t>(i);
    for (const auto& token : {options_.unk, options_.cls, options_.sep, options_.pad, options_.mask})
      if (options_.match_special_tokens && ids_.count(token) == 1) special_.emplace_back(lexformer::to_utf32(token), ids_.at(token));
  }

  /// `right` is null if there is no right text.
  Encoding encode(std::string_view left, const std::string_view* right, std::size_t max_length) const {
    std::vector<Row> a = rows(left), b = right == nullptr ? std::vector<Row>{} : rows(*right);
    const bool left_first = a.size() <= b.size();  // determines which text loses the odd token
    while (a.size() + b.size() + (right == nullptr ? 2 : 3) > max_length)
      (a.size() > b.size() || (a.size() == b.size() && left_first) ? a : b).pop_back();
    Encoding out;
    const auto put = [&](const std::vector<Row>& text, std::uint8_t type) {
      for (const Row& row : text) {
        if (row.word >= 0) put_word(row, type, out);
        out.ids.push_back(row.id);
        out.word_ids.push_back(row.word);
        out.offsets.emplace_back(row.begin, row.end);
        out.type_ids.push_back(type);
      }
    };
    put({added(options_.cls)}, 0);
    put(a, 0);
    put({added(options_.sep)}, 0);
    out.texts.emplace_back(left);
    if (right != nullptr) {
      put(b, 1);
      put({added(options_.sep)}, 1);
      out.texts.emplace_back(*right);
    }
    return out;
  }

 private:
  struct Row {
    std::int32_t id, word;
    std::uint32_t begin, end;
    std::u32string text, whole;                  // of its word, and of its space-separated word
    std::uint32_t word_begin = 0, word_end = 0;  // characters of the text
  };

  Row added(const std::string& token) const { return {ids_.at(token), -1, 0, 0, {}, {}}; }

  /// Adds the word of the next token: a new word, or one more token of the last word.
  static void put_word(const Row& row, std::uint8_t type, Encoding& out) {
    const auto token = static_cast<std::uint32_t>(out.size());
    if (!out.words.empty() && out.words.back().last == token && out.word_ids.back() == row.word && out.words.back().type == type) {
      ++out.words.back().last;
      return;
    }
    const auto begin = static_cast<std::uint32_t>(out.characters.size());
    const auto middle = begin + static_cast<std::uint32_t>(row.text.size());
    out.characters += row.text + row.whole;
    out.words.push_back({row.word_begin, row.word_end, token, token + 1, begin, middle, middle,
                         middle + static_cast<std::uint32_t>(row.whole.size()), type});
  }

  std::vector<Row> rows(std::string_view raw) const {
    Text text;
    for (char32_t c : lexformer::to_utf32(raw)) text.push_back({c, static_cast<std::uint32_t>(text.size())});
    std::vector<Row> out;
    std::int32_t word = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = begin, length = 0;  // end and length of the next special token
      std::int32_t id = -1;
      for (; end < text.size(); ++end) {
        for (const auto& [spelled, special] : special_) {
          bool same = spelled.size() > length && end + spelled.size() <= text.size();
          for (std::size_t k = 0; same && k < spelled.size(); ++k) same = text[end + k].c == spelled[k];
          if (same) {
            length = spelled.size();
            id = special;
          }
        }
        if (length > 0) break;
      }
      const Text part(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end));
      Text current, whole;
      std::size_t whole_row = out.size();
      const auto flush = [&] {
        if (!current.empty()) pieces(current, word++, out);
        current.clear();
      };
      const auto flush_whole = [&] {
        for (; whole_row < out.size(); ++whole_row) out[whole_row].whole = characters(whole);
        whole.clear();
      };
      for (const Char& x : normalise(part, options_)) {
        if (lexformer::is_whitespace(x.c) || lexformer::is_punctuation(x.c)) flush();
        if (lexformer::is_whitespace(x.c)) flush_whole();
        if (lexformer::is_whitespace(x.c)) continue;
        current.push_back(x);
        whole.push_back(x);
        if (lexformer::is_punctuation(x.c)) flush();
      }
      flush();
      flush_whole();
      if (length > 0) {
        const std::uint32_t from = text[end].origin, to = from + static_cast<std::uint32_t>(length);
        const std::u32string spelled =
            characters(Text(text.begin() + static_cast<std::ptrdiff_t>(end), text.begin() + static_cast<std::ptrdiff_t>(end + length)));
        out.push_back({id, word++, from, to, spelled, spelled, from, to});
      }
      begin = end + length;
    }
    return out;
  }

  static std::u32string characters(const Text& text) {
    std::u32string out;
    for (const Char& x : text) out += x.c;
    return out;
  }

  void pieces(const Text& word, std::int32_t index, std::vector<Row>& out) const {
    std::vector<Row> found;
    std::size_t begin = 0;
    while (begin < word.size() && word.size() <= options_.max_word_chars) {
      std::size_t end = word.size();
      for (; end > begin; --end) {
        std::string text = begin == 0 ? "" : "##";
        for (std::size_t k = begin; k < end; ++k) lexformer::append_utf8(text, word[k].c);
        if (const auto it = ids_.find(text); it != ids_.end()) {
          found.push_back({it->second, index, word[begin].origin, word[end - 1].origin + 1, {}, {}});
          break;
        }
      }
      if (end == begin) break;
      begin = end;
    }
    if (begin < word.size()) found = {{ids_.at(options_.unk), index, word.front().origin, word.back().origin + 1, {}, {}}};
    for (Row& row : found) {
      row.text = characters(word);
      row.word_begin = word.front().origin;
      row.word_end = word.back().origin + 1;
    }
    out.insert(out.end(), found.begin(), found.end());
  }

  std::map<std::string, std::int32_t> ids_;
  TokenizerOptions options_;
  std::vector<std::pair<std::u32string, std::int32_t>> special_;
};

/// Whether both have the same words with the same texts.
inline bool same_words(const Encoding& a, const Encoding& b) {
  const auto same = [&](const lexformer::Word& x, const lexformer::Word& y) {
    return x.begin == y.begin && x.end == y.end && x.first == y.first && x.last == y.last && x.type == y.type && a.text(x) == b.text(y) &&
           a.whole_text(x) == b.whole_text(y);
  };
  return a.texts == b.texts && std::equal(a.words.begin(), a.words.end(), b.words.begin(), b.words.end(), same);
}

}  // namespace reference
