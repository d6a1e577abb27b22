// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "lexformer/io/json.hpp"
#include "lexformer/train/encoder.hpp"
#include "lexformer/train/pretraining.hpp"
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
    const auto done = train_encoder(model, train, train, settings, {.out = out});
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
  run.hooks.on_evaluation = [&](const EvaluationReport& e) { shown = e.measurement.text; };
  const auto done = pretrain(model, text, held_out, settings, run);
  CHECK(done.run.finished);
  CHECK(done.run.step == 3);
  CHECK(shown.starts_with("loss "));
  CHECK(done.run.measured["eval_perplexity"].get<double>() > 1);
  CHECK(done.settings["text"] == text.describe());
  settings.gradient_checkpointing = true;
  expect_error(
      ErrorKind::usage, [&] { pretrain(model, text, held_out, settings); }, "gradient_checkpointing: has no effect with `head_cosine`");
}
