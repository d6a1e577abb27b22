// SPDX-License-Identifier: MIT
// Training a matcher: one run with one seed.
#pragma once

#include <lexformer/io/json.hpp>

#include "train/matcher_card.hpp"
#include "train/training.hpp"

namespace program {

struct RunResult {
  lx::Evaluation valid;
  std::vector<lx::TestResult> tests;
  lx::Json json;

  /// The rows of the table: validation, then the tests.
  std::vector<std::pair<std::string, lx::Evaluation>> rows() const {
    std::vector<std::pair<std::string, lx::Evaluation>> all{{valid.file, valid}};
    for (auto& row : lx::table_rows(tests)) all.push_back(row);
    return all;
  }
};

/// One run with one seed: trains, keeps the best model, evaluates it. Returns nothing if it was interrupted (and saved).
template <class T, class Dev>
std::optional<RunResult> run_matcher(const MatcherOptions& o, std::uint64_t seed, const std::string& out,
                                     const lx::TextKnowledge& knowledge) {
  auto options = o.encoder;
  options.seed = seed;
  auto model = lx::CrossEncoder<T, Dev>::load(o.model, options);
  report_tensors(o.model, model, o.quiet);
  o.love.apply(model);
  if (o.table.records || options.task.texts == 1) lx::keep_record_texts(o.table.records.get(), model.metadata);
  model.provide(knowledge);
  const auto read = [&](const std::string& file) { return lx::ExampleSet{file, lx::read_examples(file, o.table, model.task())}; };
  auto train = read(o.train_file);
  lx::keep_trained_examples(train.examples, model.metadata);
  const auto valid = read(o.valid);
  std::vector<lx::ExampleSet> tests;  // read before training, so that a bad file is reported early
  for (const auto& file : o.tests) tests.push_back(read(file));
  o.check_columns(train);
  for (const auto& test : tests) model.check_texts(lx::texts_of(test.examples, options.task.texts), test.name);

  auto settings = o.settings;
  settings.seed = seed;
  settings.knowledge = knowledge;
  auto run = run_of(o, settings, out, lx::examples_name(options.task.texts));
  run.identity = o.identity();
  run.identity["seed"] = seed;
  const auto done = lx::train_matcher(model, std::move(train), valid, settings, run);
  if (!done.run.finished) {
    say_interrupted(lx::cat("step ", done.run.step), out);
    return std::nullopt;
  }

  RunResult result{done.best, {}, {}};
  result.json = {{"valid", result.valid.json()}, {"test", lx::Json::array()}, {"seed", seed}, {"settings", done.settings}};
  result.json["train"] = {{"file", o.train_file}, {lx::examples_name(options.task.texts), done.examples}};
  result.json["instructions"] = lx::name_of(lx::instructions());
  result.json["train_runtime"] = done.run.seconds;
  result.json["train_samples_per_second"] = static_cast<double>(done.run.samples) / done.run.seconds;
  if (!done.warnings.empty()) result.json["warnings"] = done.warnings;
  std::vector<std::pair<std::string, std::size_t>> data{{o.train_file, done.examples}, {o.valid, valid.examples.size()}};
  for (const auto& [file, examples] : tests) {
    if (interrupted != 0) {
      say_interrupted("the training", out);
      return std::nullopt;
    }
    auto test = lx::evaluate_with_typos(model, file, examples, model.threshold, o.test_typos, settings.typos, settings.eval_batch);
    if (settings.ranks()) test = ranking_result(std::move(test), examples);
    result.json["test"].push_back(test.json());
    result.tests.push_back(std::move(test));
    data.emplace_back(file, examples.size());
  }
  lx::write_file_atomic(out + "/README.md", model_card(o, done.settings, result.rows(), data));
  lx::write_file_atomic(out + "/all_results.json", result.json.dump(2) + "\n");
  return result;
}

}  // namespace program
