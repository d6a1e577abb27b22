// SPDX-License-Identifier: MIT
// Pre-trains an encoder on plain text as a masked language model (BERT without next-sentence prediction), or a decoder as a causal one.
#include <filesystem>
#include <iomanip>
#include <lexformer/io/json.hpp>

#include "train/pretrain_card.hpp"
#include "train/training.hpp"

namespace lx = lexformer;
namespace fs = std::filesystem;

namespace {

std::string shown(const lx::Json& number) {
  return number.is_number() ? lx::cat(std::setprecision(4), number.get<double>()) : number.get<std::string>();
}

/// The initial model. A resumed run takes vocabulary and sizes from its checkpoint.
template <class Model>
Model first_model(const program::PretrainOptions& o, const lx::Json& config, const std::optional<fs::path>& checkpoint) {
  if (checkpoint) return Model::load((*checkpoint / "model.lxf").string());
  if (!o.model.empty()) return Model::load(o.model, lx::TrainingStart{.seed = o.settings.seed});
  lx::TokenizerOptions tokenizer;
  tokenizer.lowercase = !o.cased;
  if (!o.vocab.empty()) return Model(config, lx::Vocabulary::load_vocab_txt(o.vocab), tokenizer, o.settings.seed);
  lx::WordCounts words;
  std::string line;
  for (const auto& text : o.texts)
    for (lx::LineReader reader(text); reader.next(line);) lx::count_words(line, tokenizer, words);
  if (!o.quiet) std::cerr << "training a vocabulary on " << words.size() << " different words\n";
  return Model(config, lx::train_vocabulary(words, tokenizer, {.size = o.vocab_size}), tokenizer, o.settings.seed);
}

/// The config of a new model. Errors (file): its family has no model of this objective.
lx::Json model_config(const program::PretrainOptions& o) {
  lx::Json config = lx::Json::object();
  if (!o.model_config.empty()) config = lx::parse_json(lx::read_file(o.model_config), o.model_config);
  if (!o.model.empty()) return config;
  // Before a vocabulary is trained; its size does not matter yet.
  const lx::Json whole = lx::complete_config(config, 1u << 16, {}, o.model_config);
  const auto& family = lx::parse_transformer_config(whole, o.model_config).architecture();
  const bool decoder = !family.causal_lm.empty();
  if (o.causal() ? !decoder : !family.masked_lm)
    lx::fail_file(o.model_config.empty() ? "--model-config" : o.model_config, "'model_type' is ", lx::in_quotes(family.model_type),
                  o.causal() ? "; --objective causal needs a decoder: gpt2 or gpt_neo" : "; its masked language model is not supported",
                  !o.causal() && decoder ? "; give --objective causal" : "");
  return config;
}

/// Trains a model, MaskedLm or CausalLm. Returns false if it was interrupted (and saved).
template <class Model>
bool train_model(program::PretrainOptions o) {
  const lx::Json config = model_config(o);
  const auto latest =
      o.resume ? lx::find_checkpoint(o.out, [](const std::string& note) { std::cerr << note << "\n"; }) : lx::LatestCheckpoint{};
  auto model = first_model<Model>(o, config, latest.path);
  o.stream.max_length = std::min(o.stream.max_length, model.config().max_tokens());
  if (!o.model.empty() && !latest.path) program::report_tensors(o.model, model, o.quiet);

  const lx::TextStream train(o.texts, o.stream);
  auto all_documents = o.stream;  // without held-out documents: finish()
  all_documents.block = o.eval_documents;
  const auto other = o.valid.empty() ? std::nullopt : std::optional<lx::TextStream>(std::in_place, std::vector{o.valid}, all_documents);
  const auto valid = other ? other->read(0, model.tokenizer(), {}).documents : train.read_held_out(o.eval_documents, model.tokenizer());
  if (valid.empty() && (o.stream.held_out > 0 || other))
    lx::fail_usage("--held-out", o.stream.held_out, " of a text of ", train.documents(),
                   " documents leaves none for validation; lower it, give a file with --valid, or disable validation with --held-out 0");
  const std::size_t parameters = lx::count(model.parameters());
  if (!o.quiet) std::cerr << train.describe() << ", " << train.dropped() << " too short; " << parameters << " parameters\n";

  auto run = program::run_of(o, o.settings, o.out, "documents");
  run.identity = o.identity(other ? other->describe() : "", config);
  const auto done = lx::pretrain(model, train, valid, o.settings, run);
  if (!done.run.finished) {
    program::say_interrupted(lx::cat("step ", done.run.step), o.out);
    return false;
  }

  const lx::Json& measured = done.run.measured;
  lx::Json results = program::results_of(done.run, done.examples, done.settings);
  results["num_input_tokens_seen"] = done.run.tokens;
  results["eval_samples"] = valid.size();
  if (measured.is_object()) results["perplexity"] = measured["eval_perplexity"];  // the name in transformers' run_mlm.py and run_clm.py
  lx::write_file_atomic(o.out + "/README.md", program::pretrain_card(o, model, parameters, results, train.describe()));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  std::cout << o.out << "/model.lxf: " << done.run.step << " steps, train loss " << shown(results["train_loss"]);
  if (measured.is_object())
    std::cout << "; on " << valid.size() << " held-out documents: loss " << shown(measured["eval_loss"]) << ", perplexity "
              << shown(measured["eval_perplexity"]) << ", accuracy " << shown(measured["eval_accuracy"]);
  std::cout << "\n";
  return true;
}

struct Pretrain {
  template <class T, class Dev>
  static bool train(const program::PretrainOptions& o) {
    return o.causal() ? train_model<lx::CausalLm<T, Dev>>(o) : train_model<lx::MaskedLm<T, Dev>>(o);
  }
};

const program::Registered<program::TrainCommand<program::PretrainOptions, Pretrain>> command{
    "pretrain", program::Group::train, "an encoder or a decoder on plain text as a language model, with the regularizers of MTH on request",
    "Pre-trains a BERT encoder on plain text as a masked language model, or with --objective causal a GPT decoder. The defaults follow the "
    "DDRP paper, except the model size."};

}  // namespace
