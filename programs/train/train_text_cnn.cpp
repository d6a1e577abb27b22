// SPDX-License-Identifier: MIT
// Trains Kim's CNN, a classifier of single texts, over fixed word vectors. The loop is lexformer/train/trainer.hpp.
#include <iomanip>

#include "cli/evaluation.hpp"
#include "train/text_cnn_options.hpp"
#include "train/training.hpp"

namespace lx = lexformer;

namespace {

using Options = program::TextCnnTrainOptions;
using Rows = std::vector<std::pair<std::string, lx::Evaluation>>;

std::string card(const Options& o, const lx::Json& results, const Rows& rows) {
  program::StringWriter out;
  out << "# A CNN that reads single texts over fixed word vectors\n\nKim's CNN, " << results["parameters"]
      << " parameters, trained with lexformer " << LEXFORMER_VERSION << ", seed " << o.settings.seed
      << ". Word vectors: " << o.vectors.text() << ". They are not part of the model.\n\n```sh\nlexformer score_pairs --model model.lxf"
      << o.vectors.command() << " < texts.tsv > scores.tsv\n```\n\n## Data\n\n| file | texts |\n| --- | --- |\n| "
      << program::table_cell(o.train_file) << " | " << results["train"]["texts"]
      << " |\n\nTo redistribute this model, also comply with the licence of the vectors.\n\n"
      << "## Results\n\nIn percent. The best model was chosen on the validation texts (first row) by accuracy, so that row is "
         "optimistic.\n\n";
  out << program::metric_table(rows);
  out << "\n"
      << program::changed_settings(results["settings"], Options().identity(""), {"train", "valid", "vectors", "seed"})
      << program::how_it_was_made(o.command) << "\n## Citation\n\nlexformer " << LEXFORMER_VERSION
      << ", and Kim, \"Convolutional Neural Networks for Sentence Classification\", EMNLP 2014.\n";
  return out.str();
}

/// One run. Returns false if it was interrupted (and saved).
struct TrainTextCnn {
  template <class T, class Dev>
  static bool train(Options o);
};

template <class T, class Dev>
bool TrainTextCnn::train(Options o) {
  const auto vectors = o.vectors.load();
  o.cnn.size = vectors->size();
  lx::TextCnn<T, Dev> model(o.cnn, o.classes(), o.label_names, o.settings.seed);
  model.provide(vectors);
  const auto read = [&](const std::string& file) { return lx::ExampleSet{file, lx::read_examples(file, o.table, model.task())}; };
  const auto train = read(o.train_file), valid = read(o.valid);
  std::vector<lx::ExampleSet> tests;  // read before training, so that a bad file is reported early
  for (const auto& file : o.tests) tests.push_back(read(file));
  if (!o.quiet) std::cerr << "vectors of the words ...\n";

  auto run = program::run_of(o, o.settings, o.out, "texts");
  run.identity = o.identity(vectors->describe_all());
  const auto done = lx::train_text_cnn(model, train, valid, o.settings, run);
  if (!done.run.finished) {
    program::say_interrupted(lx::cat("step ", done.run.step), o.out);
    return false;
  }

  Rows rows{{o.valid, done.best}};
  std::vector<lx::TestResult> measured;
  lx::Json results = {{"valid", done.best.json()}, {"test", lx::Json::array()}, {"seed", o.settings.seed}, {"settings", done.settings}};
  results["train"] = {{"file", o.train_file}, {"texts", done.examples}};
  results["parameters"] = lx::count(model.parameters());
  results["train_loss"] = done.run.loss;
  results["train_runtime"] = done.run.seconds;
  results["train_samples_per_second"] = static_cast<double>(done.run.samples) / done.run.seconds;
  for (const auto& [file, examples] : tests) {
    measured.push_back(lx::evaluate_with_typos(model, file, examples, std::nullopt, o.test_typos, o.typos, o.settings.eval_batch));
    results["test"].push_back(measured.back().json());
  }
  for (auto& row : lx::table_rows(measured)) rows.push_back(row);
  lx::write_file_atomic(o.out + "/README.md", card(o, results, rows));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  program::print_table(std::cout, rows);
  return true;
}

const program::Registered<program::TrainCommand<Options, TrainTextCnn>> command{
    "train_text_cnn", program::Group::train, "a text CNN over fixed word vectors",
    "Trains Kim's CNN, a classifier of single texts, over fixed word vectors, which a model of words may complete. Words are separated by "
    "spaces. The defaults are the settings of the LOVE paper."};

}  // namespace
