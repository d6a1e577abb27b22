// SPDX-License-Identifier: MIT
// Trains a cross-encoder on labelled pairs: plain, with typos, with lexical attention (LEA).
#include <chrono>
#include <filesystem>

#include "support/matcher_options.hpp"

namespace lx = lexformer;
namespace fs = std::filesystem;

namespace {

struct RunResult {
  program::Evaluation valid;
  std::vector<program::TestResult> tests;
  lx::Json json;
};

/// One run with one seed: train, keep the best model, measure it.
RunResult run(const program::MatcherOptions& o, std::uint64_t seed, const std::string& out) {
  fs::create_directories(out);
  const std::string best_path = out + "/model.lxf";

  auto options = o.encoder;
  options.seed = seed;
  auto model = lx::CrossEncoder<>::load(o.model, options);
  if (!o.quiet) {
    std::cerr << o.model << ": " << model.new_tensors().size() << " new tensors";
    if (!model.new_tensors().empty()) std::cerr << " (" << model.new_tensors().front() << " ...)";
    if (!model.unused_tensors().empty())
      std::cerr << ", " << model.unused_tensors().size() << " not used (" << model.unused_tensors().front() << " ...)";
    std::cerr << "\n";
  }
  for (const auto& part : o.freeze) model.freeze(part);

  const bool regression = options.task == lx::Task::regression;
  const lx::PairDataset train(program::read_examples(o.train_file, o.table, model.options()), model.tokenizer(),
                              {.max_length = model.options().max_length,
                               .lexical = model.lexical_options(),
                               .augment = o.augment ? o.augment_probability : 0.0,
                               .typos = o.typos,
                               .labels = regression ? lx::Labels::numbers : lx::Labels::classes});
  const auto valid = program::read_examples(o.valid, o.table, model.options());
  std::vector<std::vector<lx::PairExample>> tests;  // read now: a bad file shows before the training, not after it
  for (const auto& file : o.tests) tests.push_back(program::read_examples(file, o.table, model.options()));

  const std::size_t batches_per_epoch = (train.size() + o.batch - 1) / o.batch;
  const std::size_t steps_per_epoch = (batches_per_epoch + o.accumulate - 1) / o.accumulate;
  const std::size_t total = o.max_steps > 0 ? o.max_steps : lx::epochs_to_steps(o.epochs, steps_per_epoch);
  const lx::Schedule schedule{lx::parse_schedule_kind(o.schedule), o.lr, lx::epochs_to_steps(o.warmup_epochs, steps_per_epoch), total};
  const auto parameters = model.parameters();
  lx::AdamW<> optimizer(parameters, {.lr = o.lr, .weight_decay = o.weight_decay, .decay_bias_and_norm = !o.no_decay_norm});

  // Forward and backward of the batches of one step; the mean loss.
  const auto forward_backward = [&](const std::vector<lx::Batch>& batches, std::uint32_t step) {
    double sum = 0;
    for (std::size_t k = 0; k < batches.size(); ++k) {
      // Each accumulated batch has its own dropout: the high bits of the step's seed say which.
      const auto y = model(batches[k], {.training = true, .seed = seed + (static_cast<std::uint64_t>(k) << 32), .step = step}).logits;
      auto loss = regression ? lx::mse_loss(y, lx::Var<>(lx::Tensor<>::from(batches[k].targets, {batches[k].size(), 1})))
                             : lx::cross_entropy(y, std::span<const std::int32_t>(batches[k].labels));
      if (batches.size() > 1) loss = lx::scale(loss, 1.0f / static_cast<float>(batches.size()));
      loss.backward();
      sum += static_cast<double>(loss.item());
    }
    return sum;
  };

  lx::Progress progress(
      std::cerr,
      {.mode = lx::parse_progress_mode(o.progress), .is_terminal = isatty(2) != 0, .total_steps = total, .logging_steps = o.logging_steps});
  std::optional<program::Evaluation> best;
  std::size_t since_best = 0, step = 0, samples = 0;
  bool stop = false;
  const auto start = std::chrono::steady_clock::now();
  const auto measure = [&] {
    model.threshold.reset();
    auto e = program::evaluate(model, o.valid, valid, std::nullopt, o.eval_batch);
    const bool better = !best || e.value(e.primary) > best->value(e.primary);
    progress.note(lx::cat("epoch ", static_cast<double>(step) / static_cast<double>(steps_per_epoch), "  ", e.primary, " ",
                          100 * e.value(e.primary), better ? "  (best so far)" : ""));
    since_best = better ? 0 : since_best + 1;
    if (better) {
      if (e.primary == "f1") model.threshold = e.value("threshold");
      model.save(best_path);
      best = e;
    }
    stop = stop || (o.patience > 0 && since_best >= o.patience);
  };

  for (std::uint32_t epoch = 0; step < total && !stop; ++epoch) {
    const auto encodings = train.encode(seed, epoch);
    const auto lengths = lx::token_counts(encodings);
    const auto rows = lx::make_batches(lengths, {.size = o.batch, .seed = seed, .epoch = epoch, .order = lx::parse_batch_order(o.order)});
    for (std::size_t first = 0; first < rows.size() && step < total && !stop; first += o.accumulate) {
      std::vector<lx::Batch> batches;
      std::size_t pairs = 0;
      for (std::size_t k = first; k < std::min(first + o.accumulate, rows.size()); ++k) {
        batches.push_back(train.batch(encodings, rows[k]));
        pairs += rows[k].size();
      }
      const double loss = forward_backward(batches, static_cast<std::uint32_t>(step));
      const double norm = lx::clip_grad_norm(parameters, o.clip), lr = schedule(step);
      if (!std::isfinite(norm)) {
        for (auto p : parameters) p.var.clear_grad();
        const lx::CheckFinite check;  // the step again, now with a look at every op
        forward_backward(batches, static_cast<std::uint32_t>(step));
        lx::fail_numeric(lx::cat("step ", step), "the gradient norm is ", norm,
                         ", but every single gradient is finite; a smaller --lr may help");
      }
      optimizer.step(lr);
      ++step;
      samples += pairs;
      progress.update({.step = step, .samples = pairs, .loss = loss, .lr = lr});
      if (o.eval_steps > 0 && step % o.eval_steps == 0) measure();
    }
    if (o.eval_steps == 0 && !stop) measure();
  }
  if (!best) measure();
  progress.finish();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  RunResult result{*best, {}, {}};
  const auto best_model = lx::CrossEncoder<>::load(best_path);
  result.json = {{"valid", best->json()}, {"test", lx::Json::array()}, {"seed", seed}, {"settings", o.json(seed)}};
  result.json["train_runtime"] = seconds;
  result.json["train_samples_per_second"] = static_cast<double>(samples) / seconds;
  for (std::size_t t = 0; t < tests.size(); ++t) {
    result.tests.push_back(
        program::evaluate_with_typos(best_model, o.tests[t], tests[t], best_model.threshold, o.test_typos, o.typos, o.eval_batch));
    result.json["test"].push_back(result.tests.back().json());
  }
  lx::write_file_atomic(out + "/all_results.json", result.json.dump(2) + "\n");
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains a cross-encoder on labelled pairs of texts. The defaults are the settings of the LEA paper.", "train_matcher");
  program::MatcherOptions o;
  o.add_to(app);
  return program::run(app, argc, argv, [&] {
    o.finish();
    const auto result = run(o, o.seeds[0], o.out);
    std::vector<std::pair<std::string, program::Evaluation>> rows{{o.valid, result.valid}};
    for (auto& row : program::table_rows(result.tests)) rows.push_back(row);
    program::print_table(std::cout, rows);
    return 0;
  });
}
