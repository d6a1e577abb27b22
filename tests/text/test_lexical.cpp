// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lexformer/core/random.hpp"
#include "lexformer/text/lexical.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "support/cases.hpp"

using namespace lexformer;

namespace {

Tokenizer word_tokenizer() {
  return Tokenizer(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "black", "b", "##lk", "sony", "pan", "##aso", "##nic", "-",
                               "tv", "##tv", "cyber", "shot"}));
}

double value(const LexicalMatrix& m, std::size_t i, std::size_t j) { return m.level[m.code[i * m.size + j]]; }

/// The similarities by definition, for each token pair, from the texts: words are found by the position of a token in its text.
/// For ASCII texts without special tokens.
double naive(const Encoding& e, const LexicalOptions& options, std::size_t i, std::size_t j) {
  if (e.word_ids[i] < 0 || e.word_ids[j] < 0) return 0;
  if (e.type_ids[i] == e.type_ids[j] && !options.self_attention) return 0;
  const auto word = [&](std::size_t k, bool whole) {
    const std::string& text = e.texts[e.type_ids[k]];
    const auto ends = [&](std::size_t at) { return text[at] == ' ' || (!whole && text[at] == '-'); };
    std::size_t begin = e.offsets[k].first, end = begin + 1;
    if (!ends(begin)) {  // a hyphen is a word of its own
      while (begin > 0 && !ends(begin - 1)) --begin;
      while (end < text.size() && !ends(end)) ++end;
    }
    std::string lower = text.substr(begin, end - begin);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return to_utf32(lower);
  };
  double s = 0;
  for (const bool whole : {false, true})
    if (options.words == LexicalWords::both || whole == (options.words == LexicalWords::whitespace))
      s = std::max(s, similarity(options.similarity, word(i, whole), word(j, whole)));
  if (options.levels == 0) return s;
  double best = 0;  // the lowest of the nearest levels
  for (unsigned k = 1; k < options.levels; ++k) {
    const double level = static_cast<double>(k) / (options.levels - 1);
    if (std::abs(std::min(s, 1.0) - level) < std::abs(std::min(s, 1.0) - best) - 1e-12) best = level;
  }
  return best;
}

std::string random_text(RandomStream& random) {
  const std::vector<std::string> words{"panasonic", "sony",    "black",   "blk", "b",         "cyber-shot", "tvtv", "tv",
                                       "unknown",   "unknwon", "dht-fs5", "-",   "cybershot", "Sony-",      "Sony"};
  std::string text;
  for (std::size_t n = random.below(7); n > 0; --n) text += words[random.below(words.size())] + " ";
  return text;
}

}  // namespace

TEST_CASE("lexical matrix of a typo pair: pieces share their word's similarity, special tokens and one's own text have none") {
  const auto t = word_tokenizer();
  // 0 [CLS] 1 pan 2 ##aso 3 ##nic 4 black 5 [SEP] 6 sony 7 b 8 ##lk 9 [SEP]
  const Encoding e = t.encode_pair("Panasonic BLACK", "sony blk", 64);
  REQUIRE(e.size() == 10);
  const LexicalMatrix m = lexical_matrix(e, {});
  REQUIRE(m.size == 10);
  CHECK(m.level == std::vector<double>{0.0, 0.375, 0.6});
  for (std::size_t i = 0; i < 10; ++i)
    for (std::size_t j = 0; j < 10; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      const std::size_t a = i < j ? i : j, b = i < j ? j : i;
      const double expected = a >= 1 && a <= 3 && b == 6 ? 0.375 : a == 4 && (b == 7 || b == 8) ? 0.6 : 0.0;
      CHECK(value(m, i, j) == expected);
    }
}

