// SPDX-License-Identifier: MIT
// Compares models on the same test pairs: means and standard deviations over seeds, and bootstrap intervals of the differences.
#include <iomanip>
#include <lexformer/io/json.hpp>

#include "support/evaluation.hpp"

namespace lx = lexformer;

namespace {

/// The scores of one model on one version of a test file, clean or with typos.
struct Scores {
  std::vector<double> scores;
  double threshold = 0.5;

  /// Of these rows: F1 at argmax, F1 at the stored threshold, average precision; in percent.
  std::vector<double> metrics(const std::vector<std::int32_t>& all_labels, std::span<const std::size_t> rows) const {
    std::vector<double> values;
    std::vector<std::int32_t> labels;
    for (const std::size_t row : rows) {
      values.push_back(scores[row]);
      labels.push_back(all_labels[row]);
    }
    return {100 * lx::count_binary(values, labels, 0.5).f1(), 100 * lx::count_binary(values, labels, threshold).f1(),
            100 * lx::average_precision(values, labels)};
  }
};
constexpr std::array metric_names{"F1 at argmax", "F1 at the stored threshold", "average precision"};

/// All runs of one system on one test file.
struct System {
  std::string name;
  std::vector<Scores> clean, typos;  // clean: one for each run; typos: one for each run and copy

