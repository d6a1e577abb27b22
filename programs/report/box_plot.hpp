// SPDX-License-Identifier: MIT
// Box plots: the distribution of few values in each of several groups.
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

struct BoxGroup {
  std::string name;
  std::vector<double> values;
};

/// Draws one row for each group: a box from the first to the third quartile with a line at the median, whiskers to the smallest and
/// largest value, a dot for each value. The label of the axis is `x_label`. Errors: no group, or a group without values.
inline std::string box_plot(const std::vector<BoxGroup>& groups, const std::string& title, const std::string& x_label) {
  if (groups.empty()) fail("box_plot", "there are no groups");
  const double row = 34, top = 40, width = 520;
  double left = 16;
  std::vector<double> all;
  for (const auto& g : groups) {
    if (g.values.empty()) fail("box_plot", "the group '", g.name, "' has no values");
    left = std::max(left, text_width(g.name, 12) + 28);
    all.insert(all.end(), g.values.begin(), g.values.end());
  }
  const double bottom = top + row * static_cast<double>(groups.size());
  const auto [low, high] = range_of(all);
  const auto px = [&, low = low, high = high](double x) { return left + width * (x - low) / (high - low); };
  Svg svg(left + width + 24, bottom + 48, title);
  svg.label(16, 22, title, {.size = 14, .bold = true});
  for (const double t : axis_ticks(low, high)) {
    svg.line(px(t), top, px(t), bottom, "#e4e4e4");
    svg.label(px(t), bottom + 17, short_number(t), {.size = 11, .anchor = "middle"});
  }
  svg.frame(left, top, width, bottom - top);
  svg.label(left + width / 2, bottom + 38, x_label, {.anchor = "middle"});
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto& values = groups[g].values;
    const double y = top + row * (static_cast<double>(g) + 0.5), half = 9;
    const double first = px(quantile(values, 0.25)), third = px(quantile(values, 0.75)), median = px(quantile(values, 0.5));
    svg.label(left - 10, y + 4, groups[g].name, {.anchor = "end"});
    svg.line(px(quantile(values, 0)), y, px(quantile(values, 1)), y, line_colour(g), 1.5);
    svg.rectangle(first, y - half, std::max(1.0, third - first), 2 * half, "#ffffff");
    svg.path({{first, y - half}, {third, y - half}, {third, y + half}, {first, y + half}, {first, y - half}}, line_colour(g), 1.5);
    svg.line(median, y - half, median, y + half, line_colour(g), 3);
    for (const double v : values) svg.dot(px(v), y, 3, line_colour(g), cat(groups[g].name, ": ", short_number(v)));
  }
  return svg.str();
}

}  // namespace lexformer
