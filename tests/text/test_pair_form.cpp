// SPDX-License-Identifier: MIT
// The forms of a pair: what is read, which text and word a token belongs to, and what LEA compares.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lexformer/text/lexical.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

const std::vector<std::string> words{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "black", "tv",
                                     "##s",   "sony",  "col",   "val",   "name",   "maker", "<end>"};

/// template_tokens: [CLS] left [SEP] right [SEP]; else nothing, as GPT-2's.
Tokenizer tokenizer(PairForm form, bool template_tokens = false, const std::string& separator = "<end>") {
  TokenizerOptions options{.pair_form = form, .pair_separator = separator};
  options.add_cls = options.add_sep = options.add_middle_sep = template_tokens;
  return Tokenizer(Vocabulary(words), options);
}

std::vector<std::string> tokens(const Tokenizer& t, const std::string& left, const std::string& right, std::size_t most = 100) {
  std::vector<std::string> found;
  for (const auto id : t.encode_pair(left, right, most).ids) found.push_back(t.vocabulary().token(id));
  return found;
}

using Tokens = std::vector<std::string>;

}  // namespace

TEST_CASE("pair form: the tokens of each form, with and without special tokens of the template") {
  CHECK(tokens(tokenizer(PairForm::plain), "sony tvs", "black") == Tokens{"sony", "tv", "##s", "black"});
  CHECK(tokens(tokenizer(PairForm::separated), "sony tvs", "black") == Tokens{"sony", "tv", "##s", "<end>", "black", "<end>"});
  CHECK(tokens(tokenizer(PairForm::repeated), "sony tvs", "black") ==
        Tokens{"sony", "tv", "##s", "<end>", "black", "<end>", "sony", "tv", "##s", "<end>"});
  CHECK(tokens(tokenizer(PairForm::repeated, true), "sony", "black") ==
        Tokens{"[CLS]", "sony", "[SEP]", "black", "[SEP]", "sony", "[SEP]"});
  CHECK(tokenizer(PairForm::separated).encode("sony", 9).ids == tokenizer(PairForm::plain).encode("sony", 9).ids);
  CHECK(tokenizer(PairForm::repeated).added(2) == 3);
  CHECK(tokenizer(PairForm::repeated).end_id(2) == 13);
  CHECK(tokenizer(PairForm::plain).end_id(2) == -1);
}

TEST_CASE("pair form: a copy has the text, types, words and offsets of the left text") {
  const Tokenizer t = tokenizer(PairForm::repeated, true);
  const Encoding e = t.encode_pair("sony tvs", "black sony", 100);
  CHECK(e.text_ids == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0});
  CHECK(e.type_ids == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1});
  CHECK(e.word_ids == std::vector<std::int32_t>{-1, 0, 1, 1, -1, 0, 1, -1, 0, 1, 1, -1});
  for (std::size_t i = 1; i < 4; ++i) CHECK(e.offsets[i] == e.offsets[i + 7]);
  REQUIRE(e.words.size() == 6);
  for (const std::size_t w : {0u, 1u}) {
    const Word &first = e.words[w], &copy = e.words[w + 4];
    CHECK(e.text(first) == e.text(copy));
    CHECK(copy.first == first.first + 7);
    CHECK(copy.last == first.last + 7);
    CHECK(copy.type == 0);
    CHECK(e.word_of(copy.first) == &copy);
  }
  CHECK(e.word_of(7) == nullptr);
  CHECK(e.word_of(11) == nullptr);
}

TEST_CASE("pair form: both copies are truncated alike, and the longer text first") {
  const Tokenizer t = tokenizer(PairForm::repeated);
  const std::string longer = "tv tv tv tv tv tv tv tv";
  for (std::size_t most = 6; most < 40; ++most)
    for (const auto& [left, right] :
         std::vector<std::pair<std::string, std::string>>{{longer, "sony sony sony"}, {"sony sony sony", longer}, {longer, longer}}) {
      CAPTURE(most);
      const Encoding e = t.encode_pair(left, right, most);
      std::size_t left_tokens = 0, right_tokens = 0, copies = 0;
      for (std::size_t i = 0; i < e.size(); ++i)
        if (const Word* word = e.word_of(i)) (word->type == 1 ? right_tokens : right_tokens == 0 ? left_tokens : copies) += 1;
      CHECK(left_tokens == copies);
      CHECK(e.size() == 2 * left_tokens + right_tokens + 3);
      CHECK(e.size() <= most);
      if (most >= 30) {  // all of 8 + 8 + 8 + 3
        CHECK(left_tokens == (left == longer ? 8 : 3));
        CHECK(right_tokens == (right == longer ? 8 : 3));
      } else if (left == right && left_tokens < 8) {
        CHECK(right_tokens - left_tokens <= 2);
        CHECK(e.size() + 1 >= most);
      }
    }
  expect_error(
      ErrorKind::usage, [&] { t.encode_pair("a", "b", 2); }, "encode_pair: max_length is 2, but the special tokens alone take 3");
}

TEST_CASE("pair form: LEA compares both copies with the right text, and not with each other") {
  const Tokenizer plain = tokenizer(PairForm::separated), twice = tokenizer(PairForm::repeated);
  const std::string left = "COL name VAL sony tvs COL maker VAL black", right = "COL name VAL sony COL maker VAL tv black";
  for (const bool columns : {false, true}) {
    const LexicalOptions options{.same_column = columns};
    const Encoding a = plain.encode_pair(left, right, 100), b = twice.encode_pair(left, right, 100);
    const LexicalMatrix x = lexical_matrix(a, options), y = lexical_matrix(b, options);
    const auto value = [](const LexicalMatrix& m, std::size_t i, std::size_t j) { return m.level[m.code[i * m.size + j]]; };
    const std::size_t copy = a.size();  // the first token of the second copy, whose length is that of the first
    const std::size_t n = b.size() - copy - 1;
    std::size_t similar = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a.size(); ++j) CHECK(value(x, i, j) == value(y, i, j));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < copy; ++j) {
        CHECK(value(y, copy + i, j) == value(x, i, j));
        CHECK(value(y, j, copy + i) == value(x, j, i));
        similar += value(y, copy + i, j) > 0 ? 1u : 0u;
      }
      for (std::size_t j = copy; j < b.size(); ++j) CHECK(value(y, copy + i, j) == 0);
    }
    CHECK(similar > 0);
    for (std::size_t j = 0; j < b.size(); ++j) CHECK(value(y, b.size() - 1, j) == 0);  // of the last token
  }
}

TEST_CASE("pair form: what has no effect or is unknown is refused") {
  expect_error(
      ErrorKind::usage, [] { tokenizer(PairForm::separated, true); },
      "pair_form: separated adds tokens after both texts, but this tokenizer has them already; use plain");
  expect_error(
      ErrorKind::usage, [] { tokenizer(PairForm::repeated, false, "nothing"); }, "pair_separator: 'nothing' is not in the vocabulary");
}
