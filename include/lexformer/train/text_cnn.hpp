// SPDX-License-Identifier: MIT
// Training of Kim's CNN, a classifier of single texts, over fixed word vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/data/examples.hpp"
#include "lexformer/models/text_cnn.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/train/evaluation.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/settings.hpp"
#include "lexformer/train/trainer.hpp"

namespace lexformer {

/// The defaults are those of the LOVE paper.
struct TextCnnSettings : TrainingSettings {
  double weight_decay = 0;
  BatchOrder order = BatchOrder::random;

  TextCnnSettings();
  void visit(OptionVisitor& v);
};

struct TextCnnTraining : TrainingResult {
  Evaluation best{};  // of the validation texts by the best model, if the run is finished
};

/// The task for Trainer: batches, their loss, and the evaluation on the validation texts. The vectors of their words are looked up or
/// imputed once.
template <class T, class Dev>
class TextCnnTask {
 public:
  /// The arguments must outlive the task.
  TextCnnTask(const TextCnnSettings& settings, TextCnn<T, Dev>& model, const ExampleSet& train, const ExampleSet& valid,
              std::function<void(std::size_t)> evaluated = {})
      : settings_(settings),
        model_(model),
        valid_(valid),
        evaluated_(std::move(evaluated)),
        train_words_(words_of(train)),
        valid_words_(words_of(valid)) {}

  std::size_t batches() const { return (train_words_.texts.size() + settings_.batch - 1) / settings_.batch; }
  WordBatch batch(std::uint32_t epoch, std::size_t number) {
    if (plan_.empty() || epoch_ != epoch) {
      epoch_ = epoch;
      plan_ = plan_batches(train_words_.texts.lengths(),
                           {.size = settings_.batch, .seed = settings_.seed, .epoch = epoch, .order = settings_.order});
    }
    return train_words_.texts.batch(plan_.at(number));
  }
  BatchSize size(const WordBatch& batch) const { return {batch.size(), batch.offsets.tokens()}; }
  double weights(const WordBatch& batch) const { return static_cast<double>(batch.size()); }
  auto loss(const WordBatch& batch, const ForwardOptions& forward) const {
    return cross_entropy(model_(table_, batch, forward), batch.labels);
  }
  Measurement evaluate() const {
    const auto logits = model_.logits(valid_words_.texts, valid_words_.table, settings_.eval_batch, evaluated_);
    return measurement_of(evaluate_logits(logits, model_.scores_of(logits), model_.options(), valid_.name, valid_.examples, std::nullopt));
  }
  void save(const std::string& path) { model_.save(path); }
  void load(const std::string& path) { model_.restore(ModelFile::open(path)); }

 private:
  struct Words {
    WordTexts texts;
    Tensor<T, Dev> table;
  };
  Words words_of(const ExampleSet& set) const {
    WordTexts texts(set.examples, model_.cnn().max_length, !model_.cnn().cased);
    auto table = model_.table(texts.words());
    return {std::move(texts), std::move(table)};
  }

  const TextCnnSettings& settings_;
  TextCnn<T, Dev>& model_;
  const ExampleSet& valid_;
  std::function<void(std::size_t)> evaluated_;
  Words train_words_, valid_words_;
  Var<T, Dev> table_{train_words_.table};
  std::uint32_t epoch_ = 0;
  std::vector<std::vector<std::size_t>> plan_{};
};

namespace detail {
/// What identifies the run.
JsonValue text_cnn_identity(TextCnnSettings settings, const ExampleSet& train, const ExampleSet& valid, const JsonValue& of_caller);
}  // namespace detail

/// Trains a CNN that has its word vectors (TextCnn::provide) on labelled texts. The best one on the validation texts, by accuracy, is kept.
/// Errors: of check_bounds and Trainer.
template <class T, class Dev>
TextCnnTraining train_text_cnn(TextCnn<T, Dev>& model, const ExampleSet& train, const ExampleSet& valid, const TextCnnSettings& settings,
                               const TrainingRun& run = {}) {
  check_bounds([s = settings](OptionVisitor& v) mutable { s.visit(v); });
  TextCnnTask<T, Dev> task(settings, model, train, valid, run.hooks.on_evaluated);
  AdamW<T, Dev> optimizer(model.parameters(), {.lr = settings.lr, .weight_decay = settings.weight_decay});
  TextCnnTraining result;
  result.examples = train.examples.size();
  result.settings = detail::text_cnn_identity(settings, train, valid, run.identity);
  run_training(task, optimizer, trainer_options(settings, run, steps_per_epoch(task.batches(), settings.accumulate)), result);
  if (result.run.finished) result.best = Evaluation::from_json(result.run.best);
  return result;
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/json.hpp"
#include "lexformer/io/options.hpp"

namespace lexformer {

LEXFORMER_INLINE TextCnnSettings::TextCnnSettings() {
  schedule = ScheduleKind::constant;
  epochs = 5;
  lr = 1e-3;
  clip = 5;
  batch = 50;
}

LEXFORMER_INLINE void TextCnnSettings::visit(OptionVisitor& v) {
  v.group("Training");
  visit_batch(v, "texts");
  visit_training(v);
  visit_warmup(v);
  v.number("weight_decay", weight_decay, bounds::non_negative, "AdamW's decoupled weight decay");
  v.choice("order", order, "order of the texts");
  visit_seed(v, "weights, order and dropout");
  visit_patience(v);
}

LEXFORMER_INLINE JsonValue detail::text_cnn_identity(TextCnnSettings settings, const ExampleSet& train, const ExampleSet& valid,
                                                     const JsonValue& of_caller) {
  Json all = identity_json([&](OptionVisitor& v) {
    settings.visit(v);
    settings.visit_logging(v);
  });
  all["train"] = describe(train.examples, 1);
  all["valid"] = describe(valid.examples, 1);
  all.update(of_caller);
  return JsonValue(std::move(all));
}

}  // namespace lexformer
#endif
