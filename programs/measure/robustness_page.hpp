// SPDX-License-Identifier: MIT
// The results of `robustness` as Markdown tables, JSON, and an HTML page with a picture for each source of noise.
#pragma once

#include <iomanip>

#include "cli/model_card.hpp"
#include "measure/robustness.hpp"
#include "report/report.hpp"

namespace program {

/// "71.3 [69.0, 73.4]"; with a sign for differences.
inline std::string with_interval(const Bounded& b, bool difference = false) {
  StringWriter out;
  out << std::fixed << std::setprecision(1);
  if (difference) out << std::showpos;
  out << b.value << " [" << b.interval.low << ", " << b.interval.high << "]";
  return out.str();
}

/// The table of one source: a row for each intensity, columns for each model.
struct NoiseTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;

  /// cell: escapes the text of a cell.
  template <class Cell>
  void map(Cell&& cell) {
    for (auto& text : header) text = cell(text);
    for (auto& row : rows)
      for (auto& text : row) text = cell(text);
  }
  std::string markdown() const {
    std::string out;
    const auto line = [&](const std::vector<std::string>& cells) {
      out += "|";
      for (const auto& text : cells) out += " " + table_cell(text) + " |";
      out += "\n";
    };
    line(header);
    line(std::vector<std::string>(header.size(), "---"));
    for (const auto& row : rows) line(row);
    return out;
  }
};

inline NoiseTable noise_table(const std::vector<MeasuredModel>& models, const Robustness& all, const NoiseOptions& noise,
                              std::size_t source) {
  NoiseTable table{{"intensity", "words changed, %"}, {}};
  for (const auto& m : models) {
    table.header.push_back(m.name);
    table.header.push_back(m.name + " - clean");
    if (&m != &models[0]) table.header.push_back(m.name + " - " + models[0].name);
  }
  for (std::size_t k = 0; k <= noise.intensities.size(); ++k) {
    const auto& points = k == 0 ? all.clean : all.noisy[source][k - 1];
    StringWriter changed;
    changed << std::fixed << std::setprecision(1) << (k == 0 ? 0.0 : 100 * models[0].noisy[source][k - 1].changes.word_share());
    std::vector<std::string> row{k == 0 ? "0" : lx::short_number(noise.intensities[k - 1]), changed.str()};
    for (std::size_t m = 0; m < models.size(); ++m) {
      row.push_back(with_interval(points[m].score));
      row.push_back(k == 0 ? "" : with_interval(points[m].loss, true));
      if (m > 0) row.push_back(with_interval(points[m].against, true));
    }
    table.rows.push_back(row);
  }
  return table;
}

/// All numbers. Metrics of copies are as in `evaluate`, from 0 to 1; values with an interval are in percent.
inline lx::Json robustness_json(const std::vector<MeasuredModel>& models, const Robustness& all, const NoiseOptions& noise) {
  const auto point = [&](const RobustnessPoint& p, std::size_t m, bool noisy) {
    lx::Json json = {{"model", models[m].name}, {"score", p.score.json()}};
    if (noisy) json.update({{"deviation", p.deviation}, {"values", p.values}, {"against_clean", p.loss.json()}});
    if (m > 0) json["against_first_model"] = p.against.json();
    return json;
  };
  lx::Json json = {{"models", lx::Json::array()}, {"sources", lx::Json::array()}};
  for (std::size_t m = 0; m < models.size(); ++m) {
    lx::Json entry = point(all.clean[m], m, false);
    entry.update({{"path", models[m].path}, {"clean", models[m].clean.json()}});
    json["models"].push_back(entry);
  }
  for (std::size_t s = 0; s < noise.sources.size(); ++s) {
    lx::Json source = {{"noise", lx::name_of(noise.sources[s])}, {"points", lx::Json::array()}};
    for (std::size_t k = 0; k < noise.intensities.size(); ++k) {
      lx::Json entry = {{"intensity", noise.intensities[k]}, {"models", lx::Json::array()}};
      for (std::size_t m = 0; m < models.size(); ++m) {
        const auto& cell = models[m].noisy[s][k];
        lx::Json of_model = point(all.noisy[s][k][m], m, true);
        of_model.update(cell.changes.json());
        for (const auto& e : cell.copies) of_model["copies"].push_back(e.json());
        entry["models"].push_back(of_model);
      }
      source["points"].push_back(entry);
    }
    json["sources"].push_back(source);
  }
  return json;
}

/// The range of y of all pictures, so that they can be compared: the range of all intervals, with some room, but within -100 and 100 (0 and
/// 100 if nothing is below 0).
inline std::pair<double, double> score_range(const Robustness& all) {
  std::vector<double> bounds;
  const auto add = [&](const std::vector<RobustnessPoint>& points) {
    for (const auto& p : points) bounds.insert(bounds.end(), {p.score.interval.low, p.score.interval.high, p.score.value});
  };
  add(all.clean);
  for (const auto& source : all.noisy)
    for (const auto& points : source) add(points);
  const double least = *std::min_element(bounds.begin(), bounds.end()) < 0 ? -100 : 0;
  const auto [low, high] = lx::range_of(bounds);
  return {std::max(low, least), std::min(high, 100.0)};
}

inline void robustness_pages(lx::ReportPage& page, const std::vector<MeasuredModel>& models, const Robustness& all,
                             const NoiseOptions& noise) {
  const std::string metric = primary_of(models[0].task).name + ", %";
  const auto range = score_range(all);
  for (std::size_t s = 0; s < noise.sources.size(); ++s) {
    const std::string name = lx::name_of(noise.sources[s]);
    std::vector<lx::Series> lines;
    for (std::size_t m = 0; m < models.size(); ++m) {
      auto& line = lines.emplace_back(lx::Series{.name = models[m].name, .x = {}, .y = {}, .dots = true});
      for (std::size_t k = 0; k <= noise.intensities.size(); ++k) {
        const auto& score = (k == 0 ? all.clean : all.noisy[s][k - 1])[m].score;
        line.x.push_back(k == 0 ? 0 : 100 * noise.intensities[k - 1]);
        line.y.push_back(score.value);
        line.interval.emplace_back(score.interval.low, score.interval.high);
      }
    }
    page.heading(name);
    page.paragraph(about_mode(noise.sources[s]) + ".");
    const bool units = noise.sources[s] == lx::TypoMode::units;
    page.picture(name,
                 lx::line_chart(lines, {.title = "Noise: " + name,
                                        .x_label = units ? "intensity, % of the numbers" : "intensity, % of the words",
                                        .y_label = metric,
                                        .y_range = range}),
                 lx::series_csv(lines),
                 lx::cat("Mean of ", noise.repeats, noise.repeats == 1 ? " copy" : " copies", "; the band is the ",
                         lx::short_number(100 * noise.bootstrap.level), " % interval of the bootstrap over the test examples."));
    NoiseTable table = noise_table(models, all, noise, s);
    table.map([](const std::string& text) { return lx::escape_xml(text); });
    page.table(table.header, table.rows);
  }
}

}  // namespace program
