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

int run_evaluate(int argc, char** argv) {
  CLI::App app(
      "Evaluates a trained model on labelled pairs, at its stored threshold and at argmax; or, if it reads single texts, on labelled "
      "texts.",
      "evaluate");
  std::string model_path, output;
  std::vector<std::string> tests;
  std::size_t batch = 32, copies = 0;
  bool scores = false;
  lx::TableOptions table;
  lx::TypoOptions typos;
  app.add_option("--model", model_path, "a trained model: a .lxf file, or a folder with one or with a HuggingFace classifier")
      ->required()
      ->type_name("M.lxf");
  app.add_option("--test", tests, "files of pairs or texts: .tsv, .csv, .jsonl")->required()->type_name("F");
  app.add_option("--test-typos", copies, "number of copies of each file with typos to evaluate, too")->capture_default_str();
  program::TypoFlags typo_flags;
  typo_flags.add_to(app, typos);
  app.add_option("--typo-share", typos.word_share, "share of words with a typo")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  app.add_option("--batch", batch, "pairs or texts per batch")->check(program::positive())->capture_default_str();
  app.add_option("--output", output, "also write the results as JSON")->type_name("F.json");
  app.add_flag("--scores", scores, "with --output: also write score and label of each pair or text, for compare");
  program::ModelFlags flags;
  flags.add_to(app);
  program::add_table_options(app, table);
  program::RecordFlags records;
  records.add_to(app);
  app.add_option("--keep", table.keep, "with --scores: input columns to copy to the output, e.g. ids; names, or numbers from 1")
      ->delimiter(',')
      ->type_name("COLUMN,...");
  program::CalibratedEvaluation calibration;
  calibration.add_to(app);
  program::Compute compute;
  program::add_compute(app, compute, true);
  program::add_threads(app);
  const auto measure = [&](const auto& model) {
    table.texts = model.options().texts;
    records.apply(table, program::records_of(model), model_path);
    const auto read = [&](const std::string& file) {
      auto examples = lx::read_examples(file, table, model.options());
      if constexpr (requires { model.threshold; }) model.check_texts(program::texts_of(examples, model.options().texts), file);
      return examples;
    };
    std::vector<lx::TestResult> results;
    lx::Json json = lx::Json::array();
    if (calibration.used()) {
      if (model.options().labels != 2)
        lx::fail_usage("--valid", "calibrates the probabilities of two classes; ", model_path, " has ", model.options().labels);
      const auto examples = read(calibration.valid());
      const auto logits = model.logits(examples, batch);
      lx::require_finite(logits, calibration.valid(), "pair", 1);
      calibration.fit(examples, model.scores_of(logits));
    }
    for (const auto& file : tests) {
      const auto examples = read(file);
      double threshold = 0.5;
      if constexpr (requires { model.threshold; }) threshold = model.threshold.value_or(threshold);
      results.push_back(lx::evaluate_with_typos(model, file, examples, threshold, copies, typos, batch));
      json.push_back(results.back().json());
      if (calibration.used()) calibration.test(file, examples, results.back().clean.scores);
      if (!scores) continue;
      for (const auto& e : examples)
        json.back()["labels"].push_back(model.options().task == lx::Task::regression ? lx::Json(e.target) : lx::Json(e.label));
      for (std::size_t k = 0; k < table.keep.size(); ++k)
        for (const auto& e : examples) json.back()["columns"][table.keep[k]].push_back(e.kept[k]);
      json.back()["scores"] = results.back().clean.scores;
      for (std::size_t c = 0; c < copies; ++c) json.back()["typos"][c]["scores"] = results.back().typos[c].scores;
    }
    program::print_table(std::cout, lx::table_rows(results));
    lx::Json all = {{"test", json}};
    if (calibration.used()) {
      calibration.print(std::cout);
      all["calibrated"] = calibration.json();
    }
    if (!output.empty()) lx::write_file_atomic(output, all.dump(2) + "\n");
    return 0;
  };
  return program::run(app, argc, argv, [&] {
    for (const auto& [option, path] : {std::pair<const char*, std::string>("--output", output), {"--calibration", calibration.out()}}) {
      program::keep_inputs(option, path, tests);
      program::keep_inputs(option, path, {model_path, flags.love.path(), calibration.valid()});
      program::keep_inputs(option, path, flags.vectors.files());
      program::keep_inputs(option, path, records.files());
      program::keep_inputs(option, path, {typo_flags.path()});
    }
    typo_flags.load(typos);
    if (!table.keep.empty() && !scores) lx::fail_usage("--keep", "needs --scores");
    if (scores && output.empty()) lx::fail_usage("--scores", "needs --output");
    return program::compute_with(compute, [&](auto number, auto device) {
      return program::with_trained_model<decltype(number), decltype(device)>(lx::ModelFile::open(model_path), flags, compute,
                                                                             copies > 0 ? "--test-typos" : nullptr, measure);
    });
  });
}

const program::Command command{"evaluate", program::Group::measure, "metrics of a model on clean texts and with typos; calibration",
                               run_evaluate};

}  // namespace
