// SPDX-License-Identifier: MIT
// Trains a tagger, e.g. of named entities: an LSTM and a conditional random field over fixed word vectors, or an encoder such as BERT.
#include "train/tagger_training.hpp"

namespace lx = lexformer;

namespace {

/// One run. Returns false if it was interrupted (and saved).
struct TrainTagger {
  template <class T, class Dev>
  static bool train(program::TaggerOptions o);
};

template <class T, class Dev>
bool TrainTagger::train(program::TaggerOptions o) {
  auto train = program::read_sentences(o.train_file, o.with_bert() ? 0 : o.bert.max_length);
  lx::TagLabels labels(lx::tag_labels(train));
  if (labels.size() == 1) lx::fail_file(o.train_file, "has no entities: all tags are O, so there is nothing to learn");
  if (o.with_bert()) {
    lx::TransformerTagger<T, Dev> model(lx::ModelFile::open(o.model), labels, o.bert, o.settings.seed);
    program::report_tensors(o.model, model, o.quiet);
    o.love.apply(model);
    for (const auto& part : o.freeze) model.freeze(part);
    return program::train_tagger(o, model, std::move(train), "");
  }
  const auto vectors = o.vectors.load();
  o.lstm.size = vectors->size();
  lx::LstmTagger<T, Dev> model(labels, o.lstm, o.settings.seed);
  model.provide(vectors);
  return program::train_tagger(o, model, std::move(train), vectors->describe_all());
}

const program::Registered<program::TrainCommand<program::TaggerOptions, TrainTagger>> command{
    "train_tagger", program::Group::train, "a tagger of words with BIO tags, such as named entities",
    "Trains a tagger on sentences whose words have BIO tags, e.g. of named entities: a bidirectional LSTM with a conditional random field "
    "over fixed word vectors, or an encoder such as BERT. Prints precision, recall and F1 of entities, as PyPI's seqeval counts them."};

}  // namespace
