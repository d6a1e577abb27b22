// SPDX-License-Identifier: MIT
// The settings that all trainings have, and where a run keeps its files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/train/hooks.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/schedule.hpp"
#include "lexformer/train/trainer.hpp"

namespace lexformer {

/// Keys in files are the keys of HuggingFace's trainers.
struct TrainingSettings {
  ScheduleKind schedule = ScheduleKind::linear;
  double epochs = 1, lr = 1e-4, lr_decay = 0.97, clip = 1;
  double warmup = 0;  // a share of the steps
  std::size_t max_steps = 0, batch = 32, accumulate = 1, eval_batch = 64, eval_steps = 0, patience = 0;
  std::size_t save_steps = 0, save_total_limit = 2, logging_steps = 50;
  std::uint64_t seed = 1;
  bool gradient_checkpointing = false;

  /// samples: the name of a batch's items, in the plural.
  void visit_batch(OptionVisitor& v, const std::string& samples);
  /// evaluated: when a run is evaluated by default.
  void visit_training(OptionVisitor& v, const std::string& evaluated = "after each epoch");
  void visit_warmup(OptionVisitor& v);
  /// For models with an encoder of layers.
  Option& visit_gradient_checkpointing(OptionVisitor& v);
  /// of: the things that the seed determines, for help.
  void visit_seed(OptionVisitor& v, const std::string& of);
  void visit_patience(OptionVisitor& v);
  void visit_logging(OptionVisitor& v);
};

/// The settings of a training by AdamW on examples in a new order in each epoch.
struct ExampleTrainingSettings : TrainingSettings {
  double weight_decay = 0;
  BatchOrder order = BatchOrder::random;

