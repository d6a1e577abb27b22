// SPDX-License-Identifier: MIT
// The options of train_matcher and train_text.
#pragma once

#include <lexformer/text/column_marks.hpp>
#include <lexformer/train/matcher.hpp>

#include "cli/evaluation.hpp"
#include "cli/knowledge.hpp"
#include "cli/love_plug_options.hpp"
#include "cli/records.hpp"
#include "cli/term_options.hpp"
#include "cli/typo_flags.hpp"
#include "train/training_options.hpp"

namespace program {

struct MatcherOptions : RunOptions {
  std::string model, valid, train_file;
  std::vector<std::string> tests;
  lx::CrossEncoderOptions encoder;
  AttentionOptions attention;
  KnowledgeOptions knowledge;
  LovePlugFlags love;
  TypoFlags typo_flags;
  lx::MatcherSettings settings;
  std::size_t test_typos = 0, max_length = 128;
  std::vector<std::uint64_t> seeds{1};
  std::vector<std::string> label_names;
  lx::TableOptions table;
  RecordFlags records;

  /// encoder.task.texts chooses the help texts.
  void visit(OptionVisitor& v) {
    const bool single = encoder.task.texts == 1;
    const std::string examples = lx::examples_name(encoder.task.texts);
    v.input("model", model, "initial encoder: a .lxf file (tools/convert_hf.py, make_model) or a HuggingFace folder")
        .required()
        .shown_as("M.lxf")
        .identity(true);
    v.input("train", train_file, "training " + examples + ": .tsv, .csv or .jsonl").required();
    v.input("valid", valid,
            single ? "validation texts, which select the best model: by accuracy, or Spearman's correlation in a regression"
                   : "validation pairs, which select the best model and its threshold")
        .required();
    v.inputs("test", tests, "test " + examples + "; one or more files");
    visit_out(v);
    visit_table(v, table, encoder.task.texts);
    if (!single) records.visit(v);

    v.group("Model");
    v.choice("head", encoder.head, "head on top of the encoder").identity(false);
    v.choice("task", encoder.task.kind, "kind of labels").identity(false);
    v.list("labels", label_names, "class names in order, as in the files (default: 0,1)").split_at(',').identity(false);
    v.size("max_length", max_length, 0,
           single ? "maximum number of tokens per text" : "maximum number of tokens per pair; the longer text is cut first")
        .identity(false);
    settings.visit_freeze(v);
    knowledge.visit(v);
    attention.visit(v, encoder.task.texts);
    v.group("Unknown words");
    love.visit(v, true);

    settings.visit_typos(v, encoder.task.texts);
    v.find("typo_mode")->help = "see lexformer help add_typos";
    typo_flags.visit_list(v);
    move_behind(v, "misspellings", "typo_mode");
    v.size("test_typos", test_typos, 0, "number of copies of each test file with typos to evaluate in addition").identity(false);

    v.leave_out("seed", [&](OptionVisitor& o) { settings.visit_training(o, encoder.task.texts); });
    v.list("seed", seeds, 0, ~std::size_t{0}, "one or more seeds, e.g. 1,2,3; each is a separate run")
        .also("seeds")
        .split_at(',')
        .identity(false);
    move_behind(v, "seed", "order");
    visit_run(v, settings);
  }
  /// Checks that concern several options.
  void finish(const OptionVisitor&) {
    for (auto seed = seeds.begin(); seed != seeds.end(); ++seed)
      if (std::find(seeds.begin(), seed, *seed) != seed) lx::fail_usage("--seeds", *seed, " is given twice");
    encoder.attention = attention.terms();
    encoder.max_length = max_length;
    encoder.task.label_names = label_names;
    if (label_names.empty()) table.label_advice = label_advice;
    if (settings.loss && settings.loss != lx::MatcherLoss::cross_entropy) encoder.task.kind = lx::TaskKind::regression;
    if (settings.loss == lx::MatcherLoss::binary) encoder.task.activation = lx::ScoreActivation::sigmoid;
    const bool regression = encoder.task.kind == lx::TaskKind::regression;
    encoder.task.labels = regression ? 1 : label_names.empty() ? 2 : label_names.size();
    settings.check(encoder.task);
    if (regression && !label_names.empty()) lx::fail_usage("--labels", "a regression has numbers, not classes");
    typo_flags.load(settings.typos);
    finish_run();
  }
  /// Checks that texts have the columns that --lea-columns compares.
  void check_columns(const lx::ExampleSet& train) const {
    const auto texts = lx::texts_of(train.examples, encoder.task.texts);
    for (const auto& term : encoder.attention)
      if (term.name == "lea" && term.get<lx::LeaOptions>().columns != lx::LeaColumns::any &&
          std::all_of(texts.begin(), texts.end(), [](const auto& text) { return lx::column_marks(text).empty(); }))
        lx::fail_usage("--lea-columns", "no text of ", train_file,
                       " has the form COL name VAL value; tables get it by --serialize columns");
  }
  /// Reads --parses and --wordnet. Errors: trees with an option that changes texts.
  lx::TextKnowledge load_knowledge() const {
    return knowledge.load(settings.augment ? "--augment" : test_typos > 0 ? "--test-typos" : nullptr);
  }

  /// The settings that identify a run, besides its data.
  lx::JsonValue identity() const {
    lx::JsonValue all = settings.json();
    all->update(identity_of(*this));
    all["encoder"] = lx::to_json(encoder);
    all["attention"] = lx::Json::object();
    for (const auto& t : encoder.attention) all["attention"][t.name] = t.json();
    if (love.used()) all["love"] = love.json();
    if (table.records) all["records"] = table.records->description();
    return all;
  }
};

}  // namespace program
