// SPDX-License-Identifier: MIT
// Pictures and pages: the output is XML, contains its inputs, and is safe with hostile texts.
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>
#include <set>

#include "lexformer/metrics/metrics.hpp"
#include "report/report.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
const std::string hostile = "</script><b a='\"x\"'>&\x01\xFF\xEF\xBF\xBE \xC3\xA9";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// Checks that elements are closed in order, attributes quoted, and & and < escaped. Returns an empty string or the mistake.
std::string xml_mistake(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) < 0x20 && text[i] != '\n') return "a control character";
    if (text[i] == '&') {
      const auto end = text.find(';', i);
      const std::string entity = end == text.npos ? "" : text.substr(i + 1, end - i - 1);
      if (entity != "amp" && entity != "lt" && entity != "gt" && entity != "quot") return "a bare &";
    }
    if (text[i] == '>') return "a bare >";
    if (text[i] != '<') continue;
    const bool closing = text[i + 1] == '/';
    std::size_t at = i + 1 + closing;
    std::string name;
    while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0) name += text[at++];
    bool quoted = false;
    for (; at < text.size() && (quoted || text[at] != '>'); ++at) {
      if (text[at] == '"') quoted = !quoted;
      if (text[at] == '<') return "a < inside a tag";
    }
    if (at == text.size() || name.empty()) return "a tag that is not closed";
    if (closing) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes nothing";
      open.pop_back();
    } else if (text[at - 1] != '/') {
      open.push_back(name);
    }
    i = at;
  }
  return open.empty() ? "" : "<" + open.back() + "> is open";
}

}  // namespace

