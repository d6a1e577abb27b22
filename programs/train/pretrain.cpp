// SPDX-License-Identifier: MIT
// Pre-trains an encoder on plain text as a masked language model (BERT without next-sentence prediction).
#include <filesystem>
#include <iomanip>
#include <lexformer/io/json.hpp>

#include "train/pretrain_card.hpp"
#include "train/training.hpp"

namespace lx = lexformer;
namespace fs = std::filesystem;

namespace {

/// Loss, perplexity and accuracy over all masked tokens of the documents, with masks that do not depend on the run's seed; and
/// the similarity of tokens and heads in the first documents, without masks.
template <class T, class Dev>
lx::Json measure(const lx::MaskedLm<T, Dev>& model, const std::vector<lx::Encoding>& documents, const lx::Masker& masker,
                 std::size_t batch) {
  const lx::NoGrad no_grad;
  double loss = 0;
  std::size_t right = 0, total = 0;
  for (const auto& rows : lx::batches_by_length(lx::token_counts(documents), batch)) {
    const auto m = lx::make_masked_batch(documents, rows, masker, 0, 0);
    if (m.positions.empty()) continue;
    const lx::Var<> logits(lx::cast<float>(model.logits(m.batch, m.positions)).value().template to<lx::Cpu>());
    loss += static_cast<double>(m.labels.size()) * static_cast<double>(lx::cross_entropy(logits, std::span(m.labels)).item());
    for (std::size_t i = 0; i < m.labels.size(); ++i) {
      const float* row = logits.value().data() + i * logits.dim(1);
      right += std::max_element(row, row + logits.dim(1)) - row == m.labels[i] ? 1u : 0u;
    }
    total += m.labels.size();
  }
  if (total == 0)
    lx::fail("pretrain", "no validation document has a word that can be masked; check that they are in the vocabulary's language");
  const auto count = static_cast<double>(total);
  const auto figures = lx::encoder_figures(model, std::span(documents).first(std::min<std::size_t>(documents.size(), 100)));
  return {{"eval_loss", lx::log_number(loss / count)},
          {"eval_perplexity", lx::log_number(std::exp(loss / count))},
          {"eval_accuracy", lx::log_number(static_cast<double>(right) / count)},
          {"eval_token_similarity", lx::log_number(figures.token_similarity)},
          {"eval_head_similarity", lx::log_number(figures.mean_head_similarity())}};
}

std::string shown(const lx::Json& number) {
  return number.is_number() ? lx::cat(std::setprecision(4), number.get<double>()) : number.get<std::string>();
}

/// The initial model. A resumed run takes vocabulary and sizes from its checkpoint.
template <class T, class Dev>
lx::MaskedLm<T, Dev> first_model(const program::PretrainOptions& o, const lx::Json& config, const std::optional<fs::path>& checkpoint) {
  if (checkpoint) return lx::MaskedLm<T, Dev>::load((*checkpoint / "model.lxf").string());
  if (!o.model.empty()) return lx::MaskedLm<T, Dev>::load(o.model, lx::TrainingStart{.seed = o.seed});
  lx::TokenizerOptions tokenizer;
  tokenizer.lowercase = !o.cased;
  if (!o.vocab.empty()) return lx::MaskedLm<T, Dev>(config, lx::Vocabulary::load_vocab_txt(o.vocab), tokenizer, o.seed);
  lx::WordCounts words;
  std::string line;
  for (const auto& text : o.texts)
    for (lx::LineReader reader(text); reader.next(line);) lx::count_words(line, tokenizer, words);
  if (!o.quiet) std::cerr << "training a vocabulary on " << words.size() << " different words\n";
  return lx::MaskedLm<T, Dev>(config, lx::train_vocabulary(words, tokenizer, {.size = o.vocab_size}), tokenizer, o.seed);
}

/// The task for Trainer: masked documents, their loss, and the evaluation on held-out documents.
template <class T, class Dev>
struct PretrainTask {
  const program::PretrainOptions& o;
  lx::MaskedLm<T, Dev>& model;
  lx::TextBatches source;
  const lx::Masker& masker;
  const lx::Mth<T, Dev>& mth;
  const std::vector<lx::Encoding>& valid;

