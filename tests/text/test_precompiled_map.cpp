// SPDX-License-Identifier: MIT
#include "lexformer/text/precompiled_map.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/charsmap.hpp"
#include "support/expect_error.hpp"
#include "support/normalized.hpp"

using namespace lexformer;

namespace {

const std::vector<std::pair<std::string, std::string>> rules = {
    {"e", "E"},     {"e\u0301", "\u00E9"},  {"\u0301", ""},    {"\r\n", "N"},    {"\uFB01", "fi"},
    {"\u00AD", ""}, {"o\u0308\u0304", "O"}, {"\u00BD", "1/2"}, {"\u0B95", "ka"}, {"\u00A9", "(c)"}};

}  // namespace

TEST_CASE("the shortest key with which a text begins gives its replacement") {
  const PrecompiledMap map(charsmap::of_rules(rules));
  CHECK(map.find("e") == "E");
  CHECK(map.find("e\u0301") == "E");
  CHECK(map.find("\uFB01n") == "fi");
  CHECK(map.find("\u00AD") == "");
  CHECK(map.find("\r\n") == "N");
  for (const char* text : {"", "\r", "o\u0308", "x", "\xEF\xAC", "\u4E2D"}) CHECK(map.find(text) == std::nullopt);
  CHECK(map.find({"\0e", 2}) == std::nullopt);
  CHECK(map.bytes() == charsmap::of_rules(rules));
}

TEST_CASE("charsmaps are applied as by PyPI tokenizers: to short grapheme clusters as a whole, else to characters") {
  const PrecompiledMap map(charsmap::of_rules(rules));
  const auto apply = [&](std::string_view text) {
    NormalizedText characters = to_characters(text);
    map.apply(characters);
    return normalized::spell(characters);
  };
  CHECK(apply("e") == "E [0 1]");
  CHECK(apply("e\u0301x") == "Ex [0 1, 2 3]");
  CHECK(apply("xe\u0301\u0301y") == "xEy [0 1, 1 2, 4 5]");
  CHECK(apply("e\u0301\u0301\u0301") == "E [0 1]");
  CHECK(apply("\r\na\r") == "Na\r [0 1, 2 3, 3 4]");
  CHECK(apply("\uFB01n") == "fin [0 1, 0 1, 1 2]");
  CHECK(apply("o\u0308\u0304") == "O [0 1]");
  CHECK(apply("o\u0308\u0304\u0304") == "o\u0308\u0304\u0304 [0 1, 1 2, 2 3, 3 4]");
  CHECK(apply("\u0B95\u0BCBx") == "ka\u0BCBx [0 1, 0 1, 1 2, 2 3]");
  CHECK(apply("\u00A9\u200D\u00A9\u0301") == "(c)\u200D(c) [0 1, 0 1, 0 1, 1 2, 2 3, 2 3, 3 4]");
  CHECK(apply("plain") == "plain [0 1, 1 2, 2 3, 3 4, 4 5]");
}

TEST_CASE("a removed character is taken by the one before it, even by an inserted one, and one at the beginning moves the offsets") {
  const PrecompiledMap map(charsmap::of_rules(rules));
  const auto apply = [&](std::string_view text) {
    NormalizedText characters = to_characters(text);
    map.apply(characters);
    return normalized::spell(characters);
  };
  CHECK(apply("ab\u0301\u00AD\u0301c") == "abc [0 1, 1 2, 5 6]");
  CHECK(apply("x\uFB01\u00AD\u00ADz") == "xfiz [0 1, 1 2, 2 3, 4 5]");
  CHECK(apply("1\u00BD\u00AD\u00AD.") == "11/2. [0 1, 1 2, 1 2, 2 3, 4 5]");
  CHECK(apply("\u00ADa\u00ADb") == "ab [0 1, 2 3]");
  CHECK(apply("\u0301") == " []");
}

TEST_CASE("damaged charsmaps are refused") {
  const auto refused = [](const std::string& bytes, const std::string& message) {
    expect_file_error([&] { PrecompiledMap(bytes, "model.spm"); }, "model.spm: " + message);
  };
  const std::string good = charsmap::of_rules(rules);
  refused("", "a charsmap of 0 bytes with a trie of 0 bytes");
  refused(good.substr(0, 100), "a charsmap of 100 bytes with a trie of");
  refused(std::string(8, '\0'), "a charsmap of 8 bytes with a trie of 0 bytes");
  refused({"\3\0\0\0abc", 7}, "a charsmap of 7 bytes with a trie of 3 bytes; expected a multiple of 4");
  refused(good + "\xFF", cat("the replacements of the charsmap are not UTF-8 at byte ", good.size()));
  using charsmap::unit;
  std::vector<std::uint32_t> units(512);
  units[0] = unit(0, 0, 256, false);
  units['a' ^ 256] = unit('a' ^ 256, 'a', 1024, false);
  refused(charsmap::bytes(units, "x"), "unit 353 of the charsmap points to unit 1024 of 512");
  units[2] = 0x80000002;
  units['a' ^ 256] = unit('a' ^ 256, 'a', 2, true);
  refused(charsmap::bytes(units, "x"), "unit 353 of the charsmap has the replacement at byte 2 of 1");
  units[2] = 0x80000001;
  refused(charsmap::bytes(units, "\u00E4"),
          "unit 353 of the charsmap has the replacement at byte 1 of 2: expected the first byte of a character");
  CHECK(PrecompiledMap(charsmap::bytes(units, "x")).find("a") == "");
}

TEST_CASE("the first unit may point out of the trie no more than others, even as a value") {
  std::vector<std::uint32_t> units(256);
  units[0] = 0x80000000;
  expect_file_error([&] { PrecompiledMap(charsmap::bytes(units, "")); }, "unit 0 of the charsmap points to unit 2097152 of 256");
}

TEST_CASE("the offsets of a trie may form a circle") {
  std::vector<std::uint32_t> units(512);
  units[0] = charsmap::unit(0, 0, 256, false);
  units['a' ^ 256] = charsmap::unit('a' ^ 256, 'a', 256, false);
  CHECK(PrecompiledMap(charsmap::bytes(units, "")).find(std::string(1000, 'a')) == std::nullopt);
}

TEST_CASE("a trie without whole blocks ends with units that no key reaches") {
  std::vector<std::uint32_t> units(100);
  units[0] = charsmap::unit(0, 0, 3, false);
  units['a' ^ 3] = charsmap::unit('a' ^ 3, 'a', 1, true);
  units[1] = 0x80000000;
  const PrecompiledMap map(charsmap::bytes(units, "x"));
  CHECK(map.find("a") == "x");
  CHECK(map.find("\u00FF") == std::nullopt);
}
