// SPDX-License-Identifier: MIT
// Charts of unusual numbers: points that are not finite, ranges without width, and input that cannot be drawn.
#include "lexformer/report/chart.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <utility>

#include "lexformer/report/page.hpp"
#include "lexformer/report/scatter.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

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
