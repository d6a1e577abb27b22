// SPDX-License-Identifier: MIT
// The options of train_tagger.
#pragma once

#include <lexformer/models/lstm_tagger.hpp>
#include <lexformer/models/transformer_tagger.hpp>
#include <lexformer/train/tagger.hpp>

#include "cli/love_plug_options.hpp"
#include "cli/static_vector_options.hpp"
#include "train/option_parts.hpp"

namespace program {

struct TaggerOptions : RunOptions {
  std::string model, train_file, valid;
  std::vector<std::string> tests, freeze;
  StaticVectorFlags vectors;
  lx::LstmTaggerOptions lstm;
  lx::TransformerTaggerOptions bert;
  LovePlugFlags love;
  lx::TaggerSettings settings;

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
    v.flag("crf", bert.crf, "a conditional random field over the logits (default: as in --model); the LSTM always has one")
        .needs("model")
        .identity(with_bert());
    v.list("freeze", freeze, "do not train these parameters: names of modules, with * for anything, e.g. embeddings encoder.layer.0")
        .needs("model")
        .identity(with_bert());
    love.visit(v, true);
    v.find("love")->only_if(with_bert(), "needs --model; with word vectors use --imputer");

    settings.visit(v);
    v.find("epochs")->default_text("15; with --model 5");
    v.find("lr")->default_text("2e-3; with --model 5e-5");
    v.find("schedule")->default_text("exponential; with --model linear");
    v.find("gradient_checkpointing")->needs("model");
    visit_run(v, settings);
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
    const lx::TransformerTaggerOptions stored = lx::stored_tagger_options(lx::ModelFile::open(model));
    bert.crf = bert.crf || stored.crf;
    if (!parsed.given("max_length")) bert.max_length = stored.max_length;
    if (!parsed.given("epochs")) settings.epochs = 5;
    if (!parsed.given("lr")) settings.lr = 5e-5;
    if (parsed.given("schedule")) return;
    settings.schedule = lx::ScheduleKind::linear;
    if (parsed.given("lr_decay")) lx::fail_usage("--lr-decay", "belongs to --schedule exponential, not linear");
  }
  /// The settings that identify a run, besides its sentences. of_vectors: "" without word vectors.
  lx::JsonValue identity(const std::string& of_vectors) const {
    lx::Json all = identity_of(*this);
    if (!of_vectors.empty()) all["vectors"] = of_vectors;
    if (!with_bert()) all["lstm"] = part_json(lstm);
    if (love.used()) all["love"] = love.json();
    return lx::JsonValue(std::move(all));
  }
};

}  // namespace program
