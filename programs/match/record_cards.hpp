// SPDX-License-Identifier: MIT
// Records as HTML: a pair side by side by column, and a group of records, with the words marked that differ.
#pragma once

#include <lexformer/tables/record_texts.hpp>
#include <span>

#include "cli/program.hpp"
#include "report/report.hpp"

namespace program {

/// The style of the cards, in the colours of lexformer::ReportPage. A narrow screen has the names of columns above their values.
inline constexpr const char* card_style =
    ".card{max-width:64em;border:1px solid var(--line);border-radius:6px;padding:.5em .8em;margin:.7em 0;overflow-wrap:anywhere}\n"
    ".card>div{display:grid;grid-template-columns:9em 1fr 1fr;gap:0 1em;padding:1px 0}.card .name,.none{color:var(--soft)}\n"
    ".card>div.ids{font-weight:600;border-bottom:1px solid var(--line);padding-bottom:3px;margin-bottom:3px}\n"
    ".card>p{margin:0 0 3px;color:var(--soft)}.card>div.member{grid-template-columns:9em 1fr}\n"
    "@media (max-width:600px){.card>div{grid-template-columns:1fr 1fr}.card>div.member{grid-template-columns:1fr}"
    ".card .name{grid-column:1/-1;font-size:13px}}\n";

class RecordCards {
 public:
  explicit RecordCards(const lx::RecordPairs& records) : records_(records) {}

  const lx::RecordTable& table(std::size_t t) const { return t == 0 ? records_.left() : records_.right(); }
  const std::string& id(std::size_t t, std::size_t place) const { return table(t).records[place].id; }

  /// title: what is said of the pair.
  std::string pair(std::size_t left, std::size_t right, const std::string& title) const {
    const auto a = values(0, left), b = values(1, right);
    std::string html = lx::cat("<div class=\"card\">\n<div class=\"ids\"><span class=\"name\">", lx::escape_xml(title), "</span><span>",
                               lx::escape_xml(id(0, left)), "</span><span>", lx::escape_xml(id(1, right)), "</span></div>\n");
    for (std::size_t c = 0; c < a.size(); ++c) {
      if (a[c].empty() && b[c].empty()) continue;
      const auto& column = records_.options().columns[c];
      const std::string name =
          records_.one_table() || column.left == column.right ? column.left : lx::cat(column.left, " / ", column.right);
      html += lx::cat("<div><span class=\"name\">", lx::escape_xml(name), "</span><span>", marked(a[c], joined(b)), "</span><span>",
                      marked(b[c], joined(a)), "</span></div>\n");
    }
    return html + "</div>\n";
  }
  /// The first records of a group of table t, each with the words marked that the very first one lacks.
  std::string group(std::size_t t, std::span<const std::uint32_t> places, const std::string& title) const {
    constexpr std::size_t most = 4;
    std::string html = lx::cat("<div class=\"card\">\n<p>", lx::escape_xml(title), "</p>\n");
    for (const auto place : places.first(std::min(most, places.size())))
      html += lx::cat("<div class=\"member\"><b>", lx::escape_xml(id(t, place)), "</b><span>",
                      marked(joined(values(t, place)), joined(values(t, places[0]))), "</span></div>\n");
    if (places.size() > most)
      html += lx::cat("<div class=\"member\"><span></span><span>and ", places.size() - most, " more</span></div>\n");
    return html + "</div>\n";
  }

 private:
  /// The values of a record by column, words separated by single spaces.
  std::vector<std::string> values(std::size_t t, std::size_t place) const {
    const lx::RecordTable one_record{table(t).path, table(t).columns, {table(t).records[place]}};
    std::vector<std::string> out;
    for (const auto& column : records_.options().columns) {
      lx::RecordTextOptions one_column;
      one_column.columns = {column};
      out.push_back(lx::record_texts(one_record, one_column, t == 1 && !records_.one_table()).at(0));
    }
    return out;
  }
  static std::string joined(const std::vector<std::string>& values) {
    std::string text;
    for (const auto& value : values)
      if (!value.empty()) text += (text.empty() ? "" : " ") + value;
    return text;
  }
  /// The beginning of a text, to the end of a word if possible.
  static std::string_view beginning(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) return text;
    const std::size_t space = text.rfind(' ', bytes);
    std::size_t end = space == text.npos || space < bytes / 2 ? bytes : space;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end);
  }
  /// The beginning of a value, with the words marked that the other text lacks.
  static std::string marked(const std::string& value, const std::string& other) {
    if (value.empty()) return "<span class=\"none\">&ndash;</span>";
    const auto shown = beginning(value, 280);
    return lx::mark_differences(shown, beginning(other, 20000)) + (shown.size() < value.size() ? " &hellip;" : "");
  }

  const lx::RecordPairs& records_;
};

}  // namespace program
