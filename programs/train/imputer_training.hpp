// SPDX-License-Identifier: MIT
// A run of train_love or train_imputer, and its output files.
#pragma once

#include <iomanip>

#include "train/imputer_card.hpp"
#include "train/training.hpp"

namespace program {

/// Trains a model on the words of `source`. identity: of the run besides its settings; `texts` and `defaults` are for its card. Returns
/// false if the run was interrupted (and saved).
template <template <class, class> class Model, class T, class Dev>
bool train_words(const ImputerTrainOptions& o, Model<T, Dev>& model, const lx::WordVectors& targets, const lx::LoveBatches& source,
                 const std::type_identity_t<lx::ImputerLoss<T, Dev>>& loss, const lx::Json& identity, const lx::Json& defaults,
                 const ImputerTexts& texts) {
  auto run = run_of(o, o.settings, o.out, "words");
  run.identity = identity;
  const auto done = lx::train_imputer(model, targets, source, loss, o.settings, run);
  if (!done.run.finished) {
    say_interrupted(lx::cat("step ", done.run.step), o.out);
    return false;
  }

  lx::Json results = results_of(done.run, done.examples, done.settings);
  results["parameters"] = lx::count(model.parameters());
  lx::write_file_atomic(o.out + "/README.md", imputer_card(o, texts, model.options().size, results, defaults));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  std::cout << o.out << "/model.lxf: " << done.run.step << " steps, train loss " << std::setprecision(4) << done.run.loss;
  if (const lx::Json& measured = done.run.measured; !measured.is_null()) std::cout << "; " << lx::imputer_text(measured);
  std::cout << "\n";
  return true;
}

}  // namespace program
