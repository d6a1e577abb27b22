// SPDX-License-Identifier: MIT
// The options of train_text_cnn: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/models/text_cnn.hpp>

#include "cli/option_flags.hpp"
#include "cli/static_vector_options.hpp"
#include "cli/typo_flags.hpp"
#include "train/training_options.hpp"

namespace program {

struct TextCnnTrainOptions : TrainingOptions {
  std::string train_file, valid;
  std::vector<std::string> tests, label_names;
  StaticVectorFlags vectors;
  lx::TextCnnOptions cnn;
  lx::TableOptions table{.texts = 1};
  lx::TypoOptions typos;
  TypoFlags typo_flags;
  lx::BatchOrder order = lx::BatchOrder::random;
  double weight_decay = 0;
  std::size_t patience = 0, test_typos = 0;
  std::uint64_t seed = 1;

  TextCnnTrainOptions() {
    schedule = lx::ScheduleKind::constant;
    epochs = 5;
    lr = 1e-3;
    clip = 5;
    batch = 50;
  }

  std::size_t classes() const { return label_names.empty() ? 2 : label_names.size(); }

  void add_to(CLI::App& app) {
    app.add_option("--train", train_file, "training texts: .tsv, .csv or .jsonl")->required()->type_name("F");
    app.add_option("--valid", valid, "validation texts, which select the best model by accuracy")->required()->type_name("F");
    app.add_option("--test", tests, "test texts; one or more files")->type_name("F");
    add_out(app);
    app.add_option("--labels", label_names, "class names in order, as in the files (default: 0,1)")->delimiter(',');
    add_table_options(app, table, 1);
    vectors.add_to(*app.add_option_group("Word vectors"));
    OptionFlags sizes(*app.add_option_group("Model"), "", "size");
    cnn.visit(sizes);

    auto* group = app.add_option_group("Typos");
    number(*group, "--test-typos", test_typos, "number of copies of each test file with typos to evaluate, too");
    typo_flags.add_to(*group, typos);
    group->add_option("--typo-share", typos.word_share, "share of words with a typo")->check(CLI::Range(0.0, 1.0))->capture_default_str();

    group = app.add_option_group("Training");
    add_batch(*group, "texts");
    add_training(*group);
    add_warmup(*group);
    number(*group, "--weight-decay", weight_decay, "AdamW's decoupled weight decay");
    add_choice(*group, "--order", order, "order of the texts");
    number(*group, "--seed", seed, "seed of weights, order and dropout");
    number(*group, "--patience", patience, "stop after this many evaluations without improvement; 0 = never");
    add_run(app);
  }
  void finish() {
    finish_training();
    typo_flags.load(typos);
    if (label_names.size() == 1) lx::fail_usage("--labels", "1 class is named; a classification has 2 or more");
  }

  /// The settings that identify a run; a resumed run must have the same. Data and vectors are identified by their contents.
  lx::Json json(const std::string& of_train, const std::string& of_valid, const std::string& of_vectors) const {
    lx::Json all = training_json(seed);
    all["train"] = of_train;
    all["valid"] = of_valid;
    all["vectors"] = of_vectors;
    all["labels"] = classes();
    all["per_device_train_batch_size"] = batch;
    all["warmup_ratio"] = warmup;
    all["weight_decay"] = weight_decay;
    all["order"] = lx::name_of(order);
    all["eval_batch"] = eval_batch;
    all["patience"] = patience;
    all["text_cnn"] = lx::options_json([o = cnn](lx::OptionVisitor& v) mutable { o.visit(v); });
    if (!label_names.empty()) all["label_names"] = label_names;
    return all;
  }
};

}  // namespace program
