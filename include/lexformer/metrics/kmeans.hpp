// SPDX-License-Identifier: MIT
// K-means and the purity of clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer {

struct KMeansOptions {
  std::size_t clusters = 8, starts = 10;
  std::uint64_t seed = 1;
};

struct Clustering {
  std::vector<std::int32_t> cluster;  // of each row, from 0
  double inertia = 0;                 // sum over the rows of the squared distance to the center of their cluster
};

/// Clusters the rows of (rows, dimension) by Lloyd's algorithm: rows join the cluster with the nearest center, centers become the means of
/// their clusters, until no row changes its cluster, but at most 300 times. A cluster that loses all rows keeps its center.
/// Initial centers are rows. The first is drawn evenly. For each other one, 2 + log(clusters) rows are drawn with a probability
/// proportional to the squared distance to the nearest center before it; the one that makes the sum of these distances smallest is taken
/// (greedy k-means++ as in scikit-learn; Arthur & Vassilvitskii 2007). Returns all starts in order. The result does not depend on the
/// number of threads. Errors: the shape has not two sizes above 0; a number is not finite; there are no clusters, more clusters than rows,
/// or no starts.
std::vector<Clustering> kmeans(const Tensor<float>& rows, const KMeansOptions& options = {});

/// The start with the smallest inertia, the first of equal ones. Errors: there are no starts.
const Clustering& best_start(const std::vector<Clustering>& starts);

/// Purity: (1 / N) sum over the clusters of the number of rows with the most frequent label of the cluster; from 0 to 1.
/// Errors: the sizes differ; there are no rows.
double purity(std::span<const std::int32_t> clusters, std::span<const std::int32_t> labels);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "lexformer/core/error.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/kernels/row.hpp"

