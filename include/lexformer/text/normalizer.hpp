// SPDX-License-Identifier: MIT
// The normalizers of HuggingFace's tokenizers (PyPI tokenizers 0.23.3): what happens to a text before it is split into pieces.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/text/compositions.hpp"
#include "lexformer/text/normalized_text.hpp"
#include "lexformer/text/precompiled_map.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer {

/// Each normalizer changes a text in place, has tokenizers' name and settings, and gives its characters the offsets that tokenizers gives.
namespace normalizers {

/// NFC, NFD, NFKC, NFKD.
struct Unicode {
  UnicodeForm form;
  void operator()(NormalizedText& text) const { normalize_unicode(text, form); }
};

/// Lower case, character by character.
struct Lowercase {
  void operator()(NormalizedText& text) const;
};

/// Removes all combining marks.
struct StripAccents {
  void operator()(NormalizedText& text) const;
};

/// Removes white space at the beginning and the end.
struct Strip {
  bool left = true, right = true;
  void operator()(NormalizedText& text) const;
};

/// Replaces each occurrence of a text, or each match of a regular expression, by `content`, which may be empty. All its characters stand
/// for what the last replaced one stood for.
class Replace {
 public:
  /// The regular expressions that are supported: runs of spaces; runs of white space and single line feeds, carriage returns and tabs.
  static constexpr std::array<std::string_view, 2> regexes = {" {2,}", "\\s{2,}|[\\n\\r\\t]"};

  /// Errors, with `where` in front: an empty pattern; a regular expression that is not supported.
  Replace(std::string pattern, bool is_regex, std::string content, const std::string& where = "Replace");

  const std::string& pattern() const { return pattern_; }
  bool is_regex() const { return is_regex_; }
  const std::string& content() const { return content_; }
  void operator()(NormalizedText& text) const;

 private:
  bool begins_match(char32_t c) const {
    if (!is_regex_) return c == literal_[0];
    return c == ' ' || (all_whitespace_ && is_whitespace(c));
  }
  /// The number of characters of the match that begins at text[i]; 0: none does.
  std::size_t match(const NormalizedText& text, std::size_t i) const;

  std::string pattern_, content_;
  bool is_regex_, all_whitespace_;
  std::u32string literal_, by_;
};

/// Puts a text in front of every text but the empty one; it stands for what the first character stands for.
class Prepend {
 public:
  /// Errors, with `where` in front: an empty text.
  explicit Prepend(const std::string& text, const std::string& where = "Prepend");
  const std::string& text() const { return text_; }
  void operator()(NormalizedText& text) const;

 private:
  std::string text_;
  std::u32string characters_;
};

/// SentencePiece's table of replacements. Copies share it.
struct Precompiled {
  std::shared_ptr<const PrecompiledMap> map;  // not null
  void operator()(NormalizedText& text) const { map->apply(text); }
};

/// WordSplitter's normalization. strip_accents is by default the same as lowercase.
struct Bert {
  bool clean_text = true, handle_chinese_chars = true;
  std::optional<bool> strip_accents = std::nullopt;
  bool lowercase = true;
  void operator()(NormalizedText& text) const;
};

}  // namespace normalizers

using Normalizer = std::function<void(NormalizedText& text)>;

