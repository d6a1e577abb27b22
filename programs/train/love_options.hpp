// SPDX-License-Identifier: MIT
// The options of train_love: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/data/love_batches.hpp>
#include <lexformer/models/love.hpp>
#include <lexformer/models/love_loss.hpp>

#include "train/imputer_options.hpp"

namespace program {

/// Words that stand in for each other in training.
struct SynonymOptions {
  std::string source = "targets";  // or none, wordnet, a file
  std::size_t most = 5;            // of targets
  double cosine = 0.6;             // of targets
};

struct LoveTrainOptions : ImputerTrainOptions {
  std::string vocab, wordnet = "/usr/share/wordnet";
  lx::WordUnitOptions units;
  lx::LoveOptions love;
  lx::LoveBatchOptions batches;
  lx::LoveLossOptions loss;
  SynonymOptions synonyms;
  double near_ratio = 0.7, near_cosine = 0.4;
  std::size_t near_most = 100;
  const CLI::App* app_of_options = nullptr;

  void add_to(CLI::App& app) {
    app_of_options = &app;
    add_data(app);
    app.add_option("--vocab", vocab, "vocabulary of letters and pieces, one token per line (tools/make_love_vocab.py)")
        ->required()
        ->type_name("V.txt");

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
    add_word_training(*group);
    add_run(app);
  }
  void finish() {
    finish_training();
    batch = batches.batch * (1 + batches.negatives);
    refuse_unused_options();
    lx::love_divisor(love.scale, 1, "--scale");
    const auto& b = batches;
    if (const double sum = b.swap + b.drop + b.insert + b.keyboard + b.synonym; !(sum <= 1 + 1e-9))
      lx::fail_usage("--swap", "the shares --swap, --drop, --insert, --keyboard and --synonym add up to ", sum,
                     "; expected at most 1: lower some of them (defaults: 0.07 each, --synonym 0.36)");
  }
  /// Errors (usage): an option was given that has no effect with this encoder, loss, source of synonyms or number of negatives.
  void refuse_unused_options() const {
    const auto belong = [&](std::initializer_list<const char*> options, bool used, const char* to, const std::string& chosen) {
      for (const char* option : options) refuse_unused(*app_of_options->get_option(option), used, to, chosen);
    };
    using Kind = lx::LoveEncoderKind;
    const std::string encoder = lx::name_of(love.encoder), of_loss = lx::name_of(loss.loss);
    const bool pam = love.encoder == Kind::pam;
    belong({"--structure", "--query-size"}, pam, "--encoder pam", encoder);
    belong({"--scale", "--heads"}, pam || love.encoder == Kind::attention, "--encoder pam or attention", encoder);
    belong({"--layers"}, love.encoder != Kind::cnn, "--encoder pam, attention or rnn", encoder);
    belong({"--temperature"}, loss.loss == lx::LoveLoss::nt_xent, "--loss nt_xent", of_loss);
    belong({"--lambda"}, loss.loss == lx::LoveLoss::align_uniform, "--loss align_uniform", of_loss);
    belong({"--synonym-count", "--synonym-cosine"}, synonyms.source == "targets", "--synonyms targets", synonyms.source);
    belong({"--synonym"}, synonyms.source != "none", "--synonyms targets, wordnet or a file", synonyms.source);
    belong({"--wordnet"}, synonyms.source == "wordnet", "--synonyms wordnet", synonyms.source);
    belong({"--near-ratio", "--near-count", "--near-cosine"}, batches.negatives > 0, "--negatives 1 or more", "0");
    belong({"--any-characters"}, batches.insert + batches.keyboard > 0, "--insert or --keyboard above 0", "0");
  }
  /// Checks that the options of the model fit targets of love.size numbers, as lx::check_love_options() does, whose messages do not name
  /// options of the command line.
  void check_size() const {
    using Kind = lx::LoveEncoderKind;
    const auto& o = love;
    const std::string vectors = lx::cat(targets, " has vectors of ", o.size, " numbers");
    if (o.size < 2 || o.size > lx::max_love_size) lx::fail_usage("--targets", vectors, "; expected 2 to ", lx::max_love_size);
    if (o.rank > o.size) lx::fail_usage("--rank", "is ", o.rank, ", but ", vectors, "; choose at most as many");
    const std::size_t divisor = o.encoder == Kind::pam         ? 2 * o.heads
                                : o.encoder == Kind::attention ? o.heads
                                : o.encoder == Kind::rnn       ? 2
                                                               : 1;
    if (o.size % divisor != 0 && o.heads > 1)
      lx::fail_usage("--heads", vectors, "; --encoder ", lx::name_of(o.encoder), " with ", o.heads, " heads needs a multiple of ", divisor,
                     "; choose other --heads or another --encoder");
    if (o.size % divisor != 0)
      lx::fail_usage("--targets", vectors, "; --encoder ", lx::name_of(o.encoder),
                     " needs an even number; choose --encoder attention or cnn");
    if (o.encoder == Kind::pam && (o.query_size % o.heads != 0 || o.query_size > o.size))
      lx::fail_usage("--query-size", "is ", o.query_size, ", but ", vectors, "; choose a multiple of --heads (", o.heads, ") of at most ",
                     o.size);
  }

  /// The settings that identify a run; a resumed run must have the same. Targets and vocabulary are identified by their contents.
  lx::Json json(const std::string& of_targets, const std::string& of_vocabulary) const {
    const auto visited = [](auto options) { return lx::options_json([&](lx::OptionVisitor& v) { options.visit(v); }); };
    lx::Json all = word_training_json();
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
    return all;
  }
};

}  // namespace program
