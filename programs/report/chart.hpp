// SPDX-License-Identifier: MIT
// Charts with two axes: lines with a band, and bars.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/svg.hpp"

namespace lexformer {

struct Series {
  std::string name;
  std::vector<double> x, y;
  std::vector<double> deviation{};                      // of y, drawn as a band y +- deviation; may be empty
  bool dots = false;                                    // draw a dot at every point
  std::vector<std::pair<double, double>> highlights{};  // highlighted points, on the line or elsewhere
  bool smooth = false;  // draw the line light, with its moving_mean() over about a twentieth of its points on top
  std::vector<std::pair<double, double>> interval{};  // instead of deviation: lower and upper bound of the band at each point
  bool line = true;                                   // connect the points

  /// Errors, in the name of `where`: the lists do not have an element for each x, or there are both deviations and intervals.
  void check(const char* where) const {
    if (x.size() != y.size() || (!deviation.empty() && deviation.size() != y.size()))
      fail(where, "series '", name, "' has ", x.size(), " x, ", y.size(), " y and ", deviation.size(),
           " deviations; expected a y for each x, and as many deviations or none");
    if (!interval.empty() && (interval.size() != y.size() || !deviation.empty()))
      fail(where, "series '", name, "' has ", y.size(), " y, ", interval.size(), " intervals and ", deviation.size(),
           " deviations; expected an interval for each y and no deviations");
  }
  bool has_band() const { return !deviation.empty() || !interval.empty(); }
  double low(std::size_t i) const { return !interval.empty() ? interval[i].first : y[i] - (deviation.empty() ? 0.0 : deviation[i]); }
  double high(std::size_t i) const { return !interval.empty() ? interval[i].second : y[i] + (deviation.empty() ? 0.0 : deviation[i]); }
};

/// A position marked by a line and a label, e.g. a chosen step or a threshold.
struct ChartMark {
  double at = 0;
  std::string name;
  bool horizontal = false;
};

struct ChartOptions {
  std::string title, x_label, y_label;  // with units
  std::optional<std::pair<double, double>> x_range{}, y_range{};
  std::vector<ChartMark> marks{};
  double width = 640, height = 380;
  bool stacked = false;  // bars of a bin on top of each other
  bool legend = true;    // names beside the chart
};

/// Whether a chart can show a value: it is finite, and differences and products of such values are finite as well.
inline bool drawable(double value) { return std::abs(value) <= 1e100; }

/// Returns about `count` round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten.
inline std::vector<double> axis_ticks(double low, double high, std::size_t count = 6) {
  if (!(high - low > 1e-12 * std::max(std::abs(low), std::abs(high)))) return {low};
  const double rough = (high - low) / static_cast<double>(count), power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * 0.999) step = factor * power;
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) ticks.push_back(k == 0 ? 0.0 : k * step);
  return ticks;
}

/// Returns the range of all drawable values with a small margin; [0, 1] if there are none.
inline std::pair<double, double> range_of(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double v : values)
    if (drawable(v)) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  if (low > high) return {0, 1};
  const double size = std::max(std::abs(low), std::abs(high));  // values that differ only by rounding count as one
  const double room = high - low > 1e-9 * size ? 0.04 * (high - low) : size > 0 ? 0.04 * size : 1.0;
  return {low - room, high + room};
}

/// Exponential moving mean with bias correction: m_i = w m_{i-1} + (1 - w) y_i, result m_i / (1 - w^i), i from 1.
/// A value that is not drawable is kept and left out of the mean.
inline std::vector<double> moving_mean(std::vector<double> y, double weight) {
  double mean = 0, left = 1;
  for (double& v : y) {
    if (!drawable(v)) continue;
    mean = weight * mean + (1 - weight) * v;
    left *= weight;
    v = mean / (1 - left);
  }
  return y;
}

