// SPDX-License-Identifier: MIT
// Shared by the training programs: trainer settings and messages.
#pragma once

#include <iomanip>
#include <lexformer/io/json.hpp>

#include "cli/model_card.hpp"
#include "train/training_options.hpp"

namespace program {

/// Reports the tensors that a file lacks and those that the model does not use; quiet: only attention terms that are lost.
template <class Model>
void report_tensors(const std::string& path, const Model& model, bool quiet) {
  if (const auto dropped = model.dropped_terms(); !dropped.empty())
    std::cerr << "warning: the new model does not have attention terms of " << lx::one_line(path) << ": " << lx::join(dropped) << "\n";
  if (quiet) return;
  std::cerr << lx::one_line(path) << ": " << model.new_tensors().size() << " new tensors";
  if (!model.new_tensors().empty()) std::cerr << " (" << lx::one_line(model.new_tensors().front(), 80) << " ...)";
  if (!model.unused_tensors().empty())
    std::cerr << ", " << model.unused_tensors().size() << " not used (" << lx::one_line(model.unused_tensors().front(), 80) << " ...)";
  std::cerr << "\n";
}

/// A run in a folder, with its progress on standard error, until a signal. samples: the name of a batch's items.
inline lx::TrainingRun run_of(const RunOptions& o, const lx::TrainingSettings& settings, const std::string& out, std::string samples) {
  lx::TrainingRun run{.out = out, .resume = o.resume};
  run.hooks = lx::progress_hooks(std::cerr, progress_options(o.progress, 30),
                                 {.logging_steps = settings.logging_steps, .samples = std::move(samples)});
  if (o.quiet) run.hooks.on_evaluation = {};
  run.hooks.control = [] { return lx::Control{.stop = interrupted != 0}; };
  return run;
}

/// all_results.json of a run: its last evaluation, its speed, its settings. samples: in the training data.
inline lx::Json results_of(const lx::TrainResult& done, std::size_t samples, const lx::Json& settings) {
  const lx::Json& measured = done.measured;
  lx::Json results = measured.is_null() ? lx::Json::object() : measured;
  results["epoch"] = done.epochs;
  results["train_loss"] = done.loss;
  results["instructions"] = lx::name_of(lx::instructions());
  results["train_runtime"] = done.seconds;
  results["train_samples"] = samples;
  results["train_samples_per_second"] = static_cast<double>(done.samples) / done.seconds;
  results["train_steps_per_second"] = static_cast<double>(done.step - done.first_step) / done.seconds;
  results["settings"] = settings;
  return results;
}

/// A command that trains one run in the folder --out. Train: a struct with `bool train<T, Dev>(const Options&)`, which returns false if it
/// was interrupted.
template <class Options, class Train>
class TrainCommand final : public Command {
 public:
  void visit(OptionVisitor& v) override {
    options_.visit(v);
    visit_threads(v);
  }
  int run() override {
    options_.command = command_line;
    options_.finish(*parsed);
    const lx::FolderLock lock(options_.out);
    if (!options_.resume && !options_.overwrite) lx::check_out(options_.out);
    catch_signals();
    const bool done = lx::with_compute(
        options_.compute, [&](auto number, auto device) { return Train::template train<decltype(number), decltype(device)>(options_); });
    return done ? 0 : 130;
  }

 private:
  Options options_;
};

inline void say_interrupted(const std::string& when, const std::string& out) {
  std::cerr << "interrupted after " << when << "; saved in " << out << ", continue with --resume\n";
}

}  // namespace program
