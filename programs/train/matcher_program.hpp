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

/// The task for Trainer: batches, their loss, and the evaluation on the validation file.
template <class T, class Dev>
struct MatcherTask {
  const MatcherOptions& o;
  lx::CrossEncoder<T, Dev>& model;
  lx::PairBatches source;
  const std::vector<lx::PairExample>& valid;
  lx::CrossEntropyOptions loss_options;
  std::vector<std::size_t> queries;  // of the training examples, for losses that rank

  std::size_t batches() const { return source.batches(); }
  lx::Batch batch(std::uint32_t epoch, std::size_t number) { return source.batch(epoch, number); }
  /// The number of examples that the loss is a mean over, weighted by class; of pairs of documents, or of queries, when it ranks.
  double weights(const lx::Batch& batch) const {
    if (o.loss() == MatcherLoss::margin) return static_cast<double>(rows_of(batch).ordered_pairs(batch.targets).first.size());
    if (o.loss() == MatcherLoss::listwise) return static_cast<double>(rows_of(batch).relevant(batch.targets).ranges.size());
    if (loss_options.class_weights.empty()) return static_cast<double>(batch.size());
    double sum = 0;
    for (const auto label : batch.labels) sum += loss_options.class_weights.at(static_cast<std::size_t>(label));
    return sum;
  }
  lx::Var<float, Dev> loss(const lx::Batch& batch, const lx::ForwardOptions& forward) const {
    const auto y = model(batch, forward).logits;
    switch (o.loss()) {
      case MatcherLoss::cross_entropy:
        return lx::cross_entropy(y, batch.labels, loss_options);
      case MatcherLoss::squared:
        return lx::mse_loss(y, lx::Var<float, Dev>(lx::Tensor<float, Dev>::from(batch.targets, {batch.size(), 1})));
      case MatcherLoss::binary:
        return lx::binary_cross_entropy(y, std::vector<double>(batch.targets.begin(), batch.targets.end()));
      case MatcherLoss::margin:
        return lx::margin_ranking_by_query(y, rows_of(batch), batch.targets, o.margin);
      case MatcherLoss::listwise:
        return lx::listwise_softmax_by_query(y, rows_of(batch), batch.targets);
    }
    lx::fail("train_matcher", "unknown loss");
  }
  lx::QueryRows rows_of(const lx::Batch& batch) const {
    std::vector<std::size_t> query;
    for (const std::size_t i : batch.index) query.push_back(queries[i]);
    return lx::QueryRows(query);
  }
  bool calibrate(const lx::Batch& batch, const lx::ForwardOptions& forward) { return model.calibrate(batch, forward); }
  lx::Measurement evaluate() {
    auto e = lx::evaluate(model, o.valid, valid, std::nullopt, o.eval_batch);
    if (ranks(o.loss())) e = ranking_evaluation(e, valid);
    model.threshold.reset();
    model.calibration.clear();
    if (e.primary == "f1") {
      model.threshold = e.value("threshold");
      const auto fitted = lx::fit_calibration(lx::CalibrationKind::platt, e.scores, lx::labels_of(valid));
      if (fitted.platt.slope > 0) model.calibration = lx::dump_json(lx::to_json(fitted), o.valid);  // else no score says what matches
    }
    return measurement_of(e);
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) {
    const auto file = lx::ModelFile::open(path);
    model.restore(file);
    model.threshold = file.threshold;
    model.calibration = file.text("lexformer.calibration");
  }
};

