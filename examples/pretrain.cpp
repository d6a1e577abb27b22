// SPDX-License-Identifier: MIT
// Pre-trains an encoder on plain text as a masked language model (BERT without next-sentence prediction).
#include <chrono>
#include <filesystem>
#include <iomanip>
#include <numeric>

#include "support/pretrain_card.hpp"
#include "support/training.hpp"

namespace lx = lexformer;
namespace fs = std::filesystem;

namespace {

/// The batches of a run one after the other, from any place on.
struct Reader {
  const lx::TextStream& stream;
  const lx::WordPieceTokenizer& tokenizer;
  lx::Masker masker;
  std::size_t batch_size;
  std::uint64_t seed;
  std::size_t epoch = 0, block = 0, batch = 0;  // of the batch that comes next
  std::optional<lx::TextBlock> loaded = std::nullopt;

  lx::MaskedBatch next() {
    const auto number = static_cast<std::uint32_t>(epoch);
    if (!loaded) {
      loaded = stream.read(block, tokenizer, {.size = batch_size, .seed = seed, .epoch = number});
      if (std::none_of(loaded->documents.begin(), loaded->documents.end(), [&](const auto& d) { return masker.has_candidates(d); }))
        lx::fail("pretrain", loaded->documents.size(),
                 " documents have no word that could be masked: are they of the vocabulary's language?");
    }
    auto out = lx::make_masked_batch(loaded->documents, loaded->batches[batch], masker, seed, number, loaded->first);
    if (++batch < loaded->batches.size()) return out;
    batch = 0;
    loaded.reset();
    if (++block < stream.blocks()) return out;
    block = 0;
    ++epoch;
    return out;
  }
};

/// The loss that is trained: of the masked tokens, and the regularizers of MTH where they have a weight.
template <class T, class Dev>
lx::Var<float, Dev> objective(const lx::MaskedLm<T, Dev>& model, const lx::Mth<T, Dev>& mth, const lx::MaskedBatch& m,
                              const lx::ForwardOptions& forward) {
  const auto y = model(m.batch, m.positions, m.labels, forward, mth.encode(forward));
  return mth.add_to(y.loss, mth.losses(y.encoder, m.batch.offsets, forward));
}

/// Loss, perplexity and accuracy over all masked tokens of some documents, whose masks are always the same, whatever the run's seed; and
/// how alike tokens and heads are in the first of them, without masks.
template <class T, class Dev>
lx::Json measure(const lx::MaskedLm<T, Dev>& model, const std::vector<lx::Encoding>& documents, const lx::Masker& masker,
                 std::size_t batch) {
  const lx::NoGrad no_grad;
  std::vector<std::size_t> order(documents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return documents[a].size() > documents[b].size(); });
  double loss = 0;
  std::size_t right = 0, total = 0;
  for (std::size_t begin = 0; begin < order.size(); begin += batch) {
    const auto m = lx::make_masked_batch(documents, std::span(order).subspan(begin, std::min(batch, order.size() - begin)), masker, 0, 0);
    if (m.positions.empty()) continue;
    const lx::Var<> logits(lx::cast<float>(model.logits(m.batch, m.positions)).value().template to<lx::Cpu>());
    loss += static_cast<double>(m.labels.size()) * static_cast<double>(lx::cross_entropy(logits, std::span(m.labels)).item());
    for (std::size_t i = 0; i < m.labels.size(); ++i) {
      const float* row = logits.value().data() + i * logits.dim(1);
      right += std::max_element(row, row + logits.dim(1)) - row == m.labels[i] ? 1u : 0u;
    }
    total += m.labels.size();
  }
  if (total == 0) lx::fail("pretrain", "no document to measure on has a word that could be masked: are they of the vocabulary's language?");
  const auto count = static_cast<double>(total);
  const auto figures = lx::encoder_figures(model.encoder(), std::span(documents).first(std::min<std::size_t>(documents.size(), 100)));
  return {{"eval_loss", lx::log_number(loss / count)},
          {"eval_perplexity", lx::log_number(std::exp(loss / count))},
          {"eval_accuracy", lx::log_number(static_cast<double>(right) / count)},
          {"eval_token_similarity", lx::log_number(figures.token_similarity)},
          {"eval_head_similarity", lx::log_number(figures.mean_head_similarity())}};
}

std::string shown(const lx::Json& number) {
  return number.is_number() ? lx::cat(std::setprecision(4), number.get<double>()) : number.get<std::string>();
}

