// SPDX-License-Identifier: MIT
// Training of a model that makes vectors for any word (LOVE, MIMICK, BoS, KVQ-FH) on the vectors of known words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/settings.hpp"
#include "lexformer/train/trainer.hpp"
#include "lexformer/words/love_batches.hpp"
#include "lexformer/words/vectors.hpp"

namespace lexformer {

/// The sizes of batches are as in LoveBatches.
struct ImputerSettings : TrainingSettings {
  std::size_t eval_words = 1000;  // evenly spaced; 0: no evaluation

  ImputerSettings();
  void visit(OptionVisitor& v);
};

/// How near imputed vectors are to their targets. typo_words, typo_cosine, typo_top1: of the words that a typo changes.
struct ImputerScores {
  std::size_t words = 0, typo_words = 0;
  double cosine = 0, typo_cosine = 0;
  double typo_top1 = 0;  // share whose nearest target is the right one

  /// {"eval_words", "eval_cosine", "eval_typo_words", "eval_typo_cosine", "eval_typo_top1"}
  JsonValue json() const;
};
/// "cosine to the target 0.91, with a typo ..." from ImputerScores::json().
std::string imputer_text(const Json& measured);

/// Evenly spaced words as they are, and with one typo each, which no seed changes.
class ImputerTest {
 public:
  ImputerTest(const WordVectors& targets, std::size_t count);

  /// scored: called after each batch with the number of its words; what it throws ends the call.
  template <class Model>
  ImputerScores operator()(const Model& model, const WordVectors& targets, const std::function<void(std::size_t)>& scored = {}) const {
    const NoGrad no_grad;
    const auto imputed = [&](const std::vector<std::string>& spelled) {
      auto found = cast<float>(Var(model.vectors(spelled, 64, scored))).value();
      require_finite(found, "evaluation", "word", 1);
      return found;
    };
    const auto cosines = [&](const Tensor<float>& found, const std::vector<std::uint32_t>& of) {
      const std::vector<std::int32_t> rows(of.begin(), of.end());
      const auto expected = l2_normalize(select_rows(Var<>(targets.values()), rows));
      return static_cast<double>(mean(row_sum(multiply(l2_normalize(Var<>(found)), expected))).item());
    };
    ImputerScores scores{.words = words_.size(), .typo_words = typos_.size(), .cosine = cosines(imputed(spellings_), words_)};
    if (typos_.empty()) return scores;
    const auto found = imputed(typos_);
    scores.typo_cosine = cosines(found, misspelled_);
    std::size_t right = 0;
    for (std::size_t i = 0; i < typos_.size(); ++i) {
      const auto row = found.span().subspan(i * targets.dimension(), targets.dimension());
      if (std::all_of(row.begin(), row.end(), [](float x) { return x == 0; })) continue;  // of BoS: no known substring
      right += targets.nearest(row, 1)[0].row == misspelled_[i] ? 1u : 0u;
    }
    scores.typo_top1 = static_cast<double>(right) / static_cast<double>(typos_.size());
    return scores;
  }

 private:
  std::vector<std::uint32_t> words_, misspelled_;  // numbers of the words, and of those with a typo
  std::vector<std::string> spellings_, typos_;
};

namespace detail {
Measurement imputer_measurement(const ImputerScores& scores);
/// The settings and checksums that identify the run.
JsonValue imputer_identity(ImputerSettings settings, const WordVectors& targets, const JsonValue& of_caller);
}  // namespace detail

/// loss(targets, vectors, batch): of a batch's targets and the vectors that the model makes of its spellings.
template <class T, class Dev>
using ImputerLoss =
    std::function<Var<accumulate_t<T>, Dev>(const Var<accumulate_t<T>, Dev>& targets, const Var<T, Dev>& vectors, const LoveBatch& batch)>;

/// The task for Trainer.
template <class T, class Dev, class Model>
struct ImputerTask {
  using A = accumulate_t<T>;

  const ImputerSettings& settings;
  Model& model;
  const WordVectors& targets;
  const LoveBatches& source;
  ImputerLoss<T, Dev> loss_of;
  std::function<void(std::size_t)> evaluated{};
  ImputerTest test{targets, settings.eval_words};
  Var<A, Dev> values{targets.values().template to<Dev>()};
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> order{};  // of the words in the epoch

