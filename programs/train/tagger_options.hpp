// SPDX-License-Identifier: MIT
// The options of train_tagger: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/data/batch_plan.hpp>
#include <lexformer/models/bert_tagger.hpp>
#include <lexformer/models/lstm_tagger.hpp>

#include "cli/love_plug_options.hpp"
#include "cli/static_vector_options.hpp"
#include "train/training_options.hpp"

namespace program {

struct TaggerOptions : TrainingOptions {
  std::string model, train_file, valid;
  std::vector<std::string> tests, freeze;
  StaticVectorFlags vectors;
  lx::LstmTaggerOptions lstm;
  lx::BertTaggerOptions bert;
  LovePlugFlags love;
  lx::BatchOrder order = lx::BatchOrder::length_grouped;
  double weight_decay = 0;
  std::size_t patience = 0;
  std::uint64_t seed = 1;
  std::vector<std::pair<bool, CLI::Option*>> of_encoder{};  // whether an option belongs to BERT

  TaggerOptions() {
    schedule = lx::ScheduleKind::exponential;
    epochs = 15;
    lr = 2e-3;
    lr_decay = 0.95;
    clip = 5;
  }
  bool with_bert() const { return !model.empty(); }

  void add_to(CLI::App& app) {
    app.add_option("--train", train_file, "training sentences: one word and its BIO tag in each line, an empty line after each sentence")
        ->required()
        ->type_name("F");
    app.add_option("--valid", valid, "validation sentences, which select the best model by entity F1")->required()->type_name("F");
    app.add_option("--test", tests, "test sentences; one or more files")->type_name("F");
    add_out(app);
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
    add_batch(*group, "sentences");
    add_training(*group);
    of_encoder.emplace_back(true, add_gradient_checkpointing(*group));
    group->get_option("--epochs")->default_str("15; with --model 5");
    group->get_option("--lr")->default_str("2e-3; with --model 5e-5");
    group->get_option("--schedule")->default_str("exponential; with --model linear");
    training_ = group;
    add_warmup(*group);
    number(*group, "--weight-decay", weight_decay, "AdamW's decoupled weight decay");
    add_choice(*group, "--order", order, "order of the sentences");
    number(*group, "--seed", seed, "seed of the weights, order and dropout");
    number(*group, "--patience", patience, "stop after this many evaluations without improvement; 0 = never");
    add_run(app);
  }
  /// Checks that concern several options.
  void finish() {
    if (with_bert() == vectors.used())
      lx::fail_usage("command line", with_bert() ? "has --model and word vectors; give one of them"
                                                 : "needs word vectors (--vectors, --imputer or both) or an encoder (--model)");
    for (const auto& [of_bert, option] : of_encoder)
      if (of_bert != with_bert() && option->count() > 0)
        lx::fail_usage(option->get_name(), of_bert ? "needs --model" : "belongs to the LSTM, not to --model");
    if (!with_bert() && love.used()) lx::fail_usage("--love", "needs --model; with word vectors use --imputer");
    love.check();
    finish_training();
    finish_defaults();
  }
  /// Defaults of a tagger with BERT, for options that were not given.
  void finish_defaults() {
    if (!with_bert()) return;
    const auto given = [&](const char* flag) { return training_ != nullptr && training_->get_option(flag)->count() > 0; };
    if (!given("--epochs")) epochs = 5;
    if (!given("--lr")) lr = 5e-5;
    if (!given("--schedule")) schedule = lx::ScheduleKind::linear;
  }
  /// The settings that identify a run; a resumed run must have the same. data: of its files.
  lx::Json json(const lx::Json& data) const {
    lx::Json all = data;
    all.update(training_json(seed));
    all["per_device_train_batch_size"] = batch;
    all["warmup_ratio"] = warmup;
    all["weight_decay"] = weight_decay;
    all["max_length"] = bert.max_length;
    all["order"] = lx::name_of(order);
    all["eval_batch"] = eval_batch;
    all["patience"] = patience;
    if (with_bert()) {
      all["model"] = model;
      all["crf"] = bert.crf;
      all["freeze"] = freeze;
      if (love.used()) all["love"] = love.json();
    } else {
      all["lstm"] = lx::options_json([o = lstm](lx::OptionVisitor& v) mutable { o.visit(v); });
    }
    return all;
  }

 private:
  const CLI::App* training_ = nullptr;  // the group of the options of training
};

}  // namespace program