namespace lexformer {

namespace detail {

inline double squared_distance(const double* a, const double* b, std::size_t size) {
  return row::lane_sum<double>(size, [=](std::size_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
}

/// One start of k-means on n rows of d numbers.
class KMeansStart {
 public:
  KMeansStart(std::span<const double> rows, std::size_t d, std::size_t clusters, RandomStream random)
      : rows_(rows), d_(d), nearest_(rows.size() / d, std::numeric_limits<double>::infinity()) {
    clustering_.cluster.assign(nearest_.size(), -1);
    add_center({static_cast<std::size_t>(random.below(nearest_.size()))});
    std::vector<std::size_t> candidates(static_cast<std::size_t>(2 + std::log(static_cast<double>(clusters))));
    while (centers_.size() < clusters * d_) {
      for (auto& candidate : candidates) candidate = draw(random);
      add_center(candidates);
    }
  }

  Clustering run() {
    for (std::size_t i = 0; assign() && i < 300; ++i) move_centers();
    for (const double distance : nearest_) clustering_.inertia += distance;
    return std::move(clustering_);
  }

 private:
  const double* row(std::size_t i) const { return rows_.data() + i * d_; }

  /// Adds the candidate with the smallest sum of nearest_ after it, the first of equal ones.
  void add_center(const std::vector<std::size_t>& candidates) {
    std::vector<double> distances(nearest_.size()), best;
    double least = std::numeric_limits<double>::infinity();
    std::size_t chosen = 0;
    for (const std::size_t candidate : candidates) {
      double sum = 0;
      for (std::size_t i = 0; i < nearest_.size(); ++i)
        sum += distances[i] = std::min(nearest_[i], squared_distance(row(i), row(candidate), d_));
      if (sum >= least) continue;
      least = sum;
      chosen = candidate;
      best = distances;
    }
    centers_.insert(centers_.end(), row(chosen), row(chosen) + d_);
    nearest_ = std::move(best);
  }

  /// A row, with a probability proportional to nearest_; any row if all are 0.
  std::size_t draw(RandomStream& random) const {
    double total = 0;
    for (const double distance : nearest_) total += distance;
    if (total == 0) return static_cast<std::size_t>(random.below(nearest_.size()));
    double left = random.uniform() * total;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < nearest_.size(); ++i) {
      if (nearest_[i] == 0) continue;
      chosen = i;
      if ((left -= nearest_[i]) < 0) break;
    }
    return chosen;
  }

  /// Moves each row to its nearest center, the first of equal ones; returns whether a row has changed its cluster.
  bool assign() {
    bool changed = false;
    for (std::size_t i = 0; i < nearest_.size(); ++i) {
      std::int32_t best = 0;
      nearest_[i] = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c * d_ < centers_.size(); ++c)
        if (const double distance = squared_distance(row(i), centers_.data() + c * d_, d_); distance < nearest_[i]) {
          nearest_[i] = distance;
          best = static_cast<std::int32_t>(c);
        }
      changed = changed || best != clustering_.cluster[i];
      clustering_.cluster[i] = best;
    }
    return changed;
  }

  void move_centers() {
    std::vector<double> sums(centers_.size());
    std::vector<std::size_t> counts(centers_.size() / d_);
    for (std::size_t i = 0; i < nearest_.size(); ++i) {
      const auto c = static_cast<std::size_t>(clustering_.cluster[i]);
      ++counts[c];
      for (std::size_t j = 0; j < d_; ++j) sums[c * d_ + j] += row(i)[j];
    }
    for (std::size_t c = 0; c < counts.size(); ++c)
      for (std::size_t j = 0; counts[c] > 0 && j < d_; ++j) centers_[c * d_ + j] = sums[c * d_ + j] / static_cast<double>(counts[c]);
  }

  std::span<const double> rows_;
  std::size_t d_;
  std::vector<double> nearest_;  // squared distance of each row to the nearest center
  std::vector<double> centers_;
  Clustering clustering_;
};

}  // namespace detail

LEXFORMER_INLINE std::vector<Clustering> kmeans(const Tensor<float>& rows, const KMeansOptions& options) {
  if (rows.rank() != 2 || rows.size() == 0) fail("kmeans", "the rows have shape ", rows.shape(), ", expected (rows, dimension)");
  if (options.clusters == 0 || options.clusters > rows.dim(0))
    fail("kmeans", options.clusters, " clusters of ", rows.dim(0), " rows; expected at least 1 and at most as many as rows");
  if (options.starts == 0) fail("kmeans", "0 starts; expected at least 1");
  if (!std::all_of(rows.span().begin(), rows.span().end(), [](float x) { return std::isfinite(x); }))
    fail_numeric("kmeans", "a number is not finite");
  const std::vector<double> values(rows.span().begin(), rows.span().end());
  std::vector<Clustering> starts(options.starts);
  parallel_for(starts.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      const RandomStream random(options.seed, random_site::clusters, static_cast<std::uint32_t>(s));
      starts[s] = detail::KMeansStart(values, rows.dim(1), options.clusters, random).run();
    }
  });
  return starts;
}

LEXFORMER_INLINE const Clustering& best_start(const std::vector<Clustering>& starts) {
  if (starts.empty()) fail("best_start", "there are no starts");
  return *std::min_element(starts.begin(), starts.end(), [](const auto& a, const auto& b) { return a.inertia < b.inertia; });
}

LEXFORMER_INLINE double purity(std::span<const std::int32_t> clusters, std::span<const std::int32_t> labels) {
  if (clusters.empty() || clusters.size() != labels.size())
    fail("purity", clusters.size(), " rows with clusters, ", labels.size(), " with labels; expected as many, at least 1");
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> counts;  // of (cluster, label)
  for (std::size_t i = 0; i < clusters.size(); ++i) ++counts[{clusters[i], labels[i]}];
  std::map<std::int32_t, std::size_t> largest;
  for (const auto& [cell, count] : counts) largest[cell.first] = std::max(largest[cell.first], count);
  std::size_t right = 0;
  for (const auto& [cluster, count] : largest) right += count;
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

}  // namespace lexformer
#endif