TEST_CASE("report: texts are escaped, numbers short, colours darken evenly") {
  CHECK(escape_xml(hostile) == "&lt;/script&gt;&lt;b a='&quot;x&quot;'&gt;&amp;\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD \xC3\xA9");
  CHECK(short_number(0.123456) == "0.1235");
  CHECK(short_number(-0.0) == "0");
  CHECK(short_number(1e-7) == "1e-07");
  CHECK(short_number(no_number) == "nan");
  CHECK(short_number(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(heat_colour(0) == "#ffffff");
  CHECK(heat_colour(-3) == heat_colour(no_number));
  CHECK(heat_colour(7) == heat_colour(1));
  double before = 1e9;
  for (double share = 0; share <= 1; share += 1.0 / 64) {
    const std::string c = heat_colour(share);
    const auto part = [&](std::size_t i) { return static_cast<double>(std::stoi(c.substr(i, 2), nullptr, 16)); };
    const double light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
    CHECK(light < before);
    before = light;
  }
  CHECK(xml_mistake("<a><b c=\"&lt;\"/></a>").empty());  // tests the checker itself
  for (const char* bad : {"<a>", "<a></b>", "a & b", "<a b=\"<\"/>", "a > b", "<a"}) CHECK_FALSE(xml_mistake(bad).empty());
}

TEST_CASE("report: ticks are round numbers within the range") {
  CHECK(axis_ticks(0, 1, 5) == std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1});
  CHECK(axis_ticks(-3, 12) == std::vector<double>{0, 5, 10});
  CHECK(axis_ticks(5, 5) == std::vector<double>{5});
  for (const double high : {3e-7, 0.9, 17.0, 4e9}) {
    const auto ticks = axis_ticks(0, high);
    CHECK(ticks.size() >= 3);
    CHECK(ticks.size() <= 8);
    CHECK(ticks.back() <= high * (1 + 1e-9));
  }
  CHECK(range_of({no_number}) == std::pair<double, double>{0, 1});
  CHECK(range_of({2, no_number, 4}).first < 2);
  const auto almost = range_of({70, std::nextafter(70, 71)});  // differs only by rounding
  CHECK(almost.second - almost.first > 1);
  CHECK(axis_ticks(70, std::nextafter(70, 71)).size() == 1);
  CHECK(range_of({5e-5, 5e-5}).first > 0);
}

TEST_CASE("report: the moving mean starts at the first value and passes over what is no number") {
  const auto mean = moving_mean({4, 8, no_number, 8}, 0.5);
  CHECK(mean[0] == 4);
  CHECK(mean[1] == doctest::Approx((0.25 * 4 + 0.5 * 8) / 0.75));
  CHECK(std::isnan(mean[2]));
  CHECK(mean[3] == doctest::Approx((0.125 * 4 + 0.25 * 8 + 0.5 * 8) / 0.875));
  const Series loss{"loss", {1, 2, 3}, {3, 1, 2}, {}, false, {}, true};
  CHECK(count(line_chart({loss}, {}), "stroke-opacity=\"0.3\"") == 1);
}

TEST_CASE("report: charts") {
  const std::vector<Series> series = {{hostile, {1, 2, 3, 4}, {1, no_number, 3, 2}, {}, true},
                                      {"b", {1, 2}, {0, 5}, {1, 1}, false, {{1.5, 2}}}};
  const ChartOptions options{.title = hostile, .x_label = "step", .y_label = "%", .marks = {{2, "best", false}, {1, "level", true}}};
  const std::string chart = line_chart(series, options);
  CHECK_MESSAGE(xml_mistake(chart).empty(), xml_mistake(chart));
  CHECK(count(chart, "<circle") == 5);  // three of the first series, whose NaN has none, and the highlight with its ring
  CHECK(count(line_chart({{"a", {1, 2, 3}, {1, no_number, 3}}}, options), "<circle") == 2);  // no line connects them
  CHECK(count(chart, "<polygon") == 1);                                                      // the band of the second series
  CHECK(count(chart, "best</text>") == 1);
  CHECK(count(chart, "script>") == 0);
  CHECK(count(line_chart({}, options), "<svg") == 1);
  CHECK(count(line_chart({{"only", {1, 2}, {3, 4}}}, options), ">only</text>") == 1);  // a single line has a legend, too
  CHECK(chart.find(" viewBox=\"0 0 ") != chart.npos);
  // Long numbers on the axis move the chart to the right, so that they do not overlap the label.
  const auto left = [](const std::string& svg) { return std::stod(svg.substr(svg.find("<text x=\"") + 9)); };
  CHECK(left(line_chart({{"a", {1, 2}, {0, 1}}}, options)) == 64);
  CHECK(left(line_chart({{"a", {1, 2}, {1e-5, 1.00004e-5}}}, options)) > 64);
  expect_error(
      ErrorKind::failure,
      [] {
        line_chart({{"a", {1, 2}, {1}}}, {});
      },
      "series 'a' has 2 x, 1 y");

  // A band between bounds that need not lie evenly around the line: y from 0 to 10 is drawn from 332 up to 34.
  const Series bounded{.name = "c", .x = {0, 1}, .y = {9, 4}, .interval = {{5, 10}, {0, 5}}};
  ChartOptions unit;
  unit.x_range = std::pair(0.0, 1.0);
  unit.y_range = std::pair(0.0, 10.0);
  const std::string band = line_chart({bounded}, unit);
  CHECK(count(band, "<polygon points=\"64,34 624,183 624,332 64,183 \"") == 1);
  CHECK(series_csv({bounded, {"d", {1}, {2}, {}, false, {{1, 2}}}}).str() ==
        "series,x,y,deviation,highlight,low,high\nc,0,9,,0,5,10\nc,1,4,,0,0,5\nd,1,2,,0,,\nd,1,2,,1,,\n");
  expect_error(
      ErrorKind::failure,
      [&] {
        line_chart({{.name = "c", .x = {0, 1}, .y = {9, 4}, .interval = {{5, 10}}}}, {});
      },
      "2 y, 1 intervals");

  const std::string bars = bar_chart({"no", "yes"}, {0, 0.5, 1}, {{10, 90}, {0, 100}}, {.title = "t", .x_label = "score", .y_label = "%"});
  CHECK_MESSAGE(xml_mistake(bars).empty(), xml_mistake(bars));
  CHECK(count(bars, "no, 0.5 to 1: 90") == 1);
  CHECK(count(bars, "yes, 0 to 0.5") == 0);  // a bar of height 0 is not drawn
  // Stacked, the second bar of a bin stands on the first and is as wide as the bin; the axis has room for both.
  const std::string stacked =
      bar_chart({"no", "yes"}, {0, 1}, {{10}, {30}}, {.title = "t", .x_label = "x", .y_label = "y", .stacked = true, .legend = false});
  CHECK(count(stacked, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\"") == 1);
  CHECK(count(stacked, "y=\"261.048\" width=\"559\" height=\"70.9524\"") == 1);  // 48.1905 + 212.857 = 261.048
  CHECK(count(stacked, "y=\"48.1905\" width=\"559\" height=\"212.857\"") == 1);
  expect_error(
      ErrorKind::failure,
      [] {
        bar_chart({"a"}, {0, 1}, {{1, 2}}, {});
      },
      "2 heights for 2 edges");
  expect_error(
      ErrorKind::failure, [] { bar_chart({"a"}, {}, {}, {}); }, "1 names for 0 groups");
}

TEST_CASE("report: box plots and their quantiles") {
  // Values of numpy.quantile.
  CHECK(quantile({4, 1, 3, 2}, 0.25) == 1.75);
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({3, 1, 2}, 1) == 3);
  CHECK(quantile({7}, 0.75) == 7);
  const std::string boxes = box_plot({{hostile, {1, 2, 3}}, {"one", {2.5}}}, hostile, "F1, %");
  CHECK_MESSAGE(xml_mistake(boxes).empty(), xml_mistake(boxes));
  CHECK(count(boxes, "<circle") == 4);  // a dot for each value
  CHECK(count(boxes, "one: 2.5") == 1);
  CHECK(count(boxes, "script>") == 0);
  expect_error(
      ErrorKind::failure, [] { box_plot({}, "", ""); }, "there are no groups");
  expect_error(
      ErrorKind::failure,
      [] {
        box_plot({{"a", {}}}, "", "");
      },
      "the group 'a' has no values");
  expect_error(
      ErrorKind::failure, [] { quantile({1}, 1.5); }, "q = 1.5 of 1 values");
  expect_error(
      ErrorKind::failure,
      [] {
        quantile({1, no_number}, 0.5);
      },
      "a value is nan");
}

