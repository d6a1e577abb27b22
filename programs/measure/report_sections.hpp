// SPDX-License-Identifier: MIT
// The sections of a report about training and scores, one function each.
#pragma once

#include "lexformer/io/json.hpp"
#include "lexformer/metrics/metrics.hpp"
#include "measure/report_attention.hpp"

namespace program {

/// HTML that is not wrapped in a narrow table column.
inline std::string on_one_line(const std::string& text) { return "<span class=\"line\">" + lx::escape_xml(text) + "</span>"; }

/// Plots the log of the training by epoch, one line for each run.
inline void training_section(lx::ReportPage& page, const std::vector<Contender>& contenders) {
  const auto& task = contenders.back().model.task();
  const bool regression = task.kind == lx::TaskKind::regression;
  const std::string primary = lx::primary_metric(task);
  struct Curve {
    std::string name, key, title, y_label;
    std::string caption{};
    double factor = 1;
    bool dots = false, smooth = false;
    std::vector<lx::Series> series{};
    std::vector<lx::ChartMark> marks{};
    std::size_t left_out = 0;
  };
  std::vector<Curve> curves{
      {"loss", "loss", "Training loss", regression ? "squared error" : "cross-entropy, nats",
       "Light: logged means of the steps between two log lines. Dark: moving mean with a window of about a twentieth of the run.", 1, false,
       true},
      {"learning_rate", "learning_rate", "Learning rate", "learning rate",
       "Of the last step before each log line. It rises during warm-up, then follows --schedule."},
      {"gradient", "grad_norm", "Gradient norm before clipping", "norm",
       "Over all parameters, for the last step before each log line; larger norms were clipped to --clip."},
      {"validation", "eval_" + primary, "Validation score", primary + ", %", "The model with the best score is kept.", 100, true}};
  for (const auto& c : contenders)
    for (const auto& folder : c.seeds) {
      const std::string file = folder + "/log.jsonl";
      if (!std::filesystem::exists(file)) continue;
      const std::string name = c.seeds.size() == 1 ? c.name : c.name + " " + std::filesystem::path(folder).filename().string();
      for (auto& curve : curves) curve.series.push_back({name, {}, {}, {}, curve.dots, {}, curve.smooth});
      for (const auto& [where, entry] : lx::read_log(file)) {
        for (auto& curve : curves) {
          if (!entry.contains(curve.key)) continue;
          const lx::Json& value = entry[curve.key];  // "nan" and "inf" are strings
          curve.series.back().x.push_back(lx::get_number(entry, "epoch", 0, 1e9, where));
          const double y = value.is_number() ? curve.factor * value.get<double>() : std::numeric_limits<double>::quiet_NaN();
          if (!lx::drawable(y)) {
            ++curve.left_out;
            curve.marks.push_back({curve.series.back().x.back(), value.is_number() ? "too large" : "not finite", false});
          }
          curve.series.back().y.push_back(y);
        }
      }
      const auto& measured = curves.back().series.back();
      const auto best = std::max_element(measured.y.begin(), measured.y.end());
      if (c.seeds.size() == 1 && best != measured.y.end())
        curves.back().marks.push_back({measured.x[static_cast<std::size_t>(best - measured.y.begin())], "chosen: " + name, false});
    }
  if (curves[0].series.empty()) return;
  page.heading("Training");
  for (const auto& curve : curves) {
    page.picture(curve.name,
                 lx::line_chart(curve.series, {.title = curve.title, .x_label = "epoch", .y_label = curve.y_label, .marks = curve.marks}),
                 lx::series_csv(curve.series),
                 curve.left_out == 0 ? curve.caption
                                     : lx::cat(curve.caption, curve.caption.empty() ? "" : " ", "Left out: ", curve.left_out,
                                               " values that are not finite or beyond 1e100."));
  }
}

/// Shows the main metrics of each contender in a table.
inline void metrics_table(lx::ReportPage& page, const std::vector<Contender>& contenders, const std::vector<lx::Evaluation>& evaluations) {
  const auto& task = contenders.back().model.task();
  std::vector<std::string> header{"model"};
  for (const auto& key : lx::main_metrics(evaluations[0])) header.push_back(key);
  std::vector<std::vector<std::string>> rows;
  std::string shown;
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    auto& row = rows.emplace_back(std::vector{lx::escape_xml(contenders[k].name)});
    for (const auto& key : lx::main_metrics(evaluations[k])) {
      StringWriter cell;
      cell << std::fixed << std::setprecision(1) << lx::in_percent(key, evaluations[k].value(key));
      row.push_back(cell.str());
    }
    shown += (shown.empty() ? "" : "; ") + contenders[k].shown();
  }
  page.paragraph(task.kind == lx::TaskKind::regression ? "In percent; mse in squared units of the label."
                 : task.has_threshold()                ? "In percent, at the stored threshold."
                                                       : "In percent.");
  page.paragraph("One model each. " + shown + ".");
  page.table(header, rows);
}

