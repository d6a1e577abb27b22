// SPDX-License-Identifier: MIT
#include "lexformer/models/contextual_vectors.hpp"

#include <doctest/doctest.h>

#include "models/tiny.hpp"

using namespace lexformer;

namespace {

const std::vector<std::string> all_texts = {"Sony cameras for a kase", "kase, listen a case", "unheard words for a lens [MASK]", "a kase",
                                            "listen, listen kase a black book case kase"};

WordVectors distill(const Encoder<double>& encoder, const std::vector<std::string>& words, const ContextualOptions& options = {}) {
  ContextualVectors<double> vectors(encoder, words, options);
  vectors.add(all_texts);
  return vectors.vectors();
}

/// The states of the tokens first ... last - 1 of a text, averaged; the text is encoded alone.
std::vector<double> occurrence(const Encoder<double>& encoder, std::size_t text, std::size_t first, std::size_t last,
                               std::size_t layers = 2) {
  const auto states = encoder.encode({all_texts[text]}, {.pooling = Pooling::none, .layers = layers});
  std::vector<double> mean(states.dim(1));
  for (std::size_t t = first; t < last; ++t)
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += states.at(t, j) / static_cast<double>(last - first);
  return mean;
}

void check_row(const WordVectors& vectors, const std::string& word, const std::vector<std::vector<double>>& occurrences,
               WordPooling pooling) {
  const auto row = vectors.row(vectors.find(word).value());
  REQUIRE(row.size() == occurrences[0].size());
  for (std::size_t j = 0; j < row.size(); ++j) {
    double sum = 0, most = occurrences[0][j];
    for (const auto& o : occurrences) {
      sum += o[j];
      most = std::max(most, o[j]);
    }
    const double expected = pooling == WordPooling::mean ? sum / static_cast<double>(occurrences.size()) : most;
    CHECK(static_cast<double>(row[j]) == doctest::Approx(expected).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("WordFrequencies: words of the tokenizer by frequency, without unknown words, special tokens and truncated ones") {
  const Encoder<double> encoder(test::tiny_file(), {});
  WordFrequencies counts(encoder.tokenizer(), 20);
  counts.add(all_texts);
  // The comma and "unheard" and "words" are no tokens of this vocabulary.
  const std::vector<std::string> all = {"a", "kase", "listen", "case", "for", "black", "book", "cameras", "lens", "sony"};
  CHECK(counts.frequent(1) == all);
  CHECK(counts.size() == all.size());
  CHECK(counts.frequent(3) == std::vector<std::string>{"a", "kase", "listen"});
  CHECK(counts.frequent(1, 2) == std::vector<std::string>{"a", "kase"});
  CHECK(counts.frequent(6).empty());

  // [CLS] sony camera ##s for a k [SEP]: kase lost a piece.
  WordFrequencies truncated(encoder.tokenizer(), 8);
  truncated.add(std::vector<std::string>{all_texts[0]});
  CHECK(truncated.frequent(1) == std::vector<std::string>{"a", "cameras", "for", "sony"});
}

TEST_CASE("ContextualVectors: mean over pieces, mean or maximum over occurrences, against states of single texts") {
  const Encoder<double> encoder(test::tiny_file(), {});
  for (const WordPooling pooling : {WordPooling::mean, WordPooling::max})
    for (const std::size_t layers : {std::size_t{0}, std::size_t{1}, ~std::size_t{0}}) {
      const auto state = [&](std::size_t text, std::size_t first, std::size_t last) {
        return occurrence(encoder, text, first, last, std::min<std::size_t>(layers, 2));
      };
      const auto vectors = distill(encoder, {"kase", "absent", "cameras", "case"}, {.pooling = pooling, .layers = layers, .batch_size = 2});
      CHECK(vectors.words() == std::vector<std::string>{"kase", "cameras", "case"});
      CHECK(vectors.dimension() == 12);
      check_row(vectors, "cameras", {state(0, 2, 4)}, pooling);                 // [CLS] sony camera ##s for a k ##ase
      check_row(vectors, "case", {state(1, 7, 8), state(4, 11, 12)}, pooling);  // [CLS] k ##ase , list ##en a case
      check_row(vectors, "kase", {state(0, 6, 8), state(1, 1, 3), state(3, 2, 4), state(4, 6, 8), state(4, 12, 14)}, pooling);
    }
}

TEST_CASE("ContextualVectors: the first occurrences in the order of the texts") {
  const Encoder<double> encoder(test::tiny_file(), {});
  for (const WordPooling pooling : {WordPooling::mean, WordPooling::max}) {
    const auto vectors = distill(encoder, {"kase"}, {.pooling = pooling, .max_occurrences = 2});
    check_row(vectors, "kase", {occurrence(encoder, 0, 6, 8), occurrence(encoder, 1, 1, 3)}, pooling);
  }
}

TEST_CASE("ContextualVectors: the same bits for any number of threads; calls add up") {
  const Encoder<double> encoder(test::tiny_file(), {});
  const auto text = [&](int threads) {
    const test::Threads limit(threads);
    const auto vectors = distill(encoder, {"kase", "a", "listen"}, {.batch_size = 2});
    return vectors_text(vectors.words(), vectors.values());
  };
  const std::string one = text(1);
  CHECK(text(2) == one);
  CHECK(text(3) == one);
  ContextualVectors<double> parts(encoder, {"kase", "a", "listen"});
  for (const std::string& t : all_texts) parts.add(std::vector<std::string>{t});
  const auto all = distill(encoder, {"kase", "a", "listen"});
  CHECK(test::max_error(parts.vectors().values(), all.values()) < 1e-6);
}

TEST_CASE("ContextualVectors: LOVE's words of one token, and what is refused") {
  const Encoder<double> encoder(test::tiny_file(), {});
  expect_error(
      ErrorKind::failure, [&] { distill(encoder, {"absent"}); }, "ContextualVectors: none of the 1 words occurred in the texts");
  Encoder<double> plugged(test::tiny_file(), {});
  std::vector<std::string> units{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]"};
  for (char c = 'a'; c <= 'z'; ++c) units.insert(units.end(), {std::string(1, c), std::string("##") + c});
  plug_in(plugged, Love<double>(WordUnits(Vocabulary(units)), {.size = 12, .query_size = 4}, 3));
  WordFrequencies counts(plugged.tokenizer(), 20);
  counts.add(all_texts);
  CHECK(counts.frequent(5) == std::vector<std::string>{"a", "kase"});
  const auto row = distill(plugged, {"cameras"});
  check_row(row, "cameras", {occurrence(plugged, 0, 2, 3)}, WordPooling::mean);  // [CLS] sony cameras for a kase
}
