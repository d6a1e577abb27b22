// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../reference/similarity_reference.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"

using namespace lexformer;

namespace {

std::vector<std::u32string> words_up_to(std::size_t length, std::u32string_view alphabet) {
  std::vector<std::u32string> words{U""};
  for (std::size_t begin = 0, n = 0; n < length; ++n) {
    const std::size_t end = words.size();
    for (; begin < end; ++begin)
      for (char32_t c : alphabet) words.push_back(words[begin] + c);
  }
  return words;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-12; }

}  // namespace

TEST_CASE(
    "law: similarities of all pairs of words over {a, b, c} up to length 4, over {a, b} up to length 5, are those of the definitions") {
  const auto short_words = words_up_to(4, U"abc"), longer_words = words_up_to(5, U"ab");
  REQUIRE(short_words.size() == 121);
  REQUIRE(longer_words.size() == 63);
  std::size_t wrong = 0;
  const auto check = [&](double fast, double naive, const std::u32string& a, const std::u32string& b, Similarity measure) {
    if (close(fast, naive)) return;
    if (wrong++ < 5)
      FAIL_CHECK(name_of(measure) << " of " << to_utf8(a) << ", " << to_utf8(b) << ": " << fast << ", by definition " << naive);
  };
  const auto check_pair = [&](const std::u32string& a, const std::u32string& b) {
    const auto expected = reference::alignment_similarities(a, b);
    check(similarity(Similarity::levenshtein, a, b), expected.levenshtein, a, b, Similarity::levenshtein);
    check(similarity(Similarity::lcs, a, b), expected.lcs, a, b, Similarity::lcs);
    check(similarity(Similarity::smith_waterman, a, b), expected.smith_waterman, a, b, Similarity::smith_waterman);
    check(similarity(Similarity::smith_waterman_raw, a, b), expected.smith_waterman_raw, a, b, Similarity::smith_waterman_raw);
    check(similarity(Similarity::jaccard, a, b), reference::jaccard(a, b), a, b, Similarity::jaccard);
    check(similarity(Similarity::jaccard_bigrams, a, b), reference::jaccard_ngrams(a, b, 2), a, b, Similarity::jaccard_bigrams);
    check(similarity(Similarity::jaccard_trigrams, a, b), reference::jaccard_ngrams(a, b, 3), a, b, Similarity::jaccard_trigrams);
    check(similarity(Similarity::jaro_winkler, a, b), reference::jaro_winkler(a, b), a, b, Similarity::jaro_winkler);
  };
  for (const auto* words : {&short_words, &longer_words})
    for (const auto& a : *words)
      for (const auto& b : *words) check_pair(a, b);
  CHECK(wrong == 0);
}

TEST_CASE("similarities of longer words with digits and other scripts; symmetry, identity and range") {
  RandomStream random(7, random_site::user);
  const std::vector<std::u32string> alphabets{U"abcdefghijklmnopqrstuvwxyz", U"ab01-", U"aé漢b😀", U"abcd0123ÀÉ"};
  for (int n = 0; n < 20000; ++n) {
    const auto& alphabet = alphabets[random.below(alphabets.size())];
    std::u32string a, b;
    for (std::size_t i = random.below(13); i > 0; --i) a += alphabet[random.below(alphabet.size())];
    b = a;
    if (n % 2 == 0) b.clear();
    for (std::size_t i = random.below(6); i > 0; --i) b.insert(random.below(b.size() + 1), 1, alphabet[random.below(alphabet.size())]);
    CAPTURE(to_utf8(a));
    CAPTURE(to_utf8(b));
    REQUIRE(close(jaccard(a, b), reference::jaccard(a, b)));
    REQUIRE(close(jaro_winkler(a, b), reference::jaro_winkler(a, b)));
    for (const auto& entry : names_of<Similarity>) {
      const Similarity measure = entry.value;
      const double s = similarity(measure, a, b);
      CAPTURE(name_of(measure));
      REQUIRE(s == similarity(measure, b, a));
      REQUIRE(s >= 0);
      REQUIRE(s <= (measure == Similarity::smith_waterman_raw ? 2.0 * static_cast<double>(std::min(a.size(), b.size())) : 1.0));
      REQUIRE(similarity(measure, a, a) == (measure == Similarity::smith_waterman_raw ? 2.0 * static_cast<double>(a.size()) : 1.0));
    }
  }
}

TEST_CASE("similarities of empty words") {
  for (const auto& entry : names_of<Similarity>) {
    const Similarity measure = entry.value;
    CAPTURE(name_of(measure));
    CHECK(similarity(measure, U"", U"") == (measure == Similarity::smith_waterman_raw ? 0.0 : 1.0));
    CHECK(similarity(measure, U"", U"a") == 0.0);
    CHECK(similarity(measure, U"é", U"") == 0.0);
  }
}

