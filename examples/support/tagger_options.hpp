// SPDX-License-Identifier: MIT
// The options of train_tagger: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/data/batch_plan.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/models/bert_tagger.hpp>
#include <lexformer/models/lstm_tagger.hpp>
#include <lexformer/train/schedule.hpp>

#include "love_plug_options.hpp"
#include "word_sources.hpp"

namespace program {

/// Where the word vectors of an LstmTagger come from.
struct WordVectorOptions {
  std::string vectors, words, imputer;
  bool imputer_only = false;

  void add_to(CLI::App& app) {
    app.add_option("--vectors", vectors, "word vectors: a text file, a .npy file with --words, or a model, whose whole-word rows are used")
        ->type_name("V");
    app.add_option("--words", words, "for a .npy file of vectors: its words, one per line")->type_name("F");
    app.add_option("--imputer", imputer,
                   "a model of words (train_love, train_imputer), which makes vectors for the words that --vectors lacks")
        ->type_name("M.lxf");
    app.add_flag("--imputer-only", imputer_only, "take all vectors from the imputer");
  }
  bool used() const { return !vectors.empty() || !imputer.empty(); }
  std::shared_ptr<const lx::StaticVectors> read() const {
    if (imputer_only && imputer.empty()) lx::fail_usage("--imputer-only", "needs --imputer");
    if (!used()) lx::fail_usage("--vectors", "is missing; this tagger reads word vectors (--vectors, --imputer or both)");
    return std::make_shared<const lx::StaticVectors>(read_static_vectors(vectors, words, imputer, imputer_only));
  }
};

struct TaggerOptions {
  std::string model, train_file, valid, out, command;
  std::vector<std::string> tests, freeze;
  WordVectorOptions vectors;
  lx::LstmTaggerOptions lstm;
  lx::BertTaggerOptions bert;
  LovePlugFlags love;
  std::optional<lx::ScheduleKind> given_schedule{};
  std::optional<double> given_epochs{}, given_lr{};
  lx::ScheduleKind schedule = lx::ScheduleKind::exponential;
  lx::BatchOrder order = lx::BatchOrder::length_grouped;
  lx::ProgressMode progress = lx::ProgressMode::automatic;
  bool resume = false, overwrite = false, quiet = false;
  double epochs = 15, lr = 2e-3, lr_decay = 0.95, warmup = 0, weight_decay = 0, clip = 5;
  std::size_t max_steps = 0, batch = 32, accumulate = 1, eval_batch = 64, eval_steps = 0, save_steps = 0, save_total_limit = 2,
              logging_steps = 50, patience = 0;
  std::uint64_t seed = 1;
  Compute compute;
  std::vector<std::pair<bool, CLI::Option*>> of_encoder{};  // whether an option belongs to BERT

  bool with_bert() const { return !model.empty(); }

