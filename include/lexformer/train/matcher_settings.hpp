// SPDX-License-Identifier: MIT
// The settings of train_matcher() (train/matcher.hpp). The defaults follow the LEA paper.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/data/examples.hpp"
#include "lexformer/knowledge/knowledge.hpp"
#include "lexformer/models/cross_encoder_options.hpp"
#include "lexformer/noise/typos.hpp"
#include "lexformer/train/settings.hpp"

namespace lexformer {

/// cross_entropy: of classes. Of one score per example: squared: mean squared error; binary: binary cross-entropy of its logit; and for
/// the pairs of a query (equal left texts) margin: max(0, margin - (better - worse)) over all pairs of documents of a query with different
/// labels; listwise: cross-entropy of labels and softmax over the documents of a query.
enum class MatcherLoss { cross_entropy, squared, binary, margin, listwise };
template <>
inline constexpr Named<MatcherLoss> names_of<MatcherLoss>[] = {{"cross-entropy", MatcherLoss::cross_entropy},
                                                               {"squared", MatcherLoss::squared},
                                                               {"binary", MatcherLoss::binary},
                                                               {"margin", MatcherLoss::margin},
                                                               {"listwise", MatcherLoss::listwise}};

struct MatcherSettings : TrainingSettings {
  std::optional<MatcherLoss> loss{};  // default: cross-entropy of classes, squared error of a regression
  double margin = 1;                  // of MatcherLoss::margin
  double train_share = 1;             // of the examples, drawn by the seed
  std::size_t negatives = 0;          // right texts of other pairs to add for each pair with a label above 0
  bool augment = false, no_decay_norm = false;
  double augment_probability = 0.5, weight_decay = 5e-5;
  TypoOptions typos{};                       // of `augment`
  std::optional<double> new_lr{};            // of new tensors; default: lr
  std::optional<double> warmup_epochs{};     // default: 1.5 as in the paper, but at most 15 % of the run, so that a short run also learns
  std::vector<std::string> freeze{};         // parameters that are not trained (Pretrained::freeze)
  std::vector<std::string> class_weights{};  // numbers, one for each class, or "balanced"
  BatchOrder order = BatchOrder::length_grouped;
  TextKnowledge knowledge{};  // of the attention terms

  MatcherSettings();
  /// texts: of an example, for the help texts.
  void visit(OptionVisitor& v, std::size_t texts = 2);
  void visit_freeze(OptionVisitor& v);
  void visit_typos(OptionVisitor& v, std::size_t texts);
  void visit_training(OptionVisitor& v, std::size_t texts);

