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

/// What the model that a training starts from says of options that are not given.
struct StartOptions {
  std::vector<std::string> kept{};                // in words, for the user
  std::string warning{};                          // what it has, but not the new model
  std::string note{};                             // what follows from its attention
  std::map<std::string, std::string> metadata{};  // how its texts were made from records
};

struct MatcherOptions : RunOptions {
  std::string model, valid, train_file;
  std::vector<std::string> tests;
  lx::CrossEncoderOptions encoder;
  AttentionOptions attention;
  KnowledgeOptions knowledge;
  LovePlugFlags love;
  TypoFlags typo_flags;
  lx::MatcherSettings settings;
  std::size_t test_typos = 0;
  std::optional<std::size_t> max_length;
  std::vector<std::uint64_t> seeds{1};
  std::vector<std::string> label_names;
  lx::TableOptions table;
  RecordFlags records;
  StartOptions start;

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
    v.choice("head", encoder.head, "head on top of the encoder").default_text("as in --model, else paper").identity(false);
    v.choice("task", encoder.task.kind, "kind of labels").default_text("as in --model, else classification").identity(false);
    v.list("labels", label_names, "class names in order, as in the files (default: as in --model, else 0,1)").split_at(',').identity(false);
    v.size("max_length", max_length, 0,
           single ? "maximum number of tokens per text" : "maximum number of tokens per pair; the longer text is cut first")
        .default_text("as in --model, else 128")
        .identity(false);
    if (!single) visit_pairs(v);
    settings.visit_freeze(v);
    knowledge.visit(v);
    attention.visit(v, encoder.task.texts);
    v.group("Unknown words");
    love.visit(v, true);

    settings.visit_typos(v, encoder.task.texts);
    v.find("typo_mode")->help = "see lexformer help add_typos";
    typo_flags.visit_list(v);
    move_behind(v, "misspellings", "typo_mode");
    v.size("test_typos", test_typos, 0, 1000, "number of copies of each test file with typos to evaluate in addition").identity(false);

    v.leave_out("seed", [&](OptionVisitor& o) { settings.visit_training(o, encoder.task.texts); });
    v.list("seed", seeds, 0, ~std::size_t{0}, "one or more seeds, e.g. 1,2,3; each is a separate run")
        .also("seeds")
        .split_at(',')
        .identity(false);
    move_behind(v, "seed", "order");
    visit_run(v, settings);
  }
  /// How a pair is read.
  void visit_pairs(OptionVisitor& v) {
    v.choice(
         "pair_form", encoder.pair_form,
         "tokens of a pair: plain, as the tokenizer has them; separated: a token after each text, for tokenizers without one, as GPT-2's; "
         "repeated: left, right, and left again, for decoders")
        .default_text("as in --model, else plain")
        .identity(encoder.pair_form.has_value());
    v.text("pair_separator", encoder.pair_separator, "with --pair-form, where the tokenizer has none: the token after each text")
        .default_text("the token of eos_token_id")
        .identity(!encoder.pair_separator.empty())
        .only_if(encoder.pair_form.has_value(), "belongs to --pair-form");
    v.choice("orders", encoder.orders, "both: the mean of the logits of a pair in both orders, in training and scoring").identity(false);
    v.flag("bidirectional", encoder.bidirectional, "let the tokens of a decoder also see those after them, and read their mean")
        .identity(encoder.bidirectional);
  }
  /// Checks that concern several options.
  void finish(const OptionVisitor& parsed) {
    for (auto seed = seeds.begin(); seed != seeds.end(); ++seed)
      if (std::find(seeds.begin(), seed, *seed) != seed) lx::fail_usage("--seeds", *seed, " is given twice");
    if (model.empty())
      take_over_task(nullptr, parsed);  // the defaults, for a model card
    else
      take_over(parsed);
    encoder.attention = attention.terms();
    encoder.max_length = max_length.value_or(128);
    if (label_names.empty()) table.label_advice = label_advice;
    settings.check(encoder.task);
    if (encoder.task.kind == lx::TaskKind::regression && !label_names.empty())
      lx::fail_usage("--labels", "a regression has numbers, not classes");
    typo_flags.load(settings.typos);
    finish_run();
  }
  /// Lets the model that the training starts from say what is not given: its attention terms with their options; and, if lexformer trained
  /// its head, the head, the kind of labels, the length, and how its texts were made from records.
  void take_over(const OptionVisitor& parsed) {
    const auto file = lx::ModelFile::open(model);
    const std::size_t texts = encoder.task.texts;
    const auto config = lx::parse_transformer_config(file.config, model + ": config");
    const auto kept = attention.take_over(config.attention, model, parsed, texts);
    if (!kept.empty()) start.kept.push_back("attention " + lx::join(kept));
    const auto stored = lx::find_stored_options(file);
    const bool ours = stored && file.config->value("lexformer", lx::Json::object()).contains("head");
    if (ours && !parsed.given("head")) {
      encoder.head = stored->head;
      start.kept.push_back("head " + lx::name_of(encoder.head));
    }
    if (ours) encoder.modules = stored->modules;
    if (ours && !max_length) {
      max_length = stored->max_length;
      start.kept.push_back(lx::cat(*max_length, " tokens"));
    }
    start.note = attention.place_lea(config, std::min(max_length.value_or(128), config.max_tokens()), parsed);
    if (ours && texts == 2 && !parsed.given("orders")) encoder.orders = stored->orders;
    const bool same = ours && stored->task.texts == texts;
    take_over_task(same ? &stored->task : nullptr, parsed);
    if (const std::string key(lx::detail::records_key); same && file.metadata.contains(key)) start.metadata[key] = file.text(key);
    if (stored && (stored->head != encoder.head || stored->task.labels != encoder.task.labels))
      start.warning = lx::cat("the new model does not have the head of ", model, " (", lx::name_of(stored->head), ", ",
                              lx::name_of(stored->task.kind), ", ", counted(stored->task.labels, "label", "labels"), ")");
  }
  /// stored: the task of the model that the training starts from, or null.
  void take_over_task(const lx::Task* stored, const OptionVisitor& parsed) {
    using Kind = lx::TaskKind;
    const bool by_loss = settings.loss.has_value(), ranked = by_loss && settings.loss != lx::MatcherLoss::cross_entropy;
    if (ranked) encoder.task.kind = Kind::regression;
    const bool free = !parsed.given("task") && !parsed.given("labels") && !by_loss;
    if (stored && (free || (encoder.task.kind == stored->kind && !parsed.given("labels")))) {
      start.kept.push_back(lx::cat(lx::name_of(stored->kind), stored->label_names.empty() ? "" : " " + lx::join(stored->label_names, ",")));
      encoder.task = *stored;
      // The loss of a score that is a probability.
      if (!by_loss && stored->activation == lx::ScoreActivation::sigmoid) settings.loss = lx::MatcherLoss::binary;
    } else {
      encoder.task.label_names = label_names;
      encoder.task.labels = encoder.task.kind == Kind::regression ? 1 : label_names.empty() ? 2 : label_names.size();
    }
    if (settings.loss)
      encoder.task.activation = settings.loss == lx::MatcherLoss::binary ? lx::ScoreActivation::sigmoid : lx::ScoreActivation::identity;
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
