// SPDX-License-Identifier: MIT
// The options of train_text_cnn: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/models/text_cnn.hpp>
#include <lexformer/train/schedule.hpp>

#include "option_flags.hpp"
#include "static_vector_options.hpp"

namespace program {

struct TextCnnTrainOptions {
  std::string train_file, valid, out, command;
  std::vector<std::string> tests, label_names;
  StaticVectorFlags vectors;
  lx::TextCnnOptions cnn;
  lx::TableOptions table{.texts = 1};
  lx::TypoOptions typos;
  lx::ScheduleKind schedule = lx::ScheduleKind::constant;
  lx::BatchOrder order = lx::BatchOrder::random;
  lx::ProgressMode progress = lx::ProgressMode::automatic;
  bool resume = false, overwrite = false, quiet = false;
  double epochs = 5, lr = 1e-3, warmup = 0, weight_decay = 0, clip = 5;
  Compute compute;
  std::size_t max_steps = 0, batch = 50, accumulate = 1, eval_batch = 64, eval_steps = 0, patience = 0, save_steps = 0,
              save_total_limit = 2, logging_steps = 50, test_typos = 0;
  std::uint64_t seed = 1;

  std::size_t classes() const { return label_names.empty() ? 2 : label_names.size(); }

  void add_to(CLI::App& app) {
    const auto number = [](CLI::App& group, const char* flag, auto& value, const char* text) {
      return group.add_option(flag, value, text)->check(program::non_negative())->capture_default_str();
    };
    app.add_option("--train", train_file, "training texts: .tsv, .csv or .jsonl")->required()->type_name("F");
    app.add_option("--valid", valid, "validation texts, which select the best model by accuracy")->required()->type_name("F");
    app.add_option("--test", tests, "test texts; one or more files")->type_name("F");
    app.add_option("--out", out, "folder for model.lxf, all_results.json, log.jsonl and checkpoints")->required()->type_name("DIR");
    app.add_flag("--overwrite", overwrite, "start again in a folder with an earlier run");
    app.add_option("--labels", label_names, "class names in order, as in the files (default: 0,1)")->delimiter(',');
    add_table_options(app, table, 1);
    vectors.add_to(*app.add_option_group("Word vectors"), true);
    OptionFlags sizes(*app.add_option_group("Model"), "", "size");
    cnn.visit(sizes);

    auto* group = app.add_option_group("Typos");
    number(*group, "--test-typos", test_typos, "number of copies of each test file with typos to evaluate, too");
    add_choice(*group, "--typo-mode", typos.mode, "see add_typos --help");
    group->add_option("--typo-share", typos.word_share, "share of words with a typo")->check(CLI::Range(0.0, 1.0))->capture_default_str();

    group = app.add_option_group("Training");
    group->add_option("--epochs", epochs, "epochs; may be fractional")->check(program::positive())->capture_default_str();
    number(*group, "--max-steps", max_steps, "number of optimizer steps, instead of --epochs");
    number(*group, "--batch", batch, "texts per batch")->check(program::positive());
    number(*group, "--accumulate", accumulate, "batches per step")->check(program::positive());
    number(*group, "--lr", lr, "learning rate");
    add_choice(*group, "--schedule", schedule, "learning rate schedule; exponential: x 0.97 in each epoch");
    number(*group, "--warmup", warmup, "share of the steps with linear warm-up")->check(CLI::Range(0.0, 1.0));
    number(*group, "--weight-decay", weight_decay, "AdamW's decoupled weight decay");
    group->add_option("--clip", clip, "maximum gradient norm")->check(program::positive())->capture_default_str();
    add_choice(*group, "--order", order, "order of the texts");
    number(*group, "--seed", seed, "seed of weights, order and dropout");
    number(*group, "--eval-batch", eval_batch, "texts per batch in evaluation")->check(program::positive());
    number(*group, "--eval-steps", eval_steps, "steps between evaluations on --valid; 0 = after each epoch");
    number(*group, "--patience", patience, "stop after this many evaluations without improvement; 0 = never");
    number(*group, "--save-steps", save_steps, "steps between checkpoints; one is always written at the end and on interruption");
    number(*group, "--save-total-limit", save_total_limit, "number of checkpoints to keep");
    app.add_flag("--resume", resume, "continue from the newest checkpoint in --out, to the same bytes as an uninterrupted run");
    number(app, "--logging-steps", logging_steps, "steps between lines of log.jsonl");
    add_choice(app, "--progress", progress, "progress display");
    app.add_flag("--quiet", quiet, "no progress, only the table");
    add_compute(app, compute);
    add_threads(app);
  }
  void finish() {
    if (quiet) progress = lx::ProgressMode::none;
    if (label_names.size() == 1) lx::fail_usage("--labels", "1 class is named; a classification has 2 or more");
  }

  /// The settings that identify a run; a resumed run must have the same. Data and vectors are identified by their contents.
  lx::Json json(const std::string& of_train, const std::string& of_valid, const std::string& of_vectors) const {
    lx::Json all = {{"train", of_train},
                    {"valid", of_valid},
                    {"vectors", of_vectors},
                    {"labels", classes()},
                    {"num_train_epochs", epochs},
                    {"max_steps", max_steps},
                    {"per_device_train_batch_size", batch},
                    {"gradient_accumulation_steps", accumulate},
                    {"learning_rate", lr},
                    {"lr_scheduler_type", lx::name_of(schedule)},
                    {"warmup_ratio", warmup},
                    {"weight_decay", weight_decay},
                    {"max_grad_norm", clip},
                    {"order", lx::name_of(order)},
                    {"eval_batch", eval_batch},
                    {"eval_steps", eval_steps},
                    {"logging_steps", logging_steps},
                    {"patience", patience},
                    {"precision", lx::name_of(compute.precision)},
                    {"seed", seed}};
    all["text_cnn"] = lx::options_json([o = cnn](lx::OptionVisitor& v) mutable { o.visit(v); });
    if (!label_names.empty()) all["label_names"] = label_names;
    return all;
  }
};

}  // namespace program
