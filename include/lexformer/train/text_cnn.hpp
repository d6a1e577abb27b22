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

/// The defaults follow the LOVE paper.
struct TextCnnSettings : ExampleTrainingSettings {
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
        valid_words_(words_of(valid)),
        batches_(train_words_.texts.lengths(), {.size = settings.batch, .seed = settings.seed, .order = settings.order}) {}

  std::size_t batches() const { return batches_.size(); }
  WordBatch batch(std::uint32_t epoch, std::size_t number) { return train_words_.texts.batch(batches_.rows(epoch, number)); }
  BatchSize size(const WordBatch& batch) const { return {batch.size(), batch.offsets.tokens()}; }
  double weights(const WordBatch& batch) const { return static_cast<double>(batch.size()); }
  auto loss(const WordBatch& batch, const ForwardOptions& forward) const {
    return cross_entropy(model_(table_, batch, forward), batch.labels);
  }
  Measurement evaluate() const {
    const auto logits = model_.logits(valid_words_.texts, valid_words_.table, settings_.eval_batch, evaluated_);
    return measurement_of(evaluate_logits(logits, model_.scores_of(logits), model_.task(), valid_.name, valid_.examples, std::nullopt));
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
  EpochBatches batches_;
  Var<T, Dev> table_{train_words_.table};
};

namespace detail {
/// The settings and checksums that identify the run.
JsonValue text_cnn_identity(TextCnnSettings settings, const ExampleSet& train, const ExampleSet& valid, const JsonValue& of_caller);
}  // namespace detail

/// Trains a CNN that has its word vectors (TextCnn::provide) on labelled texts. The best one on the validation texts, by accuracy, is kept.
/// Errors: of check_bounds and Trainer.
template <class T, class Dev>
TextCnnTraining train_text_cnn(TextCnn<T, Dev>& model, const ExampleSet& train, const ExampleSet& valid, const TextCnnSettings& settings,
                               const TrainingRun& run = {}) {
  check_bounds([s = settings](OptionVisitor& v) mutable { s.visit(v); });
  TextCnnTask<T, Dev> task(settings, model, train, valid, run.hooks.on_evaluated);
  return train_by_adamw<TextCnnTraining>(task, model, settings, settings.weight_decay, run, train.examples.size(),
                                         detail::text_cnn_identity(settings, train, valid, run.identity));
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
  visit_examples(v, "texts", "weights, order and dropout", false);
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