  MatcherLoss loss_of(TaskKind task) const;
  /// Whether the loss ranks the documents of a query.
  bool ranks() const { return loss == MatcherLoss::margin || loss == MatcherLoss::listwise; }
  /// Errors (usage): a value is out of its range or does not suit the model.
  void check(const Task& task) const;
  /// The settings that identify a run.
  JsonValue json() const;
  /// The weights of `labels` classes, empty if all are equal. balanced: n / (classes n_c), with n_c of the n examples in class c.
  std::vector<double> weights_of_classes(const std::vector<PairExample>& examples, std::size_t labels) const;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <charconv>
#include <cmath>

#include "lexformer/io/json.hpp"
#include "lexformer/io/options.hpp"

namespace lexformer {

namespace detail {
LEXFORMER_INLINE bool is_balanced(const MatcherSettings& s) { return s.class_weights == std::vector<std::string>{"balanced"}; }

/// Errors (usage): a weight is not a number of at least 0.
LEXFORMER_INLINE std::vector<double> parse_class_weights(const MatcherSettings& s) {
  std::vector<double> weights;
  for (const auto& text : s.class_weights) {
    double weight = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
    if (error != std::errc() || end != text.data() + text.size() || !(weight >= 0 && std::isfinite(weight)))
      fail_usage("class_weights", "'", text, "' is neither a number, 0 or more, nor balanced");
    weights.push_back(weight);
  }
  return weights;
}
}  // namespace detail

LEXFORMER_INLINE MatcherSettings::MatcherSettings() {
  schedule = ScheduleKind::cosine;
  epochs = 30;
  lr = 5e-5;
}

LEXFORMER_INLINE void MatcherSettings::visit(OptionVisitor& v, std::size_t texts) {
  visit_freeze(v);
  visit_typos(v, texts);
  visit_training(v, texts);
  visit_logging(v);
}

LEXFORMER_INLINE void MatcherSettings::visit_freeze(OptionVisitor& v) {
  v.list("freeze", freeze, "do not train these parameters: names of modules, with * for anything, e.g. embeddings encoder.layer.0");
}

LEXFORMER_INLINE void MatcherSettings::visit_typos(OptionVisitor& v, std::size_t texts) {
  const std::string examples = examples_name(texts);
  v.group("Typos");
  v.flag("augment", augment, "add typos to the training " + examples + ", drawn anew in every epoch").identity(false);
  v.number("augment_probability", augment_probability, bounds::share,
           texts == 1 ? "probability that a text gets typos" : "probability that a pair gets typos, in both texts")
      .identity(false);
  v.choice("typo_mode", typos.mode, "kind of typos").identity(false);
  v.number("typo_share", typos.word_share, bounds::share, "share of words with a typo").identity(false);
}

LEXFORMER_INLINE void MatcherSettings::visit_training(OptionVisitor& v, std::size_t texts) {
  const std::string examples = examples_name(texts);
  v.group("Training");
  v.number("train_share", train_share, bounds::share, "share of the training " + examples + ", drawn by the seed; rounded up")
      .identity(train_share < 1);
  if (texts == 2) {
    v.choice("loss", loss,
             "loss; default: cross-entropy of classes, squared error of a regression. binary, margin, listwise: models with one score, as "
             "`task` regression; binary: cross-entropy of sigmoid(score), labels 0 to 1; margin, listwise: rank the right texts of equal "
             "left texts, which share a batch")
        .default_text("by `task`")
        .identity(loss.has_value());
    v.number("margin", margin, bounds::positive, "of `loss` margin: least difference of the scores")
        .identity(loss == MatcherLoss::margin)
        .only_if(loss == MatcherLoss::margin, "belongs to `loss` margin");
    v.size("negatives", negatives, 0,
           "right texts of other pairs to add for each pair with a label above 0, as pairs with label 0, drawn by the seed")
        .identity(negatives > 0);
  }
  visit_batch(v, examples);
  TrainingSettings::visit_training(v);
  visit_gradient_checkpointing(v);
  v.number("new_lr", new_lr, bounds::non_negative,
           "learning rate of the tensors that the start model does not have (the head, attention terms)")
      .default_text("as `lr`")
      .key("new_learning_rate")
      .identity(new_lr.has_value());
  v.number("warmup_epochs", warmup_epochs, bounds::non_negative, "epochs of linear warm-up").default_text("1.5, at most 15 % of the run");
  v.number("weight_decay", weight_decay, bounds::non_negative, "AdamW's decoupled weight decay");
  v.flag("no_decay_norm", no_decay_norm, "no weight decay on biases and LayerNorm");
  v.list("class_weights", class_weights,
         "class weights in the loss, one per class; balanced: inversely proportional to the class frequencies")
      .split_at(',')
      .identity(!class_weights.empty());
  v.choice("order", order, "order of the " + examples);
  visit_seed(v, "the share of the examples, their order, typos and dropout");
  visit_patience(v);
}

LEXFORMER_INLINE MatcherLoss MatcherSettings::loss_of(TaskKind task) const {
  return loss.value_or(task == TaskKind::regression ? MatcherLoss::squared : MatcherLoss::cross_entropy);
}

LEXFORMER_INLINE void MatcherSettings::check(const Task& task) const {
  check_bounds([s = *this](OptionVisitor& v) mutable { s.visit(v); });
  const bool regression = task.kind == TaskKind::regression;
  if (regression && loss == MatcherLoss::cross_entropy)
    fail_usage("loss", "cross-entropy is a loss of classes; a regression has squared, binary, margin or listwise");
  if (!regression && loss && loss != MatcherLoss::cross_entropy)
    fail_usage("loss", name_of(*loss), " is a loss of a regression; the model has ", task.labels, " classes");
  if (negatives > 0 && task.labels > 2) fail_usage("negatives", "needs labels 0 and 1, or numbers");
  if (train_share <= 0) fail_usage("train_share", "must be above 0");
  if (new_lr && lr == 0) fail_usage("new_lr", "follows the schedule of `lr`, which is 0; freeze the other tensors with `freeze`");
  if (new_lr && !std::isfinite(*new_lr / lr)) fail_usage("new_lr", "is ", *new_lr, " and `lr` ", lr, ": their quotient is not finite");
  if (class_weights.empty()) return;
  if (detail::is_balanced(*this) && regression) fail_usage("class_weights", "a regression has no classes");
  if (detail::is_balanced(*this)) return;
  if (class_weights.size() != task.labels || regression)
    fail_usage("class_weights", class_weights.size(), " weights for ", regression ? "a regression" : cat(task.labels, " classes"));
  detail::parse_class_weights(*this);
}

LEXFORMER_INLINE JsonValue MatcherSettings::json() const {
  Json all = identity_json([s = *this](OptionVisitor& v) mutable { s.visit(v); });
  all["augment"] = augment ? augment_probability : 0.0;
  all["typos"] = describe(typos);
  return JsonValue(std::move(all));
}

LEXFORMER_INLINE std::vector<double> MatcherSettings::weights_of_classes(const std::vector<PairExample>& examples,
                                                                         std::size_t labels) const {
  if (!detail::is_balanced(*this)) return detail::parse_class_weights(*this);
  std::vector<double> weights(labels);
  for (const auto& e : examples) ++weights[static_cast<std::size_t>(e.label)];
  for (double& w : weights)
    if (w > 0) w = static_cast<double>(examples.size()) / (static_cast<double>(weights.size()) * w);
  return weights;
}

}  // namespace lexformer
#endif
