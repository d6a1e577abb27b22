// SPDX-License-Identifier: MIT
#include "lexformer/text/normalizer.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/io/file.hpp"
#include "support/charsmap.hpp"
#include "support/expect_error.hpp"
#include "support/normalized.hpp"

using namespace lexformer;
using namespace lexformer::normalizers;

namespace {

std::string normalized_by(const std::vector<Normalizer>& sequence, std::string_view text) {
  NormalizedText characters = to_characters(text);
  normalize(sequence, characters);
  return normalized::spell(characters);
}

std::string in_form(UnicodeForm form, std::string_view text) { return normalized_by({Unicode{form}}, text); }
constexpr auto nfc = UnicodeForm::nfc, nfd = UnicodeForm::nfd, nfkc = UnicodeForm::nfkc, nfkd = UnicodeForm::nfkd;

}  // namespace

TEST_CASE("to_characters counts places from the first one") {
  const NormalizedText text = to_characters("a\u00E9\xFF", 7);
  CHECK(text == NormalizedText{{U'a', 7, 8}, {U'\u00E9', 8, 9}, {U'\uFFFD', 9, 10}});
  expect_error(
      ErrorKind::failure, [] { to_characters("ab", 0xFFFFFFFE); }, "to_characters: a text of 2 bytes is too long");
}

TEST_CASE("every code point gets the text and the offsets of PyPI tokenizers") {
  std::ifstream file(LEXFORMER_SOURCE_DIR "/tests/golden/normalizer_codepoints.txt");
  REQUIRE(file);
  const std::map<std::string, Normalizer> normalizers = {
      {"nfc", Unicode{nfc}},
      {"nfd", Unicode{nfd}},
      {"nfkc", Unicode{nfkc}},
      {"nfkd", Unicode{nfkd}},
      {"lowercase", Lowercase{}},
      {"stripaccents", StripAccents{}},
      {"precompiled", Precompiled{std::make_shared<PrecompiledMap>(charsmap::of_everything())}}};
  const std::u32string forms = U"?a\u0345?\u0334\u0301b";
  const std::u32string clusters =
      U"?a\n\u263A?\u200D\u263A\u0301\n\u263A\u200D?\u0301\n?\u1160\u0301\n?\u11A8\u0301\n\u1160?\u0301\n\u1100?\u0301\n"
      U"?\u094D\u0915\u0301\n\u0915\u094D?\u0301\n\u0915?\u0915\u0301\n\u0915\u094D?\u0915\u0301\n?\u0301\u0301\na?";
  std::string line, name;
  int blocks = 0;
  std::getline(file, line);  // comment
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::uint32_t first = 0, last = 0, expected = 0;
    fields >> name >> std::hex >> first >> last >> expected;
    REQUIRE(!fields.fail());
    std::uint32_t sum = 0;
    for (std::uint32_t c = first; c <= last; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      std::string text;
      for (const char32_t x : name == "precompiled" ? clusters : forms) append_utf8(text, x == '?' ? c : x);
      sum = crc32(normalized_by({normalizers.at(name)}, text) + '\n', sum);
    }
    CAPTURE(line);
    CHECK(sum == expected);
    ++blocks;
  }
  CHECK(blocks == 7 * 6);
}

TEST_CASE("normalization forms: parts share a character, a composed character has the offsets of its first part") {
  CHECK(in_form(nfd, "\u00E9a") == "e\u0301a [0 1, 0 1, 1 2]");
  CHECK(in_form(nfc, "e\u0301a") == "\u00E9a [0 1, 2 3]");
  CHECK(in_form(nfc, "\u00E9a") == "\u00E9a [0 1, 1 2]");
  CHECK(in_form(nfc, "a\u0302\u0323b") == "\u1EADb [0 1, 3 4]");
  CHECK(in_form(nfd, "x\u0315\u0301\u0323y") == "x\u0323\u0301\u0315y [0 1, 1 2, 2 3, 3 4, 4 5]");
  CHECK(in_form(nfkc, "\uFB01\u00BD") == "fi1\u20442 [0 1, 0 1, 1 2, 1 2, 1 2]");
  CHECK(in_form(nfc, "\uFB01\u00BD") == "\uFB01\u00BD [0 1, 1 2]");
  CHECK(in_form(nfc, "\u0344x") == "\u0308\u0301x [0 1, 0 1, 1 2]");
  CHECK(in_form(nfkd, "\u1E9B\u0323") == "s\u0323\u0307 [0 1, 1 2, 1 2]");
  CHECK(in_form(nfkc, "\u1E9B\u0323") == "\u1E69 [0 1]");
  CHECK(in_form(nfc, "\u0958") == "\u0915\u093C [0 1, 0 1]");
  CHECK(in_form(nfkc, "\uFF76\uFF9E") == "\u30AC [0 1]");
  CHECK(in_form(nfkd, "\u3305") == "\u30A4\u30F3\u30C1 [0 1, 0 1, 0 1]");
}