  void add_to(CLI::App& app) {
    const auto number = [](CLI::App& group, const char* flag, auto& value, const char* text) {
      return group.add_option(flag, value, text)->check(program::non_negative())->capture_default_str();
    };
    app.add_option("--train", train_file, "training sentences: one word and its BIO tag in each line, an empty line after each sentence")
        ->required()
        ->type_name("F");
    app.add_option("--valid", valid, "validation sentences, which select the best model by entity F1")->required()->type_name("F");
    app.add_option("--test", tests, "test sentences; one or more files")->type_name("F");
    app.add_option("--out", out, "folder for model.lxf, all_results.json, log.jsonl and checkpoints")->required()->type_name("DIR");
    app.add_flag("--overwrite", overwrite, "start again in a folder with an earlier run");
    number(app, "--max-length", bert.max_length,
           "longer training sentences are cut to so many words; with --model all sentences to so many tokens")
        ->check(CLI::Range(3, 1 << 20));

    auto* group = app.add_option_group("LSTM over fixed word vectors");
    vectors.add_to(*group);
    OptionFlags lstm_flags(*group, "", "size");
    lstm.visit(lstm_flags);
    for (auto* flag : lstm_flags.added) of_encoder.emplace_back(false, flag);

    group = app.add_option_group("Encoder instead of the LSTM");
    group->add_option("--model", model, "initial encoder: a .lxf file (tools/convert_hf.py, make_model) or a HuggingFace folder")
        ->type_name("M.lxf");
    of_encoder.emplace_back(true,
                            group->add_flag("--crf", bert.crf, "a conditional random field over the logits; the LSTM always has one"));
    of_encoder.emplace_back(true, group->add_option("--freeze", freeze,
                                                    "do not train parameters whose names contain one of these, e.g. embeddings "
                                                    "encoder.layer.0."));
    love.add_to(*group, true);

    group = app.add_option_group("Training");
    group->add_option("--epochs", given_epochs, "epochs; may be fractional")->check(program::positive())->default_str("15; with --model 5");
    number(*group, "--max-steps", max_steps, "number of optimizer steps, instead of --epochs");
    number(*group, "--batch", batch, "sentences per batch")->check(program::positive());
    number(*group, "--accumulate", accumulate, "batches per step")->check(program::positive());
    group->add_option("--lr", given_lr, "learning rate")->check(program::non_negative())->default_str("2e-3; with --model 5e-5");
    group
        ->add_option_function<std::string>(
            "--schedule", [this](const std::string& name) { choose_schedule(name); },
            "learning rate schedule: " + lx::list_names<lx::ScheduleKind>())
        ->default_str("exponential; with --model linear");
    number(*group, "--lr-decay", lr_decay, "with --schedule exponential: factor of the learning rate in each epoch")
        ->check(CLI::Range(0.0, 1.0));
    number(*group, "--warmup", warmup, "share of the steps with linear warm-up")->check(CLI::Range(0.0, 1.0));
    number(*group, "--weight-decay", weight_decay, "AdamW's decoupled weight decay");
    group->add_option("--clip", clip, "maximum gradient norm")->check(program::positive())->capture_default_str();
    add_choice(*group, "--order", order, "order of the sentences");
    number(*group, "--seed", seed, "seed of the weights, order and dropout");
    number(*group, "--eval-batch", eval_batch, "sentences per batch in evaluation")->check(program::positive());
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
  /// Checks that concern several options.
  void finish() {
    if (with_bert() == vectors.used())
      lx::fail_usage("train_tagger", with_bert() ? "has --model and word vectors; give one of them"
                                                 : "needs word vectors (--vectors, --imputer or both) or an encoder (--model)");
    for (const auto& [of_bert, option] : of_encoder)
      if (of_bert != with_bert() && option->count() > 0)
        lx::fail_usage(option->get_name(), of_bert ? "needs --model" : "belongs to the LSTM, not to --model");
    if (!with_bert() && love.used()) lx::fail_usage("--love", "needs --model; with word vectors use --imputer");
    love.check();
    if (!with_bert() && compute.device != Device::cpu)
      lx::fail_usage("--device", "conditional random fields are computed on the CPU only; use --device cpu, or --model without --crf");
    if (quiet) progress = lx::ProgressMode::none;
    finish_defaults();
  }
  /// Defaults that depend on the encoder.
  void finish_defaults() {
    epochs = given_epochs.value_or(with_bert() ? 5 : 15);
    lr = given_lr.value_or(with_bert() ? 5e-5 : 2e-3);
    schedule = given_schedule.value_or(with_bert() ? lx::ScheduleKind::linear : lx::ScheduleKind::exponential);
  }
  /// The settings that identify a run; a resumed run must have the same. data: of its files.
  lx::Json json(const lx::Json& data) const {
    lx::Json all = data;
    all["num_train_epochs"] = epochs;
    all["max_steps"] = max_steps;
    all["per_device_train_batch_size"] = batch;
    all["gradient_accumulation_steps"] = accumulate;
    all["learning_rate"] = lr;
    all["lr_scheduler_type"] = lx::name_of(schedule);
    all["lr_decay"] = lr_decay;
    all["warmup_ratio"] = warmup;
    all["weight_decay"] = weight_decay;
    all["max_grad_norm"] = clip;
    all["max_length"] = bert.max_length;
    all["order"] = lx::name_of(order);
    all["eval_batch"] = eval_batch;
    all["eval_steps"] = eval_steps;
    all["patience"] = patience;
    all["logging_steps"] = logging_steps;
    all["precision"] = lx::name_of(compute.precision);
    all["seed"] = seed;
    if (with_bert()) {
      all["model"] = model;
      all["crf"] = bert.crf;
      all["freeze"] = freeze;
      if (love.used()) all["love"] = love.json();
    } else {
      all["imputer"] = imputer_json();
      all["lstm"] = lx::options_json([o = lstm](lx::OptionVisitor& v) mutable { o.visit(v); });
    }
    return all;
  }

 private:
  void choose_schedule(const std::string& name) {
    if (const std::string wrong = one_of(lx::all_names<lx::ScheduleKind>())(name); !wrong.empty()) lx::fail_usage("--schedule", wrong);
    given_schedule = *lx::find_name<lx::ScheduleKind>(name);
  }
  lx::Json imputer_json() const {
    if (vectors.imputer.empty()) return {};
    const std::string file = lx::is_folder(vectors.imputer) ? vectors.imputer + "/model.lxf" : vectors.imputer;
    lx::Json all = lx::Json::object();
    all["model"] = vectors.imputer;
    all["crc32"] = lx::crc32(lx::read_file(file));
    all["only"] = vectors.imputer_only;
    return all;
  }
};

}  // namespace program
