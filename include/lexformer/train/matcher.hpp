// SPDX-License-Identifier: MIT
// Training of a cross-encoder on labelled pairs, or on single texts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/pair_dataset.hpp"
#include "lexformer/data/queries.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/query_loss.hpp"
#include "lexformer/train/batches.hpp"
#include "lexformer/train/evaluation.hpp"
#include "lexformer/train/matcher_settings.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/ranking_evaluation.hpp"
#include "lexformer/train/trainer.hpp"

namespace lexformer {

namespace detail {
/// Platt's calibration of the scores, or none if no score says what matches.
std::optional<Calibration> fitted_calibration(const Evaluation& e, const ExampleSet& valid);
}  // namespace detail

/// The task for Trainer: batches, their loss, and the evaluation on the validation examples.
template <class T, class Dev>
struct MatcherTask {
  const MatcherSettings& settings;
  CrossEncoder<T, Dev>& model;
  PairBatches source;
  const ExampleSet& valid;
  CrossEntropyOptions loss_options;
  std::vector<std::size_t> queries;  // of the training examples, for losses that rank
  std::function<void(std::size_t)> evaluated;
  MatcherLoss kind = settings.loss_of(model.task().kind);

  std::size_t batches() const { return source.batches(); }
  Batch batch(std::uint32_t epoch, std::size_t number) { return source.batch(epoch, number); }
  BatchSize size(const Batch& batch) const { return {batch.index.size(), batch.offsets.tokens()}; }
  /// The number of examples that the loss is a mean over, weighted by class; of pairs of documents, or of queries, when it ranks.
  double weights(const Batch& batch) const {
    if (kind == MatcherLoss::margin) return static_cast<double>(rows_of(batch).ordered_pairs(batch.targets).first.size());
    if (kind == MatcherLoss::listwise) return static_cast<double>(rows_of(batch).relevant(batch.targets).ranges.size());
    if (loss_options.class_weights.empty()) return static_cast<double>(batch.index.size());
    double sum = 0;
    for (const auto label : batch.labels) sum += loss_options.class_weights.at(static_cast<std::size_t>(label));
    return sum;
  }
  Var<float, Dev> loss(const Batch& batch, const ForwardOptions& forward) const {
    const auto y = model.example_logits(batch, forward);
    switch (kind) {
      case MatcherLoss::cross_entropy:
        return cross_entropy(y, batch.labels, loss_options);
      case MatcherLoss::squared:
        return mse_loss(y, Var<float, Dev>(Tensor<float, Dev>::from(batch.targets, {batch.targets.size(), 1})));
      case MatcherLoss::binary:
        return binary_cross_entropy(y, std::vector<double>(batch.targets.begin(), batch.targets.end()));
      case MatcherLoss::margin:
        return margin_ranking_by_query(y, rows_of(batch), batch.targets, settings.margin);
      case MatcherLoss::listwise:
        return listwise_softmax_by_query(y, rows_of(batch), batch.targets);
    }
    fail("train_matcher", "unknown loss");
  }
  QueryRows rows_of(const Batch& batch) const {
    std::vector<std::size_t> query;
    for (const std::size_t i : batch.index) query.push_back(queries[i]);
    return QueryRows(query);
  }
  bool calibrate(const Batch& batch, const ForwardOptions& forward) { return model.calibrate(batch, forward); }
  /// Also fits the model's threshold and calibration.
  Measurement evaluate() {
    const auto logits = model.logits(valid.examples, settings.eval_batch, evaluated);
    auto e = evaluate_logits(logits, model.scores_of(logits), model.task(), valid.name, valid.examples, std::nullopt);
    if (settings.ranks()) e = ranking_evaluation(e, valid.examples);
    model.threshold.reset();
    model.calibration.reset();
    if (e.primary == "f1") {
      model.threshold = e.value("threshold");
      model.calibration = detail::fitted_calibration(e, valid);
    }
    return measurement_of(e);
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) {
    const auto file = ModelFile::open(path);
    model.restore(file);
    model.threshold = stored_threshold(file);
    model.calibration = stored_calibration(file);
  }
};

struct MatcherTraining : TrainingResult {
  Evaluation best{};                    // of the validation examples by the best model, if the run is finished
  std::vector<std::string> warnings{};  // about the data
};

/// Trains a model, loaded for training (CrossEncoder::load with options), on labelled examples, and leaves it with the weights, threshold
/// and calibration that are best on the validation examples: by F1, accuracy, Spearman's correlation or the mean reciprocal rank, as the
/// task is. A stopped run leaves the weights of its last step.
///   auto model = lx::CrossEncoder<>::load("english-small", {.attention = {"lea"}, .max_length = 128});
///   lx::MatcherSettings settings;
///   settings.epochs = 3;
///   const auto done = lx::train_matcher(model, train, valid, settings, {.out = "runs/lea"});
/// Errors: of MatcherSettings::check, Trainer, and the model's terms; (file) a label does not suit the loss.
template <class T, class Dev>
MatcherTraining train_matcher(CrossEncoder<T, Dev>& model, ExampleSet train, const ExampleSet& valid, const MatcherSettings& settings,
                              const TrainingRun& run = {});

namespace detail {

/// The share of the examples that is trained on, in their order, and drawn negatives. Errors (file): a label does not suit the loss.
ExampleSet matcher_sample(ExampleSet train, const MatcherSettings& settings, TaskKind task);
std::vector<std::string> matcher_warnings(const Task& task, const ExampleSet& train, const ExampleSet& valid);
/// What identifies the run.
JsonValue matcher_identity(const MatcherSettings& settings, const CrossEncoderOptions& model, const std::vector<PairExample>& train,
                           const ExampleSet& valid, const JsonValue& of_caller);

/// Makes a model ready for training on texts.
template <class T, class Dev>
void prepare_matcher(CrossEncoder<T, Dev>& model, const ExampleSet& train, const ExampleSet& valid, const MatcherSettings& settings) {
  model.encoder().gradient_checkpointing = settings.gradient_checkpointing;
  for (const auto& part : settings.freeze) model.freeze(part);
  model.threshold.reset();
  model.calibration.reset();
  if (settings.knowledge.trees != nullptr || settings.knowledge.wordnet != nullptr) model.provide(settings.knowledge);
  const auto texts = texts_of(train.examples, model.task().texts);
  model.check_texts(texts, train.name);
  model.check_texts(texts_of(valid.examples, model.task().texts), valid.name);
  model.fit(texts);
}

}  // namespace detail

template <class T, class Dev>
MatcherTraining train_matcher(CrossEncoder<T, Dev>& model, ExampleSet train, const ExampleSet& valid, const MatcherSettings& settings,
                              const TrainingRun& run) {
  const CrossEncoderOptions options = model.options();  // before fit(), which adds counts of words
  settings.check(options.task);
  train = detail::matcher_sample(std::move(train), settings, options.task.kind);
  detail::prepare_matcher(model, train, valid, settings);
  MatcherTraining result;
  result.examples = train.examples.size();
  result.settings = detail::matcher_identity(settings, options, train.examples, valid, run.identity);
  result.warnings = detail::matcher_warnings(options.task, train, valid);
  for (const auto& warning : result.warnings)
    if (run.hooks.on_note) run.hooks.on_note("warning: " + warning);

  const PairDataset data(std::move(train.examples), model.tokenizer(),
                         {.max_length = options.max_length,
                          .features = model.features(),
                          .augment = settings.augment ? settings.augment_probability : 0.0,
                          .typos = settings.typos,
                          .seed = settings.seed,
                          .labels = options.task.kind == TaskKind::regression ? Labels::numbers : Labels::classes,
                          .texts = options.task.texts,
                          .both_orders = options.both_orders()});
  const auto queries = settings.ranks() ? query_numbers(data.examples()) : std::vector<std::size_t>();
  MatcherTask<T, Dev> task{
      settings, model, PairBatches(data, settings.batch, settings.order, queries), valid, {}, queries, run.hooks.on_evaluated};
  task.loss_options.class_weights = settings.weights_of_classes(data.examples(), options.task.labels);
  AdamW<T, Dev> optimizer(model.parameters(),
                          {.lr = settings.lr, .weight_decay = settings.weight_decay, .decay_bias_and_norm = !settings.no_decay_norm});
  if (settings.new_lr)
    for (const auto& p : optimizer.parameters())
      if (const auto& added = model.new_tensors(); std::find(added.begin(), added.end(), p.name) != added.end())
        optimizer.set_lr_factor(p.name, *settings.new_lr / settings.lr);

  const std::size_t per_epoch = steps_per_epoch(task.batches(), settings.accumulate);
  auto trainer = trainer_options(settings, run, per_epoch);
  trainer.schedule.warmup = settings.warmup_epochs ? epochs_to_steps(*settings.warmup_epochs, per_epoch)
                                                   : std::min(epochs_to_steps(1.5, per_epoch), trainer.schedule.total * 3 / 20);
  std::pair<std::optional<double>, std::optional<Calibration>> best;  // threshold and calibration
  trainer.hooks.on_evaluation = [&](const EvaluationReport& e) {
    if (e.best) best = {model.threshold, model.calibration};
    if (run.hooks.on_evaluation) run.hooks.on_evaluation(e);
  };
  run_training(task, optimizer, trainer, result, model.frozen());
  if (!result.run.finished) return result;
  if (run.out.empty()) std::tie(model.threshold, model.calibration) = best;
  return result;
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <cmath>
#include <limits>
#include <numeric>

#include "lexformer/io/json.hpp"
#include "lexformer/knowledge/dependency_features.hpp"
#include "lexformer/knowledge/wordnet.hpp"
#include "lexformer/metrics/score_calibration.hpp"

namespace lexformer {

LEXFORMER_INLINE std::optional<Calibration> detail::fitted_calibration(const Evaluation& e, const ExampleSet& valid) {
  auto fitted = fit_calibration(CalibrationKind::platt, e.scores, labels_of(valid.examples));
  if (fitted.platt.slope > 0) return fitted;
  return std::nullopt;
}

LEXFORMER_INLINE ExampleSet detail::matcher_sample(ExampleSet train, const MatcherSettings& settings, TaskKind task) {
  auto& examples = train.examples;
  if (settings.train_share < 1) {
    std::vector<std::size_t> rows(examples.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    RandomStream(settings.seed, random_site::share).shuffle(rows);
    rows.resize(static_cast<std::size_t>(std::ceil(settings.train_share * static_cast<double>(rows.size()))));
    std::sort(rows.begin(), rows.end());
    std::vector<PairExample> chosen;
    for (const std::size_t i : rows) chosen.push_back(std::move(examples[i]));
    examples = std::move(chosen);
  }
  const bool binary = settings.loss_of(task) == MatcherLoss::binary;
  if (binary || settings.ranks() || settings.negatives > 0)
    for (std::size_t i = 0; i < examples.size(); ++i)
      if (const float label = examples[i].target; !(label >= 0 && label <= (binary ? 1 : std::numeric_limits<float>::max())))
        fail_file(train.name, "example ", i + 1, " has the label ", label, "; this loss needs ",
                  binary ? "labels from 0 to 1" : "labels of 0 or more");
  if (settings.negatives > 0) examples = with_negatives(std::move(examples), settings.negatives, settings.seed);
  return train;
}

LEXFORMER_INLINE std::vector<std::string> detail::matcher_warnings(const Task& task, const ExampleSet& train, const ExampleSet& valid) {
  std::vector<std::string> all;
  if (!task.has_threshold()) return all;
  const auto check = [&](const ExampleSet& set, const char* meaning) {
    if (std::none_of(set.examples.begin(), set.examples.end(), [](const auto& e) { return e.label == 1; }))
      all.push_back(cat(set.name, ": none of the ", set.examples.size(), " pairs is of the positive class; ", meaning));
  };
  check(train, "the model learns to predict no match");
  check(valid, "F1 is 0 for every model, so neither the best one nor its threshold can be chosen");
  return all;
}

LEXFORMER_INLINE JsonValue detail::matcher_identity(const MatcherSettings& settings, const CrossEncoderOptions& model,
                                                    const std::vector<PairExample>& train, const ExampleSet& valid,
                                                    const JsonValue& of_caller) {
  JsonValue all = settings.json();
  all["train"] = describe(train, model.task.texts);
  all["valid"] = describe(valid.examples, model.task.texts);
  all["encoder"] = to_json(model);
  all["attention"] = Json::object();
  for (const auto& t : model.attention) all["attention"][t.name] = t.json();
  if (model.pair_form) all["pair_form"] = cat(name_of(*model.pair_form), model.pair_separator.empty() ? "" : " " + model.pair_separator);
  if (model.bidirectional) all["bidirectional"] = true;
  if (const auto& trees = settings.knowledge.trees)
    all["parses"] =
        cat(describe(*trees, texts_of(train, model.task.texts)), "; ", describe(*trees, texts_of(valid.examples, model.task.texts)));
  if (const auto& wordnet = settings.knowledge.wordnet)
    all["wordnet"] = cat(wordnet->size(), " synsets, crc32 ", std::hex, wordnet->checksum());
  all->update(of_caller);
  return all;
}

}  // namespace lexformer
#endif
