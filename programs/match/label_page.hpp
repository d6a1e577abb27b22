// SPDX-License-Identifier: MIT
// A page on which pairs of records are labelled in a browser. It loads nothing from elsewhere and keeps the labels in the browser until
// they are saved as a file.
#pragma once

#include <algorithm>

#include <lexformer/data/row_writer.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/tables/labelled_pairs.hpp>
#include "report/differences.hpp"

#include "cli/records.hpp"

namespace program {

/// Two records by their places in their tables, and how they were chosen (lx::choice_columns), if that is known.
struct RecordPair {
  std::size_t left, right;
  std::vector<std::string> choice{};
};

/// The header of a file of labels.
inline std::string label_header(bool choices) {
  return lx::cat("ltable_id,rtable_id,label", choices ? "," + lx::join(lx::choice_columns, ",") : "", "\n");
}
/// Whether it is known of one of the pairs how it was chosen.
inline bool has_choices(std::span<const RecordPair> pairs) {
  return std::any_of(pairs.begin(), pairs.end(), [](const RecordPair& pair) { return !pair.choice.empty() && !pair.choice[0].empty(); });
}
/// ",sample,3.2": what follows the label.
inline std::string choice_fields(const RecordPair& pair) {
  std::string text;
  for (std::size_t i = 0; i < lx::choice_columns.size(); ++i) text += "," + (i < pair.choice.size() ? lx::csv_field(pair.choice[i]) : "");
  return text;
}

/// The values of two tables by column, for display: words, separated by single spaces.
struct ColumnValues {
  std::vector<std::string> names;                     // in the left table
  std::vector<std::vector<std::string>> left, right;  // [column][record]

  explicit ColumnValues(const lx::RecordPairs& records) {
    for (const auto& column : records.options().columns) {
      lx::RecordTextOptions one;
      one.columns = {column};
      names.push_back(column.left);
      left.push_back(lx::record_texts(records.left(), one, false));
      right.push_back(lx::record_texts(records.right(), one, true));
    }
  }
};

namespace detail {

inline constexpr const char* label_style =
    "body{font:15px/1.45 system-ui,sans-serif;color:#222;background:#fff;max-width:1280px;margin:1.5em auto;padding:0 1em 60vh}\n"
    "header{position:sticky;top:0;background:#fff;padding:.5em 0;border-bottom:1px solid #ddd}\n"
    "section{border:1px solid #ddd;border-left:6px solid #ddd;margin:1em 0;padding:.5em 1em;scroll-margin-top:6em}\n"
    "section.current{outline:2px solid #0072b2}section.yes{border-left-color:#009e73}section.no{border-left-color:#d55e00}\n"
    "table{width:100%;border-collapse:collapse;table-layout:fixed}td,th{text-align:left;vertical-align:top;padding:2px 12px 2px 0;"
    "overflow-wrap:anywhere}th{width:8em;color:#666;font-weight:inherit}\n"
    "b.only{background:#fbe3b9;font-weight:inherit}u.near{text-decoration:underline wavy #d55e00}\n"
    "button{font:inherit;padding:.2em 1em;margin-right:.5em}kbd{border:1px solid #bbb;border-radius:3px;padding:0 .3em}\n"
    "section.yes button.yes{background:#009e73;color:#fff}section.no button.no{background:#d55e00;color:#fff}\n";

inline constexpr const char* label_script = R"(
const pairs = JSON.parse(document.getElementById("pairs").textContent);
const sections = [...document.querySelectorAll("section")];
const store = "lexformer.labels." + pairs.key;
let labels = {}, current = 0;
try { labels = JSON.parse(localStorage.getItem(store)) || {}; } catch (e) {}
function show() {
  let done = 0, matches = 0;
  sections.forEach((s, i) => {
    const label = labels[i];
    s.classList.toggle("yes", label === 1);
    s.classList.toggle("no", label === 0);
    s.classList.toggle("current", i === current);
    if (label !== undefined) ++done;
    if (label === 1) ++matches;
  });
  document.getElementById("count").textContent = done + " of " + sections.length + " labelled, " + matches + " matches";
}
function move(to) {
  current = Math.max(0, Math.min(sections.length - 1, to));
  show();
  sections[current].scrollIntoView({block: "nearest"});
}
function label(i, value) {
  if (value === undefined) delete labels[i]; else labels[i] = value;
  try { localStorage.setItem(store, JSON.stringify(labels)); } catch (e) {}
  move(i + (value === undefined ? 0 : 1));
}
function field(text) { return /[",\r\n]|^ | $/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text; }
function table() {
  const rows = pairs.ids.flatMap(([a, b], i) => labels[i] === undefined ? [] : [field(a) + "," + field(b) + "," + labels[i] + pairs.choices[i]]);
  return pairs.header + [...rows, ""].join("\n");
}
sections.forEach((s, i) => {
  s.addEventListener("click", () => move(i));
  s.querySelector("button.yes").addEventListener("click", e => { e.stopPropagation(); label(i, 1); });
  s.querySelector("button.no").addEventListener("click", e => { e.stopPropagation(); label(i, 0); });
});
document.getElementById("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([table()], {type: "text/csv"}));
  link.download = pairs.file;
  link.click();
});
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.key === "y") label(current, 1);
  else if (e.key === "n") label(current, 0);
  else if (e.key === "u") label(labels[current] === undefined ? Math.max(0, current - 1) : current, undefined);
  else if (e.key === "ArrowDown" || e.key === "s") move(current + 1);
  else if (e.key === "ArrowUp") move(current - 1);
  else return;
  e.preventDefault();
});
const first = sections.findIndex((s, i) => labels[i] === undefined);
move(first < 0 ? 0 : first);
)";

}  // namespace detail

