// SPDX-License-Identifier: MIT
#include "lexformer/text/byte_bpe.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "lexformer/core/error.hpp"
#include "lexformer/text/pieces.hpp"

using namespace lexformer;

namespace {

std::vector<Token> tokens_of(const ByteBpe& model, std::string_view piece) {
  std::vector<Token> out;
  model.append(to_characters(piece), out);
  return out;
}

/// The texts of the tokens, joined by '|'.
std::string spell(const ByteBpe& model, std::string_view piece) {
  std::string out;
  for (const Token& token : tokens_of(model, piece)) out += (out.empty() ? "" : "|") + model.vocabulary().token(token.id);
  return out;
}

/// A model whose tokens are single letters and what the merges make.
ByteBpe make_model(std::vector<std::string> tokens, const std::vector<std::pair<std::string, std::string>>& merges,
                   ByteBpeOptions options = {}) {
  for (const auto& [left, right] : merges) tokens.push_back(left + right);
  Vocabulary vocabulary(std::move(tokens));
  std::vector<ByteBpe::Merge> ids;
  for (const auto& [left, right] : merges) ids.push_back({*vocabulary.id(left), *vocabulary.id(right)});
  return ByteBpe(std::move(vocabulary), ids, options);
}

}  // namespace

TEST_CASE("the merge that comes first in the list is made first, of equal ones the leftmost") {
  const ByteBpe model = make_model({"a", "b", "c", "d"}, {{"b", "c"}, {"a", "b"}, {"a", "a"}, {"bc", "d"}, {"aa", "aa"}});
  CHECK(spell(model, "abcd") == "a|bcd");
  CHECK(spell(model, "abd") == "ab|d");
  CHECK(spell(model, "aaa") == "aa|a");
  CHECK(spell(model, "aaaaab") == "aaaa|ab");
  CHECK(spell(model, std::string(30, 'a')) == "aaaa|aaaa|aaaa|aaaa|aaaa|aaaa|aaaa|aa");
  CHECK(spell(model, "").empty());
  const ByteBpe twice = make_model({"a", "b", "c"}, {{"a", "b"}, {"b", "c"}, {"a", "b"}});
  CHECK(spell(twice, "abc") == "a|bc");  // the last of equal merges counts
}

TEST_CASE("tokens are those of merging pair by pair, in short pieces and in long ones") {
  std::mt19937 random(7);
  const auto draw = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<std::string> tokens{"a", "b", "c"};
  std::vector<std::pair<std::string, std::string>> merges;
  while (merges.size() < 60) {
    const std::pair<std::string, std::string> merge{tokens[draw(tokens.size())], tokens[draw(tokens.size())]};
    const std::string merged = merge.first + merge.second;
    if (merged.size() > 9 || std::find(tokens.begin(), tokens.end(), merged) != tokens.end()) continue;
    merges.push_back(merge);
    tokens.push_back(merged);
  }
  const ByteBpe model = make_model({"a", "b", "c"}, merges);
  for (std::size_t round = 0; round < 600; ++round) {
    std::string piece(1 + draw(60), 'a');
    for (char& c : piece) c = static_cast<char>('a' + draw(3));
    std::vector<std::string> symbols;
    for (const char c : piece) symbols.emplace_back(1, c);
    for (bool merged = true; merged;) {
      merged = false;
      for (const auto& [left, right] : merges) {
        for (std::size_t i = 0; i + 1 < symbols.size() && !merged; ++i) {
          if (symbols[i] != left || symbols[i + 1] != right) continue;
          symbols[i] += right;
          symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          merged = true;
        }
        if (merged) break;
      }
    }
    std::string expected;
    for (const std::string& symbol : symbols) expected += (expected.empty() ? "" : "|") + symbol;
    CAPTURE(piece);
    CHECK(spell(model, piece) == expected);
    std::uint32_t end = 0;
    for (const Token& token : tokens_of(model, piece)) {
      CHECK(token.begin == end);
      end += static_cast<std::uint32_t>(model.vocabulary().token(token.id).size());
      CHECK(token.end == end);
    }
  }
}

TEST_CASE("a piece of very many characters") {
  const ByteBpe model = make_model({"a"}, {{"a", "a"}, {"aa", "aa"}});
  CHECK(tokens_of(model, std::string(200001, 'a')).size() == 50001);
}

