// SPDX-License-Identifier: MIT
// The sources of noise of add_typos() that change whole words, each by itself and what they have in common.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lexformer/noise/typos.hpp"

using namespace lexformer;

namespace {
namespace noise_test {

std::shared_ptr<const MisspellingTable> list() {
  MisspellingTable table{"list.dat"};
  for (const auto& [word, wrong] : {std::pair{"until", "untill"},
                                    {"until", "until now"},
                                    {"until", "untill"},
                                    {"Their", "Thier"},
                                    {"sony", "Sonny"},
                                    {"their", "THEIR"},
                                    {"a lot", "alot"}})
    table.add(word, wrong);
  return std::make_shared<const MisspellingTable>(std::move(table));
}
TypoOptions of(TypoMode mode, double share = 1) { return {.mode = mode, .word_share = share, .misspellings = list()}; }

std::string noisy(const std::string& text, const TypoOptions& options, std::uint64_t seed) {
  RandomStream random = typo_stream(seed, 0, 0);
  return add_typos(text, options, random);
}
/// What becomes of a text, and how often, of so many.
std::map<std::string, double> outcomes(const std::string& text, TypoMode mode, std::uint64_t count = 2000) {
  std::map<std::string, double> shares;
  for (std::uint64_t seed = 0; seed < count; ++seed) shares[noisy(text, of(mode), seed)] += 1 / static_cast<double>(count);
  return shares;
}
using Texts = std::set<std::string>;
Texts texts(const std::string& text, TypoMode mode) {
  Texts all;
  for (const auto& entry : outcomes(text, mode, 200)) all.insert(entry.first);
  return all;
}
/// All outcomes are these, and equally frequent.
void even(const std::string& text, TypoMode mode, const Texts& expected) {
  const auto found = outcomes(text, mode);
  Texts all;
  for (const auto& entry : found) all.insert(entry.first);
  CHECK(all == expected);
  for (const auto& entry : found)
    CHECK_MESSAGE(std::abs(entry.second - 1 / static_cast<double>(expected.size())) < 0.04, entry.first, ": ", entry.second);
}

const std::vector<TypoMode> modes = {TypoMode::keyboard,      TypoMode::homophones, TypoMode::misspellings, TypoMode::spaces,
                                     TypoMode::abbreviations, TypoMode::units,      TypoMode::casing,       TypoMode::lookalikes};
// Each source can change some of it. With a tab, spaces at the ends and letters of several bytes.
const std::string sample = " Their new Sony\tdigital camera  (16 GB, 5.5\") costs 1,000 until größer 'Übung' ";

}  // namespace noise_test
}  // namespace

TEST_CASE("noise: the same random numbers give the same text; without a share nothing changes; valid UTF-8 stays valid") {
  using namespace noise_test;
  for (const TypoMode mode : modes) {
    CAPTURE(name_of(mode));
    CHECK(find_name<TypoMode>(name_of(mode)) == mode);
    Texts different;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const std::string after = noisy(sample, of(mode), seed);
      CHECK(after == noisy(sample, of(mode), seed));
      CHECK(find_invalid_utf8(after) == after.npos);
      CHECK(after != sample);
      different.insert(after);
      CHECK(noisy(sample, of(mode, 0), seed) == sample);
      CHECK(noisy("", of(mode), seed).empty());
      CHECK(noisy("  \t ", of(mode), seed) == "  \t ");
      CHECK(noisy("()", of(mode), seed).size() <= 3);  // `spaces` may split it
      const std::string broken = "a\xFFz \xC3 5\" \xE2\x82";
      CHECK(noisy(broken, of(mode, 0), seed) == broken);
      noisy(broken, of(mode), seed);
    }
    CHECK(different.size() > 1);
    CHECK_THROWS_WITH(noisy(sample, {.mode = mode, .respace = true, .misspellings = list()}, 1), doctest::Contains("has others"));
    CHECK_THROWS_AS(noisy(sample, of(mode, 1.5), 1), Error);
  }
  // Fixed expected values, so that runs of older versions can be reproduced.
  CHECK(noisy(sample, of(TypoMode::keyboard, 0.5), 1) ==
        " The8r jew Soby\tdigi6al vamera  (`6 GB, 5.5\") costs 1,000 until größer 'Ügung' ");
  CHECK(noisy(sample, of(TypoMode::spaces, 0.5), 1) == " The ir ne w Sonydigital camera(16 GB,5 .5\") cost s 1,000 until größer 'Übung' ");
  CHECK(noisy(sample, of(TypoMode::units, 0.5), 1) ==
        " Their new Sony\tdigital camera  (16 gigabytes, 5.5\") costs 1000 until größer 'Übung' ");
  CHECK(noisy(sample, of(TypoMode::casing, 0.5), 1) == " THEIR new SONY\tDIGITAL CaMErA  (16 gb, 5.5\") costs 1,000 until größer 'Übung' ");
  CHECK(noisy(sample, of(TypoMode::lookalikes, 0.5), 1) ==
        " Tһeir ոew Soոy\tdigitɑl ϲamera  (16 GΒ, 5.5\") costs 1,000 until größer 'Übunɡ' ");
}

