// SPDX-License-Identifier: MIT
// The options of train_tagger.
#pragma once

#include <lexformer/data/batch_plan.hpp>
#include <lexformer/models/bert_tagger.hpp>
#include <lexformer/models/lstm_tagger.hpp>

#include "cli/love_plug_options.hpp"
#include "cli/static_vector_options.hpp"
#include "train/option_parts.hpp"

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

  TaggerOptions() {
    schedule = lx::ScheduleKind::exponential;
    epochs = 15;
    lr = 2e-3;
    lr_decay = 0.95;
    clip = 5;
  }
  bool with_bert() const { return !model.empty(); }

  void visit(OptionVisitor& v) {
    v.input("train", train_file, "training sentences: one word and its BIO tag in each line, an empty line after each sentence").required();
    v.input("valid", valid, "validation sentences, which select the best model by entity F1").required();
    v.inputs("test", tests, "test sentences; one or more files");
    visit_out(v);
    v.size("max_length", bert.max_length, 3, 1 << 20,
           "longer training sentences are cut to so many words; with --model all sentences to so many tokens");

    v.group("LSTM over fixed word vectors");
    vectors.visit(v);
    for (lx::Option& option : visit_part(v, lstm)) option.only_if(!with_bert(), "belongs to the LSTM, not to --model");

    v.group("Encoder instead of the LSTM");
    v.input("model", model, "initial encoder: a .lxf file (tools/convert_hf.py, make_model) or a HuggingFace folder")
        .shown_as("M.lxf")
        .identity(with_bert());
    v.flag("crf", bert.crf, "a conditional random field over the logits; the LSTM always has one").needs("model").identity(with_bert());
    v.list("freeze", freeze, "do not train parameters whose names contain one of these, e.g. embeddings encoder.layer.0.")
        .needs("model")
        .identity(with_bert());
    love.visit(v, true);
    v.find("love")->only_if(with_bert(), "needs --model; with word vectors use --imputer");

    v.group("Training");
    visit_batch(v, "sentences");
    visit_training(v);
    v.find("epochs")->default_text("15; with --model 5");
    v.find("lr")->default_text("2e-3; with --model 5e-5");
    v.find("schedule")->default_text("exponential; with --model linear");
    visit_gradient_checkpointing(v).needs("model");
    visit_warmup(v);
    v.number("weight_decay", weight_decay, lx::bounds::non_negative, "AdamW's decoupled weight decay");
    v.choice("order", order, "order of the sentences");
    v.size("seed", seed, 0, "seed of the weights, order and dropout");
    v.size("patience", patience, 0, "stop after this many evaluations without improvement; 0 = never");
    visit_run(v);
  }
  void finish(const OptionVisitor& parsed) {
    if (with_bert() == vectors.used())
      lx::fail_usage("command line", with_bert() ? "has --model and word vectors; give one of them"
                                                 : "needs word vectors (--vectors, --imputer or both) or an encoder (--model)");
    finish_run();
    finish_defaults(parsed);
  }
  /// Defaults of a tagger with BERT, for options that were not given.
  void finish_defaults(const OptionVisitor& parsed) {
    if (!with_bert()) return;
    if (!parsed.given("epochs")) epochs = 5;
    if (!parsed.given("lr")) lr = 5e-5;
    if (parsed.given("schedule")) return;
    schedule = lx::ScheduleKind::linear;
    if (parsed.given("lr_decay")) lx::fail_usage("--lr-decay", "belongs to --schedule exponential, not linear");
  }
  /// The settings that identify a run; a resumed run must have the same. data: of its files.
  lx::Json json(const lx::Json& data) const {
    lx::Json all = data;
    all.update(identity_of(*this));
    if (!with_bert()) all["lstm"] = part_json(lstm);
    if (love.used()) all["love"] = love.json();
    return all;
  }
};

}  // namespace program