TEST_CASE("report: intervals, and where 0 is") {
  const std::string plot = interval_plot({{hostile, 2.8, -3.25, 9.5}, {"b", 0, 0, 0}}, hostile, "difference, %");
  CHECK_MESSAGE(xml_mistake(plot).empty(), xml_mistake(plot));
  CHECK(count(plot, "<circle") == 2);
  CHECK(count(plot, ": 2.8 [-3.25, 9.5]") == 1);
  CHECK(count(interval_plot({{"far", 5, 4, 6}}, "t", "x"), ">0<") == 1);  // the axis has 0
  expect_error(
      ErrorKind::failure, [] { interval_plot({}, "", ""); }, "there are no groups");
  expect_error(
      ErrorKind::failure,
      [] {
        interval_plot({{"a", 0, no_number, 1}}, "", "");
      },
      "'a' is 0 [nan, 1]");
}

TEST_CASE("report: attention pictures, at most 200 tokens") {
  const std::vector<std::string> tokens = {"[CLS]", hostile, "##k"};
  const std::string attentions = heat_maps(tokens, {{"p", {0, 1, 2, 3, 4, 5, 6, 7, 8}, 8}, {"q", std::vector<double>(9, 0.0), 1}}, "title");
  CHECK_MESSAGE(xml_mistake(attentions).empty(), xml_mistake(attentions));
  CHECK(count(attentions, "[CLS] -&gt; ##k: 2<") == 1);
  CHECK(count(attentions, "fill=\"" + heat_colour(1) + "\"") == 3);  // the cell of 8, and the end of both colour bars
  expect_error(
      ErrorKind::failure,
      [&] {
        heat_maps(tokens, {{"p", {1}, 1}}, "t");
      },
      "panel 'p' has 1 values for 3 x 3 tokens");

  const std::string strips = token_strips(tokens, {{"plain", {0, 1, 2}}, {"lea", {2, 1, 0}}}, "title");
  CHECK_MESSAGE(xml_mistake(strips).empty(), xml_mistake(strips));
  CHECK(count(strips, "##k</text>") == 2);
  expect_error(
      ErrorKind::failure,
      [&] {
        token_strips(tokens, {{"s", {1}}}, "t");
      },
      "strip 's' has 1 values for 3 tokens");

  const std::vector<std::string> many(230, "x");
  const std::string large = heat_maps(many, {{"p", std::vector<double>(230 * 230, 1.0), 1}}, "t");
  CHECK(count(large, "<rect") > 200 * 200);
  CHECK(count(large, "x -&gt; x") == 0);  // so many tooltips would need megabytes
  CHECK(count(large, "the first 200 of 230 tokens") == 1);
  CHECK(count(token_strips(many, {{"p", std::vector<double>(230, 1.0)}}, "t"), "x: 1<") == 200);
}

