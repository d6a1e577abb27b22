// SPDX-License-Identifier: MIT
// Charts of unusual numbers: points that are not finite, ranges without width, and input that cannot be drawn.
#include "report/chart.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <utility>

#include "report/page.hpp"
#include "report/scatter.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// Whether all positions are numbers; the names in these tests contain no "nan" or "inf".
bool positions_are_finite(const std::string& svg) { return svg.find("nan") == svg.npos && svg.find("inf") == svg.npos; }

using Range = std::optional<std::pair<double, double>>;

ChartOptions with_ranges(Range x, Range y) {
  ChartOptions options;
  options.title = "T";
  options.x_range = x;
  options.y_range = y;
  return options;
}

}  // namespace

TEST_CASE("series_csv and line_chart refuse a series of lists that do not match") {
  const Series short_y{"a", {1, 2}, {1}}, short_deviation{"b", {1, 2}, {1, 2}, {1}};
  const Series short_interval{.name = "c", .x = {1, 2}, .y = {1, 2}, .interval = {{0, 1}}};
  const auto in_both = [](const Series& s, const std::string& message) {
    CHECK(error_message([&] { line_chart({s}, {}); }) == "line_chart: " + message);
    CHECK(error_message([&] { series_csv({s}); }) == "series_csv: " + message);
  };
  in_both(short_y, "series 'a' has 2 x, 1 y and 0 deviations; expected a y for each x, and as many deviations or none");
  in_both(short_deviation, "series 'b' has 2 x, 2 y and 1 deviations; expected a y for each x, and as many deviations or none");
  in_both(short_interval, "series 'c' has 2 y, 1 intervals and 0 deviations; expected an interval for each y and no deviations");
}

TEST_CASE("line_chart: a point whose x or y is not finite interrupts the line") {
  for (const double bad : {not_a_number, infinite, -infinite}) {
    const std::string gap_x = line_chart({{"a", {1, 2, bad, 4, 5}, {1, 2, 3, 4, 5}, {}, true}}, {});
    const std::string gap_y = line_chart({{"a", {1, 2, 3, 4, 5}, {1, 2, bad, 4, 5}, {}, true}}, {});
    for (const std::string& svg : {gap_x, gap_y}) {
      CHECK(positions_are_finite(svg));
      CHECK(count_of(svg, "stroke=\"#0072b2\" stroke-width=\"2\"") == 3);  // two pieces and the legend
      CHECK(count_of(svg, "<circle") == 4);
    }
    const std::string highlights = line_chart({{"a", {1, 2}, {1, 2}, {}, false, {{bad, 1}, {1, bad}, {1, 1}}}}, {});
    CHECK(positions_are_finite(highlights));
    CHECK(count_of(highlights, "<circle") == 2);  // the one finite highlight with its ring
  }
}

TEST_CASE("line_chart: a band has no width where its bound is not finite") {
  // y from 0 to 10 is drawn from 332 up to 34, x from 0 to 1 from 64 to 624.
  const ChartOptions options = with_ranges({{0, 1}}, {{0, 10}});
  for (const double bad : {not_a_number, infinite}) {
    CHECK(count_of(line_chart({{"a", {0, 1}, {5, 5}, {5, bad}}}, options), "points=\"64,34 624,183 624,183 64,332 \"") == 1);
    const Series bounded{.name = "a", .x = {0, 1}, .y = {5, 5}, .interval = {{0, 10}, {0, bad}}};
    CHECK(count_of(line_chart({bounded}, options), "points=\"64,34 624,183 624,332 64,332 \"") == 1);
  }
}

TEST_CASE("charts: a range of one number is widened, one that descends or is not finite is refused") {
  const std::string histogram = bar_chart({"a"}, {1, 1}, {{3}}, {});
  CHECK(positions_are_finite(histogram));
  CHECK(count_of(histogram, "a, 1 to 1: 3") == 1);
  CHECK(positions_are_finite(bar_chart({"a"}, {0, 1}, {{0}}, with_ranges({}, {{0, 0}}))));
  CHECK(positions_are_finite(line_chart({{"a", {1, 2}, {1, 1}}}, with_ranges({{2, 2}}, {{1, 1}}))));
  CHECK(positions_are_finite(scatter_plot({{"a", 1, 1, 0}}, {"g"}, with_ranges({{1, 1}}, {{1, 1}}))));

  const Series line{"a", {1, 2}, {1, 2}};
  CHECK(error_message([&] {
          line_chart({line}, with_ranges({}, {{3, 1}}));
        }) == "chart 'T': the y range is 3 to 1; expected numbers up to 1e100 that do not descend");
  CHECK(error_message([&] {
          line_chart({line}, with_ranges({{0, infinite}}, {}));
        }) == "chart 'T': the x range is 0 to inf; expected numbers up to 1e100 that do not descend");
  CHECK(error_message([&] {
          line_chart({line}, with_ranges({}, {{not_a_number, 1}}));
        }) == "chart 'T': the y range is nan to 1; expected numbers up to 1e100 that do not descend");
  CHECK(error_message([] {
          scatter_plot({{"a", 1, 1, 0}}, {"g"}, with_ranges({{3, 1}}, {}));
        }) == "chart 'T': the x range is 3 to 1; expected numbers up to 1e100 that do not descend");
}

TEST_CASE("bar_chart refuses bars below 0 or without a height, and edges that descend") {
  CHECK(error_message([] {
          bar_chart({"a"}, {0, 1, 2}, {{1, -2}}, {});
        }) == "bar_chart: a height of 'a' is -2; expected numbers from 0 to 1e100");
  CHECK(error_message([] {
          bar_chart({"a"}, {0, 1}, {{not_a_number}}, {});
        }) == "bar_chart: a height of 'a' is nan; expected numbers from 0 to 1e100");
  CHECK(error_message([] {
          bar_chart({"a"}, {0, 1, 0.5, 2}, {{1, 1, 1}}, {});
        }) == "bar_chart: the edge 0.5 follows 1; expected edges that do not descend");
  CHECK(error_message([] {
          bar_chart({"a"}, {0, not_a_number, 1}, {{1, 1}}, {});
        }) == "bar_chart: the edge nan follows 0; expected edges that do not descend");
  // A bar is as wide as its bin: bins of 1 and 3 of 560 pixels, less a gap of 1.
  const std::string bars = bar_chart({"a"}, {0, 1, 4}, {{1, 1}}, {});
  CHECK(count_of(bars, "width=\"139\"") == 1);
  CHECK(count_of(bars, "width=\"419\"") == 1);
}

TEST_CASE("line_chart: huge values are left out, so that no position is infinite") {
  const std::string chart = line_chart({{"a", {0, 1, 2, 3}, {1, 2, 1e308, -1e308}}}, {});
  CHECK(chart == line_chart({{"a", {0, 1, 2, 3}, {1, 2, not_a_number, not_a_number}}}, {}));
  CHECK(count_of(chart, "inf") == 0);
}
