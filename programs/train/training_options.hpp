// SPDX-License-Identifier: MIT
// The options that all training programs have: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/train/schedule.hpp>

#include "cli/program.hpp"

namespace program {

/// What the commands that train have in common. Keys are those of HuggingFace's trainers; a resumed run must have the same settings.
struct TrainingOptions {
  std::string out, command;  // command: the command line, for the model card
  bool resume = false, overwrite = false, quiet = false, gradient_checkpointing = false;
  lx::ScheduleKind schedule = lx::ScheduleKind::linear;
  lx::ProgressMode progress = lx::ProgressMode::automatic;
  double epochs = 1, lr = 1e-4, lr_decay = 0.97, clip = 1;
  double warmup = 0;  // a share of the steps; its option is the command's
  Compute compute;
  std::size_t max_steps = 0, batch = 32, accumulate = 1, eval_batch = 64, eval_steps = 0, save_steps = 0, save_total_limit = 2,
              logging_steps = 50;

  void visit_out(OptionVisitor& v) {
    v.folder("out", out, "folder for model.lxf, all_results.json, log.jsonl and checkpoints").required().writes({"model.lxf"});
    v.flag("overwrite", overwrite, "start again in a folder with an earlier run").identity(false);
  }
  /// samples: what a batch consists of, in the plural.
  void visit_batch(OptionVisitor& v, const std::string& samples) {
    v.size("batch", batch, 1, samples + " per batch").key("per_device_train_batch_size");
    v.size("eval_batch", eval_batch, 1, samples + " per batch in evaluation");
  }
  /// evaluated: when a run is evaluated by default.
  void visit_training(OptionVisitor& v, const std::string& evaluated = "after each epoch") {
    const bool decays = schedule == lx::ScheduleKind::exponential;
    v.number("epochs", epochs, lx::bounds::positive, "epochs; may be fractional").key("num_train_epochs");
    v.size("max_steps", max_steps, 0, "number of optimizer steps, instead of --epochs");
    v.size("accumulation", accumulate, 1, "batches per step").also("accumulate").key("gradient_accumulation_steps");
    v.number("lr", lr, lx::bounds::non_negative, "learning rate").key("learning_rate");
    v.choice("schedule", schedule, "learning rate schedule").key("lr_scheduler_type");
    v.number("lr_decay", lr_decay, lx::bounds::share, "with --schedule exponential: factor of the learning rate in each epoch")
        .identity(decays)
        .only_if(decays, lx::cat("belongs to --schedule exponential, not ", lx::name_of(schedule)));
    v.number("clip", clip, lx::bounds::positive, "maximum gradient norm").key("max_grad_norm");
    v.size("eval_steps", eval_steps, 0, "steps between evaluations; 0 = " + evaluated);
    v.size("save_steps", save_steps, 0, "steps between checkpoints; one is always written at the end and on interruption").identity(false);
    v.size("save_total_limit", save_total_limit, 0, "number of checkpoints to keep; 0 = all").identity(false);
  }
  /// For models with an encoder of layers.
  lx::Option& visit_gradient_checkpointing(OptionVisitor& v) {
    return v
        .flag("gradient_checkpointing", gradient_checkpointing,
              "compute each layer again in backward instead of storing its values: less memory, more time, same results")
        .identity(false);
  }
  void visit_warmup(OptionVisitor& v) {
    v.number("warmup", warmup, lx::bounds::share, "share of the steps with linear warm-up").key("warmup_ratio");
  }
  void visit_run(OptionVisitor& v) {
    v.group("");
    v.flag("resume", resume, "continue from the newest checkpoint in --out, to the same bytes as an uninterrupted run").identity(false);
    v.size("logging_steps", logging_steps, 0, "steps between lines of log.jsonl; 0 = none");
    v.choice("progress", progress, "progress display").identity(false);
    v.flag("quiet", quiet, "no progress, only the results").identity(false);
    compute.visit(v);
  }
  void finish_training() {
    if (quiet) progress = lx::ProgressMode::none;
  }
};

/// The options of a run that identify it; a resumed run must have the same.
template <class Options>
lx::Json identity_of(const Options& options) {
  return lx::identity_json([o = options](OptionVisitor& v) mutable { o.visit(v); });
}

}  // namespace program
