// SPDX-License-Identifier: MIT
// Points with names in a plane.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "report/chart.hpp"

namespace lexformer {

struct NamedPoint {
  std::string name;
  double x = 0, y = 0;
  std::size_t group = 0;
};

/// Draws points with their names beside them, one colour per group. A name moves up or down until it covers no other name; a thin line
/// then leads to its point. Points that are not drawable() are left out.
inline std::string scatter_plot(const std::vector<NamedPoint>& points, const std::vector<std::string>& groups,
                                const ChartOptions& options) {
  std::vector<double> xs, ys;
  for (const auto& p : points) {
    if (p.group >= groups.size()) fail("scatter_plot", "point '", p.name, "' is in group ", p.group, " of ", groups.size());
    xs.push_back(p.x);
    ys.push_back(p.y);
  }
  const auto x_range = detail::axis_range(options, "x", options.x_range.value_or(range_of(xs)));
  detail::ChartFrame frame(options, {x_range.first, x_range.second + 0.12 * (x_range.second - x_range.first)},  // room for names
                           options.y_range.value_or(range_of(ys)), groups);
  constexpr double font = 12, height = 14;
  struct Box {
    double left, top, right;
    bool meets(const Box& o) const { return left < o.right && o.left < right && top < o.top + height && o.top < top + height; }
  };
  std::vector<Box> taken;
  const auto shown = [](const NamedPoint& p) { return drawable(p.x) && drawable(p.y); };
  for (const auto& p : points)
    if (shown(p)) taken.push_back({frame.px(p.x) - 4, frame.py(p.y) - height / 2, frame.px(p.x) + 4});
  for (const auto& p : points) {
    if (!shown(p)) continue;
    const double x = frame.px(p.x), y = frame.py(p.y), left = x + 7, right = left + text_width(p.name, font);
    Box box{left, y - height / 2, right};
    for (int k = 1; k < 20; ++k) {  // 0, -1, 1, -2, 2, ... half lines
      if (std::none_of(taken.begin(), taken.end(), [&](const Box& o) { return o.meets(box); })) break;
      const int half_lines = (k % 2 == 1 ? -1 : 1) * ((k + 1) / 2);
      box.top = y - height / 2 + half_lines * height / 2;
    }
    taken.push_back(box);
    const double middle = box.top + height / 2;
    if (std::abs(middle - y) > height / 2) frame.svg.line(x, y, left - 1, middle, "#bbbbbb");
    frame.svg.dot(x, y, 4, line_colour(p.group), cat(p.name, ": ", short_number(p.x), ", ", short_number(p.y)));
    frame.svg.label(left, middle + 4, p.name, {.size = font, .halo = true, .colour = line_colour(p.group)});
  }
  for (std::size_t g = 0; g < groups.size(); ++g) frame.legend(g, groups[g], false);
  frame.draw(options.marks);
  return frame.svg.str();
}

}  // namespace lexformer
