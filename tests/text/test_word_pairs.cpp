// SPDX-License-Identifier: MIT
#include "lexformer/text/word_pairs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace lexformer;

namespace {

/// "sonny~sony 0.75; ...": with two decimals.
std::string pairs_of(const std::string& left, const std::string& right, LexicalWords words, std::size_t most, double least = 0.5,
                     Similarity similarity = Similarity::levenshtein) {
  const WordPieceTokenizer tokenizer(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "sony"}));
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
