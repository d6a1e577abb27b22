// SPDX-License-Identifier: MIT
// The WordPiece tokenizer once more, one step after the other on whole texts, for differential tests. It shares only the character tables
// with the library; those are tested against golden values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/text/wordpiece.hpp"

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
    std::vector<std::pair<char32_t, bool>> parts;  // and whether it is the first of its character
    for (const Char& x : out) {
      std::u32string all;
      lexformer::decompose(x.c, [&](char32_t part) { all += part; });
      for (std::size_t k = 0; k < all.size(); ++k) parts.emplace_back(all[k], k == 0);
    }
    for (bool swapped = true; swapped;) {  // canonical order by exchanging neighbours, as the Unicode standard words it
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

  /// No right text: a null pointer.
  Encoding encode(std::string_view left, const std::string_view* right, std::size_t max_length) const {
    std::vector<Row> a = rows(left), b = right == nullptr ? std::vector<Row>{} : rows(*right);
    const bool left_first = a.size() <= b.size();  // which one loses the odd token
    while (a.size() + b.size() + (right == nullptr ? 2 : 3) > max_length)
      (a.size() > b.size() || (a.size() == b.size() && left_first) ? a : b).pop_back();
    Encoding out;
    const auto put = [&](const std::vector<Row>& text, std::uint8_t type) {
      for (const Row& row : text) {
        out.ids.push_back(row.id);
        out.word_ids.push_back(row.word);
        out.offsets.emplace_back(row.begin, row.end);
        out.type_ids.push_back(type);
      }
    };
    put({{ids_.at(options_.cls), -1, 0, 0}}, 0);
    put(a, 0);
    put({{ids_.at(options_.sep), -1, 0, 0}}, 0);
    if (right != nullptr) {
      put(b, 1);
      put({{ids_.at(options_.sep), -1, 0, 0}}, 1);
    }
    return out;
  }

 private:
  struct Row {
    std::int32_t id, word;
    std::uint32_t begin, end;
  };

  std::vector<Row> rows(std::string_view raw) const {
    Text text;
    for (char32_t c : lexformer::to_utf32(raw)) text.push_back({c, static_cast<std::uint32_t>(text.size())});
    std::vector<Row> out;
    std::int32_t word = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = begin, length = 0;  // the next special token
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
      Text current;
      const auto flush = [&] {
        if (!current.empty()) pieces(current, word++, out);
        current.clear();
      };
      for (const Char& x : normalise(part, options_)) {
        if (lexformer::is_whitespace(x.c) || lexformer::is_punctuation(x.c)) flush();
        if (lexformer::is_whitespace(x.c)) continue;
        current.push_back(x);
        if (lexformer::is_punctuation(x.c)) flush();
      }
      flush();
      if (length > 0) out.push_back({id, word++, text[end].origin, text[end].origin + static_cast<std::uint32_t>(length)});
      begin = end + length;
    }
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
          found.push_back({it->second, index, word[begin].origin, word[end - 1].origin + 1});
          break;
        }
      }
      if (end == begin) break;
      begin = end;
    }
    if (begin < word.size()) found = {{ids_.at(options_.unk), index, word.front().origin, word.back().origin + 1}};
    out.insert(out.end(), found.begin(), found.end());
  }

  std::map<std::string, std::int32_t> ids_;
  TokenizerOptions options_;
  std::vector<std::pair<std::u32string, std::int32_t>> special_;
};

}  // namespace reference
