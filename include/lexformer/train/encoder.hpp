// SPDX-License-Identifier: MIT
// Training of a sentence encoder on pairs of texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/data/examples.hpp"
#include "lexformer/models/rank.hpp"
#include "lexformer/models/sentence_encoder.hpp"
#include "lexformer/ops/ranking_loss.hpp"
#include "lexformer/train/evaluation.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/ranking_evaluation.hpp"
#include "lexformer/train/settings.hpp"
#include "lexformer/train/trainer.hpp"

namespace lexformer {

/// The losses of pairs of vectors (ops/ranking_loss.hpp).
enum class EncoderLoss { multiple_negatives, cosine, contrastive };
template <>
inline constexpr Named<EncoderLoss> names_of<EncoderLoss>[] = {
    {"multiple-negatives", EncoderLoss::multiple_negatives}, {"cosine", EncoderLoss::cosine}, {"contrastive", EncoderLoss::contrastive}};

struct EncoderSettings : ExampleTrainingSettings {
  EncoderLoss loss = EncoderLoss::multiple_negatives;
  double factor = 20, margin = 0.5;  // of multiple_negatives; of contrastive

  EncoderSettings();
  void visit(OptionVisitor& v);
  /// Errors (usage): a value is out of its range.
  void check() const;
};

/// Pairs of texts that belong together, or not.
struct TextPairs {
  std::string name;                   // of their file, for messages and results
  std::vector<PairExample> examples;  // target: the label; kept: the hard negative, if there are any
  bool labelled = false;
};

struct EncoderTraining : TrainingResult {
  Evaluation best{};  // of the validation pairs by the best model, if the run is finished
};

/// The metrics of pairs. With labels: Spearman's correlation of cosine and label (EncoderLoss::cosine), else the average precision.
/// Without: how well the cosine ranks a left text's right text among the right texts of all pairs. encoded: called after each batch with
/// the number of its texts; what it throws ends the call.
template <class T, class Dev>
Evaluation evaluate_encoder(const SentenceEncoder<T, Dev>& model, const TextPairs& pairs, EncoderLoss loss, std::size_t batch,
                            const std::function<void(std::size_t)>& encoded = {}) {
  std::vector<std::string> left, right;
  for (const auto& e : pairs.examples) {
    left.push_back(e.left);
    right.push_back(e.right);
  }
  const auto a = model.encode(left, batch, encoded), b = model.encode(right, batch, encoded);
  require_finite(a, pairs.name, "pair", 1);
  require_finite(b, pairs.name, "pair", 1);
  if (!pairs.labelled) {
    std::map<std::string, double> copies;  // equal texts are all right
    for (const auto& text : right) ++copies[text];
    std::vector<RankedQuery> queries;
    const auto found = nearest_documents(a, b, ranking_depth);
    for (std::size_t i = 0; i < found.size(); ++i) {
      auto& query = queries.emplace_back();
      for (const auto& d : found[i]) query.ranked.push_back(right[d.index] == right[i] ? 1 : 0);
      query.relevant.assign(static_cast<std::size_t>(copies[right[i]]), 1.0);
    }
    return ranking_evaluation(pairs.name, queries);
  }
  const NoGrad no_grad;
  using A = accumulate_t<T>;
  const auto cosines = cosine_similarity(Var<A>(a), Var<A>(b)).value();
  const std::vector<double> scores(cosines.span().begin(), cosines.span().end());
  if (loss == EncoderLoss::cosine) {
    std::vector<double> labels;
    for (const auto& e : pairs.examples) labels.push_back(static_cast<double>(e.target));
    return {pairs.name, {{"spearman", spearman(scores, labels)}, {"pearson", pearson(scores, labels)}}, "spearman", {}};
  }
  const auto labels = labels_of(pairs.examples);
  return {pairs.name,
          {{"average_precision", average_precision(scores, labels)}, {"best_f1", best_f1_threshold(scores, labels).f1}},
          "average_precision",
          {}};
}

/// The task for Trainer.
template <class T, class Dev>
class EncoderTask {
 public:
  /// A batch: the left texts of B pairs, their right texts, the hard negatives, and the labels of the pairs.
  struct Pairs {
    Batch texts;
    std::vector<double> labels;
  };