TEST_CASE("unknown words are compared by their text, and with self_attention a word meets itself") {
  const auto t = word_tokenizer();
  const Encoding e = t.encode_pair("xyz", "qq tv XYZ", 64);  // [CLS] [UNK] [SEP] [UNK] tv [UNK] [SEP]
  REQUIRE(e.ids == std::vector<std::int32_t>{2, 1, 3, 1, 13, 1, 3});
  const LexicalMatrix m = lexical_matrix(e, {});
  CHECK(value(m, 1, 3) == 0.0);
  CHECK(value(m, 1, 5) == 1.0);
  const LexicalMatrix self = lexical_matrix(e, {.self_attention = true});
  CHECK(value(self, 1, 1) == 1.0);
  CHECK(value(self, 4, 4) == 1.0);
  CHECK(value(self, 3, 4) == 0.0);
  CHECK(value(self, 0, 0) == 0.0);
  // A text may contain the unknown token itself.
  CHECK(value(lexical_matrix(t.encode_pair("[UNK]", "[UNK] qq", 64), {}), 1, 3) == 1.0);
  CHECK(value(lexical_matrix(t.encode_pair("[UNK]", "qq", 64), {}), 1, 3) == 0.0);
}

TEST_CASE("whitespace words: model numbers that differ in punctuation alone are alike; both takes the larger similarity") {
  const auto t = word_tokenizer();
  // 0 [CLS] 1 [UNK] (dht) 2 - 3 [UNK] (fs5) 4 [SEP] 5 [UNK] (dhtfs5) 6 - 7 [SEP]
  const Encoding e = t.encode_pair("DHT-FS5", "dhtfs5 -", 64);
  REQUIRE(e.size() == 8);
  const auto at = [&](LexicalWords words, std::size_t i, std::size_t j) { return value(lexical_matrix(e, {.words = words}), i, j); };
  CHECK(at(LexicalWords::tokenizer, 1, 5) == 0.5);
  CHECK(at(LexicalWords::tokenizer, 2, 5) == 0.0);
  CHECK(at(LexicalWords::tokenizer, 2, 6) == 1.0);
  for (const std::size_t i : {1u, 2u, 3u}) {
    CHECK(at(LexicalWords::whitespace, i, 5) == 6.0 / 7);
    CHECK(at(LexicalWords::whitespace, 5, i) == 6.0 / 7);
    CHECK(at(LexicalWords::whitespace, i, 6) == 1.0 / 7);
    CHECK(at(LexicalWords::both, i, 5) == 6.0 / 7);
  }
  CHECK(at(LexicalWords::both, 2, 6) == 1.0);
  CHECK(at(LexicalWords::both, 1, 6) == 1.0 / 7);
  CHECK(lexical_matrix(e, {.words = LexicalWords::both}).level == std::vector<double>{0.0, 1.0 / 7, 6.0 / 7, 1.0});
  // Accents and case are normalized by the tokenizer; each ideograph is a word.
  CHECK(value(lexical_matrix(t.encode_pair("É-1", "e-1", 64), {.words = LexicalWords::whitespace}), 1, 5) == 1.0);
  CHECK(value(lexical_matrix(t.encode_pair("漢字", "字", 64), {.words = LexicalWords::whitespace}), 1, 4) == 0.0);
  CHECK(value(lexical_matrix(t.encode_pair("漢字", "字", 64), {.words = LexicalWords::whitespace}), 2, 4) == 1.0);
  CHECK(parse_name<LexicalWords>("both", "--lea-words") == LexicalWords::both);
}

