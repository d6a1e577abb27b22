// SPDX-License-Identifier: MIT
// Scores of models on texts with noise, and what follows from them: means, bootstrap intervals, losses.
#pragma once

#include <map>

#include "cli/compared_models.hpp"
#include "cli/trained_model.hpp"
#include "measure/comparison.hpp"
#include "measure/noise_options.hpp"

namespace program {

/// How much of some texts a source of noise changed. Words are separated by whitespace; a word counts as changed if the text with noise has
/// it less often.
struct NoiseChanges {
  std::size_t words = 0, changed_words = 0, texts = 0, changed_texts = 0;

  void add(const std::string& clean, const std::string& noisy) {
    std::map<std::string, std::ptrdiff_t> missing;
    const auto count = [&](const std::string& text, std::ptrdiff_t sign) {
      std::size_t all = 0;
      for (std::size_t begin = 0, i = 0; i <= text.size();) {
        const bool end = i == text.size();
        const lx::Decoded next = end ? lx::Decoded{U' ', 1} : lx::decode_utf8(text, i);
        if (lx::is_whitespace(next.character)) {
          if (i > begin) missing[text.substr(begin, i - begin)] += sign;
          all += i > begin ? 1u : 0u;
          begin = i + next.bytes;
        }
        i += next.bytes;
      }
      return all;
    };
    ++texts;
    words += count(clean, 1);
    if (clean == noisy) return;
    ++changed_texts;
    count(noisy, -1);
    for (const auto& entry : missing) changed_words += static_cast<std::size_t>(std::max<std::ptrdiff_t>(entry.second, 0));
  }
  double word_share() const { return words == 0 ? 0 : static_cast<double>(changed_words) / static_cast<double>(words); }
  lx::Json json() const { return {{"words", words}, {"changed_words", changed_words}, {"texts", texts}, {"changed_texts", changed_texts}}; }
};

/// The copies of one source and intensity.
struct NoisyCopies {
  std::vector<lx::Evaluation> copies;
  NoiseChanges changes;  // summed over the copies
};

/// The measurements of one model.
struct MeasuredModel {
  std::string name, path;
  double threshold = 0.5;
  lx::Task task{};
  std::vector<double> labels{};  // classes, or targets of a regression
  lx::Evaluation clean{};
  std::vector<std::vector<NoisyCopies>> noisy{};  // by source and intensity
};

/// Evaluates a model, whose task is in `into`, on clean texts and on all copies with noise. step(source): called before each source.
template <class Step>
void measure(MeasuredModel& into, const lx::Scorer& model, const std::string& file, const std::vector<lx::PairExample>& examples,
             const NoiseOptions& noise, std::size_t batch, Step&& step) {
  for (const auto& e : examples)
    into.labels.push_back(into.task.kind == lx::TaskKind::regression ? static_cast<double>(e.target) : static_cast<double>(e.label));
  into.clean = lx::evaluate(model, file, examples, into.threshold, batch);
  for (const auto source : noise.sources) {
    step(source);
    auto& of_source = into.noisy.emplace_back();
    for (const double share : noise.intensities) {
      auto& cell = of_source.emplace_back();
      for (std::size_t r = 0; r < noise.repeats; ++r) {
        const auto texts = lx::with_typos(examples, noise.copy(r), noise.typos(source, share));
        for (std::size_t i = 0; i < examples.size(); ++i) {
          cell.changes.add(examples[i].left, texts[i].left);
          if (into.task.texts == 2) cell.changes.add(examples[i].right, texts[i].right);
        }
        const std::string where = lx::cat(file, " with ", lx::name_of(source), " ", share, ", copy ", r + 1);
        cell.copies.push_back(lx::evaluate(model, where, texts, into.threshold, batch));
      }
    }
  }
}

/// The metric that `evaluate` compares models by, as a function of scores and labels.
inline Metric primary_of(const lx::Task& task) {
  if (task.kind == lx::TaskKind::regression) return metrics_of(Compared::regression)[0];
  if (task.labels > 2) return metrics_of(Compared::more_classes)[0];
  return metrics_of(Compared::two_classes)[task.has_threshold() ? 0 : 2];
}

/// A number with its interval, in percent.
struct Bounded {
  double value = 0;
  lx::Interval interval{};

  lx::Json json() const { return {{"value", value}, {"low", interval.low}, {"high", interval.high}}; }
};

/// One model on the clean texts, or with one source and intensity: mean over the copies, its difference to the clean texts and to the first
/// model (both 0 where there is none).
struct RobustnessPoint {
  Bounded score, loss, against;
  double deviation = 0;  // of the score over the copies
  std::vector<double> values{};
};

/// Points of all models, from the same resamples. source, intensity: places in `noisy`; clean: both npos.
inline std::vector<RobustnessPoint> points_of(const std::vector<MeasuredModel>& models, std::size_t source, std::size_t intensity,
                                              const lx::BootstrapOptions& options) {
  const Metric metric = primary_of(models[0].task);
  const auto on = [&](const MeasuredModel& m, const lx::Evaluation& e, std::span<const std::size_t> rows) {
    std::vector<double> scores, labels;
    for (const std::size_t row : rows) {
      scores.push_back(e.scores[row]);
      labels.push_back(m.labels[row]);
    }
    return metric.of(scores, labels, m.threshold);
  };
  const auto copies = [&](const MeasuredModel& m) {
    return source == std::string::npos ? std::vector<const lx::Evaluation*>{&m.clean} : [&] {
      std::vector<const lx::Evaluation*> all;
      for (const auto& e : m.noisy[source][intensity].copies) all.push_back(&e);
      return all;
    }();
  };
  const auto statistic = [&](std::span<const std::size_t> rows) {
    std::vector<double> values;  // for each model: score, difference to clean, difference to the first model
    for (const auto& m : models) {
      double mean = 0;
      const auto all = copies(m);
      for (const auto* e : all) mean += on(m, *e, rows) / static_cast<double>(all.size());
      const double first = values.empty() ? mean : values[0];
      values.insert(values.end(), {mean, mean - on(m, m.clean, rows), mean - first});
    }
    return values;
  };
  std::vector<std::size_t> every(models[0].labels.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  const auto values = statistic(every);
  const auto intervals = lx::bootstrap_intervals(every.size(), options, statistic);
  std::vector<RobustnessPoint> points;
  for (std::size_t m = 0; m < models.size(); ++m) {
    RobustnessPoint p;
    p.score = {values[3 * m], intervals[3 * m]};
    p.loss = {values[3 * m + 1], intervals[3 * m + 1]};
    p.against = {values[3 * m + 2], intervals[3 * m + 2]};
    for (const auto* e : copies(models[m])) p.values.push_back(on(models[m], *e, every));
    p.deviation = lx::mean_and_deviation(p.values).deviation;
    points.push_back(p);
  }
  return points;
}

/// All points of all models: of the clean texts, and by source and intensity.
struct Robustness {
  std::vector<RobustnessPoint> clean;
  std::vector<std::vector<std::vector<RobustnessPoint>>> noisy;
};

inline Robustness robustness_of(const std::vector<MeasuredModel>& models, const NoiseOptions& noise) {
  Robustness all{points_of(models, std::string::npos, std::string::npos, noise.bootstrap), {}};
  for (std::size_t s = 0; s < noise.sources.size(); ++s) {
    auto& of_source = all.noisy.emplace_back();
    for (std::size_t k = 0; k < noise.intensities.size(); ++k) of_source.push_back(points_of(models, s, k, noise.bootstrap));
  }
  return all;
}

}  // namespace program