TEST_CASE("Hangul syllables are composed and decomposed") {
  CHECK(in_form(nfd, "\uD55C\uAE00") == "\u1112\u1161\u11AB\u1100\u1173\u11AF [0 1, 0 1, 0 1, 1 2, 1 2, 1 2]");
  CHECK(in_form(nfc, "\u1112\u1161\u11AB") == "\uD55C [0 1]");
  CHECK(in_form(nfc, "\uAC00\u11A7\u11A8") == "\uAC00\u11A7\u11A8 [0 1, 1 2, 2 3]");
}

TEST_CASE("Lowercase, StripAccents and Strip") {
  CHECK(normalized_by({Lowercase{}}, "A\u0130\u03A3B") == "ai\u0307\u03C3b [0 1, 1 2, 1 2, 2 3, 3 4]");
  CHECK(normalized_by({StripAccents{}}, "a\u0301\u0903b\u20DD\u0308") == "ab [0 1, 3 4]");
  CHECK(normalized_by({Strip{}}, " \u3000a b\u00A0\n") == "a b [2 3, 3 4, 4 5]");
  CHECK(normalized_by({Strip{true, false}}, "  a ") == "a  [2 3, 3 4]");
  CHECK(normalized_by({Strip{false, true}}, " \u00E9 ") == " \u00E9 [0 1, 1 2]");
  CHECK(normalized_by({Strip{}}, "  ") == " []");
}

TEST_CASE("Replace: the new characters have the offsets of the last replaced one") {
  CHECK(normalized_by({Replace("aa", false, "x\u0301y")}, "baaaac") == "bx\u0301yx\u0301yc [0 1, 2 3, 2 3, 2 3, 4 5, 4 5, 4 5, 5 6]");
  CHECK(normalized_by({Replace("''", false, "\"")}, "''a'''") == "\"a\"' [1 2, 2 3, 4 5, 5 6]");
  CHECK(normalized_by({Replace("a", false, "")}, "aba") == "b [1 2]");
  CHECK(normalized_by({Replace(" {2,}", true, " ")}, "a   b c  \n  ") == "a b c \n  [0 1, 3 4, 4 5, 5 6, 6 7, 8 9, 9 10, 11 12]");
  CHECK(normalized_by({Replace("\\s{2,}|[\\n\\r\\t]", true, " ")}, "a\tb \u3000c\nd\u00A0e\v") ==
        "a b c d\u00A0e\v [0 1, 1 2, 2 3, 4 5, 5 6, 6 7, 7 8, 8 9, 9 10, 10 11]");
  CHECK(normalized_by({Replace(" {2,}", false, "x")}, "a   {2,}") == "a  x [0 1, 1 2, 2 3, 7 8]");
}

TEST_CASE("Prepend: the new characters have the offsets of the first one") {
  CHECK(normalized_by({Prepend("\u2581_")}, "ab") == "\u2581_ab [0 1, 0 1, 0 1, 1 2]");
  CHECK(normalized_by({Prepend("\u2581")}, "") == " []");
}

TEST_CASE("Bert is the normalization of WordSplitter, also of a text that others have changed") {
  CHECK(normalized_by({Bert{}}, {"\u00C9\u4E2D\0b", 7}) == "e \u4E2D b [0 1, 1 2, 1 2, 1 2, 3 4]");
  CHECK(normalized_by({Unicode{nfd}, Bert{.lowercase = false}}, "\u00C9\u4E2D") == "E\u0301 \u4E2D  [0 1, 0 1, 1 2, 1 2, 1 2]");
  CHECK(normalized_by({Unicode{nfd}, Bert{}}, "\u00C9\u4E2D") == "e \u4E2D  [0 1, 1 2, 1 2, 1 2]");
}

TEST_CASE("a sequence keeps the offsets in the original text") {
  const auto map = std::make_shared<PrecompiledMap>(charsmap::of_rules({{"e", "E"}, {"\uFB01", "fi"}, {"\u00AD", ""}}));
  const std::vector<Normalizer> sequence = {Strip{}, Prepend("_"), Precompiled{map}, Replace(" {2,}", true, " "), Unicode{nfkc}};
  CHECK(normalized_by(sequence, "  e\u0301  \uFB01\u00AD ") == "_E fi [2 3, 2 3, 5 6, 6 7, 7 8]");
}

TEST_CASE("what is not supported is refused by name") {
  expect_file_error([] { Replace("\\s+", true, " ", "tokenizer.json"); },
                    "tokenizer.json: Replace does not support the regular expression '\\s+'; supported:  {2,} and \\s{2,}|[\\n\\r\\t]");
  expect_file_error([] { Replace("", false, " "); }, "Replace: the pattern of Replace is empty");
  expect_file_error([] { Prepend("", "tokenizer.json"); }, "tokenizer.json: the text of Prepend is empty");
}

TEST_CASE("a letter with very many marks is normalized, in canonical order") {
  std::string text = "a";
  for (int i = 0; i < 100000; ++i) text += "\u0301\u0323";
  NormalizedText characters = to_characters(text);
  normalize_unicode(characters, nfc);
  REQUIRE(characters.size() == 200000);
  CHECK(characters[0] == NormalizedChar{U'\u1EA1', 0, 1});
}
