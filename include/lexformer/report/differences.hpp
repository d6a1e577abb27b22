// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lexformer/report/svg.hpp"
#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Returns a text as HTML with the words marked that the other text lacks: `u class="near"` if the other text has a similar word
/// (Levenshtein similarity of at least 0.6, shown in the tooltip), else `b class="only"`. Words are separated by spaces and compared
/// case-insensitively.
inline std::string mark_differences(std::string_view text, std::string_view other) {
  struct DiffWord {
    std::string_view text;
    std::u32string lower;
  };
  const auto words_of = [](std::string_view s) {
    std::vector<DiffWord> words;
    for (std::size_t begin = 0; begin < s.size();) {
      const std::size_t end = std::min(s.find(' ', begin), s.size());
      if (end > begin) {
        words.push_back({s.substr(begin, end - begin), to_utf32(s.substr(begin, end - begin))});
        for (char32_t& c : words.back().lower) c = to_lower(c);
      }
      begin = end + 1;
    }
    return words;
  };
  const auto others = words_of(other);
  std::string html;
  for (const DiffWord& word : words_of(text)) {
    double best = 0;
    std::string_view nearest;
    for (const DiffWord& o : others)
      if (const double s = levenshtein(word.lower, o.lower); s > best) {
        best = s;
        nearest = o.text;
      }
    if (!html.empty()) html += ' ';
    if (best == 1)
      html += escape_xml(word.text);
    else if (best >= 0.6)
      html += cat("<u class=\"near\" title=\"", escape_xml(nearest), "\">", escape_xml(word.text), "</u>");
    else
      html += cat("<b class=\"only\">", escape_xml(word.text), "</b>");
  }
  return html;
}

}  // namespace lexformer
