// SPDX-License-Identifier: MIT
// Pictures of attention: matrices over the tokens of a pair side by side, and single rows of several matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "report/svg.hpp"

namespace lexformer {

/// A matrix, row-major, drawn from 0 (white) to `most` (dark).
struct HeatPanel {
  std::string title;
  std::vector<double> values;
  double most = 1;
};

inline constexpr std::size_t most_tokens_drawn = 200;

namespace detail {

/// Draws all colours from white to dark, each `step` wide. Neighbours overlap, so that no gaps show where pixels are rounded.
inline void colour_bar(Svg& svg, double left, double top, int colours, double step) {
  for (int c = 0; c < colours; ++c)
    svg.rectangle(left + step * c, top, step + 0.2, 10, heat_colour(static_cast<double>(c) / (colours - 1)));
  svg.frame(left, top, step * colours, 10);
}

}  // namespace detail

/// Draws the panels side by side, with the names of rows to the left of the first and the names of columns below each. Draws at most the
/// first 200 rows and columns and then says so.
inline std::string heat_maps(const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                             const std::vector<HeatPanel>& panels, const std::string& title) {
  for (const auto& p : panels)
    if (p.values.size() != rows.size() * columns.size())
      fail("heat_maps", "panel '", p.title, "' has ", p.values.size(), " values for ", rows.size(), " x ", columns.size(), " tokens");
  const std::size_t m = std::min(rows.size(), most_tokens_drawn), n = std::min(columns.size(), most_tokens_drawn), longest = std::max(m, n);
  const double cell = std::clamp(380.0 / static_cast<double>(std::max<std::size_t>(1, longest)), 4.0, 20.0),
               font = std::min(11.0, cell * 0.9);
  double left_label = 20, label = 20;
  for (std::size_t i = 0; i < m; ++i) left_label = std::max(left_label, text_width(rows[i], font, true) + 8);
  for (std::size_t j = 0; j < n; ++j) label = std::max(label, text_width(columns[j], font, true) + 8);
  const double height = cell * static_cast<double>(m), width = cell * static_cast<double>(n), top = 62;
  double wide = std::max(width, 120.0);  // 120: the colour bar
  for (const auto& p : panels) wide = std::max(wide, text_width(p.title, 13));
  const double step = wide + 24;
  Svg svg(std::max(left_label + step * static_cast<double>(panels.size()), text_width(title, 14)) + 16, top + height + label + 46, title);
  svg.label(8, 20, title, {.size = 14, .bold = true});
  if (longest < std::max(rows.size(), columns.size()))
    svg.label(8, 36, cat("the first ", longest, " of ", std::max(rows.size(), columns.size()), " tokens"), {.size = 11});
  for (std::size_t k = 0; k < panels.size(); ++k) {
    const HeatPanel& p = panels[k];
    const double left = left_label + step * static_cast<double>(k);
    svg.label(left, top - 8, p.title, {.size = 13});
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (const double v = p.values[i * columns.size() + j];
            v > 0.02 * p.most)  // nearly white cells are left out: they would be most of the file
          svg.rectangle(left + cell * static_cast<double>(j), top + cell * static_cast<double>(i), cell, cell, heat_colour(v / p.most),
                        longest > 64 ? "" : cat(rows[i], " -> ", columns[j], ": ", short_number(v, 3)));
    svg.frame(left, top, width, height);
    const auto middle = [&](std::size_t i) { return cell * (static_cast<double>(i) + 0.5) + font * 0.35; };
    for (std::size_t i = 0; i < m && k == 0; ++i)
      svg.label(left - 4, top + middle(i), rows[i], {.size = font, .anchor = "end", .mono = true});
    for (std::size_t j = 0; j < n; ++j)
      svg.label(left + middle(j), top + height + 4, columns[j], {.size = font, .anchor = "end", .rotate = -90, .mono = true});
    const double bar = top + height + label + 14;
    detail::colour_bar(svg, left, bar, 40, 3);
    svg.label(left, bar + 23, "0", {.size = 11});
    svg.label(left + 120, bar + 23, short_number(p.most, 3), {.size = 11, .anchor = "end"});
  }
  return svg.str();
}
/// The same for matrices over the tokens of one input.
inline std::string heat_maps(const std::vector<std::string>& tokens, const std::vector<HeatPanel>& panels, const std::string& title) {
  return heat_maps(tokens, tokens, panels, title);
}

/// One row of a matrix with its name.
struct Strip {
  std::string name;
  std::vector<double> values;  // one per token
};

/// Draws strips over the same tokens below each other, with the tokens written into the cells; long texts wrap. All strips share one
/// scale.
inline std::string token_strips(const std::vector<std::string>& tokens, const std::vector<Strip>& strips, const std::string& title) {
  double most = 1e-9, name_width = 0;
  for (const auto& s : strips) {
    if (s.values.size() != tokens.size())
      fail("token_strips", "strip '", s.name, "' has ", s.values.size(), " values for ", tokens.size(), " tokens");
    for (const double v : s.values) most = std::max(most, v);
    name_width = std::max(name_width, text_width(s.name, 12) + 20);
  }
  const std::size_t n = std::min(tokens.size(), most_tokens_drawn);
  const double font = 12, height = 24, full = 900, gap = 14;
  std::vector<double> x(n), width(n);
  std::vector<std::size_t> row(n);
  double at = name_width, widest = name_width;
  std::size_t rows = 1;
  for (std::size_t i = 0; i < n; ++i) {
    width[i] = text_width(tokens[i], font, true) + 10;
    if (at + width[i] > full && at > name_width) {
      at = name_width;
      ++rows;
    }
    x[i] = at;
    row[i] = rows - 1;
    at += width[i];
    widest = std::max(widest, at);
  }
  const double block = height * static_cast<double>(strips.size()) + gap, top = 36;
  Svg svg(std::max(widest, text_width(title, 14)) + 12, top + block * static_cast<double>(rows) + 28, title);
  svg.label(8, 20, title, {.size = 14, .bold = true});
  for (std::size_t k = 0; k < strips.size(); ++k) {
    for (std::size_t r = 0; r < rows; ++r)
      svg.label(name_width - 8, top + block * static_cast<double>(r) + height * static_cast<double>(k) + 16, strips[k].name,
                {.anchor = "end"});
    for (std::size_t i = 0; i < n; ++i) {
      const double y = top + block * static_cast<double>(row[i]) + height * static_cast<double>(k), share = strips[k].values[i] / most;
      svg.rectangle(x[i], y, width[i], height - 2, heat_colour(share), cat(tokens[i], ": ", short_number(strips[k].values[i], 3)));
      svg.label(x[i] + width[i] / 2, y + 15, tokens[i],
                {.size = font, .anchor = "middle", .mono = true, .colour = share > 0.55 ? "#ffffff" : "#222222"});
    }
  }
  svg.label(8, top + block * static_cast<double>(rows) + 14,
            cat("white 0, dark ", short_number(most, 3), n < tokens.size() ? cat("; the first ", n, " of ", tokens.size(), " tokens") : ""),
            {.size = 11});
  return svg.str();
}

/// Draws a matrix of any numbers with row and column names. The smaller of the minimum and 0 is white, the larger of the maximum and 0
/// dark.
inline std::string number_map(const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                              const std::vector<double>& values, const std::string& title, const std::string& x_label,
                              const std::string& y_label) {
  if (values.size() != rows.size() * columns.size())
    fail("number_map", values.size(), " values for ", rows.size(), " rows of ", columns.size());
  double low = 0, high = 0;
  for (const double v : values) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const double range = high > low ? high - low : 1;
  const double cell = std::clamp(640.0 / static_cast<double>(std::max<std::size_t>(1, std::max(rows.size(), columns.size()))), 3.0, 16.0);
  const double left = 70, top = 44, width = cell * static_cast<double>(columns.size()), height = cell * static_cast<double>(rows.size());
  Svg svg(left + std::max({width, text_width(title, 14), 164.0}) + 24, top + height + 92, title);
  svg.label(8, 20, title, {.size = 14, .bold = true});
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < columns.size(); ++j)
      svg.rectangle(left + cell * static_cast<double>(j), top + cell * static_cast<double>(i), cell, cell,
                    heat_colour((values[i * columns.size() + j] - low) / range));
  svg.frame(left, top, width, height);
  const auto every = [cell](double room) { return static_cast<std::size_t>(std::ceil(room / cell)); };
  for (std::size_t i = 0; i < rows.size(); i += every(12))
    svg.label(left - 4, top + cell * (static_cast<double>(i) + 0.5) + 4, rows[i], {.size = 10, .anchor = "end"});
  for (std::size_t j = 0; j < columns.size(); j += every(28))
    svg.label(left + cell * (static_cast<double>(j) + 0.5), top + height + 13, columns[j], {.size = 10, .anchor = "middle"});
  svg.label(left + width / 2, top + height + 30, x_label, {.size = 12, .anchor = "middle"});
  svg.label(14, top + height / 2, y_label, {.size = 12, .anchor = "middle", .rotate = -90});
  const double bar = top + height + 46;
  detail::colour_bar(svg, left, bar, 41, 4);
  svg.label(left, bar + 24, short_number(low, 3), {.size = 11});
  svg.label(left + 164, bar + 24, short_number(high, 3), {.size = 11, .anchor = "end"});
  const double zero = -low / range;
  if (zero > 0.25 && zero < 0.75) svg.label(left + 164 * zero, bar + 24, "0", {.size = 11, .anchor = "middle"});
  return svg.str();
}

}  // namespace lexformer
