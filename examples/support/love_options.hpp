// SPDX-License-Identifier: MIT
// The options of train_love: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/data/love_batches.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/models/love.hpp>
#include <lexformer/models/love_loss.hpp>

#include "option_flags.hpp"

namespace program {

/// Words that stand in for each other in training.
struct SynonymOptions {
  std::string source = "targets";  // or none, wordnet, a file
  std::size_t most = 5;            // of targets
  double cosine = 0.6;             // of targets
};

struct LoveTrainOptions {
  std::string targets, words, vocab, out, wordnet = "/usr/share/wordnet", command;
  bool all_words = false, resume = false, overwrite = false, quiet = false;
  std::size_t max_words = 0;
  lx::WordUnitOptions units;
  lx::LoveOptions love;
  lx::LoveBatchOptions batches;
  lx::LoveLossOptions loss;
  SynonymOptions synonyms;
  double near_ratio = 0.7, near_cosine = 0.4;
  std::size_t near_most = 100;
  lx::ScheduleKind schedule = lx::ScheduleKind::exponential;
  lx::ProgressMode progress = lx::ProgressMode::automatic;
  double epochs = 20, lr = 2e-3, lr_decay = 0.97, warmup = 0, clip = 1.0;
  Compute compute;
  std::size_t max_steps = 0, accumulate = 1, batch = 0, eval_words = 1000, eval_steps = 0, save_steps = 0, save_total_limit = 2,
              logging_steps = 500;
  std::uint64_t seed = 1;

  void add_to(CLI::App& app) {
    const auto number = [](CLI::App& group, const char* flag, auto& value, const char* text) {
      return group.add_option(flag, value, text)->check(program::non_negative())->capture_default_str();
    };
    app.add_option("--targets", targets,
                   "vectors to learn: a text file, a .npy file with --words, or a model, whose whole-word rows are used")
        ->required()
        ->type_name("V");
    app.add_option("--words", words, "for a .npy file of targets: its words, one per line")->type_name("F");
    app.add_option("--vocab", vocab, "vocabulary of letters and pieces, one token per line (tools/make_love_vocab.py)")
        ->required()
        ->type_name("V.txt");
    app.add_option("--out", out, "folder for model.lxf, all_results.json, log.jsonl and checkpoints")->required()->type_name("DIR");
    app.add_flag("--overwrite", overwrite, "start again in a folder with an earlier run");
    app.add_flag("--all-words", all_words, "learn also words with digits or punctuation, and of one letter");
    number(app, "--max-words", max_words, "learn only the first words of the targets, after this selection; 0 = all");

    auto* group = app.add_option_group("Model");
    OptionFlags model(*group, "", "size");
    love.visit(model);
    units.visit(model);

    group = app.add_option_group("Batches");
    OptionFlags batch_flags(*group);
    batches.visit(batch_flags);
    group
        ->add_option("--synonyms", synonyms.source,
                     "targets: words with similar targets; wordnet: of the same synset; none; or a file, two words per line")
        ->capture_default_str();
    group->add_option("--wordnet", wordnet, "with --synonyms wordnet: folder of WordNet 3.0")->type_name("DIR")->capture_default_str();
    number(*group, "--synonym-count", synonyms.most, "with --synonyms targets: most synonyms of a word");
    number(*group, "--synonym-cosine", synonyms.cosine, "with --synonyms targets: least cosine of a synonym")->check(CLI::Range(0.0, 1.0));
    number(*group, "--near-ratio", near_ratio, "hard negatives are spelled alike: 2 LCS(a, b) / (|a| + |b|) is above this")
        ->check(CLI::Range(0.0, 1.0));
    number(*group, "--near-count", near_most, "most candidates for the hard negatives of a word");
    group->add_option("--near-cosine", near_cosine, "hard negatives differ in meaning: the cosine of their targets is at most this")
        ->check(CLI::Range(-1.0, 1.0))
        ->capture_default_str();

    group = app.add_option_group("Training");
    OptionFlags loss_flags(*group);
    loss.visit(loss_flags);
    group->add_option("--epochs", epochs, "epochs; may be fractional")->check(program::positive())->capture_default_str();
    number(*group, "--max-steps", max_steps, "number of optimizer steps, instead of --epochs");
    number(*group, "--accumulate", accumulate, "batches per step")->check(program::positive());
    number(*group, "--lr", lr, "learning rate");
    add_choice(*group, "--schedule", schedule, "learning rate schedule");
    number(*group, "--lr-decay", lr_decay, "with --schedule exponential: factor of the learning rate in each epoch")
        ->check(CLI::Range(0.0, 1.0));
    number(*group, "--warmup", warmup, "share of the steps with linear warm-up")->check(CLI::Range(0.0, 1.0));
    group->add_option("--clip", clip, "maximum gradient norm")->check(program::positive())->capture_default_str();
    number(*group, "--seed", seed, "seed of the weights, order, negatives, spellings and dropout");
    number(*group, "--eval-words", eval_words, "words that each evaluation measures, evenly spaced; 0 = no evaluation");
    number(*group, "--eval-steps", eval_steps, "steps between evaluations; 0 = after each epoch");
    number(*group, "--save-steps", save_steps, "steps between checkpoints; one is always written at the end and on interruption");
    number(*group, "--save-total-limit", save_total_limit, "number of checkpoints to keep");
    app.add_flag("--resume", resume, "continue from the newest checkpoint in --out, to the same bytes as an uninterrupted run");
    number(app, "--logging-steps", logging_steps, "steps between lines of log.jsonl");
    add_choice(app, "--progress", progress, "progress display");
    app.add_flag("--quiet", quiet, "no progress, only the results");
    add_compute(app, compute);
    add_threads(app);
  }
  void finish() {
    if (quiet) progress = lx::ProgressMode::none;
    batch = batches.batch * (1 + batches.negatives);
  }

  /// The settings that identify a run; a resumed run must have the same. Targets and vocabulary are identified by their contents.
  lx::Json json(const std::string& of_targets, const std::string& of_vocabulary) const {
    const auto visited = [](auto options) { return lx::options_json([&](lx::OptionVisitor& v) { options.visit(v); }); };
    lx::Json all = lx::Json::object();
    all["targets"] = of_targets;
    all["vocab"] = of_vocabulary;
    all["love"] = visited(love);
    all["units"] = visited(units);
    all["batches"] = visited(batches);
    all["loss"] = visited(loss);
    all["synonyms"] = synonyms.source;
    all["synonym_count"] = synonyms.most;
    all["synonym_cosine"] = synonyms.cosine;
    all["near_ratio"] = near_ratio;
    all["near_count"] = near_most;
    all["near_cosine"] = near_cosine;
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