TEST_CASE("report: matrices of two texts, and their dependency trees") {
  const std::vector<std::string> left = {"a", hostile}, right = {"x", "y", "z"};
  const std::string maps = heat_maps(left, right, {{"M", {0, 1, 2, 3, 4, 5}, 5}}, "title");
  CHECK_MESSAGE(xml_mistake(maps).empty(), xml_mistake(maps));
  CHECK(count(maps, "a -&gt; z: 2<") == 1);

  const auto tree = [](const std::vector<std::string>& forms, const std::vector<std::size_t>& heads) {
    DependencyTrees trees;
    std::vector<DependencyWord> words;
    for (const auto& form : forms) words.push_back({form, form, "rel"});
    trees.add_sentence(std::move(words), heads, "test");
    return trees;
  };
  // The arcs 1-2 and 4-5 are at level 1, 1-3 (over 1-2) at 2, 1-5 (over all) at 3.
  const auto a = tree({"exceeded", hostile, "c", "d", "e"}, {0, 1, 1, 5, 1}), b = tree({"f"}, {0});
  const std::string trees = tree_picture(a, b, {0, 0.5, 0, 0, 2}, "title");
  CHECK_MESSAGE(xml_mistake(trees).empty(), xml_mistake(trees));
  CHECK(count(trees, ">rel</text>") == 6);
  CHECK(count(trees, "<polyline") == 4 + 2 + 2);  // arcs, strokes of the roots, lines between the texts
  CHECK(count(trees, "M_F up to 2;") == 1);
  std::vector<double> heights;
  for (std::size_t at = trees.find(">rel</text>"); at != trees.npos && heights.size() < 5; at = trees.find(">rel</text>", at + 1)) {
    const std::size_t y = trees.find(" y=\"", trees.rfind("<text", at));
    heights.push_back(std::stod(trees.substr(y + 4)));
  }
  REQUIRE(heights.size() == 5);
  CHECK(heights[1] == heights[3]);
  CHECK(heights[1] - heights[2] == doctest::Approx(22));
  CHECK(heights[2] - heights[4] == doctest::Approx(22));
  expect_error(
      ErrorKind::failure, [&] { tree_picture(a, b, {1}, "t"); }, "tree_picture: the matrix has 1 entries for 5 x 1 words");
  DependencyTrees wrong = b;  // a table checks the heads, a caller's own trees may have any
  wrong.words[0].head = 7;
  expect_error(
      ErrorKind::failure,
      [&] {
        tree_picture(a, wrong, {0, 0, 0, 0, 0}, "t");
      },
      "tree_picture: the head of word 0, 'f', is 7; expected an index below 1, or -1 for a root");
}