TEST_CASE("noise: a share of the words; each is drawn by itself") {
  using namespace noise_test;
  const std::vector<std::pair<TypoMode, std::string>> words = {{TypoMode::keyboard, "sony"},        {TypoMode::homophones, "their"},
                                                               {TypoMode::misspellings, "sony"},    {TypoMode::spaces, "sony"},
                                                               {TypoMode::abbreviations, "street"}, {TypoMode::units, "16GB"},
                                                               {TypoMode::casing, "sony"},          {TypoMode::lookalikes, "sony"}};
  for (const auto& of_mode : words) {
    const TypoMode mode = of_mode.first;
    const std::string& word = of_mode.second;
    CAPTURE(name_of(mode));
    std::string ten;
    for (int i = 0; i < 10; ++i) ten += word + "  ";
    double changed = 0;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      const std::string after = noisy(ten, of(mode, 0.3), seed);
      std::size_t same = 0;
      if (mode == TypoMode::spaces) {  // a split adds a character, a join takes two
        changed += noisy(word, of(mode, 0.3), seed) != word ? 10 : 0;
        continue;
      }
      for (std::size_t at = after.find(word + "  "); at != after.npos; at = after.find(word + "  ", at + 1))
        if (at == 0 || after[at - 1] == ' ') ++same;
      changed += 10 - static_cast<double>(same);
      CHECK(noisy(ten, of(mode, 1), seed).find(" " + word + " ") == std::string::npos);
    }
    CHECK(std::abs(changed / 10000 - 0.3) < (mode == TypoMode::spaces ? 0.045 : 0.015));
    TypoOptions longer = of(mode);
    longer.min_chars = 7;
    if (mode != TypoMode::units) CHECK(noisy(ten, longer, 1) == ten);
  }
}

TEST_CASE("noise keyboard: a neighbouring key, shift stays") {
  using namespace noise_test;
  even("g", TypoMode::keyboard, {"f", "h", "t", "y", "v", "b"});
  CHECK(texts("L", TypoMode::keyboard) == Texts{"K", ":", "O", "P", "<", ">"});
  CHECK(texts("(1)", TypoMode::keyboard) == Texts{"(`)", "(2)", "(q)"});
  even("p-q", TypoMode::keyboard, texts("p-q", TypoMode::keyboard));
  for (const auto& after : texts("p-q", TypoMode::keyboard)) CHECK(((after[0] == 'p') != (after[2] == 'q') && after[1] == '-'));
  CHECK(texts("_ é 中", TypoMode::keyboard) == Texts{"_ é 中"});
}

