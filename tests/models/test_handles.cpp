// SPDX-License-Identifier: MIT
// Scorer, TextEncoder and WordTagger give the numbers of the models behind them, and refuse what a model cannot use.
#include "lexformer/models/compute.hpp"
#include "lexformer/models/open_scorer.hpp"
#include "lexformer/models/text_encoder.hpp"
#include "lexformer/models/word_tagger.hpp"
#include "models/tiny.hpp"

using namespace lexformer;
using test::same_bits;

namespace {

std::vector<PairExample> pair_examples() {
  std::vector<PairExample> all;
  for (const auto& [left, right] : test::pairs) all.push_back({left, right});
  return all;
}
const std::vector<std::string> handle_texts{"sony black camera", "a lens", "silent book for a screen"};

ModelFile lea_file() {
  auto model = test::tiny_model<float>(test::with_lea());
  model.threshold = 0.25;
  model.calibration = Calibration{.platt = {2, -1}};
  model.metadata["lexformer.records"] = "[]";
  return model.file();
}
ModelFile sentence_file() {
  return SentenceEncoder<>(test::tiny_file(), {.pooling = Pooling::cls, .dense = {{.size = 5}}, .max_length = 6}, 3).file();
}
ModelFile cnn_file() { return TextCnn<>({.size = 3, .filters = 2, .first_width = 2, .last_width = 3}, 2, {}, 1).file(); }
ModelFile lstm_file() { return LstmTagger<>(TagLabels({"O", "B-X"}), {.size = 3, .states = 2}, 1).file(); }

ModelExtras with_vectors() {
  return {.vectors = [] {
    return std::make_shared<const StaticVectors>(
        WordVectors({"good", "bad", "film"}, Tensor<float>::from({1, 0, 2, -1, 1, 0, 0, 3, -2}, {3, 3})), std::nullopt);
  }};
}

}  // namespace

TEST_CASE("with_compute: number types and devices by value, and what a device cannot do") {
  const auto number = [](const Compute& compute) {
    return with_compute(compute, [](auto x, auto device) {
      return std::pair(std::is_same_v<decltype(x), bfloat16>, std::is_same_v<decltype(device), Cpu>);
    });
  };
  CHECK(number({}) == std::pair(false, true));
  CHECK(number({.precision = Precision::int8}) == std::pair(false, true));
  CHECK(number({.precision = Precision::bfloat16}) == std::pair(true, true));
  expect_error(
      ErrorKind::usage, [&] { number({.precision = Precision::tf32}); }, "precision: tf32 is a precision of GPUs");
  expect_error(
      ErrorKind::usage, [&] { number({.device = Device::cuda, .precision = Precision::int8}); }, "precision: int8 needs the device cpu");
  expect_error(
      ErrorKind::usage, [&] { number({.int8_skip = {"0"}}); }, "int8_skip: needs the precision int8");
  expect_error(
      ErrorKind::failure, [&] { number({.device = Device::cuda}); }, "device: this build of lexformer has no CUDA");
}

TEST_CASE("Scorer: the logits of a cross-encoder in each precision") {
  const test::Threads one(1);
  const auto file = lea_file();
  const auto examples = pair_examples();
  const CrossEncoder<float> model(file);
  const auto scorer = open_scorer(file);
  std::size_t seen = 0;
  const auto y = scorer->logits(examples, 3, [&](std::size_t n) { seen += n; });
  CHECK(seen == examples.size());
  CHECK(same_bits(y, model.logits(examples, 3)));
  CHECK(scorer->scores_of(y) == model.scores_of(y));
  CHECK(scorer->task().labels == 2);
  CHECK(scorer->threshold == 0.25);
  CHECK(scorer->calibration == model.calibration);
  CHECK(scorer->calibration->platt.slope == 2);
  CHECK(scorer->metadata == std::map<std::string, std::string>{{"lexformer.records", "[]"}});
  CHECK(scorer->config().attention.at(0).name == "lea");
  const auto encoding = scorer->encode(examples[0].left, examples[0].right);
  CHECK(encoding.ids == model.encode(examples[0].left, examples[0].right).ids);
  CHECK(scorer->mean_attention(encoding) == mean_attention(model, encoding));
  CHECK(rank(*scorer, "sony camera", handle_texts)[0].score == rank(model, "sony camera", handle_texts)[0].score);

  const CrossEncoder<bfloat16> rounded(file);
  CHECK(same_bits(open_scorer(file, {.precision = Precision::bfloat16})->logits(examples), rounded.logits(examples)));
  CrossEncoder<float> integers(file);
  integers.quantize({.skip = {"0"}});
  const Compute int8{.precision = Precision::int8, .int8_skip = {"0"}};
  CHECK(same_bits(open_scorer(file, int8)->logits(examples), integers.logits(examples)));
  expect_error(
      ErrorKind::usage, [&] { open_scorer(file, {}, with_vectors()); }, "has word embeddings of its own");
}

