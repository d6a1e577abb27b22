// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"
#include "report/svg.hpp"

namespace lexformer {

/// A word of a text beside another text. same: the other text has the word; near: it has a similar one (Levenshtein similarity of at least
/// 0.6); only: it has neither.
struct ComparedWord {
  enum class Kind { same, near, only };
  std::string_view text;
  Kind kind = Kind::only;
  std::string_view nearest{};  // of the other text; a view into it
};

/// Words are separated by spaces and compared case-insensitively, without_punctuation(); of a long word the first max_similarity_characters
/// are, unless both are equal. The result refers to both texts.
inline std::vector<ComparedWord> compare_words(std::string_view text, std::string_view other) {
  struct DiffWord {
    std::string_view text;
    std::u32string lower;
  };
  const auto words_of = [](std::string_view s) {
    std::vector<DiffWord> words;
    for (std::size_t begin = 0; begin < s.size();) {
      const std::size_t end = std::min(s.find(' ', begin), s.size());
      if (end > begin) {
        const std::u32string word = to_utf32(s.substr(begin, end - begin));
        words.push_back({s.substr(begin, end - begin), std::u32string(without_punctuation(word))});
        for (char32_t& c : words.back().lower) c = to_lower(c);
      }
      begin = end + 1;
    }
    return words;
  };
  const auto others = words_of(other);
  std::vector<ComparedWord> compared;
  for (const DiffWord& word : words_of(text)) {
    double best = 0;
    ComparedWord w{word.text};
    for (const DiffWord& o : others) {
      const bool same = word.lower == o.lower;
      const double s = same ? 1 : std::min(similarity(Similarity::levenshtein, word.lower, o.lower), 0.999);
      if (s <= best) continue;
      best = s;
      w.nearest = o.text;
    }
    w.kind = best == 1 ? ComparedWord::Kind::same : best >= 0.6 ? ComparedWord::Kind::near : ComparedWord::Kind::only;
    compared.push_back(w);
  }
  return compared;
}

/// Returns a text as HTML with the words marked that the other text lacks: `u class="near"` if the other text has a similar word (shown in
/// the tooltip), else `b class="only"`.
inline std::string mark_differences(std::string_view text, std::string_view other) {
  std::string html;
  for (const ComparedWord& word : compare_words(text, other)) {
    if (!html.empty()) html += ' ';
    if (word.kind == ComparedWord::Kind::same)
      html += escape_xml(word.text);
    else if (word.kind == ComparedWord::Kind::near)
      html += cat("<u class=\"near\" title=\"", escape_xml(word.nearest), "\">", escape_xml(word.text), "</u>");
    else
      html += cat("<b class=\"only\">", escape_xml(word.text), "</b>");
  }
  return html;
}

}  // namespace lexformer
