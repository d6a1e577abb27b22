// SPDX-License-Identifier: MIT
// The programs train_matcher, also used by programs with custom attention terms (examples/05_attention_term.cpp), and train_text.
#pragma once

#include <lexformer/io/json.hpp>

#include "train/matcher_card.hpp"
#include "train/training.hpp"

namespace program {

/// Only built-in attention terms. A program with custom terms passes a struct with the same member to train_matcher().
struct LibraryTerms {
  template <class T, class Dev>
  lx::TermFactories<T, Dev> factories() const {
    return {};
  }
};

struct RunResult {
  lx::Evaluation valid;
  std::vector<lx::TestResult> tests;
  lx::Json json;

  /// The rows of the table: validation, then the tests.
  std::vector<std::pair<std::string, lx::Evaluation>> rows() const {
    std::vector<std::pair<std::string, lx::Evaluation>> all{{valid.file, valid}};
    for (auto& row : lx::table_rows(tests)) all.push_back(row);
    return all;
  }
};

/// The task for Trainer: batches, their loss, and the evaluation on the validation file.
template <class T, class Dev>
struct MatcherTask {
  const MatcherOptions& o;
  lx::CrossEncoder<T, Dev>& model;
  lx::PairBatches source;
  const std::vector<lx::PairExample>& valid;
  lx::CrossEntropyOptions loss_options;
  std::vector<std::size_t> queries;  // of the training examples, for losses that rank

