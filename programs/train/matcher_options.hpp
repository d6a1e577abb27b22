// SPDX-License-Identifier: MIT
// The options of train_matcher and train_text.
#pragma once

#include <charconv>
#include <lexformer/text/column_marks.hpp>
#include <numeric>

#include "cli/evaluation.hpp"
#include "cli/knowledge.hpp"
#include "cli/love_plug_options.hpp"
#include "cli/records.hpp"
#include "cli/term_options.hpp"
#include "cli/typo_flags.hpp"
#include "train/matcher_loss.hpp"
#include "train/training_options.hpp"

namespace program {

struct MatcherOptions : TrainingOptions {
  std::string model, valid, train_file;
  std::vector<std::string> tests;
  lx::CrossEncoderOptions encoder;
  AttentionOptions attention;
  KnowledgeOptions knowledge;
  LovePlugFlags love;
  lx::BatchOrder order = lx::BatchOrder::length_grouped;
  std::optional<MatcherLoss> chosen_loss;
  bool augment = false, no_decay_norm = false;
  lx::TypoOptions typos;
  TypoFlags typo_flags;
  double train_share = 1, augment_probability = 0.5, weight_decay = 5e-5, margin = 1;
  std::optional<double> new_lr;         // default: lr
  std::optional<double> warmup_epochs;  // default: 1.5 as in the paper, but at most 15 % of the run, so that a short run learns, too
  std::size_t patience = 0, test_typos = 0, max_length = 128, negatives = 0;
  std::vector<std::uint64_t> seeds{1};
  std::vector<std::string> freeze, label_names, class_weights;
  lx::TableOptions table;
  RecordFlags records;

  MatcherOptions() {
    schedule = lx::ScheduleKind::cosine;
    epochs = 30;
    lr = 5e-5;
  }