TEST_CASE("report: a page holds its pictures, fetches nothing, and writes what it shows") {
  ReportPage page(hostile);
  page.heading("h & h");
  page.footer("a < b");
  page.paragraph(hostile);
  page.add("<p class=\"lead\">as it is</p>\n");
  page.table({"a", "b"}, {{escape_xml(hostile), mark_differences("sony blk tv", "sony black radio")}});
  Csv csv({"x", "text"});
  csv.row({"1", "a \"b\", c"});
  CHECK(csv.str() == "x,text\n1,\"a \"\"b\"\", c\"\n");
  CHECK_THROWS_AS(csv.row({"1"}), Error);
  page.picture("one", line_chart({{"s", {1, 2}, {3, 4}}}, {}), csv, "caption");
  CHECK_THROWS_WITH_AS(page.picture("one", "", csv, "caption"), "ReportPage: there are two pictures 'one'", Error);
  CHECK_THROWS_WITH_AS(page.picture("two", "", csv, ""), "ReportPage: the picture 'two' has no caption", Error);
  CHECK_NOTHROW(ReportPage(page).picture("two", "", csv, "caption"));  // the failure left nothing behind
  const std::string html = page.html();
  CHECK(count(html, "<p class=\"lead\">as it is</p>") == 1);
  CHECK(ReportPage("t", "p.lead{color:red}").html().find("p.lead{color:red}</style>") != std::string::npos);
  CHECK(count(html, "<footer>\n<p>a &lt; b</p>\n</footer>") == 1);
  CHECK(count(html, "<script") == 0);
  CHECK(count(html, "@media (prefers-color-scheme:dark)") == 1);
  CHECK(count(html, "://") == 1);  // only the SVG namespace
  CHECK(count(html, "<svg") == 1);
  CHECK(count(html, "figure svg{display:block;max-width:100%;height:auto}") == 1);  // pictures are never wider than the screen
  const TemporaryFolder folder;
  page.save(folder.path / "r");
  CHECK(read_file((folder.path / "r/index.html").string()) == html);
  CHECK(read_file((folder.path / "r/one.csv").string()) == csv.str());
  CHECK(read_file((folder.path / "r/one.svg").string()).starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns="));
  CHECK(series_csv({{"s", {1}, {2}, {0.5}, false, {{3, 4}}}}).str() == "series,x,y,deviation,highlight\ns,1,2,0.5,0\ns,3,4,,1\n");
}

TEST_CASE("report: a picture's files stay in the folder of the page, and its links lead to them") {
  ReportPage page("t");
  const Csv csv({"x"});
  for (const char* name : {"../x", "a#1", "a 1", "a-1", "\xC3\xA9", ".", "A_z.9"}) page.picture(name, "<svg/>", csv, "caption");
  const TemporaryFolder folder;
  page.save(folder.path / "in/page");
  std::set<std::string> files, expected{"index.html"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path))
    if (entry.is_regular_file()) files.insert(std::filesystem::relative(entry.path(), folder.path / "in/page").string());
  const std::string html = page.html();
  for (const std::string name : {"-.-x", "a-1", "a-1-2", "a-1-3", "--", "-", "A_z.9"})
    for (const char* type : {".svg", ".csv"}) {
      expected.insert(name + type);
      CHECK_MESSAGE(count(html, "href=\"" + name + type + "\"") == 1, name);
    }
  CHECK(files == expected);
  CHECK_THROWS_WITH_AS(page.picture("a#1", "", csv, "caption"), "ReportPage: there are two pictures 'a#1'", Error);
  CHECK_THROWS_WITH_AS(page.picture("", "", csv, "caption"), "ReportPage: a picture has no name", Error);
}

TEST_CASE("report: words that the other text lacks are marked") {
  CHECK(mark_differences("Sony  black tv", "TV sony blakc") == "Sony <u class=\"near\" title=\"blakc\">black</u> tv");
  CHECK(mark_differences("a<b", "") == "<b class=\"only\">a&lt;b</b>");
  CHECK(mark_differences("", "x").empty());
}

TEST_CASE("a map of numbers: every cell, names, the range; nothing but zeros does no harm") {
  const std::string map = number_map({"-1", "0", "1"}, {"a", "b"}, {-2, 0, 1, 2, 3, 4}, "T", "x axis", "y axis");
  for (const char* text : {">-1<", ">a<", ">x axis<", ">y axis<", ">-2<", ">4<"}) CHECK_MESSAGE(map.find(text) != map.npos, text);
  CHECK(map.find(heat_colour(0)) != map.npos);
  CHECK(map.find(heat_colour(1)) != map.npos);
  CHECK(number_map({"r"}, {"c"}, {0}, "T", "x", "y").find("nan") == std::string::npos);
  // The position of 0 is shown, unless it is at or near an end of the scale.
  CHECK(number_map({"r"}, {"b", "c"}, {-2, 3}, "T", "x", "y").find(">0<") != std::string::npos);
  CHECK(number_map({"r"}, {"b", "c"}, {-1, 9}, "T", "x", "y").find(">0<") == std::string::npos);
  CHECK_THROWS_WITH_AS(number_map({"r"}, {"c"}, {0, 1}, "T", "x", "y"), "number_map: 2 values for 1 rows of 1", Error);
}

TEST_CASE("precision_recall_curve: a point for each distinct score; its area is the average precision") {
  const std::vector<double> scores = {0.9, 0.8, 0.8, 0.4, 0.1};
  const std::vector<std::int32_t> labels = {1, 0, 1, 1, 0};
  const auto curve = precision_recall_curve(scores, labels);
  REQUIRE(curve.size() == 4);
  CHECK(curve[1].score == 0.8);
  CHECK(curve[1].precision == doctest::Approx(2.0 / 3));
  CHECK(curve[1].recall == doctest::Approx(2.0 / 3));
  CHECK(curve.back().recall == 1);
  double area = 0, before = 0;
  for (const auto& p : curve) {
    area += p.precision * (p.recall - before);
    before = p.recall;
  }
  CHECK(area == doctest::Approx(average_precision(scores, labels)).epsilon(1e-12));
}
