// SPDX-License-Identifier: MIT
// The sections of a report about training and scores, one function each.
#pragma once

#include "lexformer/report/chart.hpp"
#include "lexformer/report/differences.hpp"
#include "lexformer/train/precision_recall.hpp"
#include "report_attention.hpp"

namespace program {

/// What train_matcher logged, by epoch: one line for each run.
inline void training_section(lx::ReportPage& page, const std::vector<Contender>& contenders) {
  const auto& options = contenders.back().model.options();
  const bool regression = options.task == lx::Task::regression;
  const std::string primary = regression ? "spearman" : options.labels > 2 ? "accuracy" : "f1";
  struct Curve {
    std::string name, key, title, y_label;
    double factor = 1;
    bool dots = false;
    std::vector<lx::Series> series{};
  };
  std::vector<Curve> curves{{"loss", "loss", "Training loss", regression ? "squared error" : "cross-entropy, nats"},
                            {"learning_rate", "learning_rate", "Learning rate", "learning rate"},
                            {"gradient", "grad_norm", "Norm of the gradient, before clipping", "norm"},
                            {"validation", "eval_" + primary, "Validation score", primary + ", %", 100, true}};
  std::vector<lx::ChartMark> chosen;
  for (const auto& c : contenders)
    for (const auto& folder : c.seeds) {
      const std::string file = folder + "/log.jsonl";
      if (!std::filesystem::exists(file)) continue;
      const std::string name = c.seeds.size() == 1 ? c.name : c.name + " " + std::filesystem::path(folder).filename().string();
      for (auto& curve : curves) curve.series.push_back({name, {}, {}, {}, curve.dots});
      std::istringstream lines(lx::read_file(file));
      std::string line;
      for (std::size_t number = 1; std::getline(lines, line); ++number) {
        const std::string where = lx::cat(file, ": line ", number);
        const lx::Json entry = lx::parse_json(line, where);
        for (auto& curve : curves) {
          if (!entry.contains(curve.key)) continue;
          const lx::Json& value = entry[curve.key];  // "nan" and "inf" are texts
          curve.series.back().x.push_back(lx::get_number(entry, "epoch", 0, 1e9, where));
          curve.series.back().y.push_back(value.is_number() ? curve.factor * value.get<double>()
                                                            : std::numeric_limits<double>::quiet_NaN());
        }
      }
      const auto& measured = curves.back().series.back();
      const auto best = std::max_element(measured.y.begin(), measured.y.end());
      if (c.seeds.size() == 1 && best != measured.y.end())
        chosen.push_back({measured.x[static_cast<std::size_t>(best - measured.y.begin())], "chosen: " + name, false});
    }
  if (curves[0].series.empty()) return;
  page.heading("Training");
  for (const auto& curve : curves) {
    lx::ChartOptions chart{.title = curve.title, .x_label = "epoch", .y_label = curve.y_label};
    if (curve.dots) chart.marks = chosen;
    page.picture(curve.name, lx::line_chart(curve.series, chart), lx::series_csv(curve.series),
                 curve.dots ? "The model of the best score is kept." : "");
  }
}

/// Table, precision and recall, histograms and the worst errors on a test file.
inline void scores_section(lx::ReportPage& page, const std::vector<Contender>& contenders, const std::string& file,
                           const std::vector<lx::PairExample>& examples, std::size_t worst) {
  page.heading("On the test pairs");
  page.paragraph(lx::cat(file, ", ", examples.size(), " pairs"));
  std::vector<std::vector<std::string>> table;
  std::vector<lx::Series> curves;
  std::vector<std::vector<double>> all_scores;
  std::vector<std::int32_t> labels;
  for (const auto& e : examples) labels.push_back(e.label);
  std::vector<std::string> header{"model"};
  for (const auto& c : contenders) {
    const double threshold = c.model.threshold.value_or(0.5);
    const auto e = evaluate(c.model, c.name, examples, threshold, 64);
    table.push_back({lx::escape_xml(c.name)});
    for (const auto& key : main_metrics(e)) {
      if (table.size() == 1) header.push_back(key);
      std::ostringstream cell;
      cell << std::fixed << std::setprecision(1) << in_percent(key, e.value(key));
      table.back().push_back(cell.str());
    }
    if (c.model.options().labels != 2) continue;
    const auto& scores = all_scores.emplace_back(scores_of(c.model, examples));
    auto& curve = curves.emplace_back(lx::Series{c.name, {}, {}});
    for (const auto& p : lx::precision_recall_curve(scores, labels)) {
      curve.x.push_back(100 * p.recall);
      curve.y.push_back(100 * p.precision);
    }
    curve.highlights = {{100 * e.value("recall"), 100 * e.value("precision")}};
  }
  page.table(header, table);
  if (all_scores.size() != contenders.size()) return;  // the rest is for two classes
  page.picture("precision_recall",
               lx::line_chart(curves, {.title = "Precision and recall",
                                       .x_label = "recall, %",
                                       .y_label = "precision, %",
                                       .x_range = {{0, 100}},
                                       .y_range = {{0, 100}}}),
               lx::series_csv(curves), "A dot is where the stored threshold puts the decision.");

  for (std::size_t k = 0; k < contenders.size(); ++k) {
    const auto& c = contenders[k];
    const auto& scores = all_scores[k];
    const double threshold = c.model.threshold.value_or(0.5);
    std::vector<double> edges(21);
    for (std::size_t b = 0; b < edges.size(); ++b) edges[b] = static_cast<double>(b) / 20;
    std::vector<std::vector<double>> heights(2, std::vector<double>(20));
    std::vector<double> total(2);
    for (std::size_t i = 0; i < scores.size(); ++i) ++total[static_cast<std::size_t>(labels[i])];
    for (std::size_t i = 0; i < scores.size(); ++i)
      heights[static_cast<std::size_t>(labels[i])][std::min<std::size_t>(19, static_cast<std::size_t>(scores[i] * 20))] +=
          100 / total[static_cast<std::size_t>(labels[i])];
    lx::Csv csv({"from", "to", "class_0_percent", "class_1_percent"});
    for (std::size_t b = 0; b < 20; ++b)
      csv.row(
          {lx::short_number(edges[b]), lx::short_number(edges[b + 1]), lx::short_number(heights[0][b]), lx::short_number(heights[1][b])});
    page.picture(lx::cat("scores_", k + 1),
                 lx::bar_chart({"class 0", "class 1"}, edges, heights,
                               {.title = "Scores of " + c.name,
                                .x_label = "score: probability of class 1",
                                .y_label = "pairs of the class, %",
                                .y_range = {{0, 100}},
                                .marks = {{threshold, "threshold", false}}}),
                 csv, "");
  }

  const auto& c = contenders.back();
  if (worst == 0) return;
  const auto& scores = all_scores.back();
  const double threshold = c.model.threshold.value_or(0.5);
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if ((scores[i] > threshold) != (labels[i] == 1)) wrong.push_back(i);
  std::stable_sort(wrong.begin(), wrong.end(),
                   [&](auto a, auto b) { return std::abs(scores[a] - threshold) > std::abs(scores[b] - threshold); });
  page.heading("The worst errors of " + c.name);
  page.paragraph(lx::cat(
      wrong.size(), " of ", examples.size(),
      " pairs are on the wrong side of the threshold. A wavy line: the other text has a word like it; a coloured ground: it has none."));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t k = 0; k < std::min(worst, wrong.size()); ++k) {
    const auto& e = examples[wrong[k]];
    rows.push_back({lx::cat(wrong[k] + 1), lx::cat(e.label), lx::short_number(scores[wrong[k]], 3), lx::mark_differences(e.left, e.right),
                    lx::mark_differences(e.right, e.left)});
  }
  page.table({"pair", "class", "score", "left", "right"}, rows);
}