TEST_CASE("noise homophones: another word of the group, in the same case") {
  using namespace noise_test;
  even("to", TypoMode::homophones, {"too", "two"});
  CHECK(texts("(Their", TypoMode::homophones) == Texts{"(There", "(They're"});
  CHECK(texts("HERE, theirs I", TypoMode::homophones) == Texts{"HEAR, theirs Eye", "HEAR, theirs Aye"});
  std::set<std::string_view> all;
  for (const auto& group : homophone_groups()) {
    CHECK(group.size() > 1);
    for (const auto word : group) {
      CHECK_MESSAGE(all.insert(word).second, word);
      CHECK(lower_case(word) == word);
      CHECK(word_parts(word).core == word);
      RandomStream random = typo_stream(1, 0, 0);
      const std::string other = homophone_noise(std::string(word), random);  // symmetric: it leads back
      CHECK(other != word);
      CHECK(texts(other, TypoMode::homophones).count(std::string(word)) == 1);
    }
  }
  CHECK(all.size() > 300);
}

TEST_CASE("noise misspellings: of a table, in the same case") {
  using namespace noise_test;
  even("until", TypoMode::misspellings, {"untill", "until now"});
  CHECK(texts("\"UNTIL\" x", TypoMode::misspellings) == Texts{"\"UNTILL\" x", "\"UNTIL NOW\" x"});
  CHECK(texts("Their sony", TypoMode::misspellings) == Texts{"Thier sonny"});
  CHECK(texts("theirs don't", TypoMode::misspellings) == Texts{"theirs don't"});
  CHECK(list()->of_word ==
        decltype(MisspellingTable::of_word){{"until", {"untill", "until now"}}, {"their", {"thier"}}, {"sony", {"sonny"}}});
  CHECK_THROWS_WITH_AS(noisy("a", {.mode = TypoMode::misspellings}, 1), doctest::Contains("`misspellings`"), Error);
  CHECK(describe(of(TypoMode::misspellings)).ends_with("misspellings=list.dat"));
}

TEST_CASE("noise spaces: one dropped or one added") {
  using namespace noise_test;
  even("ab  c", TypoMode::spaces, {"abc", "a b  c"});
  CHECK(texts("abc", TypoMode::spaces) == Texts{"a bc", "ab c"});
  CHECK(texts("a\tbc", TypoMode::spaces) == Texts{"ab c"});
  CHECK(texts("a", TypoMode::spaces) == Texts{"a"});
  CHECK(texts(" \xC3\xA4\x65\xCC\x81 ", TypoMode::spaces) == Texts{" \xC3\xA4 \x65\xCC\x81 "});  // not before a combining accent
  for (const auto& after : texts(sample, TypoMode::spaces)) {
    std::string letters[2];
    for (const auto& [from, to] : {std::pair{&sample, &letters[0]}, {&after, &letters[1]}})
      for (const char c : *from)
        if (c != ' ' && c != '\t') *to += c;
    CHECK(letters[0] == letters[1]);
  }
}

TEST_CASE("noise abbreviations: of the list, else without vowels") {
  using namespace noise_test;
  even("(Street)", TypoMode::abbreviations, {"(St)", "(St.)"});
  CHECK(texts("DIGITAL", TypoMode::abbreviations) == Texts{"DIG", "DGTL"});
  CHECK(texts("Camera, amazing don't", TypoMode::abbreviations) == Texts{"Cmr, amzng dn't"});
  for (const char* same : {"car", "dsc-w120p", "aaaa", "rhythm", "1000", "\xE4\xB8\xAD\xE6\x96\x87"})
    CHECK(texts(same, TypoMode::abbreviations) == Texts{same});
  CHECK(texts("gr\xC3\xB6\xC3\x9F"
              "er",
              TypoMode::abbreviations) == Texts{"gr\xC3\xB6\xC3\x9Fr"});
  for (const auto& entry : abbreviations()) {
    const std::string_view word = entry.first;
    const auto& shorter = entry.second;
    CHECK_MESSAGE(!shorter.empty(), word);
    CHECK(lower_case(word) == word);
    CHECK_MESSAGE(std::set<std::string_view>(shorter.begin(), shorter.end()).size() == shorter.size(), word);
    for (const auto s : shorter) CHECK_MESSAGE((s != word && s.size() < word.size()), word);
  }
  CHECK(abbreviations().size() > 150);
}

