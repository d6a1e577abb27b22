// SPDX-License-Identifier: MIT
// Trains LOVE: a model that imputes the vector of a word from its letters and pieces.
#include "train/imputer_training.hpp"
#include "train/love_words.hpp"

namespace lx = lexformer;

namespace {

/// One run. Returns false if it was interrupted (and saved).
struct TrainLove {
  template <class T, class Dev>
  static bool train(program::LoveTrainOptions o);
};

template <class T, class Dev>
bool TrainLove::train(program::LoveTrainOptions o) {
  const lx::WordUnits units(lx::Vocabulary::load_vocab_txt(o.vocab), o.units, o.vocab);
  std::optional<lx::WordVectors> all = program::read_word_vectors(o.targets, o.words);
  o.love.size = all->dimension();
  o.check_size();
  lx::Love<T, Dev> model(units, o.love, o.settings.seed);
  auto learned = program::love_targets(*all, o);
  all.reset();
  if (!o.quiet) std::cerr << "searching synonyms and hard negatives ...\n";
  const program::LoveWords words(std::move(learned), o);
  if (!o.quiet) std::cerr << words.text() << "\n";

  const lx::LoveBatches source(words.targets.words(), words.synonyms, words.negatives, o.batches, o.settings.seed);
  const program::ImputerTexts texts{"LOVE",
                                    lx::cat("Imputes the vector of a word from its letters and pieces (Chen et al., ACL 2022). ",
                                            model.options().rows, " letters and pieces, "),
                                    lx::cat(words.text(), ". Vocabulary `", o.vocab, "`."),
                                    "Chen, Varoquaux and Suchanek, \"Imputing Out-of-Vocabulary Embeddings with LOVE Makes Language Models "
                                    "Robust with Little Cost\", ACL 2022"};
  const lx::ImputerLoss<T, Dev> loss = [&](const auto& targets, const auto& vectors, const lx::LoveBatch& batch) {
    return lx::love_loss(targets, vectors, batch.words, o.loss);
  };
  lx::Json identity = o.json(words.targets.describe(), program::describe(units.vocabulary()));
  identity["lists_crc32"] = words.checksum();
  return program::train_words(o, model, words.targets, source, loss, identity, program::LoveTrainOptions().json("", ""), texts);
}

const program::Registered<program::TrainCommand<program::LoveTrainOptions, TrainLove>> command{
    "train_love", program::Group::train, "LOVE, which imputes vectors for unknown words",
    "Trains LOVE, which imputes vectors for words that a vocabulary does not hold, on the vectors of known words. The defaults follow "
    "the paper."};

}  // namespace