/// F1 against the share of words with typos, one line for each model, the band one deviation over its seeds.
inline void noise_section(lx::ReportPage& page, const std::vector<Contender>& contenders, const std::vector<lx::PairExample>& examples,
                          const std::vector<double>& percents, lx::TypoOptions typos) {
  std::vector<lx::Series> series;
  for (const auto& c : contenders) {
    auto& s = series.emplace_back(lx::Series{c.name, {}, {}, {}, true});
    std::vector<lx::CrossEncoder<>> models;
    for (const auto& path : c.seeds) models.push_back(lx::CrossEncoder<>::load(path));
    for (const double percent : percents) {
      typos.word_share = percent / 100;
      auto noisy = examples;
      for (std::size_t i = 0; i < noisy.size() && percent > 0; ++i) {
        auto random = lx::typo_stream(101, 0, static_cast<std::uint32_t>(i));
        std::tie(noisy[i].left, noisy[i].right) = lx::add_typos_to_pair(noisy[i].left, noisy[i].right, typos, random);
      }
      std::vector<double> f1;
      for (const auto& model : models) {
        const auto e = evaluate(model, c.name, noisy, model.threshold.value_or(0.5), 64);
        f1.push_back(100 * e.value(e.primary));
      }
      const auto m = lx::mean_and_deviation(f1);
      s.x.push_back(percent);
      s.y.push_back(m.mean);
      if (models.size() > 1) s.deviation.push_back(m.deviation);
    }
  }
  page.heading("Against noise");
  page.picture("noise",
               lx::line_chart(series, {.title = "Score against the strength of the noise",
                                       .x_label = "words with a typo, %",
                                       .y_label = "F1 at the stored threshold, %"}),
               lx::series_csv(series),
               "The same typos for all models. A band is one standard deviation over seeds, where there are several.");
}

}  // namespace program
