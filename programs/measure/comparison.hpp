// SPDX-License-Identifier: MIT
// The results of several systems on the same test pairs, as `evaluate --scores --output` writes them.
#pragma once

#include <lexformer/io/json.hpp>
#include <optional>

#include "cli/program.hpp"

namespace program {

/// The scores of one run on one version of a test file, clean or with typos.
struct Scores {
  std::vector<double> scores;  // two classes: probability of class 1; more classes: the predicted class; regression: the value
  double threshold = 0.5;
};

/// One number, in percent, of scores and labels of the same pairs.
struct Metric {
  std::string name;
  double (*of)(std::span<const double> scores, std::span<const double> labels, double threshold);
};

namespace detail {

inline std::vector<std::int32_t> as_classes(std::span<const double> values) {
  std::vector<std::int32_t> classes;
  for (const double v : values) classes.push_back(static_cast<std::int32_t>(v));
  return classes;
}
inline lx::BinaryCounts counts(std::span<const double> scores, std::span<const double> labels, double threshold) {
  return lx::count_binary(scores, as_classes(labels), threshold);
}
inline lx::ConfusionMatrix confusion(std::span<const double> predictions, std::span<const double> labels) {
  const auto predicted = as_classes(predictions), expected = as_classes(labels);
  const auto last = std::max(*std::max_element(predicted.begin(), predicted.end()), *std::max_element(expected.begin(), expected.end()));
  return lx::confusion_matrix(predicted, expected, static_cast<std::size_t>(last) + 1);
}

}  // namespace detail

/// Tasks with different metrics.
enum class Compared { two_classes, more_classes, regression };

/// The task of a result, which follows from the metrics in it.
inline Compared task_of(const lx::Json& entry, const std::string& path) {
  if (entry.contains("threshold")) return Compared::two_classes;
  if (entry.contains("macro_f1")) return Compared::more_classes;
  if (entry.contains("spearman")) return Compared::regression;
  lx::fail_file(path, "is not what `evaluate --scores --output` writes: none of threshold, macro_f1 and spearman is there");
}

/// The metrics of a task; the first one is drawn.
inline std::vector<Metric> metrics_of(Compared task) {
  using Values = std::span<const double>;
  if (task == Compared::two_classes)
    return {{"F1 at the stored threshold", [](Values s, Values l, double t) { return 100 * detail::counts(s, l, t).f1(); }},
            {"F1 at argmax", [](Values s, Values l, double) { return 100 * detail::counts(s, l, 0.5).f1(); }},
            {"accuracy at argmax", [](Values s, Values l, double) { return 100 * detail::counts(s, l, 0.5).accuracy(); }},
            {"average precision", [](Values s, Values l, double) { return 100 * lx::average_precision(s, detail::as_classes(l)); }}};
  if (task == Compared::more_classes)
    return {{"accuracy", [](Values s, Values l, double) { return 100 * detail::confusion(s, l).accuracy(); }},
            {"macro-F1", [](Values s, Values l, double) { return 100 * detail::confusion(s, l).macro_f1(); }}};
  return {{"Spearman's correlation", [](Values s, Values l, double) { return 100 * lx::spearman(s, l); }},
          {"Pearson's correlation", [](Values s, Values l, double) { return 100 * lx::pearson(s, l); }}};
}

/// All runs of one system on one test file.
struct System {
  std::string name;                      // without X
  std::optional<double> x{};             // of NAME@X, e.g. the share of training pairs
  std::vector<Scores> clean{}, typos{};  // clean: one for each run; typos: one for each run and copy

  std::string title() const { return x ? lx::cat(name, "@", lx::short_number(*x)) : name; }
  const std::vector<Scores>& on(bool noisy) const { return noisy ? typos : clean; }
};

/// One test file with the results of all systems.
struct TestFile {
  std::string name;
  Compared task = Compared::two_classes;
  std::vector<Metric> metrics;
  std::vector<double> labels;  // classes, or targets of a regression
  std::vector<System> systems;

