// SPDX-License-Identifier: MIT
// The options that train_love and train_imputer have in common: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/train/schedule.hpp>

#include "option_flags.hpp"

namespace program {

/// What train_imputer trains.
enum class ImputerMethod { mimick, bos, kvq_fh, edit_distance };

}  // namespace program

template <>
inline constexpr auto lexformer::names_of<program::ImputerMethod> =
    std::to_array<lexformer::Named<program::ImputerMethod>>({{"mimick", program::ImputerMethod::mimick},
                                                             {"bos", program::ImputerMethod::bos},
                                                             {"kvq_fh", program::ImputerMethod::kvq_fh},
                                                             {"edit_distance", program::ImputerMethod::edit_distance}});

namespace program {

struct ImputerTrainOptions {
  std::string targets, words, out, command;
  bool all_words = false, resume = false, overwrite = false, quiet = false;
  std::size_t max_words = 0;
  lx::ScheduleKind schedule = lx::ScheduleKind::exponential;
  lx::ProgressMode progress = lx::ProgressMode::automatic;
  double epochs = 20, lr = 2e-3, lr_decay = 0.97, warmup = 0, clip = 1.0;
  Compute compute;
  std::size_t max_steps = 0, accumulate = 1, batch = 0, eval_words = 1000, eval_steps = 0, save_steps = 0, save_total_limit = 2,
              logging_steps = 500;
  std::uint64_t seed = 1;

  template <class Number>
  static CLI::Option* number(CLI::App& group, const char* flag, Number& value, const char* text) {
    return group.add_option(flag, value, text)->check(program::non_negative())->capture_default_str();
  }

  /// What is learned, and where the model goes.
  void add_data(CLI::App& app) {
    app.add_option(
           "--targets", targets,
           "vectors to learn: a text file, a .npy file with --words, a .bin file of fastText, or a model, whose whole-word rows are used")
        ->required()
        ->type_name("V");
    app.add_option("--words", words, "for a .npy file of targets: its words, one per line")->type_name("F");
    app.add_option("--out", out, "folder for model.lxf, all_results.json, log.jsonl and checkpoints")->required()->type_name("DIR");
    app.add_flag("--overwrite", overwrite, "start again in a folder with an earlier run");
    app.add_flag("--all-words", all_words, "learn also words with digits or punctuation, and of one letter");
    number(app, "--max-words", max_words, "learn only the first words of the targets, after this selection; 0 = all");
  }
  void add_training(CLI::App& group) {
    group.add_option("--epochs", epochs, "epochs; may be fractional")->check(program::positive())->capture_default_str();
    number(group, "--max-steps", max_steps, "number of optimizer steps, instead of --epochs");
    number(group, "--accumulate", accumulate, "batches per step")->check(program::positive());
    number(group, "--lr", lr, "learning rate");
    add_choice(group, "--schedule", schedule, "learning rate schedule");
    number(group, "--lr-decay", lr_decay, "with --schedule exponential: factor of the learning rate in each epoch")
        ->check(CLI::Range(0.0, 1.0));
    number(group, "--warmup", warmup, "share of the steps with linear warm-up")->check(CLI::Range(0.0, 1.0));
    group.add_option("--clip", clip, "maximum gradient norm")->check(program::positive())->capture_default_str();
    number(group, "--seed", seed, "seed of the weights, order, negatives, spellings and dropout");
    number(group, "--eval-words", eval_words, "words that each evaluation measures, evenly spaced; 0 = no evaluation");
    number(group, "--eval-steps", eval_steps, "steps between evaluations; 0 = after each epoch");
    number(group, "--save-steps", save_steps, "steps between checkpoints; one is always written at the end and on interruption");
    number(group, "--save-total-limit", save_total_limit, "number of checkpoints to keep");
  }
  void add_run(CLI::App& app) {
    app.add_flag("--resume", resume, "continue from the newest checkpoint in --out, to the same bytes as an uninterrupted run");
    number(app, "--logging-steps", logging_steps, "steps between lines of log.jsonl");
    add_choice(app, "--progress", progress, "progress display");
    app.add_flag("--quiet", quiet, "no progress, only the results");
    add_compute(app, compute);
    add_threads(app);
  }

  /// The settings of this struct that identify a run; a resumed run must have the same.
  lx::Json training_json() const {
    lx::Json all = lx::Json::object();
    all["num_train_epochs"] = epochs;
    all["max_steps"] = max_steps;
    all["gradient_accumulation_steps"] = accumulate;
    all["learning_rate"] = lr;
    all["lr_scheduler_type"] = lx::name_of(schedule);
    all["lr_decay"] = lr_decay;
    all["warmup_ratio"] = warmup;
    all["max_grad_norm"] = clip;
    all["eval_words"] = eval_words;
    all["eval_steps"] = eval_steps;
    all["logging_steps"] = logging_steps;
    all["precision"] = lx::name_of(compute.precision);
    all["seed"] = seed;
    return all;
  }
};

}  // namespace program