/// Draws precision against recall, one curve for each model.
inline void precision_recall_picture(lx::ReportPage& page, const std::vector<Contender>& contenders,
                                     const std::vector<lx::Evaluation>& evaluations, const std::vector<std::int32_t>& labels) {
  std::vector<lx::Series> curves;
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    const auto& e = evaluations[k];
    auto& curve = curves.emplace_back(lx::Series{contenders[k].name, {}, {}});
    for (const auto& p : lx::precision_recall_curve(e.scores, labels)) {
      curve.x.push_back(100 * p.recall);
      curve.y.push_back(100 * p.precision);
    }
    curve.highlights = {{100 * e.value("recall"), 100 * e.value("precision")}};
  }
  page.picture("precision_recall",
               lx::line_chart(curves, {.title = "Precision and recall",
                                       .x_label = "recall, %",
                                       .y_label = "precision, %",
                                       .x_range = {{0, 100}},
                                       .y_range = {{0, 100}}}),
               lx::series_csv(curves), contenders.back().model.task().texts == 1 ? "Dots: threshold 0.5." : "Dots: the stored thresholds.");
}

/// Draws the distribution of a model's scores for each class, in 20 bins.
inline void score_histogram(lx::ReportPage& page, const std::string& picture, const Contender& c, const std::vector<double>& scores,
                            const std::vector<std::int32_t>& labels) {
  constexpr std::size_t bins = 20;
  const std::size_t texts = c.model.task().texts;
  const auto names = class_names(c.model.task());
  std::vector<double> edges(bins + 1), total(2);
  for (std::size_t b = 0; b < edges.size(); ++b) edges[b] = static_cast<double>(b) / bins;
  for (const auto label : labels) ++total[static_cast<std::size_t>(label)];
  std::vector<std::vector<double>> heights(2, std::vector<double>(bins));
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    heights[label][std::min(bins - 1, static_cast<std::size_t>(scores[i] * bins))] += 100 / total[label];
  }
  lx::Csv csv({"from", "to", names[0] + ", percent", names[1] + ", percent"});
  for (std::size_t b = 0; b < bins; ++b)
    csv.row({lx::short_number(edges[b]), lx::short_number(edges[b + 1]), lx::short_number(heights[0][b]), lx::short_number(heights[1][b])});
  page.picture(picture,
               lx::bar_chart(names, edges, heights,
                             {.title = "Scores of " + c.name,
                              .x_label = "score: probability of " + names[1],
                              .y_label = lx::cat(lx::examples_name(texts), " of the class, %"),
                              .y_range = {{0, 100}},
                              .marks = {{c.model.threshold.value_or(0.5), "threshold", false}}}),
               csv,
               lx::cat("Distribution of the scores of each class, in 20 bins. Left of the threshold a ", texts == 1 ? "text" : "pair",
                       " is classified as ", names[0], ", right of it as ", names[1], "."));
}