TEST_CASE("same_column: words of columns with the same name meet; marks, and words of other columns, have no similarity") {
  const auto t = word_tokenizer();
  const LexicalOptions any, same{.same_column = true};
  const Encoding e = t.encode_pair("COL brand VAL sony COL name VAL Black tv", "COL name VAL sony black COL brand VAL b", 64);
  const LexicalMatrix m = lexical_matrix(e, same), all = lexical_matrix(e, any);
  const auto place = [&](std::uint8_t type, std::u32string_view text) {
    for (const Word& word : e.words)
      if (word.type == type && e.text(word) == text) return static_cast<std::size_t>(word.first);
    FAIL("there is no such word");
    return std::size_t{0};
  };
  CHECK(value(all, place(0, U"sony"), place(1, U"sony")) == 1.0);
  CHECK(value(m, place(0, U"sony"), place(1, U"sony")) == 0.0);  // brand, name
  CHECK(value(m, place(0, U"black"), place(1, U"black")) == 1.0);
  CHECK(value(m, place(0, U"sony"), place(1, U"b")) == value(all, place(0, U"sony"), place(1, U"b")));
  CHECK(value(all, place(0, U"col"), place(1, U"col")) == 1.0);
  for (const auto mark : {U"col", U"val", U"name", U"brand"})
    for (const Word& word : e.words) {
      CHECK(value(m, place(0, mark), word.first) == 0.0);
      CHECK(value(m, place(1, mark), word.first) == 0.0);
    }
  // Texts without marks are one column; the words of one do not meet those of a named column.
  CHECK(lexical_matrix(t.encode_pair("sony tv", "tv black", 64), same).code ==
        lexical_matrix(t.encode_pair("sony tv", "tv black", 64), any).code);
  CHECK(lexical_matrix(t.encode_pair("sony tv", "COL name VAL sony tv", 64), same).level == std::vector<double>{0.0});
}

TEST_CASE("same_column: by definition, for random records with accents and truncation, each pair of tokens") {
  const auto t = word_tokenizer();
  const std::vector<std::string> names{"name", "model no", "prix é"};
  for (std::uint32_t c = 0; c < test::cases(200); ++c) {
    RandomStream random(9, random_site::user, c);
    // The column of each character is known because the text is made here.
    std::vector<std::string> column_at[2];
    std::string texts[2];
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t n = 1 + random.below(3); n > 0; --n) {
        const std::string& name = names[random.below(names.size())];
        const auto add = [&](const std::string& part, const std::string& column) {
          texts[k] += part;
          column_at[k].resize(to_utf32(texts[k]).size(), column);
        };
        add("COL " + name + " VAL ", "mark");
        add("\u00e9 " + random_text(random), name);
      }
    const Encoding e = t.encode_pair(texts[0], texts[1], 8 + random.below(60));
    const LexicalMatrix same = lexical_matrix(e, {.words = LexicalWords::both, .same_column = true});
    const LexicalMatrix any = lexical_matrix(e, {.words = LexicalWords::both});
    for (std::size_t i = 0; i < e.size(); ++i)
      for (std::size_t j = 0; j < e.size(); ++j) {
        double expected = 0;
        if (e.word_ids[i] >= 0 && e.word_ids[j] >= 0) {
          const std::string &a = column_at[e.type_ids[i]][e.offsets[i].first], &b = column_at[e.type_ids[j]][e.offsets[j].first];
          if (a == b && a != "mark") expected = value(any, i, j);
        }
        REQUIRE(value(same, i, j) == expected);
      }
  }
}

TEST_CASE("a word that truncation cut is compared whole") {
  const auto t = word_tokenizer();
  const Encoding e = t.encode_pair("panasonic-tv", "panasonic-tv", 7);  // [CLS] pan ##aso [SEP] pan ##aso [SEP]
  REQUIRE(e.size() == 7);
  CHECK(value(lexical_matrix(e, {.similarity = Similarity::levenshtein}), 2, 4) == 1.0);
  const Encoding other = t.encode_pair("panasonic-tv", "panasony", 7);  // pan [SEP] [UNK]
  CHECK(value(lexical_matrix(other, {.similarity = Similarity::levenshtein}), 1, other.size() - 2) == 1.0 - 2.0 / 9);
  CHECK(value(lexical_matrix(other, {.similarity = Similarity::levenshtein, .words = LexicalWords::whitespace}), 1, other.size() - 2) ==
        1.0 - 5.0 / 12);
}