TEST_CASE("Scorer: the logits of a CNN over word vectors, which has no tokens") {
  const test::Threads one(1);
  const auto file = cnn_file();
  const std::vector<PairExample> texts{{"Good  film", ""}, {"bad", ""}, {"a film good", ""}};
  TextCnn<> model(file);
  model.provide(with_vectors().vectors());
  const auto scorer = open_scorer(file, {}, with_vectors());
  std::size_t seen = 0;
  CHECK(same_bits(scorer->logits(texts, 2, [&](std::size_t n) { seen += n; }), model.logits(texts, 2)));
  CHECK(seen == 3);
  CHECK(!scorer->threshold);
  scorer->check_texts(handle_texts, "texts");
  expect_error(
      ErrorKind::usage, [&] { scorer->encode("a", "b"); }, "is a CNN over word vectors");
  expect_error(
      ErrorKind::usage, [&] { (void)scorer->config(); }, "is a CNN over word vectors");
  expect_error(
      ErrorKind::usage, [&] { rank(*scorer, "a", handle_texts); }, "reads single texts");
  auto extras = with_vectors();
  extras.love = "love.lxf";
  expect_error(
      ErrorKind::usage, [&] { open_scorer(file, {}, extras); }, "love: ");
  extras = with_vectors();
  extras.knowledge = test::tiny_knowledge();
  expect_error(
      ErrorKind::usage, [&] { open_scorer(file, {}, extras); }, "parses: ");
  expect_error(
      ErrorKind::usage, [&] { open_scorer(file, {.precision = Precision::int8}, with_vectors()); }, "precision: ");
  expect_error(
      ErrorKind::usage, [&] { open_scorer(file); }, "vectors: is missing");
}

TEST_CASE("TextEncoder: a sentence encoder as it was trained, or hidden states") {
  const test::Threads one(1);
  const auto file = sentence_file();
  const auto trained = open_text_encoder(file), hidden = open_text_encoder(file, {}, {}, true);
  CHECK(trained->max_length() == 6);
  CHECK(hidden->max_length() == 20);
  CHECK(same_bits(trained->encode(handle_texts), SentenceEncoder<>(file).encode(handle_texts)));
  CHECK(same_bits(hidden->encode(handle_texts), Encoder<>(file, {}).encode(handle_texts)));
  const TextEncodeOptions rows{.pooling = Pooling::none, .layers = 1};
  CHECK(same_bits(hidden->encode(handle_texts, rows), Encoder<>(file, {}).encode(handle_texts, rows)));
  const auto unit = trained->encode(handle_texts, {.normalize = true});
  double length = 0;
  for (std::size_t j = 0; j < unit.dim(1); ++j) length += static_cast<double>(unit.at(0, j) * unit.at(0, j));
  CHECK(length == doctest::Approx(1).epsilon(1e-5));
  expect_error(
      ErrorKind::usage, [&] { trained->encode(handle_texts, rows); }, "a sentence encoder pools its last layer");
  const Compute bits16{.precision = Precision::bfloat16};
  CHECK(same_bits(open_text_encoder(file, bits16)->encode(handle_texts), SentenceEncoder<bfloat16>(file).encode(handle_texts)));
}

TEST_CASE("WordTagger: the tags of an LSTM and of an encoder") {
  const test::Threads one(1);
  const TemporaryFolder folder;
  const std::vector<TaggedSentence> sentences{{.words = {"good", "film"}}, {.words = {"bad"}}};
  lstm_file().save(folder / "lstm.lxf");
  LstmTagger<> lstm(lstm_file());
  lstm.provide(with_vectors().vectors());
  CHECK(open_tagger(folder / "lstm.lxf", {}, with_vectors())->tag(sentences).tags == predict_tags(lstm, sentences));
  expect_error(
      ErrorKind::usage, [&] { open_tagger(folder / "lstm.lxf"); }, "vectors: is missing");

  TransformerTagger<> bert(test::tiny_file(), TagLabels({"O", "B-X"}), {.max_length = 5}, 1);
  bert.save(folder / "bert.lxf");
  const std::vector<TaggedSentence> longer{{.words = {"sony", "black", "camera", "lens", "case"}}, {.words = {"a", "book"}}};
  const auto tagger = open_tagger(folder / "bert.lxf");
  const auto found = tagger->tag(longer);
  CHECK(tagger->max_length() == 5);
  CHECK(found.tags == predict_tags(bert, longer));
  CHECK(found.cut_sentences == 1);
  CHECK(found.cut_words == 2);
  expect_error(
      ErrorKind::usage, [&] { open_tagger(folder / "bert.lxf", {}, with_vectors()); }, "vectors: ");
}
