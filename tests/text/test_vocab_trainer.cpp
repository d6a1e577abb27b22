// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/random.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "lexformer/text/vocab_trainer.hpp"

using namespace lexformer;

namespace {

/// The definition of training: recounts everything for each merge. For words of ASCII letters.
std::vector<std::string> naive_joins(const WordCounts& words, std::size_t joins, const VocabularyTraining& training) {
  std::vector<std::pair<std::vector<std::string>, std::size_t>> split;
  for (const auto& [word, count] : words) {
    std::vector<std::string> pieces;
    for (char c : word) pieces.push_back((pieces.empty() ? "" : "##") + std::string(1, c));
    split.emplace_back(pieces, count);
  }
  std::vector<std::string> out;
  while (out.size() < joins) {
    std::map<std::string, double> singles;
    std::map<std::pair<std::string, std::string>, double> pairs;
    for (const auto& [pieces, count] : split)
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        singles[pieces[i]] += static_cast<double>(count);
        if (i > 0) pairs[{pieces[i - 1], pieces[i]}] += static_cast<double>(count);
      }
    std::pair<std::string, std::string> best;
    double best_score = 0;
    for (const auto& [pair, count] : pairs) {  // ordered by text
      if (count < static_cast<double>(training.min_count)) continue;
      const double score = training.score == MergeScore::frequency ? count : count / (singles[pair.first] * singles[pair.second]);
      if (score > best_score) {
        best = pair;
        best_score = score;
      }
    }
    if (best_score == 0) break;
    const std::string joined = best.first + best.second.substr(2);
    for (auto& entry : split) {
      auto& pieces = entry.first;
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
        if (pieces[i] == best.first && pieces[i + 1] == best.second) {
          pieces[i] = joined;
          pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
    }
    if (std::find(out.begin(), out.end(), joined) == out.end()) out.push_back(joined);
  }
  return out;
}

}  // namespace

TEST_CASE("the words of a text are counted as the tokenizer splits it, too long ones left out") {
  WordCounts words{{"a", 1}};
  count_words("A b-a  abcd abcde", {.max_word_chars = 4}, words);
  CHECK(words == WordCounts{{"-", 1}, {"a", 3}, {"abcd", 1}, {"b", 1}});
  count_words("B", {.lowercase = false}, words);
  CHECK(words == WordCounts{{"-", 1}, {"B", 1}, {"a", 3}, {"abcd", 1}, {"b", 1}});
}

TEST_CASE("vocabulary of a few words, by hand") {
  // ##e ##s and ##s ##t 9 times each, the first by text counts; ##es ##t 9; then ##w ##e only 2 (lower), ##o ##w and l ##o 7 each; l ##ow 7
  const WordCounts words{{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}};
  const Vocabulary v = train_vocabulary(words, {}, {.size = 5 + 2 * 10 + 4});
  const std::vector<std::string> expected{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "d",    "e",     "i",    "l",   "n",
                                          "o",     "r",     "s",     "t",     "w",      "##d",  "##e",   "##i",  "##l", "##n",
                                          "##o",   "##r",   "##s",   "##t",   "##w",    "##es", "##est", "##ow", "low"};
  CHECK(v.tokens() == expected);
  // likelihood: wi = 3 / (w 3 * ##i 3), ##id = 3 / 9: the first of equals by text is ##i ##d
  const Vocabulary l = train_vocabulary(words, {}, {.size = 26, .score = MergeScore::likelihood});
  CHECK(l.tokens().back() == "##id");
}

TEST_CASE("vocabularies of random words are those of the definition") {
  RandomStream random(11, random_site::user);
  for (int n = 0; n < 60; ++n) {
    WordCounts words;
    for (int k = 0; k < 40; ++k) {
      std::string word;
      for (std::size_t i = 1 + random.below(8); i > 0; --i)
        word += static_cast<char>('a' + static_cast<char>(random.below(n % 2 == 0 ? 3 : 8)));
      words[word] += 1 + random.below(5);
    }
    const VocabularyTraining training{
        .size = 80, .score = n % 3 == 0 ? MergeScore::frequency : MergeScore::likelihood, .min_count = 1 + random.below(3)};
    const Vocabulary v = train_vocabulary(words, {}, training);
    std::size_t alphabet = 5;
    while (alphabet < v.size() &&
           (v.tokens()[alphabet].size() == 1 || (v.tokens()[alphabet].size() == 3 && v.tokens()[alphabet][0] == '#')))
      ++alphabet;
    const std::vector<std::string> joins(v.tokens().begin() + static_cast<std::ptrdiff_t>(alphabet), v.tokens().end());
    CHECK(joins == naive_joins(words, training.size - alphabet, training));
  }
}

TEST_CASE("a trained vocabulary tokenizes its texts without unknown words") {
  const std::vector<std::string> texts{"Sony Cyber-shot 7.2 megapixel, pink", "sony cybershot 7.2mp PINK", "Überraschung für Müller",
                                       "漢字 sony"};
  const TokenizerOptions options;
  const Tokenizer t(train_vocabulary(texts, options, {.size = 200}), options);
  CHECK(t.vocabulary().size() <= 200);
  CHECK(t.vocabulary().id("sony"));
  for (const std::string& text : texts)
    for (std::int32_t id : t.encode(text, 100).ids) CHECK(id != t.unk_id());
  // also a word with a typo: each character has both forms
  for (std::int32_t id : t.encode("ynos xelip", 100).ids) CHECK(id != t.unk_id());
}

TEST_CASE("the alphabet is bounded, and a size that cannot hold it is refused") {
  const WordCounts words{{"aab", 5}, {"abz", 1}};
  const Vocabulary v = train_vocabulary(words, {}, {.size = 100, .min_count = 1, .max_alphabet = 2});
  CHECK(v.tokens() == std::vector<std::string>{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##a", "##b", "##ab", "aab"});
  CHECK_THROWS_AS(train_vocabulary(words, {}, {.size = 10}), Error);
  CHECK(train_vocabulary(WordCounts{}, {}, {.size = 5}).size() == 5);
}
