// SPDX-License-Identifier: MIT
// The section of a report about calibration: how often a probability is right.
#pragma once

#include "lexformer/metrics/score_calibration.hpp"
#include "measure/report_attention.hpp"

namespace program {

/// Plots the share of matches against the probability, in ten equally wide intervals, before and after Platt scaling; with the calibration
/// errors. evaluations: of each contender on the examples. Only for two classes.
inline void reliability_section(lx::ReportPage& page, const std::vector<Contender>& contenders,
                                const std::vector<lx::Evaluation>& evaluations, const std::vector<lx::PairExample>& examples) {
  if (contenders.back().model.task().labels != 2 || examples.size() < 2) return;
  const auto labels = lx::labels_of(examples);
  std::vector<lx::Series> series{{"right as often as it says", {0, 100}, {0, 100}}};
  std::vector<std::vector<std::string>> table;
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    const auto& scores = evaluations[k].scores;
    const auto after = lx::cross_fitted(lx::CalibrationKind::platt, scores, labels);
    const auto add = [&](const std::string& name, const std::vector<double>& p) {
      auto& s = series.emplace_back(lx::Series{name, {}, {}, {}, true});
      for (const auto& bin : lx::calibration_bins(p, labels)) {
        s.x.push_back(100 * bin.probability);
        s.y.push_back(100 * bin.positives);
      }
      s.line = s.x.size() > 2;  // two dots at the ends are no curve
      table.push_back({lx::escape_xml(name), lx::short_number(100 * lx::calibration_error(p, labels), 3),
                       lx::short_number(lx::brier_score(p, labels), 3)});
    };
    add(contenders[k].name, scores);
    add(contenders[k].name + ", Platt", after);
  }
  const std::string pairs = lx::examples_name(contenders.back().model.task().texts);
  page.heading("Calibration");
  page.table({"model", "calibration error, %", "Brier score"}, table);
  page.picture(
      "reliability",
      lx::line_chart(series, {.title = "Reliability",
                              .x_label = "probability, mean of the interval, %",
                              .y_label = pairs + " of class 1, %",
                              .x_range = {{0, 100}},
                              .y_range = {{0, 100}}}),
      lx::series_csv(series),
      lx::cat("Dots: the ", pairs, " whose probability is in one tenth of [0, 1]; below the diagonal the model is too sure of class 1. ",
              "Platt: Platt scaling; the probability of each fifth of the ", pairs, " is fitted to the other four."));
}

}  // namespace program