namespace detail {

inline double legend_width(const std::vector<std::string>& names) {
  double width = 0;
  for (const auto& name : names) width = std::max(width, text_width(name, 12) + 48);
  return width;
}

/// The range of an axis: one number is widened, so that positions in it are defined. Errors: the range descends or is not drawable.
inline std::pair<double, double> axis_range(const ChartOptions& o, const char* axis, std::pair<double, double> range) {
  const auto [low, high] = range;
  if (!(low <= high) || !drawable(low) || !drawable(high))
    fail(cat("chart '", o.title, "'"), "the ", axis, " range is ", low, " to ", high, "; expected numbers up to 1e100 that do not descend");
  return low == high ? range_of({low}) : range;
}

/// The frame of a chart: axes, ticks, titles, marks; maps numbers to pixels.
class ChartFrame {
 public:
  /// The legend enlarges the picture instead of shrinking the chart.
  ChartFrame(const ChartOptions& o, std::pair<double, double> x, std::pair<double, double> y, const std::vector<std::string>& names)
      : svg(o.width + (o.legend ? legend_width(names) : 0), std::max(o.height, 60 + 20 * static_cast<double>(names.size())), o.title),
        x_(axis_range(o, "x", x)),
        y_(axis_range(o, "y", y)),
        right_(o.width - 16),
        bottom_(o.height - 48),
        legend_(o.legend) {
    const auto rows = axis_ticks(y_.first, y_.second);
    for (const double t : rows) left_ = std::max(left_, 32 + text_width(short_number(t), 11));  // 32: the axis label
    svg.label(left_, 20, o.title, {.size = 14, .bold = true});
    for (const double t : rows) {
      svg.line(left_, py(t), right_, py(t), "#e4e4e4");
      svg.label(left_ - 6, py(t) + 4, short_number(t), {.size = 11, .anchor = "end"});
    }
    for (const double t : axis_ticks(x_.first, x_.second)) {
      svg.line(px(t), bottom_, px(t), bottom_ + 4, "#888888");
      svg.label(px(t), bottom_ + 17, short_number(t), {.size = 11, .anchor = "middle"});
    }
    svg.frame(left_, top_, right_ - left_, bottom_ - top_);
    svg.label((left_ + right_) / 2, o.height - 10, o.x_label, {.anchor = "middle"});
    svg.label(16, (top_ + bottom_) / 2, o.y_label, {.anchor = "middle", .rotate = -90});
  }
  double px(double x) const { return left_ + (right_ - left_) * (x - x_.first) / (x_.second - x_.first); }
  double py(double y) const {
    return bottom_ - (bottom_ - top_) * (std::clamp(y, y_.first, y_.second) - y_.first) / (y_.second - y_.first);
  }
  void draw(const std::vector<ChartMark>& marks) {
    double row = bottom_ - 8;
    for (const auto& m : marks) {
      if (m.horizontal) {
        svg.line(left_, py(m.at), right_, py(m.at), "#444444", 1, "3 3");
        svg.label(right_ - 4, py(m.at) - 4, m.name, {.size = 11, .anchor = "end", .halo = true});
      } else {
        const bool late = px(m.at) > (left_ + right_) / 2;
        svg.line(px(m.at), top_, px(m.at), bottom_, "#444444", 1, "3 3");
        svg.label(px(m.at) + (late ? -4 : 4), row, m.name, {.size = 11, .anchor = late ? "end" : "start", .halo = true});
        row -= 15;
      }
    }
  }
  void legend(std::size_t i, const std::string& name, bool line) {
    if (!legend_) return;
    const double y = top_ + 10 + 20 * static_cast<double>(i), x = right_ + 12;
    if (line)
      svg.line(x, y, x + 24, y, line_colour(i), 2, line_dash(i));
    else
      svg.rectangle(x + 6, y - 6, 12, 12, line_colour(i));
    svg.label(x + 30, y + 4, name);
  }

  Svg svg;

 private:
  std::pair<double, double> x_, y_;
  double left_ = 64, top_ = 34, right_, bottom_;
  bool legend_;
};

}  // namespace detail

