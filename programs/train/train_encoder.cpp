// SPDX-License-Identifier: MIT
// Trains a sentence encoder on pairs of texts. The loop is lexformer/train/trainer.hpp.
#include <iomanip>

#include "cli/evaluation.hpp"
#include "train/encoder_training.hpp"

namespace lx = lexformer;

namespace {

using Options = program::EncoderOptions;
using Rows = std::vector<std::pair<std::string, lx::Evaluation>>;

std::string card(const Options& o, const lx::SentenceEncoderOptions& encoder, const lx::Json& results, const Rows& rows) {
  program::StringWriter out;
  out << "# A sentence encoder\n\nTrained with lexformer " << LEXFORMER_VERSION << ", starting from `" << o.model << "`, seed " << o.seed
      << ". A text becomes a vector of " << results["size"] << " numbers: " << lx::name_of(encoder.pooling) << " of its tokens' vectors"
      << (encoder.dense.empty() ? "" : ", Dense modules") << (encoder.normalize ? ", length 1" : "")
      << ". Texts are compared by the cosine.\n\n```sh\nlexformer encode --model model.lxf --output vectors.npy < texts.txt\n"
         "lexformer rank --model model.lxf --query \"a text\" --documents texts.txt\n```\n\n## Data\n\n| file | pairs |\n| --- | --- |\n| "
      << program::table_cell(o.train_file) << " | " << results["train"]["pairs"]
      << " |\n\n## Results\n\nIn percent. The best model was chosen on "
      << "the validation pairs (first row) by " << rows[0].second.primary << ", so that row is optimistic.\n\n";
  out << program::metric_table(rows);
  out << "\n"
      << program::changed_settings(results["settings"], Options().json("", ""), {"model", "train", "valid", "seed"})
      << program::how_it_was_made(o.command) << "\n## Citation\n\nThe base model, and lexformer " << LEXFORMER_VERSION << ".\n";
  return out.str();
}

/// One run. Returns false if it was interrupted (and saved).
struct TrainEncoder {
  template <class T, class Dev>
  static bool train(Options o);
};

template <class T, class Dev>
bool TrainEncoder::train(Options o) {
  std::optional<lx::ModelFile> file = lx::ModelFile::open(o.model);
  lx::SentenceEncoder<T, Dev> model(*file, o.encoder(lx::stored_sentence_options(*file)), o.seed);
  file.reset();
  const auto train = program::read_text_pairs(o.train_file, o, true), valid = program::read_text_pairs(o.valid, o);
  std::vector<program::TextPairs> tests;  // read before training, so that a bad file is reported early
  for (const auto& test : o.tests) {
    tests.push_back(program::read_text_pairs(test, o));
    if (tests.back().labelled != valid.labelled)
      lx::fail_file(test, "has ", tests.back().labelled ? "labels" : "no labels", ", ", o.valid, " has ", valid.labelled ? "some" : "none");
  }
  if (!o.quiet) program::report_tensors(o.model, model);
  model.encoder().gradient_checkpointing = o.gradient_checkpointing;

  program::EncoderTask<T, Dev> task(o, model, train, valid);
  lx::AdamW<T, Dev> optimizer(model.parameters(), {.lr = o.lr, .weight_decay = o.weight_decay});
  auto settings = program::trainer_options(o, "pairs", task.batches());
  settings.settings = o.json(lx::describe(train.examples), lx::describe(valid.examples));
  if (!o.negative.empty()) {
    std::vector<lx::PairExample> negatives;
    for (const auto& e : train.examples) negatives.push_back({e.kept.at(0), ""});
    settings.settings["negatives"] = lx::describe(negatives, 1);
  }
  const auto done = lx::Trainer(task, optimizer, settings).run();
  if (!done.finished) {
    program::say_interrupted(lx::cat("step ", done.step), o.out);
    return false;
  }

  const auto best = lx::SentenceEncoder<T, Dev>::load(o.out + "/model.lxf");
  Rows rows{{o.valid, lx::Evaluation::from_json(done.best)}};
  lx::Json results = {{"valid", rows[0].second.json()}, {"test", lx::Json::array()}, {"seed", o.seed}, {"settings", settings.settings}};
  results["train"] = {{"file", o.train_file}, {"pairs", task.pairs()}};
  results["size"] = best.size();
  results["train_loss"] = done.loss;
  results["train_runtime"] = done.seconds;
  results["train_samples_per_second"] = static_cast<double>(done.samples) / done.seconds;
  for (const auto& test : tests) {
    rows.emplace_back(test.path, program::evaluate_encoder(best, test, o));
    results["test"].push_back(rows.back().second.json());
  }
  lx::write_file_atomic(o.out + "/README.md", card(o, best.options(), results, rows));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  program::print_table(std::cout, rows);
  return true;
}

const program::Registered<program::TrainCommand<Options, TrainEncoder>> command{
    "train_encoder", program::Group::train, "a sentence encoder (bi-encoder) on pairs of texts",
    "Trains a sentence encoder: texts of a pair that belong together get near vectors. Losses and models are those of "
    "sentence-transformers."};

}  // namespace