/// file: the name under which the browser saves the labels.
inline std::string label_page(const lx::RecordPairs& records, std::span<const RecordPair> pairs, const std::string& file) {
  const ColumnValues values(records);
  lx::Json ids = lx::Json::array(), choices = lx::Json::array();
  const bool chosen = has_choices(pairs);
  std::string body;
  std::uint32_t key = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto &a = records.left().records[pairs[i].left], &b = records.right().records[pairs[i].right];
    ids.push_back({a.id, b.id});
    choices.push_back(chosen ? choice_fields(pairs[i]) : "");
    key = lx::crc32(lx::cat(a.id, "\n", b.id, "\n"), key);
    body += lx::cat("<section>\n<table>\n<tr><th>", i + 1, " of ", pairs.size(), "</th><td>", lx::escape_xml(a.id), "</td><td>",
                    lx::escape_xml(b.id), "</td></tr>\n");
    for (std::size_t c = 0; c < values.names.size(); ++c) {
      const auto &left = values.left[c][pairs[i].left], &right = values.right[c][pairs[i].right];
      body += lx::cat("<tr><th>", lx::escape_xml(values.names[c]), "</th><td>",
                      lx::mark_differences(left, records.right_texts()[pairs[i].right]), "</td><td>",
                      lx::mark_differences(right, records.left_texts()[pairs[i].left]), "</td></tr>\n");
    }
    body += "</table>\n<p><button class=\"yes\">match (y)</button><button class=\"no\">no match (n)</button></p>\n</section>\n";
  }
  // Without any `<` nothing ends the script element, and no comment opens in it.
  std::string data = lx::dump_json(
      {{"key", lx::cat(key)}, {"file", file}, {"header", label_header(chosen)}, {"ids", ids}, {"choices", choices}}, "--html");
  for (std::size_t at = 0; (at = data.find('<', at)) != data.npos;) data.replace(at, 1, "\\u003c");
  return lx::cat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>Do these records match?</title>\n<style>\n",
      detail::label_style,
      "</style>\n</head>\n<body>\n<header>\n<strong>Do these records match?</strong> <span id=\"count\"></span> <button id=\"save\">Save ",
      lx::escape_xml(file),
      "</button><br>\n<kbd>y</kbd> match, <kbd>n</kbd> no match, <kbd>u</kbd> remove the last label, <kbd>&darr;</kbd> <kbd>&uarr;</kbd> "
      "next "
      "and previous. <b class=\"only\">Marked</b>: the other record has no such word; <u class=\"near\">underlined</u>: it has a similar "
      "one. The labels stay in this browser until they are saved.\n</header>\n",
      body, "<script type=\"application/json\" id=\"pairs\">", data, "</script>\n<script>", detail::label_script,
      "</script>\n</body>\n</html>\n");
}

}  // namespace program