  std::size_t batches() const { return source.size(); }
  LoveBatch batch(std::uint32_t number_of_epoch, std::size_t number) {
    if (order.empty() || epoch != number_of_epoch) {
      epoch = number_of_epoch;
      order = source.order(epoch);
    }
    return source.batch(order, epoch, number);
  }
  BatchSize size(const LoveBatch& batch) const { return {batch.words.size(), batch.words.size()}; }
  double weights(const LoveBatch& batch) const { return static_cast<double>(batch.words.size()); }
  Var<A, Dev> loss(const LoveBatch& batch, const ForwardOptions& forward) const {
    return loss_of(select_rows(values, batch.words), model(batch.spellings, forward), batch);
  }
  Measurement evaluate() const {
    return settings.eval_words == 0 ? Measurement{} : detail::imputer_measurement(test(model, targets, evaluated));
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) { model.restore(ModelFile::open(path)); }
};

/// Trains a model on the words of `source`, whose vectors are `targets`. The model of the last step is kept.
/// Errors: of check_bounds and Trainer.
template <template <class, class> class Model, class T, class Dev>
TrainingResult train_imputer(Model<T, Dev>& model, const WordVectors& targets, const LoveBatches& source,
                             const std::type_identity_t<ImputerLoss<T, Dev>>& loss, const ImputerSettings& settings,
                             const TrainingRun& run = {}) {
  check_bounds([s = settings](OptionVisitor& v) mutable { s.visit(v); });
  ImputerTask<T, Dev, Model<T, Dev>> task{settings, model, targets, source, loss, run.hooks.on_evaluated};
  return train_by_adamw<TrainingResult>(task, model, settings, 0, run, targets.size(),
                                        detail::imputer_identity(settings, targets, run.identity));
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <iomanip>

#include "lexformer/io/json.hpp"
#include "lexformer/io/options.hpp"
#include "lexformer/noise/typos.hpp"
#include "lexformer/train/run_log.hpp"

namespace lexformer {

LEXFORMER_INLINE ImputerSettings::ImputerSettings() {
  schedule = ScheduleKind::exponential;
  epochs = 20;
  lr = 2e-3;
  logging_steps = 500;
}

LEXFORMER_INLINE void ImputerSettings::visit(OptionVisitor& v) {
  visit_training(v);
  visit_warmup(v);
  visit_seed(v, "the weights, order, negatives, spellings and dropout");
  v.size("eval_words", eval_words, 0, "words that each evaluation measures, evenly spaced; 0 = no evaluation");
}

LEXFORMER_INLINE JsonValue ImputerScores::json() const {
  JsonValue all = JsonValue::object();
  all["eval_words"] = words;
  all["eval_cosine"] = log_number(cosine);
  if (typo_words == 0) return all;
  all["eval_typo_words"] = typo_words;
  all["eval_typo_cosine"] = log_number(typo_cosine);
  all["eval_typo_top1"] = typo_top1;
  return all;
}

LEXFORMER_INLINE std::string imputer_text(const Json& measured) {
  const auto number = [&](const char* key) {
    const Json& x = measured[key];
    return x.is_number() ? cat(std::setprecision(3), x.get<double>()) : x.get<std::string>();
  };
  std::string text = "cosine to the target " + number("eval_cosine");
  if (measured.contains("eval_typo_top1"))
    text += ", with a typo " + number("eval_typo_cosine") + " (nearest target right: " + number("eval_typo_top1") + ")";
  return text;
}

LEXFORMER_INLINE ImputerTest::ImputerTest(const WordVectors& targets, std::size_t count) {
  count = std::min(count, targets.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = static_cast<std::uint32_t>(i * targets.size() / count);
    const std::string& text = targets.words()[word];
    words_.push_back(word);
    spellings_.push_back(text);
    RandomStream random(0, random_site::typos, word);
    if (std::string typo = edit_word(text, static_cast<WordEdit>(random.below(4)), false, random); typo != text) {
      misspelled_.push_back(word);
      typos_.push_back(std::move(typo));
    }
  }
}

LEXFORMER_INLINE Measurement detail::imputer_measurement(const ImputerScores& scores) {
  Measurement m;
  m.log = m.state = scores.json();
  m.text = imputer_text(m.log);
  return m;
}

LEXFORMER_INLINE JsonValue detail::imputer_identity(ImputerSettings settings, const WordVectors& targets, const JsonValue& of_caller) {
  Json all = identity_json([&](OptionVisitor& v) {
    settings.visit(v);
    settings.visit_logging(v);
  });
  all["targets"] = targets.describe();
  all.update(of_caller);
  return JsonValue(std::move(all));
}

}  // namespace lexformer
#endif
