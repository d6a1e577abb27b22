// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <ctime>
#include <string>
#include <type_traits>
#include <utility>

#include "lexformer/data/table.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

TEST_CASE("parse_json: what is JSON is read") {
  const Json value = parse_json(R"( {"b": [1, 2.5, null, "x\u00e9"], "a": {"c": {}}} )", "f.json");
  CHECK(value["b"][3] == "x\u00e9");
  CHECK(dump_json(value, "f.json") == "{\"a\":{\"c\":{}},\"b\":[1,2.5,null,\"x\u00e9\"]}");
}

TEST_CASE("parse_json: what is not JSON is refused with file, line and column") {
  expect_file_error([] { parse_json("{\"a\": 1,\n \"b\": tru }", "f.json"); }, "f.json: not JSON: line 2, column 10");
  expect_file_error([] { parse_json(R"({"a": 1, "b": {"c": 1, "c": 2}})", "f.json"); }, "f.json: the key 'c' occurs twice");
  expect_file_error([] { parse_json(R"({"a": 1} x)", "f.json"); }, "f.json: not JSON: line 1, column 10");
  expect_file_error([] { parse_json(std::string("{\"a\": 1}\0junk", 13), "f.json"); }, "byte 9 is zero");
  expect_file_error([] { parse_json("", "f.json"); }, "f.json: not JSON: line 1, column 1");
  expect_file_error([] { parse_json("\"a\xFF\xFE\"", "f.json"); }, "f.json: not JSON: line 1, column 3");
  expect_file_error([] { parse_json("[1e999]", "f.json"); }, "f.json: not JSON");
  expect_file_error([] { parse_json("[NaN]", "f.json"); }, "f.json: not JSON");
  expect_file_error([] { parse_json("// c\n1", "f.json"); }, "f.json: not JSON");
  expect_file_error([] { parse_json(std::string(1000, '['), "f.json"); }, "f.json: more than 32 arrays");
  expect_file_error([] { parse_json("[[[1]]]", "f.json", {.depth = 2}); }, "more than 2 arrays");
  expect_file_error([] { parse_json("[1,2,3]", "f.json", {.bytes = 6}); }, "f.json: has 7 bytes, more than the 6");
  expect_file_error([] { parse_json(R"({"a":[1]})", "f.json", {.values = 5}); }, "f.json: has more than 5 keys, values and brackets");
  CHECK_NOTHROW(parse_json(R"({"a":[1]})", "f.json", {.values = 6}));
  CHECK_NOTHROW(parse_json("[[1]]", "f.json", {.depth = 2, .bytes = 5}));
  // The same key in two different objects is not a duplicate.
  CHECK_NOTHROW(parse_json(R"([{"a": 1}, {"a": 2, "b": {"a": 3}}])", "f.json"));
  expect_file_error([] { dump_json(Json("\xFF"), "f.json"); }, "f.json: cannot be written as JSON");
}