  std::size_t batches() const { return source.batches(); }
  lx::Batch batch(std::uint32_t epoch, std::size_t number) { return source.batch(epoch, number); }
  /// The number of examples that the loss is a mean over, weighted by class; of pairs of documents, or of queries, when it ranks.
  double weights(const lx::Batch& batch) const {
    if (o.loss == MatcherLoss::margin) return static_cast<double>(rows_of(batch).ordered_pairs(batch.targets).first.size());
    if (o.loss == MatcherLoss::listwise) return static_cast<double>(rows_of(batch).relevant(batch.targets).ranges.size());
    if (loss_options.class_weights.empty()) return static_cast<double>(batch.size());
    double sum = 0;
    for (const auto label : batch.labels) sum += loss_options.class_weights.at(static_cast<std::size_t>(label));
    return sum;
  }
  lx::Var<float, Dev> loss(const lx::Batch& batch, const lx::ForwardOptions& forward) const {
    const auto y = model(batch, forward).logits;
    switch (o.loss) {
      case MatcherLoss::cross_entropy:
        return lx::cross_entropy(y, batch.labels, loss_options);
      case MatcherLoss::squared:
        return lx::mse_loss(y, lx::Var<float, Dev>(lx::Tensor<float, Dev>::from(batch.targets, {batch.size(), 1})));
      case MatcherLoss::binary:
        return lx::binary_cross_entropy(y, std::vector<double>(batch.targets.begin(), batch.targets.end()));
      case MatcherLoss::margin:
        return lx::margin_ranking_by_query(y, rows_of(batch), batch.targets, o.margin);
      case MatcherLoss::listwise:
        return lx::listwise_softmax_by_query(y, rows_of(batch), batch.targets);
    }
    lx::fail("train_matcher", "unknown loss");
  }
  lx::QueryRows rows_of(const lx::Batch& batch) const {
    std::vector<std::size_t> query;
    for (const std::size_t i : batch.index) query.push_back(queries[i]);
    return lx::QueryRows(query);
  }
  bool calibrate(const lx::Batch& batch, const lx::ForwardOptions& forward) { return model.calibrate(batch, forward); }
  lx::Measurement evaluate() {
    auto e = lx::evaluate(model, o.valid, valid, std::nullopt, o.eval_batch);
    if (ranks(o.loss)) e = ranking_evaluation(e, valid);
    model.threshold.reset();
    model.calibration.clear();
    if (e.primary == "f1") {
      model.threshold = e.value("threshold");
      const auto fitted = lx::fit_calibration(lx::CalibrationKind::platt, e.scores, lx::labels_of(valid));
      if (fitted.platt.slope > 0) model.calibration = lx::dump_json(lx::to_json(fitted), o.valid);  // else no score says what matches
    }
    return measurement_of(e);
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) {
    const auto file = lx::ModelFile::open(path);
    model.restore(file);
    model.threshold = file.threshold;
    model.calibration = file.text("lexformer.calibration");
  }
};

/// One run with one seed: trains, keeps the best model, evaluates it. Returns nothing if it was interrupted (and saved).
template <class T, class Dev>
std::optional<RunResult> run_matcher(const MatcherOptions& o, std::uint64_t seed, const std::string& out,
                                     const lx::TextKnowledge& knowledge, const lx::TermFactories<T, Dev>& own) {
  auto options = o.encoder;
  options.seed = seed;
  auto model = lx::CrossEncoder<T, Dev>::load(o.model, options, own);
  if (!o.quiet) report_tensors(o.model, model);
  model.encoder().gradient_checkpointing = o.gradient_checkpointing;
  o.love.apply(model);
  for (const auto& part : o.freeze) model.freeze(part);
  model.threshold.reset();
  model.calibration.clear();
  model.records = stored_records(o.table);
  model.provide(knowledge);

  auto examples = o.training_sample(lx::read_examples(o.train_file, o.table, model.options()), seed);
  if (o.loss == MatcherLoss::binary) check_labels(o.train_file, examples, 1);
  if (ranks(o.loss) || o.negatives > 0) check_labels(o.train_file, examples, std::numeric_limits<float>::max());
  if (o.negatives > 0) examples = lx::with_negatives(std::move(examples), o.negatives, seed);
  const auto valid = lx::read_examples(o.valid, o.table, model.options());
  std::vector<std::vector<lx::PairExample>> tests;  // read before training, so that a bad file is reported early
  for (const auto& file : o.tests) tests.push_back(lx::read_examples(file, o.table, model.options()));
  std::string parses;
  {
    const std::size_t each = options.texts;
    const auto texts = texts_of(examples, each), valid_texts = texts_of(valid, each);
    o.check_columns(texts);
    model.check_texts(texts, o.train_file);
    model.check_texts(valid_texts, o.valid);
    for (std::size_t t = 0; t < tests.size(); ++t) model.check_texts(texts_of(tests[t], each), o.tests[t]);
    model.fit(texts);
    if (knowledge.trees != nullptr)
      parses = lx::cat(lx::describe(*knowledge.trees, texts), "; ", lx::describe(*knowledge.trees, valid_texts));
  }
  const lx::PairDataset train(std::move(examples), model,
                              {.augment = o.augment ? o.augment_probability : 0.0,
                               .typos = o.typos,
                               .labels = options.task == lx::Task::regression ? lx::Labels::numbers : lx::Labels::classes});
  const auto warned = warnings(o, train.examples(), valid);
  for (const lx::Json& warning : warned) std::cerr << "warning: " << warning.get_ref<const std::string&>() << "\n";

  const auto queries = ranks(o.loss) ? lx::query_numbers(train.examples()) : std::vector<std::size_t>();
  lx::CrossEntropyOptions loss_options;
  loss_options.class_weights = o.class_weights_of(train.examples());
  MatcherTask<T, Dev> task{o, model, lx::PairBatches(train, o.batch, o.order, queries), valid, loss_options, queries};
  lx::AdamW<T, Dev> optimizer(model.parameters(), {.lr = o.lr, .weight_decay = o.weight_decay, .decay_bias_and_norm = !o.no_decay_norm});
  if (o.new_lr)
    for (const auto& p : optimizer.parameters())
      if (const auto& added = model.new_tensors(); std::find(added.begin(), added.end(), p.name) != added.end())
        optimizer.set_lr_factor(p.name, *o.new_lr / o.lr);
  auto settings = trainer_options(o, out, seed);
  const std::size_t per_epoch = lx::steps_per_epoch(task.batches(), o.accumulate);
  settings.schedule = schedule_of(o, per_epoch);
  settings.schedule.warmup = o.warmup_epochs ? lx::epochs_to_steps(*o.warmup_epochs, per_epoch)
                                             : std::min(lx::epochs_to_steps(1.5, per_epoch), settings.schedule.total * 3 / 20);
  settings.patience = o.patience;
  settings.progress.samples = lx::examples_name(options.texts);
  settings.settings = o.json(seed, train.examples(), valid);
  if (!parses.empty()) settings.settings["parses"] = parses;
  if (knowledge.wordnet != nullptr)
    settings.settings["wordnet"] = lx::cat(knowledge.wordnet->size(), " synsets, crc32 ", std::hex, knowledge.wordnet->checksum());
  settings.frozen.insert(model.frozen().begin(), model.frozen().end());
  const auto done = lx::Trainer(task, optimizer, settings).run();
  if (!done.finished) {
    say_interrupted(lx::cat("step ", done.step), out);
    return std::nullopt;
  }

  RunResult result{lx::Evaluation::from_json(done.best), {}, {}};
  auto best_model = lx::CrossEncoder<T, Dev>::load(out + "/model.lxf", own);
  best_model.provide(knowledge);
  result.json = {{"valid", result.valid.json()}, {"test", lx::Json::array()}, {"seed", seed}, {"settings", settings.settings}};
  result.json["train"] = {{"file", o.train_file}, {lx::examples_name(options.texts), train.size()}};
  result.json["instructions"] = lx::name_of(lx::instructions());
  result.json["train_runtime"] = done.seconds;
  result.json["train_samples_per_second"] = static_cast<double>(done.samples) / done.seconds;
  if (!warned.empty()) result.json["warnings"] = warned;
  for (std::size_t t = 0; t < tests.size(); ++t) {
    if (interrupted != 0) {
      say_interrupted("the training", out);
      return std::nullopt;
    }
    result.tests.push_back(
        lx::evaluate_with_typos(best_model, o.tests[t], tests[t], best_model.threshold, o.test_typos, o.typos, o.eval_batch));
    if (ranks(o.loss)) result.tests.back() = ranking_result(std::move(result.tests.back()), tests[t]);
    result.json["test"].push_back(result.tests.back().json());
  }
  std::vector<std::pair<std::string, std::size_t>> data{{o.train_file, train.size()}, {o.valid, valid.size()}};
  for (std::size_t t = 0; t < tests.size(); ++t) data.emplace_back(o.tests[t], tests[t].size());
  lx::write_file_atomic(out + "/README.md", model_card(o, settings.settings, result.rows(), data));
  lx::write_file_atomic(out + "/all_results.json", result.json.dump(2) + "\n");
  return result;
}

/// Mean and standard deviation of every number over the runs of several seeds.
inline lx::Json summary(const std::vector<RunResult>& runs, bool deviation) {
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

/// Checks that the output folders have no earlier run.
inline void check_out(const MatcherOptions& o) {
  if (o.resume || o.overwrite) return;
  lx::check_out(o.out);
  for (const auto seed : o.seeds) lx::check_out(lx::cat(o.out, "/seed-", seed));
}

/// The program `program_name`, for examples of so many texts.
template <class Terms>
int train_program(const char* program_name, std::string about, std::size_t texts, int argc, char** argv, const Terms& terms) {
  CLI::App app(std::move(about), program_name);
  MatcherOptions o;
  o.encoder.texts = texts;
  o.add_to(app, terms.template factories<float, lx::Cpu>());
  o.command = command_line(program_name, argc, argv);
  return run(app, argc, argv, [&] {
    o.finish();
    if (texts == 2) o.records.apply(o.table);
    const lx::FolderLock lock(o.out);
    check_out(o);
    catch_signals();
    const auto knowledge = o.load_knowledge();
    std::vector<RunResult> runs;
    std::size_t best = 0;
    for (const auto seed : o.seeds) {
      const std::string out = o.seeds.size() == 1 ? o.out : lx::cat(o.out, "/seed-", seed);
      const auto result = compute_with(o.compute, [&](auto number, auto device) {
        using T = decltype(number);
        using Dev = decltype(device);
        return run_matcher<T, Dev>(o, seed, out, knowledge, terms.template factories<T, Dev>());
      });
      if (!result) return 130;
      runs.push_back(*result);
      if (runs.back().valid.value(result->valid.primary) > runs[best].valid.value(result->valid.primary)) best = runs.size() - 1;
      if (o.seeds.size() > 1) std::cout << "seed " << seed << "\n";
      print_table(std::cout, result->rows());
    }
    if (o.seeds.size() == 1) return 0;

    lx::remove_stale(o.out);
    const std::string best_folder = lx::cat(o.out, "/seed-", o.seeds[best]);
    lx::write_file_atomic(o.out + "/model.lxf", lx::read_file(best_folder + "/model.lxf"));
    lx::Json all = runs[best].json;  // the best run by validation score, with the results of all runs
    all["mean"] = summary(runs, false);
    all["deviation"] = summary(runs, true);
    all["runs"] = lx::Json::array();
    for (const auto& r : runs) all["runs"].push_back(r.json);
    lx::write_file_atomic(o.out + "/all_results.json", all.dump(2) + "\n");
    const auto& metric = runs[0].valid.primary;
    StringWriter lines;
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
    StringWriter card;
    card << lx::read_file(best_folder + "/README.md") << "\n## Other seeds\n\nThis is the best of " << runs.size()
         << " seeds by its validation score. All of them:\n\n```\n"
         << lines.str() << "```\n";
    lx::write_file_atomic(o.out + "/README.md", card.str());
    return 0;
  });
}

template <class Terms = LibraryTerms>
int train_matcher(int argc, char** argv, const Terms& terms = {}) {
  return train_program("train_matcher", "Trains a cross-encoder on labelled text pairs. The defaults are the settings of the LEA paper.", 2,
                       argc, argv, terms);
}

inline int train_text(int argc, char** argv) {
  return train_program(
      "train_text",
      "Trains a classifier, or a regression, on labelled single texts. The defaults are those of train_matcher; for a larger "
      "data set use fewer epochs.",
      1, argc, argv, LibraryTerms());
}

}  // namespace program
