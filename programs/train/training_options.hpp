// SPDX-License-Identifier: MIT
// The options that all training programs have: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/train/schedule.hpp>

#include "cli/option_flags.hpp"
#include "cli/program.hpp"

namespace program {

struct TrainingOptions {
  std::string out, command;  // command: the command line, for the model card
  bool resume = false, overwrite = false, quiet = false, gradient_checkpointing = false;
  lx::ScheduleKind schedule = lx::ScheduleKind::linear;
  lx::ProgressMode progress = lx::ProgressMode::automatic;
  double epochs = 1, lr = 1e-4, lr_decay = 0.97, clip = 1;
  double warmup = 0;  // a share of the steps; its option is the program's
  Compute compute;
  std::size_t max_steps = 0, batch = 32, accumulate = 1, eval_batch = 64, eval_steps = 0, save_steps = 0, save_total_limit = 2,
              logging_steps = 50;
  CLI::Option* lr_decay_option = nullptr;  // set by add_training(); null in options without a command line

  template <class Number>
  static CLI::Option* number(CLI::App& group, const std::string& flag, Number& value, const std::string& text) {
    return group.add_option(flag, value, text)->check(program::non_negative())->capture_default_str();
  }

  void add_out(CLI::App& app) {
    app.add_option("--out", out, "folder for model.lxf, all_results.json, log.jsonl and checkpoints")->required()->type_name("DIR");
    app.add_flag("--overwrite", overwrite, "start again in a folder with an earlier run");
  }
  /// samples: what a batch consists of, in the plural.
  void add_batch(CLI::App& group, const std::string& samples) {
    number(group, "--batch", batch, samples + " per batch")->check(program::positive());
    number(group, "--eval-batch", eval_batch, samples + " per batch in evaluation")->check(program::positive());
  }
  /// evaluated: when a run is evaluated by default.
  void add_training(CLI::App& group, const std::string& evaluated = "after each epoch") {
    number(group, "--epochs", epochs, "epochs; may be fractional")->check(program::positive());
    number(group, "--max-steps", max_steps, "number of optimizer steps, instead of --epochs");
    number(group, "--accumulation,--accumulate", accumulate, "batches per step")->check(program::positive());
    number(group, "--lr", lr, "learning rate");
    add_choice(group, "--schedule", schedule, "learning rate schedule");
    lr_decay_option = number(group, "--lr-decay", lr_decay, "with --schedule exponential: factor of the learning rate in each epoch")
                          ->check(CLI::Range(0.0, 1.0));
    number(group, "--clip", clip, "maximum gradient norm")->check(program::positive());
    number(group, "--eval-steps", eval_steps, "steps between evaluations; 0 = " + evaluated);
    number(group, "--save-steps", save_steps, "steps between checkpoints; one is always written at the end and on interruption");
    number(group, "--save-total-limit", save_total_limit, "number of checkpoints to keep; 0 = all");
  }
  /// For models with an encoder of layers.
  CLI::Option* add_gradient_checkpointing(CLI::App& group) {
    return group.add_flag("--gradient-checkpointing", gradient_checkpointing,
                          "compute each layer again in backward instead of storing its values: less memory, more time, same results");
  }
  void add_warmup(CLI::App& group) {
    number(group, "--warmup", warmup, "share of the steps with linear warm-up")->check(CLI::Range(0.0, 1.0));
  }
  void add_run(CLI::App& app) {
    app.add_flag("--resume", resume, "continue from the newest checkpoint in --out, to the same bytes as an uninterrupted run");
    number(app, "--logging-steps", logging_steps, "steps between lines of log.jsonl; 0 = none");
    add_choice(app, "--progress", progress, "progress display");
    app.add_flag("--quiet", quiet, "no progress, only the results");
    add_compute(app, compute);
    add_threads(app);
  }
  /// Errors (usage): --lr-decay was given with a schedule that has none.
  void finish_training() {
    if (quiet) progress = lx::ProgressMode::none;
    if (lr_decay_option != nullptr)
      refuse_unused(*lr_decay_option, schedule == lx::ScheduleKind::exponential, "--schedule exponential", lx::name_of(schedule));
  }

  /// The settings of this struct that identify a run; a resumed run must have the same.
  lx::Json training_json(std::uint64_t seed) const {
    lx::Json all = {{"num_train_epochs", epochs},
                    {"max_steps", max_steps},
                    {"gradient_accumulation_steps", accumulate},
                    {"learning_rate", lr},
                    {"lr_scheduler_type", lx::name_of(schedule)},
                    {"max_grad_norm", clip},
                    {"eval_steps", eval_steps},
                    {"logging_steps", logging_steps},
                    {"precision", lx::name_of(compute.precision)},
                    {"seed", seed}};
    if (schedule == lx::ScheduleKind::exponential) all["lr_decay"] = lr_decay;
    return all;
  }
};

}  // namespace program