TEST_CASE("config values are checked for kind and range") {
  const Json c =
      parse_json(R"({"n": 12, "neg": -3, "float": 1.0, "big": 18446744073709551616, "s": "gelu", "b": true, "x": 0.5, "null": null,
                        "list": [1], "object": {}, "header": "yes"})",
                 "c");
  CHECK(get_size(c, "n", 1, 256, "c") == 12);
  CHECK(get_size(c, "missing", 1, 256, "c", 7) == 7);
  CHECK(get_size(c, "null", 1, 256, "c", 7) == 7);
  expect_file_error([&] { get_size(c, "n", 1, 11, "c"); }, "c: 'n' is 12, expected a whole number from 1 to 11");
  expect_file_error([&] { get_size(c, "n", 13, 20, "c"); }, "c: 'n' is 12");
  expect_file_error([&] { get_size(c, "neg", 0, 256, "c"); }, "c: 'neg' is -3");
  expect_file_error([&] { get_size(c, "float", 0, 256, "c"); }, "c: 'float' is 1.0");
  expect_file_error([&] { get_size(c, "big", 0, ~std::size_t{0}, "c"); }, "c: 'big' is");
  expect_file_error([&] { get_size(c, "s", 0, 256, "c", 3); }, "c: 's' is 'gelu'");
  expect_file_error([&] { get_size(c, "missing", 0, 256, "c"); }, "c: the key 'missing' is missing");
  expect_file_error([&] { get_size(c, "null", 0, 256, "c"); }, "c: 'null' is null");
  expect_file_error([&] { get_size(Json::array(), "n", 0, 256, "c"); }, "c: expected a JSON object, found array");
  CHECK(get_number(c, "x", 0, 1, "c") == 0.5);
  CHECK(get_number(c, "n", 0, 100, "c") == 12);
  CHECK(get_number(c, "missing", 0, 1, "c", 0.25) == 0.25);
  expect_file_error([&] { get_number(c, "x", 0, 0.25, "c"); }, "c: 'x' is 0.5, expected a number from 0 to 0.25");
  expect_file_error([&] { get_number(c, "b", 0, 1, "c"); }, "c: 'b' is true");
  CHECK(get_bool(c, "b", "c"));
  CHECK(get_bool(c, "missing", "c", true));
  expect_file_error([&] { get_bool(c, "n", "c"); }, "c: 'n' is 12, expected true or false");
  CHECK(get_string(c, "s", "c") == "gelu");
  CHECK(get_string(c, "missing", "c", "d") == "d");
  expect_file_error([&] { get_string(c, "b", "c"); }, "c: 'b' is true, expected a text");
  expect_file_error([&] { get_string(c, "list", "c"); }, "c: 'list' is an array, expected a text");
  expect_file_error([&] { get_number(c, "object", 0, 1, "c", 0.5); }, "c: 'object' is an object, expected a number");
  CHECK(get_name<TableHeader>(c, "header", "c") == TableHeader::yes);
  CHECK(get_name<TableHeader>(c, "missing", "c", TableHeader::no) == TableHeader::no);
  expect_file_error([&] { get_name<TableHeader>(c, "s", "c"); }, "c: 's' is 'gelu', expected one of: auto, yes, no");
  expect_file_error([&] { get_name<TableHeader>(c, "x", "c"); }, "c: 'x' is 0.5, expected one of: auto, yes, no");
}

TEST_CASE("parse_json: many objects inside one take time by their number, not by its square") {
  const auto objects = [](int begin, int end) {
    std::string text = "{";
    for (int i = begin; i < end; ++i) text += cat(i == begin ? "" : ",", "\"", i, "\":{\"a\":[0],\"b\":{}}");
    return text;
  };
  const auto processor_time = [](const std::string& json) {
    const std::clock_t start = std::clock();
    parse_json(json, "f.json");
    return std::clock() - start;
  };
  const std::string text = objects(0, 60000);
  std::string apart = "[";
  for (int i = 0; i < 60000; i += 100) apart += cat(i == 0 ? "" : ",", objects(i, i + 100), "}");
  CHECK(parse_json(text + "}", "f.json").size() == 60000);
  CHECK(processor_time(text + "}") < 8 * processor_time(apart + "]"));  // by the square of their number it took 40 s
  expect_file_error([&] { parse_json(text + "}", "f.json", {.values = 400000}); },
                    "f.json: has more than 400000 keys, values and brackets");
}

TEST_CASE("parse_json: a long number or text is cut in the message") {
  try {
    get_size(parse_json("{\"n\": \"" + std::string(15u << 20, '9') + "\"}", "f.json"), "n", 0, 1, "f.json");
    FAIL_CHECK("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).size() < 1100);
  }
  expect_file_error([] { parse_json(std::string(15u << 20, '9') + "x", "f.json"); }, "f.json: not JSON");
}

TEST_CASE("a JsonValue is a Json behind a pointer: deep copies, conversions both ways, an error for a key that is not there") {
  CHECK(static_cast<const Json&>(JsonValue()).is_null());
  CHECK(JsonValue::object()->is_object());
  CHECK(JsonValue::array()->is_array());
  JsonValue a(Json{{"x", 1}}), b = a;
  b["x"] = 2;
  b["y"] = "new";
  CHECK(a["x"] == 1);
  CHECK_FALSE(a == b);
  const Json out = b;
  CHECK(out == Json{{"x", 2}, {"y", "new"}});
  a = out;
  CHECK(a == b);
  b = std::move(a);
  a = Json(3);
  CHECK(a == JsonValue(Json(3)));
  CHECK(Json{{"inside", b}} == Json{{"inside", {{"x", 2}, {"y", "new"}}}});
  const JsonValue& constant = b;
  CHECK(constant["x"] == 2);
  CHECK_THROWS_AS(constant["z"], Json::exception);
  static_assert(!std::is_convertible_v<Json, JsonValue>);  // {{"x", 1}} would be ["x", 1]
}
