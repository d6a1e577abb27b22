// SPDX-License-Identifier: MIT
#include "lexformer/text/word_pairs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lexformer/text/tokenizer.hpp"

using namespace lexformer;

namespace {

/// "sonny~sony 0.75; ...": with two decimals.
std::string pairs_of(const std::string& left, const std::string& right, LexicalWords words, std::size_t most, double least = 0.5,
                     Similarity similarity = Similarity::levenshtein) {
  const Tokenizer tokenizer(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "sony"}));
  LexicalOptions options;
  options.similarity = similarity;
  options.words = words;
  std::string text;
  for (const WordPair& pair : word_pairs(tokenizer.encode_pair(left, right, 64), options, most, least))
    text += (text.empty() ? "" : "; ") + pair.left + "~" + pair.right + " " + std::to_string(pair.similarity).substr(0, 4);
  return text;
}

}  // namespace

TEST_CASE("word_pairs: different words, the most similar first, each once") {
  const auto words = LexicalWords::tokenizer;
  CHECK(pairs_of("Sonny camera black", "sony camra black", words, 5) == "camera~camra 0.83; sonny~sony 0.80");
  CHECK(pairs_of("Sonny camera black", "sony camra black", words, 1) == "camera~camra 0.83");
  CHECK(pairs_of("sonny", "sony sonyy", words, 5) == "sonny~sony 0.80");  // both are as similar; the earlier one counts
  CHECK(pairs_of("sonny sonyy", "sony", words, 5) == "sonny~sony 0.80");
  CHECK(pairs_of("car cartoon", "carr cartoom", words, 5) == "cartoon~cartoom 0.85; car~carr 0.75");  // a word in another one
  CHECK(pairs_of("sony sonny", "sony", words, 5).empty());  // its partner is a word that both texts have
  CHECK(pairs_of("tv - ,", "radio ; .", words, 5, 0).size() == std::string("tv~radio 0.00").size());
  CHECK(pairs_of("camera", "camra", words, 5, 0.9).empty());
  CHECK(pairs_of("camera", "camra", words, 0).empty());
  CHECK(pairs_of("camera", "", words, 3).empty());
}

TEST_CASE("word_pairs: the similarity and the words of the options") {
  CHECK(pairs_of("listen", "silent", LexicalWords::tokenizer, 3, 0.9, Similarity::jaccard) == "listen~silent 1.00");
  CHECK(pairs_of("dht-fs5", "dhtfs5", LexicalWords::whitespace, 3) == "dht-fs5~dhtfs5 0.85");
  CHECK(pairs_of("dht-fs5", "dhtfs5", LexicalWords::tokenizer, 3) == "dht~dhtfs5 0.50");
  CHECK(pairs_of("dht-fs5", "dhtfs5", LexicalWords::both, 3) == "dht-fs5~dhtfs5 0.85");  // not also dht or fs5
}

TEST_CASE("word_pairs: punctuation around a word does not make it another word, and is not shown") {
  for (const auto words : {LexicalWords::whitespace, LexicalWords::both}) {
    CHECK(pairs_of("bypass, (cm)", "bypass cm.", words, 3).empty());
    CHECK(pairs_of("a kf1405-c4, x", "b 1405-c4; y", words, 3) == "kf1405-c4~1405-c4 0.77");
  }
}

TEST_CASE("word_pairs: case does not make a word another word of a model that keeps case") {
  TokenizerOptions options;
  options.lowercase = false;
  const Tokenizer tokenizer(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}), options);
  const auto pairs = word_pairs(tokenizer.encode_pair("Bypass \xC3\x84ta Camera", "bypass, \xC3\xA4ta Camra", 64), {}, 5);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].left + "~" + pairs[0].right == "Camera~Camra");
}

TEST_CASE("weighted_word_pairs: equal words, too, by the product of similarity and weight") {
  const Tokenizer tokenizer(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so", "##ny"}));
  LexicalOptions options;
  options.similarity = Similarity::levenshtein;
  const auto encoding = tokenizer.encode_pair("sony camera sony", "sony camra", 64);
  std::vector<std::size_t> tokens;
  const auto pairs = weighted_word_pairs(encoding, options, 5, [&](const TextWord& left, const TextWord& right) {
    if (left.text == U"sony") tokens = left.tokens;
    return right.text == U"sony" ? 0.5 : 0.7;
  });
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].left + "~" + pairs[0].right == "camera~camra");  // 0.83 * 0.7
  CHECK(pairs[0].weight == 0.7);
  CHECK(pairs[1].left + "~" + pairs[1].right == "sony~sony");
  CHECK(pairs[1].similarity == 1);
  CHECK(tokens == std::vector<std::size_t>{1, 2, 4, 5});  // both occurrences
  const auto one = [](const TextWord&, const TextWord&) { return 1.0; };
  CHECK(weighted_word_pairs(encoding, options, 1, one).at(0).left == "sony");
  CHECK(weighted_word_pairs(encoding, options, 5, one, 0.9).size() == 1);
  options.words = LexicalWords::both;
  const auto parts = tokenizer.encode_pair("dht-fs5", "dhtfs5", 64);
  const auto part =
      weighted_word_pairs(parts, options, 5, [](const TextWord& left, const TextWord&) { return left.text == U"dht" ? 2.0 : 1.0; });
  REQUIRE(part.size() == 1);
  CHECK(part[0].left + "~" + part[0].right == "dht~dhtfs5");
}
