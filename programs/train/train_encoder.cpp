// SPDX-License-Identifier: MIT
// Trains a sentence encoder on pairs of texts. The loop is lexformer/train/trainer.hpp.
#include <iomanip>

#include "cli/evaluation.hpp"
#include "train/encoder_options.hpp"
#include "train/training.hpp"

namespace lx = lexformer;

namespace {

using Options = program::EncoderOptions;
using Rows = std::vector<std::pair<std::string, lx::Evaluation>>;

std::string card(const Options& o, const lx::SentenceEncoderOptions& encoder, const lx::Json& results, const Rows& rows) {
  program::StringWriter out;
  out << "# A sentence encoder\n\nTrained with lexformer " << LEXFORMER_VERSION << ", starting from `" << o.model << "`, seed "
      << o.settings.seed << ". A text becomes a vector of " << results["size"] << " numbers: " << lx::name_of(encoder.pooling)
      << " of its tokens' vectors" << (encoder.dense.empty() ? "" : ", Dense modules") << (encoder.normalize ? ", length 1" : "")
      << ". Texts are compared by the cosine.\n\n```sh\nlexformer encode --model model.lxf --output vectors.npy < texts.txt\n"
         "lexformer rank --model model.lxf --query \"a text\" --documents texts.txt\n```\n\n## Data\n\n| file | pairs |\n| --- | --- |\n| "
      << program::table_cell(o.train_file) << " | " << results["train"]["pairs"]
      << " |\n\n## Results\n\nIn percent. The best model was chosen on "
      << "the validation pairs (first row) by " << rows[0].second.primary << ", so that row is optimistic.\n\n";
  out << program::metric_table(rows);
  out << "\n"
      << program::changed_settings(results["settings"], program::identity_of(Options()), {"model", "train", "valid", "seed"})
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
  o.take_over(*file);
  lx::SentenceEncoder<T, Dev> model(*file, o.encoder(lx::stored_sentence_options(*file)), o.settings.seed);
  file.reset();
  const auto train = program::read_text_pairs(o.train_file, o, true), valid = program::read_text_pairs(o.valid, o);
  std::vector<lx::TextPairs> tests;  // read before training, so that a bad file is reported early
  for (const auto& test : o.tests) {
    tests.push_back(program::read_text_pairs(test, o));
    if (tests.back().labelled != valid.labelled)
      lx::fail_file(test, "has ", tests.back().labelled ? "labels" : "no labels", ", ", o.valid, " has ", valid.labelled ? "some" : "none");
  }
  program::report_tensors(o.model, model, o.quiet);

  auto run = program::run_of(o, o.settings, o.out, "pairs");
  run.identity = program::identity_of(o);
  const auto done = lx::train_encoder(model, train, valid, o.settings, run);
  if (!done.run.finished) {
    program::say_interrupted(lx::cat("step ", done.run.step), o.out);
    return false;
  }

  Rows rows{{o.valid, done.best}};
  lx::Json results = {{"valid", done.best.json()}, {"test", lx::Json::array()}, {"seed", o.settings.seed}, {"settings", done.settings}};
  results["train"] = {{"file", o.train_file}, {"pairs", done.examples}};
  results["size"] = model.size();
  results["train_loss"] = done.run.loss;
  results["train_runtime"] = done.run.seconds;
  results["train_samples_per_second"] = static_cast<double>(done.run.samples) / done.run.seconds;
  for (const auto& test : tests) {
    rows.emplace_back(test.name, lx::evaluate_encoder(model, test, o.settings.loss, o.settings.eval_batch));
    results["test"].push_back(rows.back().second.json());
  }
  lx::write_file_atomic(o.out + "/README.md", card(o, model.options(), results, rows));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  program::print_table(std::cout, rows);
  return true;
}

const program::Registered<program::TrainCommand<Options, TrainEncoder>> command{
    "train_encoder", program::Group::train, "a sentence encoder (bi-encoder) on pairs of texts",
    "Trains a sentence encoder: pulls the vectors of matching texts together. Losses and models follow sentence-transformers."};

}  // namespace