/// Applies normalizers one after the other.
void normalize(std::span<const Normalizer> sequence, NormalizedText& text);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {
namespace normalizers {

LEXFORMER_INLINE void Lowercase::operator()(NormalizedText& text) const {
  constexpr char32_t capital_i_with_dot = 0x130, dot_above = 0x307;  // the only capital letter with two small characters
  bool longer = false;
  for (NormalizedChar& c : text) {
    longer |= c.character == capital_i_with_dot;
    if (c.character != capital_i_with_dot) c.character = to_lower(c.character);
  }
  if (!longer) return;
  NormalizedText out;
  out.reserve(text.size() + 1);
  for (const NormalizedChar& c : text) {
    out.push_back(c);
    if (c.character != capital_i_with_dot) continue;
    out.back().character = 'i';
    out.push_back({dot_above, c.begin, c.end});
  }
  text = std::move(out);
}

LEXFORMER_INLINE void StripAccents::operator()(NormalizedText& text) const {
  std::erase_if(text, [](const NormalizedChar& c) { return is_combining_mark(c.character); });
}

LEXFORMER_INLINE void Strip::operator()(NormalizedText& text) const {
  const auto is_text = [](const NormalizedChar& c) { return !is_whitespace(c.character); };
  if (right) text.erase(std::find_if(text.rbegin(), text.rend(), is_text).base(), text.end());
  if (left) text.erase(text.begin(), std::find_if(text.begin(), text.end(), is_text));
}

LEXFORMER_INLINE Replace::Replace(std::string pattern, bool is_regex, std::string content, const std::string& where)
    : pattern_(std::move(pattern)),
      content_(std::move(content)),
      is_regex_(is_regex),
      all_whitespace_(pattern_ != regexes[0]),
      literal_(to_utf32(pattern_)),
      by_(to_utf32(content_)) {
  if (pattern_.empty()) fail_file(where, "the pattern of Replace is empty");
  if (is_regex_ && std::find(regexes.begin(), regexes.end(), pattern_) == regexes.end())
    fail_file(where, "Replace does not support the regular expression ", in_quotes(pattern_), "; supported: ", join(regexes, " and "));
}

LEXFORMER_INLINE std::size_t Replace::match(const NormalizedText& text, std::size_t i) const {
  if (!is_regex_) {
    std::size_t n = 0;
    while (n < literal_.size() && i + n < text.size() && text[i + n].character == literal_[n]) ++n;
    return n == literal_.size() ? n : 0;
  }
  std::size_t end = i;
  while (end < text.size() && begins_match(text[end].character)) ++end;
  if (end - i != 1) return end - i;
  const char32_t c = text[i].character;
  return c == '\n' || c == '\r' || c == '\t' ? 1 : 0;
}

LEXFORMER_INLINE void Replace::operator()(NormalizedText& text) const {
  NormalizedText out;
  std::size_t copied = 0;  // the characters before are in `out`
  const auto copy = [&](std::size_t end) {
    if (copied == 0) out.reserve(text.size());
    out.insert(out.end(), text.begin() + static_cast<std::ptrdiff_t>(copied), text.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t count = begins_match(text[i].character) ? match(text, i) : 0;
    if (count == 0) continue;
    copy(i);
    copied = i + count;
    i = copied - 1;
    for (const char32_t c : by_) out.push_back({c, text[i].begin, text[i].end});
  }
  if (copied == 0) return;
  copy(text.size());
  text = std::move(out);
}

LEXFORMER_INLINE Prepend::Prepend(const std::string& text, const std::string& where) : text_(text), characters_(to_utf32(text)) {
  if (text_.empty()) fail_file(where, "the text of Prepend is empty");
}

LEXFORMER_INLINE void Prepend::operator()(NormalizedText& text) const {
  if (text.empty()) return;
  const NormalizedChar first = text[0];
  text.insert(text.begin(), characters_.size(), first);
  for (std::size_t i = 0; i < characters_.size(); ++i) text[i].character = characters_[i];
}

LEXFORMER_INLINE void Bert::operator()(NormalizedText& text) const {
  WordSplitter splitter(
      {.lowercase = lowercase, .strip_accents = strip_accents, .handle_chinese_chars = handle_chinese_chars, .clean_text = clean_text});
  std::u32string characters;
  characters.reserve(text.size());
  for (const NormalizedChar& c : text) characters.push_back(c.character);
  splitter.normalize(to_utf8(characters), 0);
  NormalizedText out;
  out.reserve(splitter.characters().size());
  for (const TextChar& c : splitter.characters()) out.push_back({c.character, text[c.origin].begin, text[c.origin].end});
  text = std::move(out);
}

}  // namespace normalizers

LEXFORMER_INLINE void normalize(std::span<const Normalizer> sequence, NormalizedText& text) {
  for (const Normalizer& normalizer : sequence) normalizer(text);
}

}  // namespace lexformer
#endif