TEST_CASE("of a word of 120,000 characters the first 128 are compared") {
  const auto t = word_tokenizer();
  const std::string beginning(max_similarity_characters, 'a'), rest(120000, 'b');
  for (const auto words : {LexicalWords::tokenizer, LexicalWords::whitespace, LexicalWords::both}) {
    const LexicalOptions options{.similarity = Similarity::levenshtein, .words = words};
    CHECK(value(lexical_matrix(t.encode_pair(beginning + rest, beginning + "c", 64), options), 1, 3) == 1.0);
    CHECK(value(lexical_matrix(t.encode_pair("a" + rest, "c" + rest, 64), options), 1, 3) == 1.0 - 1.0 / max_similarity_characters);
    CHECK(value(lexical_matrix(t.encode_pair(beginning.substr(1) + "c", beginning + rest, 64), options), 1, 3) ==
          1.0 - 1.0 / max_similarity_characters);
  }
}

TEST_CASE("smith_waterman_raw above 1 is kept when exact and clipped when quantised") {
  const auto t = word_tokenizer();
  const Encoding e = t.encode_pair("black", "blk", 64);
  CHECK(value(lexical_matrix(e, {.similarity = Similarity::smith_waterman_raw}), 1, 3) == 4.0);
  CHECK(value(lexical_matrix(e, {.similarity = Similarity::smith_waterman_raw, .levels = 5}), 1, 3) == 1.0);
}

TEST_CASE("quantised levels: nearest, ties to the lower, always all of them") {
  const auto t = word_tokenizer();
  const Encoding e = t.encode_pair("black", "sony blk", 64);
  const LexicalMatrix m = lexical_matrix(e, {.levels = 5});
  CHECK(m.level == std::vector<double>{0.0, 0.25, 0.5, 0.75, 1.0});
  CHECK(value(m, 1, 4) == 0.5);  // 0.6
  // b, blk: levenshtein 1/3; panasonic, sony: jaccard 0.375 is the midpoint of 0.25 and 0.5
  CHECK(value(lexical_matrix(t.encode_pair("panasonic", "sony", 64), {.levels = 5}), 1, 5) == 0.25);
  CHECK_THROWS_AS(lexical_matrix(e, {.levels = 1}), Error);
  CHECK_THROWS_AS(lexical_matrix(e, {.levels = 65537}), Error);
}

TEST_CASE("law: lexical matrices are those of the definition, swapping the texts transposes them") {
  const auto t = word_tokenizer();
  RandomStream random(3, random_site::user);
  for (std::size_t n = 0; n < test::cases(300); ++n) {
    LexicalOptions options;
    options.similarity = names_of<Similarity>[random.below(std::size(names_of<Similarity>))].value;
    options.words = names_of<LexicalWords>[random.below(std::size(names_of<LexicalWords>))].value;
    options.levels = n % 3 == 0 ? 0 : static_cast<unsigned>(2 + random.below(60));
    options.self_attention = n % 2 == 0;
    for (int k = 0; k < 3; ++k) {
      const std::string left = random_text(random), right = random_text(random);
      const std::size_t max_length = 5 + random.below(20);
      const Encoding e = t.encode_pair(left, right, max_length);
      const LexicalMatrix m = lexical_matrix(e, options);
      REQUIRE(m.size == e.size());
      for (std::size_t i = 0; i < m.size; ++i)
        for (std::size_t j = 0; j < m.size; ++j) REQUIRE(std::abs(value(m, i, j) - naive(e, options, i, j)) < 1e-12);
      if (e.size() < max_length) {  // not truncated
        std::size_t left_size = 0;  // [CLS], the left text and its [SEP]
        while (left_size < e.size() && e.type_ids[left_size] == 0) ++left_size;
        const LexicalMatrix swapped = lexical_matrix(t.encode_pair(right, left, max_length), options);
        const auto moved = [&](std::size_t i) {  // position of token i of (left, right) in (right, left)
          if (i == 0) return i;
          return i < left_size ? i + (e.size() - left_size) : i - left_size + 1;
        };
        for (std::size_t i = 0; i < m.size; ++i)
          for (std::size_t j = 0; j < m.size; ++j) REQUIRE(value(m, i, j) == value(swapped, moved(i), moved(j)));
      }
    }
  }
}