/// One run with one seed: trains, keeps the best model, evaluates it. Returns nothing if it was interrupted (and saved).
template <class T, class Dev>
std::optional<RunResult> run_matcher(const MatcherOptions& o, std::uint64_t seed, const std::string& out,
                                     const lx::TextKnowledge& knowledge) {
  auto options = o.encoder;
  options.seed = seed;
  auto model = lx::CrossEncoder<T, Dev>::load(o.model, options);
  if (!o.quiet) report_tensors(o.model, model);
  model.encoder().gradient_checkpointing = o.gradient_checkpointing;
  o.love.apply(model);
  for (const auto& part : o.freeze) model.freeze(part);
  model.threshold.reset();
  model.calibration.clear();
  model.records = stored_records(o.table);
  model.provide(knowledge);

  auto examples = o.training_sample(lx::read_examples(o.train_file, o.table, model.options()), seed);
  if (o.loss() == MatcherLoss::binary) check_labels(o.train_file, examples, 1);
  if (ranks(o.loss()) || o.negatives > 0) check_labels(o.train_file, examples, std::numeric_limits<float>::max());
  if (o.negatives > 0) examples = lx::with_negatives(std::move(examples), o.negatives, seed);
  const auto valid = lx::read_examples(o.valid, o.table, model.options());
  std::vector<std::vector<lx::PairExample>> tests;  // read before training, so that a bad file is reported early
  for (const auto& file : o.tests) tests.push_back(lx::read_examples(file, o.table, model.options()));
  std::string parses;
  {
    const std::size_t each = options.texts;
    const auto texts = texts_of(examples, each), valid_texts = texts_of(valid, each);
    o.check_columns(texts);
    model.check_texts(texts, o.train_file);
    model.check_texts(valid_texts, o.valid);
    for (std::size_t t = 0; t < tests.size(); ++t) model.check_texts(texts_of(tests[t], each), o.tests[t]);
    model.fit(texts);
    if (knowledge.trees != nullptr)
      parses = lx::cat(lx::describe(*knowledge.trees, texts), "; ", lx::describe(*knowledge.trees, valid_texts));
  }
  const lx::PairDataset train(std::move(examples), model,
                              {.augment = o.augment ? o.augment_probability : 0.0,
                               .typos = o.typos,
                               .labels = options.task == lx::Task::regression ? lx::Labels::numbers : lx::Labels::classes});
  const auto warned = warnings(o, train.examples(), valid);
  for (const lx::Json& warning : warned) std::cerr << "warning: " << warning.get_ref<const std::string&>() << "\n";

  const auto queries = ranks(o.loss()) ? lx::query_numbers(train.examples()) : std::vector<std::size_t>();
  lx::CrossEntropyOptions loss_options;
  loss_options.class_weights = o.class_weights_of(train.examples());
  MatcherTask<T, Dev> task{o, model, lx::PairBatches(train, o.batch, o.order, queries), valid, loss_options, queries};
  lx::AdamW<T, Dev> optimizer(model.parameters(), {.lr = o.lr, .weight_decay = o.weight_decay, .decay_bias_and_norm = !o.no_decay_norm});
  if (o.new_lr)
    for (const auto& p : optimizer.parameters())
      if (const auto& added = model.new_tensors(); std::find(added.begin(), added.end(), p.name) != added.end())
        optimizer.set_lr_factor(p.name, *o.new_lr / o.lr);
  auto settings = trainer_options(o, out, seed);
  const std::size_t per_epoch = lx::steps_per_epoch(task.batches(), o.accumulate);
  settings.schedule = schedule_of(o, per_epoch);
  settings.schedule.warmup = o.warmup_epochs ? lx::epochs_to_steps(*o.warmup_epochs, per_epoch)
                                             : std::min(lx::epochs_to_steps(1.5, per_epoch), settings.schedule.total * 3 / 20);
  settings.patience = o.patience;
  settings.progress.samples = lx::examples_name(options.texts);
  settings.settings = o.json(seed, train.examples(), valid);
  if (!parses.empty()) settings.settings["parses"] = parses;
  if (knowledge.wordnet != nullptr)
    settings.settings["wordnet"] = lx::cat(knowledge.wordnet->size(), " synsets, crc32 ", std::hex, knowledge.wordnet->checksum());
  settings.frozen.insert(model.frozen().begin(), model.frozen().end());
  const auto done = lx::Trainer(task, optimizer, settings).run();
  if (!done.finished) {
    say_interrupted(lx::cat("step ", done.step), out);
    return std::nullopt;
  }

  RunResult result{lx::Evaluation::from_json(done.best), {}, {}};
  auto best_model = lx::CrossEncoder<T, Dev>::load(out + "/model.lxf");
  best_model.provide(knowledge);
  result.json = {{"valid", result.valid.json()}, {"test", lx::Json::array()}, {"seed", seed}, {"settings", settings.settings}};
  result.json["train"] = {{"file", o.train_file}, {lx::examples_name(options.texts), train.size()}};
  result.json["instructions"] = lx::name_of(lx::instructions());
  result.json["train_runtime"] = done.seconds;
  result.json["train_samples_per_second"] = static_cast<double>(done.samples) / done.seconds;
  if (!warned.empty()) result.json["warnings"] = warned;
  for (std::size_t t = 0; t < tests.size(); ++t) {
    if (interrupted != 0) {
      say_interrupted("the training", out);
      return std::nullopt;
    }
    result.tests.push_back(
        lx::evaluate_with_typos(best_model, o.tests[t], tests[t], best_model.threshold, o.test_typos, o.typos, o.eval_batch));
    if (ranks(o.loss())) result.tests.back() = ranking_result(std::move(result.tests.back()), tests[t]);
    result.json["test"].push_back(result.tests.back().json());
  }
  std::vector<std::pair<std::string, std::size_t>> data{{o.train_file, train.size()}, {o.valid, valid.size()}};
  for (std::size_t t = 0; t < tests.size(); ++t) data.emplace_back(o.tests[t], tests[t].size());
  lx::write_file_atomic(out + "/README.md", model_card(o, settings.settings, result.rows(), data));
  lx::write_file_atomic(out + "/all_results.json", result.json.dump(2) + "\n");
  return result;
}

}  // namespace program
