// SPDX-License-Identifier: MIT
#include "lexformer/core/error.hpp"

#include <doctest/doctest.h>

#include <locale>
#include <sstream>
#include <string>

using namespace lexformer;

TEST_CASE("in_quotes: printable UTF-8 stays, other bytes become ?, 80 bytes at most") {
  CHECK(in_quotes("caf\xC3\xA9") == "'caf\xC3\xA9'");
  CHECK(in_quotes("a\nb\x1B\xFF\xE2\x80\xAE") == "'a?b" + std::string(5, '?') + "'");
  CHECK(in_quotes(std::string(80, 'a')) == "'" + std::string(80, 'a') + "'");
  CHECK(in_quotes(std::string(81, 'a')) == "'" + std::string(80, 'a') + "...'");
  CHECK(in_quotes(std::string(79, 'a') + "\xC3\xA9") == "'" + std::string(79, 'a') + "...'");  // no part of a character
}

TEST_CASE("one_line: text stays, what changes a terminal or a line is escaped") {
  CHECK(one_line("") == "");
  CHECK(one_line("a b\\c 'd' ~") == "a b\\c 'd' ~");
  CHECK(one_line("caf\xC3\xA9 \xE4\xBD\xA0 \xF0\x9F\x98\x80") == "caf\xC3\xA9 \xE4\xBD\xA0 \xF0\x9F\x98\x80");
  CHECK(one_line("a\nb\r\n\tc") == "a\\nb\\r\\n\\tc");
  CHECK(one_line("\x1B[31mred\x7F") == "\\x1B[31mred\\x7F");
  CHECK(one_line(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(one_line("\xC2\x9B") == "\\xC2\\x9B");                    // U+009B starts an escape sequence, like ESC [
  CHECK(one_line("\xE2\x80\xAE") == "\\xE2\\x80\\xAE");           // U+202E reverses the following text
  CHECK(one_line("\xF4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");  // beyond U+10FFFF
  CHECK(one_line("\xED\xA0\x80") == "\\xED\\xA0\\x80");           // a surrogate
  CHECK(one_line("\xE0\x9F\xBF \xF0\x8F\xBF\xBF") == "\\xE0\\x9F\\xBF \\xF0\\x8F\\xBF\\xBF");  // longer than need be
  CHECK(one_line("\xF4\x8F\xBF\xBF \xE0\xA0\x80 \xEE\x80\x80") == "\xF4\x8F\xBF\xBF \xE0\xA0\x80 \xEE\x80\x80");
  CHECK(one_line("\xE2\x80\xA8") == "\\xE2\\x80\\xA8");  // U+2028 ends a line
  CHECK(one_line("\xE2\x81\xA6") == "\\xE2\\x81\\xA6");
  CHECK(one_line("\xFF\xC3(\xE4\xBD") == "\\xFF\\xC3(\\xE4\\xBD");  // not UTF-8
  CHECK(one_line("\xC3") == "\\xC3");
}

TEST_CASE("one_line: the middle of a long text is left out, at the bounds of characters") {
  CHECK(one_line(std::string(1000, 'x')) == std::string(1000, 'x'));
  CHECK(one_line("begin" + std::string(15u << 20, 'x') + "end") ==
        "begin" + std::string(745, 'x') + " ... " + std::string(247, 'x') + "end");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\xC3\xA9";
  const std::string cut = one_line(text, 101);
  CHECK(cut.size() < 120);
  CHECK(cut.find("\\x") == cut.npos);
}

TEST_CASE("Error: whatever foreign text a message holds, it is one short line") {
  try {
    fail_file("a\nb\x1B.tsv", "label '", std::string(1u << 20, 'y'), "' is not known; name the labels");
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK(message.starts_with("a\\nb\\x1B.tsv: label 'yyy"));
    CHECK(message.ends_with("is not known; name the labels"));
    CHECK(message.size() < 1100);
  }
  CHECK_THROWS_WITH_AS(throw Error(ErrorKind::usage, "a\rb"), "a\\rb", Error);
}

TEST_CASE("cat: numbers do not depend on the global locale") {
  struct Grouped : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
    char do_decimal_point() const override { return ','; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouped));
  std::ostringstream in_locale;
  in_locale << 1500;
  const std::string text = cat("checkpoint-", 1500, " ", 2.5);
  std::locale::global(before);
  CHECK(in_locale.str() == "1.500");
  CHECK(text == "checkpoint-1500 2.5");
}
