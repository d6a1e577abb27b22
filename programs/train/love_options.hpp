// SPDX-License-Identifier: MIT
// The options of train_love.
#pragma once

#include <lexformer/words/love.hpp>
#include <lexformer/words/love_batches.hpp>
#include <lexformer/words/love_loss.hpp>

#include "train/imputer_options.hpp"

namespace program {

/// Words that stand in for each other in training.
struct SynonymOptions {
  std::string source = "targets";  // or none, wordnet, a file
  std::size_t most = 5;            // of targets
  double cosine = 0.6;             // of targets

  bool in_file() const { return source != "targets" && source != "wordnet" && source != "none"; }
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

  void visit(OptionVisitor& v) {
    visit_data(v);
    v.input("vocab", vocab, "vocabulary of letters and pieces, one token per line (tools/make_love_vocab.py)").required().shown_as("V.txt");

    v.group("Model");
    visit_part(v, love);
    visit_part(v, units);

    v.group("Batches");
    visit_part(v, batches);
    lx::Option& source = v.input("synonyms", synonyms.source,
                                 "targets: words with similar targets; wordnet: of the same synset; none; or a file, two words per line");
    source.shown_as("TEXT").identity(true);
    if (!synonyms.in_file()) source.role = lx::Option::Role::setting;
    v.input("wordnet", wordnet, "with --synonyms wordnet: folder of WordNet 3.0").shown_as("DIR");
    v.size("synonym_count", synonyms.most, 0, "with --synonyms targets: most synonyms of a word");
    v.number("synonym_cosine", synonyms.cosine, lx::bounds::share, "with --synonyms targets: least cosine of a synonym");
    v.number("near_ratio", near_ratio, lx::bounds::share, "hard negatives are spelled alike: 2 LCS(a, b) / (|a| + |b|) is above this");
    v.size("near_count", near_most, 0, "most candidates for the hard negatives of a word");
    v.number("near_cosine", near_cosine, -1, 1, "hard negatives differ in meaning: the cosine of their targets is at most this");

    v.group("Training");
    visit_part(v, loss);
    settings.visit(v);
    visit_run(v, settings);
    refuse_unused(v);
  }
  void finish(const OptionVisitor&) {
    finish_run();
    settings.batch = batches.batch * (1 + batches.negatives);
    lx::love_divisor(love.scale, 1, "--scale");
    const auto& b = batches;
    if (const double sum = b.swap + b.drop + b.insert + b.keyboard + b.synonym; !(sum <= 1 + 1e-9))
      lx::fail_usage("--swap", "the shares --swap, --drop, --insert, --keyboard and --synonym add up to ", sum,
                     "; expected at most 1: lower some of them (defaults: 0.07 each, --synonym 0.36)");
  }
  /// Options without effect with this encoder, loss, source of synonyms or number of negatives.
  void refuse_unused(OptionVisitor& v) const {
    const auto belong = [&](std::initializer_list<const char*> options, bool used, const char* to, const std::string& chosen) {
      for (const char* option : options) v.find(option)->only_if(used, lx::cat("belongs to ", to, ", not ", chosen));
    };
    using Kind = lx::LoveEncoderKind;
    const std::string encoder = lx::name_of(love.encoder), of_loss = lx::name_of(loss.loss);
    const bool pam = love.encoder == Kind::pam;
    belong({"structure", "query_size"}, pam, "--encoder pam", encoder);
    belong({"scale", "heads"}, pam || love.encoder == Kind::attention, "--encoder pam or attention", encoder);
    belong({"layers"}, love.encoder != Kind::cnn, "--encoder pam, attention or rnn", encoder);
    belong({"temperature"}, loss.loss == lx::LoveLoss::nt_xent, "--loss nt_xent", of_loss);
    belong({"lambda"}, loss.loss == lx::LoveLoss::align_uniform, "--loss align_uniform", of_loss);
    belong({"synonym_count", "synonym_cosine"}, synonyms.source == "targets", "--synonyms targets", synonyms.source);
    belong({"synonym"}, synonyms.source != "none", "--synonyms targets, wordnet or a file", synonyms.source);
    belong({"wordnet"}, synonyms.source == "wordnet", "--synonyms wordnet", synonyms.source);
    belong({"near_ratio", "near_count", "near_cosine"}, batches.negatives > 0, "--negatives 1 or more", "0");
    belong({"any_characters"}, batches.insert + batches.keyboard > 0, "--insert or --keyboard above 0", "0");
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
    lx::Json all = identity_of(*this);
    all["targets"] = of_targets;
    all["vocab"] = of_vocabulary;
    all["love"] = part_json(love);
    all["units"] = part_json(units);
    all["batches"] = part_json(batches);
    all["loss"] = part_json(loss);
    return all;
  }
};

}  // namespace program
