// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <optional>

#include "lexformer/io/json.hpp"
#include "lexformer/io/options.hpp"
#include "lexformer/noise/typos.hpp"

using namespace lexformer;

namespace {

struct Part {
  bool on = false;
  double share = 0.5;
  void visit(OptionVisitor& v) {
    v.flag("on", on, "a flag");
    v.number("share", share, bounds::share, "a share");
  }
};

struct Everything {
  std::size_t size = 3, first = 1, last = 2, total = 4;
  int integer = -1;
  double number = 0.25;
  std::string text = "t", input = "in", output = "out";
  std::optional<std::size_t> optional_size;
  std::optional<double> optional_number;
  std::optional<std::string> optional_text = "x";
  std::vector<std::size_t> sizes{1, 2};
  std::vector<double> numbers{0.5};
  std::vector<std::string> texts{"a", "b"};
  TypoMode mode = TypoMode::ocr;
  std::optional<TypoMode> other;
  std::map<std::string, std::size_t> words{{"w", 4}};
  Part part;
  void visit(OptionVisitor& v) {
    v.size("size", size, 1, 10, "").key("n");
    v.size("optional_size", optional_size, 0, "");
    v.integer("integer", integer, -1, 5, "");
    v.number("number", number, 0, 1, "");
    v.number("optional_number", optional_number, bounds::any, "").identity(optional_number.has_value());
    v.text("text", text, "").only_if(size > 3, "needs more");
    v.text("optional_text", optional_text, "");
    v.list("sizes", sizes, 0, 9, "");
    v.list("numbers", numbers, bounds::positive, "");
    v.list("texts", texts, "").also("words");
    v.choice("mode", mode, "");
    v.choice("other", other, "");
    v.input("input", input, "");
    v.output("output", output, "").identity(true);
    v.counts("counts", total, words);
    v.layers(first, last, "");
    v.group("Part");
    v.nested("part_", [&](OptionVisitor& of_part) { of_part.leave_out("on", [&](OptionVisitor& o) { part.visit(o); }); });
  }
};

}  // namespace

TEST_CASE("options as JSON: every kind, by name; the identity of a run by key") {
  Everything o;
  const auto visit = [&](OptionVisitor& v) { o.visit(v); };
  CHECK(options_json(visit).dump() ==
        R"({"counts":{"total":4,"words":{"w":4}},"first_layer":1,"input":"in","integer":-1,"last_layer":2,"mode":"ocr","number":0.25,)"
        R"("numbers":[0.5],"optional_number":null,"optional_size":null,"optional_text":"x","other":"","output":"out","part_share":0.5,)"
        R"("size":3,"sizes":[1,2],"text":"t","texts":["a","b"]})");
  const Json identity = identity_json(visit);
  CHECK(identity.at("n") == 3);
  CHECK(identity.at("output") == "out");
  for (const char* name : {"size", "input", "optional_number"}) CHECK_FALSE(identity.contains(name));
}

TEST_CASE("options are found by name and alias, know their group, and why they have no effect") {
  Everything o;
  OptionVisitor v;
  o.visit(v);
  REQUIRE(v.find("words") != nullptr);
  CHECK(v.find("words") == v.find("texts"));
  CHECK(v.find("part_on") == nullptr);
  CHECK(v.find("part_share")->group == "Part");
  CHECK(v.find("text")->unused == "needs more");
  CHECK_FALSE(v.given("text"));
  v.find("text")->is_given = true;
  CHECK(v.given("text"));
  o.size = 4;
  OptionVisitor again;
  o.visit(again);
  CHECK(again.find("text")->unused.empty());
}

TEST_CASE("options are read from JSON: in range, and no others") {
  Part part;
  const auto visit = [&](OptionVisitor& v) { part.visit(v); };
  read_options(R"({"share": 1})", "f", visit);
  CHECK(part.share == 1);
  CHECK_FALSE(part.on);
  CHECK_THROWS_WITH_AS(read_options(R"({"share": 2})", "f", visit), doctest::Contains("'share' is 2"), Error);
  CHECK_THROWS_WITH_AS(read_options(R"({"shares": 1})", "f", visit), "f: 'shares' is not an option; expected one of: on, share", Error);
  CHECK_THROWS_WITH_AS(read_options("[]", "f", visit), "f: expected a JSON object, found array", Error);
  std::vector<std::string> list;
  CHECK_THROWS_WITH_AS(read_options("{}", "f", [&](OptionVisitor& v) { v.list("list", list, ""); }),
                       "f: the option list cannot be read from a file", Error);
}
