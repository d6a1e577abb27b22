// SPDX-License-Identifier: MIT
// From scores of pairs of rows to matches: one-to-one assignments and clusters.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// A left row, a right row and how well they match. Two rows of one table for clusters().
struct ScoredPair {
  std::size_t left = 0, right = 0;
  double score = 0;
};

/// The subset of the pairs with the largest sum of scores in which each left and each right row occurs at most once: the indices of its
/// pairs in ascending order. Pairs with a score of 0 or less are never chosen, so subtract the threshold first. Of a pair given twice the
/// larger score counts. Of several best subsets, the result is one that depends on the order of the pairs alone.
/// Successive shortest augmenting paths with potentials on the sparse graph: O(left rows * pairs * log(pairs)) at worst, but a path stays
/// in its component of the graph, and the components of candidate pairs are small. Errors: a score is not finite.
std::vector<std::size_t> one_to_one(std::span<const ScoredPair> pairs);

struct ClusterOptions {
  double cut = 0;            // pairs with at least this score connect their rows
  std::size_t max_size = 0;  // 0: no limit
};

/// The clusters of rows 0 ... rows - 1 that the pairs connect (transitive closure, that is single linkage at the cut): for each row the
/// number of its cluster; clusters are numbered by their first row. The strongest pairs connect first (of equal ones the earlier), and a
/// pair whose cluster would have more than max_size rows is left out. Errors: a score is not finite; a row is not below `rows`.
std::vector<std::size_t> clusters(std::span<const ScoredPair> pairs, std::size_t rows, const ClusterOptions& options = {});

/// Numbers for clusters that stay the same while rows come and go. clusters: of each row (clusters()); earlier: the number that the cluster
/// of the row had, nothing for a new row. The pair of a cluster and an earlier number with the most rows in common is taken first (of equal
/// ones the smaller number, then the cluster with the earlier row), and no cluster or number twice. So where a cluster was split, the part
/// with the most rows keeps the number, and where clusters were joined, the number of the one with the most rows stays. Clusters without an
/// earlier number get next, next + 1, ... in the order of their first rows. Returns the number of each row.
/// Errors: lists of different lengths; an earlier number is not below next.
std::vector<std::size_t> lasting_numbers(std::span<const std::size_t> clusters, std::span<const std::optional<std::size_t>> earlier,
                                         std::size_t next);

namespace detail {
/// Errors: a score is not finite.
void check_scores(const char* where, std::span<const ScoredPair> pairs);
}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "lexformer/core/error.hpp"

namespace lexformer {

namespace detail {

LEXFORMER_INLINE void check_scores(const char* where, std::span<const ScoredPair> pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (!std::isfinite(pairs[i].score)) fail(where, "the score of pair ", i, " is ", pairs[i].score, "; scores must be finite");
}

/// The assignment as a shortest path problem: a left row takes a right row at the cost -score, or stays alone at the cost 0. Left rows are
/// added one by one. The path that adds row l alternates between pairs that are taken and pairs that are not, and ends at a free right row
/// or at a left row that stays alone from then on. Potentials u (left), v (right) keep the reduced costs -score - u - v of all pairs, and
/// 0 - u of staying alone, at 0 or more, and at exactly 0 for what is taken; so Dijkstra's algorithm finds the path.
class SparseAssignment {
 public:
  SparseAssignment(std::span<const ScoredPair> pairs, std::size_t lefts, std::size_t rights)
      : pairs_(pairs),
        edges_(lefts),
        u_(lefts, 0),
        v_(rights, 0),
        left_of_(rights, none),
        pair_of_(lefts, none),
        distance_(rights, infinity),
        via_(rights, none),
        closed_(rights, false) {
    for (std::size_t i = 0; i < pairs.size(); ++i)
      if (pairs[i].score > 0) edges_[pairs[i].left].push_back(i);
  }

