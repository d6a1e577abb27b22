// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "lexformer/io/json.hpp"
#include "lexformer/models/lstm_tagger.hpp"
#include "lexformer/train/encoder.hpp"
#include "lexformer/train/imputer.hpp"
#include "lexformer/train/pretraining.hpp"
#include "lexformer/train/tagger.hpp"
#include "lexformer/train/text_cnn.hpp"
#include "lexformer/words/bos.hpp"
#include "models/tiny.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

TEST_CASE("a sentence encoder is trained in memory to the model that a folder would have") {
  const test::Threads one(1);
  const TemporaryFolder folder;
  TextPairs train{"train", {}, false};
  for (const auto& [left, right] : test::pairs) train.examples.push_back({left, right, 1, 1});
  const std::vector<std::string> texts{"black camera", "case for a book"};
  EncoderSettings settings;
  settings.batch = 3;
  settings.epochs = 3;
  settings.lr = 1e-2;
  const auto trained = [&](const std::string& out) {
    SentenceEncoder<> model(test::tiny_file(), SentenceEncoderOptions{}, 1);
    TrainingRun run{.out = out};
    std::size_t encoded = 0;
    run.hooks.on_evaluated = [&](std::size_t count) { encoded += count; };
    const auto done = train_encoder(model, train, train, settings, run);
    CHECK(encoded == 3 * 2 * test::pairs.size());
    CHECK(done.run.finished);
    CHECK(done.run.step == 9);
    CHECK(done.examples == test::pairs.size());
    CHECK(done.best.primary == "mrr@10");
    CHECK(done.settings["scale"] == 20.0);
    return model.encode(texts);
  };
  const auto kept = trained("");
  CHECK(test::same_bits(kept, trained(folder / "run")));
  CHECK(test::same_bits(kept, SentenceEncoder<>::load(folder / "run/model.lxf").encode(texts)));

  SentenceEncoder<> model(test::tiny_file(), SentenceEncoderOptions{}, 1);
  settings.batch = 1;
  expect_error(
      ErrorKind::usage, [&] { train_encoder(model, train, train, settings); }, "batch: is 1; with `loss` multiple-negatives");
}

TEST_CASE("a masked language model is pre-trained in memory, and its settings are checked") {
  const test::Threads one(1);
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 12; ++i) lines += "sony black camera screen case for a book silent lens\n";
  write_file_atomic(folder / "text.txt", lines);
  const TextStream text({folder / "text.txt"}, {.max_length = 16, .held_out = 4});
  MaskedLm<> model(test::tiny_file(), TrainingStart{.seed = 1});
  const auto held_out = text.read_held_out(10, model.tokenizer());
  PretrainingSettings settings;
  settings.batch = 3;
  settings.mth = {.token_weight = 1, .head_weight = 0.01};
  TrainingRun run;
  std::string shown;
  std::size_t scored = 0;
  run.hooks.on_evaluation = [&](const EvaluationReport& e) { shown = e.measurement.text; };
  run.hooks.on_evaluated = [&](std::size_t documents) { scored += documents; };
  const auto done = pretrain(model, text, held_out, settings, run);
  CHECK(done.run.finished);
  CHECK(done.run.step == 3);
  CHECK(shown.starts_with("loss "));
  CHECK(scored == held_out.size());
  CHECK(done.run.measured["eval_perplexity"].get<double>() > 1);
  CHECK(done.settings["text"] == text.describe());
  settings.gradient_checkpointing = true;
  expect_error(
      ErrorKind::usage, [&] { pretrain(model, text, held_out, settings); }, "gradient_checkpointing: has no effect with `head_cosine`");
}

TEST_CASE("taggers, CNNs, imputers: evaluations report their batches, and what the hook throws ends the training") {
  const test::Threads one(1);
  const auto vectors = std::make_shared<const StaticVectors>(
      WordVectors({"oslo", "new", "film"}, Tensor<float>::from({1, 2, 3, 4, 5, 6}, {3, 2})), std::nullopt);
  TrainingRun counts, throws;
  std::size_t evaluated = 0;
  counts.hooks.on_evaluated = [&](std::size_t count) { evaluated += count; };
  throws.hooks.on_evaluated = [](std::size_t) { fail("caller", "has had enough"); };

  const TaggedSet sentences{"tags", {{{"Oslo", "new"}, {"B-LOC", "O"}}, {{"new", "film"}, {"O", "O"}}, {{"film"}, {"O"}}}};
  TaggerSettings of_tagger;
  of_tagger.epochs = 1;
  LstmTagger<float> tagger(TagLabels({"O", "B-LOC"}), {.size = 2, .states = 3}, 1);
  tagger.provide(vectors);
  train_tagger(tagger, sentences, sentences, of_tagger, counts);
  CHECK(evaluated == 3);
  CHECK_THROWS_WITH(train_tagger(tagger, sentences, sentences, of_tagger, throws), "caller: has had enough");

  const ExampleSet texts{"texts", {{"new film", "", 1, 1}, {"oslo", "", 0, 0}, {"film oslo", "", 0, 0}}};
  TextCnnSettings of_cnn;
  of_cnn.epochs = 2;
  TextCnn<float> cnn({.size = 2, .filters = 2}, 2, {}, 1);
  cnn.provide(vectors);
  train_text_cnn(cnn, texts, texts, of_cnn, counts);
  CHECK(evaluated == 3 + 2 * 3);
  CHECK_THROWS_WITH(train_text_cnn(cnn, texts, texts, of_cnn, throws), "caller: has had enough");

  const WordVectors targets({"oven", "ovens", "over", "cover"}, Tensor<float>::from({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}));
  const Bos<float> bos(std::vector<std::string>{"oven", "over"}, {.size = 2});
  const ImputerTest test(targets, 4);
  std::size_t words = 0;
  const auto scores = test(bos, targets, [&](std::size_t count) { words += count; });
  CHECK(words == scores.words + scores.typo_words);
}
