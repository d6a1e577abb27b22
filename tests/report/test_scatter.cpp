// SPDX-License-Identifier: MIT
#include "report/scatter.hpp"

#include <doctest/doctest.h>

#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// The y of the label with this text.
double label_y(const std::string& svg, const std::string& text) {
  const auto at = svg.find(">" + text + "<");
  REQUIRE(at != svg.npos);
  const auto tag = svg.rfind("<text", at), y = svg.find(" y=\"", tag);
  return std::stod(svg.substr(y + 4));
}

}  // namespace

TEST_CASE("scatter_plot: a dot and a name for each point, names that do not cover each other") {
  const std::string svg = scatter_plot({{"one", 0, 0, 0}, {"two", 1, 1, 1}, {"<three>", 0.001, 0, 0}, {"four", 0, 0, 1}},
                                       {"known", "imputed"}, {.title = "words", .x_label = "x", .y_label = "y"});
  for (const std::string part : {"one", "two", "&lt;three&gt;", "four", "known", "imputed", "words"}) CHECK(svg.find(part) != svg.npos);
  CHECK(svg.find("<three>") == svg.npos);
  std::size_t dots = 0;
  for (std::size_t at = svg.find("<circle"); at != svg.npos; at = svg.find("<circle", at + 1)) ++dots;
  CHECK(dots == 4);
  const double a = label_y(svg, "one"), b = label_y(svg, "&lt;three&gt;"), c = label_y(svg, "four");
  CHECK(std::abs(a - b) >= 13.9);
  CHECK(std::abs(a - c) >= 13.9);
  CHECK(std::abs(b - c) >= 13.9);
  CHECK(scatter_plot({}, {"none"}, {.title = "empty", .x_label = "x", .y_label = "y"}).find("empty") != std::string::npos);
  CHECK(error_message([] { scatter_plot({{"a", 0, 0, 2}}, {"x", "y"}, {}); }) == "scatter_plot: point 'a' is in group 2 of 2");
}
