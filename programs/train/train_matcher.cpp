// SPDX-License-Identifier: MIT
// Trains a cross-encoder on labelled pairs: plain, with typos, with lexical attention (LEA); train_text: a model of single texts. The loop
// is lexformer/train/trainer.hpp.
#include "train/matcher_program.hpp"

namespace lx = lexformer;

namespace {

using program::MatcherOptions;
using program::RunResult;

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

/// Checks that the output folders have no earlier run.
void check_out(const MatcherOptions& o) {
  if (o.resume || o.overwrite) return;
  lx::check_out(o.out);
  for (const auto seed : o.seeds) lx::check_out(lx::cat(o.out, "/seed-", seed));
}

/// A summary of several runs, as lines of text: the mean and the standard deviation of the main metric.
std::string summary_lines(const MatcherOptions& o, const std::vector<RunResult>& runs, const lx::Json& all) {
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
  return lines.str();
}

/// Writes the model and the results of several runs. best: the number of the best one by its validation score.
void write_runs(const MatcherOptions& o, const std::vector<RunResult>& runs, std::size_t best) {
  lx::remove_stale(o.out);
  const std::string best_folder = lx::cat(o.out, "/seed-", o.seeds[best]);
  lx::write_file_atomic(o.out + "/model.lxf", lx::read_file(best_folder + "/model.lxf"));
  lx::Json all = runs[best].json;
  all["mean"] = summary(runs, false);
  all["deviation"] = summary(runs, true);
  all["runs"] = lx::Json::array();
  for (const auto& r : runs) all["runs"].push_back(r.json);
  lx::write_file_atomic(o.out + "/all_results.json", all.dump(2) + "\n");
  const std::string lines = summary_lines(o, runs, all);
  std::cout << lines;
  lx::write_file_atomic(o.out + "/README.md",
                        lx::cat(lx::read_file(best_folder + "/README.md"), "\n## Other seeds\n\nThis is the best of ", runs.size(),
                                " seeds by its validation score. All of them:\n\n```\n", lines, "```\n"));
}

/// texts: of an example.
template <std::size_t texts>
class TrainMatcher final : public program::Command {
 public:
  TrainMatcher() { o_.encoder.task.texts = texts; }
  void visit(program::OptionVisitor& v) override {
    o_.visit(v);
    visit_threads(v);
  }
  int run() override {
    o_.command = command_line;
    o_.finish(*parsed);
    if (texts == 2) o_.records.apply(o_.table, o_.start.metadata, o_.model);
    if (!o_.quiet && !o_.start.kept.empty()) std::cerr << o_.model << ": kept are " << lx::join(o_.start.kept) << "\n";
    if (!o_.quiet && !o_.start.note.empty()) std::cerr << "note: " << o_.start.note << "\n";
    if (!o_.start.warning.empty()) std::cerr << "warning: " << o_.start.warning << "\n";
    const lx::FolderLock lock(o_.out);
    check_out(o_);
    program::catch_signals();
    const auto knowledge = o_.load_knowledge();
    std::vector<RunResult> runs;
    std::size_t best = 0;
    for (const auto seed : o_.seeds) {
      const std::string out = o_.seeds.size() == 1 ? o_.out : lx::cat(o_.out, "/seed-", seed);
      const auto result = lx::with_compute(o_.compute, [&](auto number, auto device) {
        return program::run_matcher<decltype(number), decltype(device)>(o_, seed, out, knowledge);
      });
      if (!result) return 130;
      runs.push_back(*result);
      if (runs.back().valid.value(result->valid.primary) > runs[best].valid.value(result->valid.primary)) best = runs.size() - 1;
      if (o_.seeds.size() > 1) std::cout << "seed " << seed << "\n";
      program::print_table(std::cout, result->rows());
    }
    if (o_.seeds.size() > 1) write_runs(o_, runs, best);
    return 0;
  }

 private:
  MatcherOptions o_;
};

const program::Registered<TrainMatcher<2>> train_matcher{
    "train_matcher", program::Group::train,
    "a cross-encoder on labelled pairs of texts: plain, with typos, LEA, DAFA or other attention terms",
    "Trains a cross-encoder on labelled text pairs. The defaults are the settings of the LEA paper."};
const program::Registered<TrainMatcher<1>> train_text{
    "train_text", program::Group::train, "the same for single texts: classes or numbers",
    "Trains a classifier, or a regression, on labelled single texts. The defaults are as in train_matcher; for a larger data set use "
    "fewer epochs."};

}  // namespace
