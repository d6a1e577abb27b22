// SPDX-License-Identifier: MIT
#include "lexformer/train/matcher.hpp"

#include <doctest/doctest.h>

#include "lexformer/io/json.hpp"
#include "models/tiny.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

ExampleSet tiny_examples(const std::string& name) {
  ExampleSet set{name, {}};
  for (std::size_t i = 0; i < test::pairs.size(); ++i)
    set.examples.push_back({test::pairs[i].first, test::pairs[i].second, test::labels[i], static_cast<float>(test::labels[i])});
  return set;
}

CrossEncoder<> tiny_start(CrossEncoderOptions options = {.attention = {"lea"}, .seed = 3}) {
  return CrossEncoder<>(test::tiny_file(), options);
}

MatcherSettings tiny_settings() {
  MatcherSettings settings;
  settings.epochs = 4;
  settings.batch = 3;
  settings.lr = 1e-2;
  settings.augment = true;
  settings.seed = 3;
  settings.logging_steps = 2;
  return settings;
}

}  // namespace

TEST_CASE("a matcher is trained in memory to the model that a folder would have") {
  const test::Threads one(1);
  const TemporaryFolder folder;
  const auto train = tiny_examples("train"), valid = tiny_examples("valid");
  std::size_t steps = 0, lines = 0, evaluations = 0, evaluated = 0, saved = 0, notes = 0;
  TrainingRun run;
  run.hooks.on_step = [&](const StepReport&) { ++steps; };
  run.hooks.on_log = [&](const JsonValue&) { ++lines; };
  run.hooks.on_evaluation = [&](const EvaluationReport&) { ++evaluations; };
  run.hooks.on_evaluated = [&](std::size_t pairs) { evaluated += pairs; };
  run.hooks.on_save = [&](const std::string&) { ++saved; };
  run.hooks.on_note = [&](const std::string&) { ++notes; };
  auto model = tiny_start(), again = tiny_start();
  const auto done = train_matcher(model, train, valid, tiny_settings(), run);
  CHECK(done.run.finished);
  CHECK(done.run.step == 12);
  CHECK(done.examples == 8);
  CHECK(done.warnings.empty());
  CHECK(steps == 12);
  CHECK(evaluations == 4);
  CHECK(evaluated == 4 * 8);
  CHECK(lines == 6 + 4);
  CHECK(saved == 0);
  CHECK(notes == 0);
  REQUIRE(model.threshold.has_value());
  const auto e = evaluate(model, "valid", valid.examples, model.threshold, 8);
  CHECK(e.value("f1") == done.best.value("f1"));

  run.out = folder / "run";
  const auto written = train_matcher(again, train, valid, tiny_settings(), run);
  CHECK(saved > 1);
  CHECK(written.settings == done.settings);
  const auto best = CrossEncoder<>::load(folder / "run/model.lxf");
  for (const auto* other : {&std::as_const(again), &best}) {
    CHECK(test::same_bits(model.logits(test::pairs), other->logits(test::pairs)));
    CHECK(other->threshold == model.threshold);
    CHECK(other->calibration == model.calibration);
  }
}

