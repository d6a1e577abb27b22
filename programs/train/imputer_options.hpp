// SPDX-License-Identifier: MIT
// The options that train_love and train_imputer have in common: names, help texts, and keys in all_results.json.
#pragma once

#include "cli/option_flags.hpp"
#include "train/training_options.hpp"

namespace program {

/// What train_imputer trains.
enum class ImputerMethod { mimick, bos, kvq_fh, edit_distance };

}  // namespace program

template <>
inline constexpr lexformer::Named<program::ImputerMethod> lexformer::names_of<program::ImputerMethod>[] = {
    {"mimick", program::ImputerMethod::mimick},
    {"bos", program::ImputerMethod::bos},
    {"kvq_fh", program::ImputerMethod::kvq_fh},
    {"edit_distance", program::ImputerMethod::edit_distance}};

namespace program {

struct ImputerTrainOptions : TrainingOptions {
  std::string targets, words;
  bool all_words = false;
  std::size_t max_words = 0, eval_words = 1000;
  std::uint64_t seed = 1;

  ImputerTrainOptions() {
    schedule = lx::ScheduleKind::exponential;
    epochs = 20;
    lr = 2e-3;
    logging_steps = 500;
  }

  /// What is learned, and where the model goes.
  void add_data(CLI::App& app) {
    app.add_option(
           "--targets", targets,
           "vectors to learn: a text file, a .npy file with --words, a .bin file of fastText, or a model, whose whole-word rows are used")
        ->required()
        ->type_name("V");
    app.add_option("--words", words, "for a .npy file of targets: its words, one per line")->type_name("F");
    add_out(app);
    app.add_flag("--all-words", all_words, "learn also words with digits or punctuation, and of one letter");
    number(app, "--max-words", max_words, "learn only the first words of the targets, after this selection; 0 = all");
  }
  void add_word_training(CLI::App& group) {
    add_training(group);
    add_warmup(group);
    number(group, "--seed", seed, "seed of the weights, order, negatives, spellings and dropout");
    number(group, "--eval-words", eval_words, "words that each evaluation measures, evenly spaced; 0 = no evaluation");
  }

  /// The settings of this struct that identify a run; a resumed run must have the same.
  lx::Json word_training_json() const {
    lx::Json all = training_json(seed);
    all["warmup_ratio"] = warmup;
    all["eval_words"] = eval_words;
    return all;
  }
};

}  // namespace program
