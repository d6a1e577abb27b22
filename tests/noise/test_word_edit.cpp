// SPDX-License-Identifier: MIT
#include "lexformer/noise/word_edit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>

#include "lexformer/text/similarity.hpp"

using namespace lexformer;

namespace {

bool only_letters(const std::string& word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

TEST_CASE("keyboard neighbours") {
  const auto sorted = [](std::string keys) {
    std::sort(keys.begin(), keys.end());
    return keys;
  };
  CHECK(sorted(keyboard_neighbours('s')) == sorted("adwezxADWEZX"));
  CHECK(sorted(keyboard_neighbours('S')) == sorted("adwezxADWEZX"));
  CHECK(sorted(keyboard_neighbours('p')) == sorted("o[0-;lO{)_:L"));
  CHECK(sorted(keyboard_neighbours('1')) == sorted("`2q~@Q"));
  CHECK(sorted(keyboard_neighbours('/')) == sorted(".;'>:\""));
  CHECK(keyboard_neighbours(U'é').empty());
  CHECK(keyboard_neighbours(' ').empty());
  for (char32_t a = 33; a < 127; ++a)  // neighborhood is symmetric
    for (char b : keyboard_neighbours(a))
      CHECK(keyboard_neighbours(static_cast<unsigned char>(b)).find(static_cast<char>(a)) != std::string::npos);
}

TEST_CASE("edits change one character, words of three characters not at all") {
  RandomStream random(1, random_site::user);
  std::set<std::string> seen;
  for (int k = 0; k < 400; ++k)
    for (const WordEdit edit : {WordEdit::swap, WordEdit::drop, WordEdit::insert, WordEdit::keyboard}) {
      CHECK(edit_word("cat", edit, true, random) == "cat");
      const std::string word = "screen", edited = edit_word(word, edit, false, random);
      CHECK(only_letters(edited));
      const std::ptrdiff_t grown = edit == WordEdit::drop ? -1 : edit == WordEdit::insert ? 1 : 0;
      CHECK(static_cast<std::ptrdiff_t>(edited.size()) == 6 + grown);
      std::string sorted = edited, before = word;
      std::sort(sorted.begin(), sorted.end());
      std::sort(before.begin(), before.end());
      if (edit == WordEdit::swap) CHECK(sorted == before);
      const double distance =
          std::round((1 - levenshtein(to_utf32(word), to_utf32(edited))) * static_cast<double>(std::max(word.size(), edited.size())));
      CHECK(distance <= (edit == WordEdit::swap ? 2 : 1));
      seen.insert(edited);
    }
  for (const char* expected : {"csreen", "screne", "creen", "scree", "acreen", "screem"})
    CHECK_MESSAGE(seen.count(expected) == 1, expected);
  CHECK(seen.count("screen") == 1);  // the two e's are swapped
  CHECK(to_utf32(edit_word("größer", WordEdit::drop, false, random)).size() == 5);
}

TEST_CASE("edits insert and substitute a-z; with any_characters also capitals, digits and signs") {
  const auto new_characters = [](const std::string& word, WordEdit edit, bool any_characters) {
    RandomStream random(2, random_site::user);
    std::string found;
    for (int k = 0; k < 2000; ++k) found += edit_word(word, edit, any_characters, random);
    std::erase_if(found, [&](char c) { return word.find(c) != std::string::npos; });
    return std::set<char>(found.begin(), found.end());
  };
  const auto in = [](const std::set<char>& found, const std::string& expected) {
    return std::all_of(expected.begin(), expected.end(), [&](char c) { return found.count(c) == 1; });
  };
  // The keys around those of "poke" are letters, digits and signs.
  for (const WordEdit edit : {WordEdit::insert, WordEdit::keyboard}) {
    const auto letters = new_characters("poke", edit, false), all = new_characters("poke", edit, true);
    CHECK(only_letters({letters.begin(), letters.end()}));
    CHECK(in(letters, "iljmwrsd"));
    CHECK(in(all, "iljmwrsdILJMWRSD90)("));
    CHECK(std::includes(all.begin(), all.end(), letters.begin(), letters.end()));
  }
  CHECK(new_characters("poke", WordEdit::insert, false).size() == 26 - 4);
  CHECK(new_characters("poke", WordEdit::insert, true).size() == 2 * 26 + 10 + 12 - 4);
  for (const bool any_characters : {false, true})
    for (const WordEdit edit : {WordEdit::swap, WordEdit::drop}) CHECK(new_characters("poke", edit, any_characters).empty());
}