/// Draws lines in one chart. A point that is not drawable() interrupts its line; such a bound of a band is drawn at y.
inline std::string line_chart(const std::vector<Series>& series, const ChartOptions& options) {
  std::vector<double> xs, ys;
  std::vector<std::string> names;
  for (const Series& s : series) {
    s.check("line_chart");
    xs.insert(xs.end(), s.x.begin(), s.x.end());
    for (std::size_t i = 0; i < s.y.size(); ++i)
      for (const double bound : {s.low(i), s.high(i)}) ys.push_back(bound);
    names.push_back(s.name);
  }
  const auto x_range = options.x_range.value_or(range_of(xs)), y_range = options.y_range.value_or(range_of(ys));
  detail::ChartFrame frame(options, x_range, y_range, names);
  for (std::size_t k = 0; k < series.size(); ++k) {
    const Series& s = series[k];
    const auto mean = s.smooth ? moving_mean(s.y, 1 - 20 / std::max(20.0, static_cast<double>(s.y.size()))) : std::vector<double>{};
    const auto draw = [&](std::size_t first, std::size_t last) {
      std::vector<Svg::Point> line, band, smooth;
      for (std::size_t i = first; i < last; ++i) line.emplace_back(frame.px(s.x[i]), frame.py(s.y[i]));
      for (std::size_t i = first; i < last && s.smooth; ++i) smooth.emplace_back(frame.px(s.x[i]), frame.py(mean[i]));
      if (s.has_band()) {
        const auto add = [&](std::size_t i, double bound) {
          band.emplace_back(frame.px(s.x[i]), frame.py(drawable(bound) ? bound : s.y[i]));
        };
        for (std::size_t i = first; i < last; ++i) add(i, s.high(i));
        for (std::size_t i = last; i-- > first;) add(i, s.low(i));
        frame.svg.area(band, line_colour(k), 0.18);
      }
      if (last - first > 1 && s.line) {
        frame.svg.path(line, line_colour(k), s.smooth ? 1 : 2, s.smooth ? "" : line_dash(k), s.smooth ? 0.3 : 1);
        if (s.smooth) frame.svg.path(smooth, line_colour(k), 2, line_dash(k));
      } else if (!s.dots)  // a line with one point would be invisible
        frame.svg.dot(line[0].first, line[0].second, 2, line_colour(k));
    };
    const auto shown = [](double x, double y) { return drawable(x) && drawable(y); };
    std::size_t first = 0;
    for (std::size_t i = 0; i <= s.y.size(); ++i)
      if (i == s.y.size() || !shown(s.x[i], s.y[i])) {
        if (i > first) draw(first, i);
        first = i + 1;
      }
    for (std::size_t i = 0; s.dots && i < s.y.size(); ++i)
      if (shown(s.x[i], s.y[i]))
        frame.svg.dot(frame.px(s.x[i]), frame.py(s.y[i]), 3.5, line_colour(k),
                      cat(s.name, ": ", short_number(s.x[i]), ", ", short_number(s.y[i]),
                          s.deviation.empty() ? "" : cat(" +- ", short_number(s.deviation[i], 2)),
                          s.interval.empty() ? "" : cat(" [", short_number(s.low(i)), ", ", short_number(s.high(i)), "]")));
    for (const auto& [x, y] : s.highlights) {
      if (!shown(x, y)) continue;
      frame.svg.dot(frame.px(x), frame.py(y), 6.5, "#ffffff");
      frame.svg.dot(frame.px(x), frame.py(y), 5, line_colour(k), cat(s.name, ": ", short_number(x), ", ", short_number(y)));
    }
    frame.legend(k, s.name, true);
  }
  frame.draw(options.marks);
  return frame.svg.str();
}

/// Draws bars over bins between edges: bin b is as wide as edges[b + 1] - edges[b], its bars, one for each group, side by side in it or
/// `stacked`; heights[group][bin]. A bar of height 0 is not drawn. Errors: edges that descend; heights that are negative or not drawable().
inline std::string bar_chart(const std::vector<std::string>& groups, const std::vector<double>& edges,
                             const std::vector<std::vector<double>>& heights, const ChartOptions& options) {
  if (edges.size() < 2 || groups.size() != heights.size())
    fail("bar_chart", groups.size(), " names for ", heights.size(), " groups, and ", edges.size(), " edges");
  for (std::size_t b = 0; b + 1 < edges.size(); ++b)
    if (!(edges[b] <= edges[b + 1]))
      fail("bar_chart", "the edge ", edges[b + 1], " follows ", edges[b], "; expected edges that do not descend");
  double top = 1e-9;
  std::vector<double> base(edges.size() - 1);  // of the next bar in each bin
  for (std::size_t g = 0; g < heights.size(); ++g) {
    if (heights[g].size() + 1 != edges.size()) fail("bar_chart", heights[g].size(), " heights for ", edges.size(), " edges");
    for (std::size_t b = 0; b < base.size(); ++b) {
      const double h = heights[g][b];
      if (!(h >= 0 && drawable(h))) fail("bar_chart", "a height of '", groups[g], "' is ", h, "; expected numbers from 0 to 1e100");
      if (options.stacked) base[b] += h;
      top = std::max({top, h, base[b]});
    }
  }
  detail::ChartFrame frame(options, {edges.front(), edges.back()}, options.y_range.value_or(std::pair(0.0, 1.05 * top)), groups);
  base.assign(base.size(), 0);
  for (std::size_t g = 0; g < heights.size(); ++g) {
    const double beside = options.stacked ? 1 : static_cast<double>(heights.size()), place = options.stacked ? 0 : static_cast<double>(g);
    for (std::size_t b = 0; b + 1 < edges.size(); ++b) {
      const double left = frame.px(edges[b]), width = (frame.px(edges[b + 1]) - left) / beside;
      const double y = frame.py(base[b] + heights[g][b]), zero = frame.py(base[b]);
      if (heights[g][b] > 0)
        frame.svg.rectangle(
            left + width * place + 0.5, y, std::max(0.5, width - 1), zero - y, line_colour(g),
            cat(groups[g], ", ", short_number(edges[b]), " to ", short_number(edges[b + 1]), ": ", short_number(heights[g][b])));
      if (options.stacked) base[b] += heights[g][b];
    }
    frame.legend(g, groups[g], false);
  }
  frame.draw(options.marks);
  return frame.svg.str();
}

}  // namespace lexformer
