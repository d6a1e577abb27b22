// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cctype>
#include <cstdint>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "lexformer/io/file.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/text/words.hpp"

using namespace lexformer;

TEST_CASE("the classes of ASCII are those of C") {
  for (int c = 0; c < 0x80; ++c) {
    CAPTURE(c);
    const auto x = static_cast<char32_t>(c);
    CHECK(is_whitespace(x) == (std::isspace(c) != 0));
    CHECK(is_punctuation(x) == (std::ispunct(c) != 0));
    CHECK(is_word_character(x) == (std::isalnum(c) != 0 || c == '_'));
    CHECK(is_dropped(x) == (std::iscntrl(c) != 0 && c != '\t' && c != '\n' && c != '\r'));
    CHECK_FALSE(is_chinese(x));
    CHECK_FALSE(is_nonspacing_mark(x));
  }
}

TEST_CASE("the words of every code point are those of PyPI tokenizers, lowercase and cased, with and without accents") {
  std::ifstream file(LEXFORMER_SOURCE_DIR "/tests/golden/tokenizer_codepoints.txt");
  REQUIRE(file);
  std::map<std::string, TokenizerOptions> settings;
  for (bool lowercase : {true, false})
    for (bool strip : {true, false})
      settings[std::string(lowercase ? "lowercase" : "cased") + (strip ? "+strip" : "")] = {.lowercase = lowercase, .strip_accents = strip};
  std::string line, setting;
  int blocks = 0;
  std::getline(file, line);  // comment
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::uint32_t block = 0, expected = 0;
    fields >> setting >> std::hex >> block >> expected;
    REQUIRE(!fields.fail());
    WordSplitter splitter(settings.at(setting));
    std::string words;
    for (std::uint32_t c = block; c < block + 4096; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      std::string text = "a";
      append_utf8(text, c);
      text += 'b';
      splitter.split(text, 0, [&](std::span<const TextChar> word, bool) {
        for (const TextChar& x : word) append_utf8(words, x.character);
        words += '\n';
      });
      words += '\0';
    }
    CAPTURE(line);
    CHECK(crc32(words, 0) == expected);
    ++blocks;
  }
  CHECK(blocks == 4 * 272);
}

TEST_CASE("invalid UTF-8 becomes U+FFFD as in Python's decode('utf-8', 'replace')") {
  // The example of the Unicode standard, table 3-8.
  CHECK(to_utf32("a\xF1\x80\x80\xE1\x80\xC2"
                 "b\x80"
                 "c\x80\xBF"
                 "d") == U"a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  // Bytes after the end of a text are not read.
  const std::string_view text = "a\xF1\x80\x80\x80";
  for (std::size_t bytes = 1; bytes < 4; ++bytes) {
    const Decoded cut = decode_utf8(text.substr(0, 1 + bytes), 1);
    CHECK(cut.character == U'\uFFFD');
    CHECK(cut.bytes == bytes);
  }
  CHECK(decode_utf8(text, 1).character == 0x40000);
  // All pairs of bytes, then all quadruples of 24 selected bytes; the expected CRC-32 is from Python 3.11.
  std::uint32_t crc = 0;
  const auto feed = [&](const std::string& bytes) { crc = crc32(to_utf8(to_utf32(bytes)) + '\0', crc); };
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) feed({static_cast<char>(a), static_cast<char>(b)});
  const std::string telling = "\x41\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4\xF5\xFF";
  for (char a : telling)
    for (char b : telling)
      for (char c : telling)
        for (char d : telling) feed({a, b, c, d});
  CHECK(crc == 0xdd80c9f6u);
}

TEST_CASE("UTF-8 there and back for every code point; surrogates and larger numbers become U+FFFD") {
  std::size_t wrong = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    const bool surrogate = c >= 0xD800 && c < 0xE000;
    const std::u32string back = to_utf32(to_utf8(std::u32string(1, c)));
    if (back != std::u32string(1, surrogate ? replacement_character : c)) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(to_utf8(std::u32string(1, char32_t{0x110000})) == "\xEF\xBF\xBD");
}

TEST_CASE("the first invalid byte; a U+FFFD of the text is valid") {
  CHECK(find_invalid_utf8("") == std::string::npos);
  CHECK(find_invalid_utf8("\xC3\xA4 \xEF\xBF\xBD") == std::string::npos);
  CHECK(find_invalid_utf8("\xC3\xA4\xC3(") == 2);
  CHECK(find_invalid_utf8("ab\xEF\xBF") == 2);
  CHECK(lower_case("\xC3\x84PFEL 7") == "\xC3\xA4pfel 7");
}

TEST_CASE("the punctuation around a word; of numbers and names it stays") {
  CHECK(without_punctuation(U"(\u201Ccm,\u201D)") == U"cm");
  for (const auto* word : {U"c++", U"5%", U"-5", U"$9.99", U"dht-fs5", U"o'neil", U"...", U"", U"@home"})
    CHECK(without_punctuation(word) == word);
}

TEST_CASE("character classes") {
  CHECK(is_word_character('_'));
  CHECK(is_word_character(U'é'));
  CHECK(is_word_character(U'½'));
  CHECK(is_word_character(U'漢'));
  CHECK_FALSE(is_word_character('-'));
  CHECK_FALSE(is_word_character(U'€'));
  CHECK_FALSE(is_word_character(0x301));  // re.match(r'\w', '\u0301') is None
  for (const char32_t c : {U'_', U'\u00E9', U'\u0301', U'\u0345', U'\u203F', U'\u200D', U'\u2160', U'\u24B6', U'\u0663'})
    CHECK(joins_words(c));
  for (const char32_t c : {U'-', U'\u00BD', U'\u00B2', U'\u20AC', U'\u3000'}) CHECK_FALSE(joins_words(c));
  CHECK(to_lower(U'Ǆ') == U'ǆ');
  CHECK(to_lower(0x130) == U'i');
  CHECK(combining_class(0x301) == 230);
  CHECK(combining_class(0x345) == 240);
  CHECK(combining_class('a') == 0);
}
