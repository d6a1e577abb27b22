// SPDX-License-Identifier: MIT
// A report: one self-contained HTML file with embedded pictures that loads nothing from elsewhere. Its texts follow the light or dark
// colours of the browser. save() also writes each picture as .svg, and its numbers as .csv.
#pragma once

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/data/row_writer.hpp"
#include "lexformer/io/file.hpp"
#include "report/chart.hpp"
#include "report/svg.hpp"

namespace lexformer {

/// The points of lines; with the columns low and high if a line has intervals.
inline Csv series_csv(const std::vector<Series>& series) {
  const bool intervals = std::any_of(series.begin(), series.end(), [](const Series& s) { return !s.interval.empty(); });
  std::vector<std::string> header{"series", "x", "y", "deviation", "highlight"};
  if (intervals) header.insert(header.end(), {"low", "high"});
  Csv csv(header);
  const auto row = [&](const Series& s, double x, double y, std::size_t i, bool highlight) {
    std::vector<std::string> fields{s.name, short_number(x, 9), short_number(y, 9),
                                    highlight || s.deviation.empty() ? "" : short_number(s.deviation[i], 9), highlight ? "1" : "0"};
    if (intervals)
      for (const double bound : {highlight ? 0.0 : s.low(i), highlight ? 0.0 : s.high(i)})
        fields.push_back(highlight || s.interval.empty() ? "" : short_number(bound, 9));
    csv.row(fields);
  };
  for (const Series& s : series) {
    s.check("series_csv");
    for (std::size_t i = 0; i < s.x.size(); ++i) row(s, s.x[i], s.y[i], i, false);
    for (const auto& [x, y] : s.highlights) row(s, x, y, 0, true);
  }
  return csv;
}

namespace detail {

inline constexpr const char* page_style =
    ":root{color-scheme:light dark;--page:#fff;--text:#222;--soft:#444;--line:#ddd;--only:#fbe3b9;--near:#d55e00}\n"
    "@media (prefers-color-scheme:dark){:root{--page:#1b1b1b;--text:#e4e4e4;--soft:#b4b4b4;--line:#444;--only:#634200;--near:#ff8a3d}}\n"
    "body{font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--page);max-width:1280px;margin:1.5em auto;padding:0 1em}\n"
    "figure{margin:1em 0}figure svg{display:block;max-width:100%;height:auto}figcaption{font-size:13px;color:var(--soft)}\n"
    "table{display:block;overflow-x:auto;border-collapse:collapse;font-size:14px}\n"
    "td,th{border-bottom:1px solid var(--line);padding:3px 10px 3px 0;text-align:left;vertical-align:top}\n"
    "b.only{background:var(--only);font-weight:inherit}u.near{text-decoration:underline wavy var(--near)}\n"
    "span.line{white-space:nowrap}footer{font-size:13px;color:var(--soft);border-top:1px solid var(--line);margin-top:2em;"
    "overflow-wrap:anywhere}\n";

}  // namespace detail

class ReportPage {
 public:
  /// style: CSS after the page's own.
  explicit ReportPage(std::string title, std::string style = "") : title_(std::move(title)), style_(std::move(style)) {}

  void heading(const std::string& text) { body_ += cat("<h2>", escape_xml(text), "</h2>\n"); }
  void paragraph(const std::string& text) { body_ += cat("<p>", escape_xml(text), "</p>\n"); }

  /// Adds HTML as it is: pass texts through escape_xml() first.
  void add(const std::string& html) { body_ += html; }

  /// Adds small text at the end of the page: program, inputs, settings and time.
  void footer(const std::string& text) { footer_ += cat("<p>", escape_xml(text), "</p>\n"); }

  /// Adds a picture with a caption that describes it; it is also saved as NAME.svg and its numbers as NAME.csv beside the page. Names may
  /// come from data: in the names of the files each byte other than A-Z, a-z, 0-9, '.', '_' and '-', and a '.' at the start, becomes '-';
  /// "-2",
  /// "-3", ... follows if another picture has that file. Errors: no name, no caption, a second picture of the same name.
  void picture(const std::string& name, const std::string& svg, const Csv& numbers, const std::string& caption) {
    if (name.empty()) fail("ReportPage", "a picture has no name");
    if (caption.empty()) fail("ReportPage", "the picture '", name, "' has no caption");
    if (!names_.insert(name).second) fail("ReportPage", "there are two pictures '", name, "'");
    const std::string file = new_file(name);
    files_.emplace_back(file + ".svg", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg);
    files_.emplace_back(file + ".csv", numbers.str());
    body_ += cat("<figure>\n", svg, "<figcaption>", escape_xml(caption), " <a href=\"", file, ".svg\">svg</a> <a href=\"", file,
                 ".csv\">csv</a></figcaption>\n</figure>\n");
  }
  /// Adds a table. Cells are HTML: pass texts through escape_xml() first.
  void table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
    const auto line = [&](const std::vector<std::string>& cells, const char* tag) {
      body_ += "<tr>";
      for (const auto& c : cells) body_ += cat("<", tag, ">", c, "</", tag, ">");
      body_ += "</tr>\n";
    };
    body_ += "<table>\n";
    line(header, "th");
    for (const auto& r : rows) line(r, "td");
    body_ += "</table>\n";
  }

  std::string html() const {
    const std::string title = escape_xml(title_);
    return cat(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n<title>",
        title, "</title>\n<style>\n", detail::page_style, style_, "</style>\n</head>\n<body>\n<h1>", title, "</h1>\n", body_,
        footer_.empty() ? "" : "<footer>\n" + footer_ + "</footer>\n", "</body>\n</html>\n");
  }
  /// Writes index.html, the pictures and their numbers.
  void save(const std::filesystem::path& folder) const {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) fail_file(folder.string(), "cannot be created: ", error.message());
    for (const auto& [name, text] : files_) write_file_atomic((folder / name).string(), text);
    write_file_atomic((folder / "index.html").string(), html());
  }

 private:
  /// A name that is safe for a file in the folder and as a link, and that no other picture has.
  std::string new_file(std::string name) {
    for (std::size_t i = 0; i < name.size(); ++i) {
      const char c = name[i];
      const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      if (!letter && c != '_' && c != '-' && (c != '.' || i == 0)) name[i] = '-';
    }
    std::string file = name;
    for (int k = 2; !stems_.insert(file).second; ++k) file = cat(name, "-", k);
    return file;
  }

  std::string title_, style_, body_, footer_;
  std::set<std::string> names_, stems_;  // of the pictures, and of their files without .svg and .csv
  std::vector<std::pair<std::string, std::string>> files_;
};

}  // namespace lexformer