TEST_CASE("bytes of a character: their tokens have its place") {
  const ByteBpe model = make_model({"Ã", "©", "Ġ", "x"}, {{"Ġ", "Ã"}});
  NormalizedText text = to_characters("x é");
  std::vector<Piece> pieces;
  const PreTokenizer step{.kind = PreTokenizer::Kind::byte_level, .add_prefix_space = false};
  pre_tokenize(std::span(&step, 1), text, pieces);
  std::vector<Token> tokens;
  for (const Piece& piece : pieces) model.append(std::span(text).subspan(piece.first, piece.last - piece.first), tokens);
  CHECK(tokens == std::vector<Token>{{3, 0, 1}, {4, 1, 3}, {1, 2, 3}});
}

TEST_CASE("characters that are in no token") {
  const std::vector<std::pair<std::string, std::string>> merges{{"a", "b"}};
  const ByteBpe none = make_model({"a", "b", "?"}, merges);
  CHECK(tokens_of(none, "axb") == std::vector<Token>{{3, 0, 2}});                 // left out: a and b become neighbours
  CHECK(tokens_of(none, "xxbé漢a") == std::vector<Token>{{1, 0, 1}, {0, 1, 2}});  // the places are those of tokenizers
  CHECK(tokens_of(none, "x漢").empty());
  const ByteBpe unknown = make_model({"a", "b", "?"}, merges, {.unk = 2});
  CHECK(tokens_of(unknown, "axyb") == std::vector<Token>{{0, 0, 1}, {2, 1, 2}, {2, 2, 3}, {1, 3, 4}});
  const ByteBpe fused = make_model({"a", "b", "?"}, merges, {.unk = 2, .fuse_unk = true});
  CHECK(tokens_of(fused, "a漢yb?x") == std::vector<Token>{{0, 0, 1}, {2, 1, 3}, {1, 3, 4}, {2, 4, 5}, {2, 5, 6}});
}

TEST_CASE("ignore_merges: a piece that is a token") {
  const std::string longer = std::string(300, 'c') + "漢";
  for (const bool ignore : {false, true}) {
    const ByteBpe model = make_model({"a", "b", "c", "ba", longer}, {{"a", "b"}}, {.ignore_merges = ignore});
    CHECK(spell(model, "ba") == (ignore ? "ba" : "b|a"));
    CHECK(spell(model, "bab") == "b|ab");
    CHECK(tokens_of(model, longer).size() == (ignore ? 1 : 300));
  }
}

TEST_CASE("merges and ids that do not fit the vocabulary") {
  const auto make = [](std::vector<ByteBpe::Merge> merges, ByteBpeOptions options = {}) {
    return ByteBpe(Vocabulary(std::vector<std::string>{"a", "b", "ab"}), merges, options);
  };
  CHECK_NOTHROW(make({{0, 1}}));
  CHECK_THROWS_WITH_AS(make({{0, 1}, {1, 0}}), "ByteBpe: merge 1 makes `ba`, which is not in the vocabulary", Error);
  CHECK_THROWS_WITH_AS(make({{0, 3}}), "Vocabulary: id 3 is out of range; the vocabulary has 3 tokens", Error);
  CHECK_THROWS_AS(make({{-1, 0}}), Error);
  CHECK_THROWS_AS(make({}, {.unk = 3}), Error);
}

TEST_CASE("trimming takes white space off the places of tokens, but not a space that was added") {
  const auto trimmed = [](Token token, std::string_view text, bool first, bool add_prefix_space) {
    trim_offsets(token, text, first, add_prefix_space);
    return std::pair(token.begin, token.end);
  };
  CHECK(trimmed({0, 3, 6}, "ĠĠx", false, true) == std::pair(5u, 6u));
  CHECK(trimmed({0, 3, 6}, "xĠ ", false, false) == std::pair(3u, 4u));
  CHECK(trimmed({0, 3, 5}, "xé", true, true) == std::pair(3u, 5u));
  CHECK(trimmed({0, 3, 5}, "ĠĠ", false, false) == std::pair(5u, 5u));
  CHECK(trimmed({0, 0, 1}, "Ġx", true, true) == std::pair(0u, 1u));
  CHECK(trimmed({0, 0, 3}, "ĠĠx", false, true) == std::pair(2u, 3u));
  CHECK(trimmed({0, 2, 4}, "Ġx", true, true) == std::pair(2u, 4u));
  CHECK(trimmed({0, 0, 2}, "Ġx", true, false) == std::pair(1u, 2u));
  CHECK(trimmed({0, 0, 1}, "ĠxĠ", true, true) == std::pair(0u, 0u));
  CHECK(trimmed({0, 0, 1}, "xĠĠ", true, true) == std::pair(0u, 1u));  // fewer places than spaces: they stay, as in tokenizers
}