  /// The arguments must outlive the task. Errors (file): no pair is labelled 1 for a loss that needs such pairs.
  EncoderTask(const EncoderSettings& settings, SentenceEncoder<T, Dev>& model, const TextPairs& train, const TextPairs& valid,
              std::function<void(std::size_t)> evaluated = {})
      : settings_(settings), model_(model), valid_(valid), evaluated_(std::move(evaluated)) {
    std::vector<std::string> left, right, negatives;
    for (const auto& e : train.examples) {
      if (settings.loss == EncoderLoss::multiple_negatives && e.label != 1) continue;
      left.push_back(e.left);
      right.push_back(e.right);
      negative_.emplace_back();
      if (!e.kept.empty() && !e.kept[0].empty()) {
        negative_.back() = negatives.size();
        negatives.push_back(e.kept[0]);
      }
      labels_.push_back(static_cast<double>(e.target));
    }
    if (labels_.empty()) fail_file(train.name, "has no pair labelled 1 to train on");
    left_ = model.tokenize(left);
    right_ = model.tokenize(right);
    negatives_ = model.tokenize(negatives);
    std::vector<std::size_t> lengths;  // tokens of each pair, with its hard negative
    for (std::size_t i = 0; i < left_.size(); ++i)
      lengths.push_back(left_[i].size() + right_[i].size() + (negative_[i] ? negatives_[*negative_[i]].size() : 0));
    batches_ = {lengths, {.size = settings.batch, .seed = settings.seed, .order = settings.order}};
  }

  std::size_t pairs() const { return labels_.size(); }
  std::size_t batches() const { return batches_.size(); }
  Pairs batch(std::uint32_t epoch, std::size_t number) {
    const auto& rows = batches_.rows(epoch, number);
    std::vector<Encoding> chosen;
    for (const auto* side : {&left_, &right_})
      for (const std::size_t row : rows) chosen.push_back((*side)[row]);
    for (const std::size_t row : rows)
      if (negative_[row]) chosen.push_back(negatives_[*negative_[row]]);
    Pairs batch{model_.batch(chosen), {}};
    for (const std::size_t row : rows) batch.labels.push_back(labels_[row]);
    return batch;
  }
  BatchSize size(const Pairs& batch) const { return {batch.labels.size(), batch.texts.offsets.tokens()}; }
  /// A single pair without a hard negative has no loss.
  double weights(const Pairs& batch) const {
    const bool alone = settings_.loss == EncoderLoss::multiple_negatives && batch.texts.size() == 2;
    return alone ? 0 : static_cast<double>(batch.labels.size());
  }
  auto loss(const Pairs& batch, const ForwardOptions& forward) const {
    const std::size_t n = batch.labels.size();
    const auto y = model_(DeviceBatch<T, Dev>(batch.texts), forward);
    const auto a = slice_rows(y, 0, n), b = slice_rows(y, n, 2 * n);
    if (settings_.loss == EncoderLoss::cosine) return cosine_loss(a, b, batch.labels);
    if (settings_.loss == EncoderLoss::contrastive) return contrastive_loss(a, b, batch.labels, settings_.margin);
    std::vector<decltype(slice_rows(y, 0, n))> hard;
    if (batch.texts.size() > 2 * n) hard.push_back(slice_rows(y, 2 * n, batch.texts.size()));
    return multiple_negatives_ranking(a, b, hard, settings_.factor);
  }
  Measurement evaluate() const {
    return measurement_of(evaluate_encoder(model_, valid_, settings_.loss, settings_.eval_batch, evaluated_));
  }
  void save(const std::string& path) { model_.save(path); }
  void load(const std::string& path) { model_.restore(ModelFile::open(path)); }