TEST_CASE("control stops a training, saves it and evaluates it; the run goes on to the same model") {
  const test::Threads one(1);
  const TemporaryFolder folder;
  const auto train = tiny_examples("train"), valid = tiny_examples("valid");
  auto whole = tiny_start(), first = tiny_start(), second = tiny_start(), third = tiny_start();
  train_matcher(whole, train, valid, tiny_settings(), {.out = folder / "whole"});

  TrainingRun run{.out = folder / "run"};
  std::size_t asked = 0, evaluations = 0;
  std::vector<std::string> saved;
  run.hooks.control = [&] { return Control{.stop = ++asked == 5}; };
  CHECK_FALSE(train_matcher(first, train, valid, tiny_settings(), run).run.finished);
  run.resume = true;
  run.hooks.control = {};
  CHECK(train_matcher(second, train, valid, tiny_settings(), run).run.finished);
  CHECK(read_file(folder / "run/model.lxf") == read_file(folder / "whole/model.lxf"));
  CHECK(read_file(folder / "run/log.jsonl") == read_file(folder / "whole/log.jsonl"));
  run.identity["model"] = "another";
  expect_error(
      ErrorKind::usage, [&] { train_matcher(third, train, valid, tiny_settings(), run); }, "model was not set in that run");

  TrainingRun asks{.out = folder / "asks"};
  asked = 0;
  asks.hooks.control = [&] {
    ++asked;
    return Control{.save = asked == 4, .evaluate = asked == 5};
  };
  asks.hooks.on_save = [&](const std::string& path) { saved.push_back(path); };
  asks.hooks.on_evaluation = [&](const EvaluationReport& e) { evaluations += e.step == 5 ? 1u : 0u; };
  train_matcher(first, train, valid, tiny_settings(), asks);
  CHECK(evaluations == 1);
  CHECK(std::count(saved.begin(), saved.end(), folder / "asks/checkpoint-4") == 1);

  TrainingRun throws;
  throws.hooks.on_evaluated = [](std::size_t) { fail("caller", "has had enough"); };
  CHECK_THROWS_WITH_AS(train_matcher(first, train, valid, tiny_settings(), throws), "caller: has had enough", Error);
}

TEST_CASE("settings of a matcher that are out of range, or do not suit the model") {
  const auto refused = [](auto&& edit, const std::string& message, CrossEncoderOptions options = {}) {
    auto settings = tiny_settings();
    edit(settings);
    auto model = tiny_start(std::move(options));
    expect_error(
        ErrorKind::usage, [&] { train_matcher(model, tiny_examples("train"), tiny_examples("valid"), settings); }, message);
  };
  const CrossEncoderOptions regression{.task = {.kind = TaskKind::regression, .labels = 1}};
  refused([](auto& s) { s.batch = 0; }, "batch: is 0, expected 1 or more");
  refused([](auto& s) { s.lr = -1; }, "lr: is -1, expected 0 or more");
  refused([](auto& s) { s.train_share = 0; }, "train_share: must be above 0");
  refused([](auto& s) { s.augment_probability = 2; }, "augment_probability: is 2, expected 0 to 1");
  refused([](auto& s) { s.loss = MatcherLoss::binary; }, "loss: binary is a loss of a regression; the model has 2 classes");
  refused([](auto& s) { s.loss = MatcherLoss::cross_entropy; }, "loss: cross-entropy is a loss of classes", regression);
  refused([](auto& s) { s.class_weights = {"1"}; }, "class_weights: 1 weights for 2 classes");
  refused([](auto& s) { s.class_weights = {"1", "x"}; }, "class_weights: 'x' is neither a number");
  refused([](auto& s) { s.class_weights = {"balanced"}; }, "class_weights: a regression has no classes", regression);
}

TEST_CASE("a matcher without positive pairs is trained with a warning; labels that do not suit the loss are refused") {
  const test::Threads one(1);
  auto train = tiny_examples("train.tsv");
  for (auto& e : train.examples) e.label = 0;
  auto model = tiny_start();
  std::vector<std::string> notes;
  TrainingRun run;
  run.hooks.on_note = [&](const std::string& note) { notes.push_back(note); };
  auto settings = tiny_settings();
  settings.max_steps = 1;
  const auto done = train_matcher(model, train, tiny_examples("valid.tsv"), settings, run);
  REQUIRE(done.warnings.size() == 1);
  CHECK(done.warnings[0] == "train.tsv: none of the 8 pairs is of the positive class; the model learns to predict no match");
  CHECK(notes == std::vector<std::string>{"warning: " + done.warnings[0]});

  auto ranker = tiny_start({.task = {.kind = TaskKind::regression, .labels = 1}});
  settings.loss = MatcherLoss::margin;
  train.examples[2].target = -1;
  expect_file_error([&] { train_matcher(ranker, train, tiny_examples("valid.tsv"), settings); },
                    "train.tsv: example 3 has the label -1; this loss needs labels of 0 or more");
}