TEST_CASE("noise units: other formats of the same quantity") {
  using namespace noise_test;
  even("1000", TypoMode::units, {"1,000"});
  CHECK(texts("$1,234,567.50.", TypoMode::units) == Texts{"$1234567.50.", "$1234567.5.", "$1,234,567.5."});
  CHECK(texts("5.5 2.00", TypoMode::units) == Texts{"5.50 2"});
  even("(16 gb)", TypoMode::units, {"(16GB)", "(16 gigabytes)", "(16-gigabyte)"});
  CHECK(texts("1 gigabyte 1-megabyte", TypoMode::units).count("1GB 1 megabyte") == 1);
  CHECK(texts("1 gigabyte", TypoMode::units) == Texts{"1GB", "1 GB", "1-gigabyte"});
  CHECK(texts("7\"", TypoMode::units) == Texts{"7 inches", "7-inch", "7in", "7in.", "7 in."});
  CHECK(texts("5.5-inch", TypoMode::units).size() == 2 * 6 - 1);
  CHECK(texts("50%", TypoMode::units) == Texts{"50 %", "50 percent", "50-percent"});
  for (const char* same : {"7", "\"7\"", "0123", "1999", "2012 in", "5 in the box", "1080p", "dsc-w120", "7.2.1", "1,00", "10-20",
                           "123456789012", "9 a", ".5"})
    CHECK_MESSAGE(texts(same, TypoMode::units) == Texts{same}, same);
  std::set<std::string> all;
  for (const auto& unit : unit_names())
    for (const auto& format : unit_formats(unit, false)) CHECK_MESSAGE(all.insert(lower_case(format)).second, format);
  for (const auto& unit : unit_names()) {  // each format is read as this unit: it becomes another one of it
    std::set<std::string> known;
    for (const bool one : {true, false})
      for (const auto& format : unit_formats(unit, one)) known.insert("3" + lower_case(format));
    for (const auto& number : known)
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const std::string other = lower_case(noisy(number, of(TypoMode::units), seed));
        CHECK_MESSAGE((other != number && known.count(other) == 1), number, " ", other);
      }
  }
}

TEST_CASE("noise casing: capitals, small letters, a first capital, random") {
  using namespace noise_test;
  CHECK(texts("ab", TypoMode::casing) == Texts{"AB", "Ab", "aB"});
  const auto shares = outcomes("\"camera-x\"", TypoMode::casing);
  CHECK(std::abs(shares.at("\"CAMERA-X\"") - 1.0 / 3) < 0.04);  // small letters would not change it
  CHECK(std::abs(shares.at("\"Camera-x\"") - 1.0 / 3) < 0.04);
  CHECK(shares.size() > 50);
  for (const auto& entry : shares) CHECK(lower_case(entry.first) == "\"camera-x\"");
  CHECK(texts("\xC3\xA9", TypoMode::casing) == Texts{"\xC3\x89"});
  CHECK(texts("5 \xE4\xB8\xAD", TypoMode::casing) == Texts{"5 \xE4\xB8\xAD"});
}

TEST_CASE("noise lookalikes: one letter") {
  using namespace noise_test;
  even("o-1", TypoMode::lookalikes, {"\xD0\xBE-1", "\xCE\xBF-1"});
  CHECK(texts("Sy", TypoMode::lookalikes) == Texts{"\xD0\x85y", "S\xD1\x83"});
  CHECK(texts("F7 \xC3\xA9", TypoMode::lookalikes) == Texts{"F7 \xC3\xA9"});
  std::set<char> letters;
  std::set<char32_t> others;
  for (const auto& [letter, like] : lookalikes()) {
    CHECK(letters.insert(letter).second);
    CHECK(!like.empty());
    for (const char32_t c : like) {
      CHECK(others.insert(c).second);
      CHECK(c >= 0x80);
      CHECK(is_capital(c) == (letter <= 'Z'));  // also of the same case
    }
  }
}