 private:
  const EncoderSettings& settings_;
  SentenceEncoder<T, Dev>& model_;
  const TextPairs& valid_;
  std::function<void(std::size_t)> evaluated_;
  std::vector<Encoding> left_, right_, negatives_;
  std::vector<std::optional<std::size_t>> negative_;  // of each pair, its place in negatives_
  std::vector<double> labels_;
  EpochBatches batches_{{}, {}};
};

namespace detail {
/// The settings and checksums that identify the run.
JsonValue encoder_identity(EncoderSettings settings, const TextPairs& train, const TextPairs& valid, const JsonValue& of_caller);
}  // namespace detail

/// Trains a sentence encoder on pairs. The best one on the validation pairs (evaluate_encoder) is kept.
/// Errors: of EncoderSettings::check, EncoderTask and Trainer.
template <class T, class Dev>
EncoderTraining train_encoder(SentenceEncoder<T, Dev>& model, const TextPairs& train, const TextPairs& valid,
                              const EncoderSettings& settings, const TrainingRun& run = {}) {
  settings.check();
  model.encoder().gradient_checkpointing = settings.gradient_checkpointing;
  EncoderTask<T, Dev> task(settings, model, train, valid, run.hooks.on_evaluated);
  return train_by_adamw<EncoderTraining>(task, model, settings, settings.weight_decay, run, task.pairs(),
                                         detail::encoder_identity(settings, train, valid, run.identity));
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

#include "lexformer/io/json.hpp"
#include "lexformer/io/options.hpp"

namespace lexformer {

LEXFORMER_INLINE EncoderSettings::EncoderSettings() {
  lr = 2e-5;
  warmup = 0.1;
  weight_decay = 0.01;
}

LEXFORMER_INLINE void EncoderSettings::visit(OptionVisitor& v) {
  const bool ranks = loss == EncoderLoss::multiple_negatives, pushes = loss == EncoderLoss::contrastive;
  v.group("Training");
  v.choice("loss", loss,
           "loss; multiple-negatives: the right texts of the other pairs of a batch are negatives; cosine: squared error of the cosine "
           "and the label; contrastive: pulls pairs labelled 1 together and pushes the others to a distance of `margin`");
  v.number("scale", factor, bounds::positive, "of multiple-negatives: factor of the cosines")
      .identity(ranks)
      .only_if(ranks, cat("belongs to `loss` multiple-negatives, not ", name_of(loss)));
  v.number("margin", margin, bounds::positive, "of contrastive: cosine distance from which a pair labelled 0 has no loss")
      .identity(pushes)
      .only_if(pushes, cat("belongs to `loss` contrastive, not ", name_of(loss)));
  visit_examples(v, "pairs", "new weights, order and dropout", true);
}

LEXFORMER_INLINE void EncoderSettings::check() const {
  check_bounds([s = *this](OptionVisitor& v) mutable { s.visit(v); });
  if (loss == EncoderLoss::multiple_negatives && batch < 2)
    fail_usage("batch", "is ", batch,
               "; with `loss` multiple-negatives a batch needs 2 pairs or more, whose texts are negatives of each other");
}

LEXFORMER_INLINE JsonValue detail::encoder_identity(EncoderSettings settings, const TextPairs& train, const TextPairs& valid,
                                                    const JsonValue& of_caller) {
  Json all = identity_json([&](OptionVisitor& v) {
    settings.visit(v);
    settings.visit_logging(v);
  });
  all["train"] = describe(train.examples);
  all["valid"] = describe(valid.examples);
  std::vector<PairExample> negatives;
  for (const auto& e : train.examples)
    if (!e.kept.empty()) negatives.push_back({e.kept[0], ""});
  if (!negatives.empty()) all["negatives"] = describe(negatives, 1);
  all.update(of_caller);
  return JsonValue(std::move(all));
}

}  // namespace lexformer
#endif