/// The model that the run begins with. A run that is resumed takes vocabulary and sizes from its checkpoint.
template <class T, class Dev>
lx::MaskedLm<T, Dev> first_model(const program::PretrainOptions& o, const lx::Json& config, const std::optional<fs::path>& checkpoint) {
  if (checkpoint) return lx::MaskedLm<T, Dev>::load((*checkpoint / "model.lxf").string());
  if (!o.model.empty()) return lx::MaskedLm<T, Dev>::load(o.model, o.seed);
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

/// One run. False if it was interrupted; then it is saved.
template <class T, class Dev>
bool run(program::PretrainOptions o) {
  const std::string model_path = o.out + "/model.lxf", log_path = o.out + "/log.jsonl";
  lx::Json config = lx::Json::object();
  if (!o.model_config.empty()) config = lx::parse_json(lx::read_file(o.model_config), o.model_config);
  if (o.model.empty() && lx::parse_bert_config(config, o.model_config).model_type != "bert")  // before a vocabulary is trained
    lx::fail_file(o.model_config, "'model_type' is ", config["model_type"].dump(), "; masked language models are supported for bert only");

  const auto latest = o.resume ? program::find_checkpoint(o.out) : lx::LatestCheckpoint{};
  auto model = first_model<T, Dev>(o, config, latest.path);
  o.stream.max_length = std::min(o.stream.max_length, model.config().max_position_embeddings);
  if (!o.quiet && !o.model.empty() && !latest.path) program::report_tensors(o.model, model);

  const lx::TextStream train(o.texts, o.stream);
  auto all_documents = o.stream;  // nothing is held out of them: finish()
  all_documents.block = o.eval_documents;
  const auto other = o.valid.empty() ? std::nullopt : std::optional<lx::TextStream>(std::in_place, std::vector{o.valid}, all_documents);
  std::vector<lx::Encoding> valid;
  if (other) {
    valid = other->read(0, model.tokenizer(), {}).documents;
  } else {
    valid = train.read_held_out(o.eval_documents, model.tokenizer());
  }
  if (valid.empty() && (o.stream.held_out > 0 || other))
    lx::fail_usage("--held-out", o.stream.held_out, " of a text of ", train.documents(),
                   " documents leaves none to measure on; lower it, name a file with --valid, or measure nothing with --held-out 0");
  const lx::Masker masker(model.tokenizer(), o.masking);
  const lx::Mth<T, Dev> mth(o.mth, model.config().num_hidden_layers, model.config().num_attention_heads);
  if (!o.quiet)
    std::cerr << train.describe() << ", " << train.dropped() << " too short; " << lx::count(model.parameters()) << " parameters\n";

  // Everything was read: from here on files are written, and with --overwrite those of an earlier run go.
  fs::create_directories(o.out);
  lx::remove_stale(o.out);
  if (!o.resume) lx::keep_last(o.out, 0);

  const std::size_t steps_per_epoch = (train.batches(o.batch) + o.accumulate - 1) / o.accumulate;
  const std::size_t total = o.max_steps > 0 ? o.max_steps : lx::epochs_to_steps(o.epochs, steps_per_epoch);
  const lx::Schedule schedule{o.schedule, o.lr, static_cast<std::size_t>(std::ceil(o.warmup * static_cast<double>(total))), total};
  const lx::Json settings = o.json(train.describe(), other ? other->describe() : "", config);
  const auto parameters = model.parameters();
  lx::AdamW<T, Dev> optimizer(parameters, {.lr = o.lr, .eps = 1e-6, .weight_decay = o.weight_decay, .decay_bias_and_norm = false});

  // Forward and backward of the batches of one step; the mean loss, for which nothing waits here.
  const auto forward_backward = [&](const std::vector<lx::MaskedBatch>& batches, std::size_t step) {
    lx::Var<float, Dev> sum;
    for (std::size_t k = 0; k < batches.size(); ++k) {
      if (batches[k].positions.empty()) continue;  // a few short documents of nothing but long words
      // Each accumulated batch has its own dropout: the high bits of the step's seed say which.
      const lx::ForwardOptions forward{
          .training = true, .seed = o.seed + (static_cast<std::uint64_t>(k) << 32), .step = static_cast<std::uint32_t>(step)};
      const auto loss = lx::scale(objective(model, mth, batches[k], forward), 1.0f / static_cast<float>(batches.size()));
      loss.backward();
      sum = sum.defined() ? lx::add(sum, loss.detach()) : loss.detach();
    }
    return sum.defined() ? sum.value() : lx::Tensor<float, Dev>();
  };

  lx::TrainerState state;
  state.max_steps = total;
  state.num_train_epochs = static_cast<double>(total) / static_cast<double>(steps_per_epoch);
  state.train_batch_size = o.batch;
  state.seed = o.seed;
  state.settings = settings;
  Reader reader{train, model.tokenizer(), masker, o.batch, o.seed};
  lx::Json measured;
  std::size_t measured_step = ~std::size_t{0}, tokens = 0;
  if (o.resume) {
    program::drop_damaged(o.out, latest);
    if (latest.path) {
      state = lx::load_checkpoint(*latest.path, settings, optimizer, [](const std::string&) {});  // first_model() has read the weights
      reader.epoch = state.epoch_index;
      reader.batch = state.batch_index;
      reader.block = state.loop["block"];
      measured = state.loop["measured"];
      measured_step = state.loop["measured_step"];
      tokens = state.loop["tokens"];
      if (o.save_total_limit > 0) lx::keep_last(o.out, o.save_total_limit);
    }
  }
  lx::RunLog log(log_path, state.log_history);
  lx::StepLog<Dev, lx::MaskedBatch> steps(log, [&](const auto& s) { forward_backward(s.batches, s.step - 1); });
  if (state.global_step > 0) steps.resume(state.loop["losses"]);
  std::size_t step = state.global_step, samples = 0;
  lx::Progress progress(std::cerr, {.mode = o.progress,
                                    .is_terminal = isatty(2) != 0,
                                    .first_step = step,
                                    .total_steps = total,
                                    .logging_steps = o.logging_steps,
                                    .samples = "documents"});
  const std::size_t first_step = step;
  const auto start = std::chrono::steady_clock::now();
  const auto epochs = [&] { return static_cast<double>(step) / static_cast<double>(steps_per_epoch); };
  const auto save = [&] {
    steps.look();
    program::check_weights(parameters, log, step, epochs(), schedule(step - 1));
    state.global_step = step;
    state.epoch = epochs();
    state.log_history = log.history();
    state.epoch_index = reader.epoch;
    state.batch_index = reader.batch;
    state.loop = {
        {"block", reader.block}, {"measured", measured}, {"measured_step", measured_step}, {"losses", steps.state()}, {"tokens", tokens}};
    lx::save_checkpoint(
        o.out, state, optimizer, [&](const std::string& path) { model.save(path); }, o.save_total_limit);
  };
  const auto measure_now = [&] {
    steps.look();
    measured_step = step;
    if (valid.empty()) return;
    measured = measure(model, valid, masker, o.eval_batch);
    lx::Json entry = measured;
    entry["step"] = step;
    entry["epoch"] = epochs();
    log.add(entry);
    if (!o.quiet)
      progress.note(lx::cat("step ", step, "  loss ", shown(measured["eval_loss"]), "  accuracy ", shown(measured["eval_accuracy"])));
  };

  while (step < total) {
    std::vector<lx::MaskedBatch> batches;
    std::size_t documents = 0;
    for (const std::size_t epoch = reader.epoch; batches.size() < o.accumulate && reader.epoch == epoch;) {
      batches.push_back(reader.next());
      documents += batches.back().batch.size();
      tokens += batches.back().batch.offsets.tokens();
    }
    const auto loss = forward_backward(batches, step);
    const double lr = schedule(step);
    const auto norm = optimizer.clip_and_step(lr, o.clip, loss);
    ++step;
    samples += documents;
    steps.add({step, epochs(), lr, loss, norm, std::move(batches)});
    if (o.logging_steps > 0 && step % o.logging_steps == 0) steps.write();
    progress.update({.step = step, .samples = documents, .loss = steps.loss(), .lr = lr});
    if (o.eval_steps > 0 && step % o.eval_steps == 0) measure_now();
    const bool interrupted = program::interrupted != 0;
    if (interrupted || (o.save_steps > 0 && step % o.save_steps == 0)) save();
    if (interrupted) {
      program::say_interrupted(progress, lx::cat("step ", step), o.out);
      return false;
    }
  }
  if (measured_step != step) measure_now();
  if (step > state.global_step) save();
  progress.finish();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  model.save(model_path);

  lx::Json results = measured.is_null() ? lx::Json::object() : measured;
  results["epoch"] = epochs();
  results["train_loss"] = steps.total_loss() / static_cast<double>(total);
  results["train_runtime"] = seconds;
  results["train_samples"] = train.documents();
  results["num_input_tokens_seen"] = tokens;
  results["train_samples_per_second"] = static_cast<double>(samples) / seconds;
  results["train_steps_per_second"] = static_cast<double>(step - first_step) / seconds;
  results["eval_samples"] = valid.size();
  results["settings"] = settings;
  if (measured.is_object()) results["perplexity"] = measured["eval_perplexity"];  // what transformers' run_mlm.py calls it
  lx::write_file_atomic(o.out + "/README.md", program::pretrain_card(o, model, lx::count(parameters), results, train.describe()));
  lx::write_file_atomic(o.out + "/all_results.json", results.dump(2) + "\n");
  std::cout << model_path << ": " << step << " steps, train loss " << shown(results["train_loss"]);
  if (measured.is_object())
    std::cout << "; on " << valid.size() << " documents that were not trained on: loss " << shown(measured["eval_loss"]) << ", perplexity "
              << shown(measured["eval_perplexity"]) << ", accuracy " << shown(measured["eval_accuracy"]);
  std::cout << "\n";
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Pre-trains a BERT encoder on plain text as a masked language model. The defaults are those of the DDRP paper, but for its size.",
      "pretrain");
  program::PretrainOptions o;
  o.add_to(app);
  o.command = program::command_line("pretrain", argc, argv);
  return program::run(app, argc, argv, [&] {
    o.finish();
    const lx::FolderLock lock(o.out);
    if (!o.resume && !o.overwrite) program::check_out(o.out);
    program::catch_signals();
    return program::compute_with(o.compute, [&](auto number, auto device) { return run<decltype(number), decltype(device)>(o); }) ? 0 : 130;
  });
}