  const std::vector<Scores>& on(bool noisy) const { return noisy ? typos : clean; }
  std::vector<double> mean_metrics(bool noisy, const std::vector<std::int32_t>& labels, std::span<const std::size_t> rows) const {
    std::vector<double> sum(metric_names.size());
    for (const Scores& s : on(noisy)) {
      const auto values = s.metrics(labels, rows);
      for (std::size_t m = 0; m < sum.size(); ++m) sum[m] += values[m] / static_cast<double>(on(noisy).size());
    }
    return sum;
  }
};

/// One test file with the results of all systems.
struct TestFile {
  std::string name;
  std::vector<std::int32_t> labels;
  std::vector<System> systems;
};

/// Reads the output of `evaluate --scores` and adds it to the systems of the same name.
void add_result(std::vector<TestFile>& tests, const std::string& argument) {
  const auto equals = argument.find('=');
  if (equals == argument.npos || equals == 0) lx::fail_usage("--result", "'", argument, "' is not of the form NAME=FILE");
  const std::string name = argument.substr(0, equals), path = argument.substr(equals + 1);
  const lx::Json json = lx::parse_json(lx::read_file(path), path);
  try {
    const lx::Json& entries = json.at("test");
    if (!entries.is_array() || entries.empty()) lx::fail_file(path, "has no results of a test file");
    if (!tests.empty() && entries.size() != tests.size())
      lx::fail_file(path, "has results of ", entries.size(), " test files, those before have ", tests.size());
    tests.resize(entries.size());
    for (std::size_t t = 0; t < tests.size(); ++t) {
      const lx::Json& entry = entries.at(t);
      auto& test = tests[t];
      for (const lx::Json& label : entry.at("labels"))
        if (label != 0 && label != 1)
          lx::fail_file(path, "has the label ", lx::in_quotes(label.dump()), "; models with two classes are compared");
      const auto labels = entry.at("labels").get<std::vector<std::int32_t>>();
      if (test.systems.empty()) {
        test.labels = labels;
        test.name = lx::one_line(entry.at("file").get<std::string>());
      }
      if (labels != test.labels) lx::fail_file(path, "was measured on other pairs than the results before it");
      auto system = std::find_if(test.systems.begin(), test.systems.end(), [&](const System& s) { return s.name == name; });
      if (system == test.systems.end()) system = test.systems.insert(test.systems.end(), System{name, {}, {}});
      const auto read = [&](const lx::Json& from) {
        Scores s{from.at("scores"), from.at("threshold")};
        if (s.scores.size() != labels.size()) lx::fail_file(path, s.scores.size(), " scores for ", labels.size(), " pairs");
        return s;
      };
      system->clean.push_back(read(entry));
      if (entry.contains("typos"))
        for (const lx::Json& copy : entry.at("typos")) system->typos.push_back(read(copy));
    }
  } catch (const lx::Json::exception& e) {
    lx::fail_file(path, "is not what `evaluate --scores --output` writes for a model with two classes: ", e.what());
  }
}

/// Prints one Markdown table of all systems for each metric; returns the numbers as JSON.
lx::Json compare(const TestFile& test, std::size_t baseline, const lx::BootstrapOptions& options) {
  lx::Json json = {{"file", test.name}, {"pairs", test.labels.size()}, {"systems", lx::Json::array()}};
  std::vector<std::size_t> all(test.labels.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<program::StringWriter> tables(metric_names.size());
  const System& base = test.systems[baseline];
  for (const System& s : test.systems) {
    lx::Json entry = {{"name", s.name}, {"runs", s.clean.size()}};
    for (auto& table : tables) table << std::fixed << std::setprecision(1) << "| " << s.name << " | " << s.clean.size() << " |";
    for (const bool noisy : {false, true}) {
      std::vector<std::vector<double>> runs;
      for (const Scores& scores : s.on(noisy)) runs.push_back(scores.metrics(test.labels, all));
      const auto differences_on = [&](std::span<const std::size_t> rows) {
        auto differences = s.mean_metrics(noisy, test.labels, rows);
        const auto other = base.mean_metrics(noisy, test.labels, rows);
        for (std::size_t m = 0; m < differences.size(); ++m) differences[m] -= other[m];
        return differences;
      };
      std::vector<double> differences;
      std::vector<lx::Interval> intervals;
      if (&s != &base && !runs.empty() && !base.on(noisy).empty()) {
        differences = differences_on(all);
        intervals = lx::bootstrap_intervals(all.size(), options, differences_on);
      }
      for (std::size_t m = 0; m < tables.size(); ++m) {
        auto& table = tables[m];
        if (runs.empty()) {
          table << "  |  |";
          continue;
        }
        std::vector<double> values;
        for (const auto& run : runs) values.push_back(run[m]);
        const auto [mean, deviation] = lx::mean_and_deviation(values);
        table << " " << mean;
        if (values.size() > 1) table << " ± " << deviation;
        table << " |";
        lx::Json figures = {{"mean", mean}, {"deviation", deviation}, {"values", values}};
        if (!differences.empty()) {
          const auto [low, high] = intervals[m];
          table << " " << std::showpos << differences[m] << " [" << low << ", " << high << "]" << std::noshowpos;
          figures["difference"] = {{"mean", differences[m]}, {"low", low}, {"high", high}};
        }
        table << " |";
        entry[metric_names[m]][noisy ? "typos" : "clean"] = figures;
      }
    }
    for (auto& table : tables) table << "\n";
    json["systems"].push_back(entry);
  }
  for (std::size_t m = 0; m < tables.size(); ++m)
    std::cout << "\n"
              << test.name << ", " << test.labels.size() << " pairs: " << metric_names[m] << ", %\n\n"
              << "| | runs | clean | against " << base.name << " | typos | against " << base.name
              << " |\n| --- | --- | --- | --- | --- | --- |\n"
              << tables[m].str();
  return json;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Compares models with two classes on the same test pairs, from the files of `evaluate --scores --output`. Prints Markdown tables: "
      "mean and standard deviation over runs (with typos: over runs and copies), and the difference to one of the systems with an interval "
      "of the paired bootstrap over the test pairs.",
      "compare");
  std::vector<std::string> results;
  std::string baseline, output;
  lx::BootstrapOptions options;
  app.add_option("--result", results, "results of a run; runs of one system (several seeds) have the same NAME")
      ->required()
      ->type_name("NAME=F.json");
  app.add_option("--baseline", baseline, "NAME of the system to compare with (default: the first)")->type_name("NAME");
  app.add_option("--resamples", options.resamples, "number of bootstrap samples")->check(program::positive())->capture_default_str();
  app.add_option("--level", options.level, "confidence level")->check(CLI::Range(0.5, 0.999))->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the bootstrap")->capture_default_str();
  app.add_option("--output", output, "also write the results as JSON")->type_name("F.json");
  program::add_threads(app);
  return program::run(app, argc, argv, [&] {
    for (const auto& result : results) program::keep_inputs("--output", output, {result.substr(result.find('=') + 1)});
    std::vector<TestFile> tests;
    for (const auto& result : results) add_result(tests, result);
    lx::Json json = lx::Json::array();
    for (const auto& test : tests) {
      std::size_t base = 0;
      while (!baseline.empty() && base < test.systems.size() && test.systems[base].name != baseline) ++base;
      if (base == test.systems.size()) lx::fail_usage("--baseline", "no --result is called '", baseline, "'");
      json.push_back(compare(test, base, options));
    }
    if (!output.empty()) lx::write_file_atomic(output, lx::Json{{"test", json}}.dump(2) + "\n");
    return 0;
  });
}
