// SPDX-License-Identifier: MIT
// Pre-training on plain text: of an encoder as a masked language model (BERT without next-sentence prediction), of a decoder as a causal
// one; with MTH's regularizers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/data/masked_batch.hpp"
#include "lexformer/data/text_stream.hpp"
#include "lexformer/models/analysis.hpp"
#include "lexformer/models/causal_lm.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "lexformer/models/mth.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/train/batches.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/settings.hpp"
#include "lexformer/train/trainer.hpp"

namespace lexformer {

struct PretrainingSettings : TrainingSettings {
  MaskingOptions masking{};
  MthOptions mth{};
  double weight_decay = 0.01;  // not of biases and LayerNorm

  PretrainingSettings();
  void visit(OptionVisitor& v);
  void visit_masking(OptionVisitor& v);
  void visit_training(OptionVisitor& v);
  /// Errors (usage): a value is out of its range, or has no effect with another one.
  void check() const;
};

/// Means over all predicted tokens of some documents; and the similarity of tokens and heads in the first 100, without masks.
struct LanguageModelScores {
  double loss = 0, accuracy = 0, token_similarity = 0, head_similarity = 0;
};

/// Scores a model: MaskedLm with masks that do not depend on the seed of a run, or CausalLm. scored: called after each batch with the
/// number of its documents; what it throws ends the call. Errors: no document has a token that can be predicted.
template <class Model>
LanguageModelScores score_language_model(const Model& model, const std::vector<Encoding>& documents,
                                         const typename Model::Predicted& predicted, std::size_t batch,
                                         const std::function<void(std::size_t)>& scored = {}) {
  const NoGrad no_grad;
  const auto makers = model.features();
  const std::size_t most = std::max<std::size_t>(1, (std::size_t{1} << 25) / model.config().vocab_size);  // rows of logits at a time
  double loss = 0;
  std::size_t right = 0, total = 0;
  for (const auto& rows : batches_by_length(token_counts(documents), batch)) {
    const auto m = make_masked_batch(documents, rows, predicted, 0, 0, 0, makers);
    if (m.positions.empty()) continue;
    const auto hidden = model.encoder()(m.batch);
    for (std::size_t begin = 0; begin < m.positions.size(); begin += most) {
      const std::size_t count = std::min(most, m.positions.size() - begin);
      const auto labels = std::span(m.labels).subspan(begin, count);
      const Var<> logits(cast<float>(model.logits(hidden, std::span(m.positions).subspan(begin, count))).value().template to<Cpu>());
      loss += static_cast<double>(count) * static_cast<double>(cross_entropy(logits, labels).item());
      for (std::size_t i = 0; i < count; ++i) {
        const float* row = logits.value().data() + i * logits.dim(1);
        right += std::max_element(row, row + logits.dim(1)) - row == labels[i] ? 1u : 0u;
      }
    }
    total += m.labels.size();
    if (scored) scored(rows.size());
  }
  if (total == 0)
    fail("pretrain", "no validation document has a word that can be masked; check that they are in the vocabulary's language");
  const auto count = static_cast<double>(total);
  const auto figures = encoder_figures(model, std::span(documents).first(std::min<std::size_t>(documents.size(), 100)));
  return {loss / count, static_cast<double>(right) / count, figures.token_similarity, figures.mean_head_similarity()};
}

namespace detail {
Measurement language_model_measurement(const LanguageModelScores& scores);
JsonValue pretraining_identity(PretrainingSettings settings, const TextStream& text, const JsonValue& of_caller);

/// What a model predicts.
template <class T, class Dev>
Masker predicted_by(const MaskedLm<T, Dev>& model, const PretrainingSettings& settings) {
  return Masker(model.tokenizer(), settings.masking);
}
template <class T, class Dev>
NextTokens predicted_by(const CausalLm<T, Dev>& model, const PretrainingSettings&) {
  return model.next_tokens();
}
}  // namespace detail

/// The task for Trainer: documents, the loss of their predicted tokens, and the evaluation on held-out documents. Model: MaskedLm,
/// CausalLm.
template <template <class, class> class Model, class T, class Dev>
struct PretrainingTask {
  using Predicted = typename Model<T, Dev>::Predicted;

  const PretrainingSettings& settings;
  Model<T, Dev>& model;
  const std::vector<Encoding>& valid;
  Predicted predicted;
  Mth<T, Dev> mth;
  TextBatches<Predicted> source;
  std::function<void(std::size_t)> evaluated{};

