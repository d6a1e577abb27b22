// SPDX-License-Identifier: MIT
#include "lexformer/text/unigram.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/error.hpp"

using namespace lexformer;

namespace {

using Scored = std::vector<std::pair<std::string, double>>;

/// A model whose token 0 is the unknown one.
Unigram make_model(Scored more, bool byte_fallback = false) {
  more.insert(more.begin(), {"<unk>", 0.0});
  std::vector<std::string> tokens;
  std::vector<double> scores;
  for (const auto& [token, score] : more) {
    tokens.push_back(token);
    scores.push_back(score);
  }
  return Unigram(Vocabulary(std::move(tokens)), std::move(scores), 0, byte_fallback);
}

std::vector<Token> tokens_of(const Unigram& model, std::string_view piece) {
  std::vector<Token> out;
  model.append(to_characters(piece), out);
  return out;
}

/// The tokens of a piece by their texts, joined by '|'.
std::string spell(const Unigram& model, std::string_view piece) {
  std::string out;
  for (const Token& token : tokens_of(model, piece)) out += (out.empty() ? "" : "|") + model.vocabulary().token(token.id);
  return out;
}

}  // namespace

TEST_CASE("the tokens with the largest sum of scores") {
  const Unigram model = make_model({{"a", -1}, {"b", -1}, {"c", -1}, {"ab", -2.5}, {"bc", -1.5}, {"▁", -3}, {"▁a", -3.5}});
  CHECK(spell(model, "abc") == "a|bc");
  CHECK(spell(model, "ab") == "a|b");
  CHECK(spell(model, "▁abc") == "▁a|bc");
  CHECK(tokens_of(model, "▁abc") == std::vector<Token>{{7, 0, 2}, {5, 2, 4}});
  CHECK(tokens_of(model, "").empty());
  CHECK(tokens_of(model, std::string(20000, 'a')).size() == 20000);
}

TEST_CASE("equal sums: the last token is the longer one") {
  const Unigram model = make_model({{"a", -1}, {"aa", -1}, {"aaa", -2}, {"b", -1}, {"ab", -2}});
  CHECK(spell(model, "aaa") == "aaa");
  CHECK(spell(model, "aaaa") == "aa|aa");
  CHECK(spell(model, "ab") == "ab");
  CHECK(spell(model, "aab") == "aa|b");
}

TEST_CASE("scores are summed in double, from the first token on") {
  // 0.1 + 0.2 > 0.3 in double.
  CHECK(spell(make_model({{"a", 0.1}, {"b", 0.2}, {"ab", 0.3}}), "ab") == "a|b");
  CHECK(spell(make_model({{"a", -0.1}, {"b", -0.2}, {"ab", -0.3}}), "ab") == "ab");
}

TEST_CASE("what is unknown is one token, whose score is the lowest - 10") {
  const Unigram model = make_model({{"a", -1}, {"ax", -11.5}, {"ay", -12}, {"<s>", -2}});
  CHECK(tokens_of(model, "xyaz漢") == std::vector<Token>{{0, 0, 2}, {1, 2, 3}, {0, 3, 5}});
  CHECK(tokens_of(model, "ax") == std::vector<Token>{{2, 0, 2}});
  CHECK(tokens_of(model, "x<unk>a") == std::vector<Token>{{0, 0, 6}, {1, 6, 7}});  // the token's own text as well
  CHECK(tokens_of(model, "<s>") == std::vector<Token>{{4, 0, 3}});
  // With scores above 20, two unknown characters are better than a token of both; the run has its id nevertheless.
  CHECK(tokens_of(make_model({{"xy", 50}, {"z", 40}, {"<unk>", 41}}), "xyz") == std::vector<Token>{{1, 0, 2}, {2, 2, 3}});
}

TEST_CASE("byte_fallback: the bytes of what is unknown, if there are tokens for all of them") {
  const Scored scored{{"a", -1}, {"<0xC3>", -2}, {"<0xA9>", -3}};
  CHECK(tokens_of(make_model(scored, true), "aééa") ==
        std::vector<Token>{{1, 0, 1}, {2, 1, 3}, {3, 1, 3}, {2, 1, 3}, {3, 1, 3}, {1, 3, 4}});
  CHECK(tokens_of(make_model(scored, true), "éx") == std::vector<Token>{{0, 0, 2}});
  CHECK(tokens_of(make_model(scored, false), "é") == std::vector<Token>{{0, 0, 1}});
}

TEST_CASE("the last of equal tokens counts, with its score; an empty token counts for the lowest score alone") {
  const Unigram model = make_model({{"ab", -9}, {"a", -1}, {"b", -1}, {"", -50}, {"ab", -1}});
  CHECK(tokens_of(model, "ab") == std::vector<Token>{{5, 0, 2}});
  CHECK(spell(make_model({{"a", -1}, {"ax", -45}, {"", -50}}), "ax") == "ax");
}

TEST_CASE("tokens are those of trying all ways to split a piece") {
  std::mt19937 random(3);
  const std::vector<std::string> letters{"a", "b", "é"};
  for (int round = 0; round < 200; ++round) {
    Scored scored{{"a", -1}, {"b", -2}, {"é", -1.5}};
    for (int i = 0; i < 12; ++i) {
      std::string token;
      for (std::size_t n = 2 + random() % 3; n > 0; --n) token += letters[random() % 3];
      scored.emplace_back(token, -1.0 - static_cast<double>(random() % 1000) / 256);
    }
    const Unigram model = make_model(scored);
    std::string piece;
    std::vector<std::size_t> ends{0};
    for (int n = 0; n < 9; ++n) ends.push_back((piece += letters[random() % 3]).size());
    double best = -std::numeric_limits<double>::infinity();
    for (unsigned cuts = 0; cuts < 256; ++cuts) {  // bit i: a token ends after character i + 1
      double sum = 0;
      for (std::size_t first = 0, i = 1; i <= 9; ++i) {
        if (i < 9 && (cuts >> (i - 1) & 1) == 0) continue;
        const auto id = model.vocabulary().id(piece.substr(ends[first], ends[i] - ends[first]));
        sum += id ? model.scores()[static_cast<std::size_t>(*id)] : -std::numeric_limits<double>::infinity();
        first = i;
      }
      best = std::max(best, sum);
    }
    double found = 0;
    std::string text;
    for (const Token& token : tokens_of(model, piece)) {
      found += model.scores()[static_cast<std::size_t>(token.id)];
      text += model.vocabulary().token(token.id);
    }
    CHECK(text == piece);
    CHECK(found == best);  // multiples of 1/256: sums are exact
  }
}

TEST_CASE("scores and ids that do not fit the vocabulary") {
  const auto make = [](std::vector<double> scores, std::int32_t unk) {
    return Unigram(Vocabulary(std::vector<std::string>{"<unk>", "a"}), std::move(scores), unk);
  };
  CHECK_NOTHROW(make({0, -1}, 0));
  CHECK_THROWS_WITH_AS(make({0}, 0), "Unigram: the vocabulary has 2 tokens, but there are 1 scores", Error);
  CHECK_THROWS_WITH_AS(make({0, std::numeric_limits<double>::quiet_NaN()}, 0),
                       "Unigram: the score of token 1 is nan; expected a finite number", Error);
  CHECK_THROWS_AS(make({0, -1}, 2), Error);
  CHECK_THROWS_AS(make({0, -1}, -1), Error);
}