  std::vector<std::size_t> solve() {
    for (std::size_t left = 0; left < edges_.size(); ++left)
      if (!edges_[left].empty()) add(left);
    std::vector<std::size_t> taken;
    for (const std::size_t pair : pair_of_)
      if (pair != none) taken.push_back(pair);
    std::sort(taken.begin(), taken.end());
    return taken;
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  void add(std::size_t start) {
    // The largest potential that leaves no cost below 0; the other rows' potentials hold already.
    u_[start] = 0;
    for (const std::size_t e : edges_[start]) u_[start] = std::min(u_[start], -pairs_[e].score - v_[pairs_[e].right]);
    using Entry = std::pair<double, std::size_t>;  // distance, right row
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    std::vector<std::size_t> seen, done;                   // right rows
    std::vector<Entry> visited{{0.0, start}};              // distance, left row
    double best = -u_[start];                              // the shortest path that ends with a left row staying alone
    std::size_t alone = start, last = none, left = start;  // that row; the free right row at the end of a shorter path
    double at = 0;
    for (;;) {
      for (const std::size_t e : edges_[left]) {
        const std::size_t right = pairs_[e].right;
        const double distance = at + (-pairs_[e].score - u_[left] - v_[right]);
        if (closed_[right] || distance >= distance_[right] || distance >= best) continue;
        if (distance_[right] == infinity) seen.push_back(right);
        distance_[right] = distance;
        via_[right] = e;
        open.push({distance, right});
      }
      std::size_t right = none;
      while (!open.empty() && right == none) {
        const auto [distance, candidate] = open.top();
        open.pop();
        if (distance == distance_[candidate]) right = candidate, at = distance;
      }
      if (right == none || at >= best) break;
      if (left_of_[right] == none) {
        last = right;
        best = at;
        break;
      }
      done.push_back(right);
      closed_[right] = true;
      left = left_of_[right];
      visited.emplace_back(at, left);
      if (at - u_[left] < best) best = at - u_[left], alone = left;
    }
    for (const auto& [distance, row] : visited) u_[row] += best - distance;
    for (const std::size_t right : done) v_[right] -= best - distance_[right];
    if (last == none && alone != start) {  // the row gives its right row to the path
      last = pairs_[pair_of_[alone]].right;
      pair_of_[alone] = none;
    }
    while (last != none) {  // along the path back to the start
      const std::size_t pair = via_[last], row = pairs_[pair].left;
      const std::size_t before = pair_of_[row] == none ? none : pairs_[pair_of_[row]].right;
      left_of_[last] = row;
      pair_of_[row] = pair;
      last = row == start ? none : before;
    }
    for (const std::size_t right : seen) distance_[right] = infinity, closed_[right] = false;
  }

  std::span<const ScoredPair> pairs_;
  std::vector<std::vector<std::size_t>> edges_;  // of a left row: its pairs
  std::vector<double> u_, v_;
  std::vector<std::size_t> left_of_, pair_of_;  // of a right row: the left row that has it; of a left row: its pair
  std::vector<double> distance_;
  std::vector<std::size_t> via_;  // of a right row: the pair by which the path reaches it
  std::vector<bool> closed_;
};

}  // namespace detail

LEXFORMER_INLINE std::vector<std::size_t> one_to_one(std::span<const ScoredPair> pairs) {
  detail::check_scores("one_to_one", pairs);
  std::size_t lefts = 0, rights = 0;
  for (const auto& p : pairs) {
    lefts = std::max(lefts, p.left + 1);
    rights = std::max(rights, p.right + 1);
  }
  return detail::SparseAssignment(pairs, lefts, rights).solve();
}

LEXFORMER_INLINE std::vector<std::size_t> clusters(std::span<const ScoredPair> pairs, std::size_t rows, const ClusterOptions& options) {
  detail::check_scores("clusters", pairs);
  std::vector<std::size_t> order, parent(rows), size(rows, 1);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (std::max(pairs[i].left, pairs[i].right) >= rows)
      fail("clusters", "pair ", i, " has row ", std::max(pairs[i].left, pairs[i].right), " of ", rows);
    if (pairs[i].score >= options.cut) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return pairs[a].score > pairs[b].score; });
  const auto root = [&](std::size_t row) {
    while (parent[row] != row) row = parent[row] = parent[parent[row]];
    return row;
  };
  for (const std::size_t i : order) {
    std::size_t a = root(pairs[i].left), b = root(pairs[i].right);
    if (a == b || (options.max_size > 0 && size[a] + size[b] > options.max_size)) continue;
    if (size[a] < size[b]) std::swap(a, b);
    parent[b] = a;
    size[a] += size[b];
  }
  const std::size_t unnumbered = rows;
  std::vector<std::size_t> number(rows, unnumbered), cluster(rows);
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t& n = number[root(row)];
    if (n == unnumbered) n = count++;
    cluster[row] = n;
  }
  return cluster;
}

LEXFORMER_INLINE std::vector<std::size_t> lasting_numbers(std::span<const std::size_t> clusters,
                                                          std::span<const std::optional<std::size_t>> earlier, std::size_t next) {
  if (clusters.size() != earlier.size())
    fail("lasting_numbers", "there are ", clusters.size(), " clusters and ", earlier.size(), " earlier numbers");
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> common;  // cluster, earlier number -> rows
  std::map<std::size_t, std::size_t> first;                           // row of a cluster
  for (std::size_t row = 0; row < clusters.size(); ++row) {
    first.emplace(clusters[row], row);
    if (!earlier[row]) continue;
    if (*earlier[row] >= next) fail("lasting_numbers", "row ", row, " has the number ", *earlier[row], ", not below ", next);
    ++common[{clusters[row], *earlier[row]}];
  }
  std::vector<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>> order;  // fewer rows in common, number, first row, cluster
  for (const auto& [pair, rows] : common) order.emplace_back(clusters.size() - rows, pair.second, first.at(pair.first), pair.first);
  std::sort(order.begin(), order.end());
  std::map<std::size_t, std::size_t> number;  // of a cluster
  std::set<std::size_t> taken;
  for (const auto& [fewer, wanted, row, cluster] : order)
    if (!number.contains(cluster) && taken.insert(wanted).second) number.emplace(cluster, wanted);
  std::vector<std::size_t> numbers;
  for (const std::size_t cluster : clusters) {
    const auto [place, added] = number.emplace(cluster, next);
    if (added) ++next;
    numbers.push_back(place->second);
  }
  return numbers;
}

}  // namespace lexformer
#endif