TEST_CASE("similarities are those of the Python packages rapidfuzz 3.14.6, jaro-winkler 2.0.3 and swalign 0.3.7") {
  struct Row {
    const char32_t *a, *b;
    double jaccard, levenshtein, lcs, jaro_winkler, smith_waterman_raw;
  };
  const Row rows[] = {
      {U"black", U"blk", 0.59999999999999998, 0.59999999999999998, 0.59999999999999998, 0.68888888888888877, 4},
      {U"screen", U"sbreen", 0.66666666666666663, 0.83333333333333337, 0.83333333333333337, 0.90000000000000002, 9},
      {U"chocolate", U"chcolate", 1, 0.88888888888888884, 0.88888888888888884, 0.937037037037037, 15},
      {U"listen", U"silent", 1, 0.33333333333333337, 0.5, 0.88888888888888884, 4},
      {U"panasonic", U"sony", 0.375, 0.33333333333333337, 0.33333333333333331, 0.45370370370370372, 6},
      {U"martha", U"marhta", 1, 0.66666666666666674, 0.83333333333333337, 0.96111111111111114, 8},
      {U"dixon", U"dicksonx", 0.625, 0.5, 0.5, 0.81333333333333324, 5},
      {U"dwayne", U"duane", 0.5714285714285714, 0.66666666666666674, 0.66666666666666663, 0.84000000000000008, 6},
      {U"dscw120p", U"dscw130", 0.66666666666666663, 0.75, 0.75, 0.92142857142857149, 11},
      {U"kodak", U"kodka", 1, 0.59999999999999998, 0.80000000000000004, 0.95333333333333325, 7},
      {U"microwave", U"micorwave", 1, 0.77777777777777779, 0.88888888888888884, 0.97407407407407409, 14},
      {U"cyber", U"cybershot", 0.55555555555555558, 0.55555555555555558, 0.55555555555555558, 0.91111111111111109, 10},
      {U"7000", U"7001", 0.66666666666666663, 0.75, 0.75, 0.83333333333333337, 6},
      {U"abroad", U"board", 1, 0.5, 0.66666666666666663, 0.81111111111111123, 6},
      {U"transporter", U"antsproter", 1, 0.54545454545454541, 0.72727272727272729, 0.83636363636363642, 13},
      {U"m\u00fcller", U"muller", 0.66666666666666663, 0.83333333333333337, 0.83333333333333337, 0.90000000000000002, 9},
      {U"a", U"a", 1, 1, 1, 1, 2},
      {U"a", U"b", 0, 0, 0, 0, 0},
      {U"[unk]", U"unk", 0.59999999999999998, 0.59999999999999998, 0.59999999999999998, 0.8666666666666667, 6},
      {U"aabbcc", U"abcabc", 1, 0.33333333333333337, 0.66666666666666663, 0.89999999999999991, 6},
      {U"12ab34", U"12ba34", 1, 0.66666666666666674, 0.83333333333333337, 0.94444444444444453, 8},
      {U"netgear", U"netgera", 1, 0.7142857142857143, 0.8571428571428571, 0.97142857142857142, 11},
  };
  for (const Row& row : rows) {
    CAPTURE(to_utf8(row.a));
    CAPTURE(to_utf8(row.b));
    CHECK(close(jaccard(row.a, row.b), row.jaccard));
    CHECK(close(levenshtein(row.a, row.b), row.levenshtein));
    CHECK(close(lcs(row.a, row.b), row.lcs));
    CHECK(close(jaro_winkler(row.a, row.b), row.jaro_winkler));
    CHECK(smith_waterman_raw(row.a, row.b) == row.smith_waterman_raw);
  }
}

TEST_CASE("n-grams: the worked examples, and what order, ends and short words make of them") {
  CHECK(jaccard_ngrams(U"black", U"blk", 2) == 3.0 / 7);
  CHECK(jaccard_ngrams(U"black", U"blk", 3) == 1.0 / 7);
  CHECK(jaccard_ngrams(U"listen", U"silent", 2) == 1.0 / 13);  // "en" only; as sets of characters they are equal
  CHECK(jaccard_ngrams(U"ab", U"xaby", 2) == 1.0 / 7);         // word boundaries matter
  CHECK(jaccard_ngrams(U"a", U"a", 3) == 1.0);                 // one n-gram: <a>
  CHECK(jaccard_ngrams(U"a", U"b", 2) == 0.0);
}

TEST_CASE("similarity names") {
  for (const auto& [word, measure] : names_of<Similarity>) {
    CHECK(parse_name<Similarity>(word, "similarity") == measure);
    CHECK(name_of(measure) == word);
  }
  CHECK_THROWS_WITH_AS(name_of(Similarity{9}), "name_of: a value without a name", Error);
  CHECK_THROWS_WITH_AS(similarity(Similarity{9}, U"a", U"a"), "similarity: the measure is not an enumerator of Similarity", Error);
  CHECK_THROWS_WITH_AS(parse_name<Similarity>("cosine", "similarity"),
                       "similarity: 'cosine' is not known; use one of: jaccard, levenshtein, lcs, jaro_winkler, smith_waterman, "
                       "smith_waterman_raw, jaccard_bigrams, jaccard_trigrams",
                       Error);
}

TEST_CASE("similarity: words are compared by their first 128 characters") {
  const std::u32string same(128, U'a'), longer = same + U"bc";
  for (const auto& entry : names_of<Similarity>) {
    CAPTURE(entry.name);
    CHECK(similarity(entry.value, longer, same) == similarity(entry.value, same, same));
    CHECK(similarity(entry.value, same, U"b" + same) == similarity(entry.value, same, U"b" + same.substr(1)));
  }
  const std::u32string a(120000, U'a'), b(120000, U'b');  // without the limit, such a pair takes a minute
  CHECK(similarity(Similarity::levenshtein, a, b) == 0.0);
  CHECK(similarity(Similarity::smith_waterman, a, a) == 1.0);
}

TEST_CASE("edit_distance: known distances, and what is above a bound counts as the bound") {
  CHECK(edit_distance(U"kitten", U"sitting") == 3);
  CHECK(edit_distance(U"", U"abc") == 3);
  CHECK(edit_distance(U"ab", U"ba") == 2);
  const std::vector<std::u32string> all{U"", U"a", U"oven", U"over", U"novel", U"elaborate", U"collaborate"};
  for (const auto& a : all)
    for (const auto& b : all)
      for (std::size_t most = 0; most < 12; ++most) CHECK(edit_distance(a, b, most) == std::min(edit_distance(a, b), most));
}