  /// encoder.texts chooses the help texts.
  void visit(OptionVisitor& v) {
    const bool single = encoder.texts == 1;
    const std::string examples = lx::examples_name(encoder.texts);
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
    visit_table(v, table, encoder.texts);
    if (!single) records.visit(v);

    v.group("Model");
    v.choice("head", encoder.head, "head on top of the encoder").identity(false);
    v.choice("task", encoder.task, "kind of labels").identity(false);
    v.list("labels", label_names, "class names in order, as in the files (default: 0,1)").split_at(',').identity(false);
    v.size("max_length", max_length, 0,
           single ? "maximum number of tokens per text" : "maximum number of tokens per pair; the longer text is cut first")
        .identity(false);
    v.list("freeze", freeze, "do not train parameters whose names contain one of these, e.g. embeddings encoder.layer.0.");
    knowledge.visit(v);
    attention.visit(v, encoder.texts);
    v.group("Unknown words");
    love.visit(v, true);

    v.group("Typos");
    v.flag("augment", augment, "add typos to the training " + examples + ", drawn anew in every epoch").identity(false);
    v.number("augment_probability", augment_probability, lx::bounds::share,
             single ? "probability that a text gets typos" : "probability that a pair gets typos, in both texts")
        .identity(false);
    typo_flags.visit(v, typos);
    v.number("typo_share", typos.word_share, lx::bounds::share, "share of words with a typo").identity(false);
    v.size("test_typos", test_typos, 0, "number of copies of each test file with typos to evaluate, too").identity(false);

    v.group("Training");
    v.number("train_share", train_share, lx::bounds::share, "share of the training " + examples + ", drawn by the seed; rounded up")
        .identity(train_share < 1);
    if (!single) visit_losses(v);
    visit_batch(v, examples);
    visit_training(v);
    visit_gradient_checkpointing(v);
    v.number("new_lr", new_lr, lx::bounds::non_negative,
             "learning rate of the tensors that the start model does not have (the head, attention terms)")
        .default_text("that of --lr")
        .key("new_learning_rate")
        .identity(new_lr.has_value());
    v.number("warmup_epochs", warmup_epochs, lx::bounds::non_negative, "epochs of linear warm-up")
        .default_text("1.5, at most 15 % of the run");
    v.number("weight_decay", weight_decay, lx::bounds::non_negative, "AdamW's decoupled weight decay");
    v.flag("no_decay_norm", no_decay_norm, "no weight decay on biases and LayerNorm");
    v.list("class_weights", class_weights,
           "class weights in the loss, one per class; balanced: inversely proportional to the class frequencies")
        .split_at(',')
        .identity(!class_weights.empty());
    v.choice("order", order, "order of the " + examples);
    v.list("seed", seeds, 0, ~std::size_t{0}, "one or more seeds, e.g. 1,2,3; each is a separate run")
        .also("seeds")
        .split_at(',')
        .identity(false);
    v.size("patience", patience, 0, "stop after this many evaluations without improvement; 0 = never");
    visit_run(v);
  }
  /// Checks that concern several options.
  void finish(const OptionVisitor&) {
    for (std::size_t i = 1; i < seeds.size(); ++i)
      if (std::find(seeds.begin(), seeds.begin() + static_cast<std::ptrdiff_t>(i), seeds[i]) !=
          seeds.begin() + static_cast<std::ptrdiff_t>(i))
        lx::fail_usage("--seeds", seeds[i], " is given twice");
    encoder.attention = attention.terms();
    encoder.max_length = max_length;
    encoder.label_names = label_names;
    if (chosen_loss && loss() != MatcherLoss::cross_entropy) encoder.task = lx::Task::regression;
    if (chosen_loss && loss() == MatcherLoss::cross_entropy && encoder.task == lx::Task::regression)
      lx::fail_usage("--loss", "cross-entropy is a loss of classes; a regression has squared, binary, margin or listwise");
    if (loss() == MatcherLoss::binary) encoder.activation = lx::ScoreActivation::sigmoid;
    if (negatives > 0 && label_names.size() > 2) lx::fail_usage("--negatives", "needs labels 0 and 1, or numbers");
    if (encoder.task == lx::Task::regression && !label_names.empty()) lx::fail_usage("--labels", "a regression has numbers, not classes");
    encoder.labels = encoder.task == lx::Task::regression ? 1 : label_names.empty() ? 2 : label_names.size();
    if (train_share <= 0) lx::fail_usage("--train-share", "must be above 0");
    if (new_lr && lr == 0) lx::fail_usage("--new-lr", "follows the schedule of --lr, which is 0; freeze the other tensors with --freeze");
    typo_flags.load(typos);
    finish_training();
    if (class_weights.empty() || is_balanced()) return;
    if (class_weights.size() != encoder.labels || encoder.task == lx::Task::regression)
      lx::fail_usage("--class-weights", class_weights.size(), " weights for ",
                     encoder.task == lx::Task::regression ? "a regression" : lx::cat(encoder.labels, " classes"));
    for (const auto& text : class_weights) {
      double weight = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
      if (error != std::errc() || end != text.data() + text.size() || !(weight >= 0 && std::isfinite(weight)))
        lx::fail_usage("--class-weights", "'", text, "' is neither a number, 0 or more, nor balanced");
      given_weights_.push_back(weight);
    }
  }
  /// Checks that texts have the columns that --lea-columns compares.
  void check_columns(const std::vector<std::string>& texts) const {
    for (const auto& term : encoder.attention)
      if (term.name == "lea" && term.get<lx::LeaOptions>().columns != lx::LeaColumns::any &&
          std::all_of(texts.begin(), texts.end(), [](const auto& text) { return lx::column_marks(text).empty(); }))
        lx::fail_usage("--lea-columns", "no text of ", train_file,
                       " has the form COL name VAL value; tables get it by --serialize columns");
  }
  /// Reads --parses and --wordnet. Errors: trees with an option that changes texts.
  lx::TextKnowledge load_knowledge() const { return knowledge.load(augment ? "--augment" : test_typos > 0 ? "--test-typos" : nullptr); }
  /// The share of the training examples that is trained on, in their order.
  std::vector<lx::PairExample> training_sample(std::vector<lx::PairExample> examples, std::uint64_t seed) const {
    if (train_share >= 1) return examples;
    std::vector<std::size_t> rows(examples.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    lx::RandomStream(seed, lx::random_site::share).shuffle(rows);
    rows.resize(static_cast<std::size_t>(std::ceil(train_share * static_cast<double>(rows.size()))));
    std::sort(rows.begin(), rows.end());
    std::vector<lx::PairExample> chosen;
    for (const std::size_t i : rows) chosen.push_back(std::move(examples[i]));
    return chosen;
  }
  bool is_balanced() const { return class_weights == std::vector<std::string>{"balanced"}; }

  /// The class weights, empty if all are equal. balanced: n / (classes n_c), with n_c of the n examples in class c.
  std::vector<double> class_weights_of(const std::vector<lx::PairExample>& examples) const {
    if (!is_balanced()) return given_weights_;
    if (encoder.task == lx::Task::regression) lx::fail_usage("--class-weights", "a regression has no classes");
    std::vector<double> weights(encoder.labels);
    for (const auto& e : examples) ++weights[static_cast<std::size_t>(e.label)];
    for (double& w : weights)
      if (w > 0) w = static_cast<double>(examples.size()) / (static_cast<double>(weights.size()) * w);
    return weights;
  }

  /// The loss: by default that of the task.
  MatcherLoss loss() const {
    return chosen_loss.value_or(encoder.task == lx::Task::regression ? MatcherLoss::squared : MatcherLoss::cross_entropy);
  }

  /// The settings that identify a run; a resumed run must have the same. Data are identified by the texts, not by file names.
  lx::Json json(std::uint64_t seed, const std::vector<lx::PairExample>& train, const std::vector<lx::PairExample>& validation) const {
    lx::Json all = identity_of(*this);
    all["seed"] = seed;
    all["train"] = lx::describe(train, encoder.texts);
    all["valid"] = lx::describe(validation, encoder.texts);
    all["encoder"] = lx::to_json(encoder);
    all["attention"] = lx::Json::object();
    for (const auto& t : encoder.attention) all["attention"][t.name] = t.json();
    all["augment"] = augment ? augment_probability : 0.0;
    all["typos"] = lx::describe(typos);
    if (love.used()) all["love"] = love.json();
    if (table.records) all["records"] = table.records->description();
    return all;
  }

 private:
  void visit_losses(OptionVisitor& v) {
    v.choice("loss", chosen_loss,
             "loss; default: cross-entropy of classes, squared error of a regression. binary, margin, listwise: models with one score, as "
             "--task regression; binary: cross-entropy of sigmoid(score), labels 0 to 1; margin, listwise: rank the right texts of equal "
             "left texts, which share a batch")
        .default_text("by --task")
        .identity(chosen_loss.has_value());
    v.number("margin", margin, lx::bounds::positive, "of --loss margin: least difference of the scores")
        .identity(loss() == MatcherLoss::margin)
        .only_if(loss() == MatcherLoss::margin, "belongs to --loss margin");
    v.size("negatives", negatives, 0,
           "right texts of other pairs to add for each pair with a label above 0, as pairs with label 0, drawn by the seed")
        .identity(negatives > 0);
  }

  std::vector<double> given_weights_;  // class_weights as numbers
};

/// Warnings about data that allow training but no useful model of pairs: no positive pairs to learn from, or to select the best model by.
inline lx::Json warnings(const MatcherOptions& o, const std::vector<lx::PairExample>& train, const std::vector<lx::PairExample>& valid) {
  lx::Json all = lx::Json::array();
  if (!o.encoder.has_threshold()) return all;
  const auto check = [&](const std::string& file, const std::vector<lx::PairExample>& examples, const char* meaning) {
    if (std::none_of(examples.begin(), examples.end(), [](const auto& e) { return e.label == 1; }))
      all.push_back(lx::cat(file, ": none of the ", examples.size(), " pairs is of the positive class; ", meaning));
  };
  check(o.train_file, train, "the model learns to predict no match");
  check(o.valid, valid, "F1 is 0 for every model, so neither the best one nor its threshold can be chosen");
  return all;
}

}  // namespace program
