// SPDX-License-Identifier: MIT
// One row for each of several groups over a common axis: box plots of few values, and intervals.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "report/chart.hpp"

namespace lexformer {

/// The quantile q in [0, 1] of values that are not empty, interpolated linearly between the two nearest order statistics (NumPy's default).
inline double quantile(std::vector<double> values, double q) {
  if (values.empty() || !(q >= 0 && q <= 1))
    fail("quantile", "q = ", q, " of ", values.size(), " values; expected q in [0, 1] of at least 1");
  for (const double v : values)
    if (!drawable(v)) fail("quantile", "a value is ", v, "; expected numbers up to 1e100");
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

namespace detail {

/// The title, the axis and the names of the rows. It shows the range of `all`. Errors: no row.
struct RowFrame {
  RowFrame(const std::vector<std::string>& names, const std::vector<double>& all, const std::string& title, const std::string& x_label)
      : left(left_of(names)),
        bottom(top + row * static_cast<double>(names.size())),
        range(range_of(all)),
        svg(left + width + 24, bottom + 48, title) {
    svg.label(16, 22, title, {.size = 14, .bold = true});
    for (const double t : axis_ticks(range.first, range.second)) {
      svg.line(px(t), top, px(t), bottom, "#e4e4e4");
      svg.label(px(t), bottom + 17, short_number(t), {.size = 11, .anchor = "middle"});
    }
    svg.frame(left, top, width, bottom - top);
    svg.label(left + width / 2, bottom + 38, x_label, {.anchor = "middle"});
    for (std::size_t g = 0; g < names.size(); ++g) svg.label(left - 10, y(g) + 4, names[g], {.anchor = "end"});
  }
  double px(double x) const { return left + width * (x - range.first) / (range.second - range.first); }
  double y(std::size_t g) const { return top + row * (static_cast<double>(g) + 0.5); }

  static double left_of(const std::vector<std::string>& names) {
    double left = 16;
    for (const auto& name : names) left = std::max(left, text_width(name, 12) + 28);
    return left;
  }
  static constexpr double row = 34, top = 40, width = 520;
  double left, bottom;
  std::pair<double, double> range;
  Svg svg;
};

}  // namespace detail

struct BoxGroup {
  std::string name;
  std::vector<double> values;
};

/// Draws one row for each group: a box from the first to the third quartile with a line at the median, whiskers to the smallest and
/// largest value, a dot for each value. The label of the axis is `x_label`. Errors: no group, or a group without values.
inline std::string box_plot(const std::vector<BoxGroup>& groups, const std::string& title, const std::string& x_label) {
  if (groups.empty()) fail("box_plot", "there are no groups");
  std::vector<std::string> names;
  std::vector<double> all;
  for (const auto& g : groups) {
    if (g.values.empty()) fail("box_plot", "the group '", g.name, "' has no values");
    names.push_back(g.name);
    all.insert(all.end(), g.values.begin(), g.values.end());
  }
  detail::RowFrame frame(names, all, title, x_label);
  Svg& svg = frame.svg;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto at = [&, &values = groups[g].values](double q) { return frame.px(quantile(values, q)); };
    const double y = frame.y(g), half = 9, first = at(0.25), third = at(0.75), median = at(0.5);
    svg.line(at(0), y, at(1), y, line_colour(g), 1.5);
    svg.rectangle(first, y - half, std::max(1.0, third - first), 2 * half, "#ffffff");
    svg.path({{first, y - half}, {third, y - half}, {third, y + half}, {first, y + half}, {first, y - half}}, line_colour(g), 1.5);
    svg.line(median, y - half, median, y + half, line_colour(g), 3);
    for (const double v : groups[g].values) svg.dot(frame.px(v), y, 3, line_colour(g), cat(groups[g].name, ": ", short_number(v)));
  }
  return svg.str();
}

struct IntervalGroup {
  std::string name;
  double value = 0, low = 0, high = 0;
};

/// Draws one row for each group: a dot at its value, and a line from `low` to `high`. A line marks 0. Errors: no group; a number is not
/// drawable().
inline std::string interval_plot(const std::vector<IntervalGroup>& groups, const std::string& title, const std::string& x_label) {
  if (groups.empty()) fail("interval_plot", "there are no groups");
  std::vector<std::string> names;
  std::vector<double> all{0};
  for (const auto& g : groups) {
    if (!drawable(g.value) || !drawable(g.low) || !drawable(g.high))
      fail("interval_plot", "'", g.name, "' is ", g.value, " [", g.low, ", ", g.high, "]; expected numbers up to 1e100");
    names.push_back(g.name);
    all.insert(all.end(), {g.value, g.low, g.high});
  }
  detail::RowFrame frame(names, all, title, x_label);
  Svg& svg = frame.svg;
  svg.line(frame.px(0), frame.top, frame.px(0), frame.bottom, "#444444", 1, "3 3");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto& [name, value, low, high] = groups[g];
    const double y = frame.y(g);
    svg.line(frame.px(low), y, frame.px(high), y, line_colour(g), 2);
    for (const double end : {low, high}) svg.line(frame.px(end), y - 5, frame.px(end), y + 5, line_colour(g), 2);
    svg.dot(frame.px(value), y, 4.5, line_colour(g),
            cat(name, ": ", short_number(value), " [", short_number(low), ", ", short_number(high), "]"));
  }
  return svg.str();
}

}  // namespace lexformer
