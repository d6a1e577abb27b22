// SPDX-License-Identifier: MIT
// Training of a tagger on sentences whose words have BIO tags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/data/tagged_text.hpp"
#include "lexformer/metrics/entity_metrics.hpp"
#include "lexformer/models/tagger.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/settings.hpp"
#include "lexformer/train/trainer.hpp"

namespace lexformer {

/// The defaults suit an LSTM over word vectors. An encoder has, for example, 5 epochs, lr 5e-5 and a linear schedule.
struct TaggerSettings : ExampleTrainingSettings {
  TaggerSettings();
  void visit(OptionVisitor& v);
};

/// Sentences, and what messages and results call them: the name of their file.
struct TaggedSet {
  std::string name;
  std::vector<TaggedSentence> sentences;
};

/// The scores of predicted tags (predict_tags) of sentences that have tags.
EntityScores score_tags(const std::vector<TaggedSentence>& sentences, const std::vector<std::vector<std::string>>& predicted);
/// A message about sentences with more than `most` tokens; "" if there are none.
std::string cut_note(const std::string& name, std::size_t cut_sentences, std::size_t cut_words, std::size_t most);

namespace detail {
Measurement tagger_measurement(const EntityScores& scores);
/// The settings and checksums that identify the run.
JsonValue tagger_identity(TaggerSettings settings, const TaggedSet& train, const TaggedSet& valid, const JsonValue& of_caller);
}  // namespace detail

/// The task for Trainer. Model: LstmTagger, TransformerTagger.
template <class Model>
struct TaggerTask {
  const TaggerSettings& settings;
  Model& model;
  const TaggedSet& valid;
  std::function<void(std::size_t)> evaluated;
  typename Model::Data train, valid_data;
  EpochBatches source;

  /// The arguments but `train_set` must outlive the task. Errors (file): no word has a token of the model.
  TaggerTask(const TaggerSettings& of_run, Model& of_model, const TaggedSet& train_set, const TaggedSet& valid_set,
             std::function<void(std::size_t)> after_batch = {})
      : settings(of_run),
        model(of_model),
        valid(valid_set),
        evaluated(std::move(after_batch)),
        train(model.prepare(train_set.sentences, true)),
        valid_data(model.prepare(valid.sentences, false)),
        source(train.lengths, {.size = settings.batch, .seed = settings.seed, .order = settings.order}) {
    if (train.size() == 0) fail_file(train_set.name, "no word of its sentences has a token of the model; is its language another one?");
  }
  std::size_t batches() const { return source.size(); }
  typename Model::Batch batch(std::uint32_t epoch, std::size_t number) { return model.batch(train, source.rows(epoch, number)); }
  BatchSize size(const typename Model::Batch& batch) const { return {batch.words.sequences(), batch.words.tokens()}; }
  double weights(const typename Model::Batch& batch) const { return model.weight(batch); }
  auto loss(const typename Model::Batch& batch, const ForwardOptions& forward) const { return model.loss(batch, forward); }
  Measurement evaluate() const {
    const auto tags = predict_tags(model, valid_data, valid.sentences, settings.eval_batch, evaluated);
    return detail::tagger_measurement(score_tags(valid.sentences, tags));
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) { model.restore(ModelFile::open(path)); }
};

/// Trains a tagger, whose labels are the tags of the training sentences (tag_labels). The best one on the validation sentences, by the F1
/// of entities, is kept; its scores are TrainResult::best. Errors: of check_bounds, TaggerTask and Trainer.
template <template <class, class> class Model, class T, class Dev>
TrainingResult train_tagger(Model<T, Dev>& model, const TaggedSet& train, const TaggedSet& valid, const TaggerSettings& settings,
                            const TrainingRun& run = {}) {
  check_bounds([s = settings](OptionVisitor& v) mutable { s.visit(v); });
  std::vector<std::string> frozen;
  if constexpr (requires { model.frozen(); }) frozen = model.frozen();
  if constexpr (requires { model.encoder(); }) model.encoder().gradient_checkpointing = settings.gradient_checkpointing;
  TaggerTask<Model<T, Dev>> task(settings, model, train, valid, run.hooks.on_evaluated);
  if constexpr (requires { model.options().max_length; })
    for (const auto& [name, data] : {std::pair{&train.name, &task.train}, {&valid.name, &task.valid_data}})
      if (const auto note = cut_note(*name, data->cut_sentences, data->cut_words, model.options().max_length);
          !note.empty() && run.hooks.on_note)
        run.hooks.on_note("warning: " + note);
  return train_by_adamw<TrainingResult>(task, model, settings, settings.weight_decay, run, train.sentences.size(),
                                        detail::tagger_identity(settings, train, valid, run.identity), frozen);
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <iomanip>

#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/io/options.hpp"

namespace lexformer {

LEXFORMER_INLINE TaggerSettings::TaggerSettings() {
  schedule = ScheduleKind::exponential;
  epochs = 15;
  lr = 2e-3;
  lr_decay = 0.95;
  clip = 5;
  order = BatchOrder::length_grouped;
}

LEXFORMER_INLINE void TaggerSettings::visit(OptionVisitor& v) {
  v.group("Training");
  visit_examples(v, "sentences", "the weights, order and dropout", true);
}

LEXFORMER_INLINE EntityScores score_tags(const std::vector<TaggedSentence>& sentences,
                                         const std::vector<std::vector<std::string>>& predicted) {
  std::vector<std::vector<std::string>> gold;
  for (const auto& sentence : sentences) gold.push_back(sentence.tags);
  return score_entities(gold, predicted);
}

LEXFORMER_INLINE std::string cut_note(const std::string& name, std::size_t cut_sentences, std::size_t cut_words, std::size_t most) {
  if (cut_sentences == 0) return "";
  return cat(one_line(name), ": ", cut_sentences, " sentences have more than ", most, " tokens; the last ", cut_words,
             " words are not read, and tagged O");
}

LEXFORMER_INLINE Measurement detail::tagger_measurement(const EntityScores& scores) {
  Measurement m;
  m.state = scores.json();
  for (const char* key : {"precision", "recall", "f1", "accuracy"}) m.log[cat("eval_", key)] = m.state[key];
  m.value = scores.all.f1();
  m.text = cat("f1 ", std::setprecision(3), 100 * *m.value);
  return m;
}

LEXFORMER_INLINE JsonValue detail::tagger_identity(TaggerSettings settings, const TaggedSet& train, const TaggedSet& valid,
                                                   const JsonValue& of_caller) {
  Json all = identity_json([&](OptionVisitor& v) {
    settings.visit(v);
    settings.visit_logging(v);
  });
  const auto describe = [](const TaggedSet& set) {
    std::uint32_t sum = 0;
    for (const auto& sentence : set.sentences)
      for (std::size_t i = 0; i <= sentence.words.size(); ++i)
        sum = crc32(i < sentence.words.size() ? sentence.words[i] + "\t" + sentence.tags[i] + "\n" : "\n", sum);
    Json out = Json::object();
    out["file"] = set.name;
    out["sentences"] = set.sentences.size();
    out["crc32"] = sum;
    return out;
  };
  all["train"] = describe(train);
  all["valid"] = describe(valid);
  all.update(of_caller);
  return JsonValue(std::move(all));
}

}  // namespace lexformer
#endif