  /// The metrics of one run on these rows.
  std::vector<double> measure(const Scores& run, std::span<const std::size_t> rows) const {
    std::vector<double> scores, expected, values;
    for (const std::size_t row : rows) {
      scores.push_back(run.scores[row]);
      expected.push_back(labels[row]);
    }
    for (const auto& m : metrics) values.push_back(m.of(scores, expected, run.threshold));
    return values;
  }
  std::vector<double> mean_over_runs(const System& s, bool noisy, std::span<const std::size_t> rows) const {
    std::vector<double> sum(metrics.size());
    for (const Scores& run : s.on(noisy)) {
      const auto values = measure(run, rows);
      for (std::size_t m = 0; m < sum.size(); ++m) sum[m] += values[m] / static_cast<double>(s.on(noisy).size());
    }
    return sum;
  }
  /// The system that `s` is compared with: the baseline at the same X, else the baseline without X; null if there is none.
  const System* baseline_of(const System& s, const std::string& baseline) const {
    const System* found = nullptr;
    for (const auto& other : systems)
      if (other.name == baseline && (other.x == s.x || (!other.x && found == nullptr))) found = &other;
    return found;
  }
};

/// Reads NAME=F.json or NAME@X=F.json, F.json of `evaluate --scores --output`, and adds it to the systems of the same NAME and X.
inline void add_result(std::vector<TestFile>& tests, const std::string& argument) {
  const auto equals = argument.find('=');
  if (equals == argument.npos || equals == 0) lx::fail_usage("--result", "'", argument, "' is not of the form NAME=FILE or NAME@X=FILE");
  System read_system{argument.substr(0, equals)};
  const std::string path = argument.substr(equals + 1);
  if (const auto at = read_system.name.rfind('@'); at != std::string::npos) {
    const std::string number = read_system.name.substr(at + 1);
    double x = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), x);
    if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(x))
      lx::fail_usage("--result", "'", argument, "': '", number, "' is not a number; expected NAME@X=FILE, e.g. bert@10=F.json");
    read_system.name.resize(at);
    if (at == 0) lx::fail_usage("--result", "'", argument, "' has no name before the @");
    read_system.x = x;
  }
  const lx::Json json = lx::parse_json(lx::read_file(path), path);
  lx::read_json(path + ": is not what `evaluate --scores --output` writes", [&] {
    const lx::Json& entries = json.at("test");
    if (!entries.is_array() || entries.empty()) lx::fail_file(path, "has no results of a test file");
    if (!tests.empty() && entries.size() != tests.size())
      lx::fail_file(path, "has results of ", entries.size(), " test files, those before have ", tests.size());
    tests.resize(entries.size());
    for (std::size_t t = 0; t < tests.size(); ++t) {
      const lx::Json& entry = entries.at(t);
      auto& test = tests[t];
      const auto labels = entry.at("labels").get<std::vector<double>>();
      if (labels.empty()) lx::fail_file(path, "has no pairs");
      const auto task = task_of(entry, path);
      const auto require_classes = [&](const std::vector<double>& values, const char* what) {
        for (const double v : values)
          if (!(v >= 0 && v < (task == Compared::two_classes ? 2 : 1 << 20) && v == std::floor(v)))
            lx::fail_file(path, "has the ", what, " ", v, ", which is not the index of a class");
      };
      if (task != Compared::regression) require_classes(labels, "label");
      if (test.systems.empty()) {
        test.name = lx::one_line(entry.at("file").get<std::string>());
        test.task = task;
        test.metrics = metrics_of(task);
        test.labels = labels;
      }
      if (task != test.task || labels != test.labels)
        lx::fail_file(path, "was measured on other pairs than the results before it, or for another task");
      auto system = std::find_if(test.systems.begin(), test.systems.end(),
                                 [&](const System& s) { return s.name == read_system.name && s.x == read_system.x; });
      if (system == test.systems.end()) system = test.systems.insert(test.systems.end(), read_system);
      const auto read = [&](const lx::Json& from) {
        Scores s{from.at("scores"), from.value("threshold", 0.5)};
        if (s.scores.size() != labels.size()) lx::fail_file(path, s.scores.size(), " scores for ", labels.size(), " pairs");
        if (task == Compared::more_classes) require_classes(s.scores, "predicted class");
        return s;
      };
      system->clean.push_back(read(entry));
      if (entry.contains("typos"))
        for (const lx::Json& copy : entry.at("typos")) system->typos.push_back(read(copy));
    }
  });
}

}  // namespace program
