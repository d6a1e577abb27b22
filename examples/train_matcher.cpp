// SPDX-License-Identifier: MIT
// Trains a cross-encoder on labelled pairs: plain, with typos, with lexical attention (LEA).
#include <chrono>
#include <filesystem>

#include "support/matcher_card.hpp"
#include "support/training.hpp"

namespace lx = lexformer;
namespace fs = std::filesystem;

namespace {

struct RunResult {
  program::Evaluation valid;
  std::vector<program::TestResult> tests;
  lx::Json json;

  /// Of the table: validation, then the tests.
  std::vector<std::pair<std::string, program::Evaluation>> rows() const {
    std::vector<std::pair<std::string, program::Evaluation>> all{{valid.file, valid}};
    for (auto& row : program::table_rows(tests)) all.push_back(row);
    return all;
  }
};

/// One run with one seed: train, keep the best model, measure it. Nothing if it was interrupted; then it is saved.
template <class T, class Dev>
std::optional<RunResult> run(const program::MatcherOptions& o, std::uint64_t seed, const std::string& out) {
  const std::string best_path = out + "/model.lxf", log_path = out + "/log.jsonl";
  auto options = o.encoder;
  options.seed = seed;
  auto model = lx::CrossEncoder<T, Dev>::load(o.model, options);
  if (!o.quiet) program::report_tensors(o.model, model);
  for (const auto& part : o.freeze) model.freeze(part);

  const bool regression = options.task == lx::Task::regression;
  const lx::PairDataset train(program::read_examples(o.train_file, o.table, model.options()), model.tokenizer(),
                              {.max_length = model.options().max_length,
                               .features = model.features(),
                               .augment = o.augment ? o.augment_probability : 0.0,
                               .typos = o.typos,
                               .seed = seed,
                               .labels = regression ? lx::Labels::numbers : lx::Labels::classes});
  const auto valid = program::read_examples(o.valid, o.table, model.options());
  std::vector<std::vector<lx::PairExample>> tests;  // read now: a bad file shows before the training, not after it
  for (const auto& file : o.tests) tests.push_back(program::read_examples(file, o.table, model.options()));

  // Everything was read: from here on files are written, and with --overwrite those of an earlier run go.
  fs::create_directories(out);
  lx::remove_stale(out);
  if (!o.resume) lx::keep_last(out, 0);

  const std::size_t batches_per_epoch = (train.size() + o.batch - 1) / o.batch;
  const std::size_t steps_per_epoch = (batches_per_epoch + o.accumulate - 1) / o.accumulate;
  const std::size_t total = o.max_steps > 0 ? o.max_steps : lx::epochs_to_steps(o.epochs, steps_per_epoch);
  const std::size_t warmup = o.warmup_epochs ? lx::epochs_to_steps(*o.warmup_epochs, steps_per_epoch)
                                             : std::min(lx::epochs_to_steps(1.5, steps_per_epoch), total * 3 / 20);
  const lx::Schedule schedule{o.schedule, o.lr, warmup, total};
  const lx::Json settings = o.json(seed, train.examples(), valid);
  const auto parameters = model.parameters();
  lx::AdamW<T, Dev> optimizer(parameters, {.lr = o.lr, .weight_decay = o.weight_decay, .decay_bias_and_norm = !o.no_decay_norm});

  // Forward and backward of the batches of one step; the mean loss, for which nothing waits here.
  const auto forward_backward = [&](const std::vector<lx::Batch>& batches, std::uint32_t step) {
    lx::Var<float, Dev> sum;
    for (std::size_t k = 0; k < batches.size(); ++k) {
      // Each accumulated batch has its own dropout: the high bits of the step's seed say which.
      const auto y = model(batches[k], {.training = true, .seed = seed + (static_cast<std::uint64_t>(k) << 32), .step = step}).logits;
      auto loss = regression
                      ? lx::mse_loss(y, lx::Var<float, Dev>(lx::Tensor<float, Dev>::from(batches[k].targets, {batches[k].size(), 1})))
                      : lx::cross_entropy(y, std::span<const std::int32_t>(batches[k].labels));
      if (batches.size() > 1) loss = lx::scale(loss, 1.0f / static_cast<float>(batches.size()));
      loss.backward();
      sum = sum.defined() ? lx::add(sum, loss.detach()) : loss.detach();
    }
    return sum.value();
  };

  lx::TrainerState state;
  state.max_steps = total;
  state.num_train_epochs = static_cast<double>(total) / static_cast<double>(steps_per_epoch);
  state.train_batch_size = o.batch;
  state.seed = seed;
  state.settings = settings;
  std::optional<program::Evaluation> best;
  std::size_t since_best = 0, measured_step = ~std::size_t{0};
  if (o.resume) {
    const auto latest = program::find_checkpoint(out);
    program::drop_damaged(out, latest);
    if (latest.path) {
      state = lx::load_checkpoint(*latest.path, settings, optimizer, [&](const std::string& path) {
        auto all = model.state();
        lx::load_parameters(all, lx::TensorFile::read(path), path);
      });
      since_best = state.loop["since_best"];
      measured_step = state.loop["measured_step"];
      if (!state.loop["best"].is_null()) {
        best = program::Evaluation::from_json(state.loop["best"]);
        if (!fs::exists(best_path)) lx::fail_file(best_path, "the best model of the run to resume is gone; begin anew with --overwrite");
      }
      // The run may have ended between its last save and the deletion of what that made one too many.
      if (o.save_total_limit > 0) lx::keep_last(out, o.save_total_limit);
    }
  }
  lx::RunLog log(log_path, state.log_history);
  lx::StepLog<Dev, lx::Batch> steps(log, [&](const auto& s) { forward_backward(s.batches, static_cast<std::uint32_t>(s.step - 1)); });
  if (state.global_step > 0) steps.resume(state.loop["losses"]);
  std::size_t step = state.global_step, samples = 0;
  bool stop = o.patience > 0 && since_best >= o.patience;
  lx::Progress progress(
      std::cerr,
      {.mode = o.progress, .is_terminal = isatty(2) != 0, .first_step = step, .total_steps = total, .logging_steps = o.logging_steps});
  const auto epochs = [&] { return static_cast<double>(step) / static_cast<double>(steps_per_epoch); };
  const auto start = std::chrono::steady_clock::now();

  const auto check_weights = [&] {
    steps.look();
    program::check_weights(parameters, log, step, epochs(), schedule(step - 1));
  };
  const auto save = [&] {
    check_weights();
    state.global_step = step;
    state.epoch = epochs();
    state.log_history = log.history();
    if (best) state.best_metric = best->value(best->primary);
    state.best_model_checkpoint = best ? "model.lxf" : "";
    state.loop = {{"best", best ? best->state() : lx::Json()},
                  {"since_best", since_best},
                  {"measured_step", measured_step},
                  {"losses", steps.state()}};
    lx::save_checkpoint(
        out, state, optimizer, [&](const std::string& path) { model.save(path); }, o.save_total_limit);
  };
  const auto measure = [&] {
    check_weights();
    measured_step = step;
    model.threshold.reset();
    const auto e = program::evaluate(model, o.valid, valid, std::nullopt, o.eval_batch);
    const bool better = !best || e.value(e.primary) > best->value(e.primary);
    lx::Json entry = {{"step", step}, {"epoch", epochs()}};
    for (const auto& [key, number] : e.metrics) entry["eval_" + key] = lx::log_number(number);
    log.add(entry);
    if (!o.quiet)
      progress.note(lx::cat("epoch ", std::setprecision(3), epochs(), "  ", e.primary, " ", 100 * e.value(e.primary),
                            better ? "  (best so far)" : ""));
    since_best = better ? 0 : since_best + 1;
    if (better) {
      if (e.primary == "f1") model.threshold = e.value("threshold");
      model.save(best_path);
      best = e;
    }
    stop = o.patience > 0 && since_best >= o.patience;
  };

  while (step < total && !stop) {
    const auto epoch = static_cast<std::uint32_t>(state.epoch_index);
    const auto encodings = train.encode(epoch);
    const auto rows = lx::plan_batches(lx::token_counts(encodings), {.size = o.batch, .seed = seed, .epoch = epoch, .order = o.order});
    while (state.batch_index < rows.size() && step < total && !stop) {
      std::vector<lx::Batch> batches;
      std::size_t pairs = 0;
      for (; batches.size() < o.accumulate && state.batch_index < rows.size(); ++state.batch_index) {
        batches.push_back(train.batch(encodings, rows[state.batch_index]));
        pairs += batches.back().size();
      }
      const auto loss = forward_backward(batches, static_cast<std::uint32_t>(step));
      const double lr = schedule(step);
      const auto norm = optimizer.clip_and_step(lr, o.clip, loss);
      ++step;
      samples += pairs;
      steps.add({step, epochs(), lr, loss, norm, std::move(batches)});
      if (o.logging_steps > 0 && step % o.logging_steps == 0) steps.write();
      progress.update({.step = step, .samples = pairs, .loss = steps.loss(), .lr = lr});
      const bool end_of_epoch = state.batch_index == rows.size();
      if (o.eval_steps > 0 ? step % o.eval_steps == 0 : end_of_epoch) measure();
      const bool interrupted = program::interrupted != 0;
      if (interrupted || (o.save_steps > 0 && step % o.save_steps == 0)) save();
      if (interrupted) {
        program::say_interrupted(progress, lx::cat("step ", step), out);
        return std::nullopt;
      }
    }
    if (state.batch_index == rows.size()) {
      ++state.epoch_index;
      state.batch_index = 0;
    }
  }
  if (measured_step != step) measure();
  if (step > state.global_step) save();  // a finished run that is resumed measures its tests again, and trains nothing
  progress.finish();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  RunResult result{*best, {}, {}};
  const auto best_model = lx::CrossEncoder<T, Dev>::load(best_path);
  result.json = {{"valid", best->json()}, {"test", lx::Json::array()}, {"seed", seed}, {"settings", settings}};
  result.json["train"] = {{"file", o.train_file}, {"pairs", train.size()}};
  result.json["train_runtime"] = seconds;
  result.json["train_samples_per_second"] = static_cast<double>(samples) / seconds;
  for (std::size_t t = 0; t < tests.size(); ++t) {
    if (program::interrupted != 0) {
      program::say_interrupted(progress, "the training", out);
      return std::nullopt;
    }
    result.tests.push_back(
        program::evaluate_with_typos(best_model, o.tests[t], tests[t], best_model.threshold, o.test_typos, o.typos, o.eval_batch));
    result.json["test"].push_back(result.tests.back().json());
  }
  std::vector<std::pair<std::string, std::size_t>> data{{o.train_file, train.size()}, {o.valid, valid.size()}};
  for (std::size_t t = 0; t < tests.size(); ++t) data.emplace_back(o.tests[t], tests[t].size());
  lx::write_file_atomic(out + "/README.md", program::model_card(o, settings, result.rows(), data));
  lx::write_file_atomic(out + "/all_results.json", result.json.dump(2) + "\n");
  return result;
}

/// Mean and standard deviation of every number over the runs of several seeds.
lx::Json summary(const std::vector<RunResult>& runs, bool deviation) {
  const auto over_runs = [&](const std::function<double(const RunResult&)>& f) {
    std::vector<double> values;
    for (const auto& r : runs) values.push_back(f(r));
    const auto m = lx::mean_and_deviation(values);
    return deviation ? m.deviation : m.mean;
  };
  lx::Json out = {{"valid", lx::Json::object()}, {"test", lx::Json::array()}};
  std::vector<std::string> keys;
  for (const auto& metric : runs[0].valid.metrics) keys.push_back(metric.first);
  for (const auto& key : keys) out["valid"][key] = over_runs([&](const auto& r) { return r.valid.value(key); });
  for (std::size_t t = 0; t < runs[0].tests.size(); ++t) {
    lx::Json test = {{"file", runs[0].tests[t].clean.file}};
    for (const auto& key : keys) {
      test[key] = over_runs([&](const auto& r) { return r.tests[t].clean.value(key); });
      if (!runs[0].tests[t].typos.empty()) test["typos_mean"][key] = over_runs([&](const auto& r) { return r.tests[t].typo_mean(key); });
    }
    out["test"].push_back(test);
  }
  return out;
}

/// The folders that the run writes into hold nothing of an earlier one.
void check_out(const program::MatcherOptions& o) {
  if (o.resume || o.overwrite) return;
  program::check_out(o.out);
  for (const auto seed : o.seeds) program::check_out(lx::cat(o.out, "/seed-", seed));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains a cross-encoder on labelled pairs of texts. The defaults are the settings of the LEA paper.", "train_matcher");
  program::MatcherOptions o;
  o.add_to(app);
  o.command = program::command_line("train_matcher", argc, argv);
  return program::run(app, argc, argv, [&] {
    o.finish();
    const lx::FolderLock lock(o.out);
    check_out(o);
    program::catch_signals();
    std::vector<RunResult> runs;
    std::size_t best = 0;
    for (const auto seed : o.seeds) {
      const std::string out = o.seeds.size() == 1 ? o.out : lx::cat(o.out, "/seed-", seed);
      const auto result =
          program::compute_with(o.compute, [&](auto number, auto device) { return run<decltype(number), decltype(device)>(o, seed, out); });
      if (!result) return 130;
      runs.push_back(*result);
      if (runs.back().valid.value(result->valid.primary) > runs[best].valid.value(result->valid.primary)) best = runs.size() - 1;
      if (o.seeds.size() > 1) std::cout << "seed " << seed << "\n";
      program::print_table(std::cout, result->rows());
    }
    if (o.seeds.size() == 1) return 0;

    lx::remove_stale(o.out);
    const std::string best_folder = lx::cat(o.out, "/seed-", o.seeds[best]);
    lx::write_file_atomic(o.out + "/model.lxf", lx::read_file(best_folder + "/model.lxf"));
    lx::Json all = runs[best].json;  // the best run by its validation score; what all runs gave stands beside it
    all["mean"] = summary(runs, false);
    all["deviation"] = summary(runs, true);
    all["runs"] = lx::Json::array();
    for (const auto& r : runs) all["runs"].push_back(r.json);
    lx::write_file_atomic(o.out + "/all_results.json", all.dump(2) + "\n");
    const auto& metric = runs[0].valid.primary;
    program::StringWriter lines;
    const auto line = [&](const std::string& name, const lx::Json& mean, const lx::Json& deviation) {
      lines << std::left << std::setw(60) << name << std::fixed << std::setprecision(1) << 100 * mean[metric].get<double>() << " +- "
            << 100 * deviation[metric].get<double>() << "\n";
    };
    lines << metric << ", mean and standard deviation of " << runs.size() << " seeds\n";
    line(o.valid, all["mean"]["valid"], all["deviation"]["valid"]);
    for (std::size_t t = 0; t < runs[0].tests.size(); ++t) {
      const lx::Json &mean = all["mean"]["test"][t], &deviation = all["deviation"]["test"][t];
      line(mean["file"], mean, deviation);
      if (mean.contains("typos_mean")) line("  with typos", mean["typos_mean"], deviation["typos_mean"]);
    }
    std::cout << lines.str();
    program::StringWriter card;
    card << lx::read_file(best_folder + "/README.md") << "\n## Other seeds\n\nThis is the best of " << runs.size()
         << " seeds by its validation score. All of them:\n\n```\n"
         << lines.str() << "```\n";
    lx::write_file_atomic(o.out + "/README.md", card.str());
    return 0;
  });
}
