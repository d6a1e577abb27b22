// SPDX-License-Identifier: MIT
// The training of a model that makes vectors for any word: its task, its evaluation, and what a run writes.
#pragma once

#include <lexformer/ops/index.hpp>
#include <lexformer/ops/rows.hpp>
#include <lexformer/train/trainer.hpp>
#include <lexformer/words/love_batches.hpp>
#include <lexformer/words/vectors.hpp>

#include <functional>
#include <iomanip>

#include "train/imputer_card.hpp"
#include "train/training.hpp"

namespace program {

/// How near imputed vectors are to their targets: evenly spaced words as they are, and with one typo each, which no seed changes.
struct ImputerTest {
  std::vector<std::uint32_t> words, misspelled;  // numbers of the words, and of those with a typo
  std::vector<std::string> spellings, typos;

  ImputerTest(const lx::WordVectors& targets, std::size_t count) {
    count = std::min(count, targets.size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto word = static_cast<std::uint32_t>(i * targets.size() / count);
      const std::string& text = targets.words()[word];
      words.push_back(word);
      spellings.push_back(text);
      lx::RandomStream random(0, lx::random_site::typos, word);
      if (std::string typo = lx::edit_word(text, static_cast<lx::WordEdit>(random.below(4)), false, random); typo != text) {
        misspelled.push_back(word);
        typos.push_back(std::move(typo));
      }
    }
  }

  template <class Model>
  lx::Json operator()(const Model& model, const lx::WordVectors& targets) const {
    const lx::NoGrad no_grad;
    const auto imputed = [&](const std::vector<std::string>& spelled) { return lx::cast<float>(lx::Var(model.vectors(spelled))).value(); };
    const auto cosines = [&](const lx::Tensor<float>& found, const std::vector<std::uint32_t>& of) {
      const std::vector<std::int32_t> rows(of.begin(), of.end());
      const auto expected = lx::l2_normalize(lx::select_rows(lx::Var<>(targets.values()), rows));
      return static_cast<double>(lx::mean(lx::row_sum(lx::multiply(lx::l2_normalize(lx::Var<>(found)), expected))).item());
    };
    lx::Json results = lx::Json::object();
    results["eval_words"] = words.size();
    results["eval_cosine"] = lx::log_number(cosines(imputed(spellings), words));
    if (typos.empty()) return results;
    const auto found = imputed(typos);
    results["eval_typo_words"] = typos.size();
    results["eval_typo_cosine"] = lx::log_number(cosines(found, misspelled));
    std::size_t right = 0;
    for (std::size_t i = 0; i < typos.size(); ++i) {
      const auto row = found.span().subspan(i * targets.dimension(), targets.dimension());
      if (std::all_of(row.begin(), row.end(), [](float x) { return x == 0; })) continue;  // of BoS: no known substring
      right += targets.nearest(row, 1)[0].row == misspelled[i] ? 1u : 0u;
    }
    results["eval_typo_top1"] = static_cast<double>(right) / static_cast<double>(typos.size());
    return results;
  }
};

inline std::string shown(const lx::Json& measured) {
  const auto number = [&](const char* key) {
    const lx::Json& x = measured[key];
    return x.is_number() ? lx::cat(std::setprecision(3), x.get<double>()) : x.get<std::string>();
  };
  std::string text = "cosine to the target " + number("eval_cosine");
  if (measured.contains("eval_typo_top1"))
    text += ", with a typo " + number("eval_typo_cosine") + " (nearest target right: " + number("eval_typo_top1") + ")";
  return text;
}

/// The task for Trainer.
template <class T, class Dev, class Model>
struct ImputerTask {
  using A = lx::accumulate_t<T>;

  const ImputerTrainOptions& o;
  Model& model;
  const lx::WordVectors& targets;
  const lx::LoveBatches& source;
  const ImputerTest& test;
  std::function<lx::Var<A, Dev>(const lx::Var<A, Dev>& targets, const lx::Var<T, Dev>& vectors, const lx::LoveBatch& batch)> loss_of;
  lx::Var<A, Dev> values{};  // of the targets
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> order{};  // of the words in the epoch

  std::size_t batches() const { return source.size(); }
  lx::LoveBatch batch(std::uint32_t number_of_epoch, std::size_t number) {
    if (order.empty() || epoch != number_of_epoch) {
      epoch = number_of_epoch;
      order = source.order(epoch);
    }
    return source.batch(order, epoch, number);
  }
  lx::BatchSize size(const lx::LoveBatch& batch) const { return {batch.words.size(), batch.words.size()}; }
  double weights(const lx::LoveBatch& batch) const { return static_cast<double>(batch.words.size()); }
  lx::Var<A, Dev> loss(const lx::LoveBatch& batch, const lx::ForwardOptions& forward) const {
    return loss_of(lx::select_rows(values, batch.words), model(batch.spellings, forward), batch);
  }
  lx::Measurement evaluate() const {
    lx::Measurement m;
    if (o.eval_words == 0) return m;
    m.log = m.state = test(model, targets);
    m.text = shown(m.log);
    return m;
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) { model.restore(lx::ModelFile::open(path)); }
};

/// Trains a model on the words of `source`. `texts` and `defaults` are for its card. Returns false if the run was interrupted (and saved).
template <class T, class Dev, class Model, class Loss>
bool train_words(const ImputerTrainOptions& o, Model& model, const lx::WordVectors& targets, const lx::LoveBatches& source, Loss&& loss,
                 const lx::Json& of_run, const lx::Json& defaults, const ImputerTexts& texts) {
  const ImputerTest test(targets, o.eval_words);
  ImputerTask<T, Dev, Model> task{o, model, targets, source, test, loss};
  task.values = lx::Var<lx::accumulate_t<T>, Dev>(targets.values().template to<Dev>());
  lx::AdamW<T, Dev> optimizer(model.parameters(), {.lr = o.lr});
  auto settings = trainer_options(o, "words", task.batches());
  settings.settings = of_run;
  const auto done = lx::Trainer(task, optimizer, settings).run();
  if (!done.finished) {
    say_interrupted(lx::cat("step ", done.step), o.out);
    return false;
  }

  lx::Json results = results_of(done, targets.size(), settings.settings);
  results["parameters"] = lx::count(model.parameters());
  lx::write_file_atomic(o.out + "/README.md", imputer_card(o, texts, model.options().size, results, defaults));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  std::cout << o.out << "/model.lxf: " << done.step << " steps, train loss " << std::setprecision(4) << done.loss;
  if (const lx::Json& measured = done.measured; !measured.is_null()) std::cout << "; " << shown(measured);
  std::cout << "\n";
  return true;
}

}  // namespace program