  /// All settings that are not of one kind of training. samples: what a batch consists of, in the plural; seed_of: what the seed
  /// determines; layers: whether the model is an encoder of layers.
  void visit_examples(OptionVisitor& v, const std::string& samples, const std::string& seed_of, bool layers);
};

/// Where a run keeps its files, and whom it tells.
struct TrainingRun {
  std::string out{};                         // folder for model.lxf, log.jsonl and checkpoints; "": nothing is written
  bool resume = false;                       // goes on with the newest checkpoint in `out`, if there is one
  JsonValue identity = JsonValue::object();  // what identifies the run besides settings and data; a resumed run must have the same
  TrainingHooks hooks{};
};

/// The schedule of a run by epochs, or max_steps, and the share of warm-up.
Schedule training_schedule(const TrainingSettings& settings, std::size_t steps_per_epoch);
/// The trainer's options; the caller sets the options of the task.
TrainerOptions trainer_options(const TrainingSettings& settings, const TrainingRun& run, std::size_t steps_per_epoch);

/// The result of a training. A finished one leaves the best weights in the model, a stopped one the weights of its last step.
struct TrainingResult {
  TrainResult run{};                         // finished or stopped; steps, seconds
  std::size_t examples = 0;                  // trained on
  JsonValue settings = JsonValue::object();  // what identifies the run
};

/// Runs a task; `result` has the settings. Its `best`, if it has one, becomes the best evaluation of a finished run. frozen: names of
/// parameters that are frozen on purpose.
template <class Task, class T, class Dev, class Result>
void run_training(Task& task, AdamW<T, Dev>& optimizer, TrainerOptions options, Result& result,
                  const std::vector<std::string>& frozen = {}) {
  options.settings = result.settings;
  options.frozen.insert(frozen.begin(), frozen.end());
  constexpr bool has_best = requires { result.best; };
  if constexpr (has_best)
    options.check_best = [](const Json& state, const std::string& where) { decltype(result.best)::from_json(state, where); };
  result.run = Trainer(task, optimizer, options).run();
  if (!result.run.finished) return;
  if (!options.out.empty()) task.load(options.out + "/model.lxf");
  if constexpr (has_best) result.best = decltype(result.best)::from_json(result.run.best, "the best evaluation");
}

/// Trains the parameters of a model by AdamW. examples: how many are trained on; identity: what identifies the run. Result: a
/// TrainingResult, as in run_training().
template <class Result, class Task, class Model>
Result train_by_adamw(Task& task, Model& model, const TrainingSettings& settings, double weight_decay, const TrainingRun& run,
                      std::size_t examples, const JsonValue& identity, const std::vector<std::string>& frozen = {}) {
  AdamW optimizer(model.parameters(), {.lr = settings.lr, .weight_decay = weight_decay});
  Result result;
  result.examples = examples;
  result.settings = identity;
  run_training(task, optimizer, trainer_options(settings, run, steps_per_epoch(task.batches(), settings.accumulate)), result, frozen);
  return result;
}

/// Errors (usage): a number is out of its bounds.
void check_bounds(const VisitOptions& visit);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <cmath>

namespace lexformer {

LEXFORMER_INLINE void TrainingSettings::visit_batch(OptionVisitor& v, const std::string& samples) {
  v.size("batch", batch, 1, samples + " per batch").key("per_device_train_batch_size");
  v.size("eval_batch", eval_batch, 1, samples + " per batch in evaluation");
}
LEXFORMER_INLINE void TrainingSettings::visit_training(OptionVisitor& v, const std::string& evaluated) {
  const bool decays = schedule == ScheduleKind::exponential;
  v.number("epochs", epochs, bounds::positive, "epochs; may be fractional").key("num_train_epochs");
  v.size("max_steps", max_steps, 0, "number of optimizer steps, instead of `epochs`");
  v.size("accumulation", accumulate, 1, "batches per step").also("accumulate").key("gradient_accumulation_steps");
  v.number("lr", lr, bounds::non_negative, "learning rate").key("learning_rate");
  v.choice("schedule", schedule, "learning rate schedule").key("lr_scheduler_type");
  v.number("lr_decay", lr_decay, bounds::share, "with `schedule` exponential: factor of the learning rate in each epoch")
      .identity(decays)
      .only_if(decays, cat("belongs to `schedule` exponential, not ", name_of(schedule)));
  v.number("clip", clip, bounds::positive, "maximum gradient norm").key("max_grad_norm");
  v.size("eval_steps", eval_steps, 0, "steps between evaluations; 0 = " + evaluated);
  v.size("save_steps", save_steps, 0, "steps between checkpoints; one is always written at the end and on interruption").identity(false);
  v.size("save_total_limit", save_total_limit, 0, "number of checkpoints to keep; 0 = all").identity(false);
}
LEXFORMER_INLINE void TrainingSettings::visit_warmup(OptionVisitor& v) {
  v.number("warmup", warmup, bounds::share, "share of the steps with linear warm-up").key("warmup_ratio");
}
LEXFORMER_INLINE Option& TrainingSettings::visit_gradient_checkpointing(OptionVisitor& v) {
  return v
      .flag("gradient_checkpointing", gradient_checkpointing,
            "compute each layer again in backward instead of storing its values: less memory, more time, same results")
      .identity(false);
}
LEXFORMER_INLINE void TrainingSettings::visit_seed(OptionVisitor& v, const std::string& of) { v.size("seed", seed, 0, "seed of " + of); }
LEXFORMER_INLINE void TrainingSettings::visit_patience(OptionVisitor& v) {
  v.size("patience", patience, 0, "stop after this many evaluations without improvement; 0 = never");
}
LEXFORMER_INLINE void TrainingSettings::visit_logging(OptionVisitor& v) {
  v.size("logging_steps", logging_steps, 0, "steps between lines of log.jsonl; 0 = none");
}

LEXFORMER_INLINE void ExampleTrainingSettings::visit_examples(OptionVisitor& v, const std::string& samples, const std::string& seed_of,
                                                              bool layers) {
  visit_batch(v, samples);
  visit_training(v);
  if (layers) visit_gradient_checkpointing(v);
  visit_warmup(v);
  v.number("weight_decay", weight_decay, bounds::non_negative, "AdamW's decoupled weight decay");
  v.choice("order", order, "order of the " + samples);
  visit_seed(v, seed_of);
  visit_patience(v);
}

LEXFORMER_INLINE Schedule training_schedule(const TrainingSettings& s, std::size_t steps_per_epoch) {
  const std::size_t total = s.max_steps > 0 ? s.max_steps : epochs_to_steps(s.epochs, steps_per_epoch);
  const auto warmup = static_cast<std::size_t>(std::ceil(s.warmup * static_cast<double>(total)));
  return {.kind = s.schedule, .base = s.lr, .warmup = warmup, .total = total, .gamma = s.lr_decay, .period = steps_per_epoch};
}

LEXFORMER_INLINE TrainerOptions trainer_options(const TrainingSettings& s, const TrainingRun& run, std::size_t steps_per_epoch) {
  return {.out = run.out,
          .schedule = training_schedule(s, steps_per_epoch),
          .accumulate = s.accumulate,
          .clip = s.clip,
          .seed = s.seed,
          .eval_steps = s.eval_steps,
          .patience = s.patience,
          .save_steps = s.save_steps,
          .save_total_limit = s.save_total_limit,
          .logging_steps = s.logging_steps,
          .batch_size = s.batch,
          .resume = run.resume,
          .hooks = run.hooks};
}

LEXFORMER_INLINE void check_bounds(const VisitOptions& visit) {
  OptionVisitor options;
  visit(options);
  for (const Option& option : options.options()) {
    std::optional<double> value;
    if (option.kind == Option::Kind::number) value = option.as<double>();
    if (option.kind == Option::Kind::size) value = static_cast<double>(option.as<std::size_t>());
    if (option.kind == Option::Kind::optional_number) value = option.as<std::optional<double>>();
    if (!value) continue;
    const auto& [min, max, above] = option.bounds;
    if (*value >= min && *value <= max && !(above && *value == min)) continue;
    fail_usage(option.name, "is ", *value, ", expected ", above ? "more than " : "", min,
               max < 1e300 ? cat(" to ", max)
               : above     ? ""
                           : " or more");
  }
}

}  // namespace lexformer
#endif
