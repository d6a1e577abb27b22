// SPDX-License-Identifier: MIT
// Computes the metrics of a trained model on files of labelled examples.
#include <lexformer/io/json.hpp>

#include "cli/evaluation.hpp"
#include "cli/records.hpp"
#include "cli/trained_model.hpp"
#include "cli/typo_flags.hpp"
#include "measure/calibrated_evaluation.hpp"

namespace lx = lexformer;

namespace {

class Evaluate final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_, "a trained model: a .lxf file, or a folder with one or with a HuggingFace classifier")
        .required()
        .shown_as("M.lxf");
    v.inputs("test", tests_, "files of pairs or texts: .tsv, .csv, .jsonl").required();
    v.size("test_typos", copies_, 0, 1000, "number of copies of each file with typos to evaluate in addition");
    typo_flags_.visit(v, typos_);
    v.number("typo_share", typos_.word_share, lx::bounds::share, "share of words with a typo");
    v.size("batch", batch_, 1, "pairs or texts per batch");
    v.output("output", output_, "also write the results as JSON").shown_as("F.json");
    v.flag("scores", scores_, "with --output: also write score and label of each pair or text, for compare").needs("output");
    flags_.visit(v);
    program::visit_table(v, table_);
    records_.visit(v);
    v.list("keep", table_.keep, "with --scores: input columns to copy to the output, e.g. ids; names, or numbers from 1")
        .split_at(',')
        .shown_as("COLUMN,...")
        .needs("scores");
    calibration_.visit(v);
    compute_.visit(v, true);
    visit_threads(v);
  }
  int run() override {
    typo_flags_.load(typos_);
    const auto scorer = lx::open_scorer(model_, compute_, flags_.extras(copies_ > 0 ? "--test-typos" : nullptr));
    const lx::Scorer& model = *scorer;
    table_.texts = model.task().texts;
    records_.apply(table_, model.metadata, model_);
    const auto read = [&](const std::string& file) {
      auto examples = lx::read_examples(file, table_, model.task());
      model.check_texts(lx::texts_of(examples, model.task().texts), file);
      return examples;
    };
    std::vector<lx::TestResult> results;
    lx::Json json = lx::Json::array();
    if (calibration_.used()) {
      if (model.task().labels != 2)
        lx::fail_usage("--valid", "calibrates the probabilities of two classes; ", model_, " has ", model.task().labels);
      const auto examples = read(calibration_.valid());
      const auto logits = model.logits(examples, batch_);
      lx::require_finite(logits, calibration_.valid(), "pair", 1);
      calibration_.fit(examples, model.scores_of(logits));
    }
    for (const auto& file : tests_) {
      const auto examples = read(file);
      program::warn_of_trained(lx::are_trained(examples, model.metadata, model_), file, model_, lx::examples_name(table_.texts));
      results.push_back(lx::evaluate_with_typos(model, file, examples, model.threshold.value_or(0.5), copies_, typos_, batch_));
      json.push_back(results.back().json());
      if (calibration_.used()) calibration_.test(file, examples, results.back().clean.scores);
      if (!scores_) continue;
      for (const auto& e : examples)
        json.back()["labels"].push_back(model.task().kind == lx::TaskKind::regression ? lx::Json(e.target) : lx::Json(e.label));
      for (std::size_t k = 0; k < table_.keep.size(); ++k)
        for (const auto& e : examples) json.back()["columns"][table_.keep[k]].push_back(e.kept[k]);
      json.back()["scores"] = results.back().clean.scores;
      for (std::size_t c = 0; c < copies_; ++c) json.back()["typos"][c]["scores"] = results.back().typos[c].scores;
    }
    program::print_table(std::cout, lx::table_rows(results));
    lx::Json all = {{"test", json}};
    if (calibration_.used()) {
      calibration_.print(std::cout);
      all["calibrated"] = calibration_.json();
    }
    if (!output_.empty()) lx::write_file_atomic(output_, all.dump(2) + "\n");
    return 0;
  }

 private:
  std::string model_, output_;
  std::vector<std::string> tests_;
  std::size_t batch_ = 32, copies_ = 0;
  bool scores_ = false;
  lx::TableOptions table_;
  lx::TypoOptions typos_;
  program::TypoFlags typo_flags_;
  program::ModelFlags flags_;
  program::RecordFlags records_;
  program::CalibratedEvaluation calibration_;
  program::Compute compute_;
};

const program::Registered<Evaluate> registered{
    "evaluate", program::Group::measure, "metrics of a model on clean texts and with typos; calibration",
    "Evaluates a trained model on labelled pairs, at its stored threshold and at argmax; or, if it reads single texts, on labelled texts."};

}  // namespace