  std::size_t batches() const { return source.batches(); }
  MaskedBatch batch(std::uint32_t epoch, std::size_t number) { return source.batch(epoch, number); }
  /// The loss of the predicted tokens plus the weighted regularizers of MTH, which are means over documents. A batch of a few short
  /// documents with only long words may have no masked token; it does not contribute.
  std::vector<double> weights(const MaskedBatch& m) const {
    const double documents = m.positions.empty() ? 0 : static_cast<double>(m.batch.size());
    std::vector<double> weights{static_cast<double>(m.positions.size())};
    if (settings.mth.token_weight != 0) weights.push_back(documents);
    if (settings.mth.head_weight != 0) weights.push_back(documents);
    return weights;
  }
  std::vector<Var<float, Dev>> loss(const MaskedBatch& m, const ForwardOptions& forward) const {
    const auto y = model(m.batch, m.positions, m.labels, forward, mth.encode(forward));
    const auto l = mth.losses(y.encoder, m.batch.offsets, forward);
    std::vector<Var<float, Dev>> parts{y.loss};
    if (l.token.defined()) parts.push_back(scale(l.token, static_cast<float>(settings.mth.token_weight)));
    if (l.head.defined()) parts.push_back(scale(l.head, static_cast<float>(settings.mth.head_weight)));
    return parts;
  }
  bool calibrate(const MaskedBatch& m, const ForwardOptions& forward) { return model.calibrate(m.batch, forward); }
  Measurement evaluate() const {
    return valid.empty()
               ? Measurement{}
               : detail::language_model_measurement(score_language_model(model, valid, predicted, settings.eval_batch, evaluated));
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) { model.restore(ModelFile::open(path)); }
};

/// Pre-trains a model, MaskedLm or CausalLm, on the documents of a text. valid: tokenized documents to evaluate, at the end or every
/// eval_steps; may be empty. The model of the last step is kept. Errors: of PretrainingSettings::check, Mth, TextBatches and Trainer.
template <template <class, class> class Model, class T, class Dev>
TrainingResult pretrain(Model<T, Dev>& model, const TextStream& text, const std::vector<Encoding>& valid,
                        const PretrainingSettings& settings, const TrainingRun& run = {}) {
  settings.check();
  if (settings.mth.head_weight != 0 && !settings.mth.probabilities && model.config().hides_pairs())
    fail_usage("head_cosine", "compares scores, which are -inf for pairs that this model hides; add `cosine_probabilities`");
  model.encoder().gradient_checkpointing = settings.gradient_checkpointing;
  const auto predicted = detail::predicted_by(model, settings);
  PretrainingTask<Model, T, Dev> task{settings,
                                      model,
                                      valid,
                                      predicted,
                                      Mth<T, Dev>(settings.mth, model.config().num_hidden_layers, model.config().num_attention_heads),
                                      TextBatches(text, model.tokenizer(), predicted, settings.batch, settings.seed, model.features()),
                                      run.hooks.on_evaluated};
  AdamW<T, Dev> optimizer(model.parameters(),
                          {.lr = settings.lr, .eps = 1e-6, .weight_decay = settings.weight_decay, .decay_bias_and_norm = false});
  TrainingResult result;
  result.examples = text.documents();
  result.settings = detail::pretraining_identity(settings, text, run.identity);
  auto trainer = trainer_options(settings, run, steps_per_epoch(task.batches(), settings.accumulate));
  trainer.eval_epochs = false;
  run_training(task, optimizer, trainer, result);
  return result;
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <cmath>
#include <iomanip>

#include "lexformer/io/json.hpp"
#include "lexformer/io/options.hpp"
#include "lexformer/train/run_log.hpp"

namespace lexformer {

LEXFORMER_INLINE PretrainingSettings::PretrainingSettings() {
  warmup = 0.01;
  eval_batch = 8;
}

LEXFORMER_INLINE void PretrainingSettings::visit(OptionVisitor& v) {
  visit_masking(v);
  visit_training(v);
}

LEXFORMER_INLINE void PretrainingSettings::visit_masking(OptionVisitor& v) {
  v.number("mask_probability", masking.probability, bounds::share, "share of the tokens to predict (whole-word masking)");
  v.size("max_predictions", masking.max_predictions, 0, "maximum number of predicted tokens per document; 0 = no limit");
}

LEXFORMER_INLINE void PretrainingSettings::visit_training(OptionVisitor& v) {
  v.group("Training");
  visit_batch(v, "documents");
  TrainingSettings::visit_training(v, "at the end");
  visit_gradient_checkpointing(v);
  visit_warmup(v);
  v.number("weight_decay", weight_decay, bounds::non_negative, "AdamW's decoupled weight decay, not applied to biases and LayerNorm");
  visit_seed(v, "new weights, order, masks and dropout");
  v.number("token_cosine", mth.token_weight, bounds::any, "weight of MTH's token cosine, alpha1; the paper's is 1");
  v.number("head_cosine", mth.head_weight, bounds::any, "weight of MTH's head cosine, alpha2; the paper's is 0.01");
  v.size("cosine_tokens", mth.tokens, 2, 1 << 20, "tokens per document that the token cosine samples").needs("token_cosine");
  v.size("cosine_heads", mth.heads, 2, 1024, "heads per layer that the head cosine samples").needs("head_cosine");
  v.flag("cosine_probabilities", mth.probabilities, "compute the head cosine of attention probabilities instead of scores")
      .needs("head_cosine");
}

LEXFORMER_INLINE void PretrainingSettings::check() const {
  check_bounds([s = *this](OptionVisitor& v) mutable { s.visit(v); });
  if (gradient_checkpointing && mth.head_weight != 0)
    fail_usage("gradient_checkpointing", "has no effect with `head_cosine`, which needs the attentions of all layers");
}

LEXFORMER_INLINE Measurement detail::language_model_measurement(const LanguageModelScores& scores) {
  Measurement m;
  m.log["eval_loss"] = log_number(scores.loss);
  m.log["eval_perplexity"] = log_number(std::exp(scores.loss));
  m.log["eval_accuracy"] = log_number(scores.accuracy);
  m.log["eval_token_similarity"] = log_number(scores.token_similarity);
  m.log["eval_head_similarity"] = log_number(scores.head_similarity);
  m.state = m.log;
  const auto shown = [&](const char* key) {
    const Json& x = m.log[key];
    return x.is_number() ? cat(std::setprecision(4), x.get<double>()) : x.get<std::string>();
  };
  m.text = cat("loss ", shown("eval_loss"), "  accuracy ", shown("eval_accuracy"));
  return m;
}

LEXFORMER_INLINE JsonValue detail::pretraining_identity(PretrainingSettings settings, const TextStream& text, const JsonValue& of_caller) {
  Json all = identity_json([&](OptionVisitor& v) {
    settings.visit(v);
    settings.visit_logging(v);
  });
  all["text"] = text.describe();
  all.update(of_caller);
  return JsonValue(std::move(all));
}

}  // namespace lexformer
#endif
