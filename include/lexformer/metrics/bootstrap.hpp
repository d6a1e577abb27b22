// SPDX-License-Identifier: MIT
// The bootstrap: confidence intervals of a statistic over the test examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"

namespace lexformer {

struct BootstrapOptions {
  std::size_t resamples = 2000;
  double level = 0.95;  // confidence level
  std::uint64_t seed = 1;
};

struct Interval {
  double low = 0.0, high = 0.0;
};

namespace detail {

/// The interval that holds `level` of the values, equally many below and above it; sorts them.
Interval middle_interval(std::vector<double>& values, double level);

}  // namespace detail

/// Percentile intervals (Efron & Tibshirani 1993, chapter 13). Each resample draws n of the n examples with replacement.
/// statistic(rows), where rows are the indices of the drawn examples, returns a fixed number of values. The interval of each value spans
/// its (1 - level)/2 to its (1 + level)/2 quantile over the resamples. For a paired bootstrap, return the difference of two systems on
/// the same rows. The statistic is called from several threads; the result does not depend on their number.
template <class Statistic>
std::vector<Interval> bootstrap_intervals(std::size_t n, const BootstrapOptions& options, Statistic&& statistic) {
  if (n == 0) fail("bootstrap", "there are no examples");
  if (options.resamples == 0) fail_usage("bootstrap", "0 resamples; expected at least 1, better 1000 or more");
  if (!(options.level > 0 && options.level < 1)) fail_usage("bootstrap", "a level of ", options.level, "; expected one between 0 and 1");
  std::vector<std::vector<double>> figures(options.resamples);
  parallel_for(options.resamples, 1, [&](std::size_t begin, std::size_t end) {
    std::vector<std::size_t> rows(n);
    for (std::size_t r = begin; r < end; ++r) {
      RandomStream random(options.seed, random_site::bootstrap, static_cast<std::uint32_t>(r));
      for (auto& row : rows) row = static_cast<std::size_t>(random.below(n));
      figures[r] = statistic(std::span<const std::size_t>(rows));
    }
  });
  std::vector<Interval> intervals;
  std::vector<double> values(options.resamples);
  for (std::size_t k = 0; k < figures[0].size(); ++k) {
    for (std::size_t r = 0; r < values.size(); ++r) values[r] = figures[r].at(k);
    intervals.push_back(detail::middle_interval(values, options.level));
  }
  return intervals;
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>

namespace lexformer::detail {

LEXFORMER_INLINE Interval middle_interval(std::vector<double>& values, double level) {
  std::sort(values.begin(), values.end());
  const auto outside = static_cast<std::size_t>(std::floor((1 - level) / 2 * static_cast<double>(values.size())));
  return {values[outside], values[values.size() - 1 - outside]};
}

}  // namespace lexformer::detail
#endif
