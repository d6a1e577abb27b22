// SPDX-License-Identifier: MIT
// Compares models on the same test pairs: means and standard deviations over seeds, and bootstrap intervals of the differences.
#include <iomanip>
#include <lexformer/metrics/bootstrap.hpp>

#include "cli/report_footer.hpp"
#include "measure/comparison.hpp"
#include "report/box_plot.hpp"

namespace lx = lexformer;

namespace {

/// Prints one Markdown table of all systems for each metric; returns the numbers as JSON.
lx::Json compare(const program::TestFile& test, const std::string& baseline, const lx::BootstrapOptions& options) {
  lx::Json json = {{"file", test.name}, {"pairs", test.labels.size()}, {"systems", lx::Json::array()}};
  std::vector<std::size_t> all(test.labels.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<program::StringWriter> tables(test.metrics.size());
  std::vector<bool> versions{false};  // of the test file: clean, with typos
  if (std::any_of(test.systems.begin(), test.systems.end(), [](const auto& s) { return !s.typos.empty(); })) versions.push_back(true);
  for (const auto& s : test.systems) {
    const auto* base = test.baseline_of(s, baseline);
    lx::Json entry = {{"name", s.title()}, {"runs", s.clean.size()}};
    for (auto& table : tables) table << std::fixed << std::setprecision(1) << "| " << s.title() << " | " << s.clean.size() << " |";
    for (const bool noisy : versions) {
      std::vector<std::vector<double>> runs;
      for (const auto& run : s.on(noisy)) runs.push_back(test.measure(run, all));
      const auto differences_on = [&](std::span<const std::size_t> rows) {
        auto differences = test.mean_over_runs(s, noisy, rows);
        const auto other = test.mean_over_runs(*base, noisy, rows);
        for (std::size_t m = 0; m < differences.size(); ++m) differences[m] -= other[m];
        return differences;
      };
      std::vector<double> differences;
      std::vector<lx::Interval> intervals;
      if (base != nullptr && base != &s && !runs.empty() && !base->on(noisy).empty()) {
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
        entry[test.metrics[m].name][noisy ? "typos" : "clean"] = figures;
      }
    }
    for (auto& table : tables) table << "\n";
    json["systems"].push_back(entry);
  }
  for (std::size_t m = 0; m < tables.size(); ++m) {
    std::cout << "\n" << test.name << ", " << test.labels.size() << " pairs: " << test.metrics[m].name << ", %\n\n| | runs |";
    for (const bool noisy : versions) std::cout << (noisy ? " typos" : " clean") << " | against " << baseline << " |";
    std::cout << "\n| --- | --- |";
    for (std::size_t v = 0; v < versions.size(); ++v) std::cout << " --- | --- |";
    std::cout << "\n" << tables[m].str();
  }
  return json;
}

/// Draws the differences of the first metric with their intervals, as compare() found them.
void draw_differences(lx::ReportPage& page, const program::TestFile& test, const lx::Json& found, const std::string& baseline,
                      const std::string& suffix, bool noisy) {
  std::vector<lx::IntervalGroup> groups;
  lx::Csv csv({"system", "difference", "low", "high"});
  for (std::size_t i = 0; i < test.systems.size(); ++i) {
    const lx::Json figures =
        found["systems"][i].value(test.metrics[0].name, lx::Json::object()).value(noisy ? "typos" : "clean", lx::Json());
    if (test.systems[i].x || !figures.contains("difference")) continue;
    const lx::Json& d = figures["difference"];
    const auto& g = groups.emplace_back(lx::IntervalGroup{test.systems[i].name, d["mean"], d["low"], d["high"]});
    csv.row({g.name, lx::short_number(g.value, 9), lx::short_number(g.low, 9), lx::short_number(g.high, 9)});
  }
  if (groups.empty()) return;
  page.picture(
      "differences" + suffix,
      lx::interval_plot(groups, lx::cat("Difference to ", baseline, noisy ? ", with typos" : ""), test.metrics[0].name + ", points"), csv,
      "Dots: the difference of the means over runs. Lines: its interval, by the bootstrap over the test pairs.");
}

/// Draws the first metric of each run: boxes for systems without X, lines over X for the others. A single run of each has no box.
void draw(lx::ReportPage& page, const program::TestFile& test, const lx::Json& found, const std::string& baseline,
          const std::string& number, const std::string& x_label) {
  page.heading(test.name);
  std::vector<std::size_t> all(test.labels.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::string metric = test.metrics[0].name + ", %";
  for (const bool noisy : {false, true}) {
    const std::string suffix = (noisy ? "_typos_" : "_") + number, with = noisy ? ", with typos" : "";
    std::vector<lx::BoxGroup> boxes;
    std::map<std::string, std::map<double, std::vector<double>>> points;  // of each NAME, by X
    std::vector<std::string> names;                                       // in the order of the results
    for (const auto& s : test.systems) {
      std::vector<double> values;
      for (const auto& run : s.on(noisy)) values.push_back(test.measure(run, all)[0]);
      if (values.empty()) continue;
      if (!s.x) {
        boxes.push_back({s.name, values});
        continue;
      }
      if (points[s.name].empty()) names.push_back(s.name);
      points[s.name][*s.x] = values;
    }
    draw_differences(page, test, found, baseline, suffix, noisy);
    if (std::any_of(boxes.begin(), boxes.end(), [](const lx::BoxGroup& b) { return b.values.size() > 1; })) {
      lx::Csv csv({"system", "run", metric});
      for (const auto& b : boxes)
        for (std::size_t i = 0; i < b.values.size(); ++i) csv.row({b.name, lx::cat(i + 1), lx::short_number(b.values[i], 9)});
      page.picture("runs" + suffix, lx::box_plot(boxes, "Runs of each system" + with, metric), csv,
                   "Dots: runs. Box: first to third quartile, with the median. Whiskers: smallest and largest run.");
    }
    std::vector<lx::Series> lines;
    for (const auto& name : names) {
      auto& line = lines.emplace_back(lx::Series{name, {}, {}, {}, true});
      for (const auto& [x, values] : points[name]) {
        const auto m = lx::mean_and_deviation(values);
        line.x.push_back(x);
        line.y.push_back(m.mean);
        line.deviation.push_back(m.deviation);
      }
    }
    if (!lines.empty())
      page.picture("lines" + suffix, lx::line_chart(lines, {.title = "Mean over runs" + with, .x_label = x_label, .y_label = metric}),
                   lx::series_csv(lines), "The band is one standard deviation over runs.");
  }
}

class Compare final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.inputs("result", results_,
             "results of a run; runs of one system (several seeds) have the same NAME. NAME@X=F.json: with a number X, e.g. the share of "
             "training pairs; compared with the baseline at the same X, else with the baseline without X")
        .named()
        .required()
        .shown_as("NAME=F.json");
    v.text("baseline", baseline_, "NAME of the system to compare with (default: the first)").shown_as("NAME");
    v.size("resamples", options_.resamples, 1, 1000000, "number of bootstrap samples");
    v.number("level", options_.level, 0.5, 0.999, "confidence level");
    v.size("seed", options_.seed, 0, "seed of the bootstrap");
    v.output("output", output_, "also write the results as JSON").shown_as("F.json");
    v.folder("plots", plots_,
             "folder for a page with pictures: differences with their intervals, a box plot of several runs, lines over X");
    v.text("x_label", x_label_, "with --plots: name of X, with its unit");
    visit_threads(v);
  }
  int run() override {
    std::vector<program::TestFile> tests;
    for (const auto& result : results_) program::add_result(tests, result);
    if (baseline_.empty()) baseline_ = tests[0].systems[0].name;
    lx::ReportPage page("Comparison");
    lx::Json json = lx::Json::array();
    for (const auto& test : tests) {
      const auto is_base = [&](const program::System& s) { return s.name == baseline_; };
      if (std::none_of(test.systems.begin(), test.systems.end(), is_base))
        lx::fail_usage("--baseline", "no --result is called '", baseline_, "'");
      json.push_back(compare(test, baseline_, options_));
      if (!plots_.empty()) draw(page, test, json.back(), baseline_, lx::cat(json.size()), x_label_);
    }
    if (!output_.empty()) lx::write_file_atomic(output_, lx::Json{{"test", json}}.dump(2) + "\n");
    if (plots_.empty()) return 0;
    program::report_footer(page, command_line);
    page.save(plots_);
    std::cerr << plots_ << "/index.html: written\n";
    return 0;
  }

 private:
  std::vector<std::string> results_;
  std::string baseline_, output_, plots_, x_label_ = "X";
  lx::BootstrapOptions options_;
};

const program::Registered<Compare> registered{
    "compare", program::Group::measure, "models on the same test pairs: means over seeds, bootstrap intervals, box plots",
    "Compares models on the same test pairs, from the files of `evaluate --scores --output`. Prints Markdown tables: mean and standard "
    "deviation over runs (with typos: over runs and copies), and the difference to one of the systems with an interval of the paired "
    "bootstrap over the test pairs."};

}  // namespace
