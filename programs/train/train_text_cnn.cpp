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

/// The texts of a file and the vectors of their words, which are looked up or imputed once.
template <class T, class Dev>
struct Texts {
  std::vector<lx::PairExample> examples;
  lx::WordTexts words;
  lx::Tensor<T, Dev> table;

  Texts(std::vector<lx::PairExample> read, const lx::TextCnn<T, Dev>& model)
      : examples(std::move(read)), words(examples, model.cnn().max_length, !model.cnn().cased), table(model.table(words.words())) {}
};

/// The task for Trainer: batches, their loss, and the evaluation on the validation file.
template <class T, class Dev>
struct Task {
  const Options& o;
  lx::TextCnn<T, Dev>& model;
  const Texts<T, Dev>&train, &valid;
  lx::Var<T, Dev> table{train.table};
  std::uint32_t epoch = 0;
  std::vector<std::vector<std::size_t>> plan{};

  std::size_t batches() const { return (train.words.size() + o.batch - 1) / o.batch; }
  lx::WordBatch batch(std::uint32_t of_epoch, std::size_t number) {
    if (plan.empty() || epoch != of_epoch) {
      epoch = of_epoch;
      plan = lx::plan_batches(train.words.lengths(), {.size = o.batch, .seed = o.seed, .epoch = epoch, .order = o.order});
    }
    return train.words.batch(plan.at(number));
  }
  lx::BatchSize size(const lx::WordBatch& batch) const { return {batch.size(), batch.offsets.tokens()}; }
  double weights(const lx::WordBatch& batch) const { return static_cast<double>(batch.size()); }
  auto loss(const lx::WordBatch& batch, const lx::ForwardOptions& forward) const {
    return lx::cross_entropy(model(table, batch, forward), batch.labels);
  }
  lx::Measurement evaluate() const {
    const auto logits = model.logits(valid.words, valid.table, o.eval_batch);
    const auto e = lx::evaluate_logits(logits, model.scores_of(logits), model.options(), o.valid, valid.examples, std::nullopt);
    return lx::measurement_of(e);
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) { model.restore(lx::ModelFile::open(path)); }
};

std::string card(const Options& o, const lx::Json& results, const Rows& rows) {
  program::StringWriter out;
  out << "# A CNN that reads single texts over fixed word vectors\n\nKim's CNN, " << results["parameters"]
      << " parameters, trained with lexformer " << LEXFORMER_VERSION << ", seed " << o.seed << ". Word vectors: " << o.vectors.text()
      << ". They are not part of the model.\n\n```sh\nlexformer score_pairs --model model.lxf" << o.vectors.command()
      << " < texts.tsv > scores.tsv\n```\n\n## Data\n\n| file | texts |\n| --- | --- |\n| " << program::table_cell(o.train_file) << " | "
      << results["train"]["texts"] << " |\n\nTo redistribute this model, comply with the licence of the vectors, too.\n\n"
      << "## Results\n\nIn percent. The best model was chosen on the validation texts (first row) by accuracy, so that row is "
         "optimistic.\n\n";
  out << program::metric_table(rows);
  out << "\n"
      << program::changed_settings(results["settings"], Options().json("", "", ""), {"train", "valid", "vectors", "seed"})
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
  lx::TextCnn<T, Dev> model(o.cnn, o.classes(), o.label_names, o.seed);
  model.provide(vectors);
  const auto read = [&](const std::string& file) { return lx::read_examples(file, o.table, model.options()); };
  std::vector<std::vector<lx::PairExample>> tests;  // read before training, so that a bad file is reported early
  auto training = read(o.train_file), validation = read(o.valid);
  for (const auto& file : o.tests) tests.push_back(read(file));
  if (!o.quiet) std::cerr << "vectors of the words ...\n";
  const Texts<T, Dev> train(std::move(training), model), valid(std::move(validation), model);

  Task<T, Dev> task{o, model, train, valid};
  lx::AdamW<T, Dev> optimizer(model.parameters(), {.lr = o.lr, .weight_decay = o.weight_decay});
  auto settings = program::trainer_options(o, "texts", task.batches());
  settings.settings = o.json(lx::describe(train.examples, 1), lx::describe(valid.examples, 1), vectors->describe_all());
  const auto done = lx::Trainer(task, optimizer, settings).run();
  if (!done.finished) {
    program::say_interrupted(lx::cat("step ", done.step), o.out);
    return false;
  }

  auto best = lx::TextCnn<T, Dev>::load(o.out + "/model.lxf");
  best.provide(vectors);
  Rows rows{{o.valid, lx::Evaluation::from_json(done.best)}};
  std::vector<lx::TestResult> measured;
  lx::Json results = {{"valid", rows[0].second.json()}, {"test", lx::Json::array()}, {"seed", o.seed}, {"settings", settings.settings}};
  results["train"] = {{"file", o.train_file}, {"texts", train.examples.size()}};
  results["parameters"] = lx::count(best.parameters());
  results["train_loss"] = done.loss;
  results["train_runtime"] = done.seconds;
  results["train_samples_per_second"] = static_cast<double>(done.samples) / done.seconds;
  for (std::size_t t = 0; t < tests.size(); ++t) {
    measured.push_back(lx::evaluate_with_typos(best, o.tests[t], tests[t], std::nullopt, o.test_typos, o.typos, o.eval_batch));
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