  std::size_t batches() const { return source.batches(); }
  lx::MaskedBatch batch(std::uint32_t epoch, std::size_t number) { return source.batch(epoch, number); }
  /// The loss of the masked tokens plus the weighted regularizers of MTH, which are means over documents. A batch of a few short
  /// documents with only long words may have no masked token; it does not contribute.
  std::vector<double> weights(const lx::MaskedBatch& m) const {
    const double documents = m.positions.empty() ? 0 : static_cast<double>(m.batch.size());
    std::vector<double> weights{static_cast<double>(m.positions.size())};
    if (o.mth.token_weight != 0) weights.push_back(documents);
    if (o.mth.head_weight != 0) weights.push_back(documents);
    return weights;
  }
  std::vector<lx::Var<float, Dev>> loss(const lx::MaskedBatch& m, const lx::ForwardOptions& forward) const {
    const auto y = model(m.batch, m.positions, m.labels, forward, mth.encode(forward));
    const auto l = mth.losses(y.encoder, m.batch.offsets, forward);
    std::vector<lx::Var<float, Dev>> parts{y.loss};
    if (l.token.defined()) parts.push_back(lx::scale(l.token, static_cast<float>(o.mth.token_weight)));
    if (l.head.defined()) parts.push_back(lx::scale(l.head, static_cast<float>(o.mth.head_weight)));
    return parts;
  }
  bool calibrate(const lx::MaskedBatch& m, const lx::ForwardOptions& forward) { return model.calibrate(m.batch, forward); }
  lx::Measurement evaluate() const {
    lx::Measurement m;
    if (valid.empty()) return m;
    m.log = m.state = measure(model, valid, masker, o.eval_batch);
    m.text = lx::cat("loss ", shown(m.log["eval_loss"]), "  accuracy ", shown(m.log["eval_accuracy"]));
    return m;
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) { model.restore(lx::ModelFile::open(path)); }
};

/// One run. Returns false if it was interrupted (and saved).
struct Pretrain {
  template <class T, class Dev>
  static bool train(program::PretrainOptions o);
};

template <class T, class Dev>
bool Pretrain::train(program::PretrainOptions o) {
  lx::Json config = lx::Json::object();
  if (!o.model_config.empty()) config = lx::parse_json(lx::read_file(o.model_config), o.model_config);
  if (o.model.empty() && !lx::parse_bert_config(config, o.model_config).architecture().masked_lm)  // before a vocabulary is trained
    lx::fail_file(o.model_config, "'model_type' is ", config["model_type"].dump(), "; masked language models are supported for bert only");

  const auto latest =
      o.resume ? lx::find_checkpoint(o.out, [](const std::string& note) { std::cerr << note << "\n"; }) : lx::LatestCheckpoint{};
  auto model = first_model<T, Dev>(o, config, latest.path);
  o.stream.max_length = std::min(o.stream.max_length, model.config().max_position_embeddings);
  if (!o.quiet && !o.model.empty() && !latest.path) program::report_tensors(o.model, model);
  model.encoder().gradient_checkpointing = o.gradient_checkpointing;

  const lx::TextStream train(o.texts, o.stream);
  auto all_documents = o.stream;  // without held-out documents: finish()
  all_documents.block = o.eval_documents;
  const auto other = o.valid.empty() ? std::nullopt : std::optional<lx::TextStream>(std::in_place, std::vector{o.valid}, all_documents);
  const auto valid = other ? other->read(0, model.tokenizer(), {}).documents : train.read_held_out(o.eval_documents, model.tokenizer());
  if (valid.empty() && (o.stream.held_out > 0 || other))
    lx::fail_usage("--held-out", o.stream.held_out, " of a text of ", train.documents(),
                   " documents leaves none for validation; lower it, give a file with --valid, or disable validation with --held-out 0");
  const lx::Masker masker(model.tokenizer(), o.masking);
  const lx::Mth<T, Dev> mth(o.mth, model.config().num_hidden_layers, model.config().num_attention_heads);
  const std::size_t parameters = lx::count(model.parameters());
  if (!o.quiet) std::cerr << train.describe() << ", " << train.dropped() << " too short; " << parameters << " parameters\n";

  PretrainTask<T, Dev> task{o, model, lx::TextBatches(train, model.tokenizer(), masker, o.batch, o.seed), masker, mth, valid};
  lx::AdamW<T, Dev> optimizer(model.parameters(), {.lr = o.lr, .eps = 1e-6, .weight_decay = o.weight_decay, .decay_bias_and_norm = false});
  auto settings = program::trainer_options(o, "documents", task.batches());
  settings.eval_epochs = false;
  settings.settings = o.json(train.describe(), other ? other->describe() : "", config);
  const auto done = lx::Trainer(task, optimizer, settings).run();
  if (!done.finished) {
    program::say_interrupted(lx::cat("step ", done.step), o.out);
    return false;
  }

  const lx::Json& measured = done.measured;
  lx::Json results = program::results_of(done, train.documents(), settings.settings);
  results["num_input_tokens_seen"] = done.tokens;
  results["eval_samples"] = valid.size();
  if (measured.is_object()) results["perplexity"] = measured["eval_perplexity"];  // the name in transformers' run_mlm.py
  lx::write_file_atomic(o.out + "/README.md", program::pretrain_card(o, model, parameters, results, train.describe()));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  std::cout << o.out << "/model.lxf: " << done.step << " steps, train loss " << shown(results["train_loss"]);
  if (measured.is_object())
    std::cout << "; on " << valid.size() << " held-out documents: loss " << shown(measured["eval_loss"]) << ", perplexity "
              << shown(measured["eval_perplexity"]) << ", accuracy " << shown(measured["eval_accuracy"]);
  std::cout << "\n";
  return true;
}

const program::Registered<program::TrainCommand<program::PretrainOptions, Pretrain>> command{
    "pretrain", program::Group::train, "an encoder on plain text as a masked language model, with the regularizers of MTH on request",
    "Pre-trains a BERT encoder on plain text as a masked language model. The defaults are those of the DDRP paper, except the model size."};

}  // namespace
