// SPDX-License-Identifier: MIT
// The options of train_text_cnn.
#pragma once

#include <lexformer/train/text_cnn.hpp>

#include "cli/static_vector_options.hpp"
#include "cli/typo_flags.hpp"
#include "train/option_parts.hpp"

namespace program {

struct TextCnnTrainOptions : RunOptions {
  std::string train_file, valid;
  std::vector<std::string> tests, label_names;
  StaticVectorFlags vectors;
  lx::TextCnnOptions cnn;
  lx::TableOptions table{.texts = 1};
  lx::TypoOptions typos;
  TypoFlags typo_flags;
  lx::TextCnnSettings settings;
  std::size_t test_typos = 0;

  std::size_t classes() const { return label_names.empty() ? 2 : label_names.size(); }

  void visit(OptionVisitor& v) {
    v.input("train", train_file, "training texts: .tsv, .csv or .jsonl").required();
    v.input("valid", valid, "validation texts, which select the best model by accuracy").required();
    v.inputs("test", tests, "test texts; one or more files");
    visit_out(v);
    v.list("labels", label_names, "class names in order, as in the files (default: 0,1)")
        .split_at(',')
        .key("label_names")
        .identity(!label_names.empty());
    visit_table(v, table, 1);
    v.group("Word vectors");
    vectors.visit(v);
    v.group("Model");
    visit_part(v, cnn);

    v.group("Typos");
    v.size("test_typos", test_typos, 0, 1000, "number of copies of each test file with typos to evaluate in addition").identity(false);
    typo_flags.visit(v, typos);
    v.number("typo_share", typos.word_share, lx::bounds::share, "share of words with a typo").identity(false);

    settings.visit(v);
    visit_run(v, settings);
  }
  void finish(const OptionVisitor&) {
    finish_run();
    if (label_names.empty()) table.label_advice = label_advice;
    typo_flags.load(typos);
    if (label_names.size() == 1) lx::fail_usage("--labels", "1 class is named; a classification has 2 or more");
  }

  /// The settings that identify a run, besides its data. Vectors are identified by their contents.
  lx::JsonValue identity(const std::string& of_vectors) const {
    lx::Json all = identity_of(*this);
    all["vectors"] = of_vectors;
    all["labels"] = classes();
    all["text_cnn"] = part_json(cnn);
    return lx::JsonValue(std::move(all));
  }
};

}  // namespace program