/// Lists the examples on the wrong side of the threshold whose scores are farthest from it.
inline void worst_errors(lx::ReportPage& page, const Contender& c, const std::vector<double>& scores,
                         const std::vector<lx::PairExample>& examples, std::size_t worst) {
  const bool single = c.model.task().texts == 1;
  const auto names = class_names(c.model.task());
  const double threshold = c.model.threshold.value_or(0.5);
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (lx::is_match(scores[i], threshold) != (examples[i].label == 1)) wrong.push_back(i);
  std::stable_sort(wrong.begin(), wrong.end(),
                   [&](auto a, auto b) { return std::abs(scores[a] - threshold) > std::abs(scores[b] - threshold); });
  page.heading("Worst errors of " + c.name);
  page.paragraph(lx::cat(wrong.size(), " of ", examples.size(), " ", lx::examples_name(c.model.task().texts),
                         " are on the wrong side of the threshold.",
                         single ? "" : " Wavy line: the other text has a similar word; coloured background: it has none."));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t k = 0; k < std::min(worst, wrong.size()); ++k) {
    const auto& e = examples[wrong[k]];
    const auto label = static_cast<std::size_t>(e.label);  // the prediction is the other class
    rows.push_back(
        {lx::cat(wrong[k] + 1), on_one_line(names[label]), on_one_line(names[1 - label]), lx::short_number(scores[wrong[k]], 3)});
    if (single)
      rows.back().push_back(lx::escape_xml(e.left));
    else
      rows.back().insert(rows.back().end(), {lx::mark_differences(e.left, e.right), lx::mark_differences(e.right, e.left)});
  }
  if (single)
    page.table({"row", "label", "prediction", "score", "text"}, rows);
  else
    page.table({"pair", "label", "prediction", "score", "left", "right"}, rows);
}

/// Shows metrics, precision and recall, histograms and the worst errors on a test file.
/// evaluations: of each contender on the examples.
inline void scores_section(lx::ReportPage& page, const std::vector<Contender>& contenders, const std::vector<lx::Evaluation>& evaluations,
                           const std::string& file, const std::vector<lx::PairExample>& examples, std::size_t worst) {
  const std::string pairs = lx::examples_name(contenders.back().model.task().texts);
  page.heading("Test " + pairs);
  page.paragraph(lx::cat(file, ", ", examples.size(), " ", pairs));
  for (const auto& c : contenders)
    if (c.trained_on(examples))
      page.paragraph(lx::cat(c.name, " was trained on these ", pairs, ": its figures do not tell how good it is on others."));
  metrics_table(page, contenders, evaluations);
  if (std::any_of(contenders.begin(), contenders.end(), [](const Contender& c) { return c.model.task().labels != 2; })) return;
  const auto labels = lx::labels_of(examples);
  precision_recall_picture(page, contenders, evaluations, labels);
  for (std::size_t k = 0; k < contenders.size(); ++k)
    score_histogram(page, lx::cat("scores_", k + 1), contenders[k], evaluations[k].scores, labels);
  if (worst > 0) worst_errors(page, contenders.back(), evaluations.back().scores, examples, worst);
}

/// Plots the main score against the share of words with typos, one line for each model; the band is one standard deviation over seeds.
inline void noise_section(lx::ReportPage& page, const std::vector<Contender>& contenders, const std::vector<lx::PairExample>& examples,
                          std::vector<double> percents, lx::TypoOptions typos) {
  std::sort(percents.begin(), percents.end());
  std::vector<lx::Series> series;
  std::string primary;
  for (const auto& c : contenders) {
    auto& s = series.emplace_back(lx::Series{c.name, {}, {}, {}, true});
    std::vector<lx::CrossEncoder<>> loaded;
    std::vector<const lx::CrossEncoder<>*> models{&c.model};
    if (c.seeds.size() > 1) {
      for (const auto& path : c.seeds) c.prepare(loaded.emplace_back(lx::CrossEncoder<>::load(path)));
      models.clear();
      for (const auto& model : loaded) models.push_back(&model);
    }
    for (const double percent : percents) {
      typos.word_share = percent / 100;
      const auto noisy = percent > 0 ? lx::with_typos(examples, 1, typos) : examples;
      std::vector<double> values;
      for (const auto* model : models) {
        const auto e = lx::evaluate(*model, c.name, noisy, model->threshold.value_or(0.5), 64);
        primary = e.primary;
        values.push_back(100 * e.value(primary));
      }
      const auto m = lx::mean_and_deviation(values);
      s.x.push_back(percent);
      s.y.push_back(m.mean);
      if (models.size() > 1) s.deviation.push_back(m.deviation);
      if (percent == 0) s.highlights = {{percent, m.mean}};  // the clean texts
    }
  }
  page.heading("Noise");
  page.picture("noise",
               lx::line_chart(series, {.title = "Score against noise level",
                                       .x_label = "words with a typo, %",
                                       .y_label = primary + (primary == "f1" ? " at the stored threshold, %" : ", %")}),
               lx::series_csv(series),
               "All models get the same typos; large dots: the clean texts. With several seeds a line is the mean and its band one "
               "standard deviation.");
}

}  // namespace program
