// SPDX-License-Identifier: MIT
// Shared by the training programs: trainer settings and messages.
#pragma once

#include <iomanip>
#include <lexformer/io/json.hpp>
#include <lexformer/metrics/ranking_metrics.hpp>

#include "cli/model_card.hpp"
#include "train/training_options.hpp"

namespace program {

/// Reports the tensors that a file lacks and those that the model does not use.
template <class Model>
void report_tensors(const std::string& path, const Model& model) {
  std::cerr << lx::one_line(path) << ": " << model.new_tensors().size() << " new tensors";
  if (!model.new_tensors().empty()) std::cerr << " (" << lx::one_line(model.new_tensors().front(), 80) << " ...)";
  if (!model.unused_tensors().empty())
    std::cerr << ", " << model.unused_tensors().size() << " not used (" << lx::one_line(model.unused_tensors().front(), 80) << " ...)";
  std::cerr << "\n";
}

/// Trainer options from a program's; the program sets the others.
inline lx::TrainerOptions trainer_options(const TrainingOptions& o, const std::string& out, std::uint64_t seed) {
  lx::TrainerOptions t;
  t.out = out;
  t.accumulate = o.accumulate;
  t.clip = o.clip;
  t.seed = seed;
  t.eval_steps = o.eval_steps;
  t.save_steps = o.save_steps;
  t.save_total_limit = o.save_total_limit;
  t.logging_steps = o.logging_steps;
  t.batch_size = o.batch;
  t.resume = o.resume;
  t.messages = &std::cerr;
  t.progress.mode = o.progress;
  t.progress.is_terminal = isatty(2) != 0;
  t.quiet = o.quiet;
  t.interrupted = [] { return interrupted != 0; };
  return t;
}

/// An evaluation as the trainer logs and compares it: by its primary metric.
inline lx::Measurement measurement_of(const lx::Evaluation& e) {
  lx::Measurement m;
  for (const auto& [key, number] : e.metrics) m.log["eval_" + key] = lx::log_number(number);
  m.value = e.value(e.primary);
  m.text = lx::cat(e.primary, " ", std::setprecision(3), 100 * *m.value);
  m.state = e.state();
  return m;
}

/// The documents of a query that count in an evaluation.
inline constexpr std::size_t ranking_depth = 10;

/// The metrics of rankings as an evaluation.
inline lx::Evaluation ranking_evaluation(std::string file, std::span<const lx::RankedQuery> queries) {
  const auto report = lx::ranking_report(queries, ranking_depth);
  return {std::move(file), {{"mrr@10", report.mrr}, {"ndcg@10", report.ndcg}, {"recall@10", report.recall}}, "mrr@10", {}};
}

/// The learning rate schedule of a run.
inline lx::Schedule schedule_of(const TrainingOptions& o, std::size_t steps_per_epoch) {
  const std::size_t total = o.max_steps > 0 ? o.max_steps : lx::epochs_to_steps(o.epochs, steps_per_epoch);
  const auto warmup = static_cast<std::size_t>(std::ceil(o.warmup * static_cast<double>(total)));
  return {.kind = o.schedule, .base = o.lr, .warmup = warmup, .total = total, .gamma = o.lr_decay, .period = steps_per_epoch};
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
