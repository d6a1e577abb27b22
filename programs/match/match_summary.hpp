// SPDX-License-Identifier: MIT
// What a page about a run of `match` needs of its pairs. It is fed while the pairs are written, and keeps the matches, the best candidate
// of each record and counts, not the pairs.
#pragma once

#include <array>
#include <cmath>
#include <lexformer/tables/matcher.hpp>
#include <map>
#include <numeric>
#include <tuple>

#include "cli/program.hpp"

namespace program {

/// Counts of matches and other pairs by their value: 20 bins from 0 to 1. A wider range of values doubles the width of the bins until there
/// are 40 at most, so the counts do not depend on the order of the values.
class ValueHistogram {
 public:
  void add(double value, bool match) {
    lowest_ = bins_.empty() ? value : std::min(lowest_, value);
    highest_ = bins_.empty() ? value : std::max(highest_, value);
    ++bins_[std::floor(value * per_unit_)][match ? 0 : 1];
    while (bins_.rbegin()->first - bins_.begin()->first >= 40) widen();
  }
  bool empty() const { return bins_.empty(); }
  /// Edges of the bins, and the counts of matches and of other pairs in each. Values from 0 to 1 have the bins of all this range; the last
  /// one has the value 1.
  struct Bars {
    std::vector<double> edges;
    std::vector<std::vector<double>> counts;
  };
  Bars bars() const {
    const bool shares = lowest_ >= 0 && highest_ <= 1;
    const double first = shares ? 0 : bins_.begin()->first, last = shares ? per_unit_ - 1 : bins_.rbegin()->first;
    Bars out{{first / per_unit_}, {{}, {}}};
    for (std::size_t k = 0; first + static_cast<double>(k) <= last; ++k) {
      const double bin = first + static_cast<double>(k);
      out.edges.push_back((bin + 1) / per_unit_);
      for (std::size_t kind = 0; kind < 2; ++kind) {
        std::size_t count = count_in(bin, kind);
        if (shares && bin == last) count += count_in(bin + 1, kind);
        out.counts[kind].push_back(static_cast<double>(count));
      }
    }
    return out;
  }

 private:
  std::size_t count_in(double bin, std::size_t kind) const {
    const auto found = bins_.find(bin);
    return found == bins_.end() ? 0 : found->second[kind];
  }
  void widen() {
    per_unit_ /= 2;
    std::map<double, std::array<std::size_t, 2>> wide;
    for (const auto& [bin, counts] : bins_)
      for (std::size_t kind = 0; kind < 2; ++kind) wide[std::floor(bin / 2)][kind] += counts[kind];
    bins_ = std::move(wide);
  }

  std::map<double, std::array<std::size_t, 2>> bins_;  // number of the bin -> matches, other pairs
  double per_unit_ = 20, lowest_ = 0, highest_ = 0;
};

/// Records of a table that belong together, and the partner that they share, if they do.
struct RecordGroup {
  std::vector<std::uint32_t> records;
  std::uint32_t partner = 0;
};

/// Groups of two records or more: how many, how many records are in one, and the largest ones.
struct RecordGroups {
  static constexpr std::size_t most = 5;
  std::size_t count = 0, records = 0;
  std::vector<RecordGroup> largest{};

  void add(RecordGroup group) {
    if (group.records.size() < 2) return;
    ++count;
    const auto before = [&](const RecordGroup& other) { return other.records.size() >= group.records.size(); };
    largest.insert(std::partition_point(largest.begin(), largest.end(), before), std::move(group));
    if (largest.size() > most) largest.pop_back();
  }
};

class MatchSummary {
 public:
  /// A pair of records by their places, and its probability; without probabilities its score.
  struct Pair {
    std::uint32_t left, right;
    double value;
  };
  /// Both lists hold different pairs.
  struct Examples {
    std::vector<Pair> sure, doubtful;
    std::size_t equal = 0;  // matches with equal texts
  };
  static constexpr std::size_t most_examples = 10;

  explicit MatchSummary(const lx::RecordPairs& records)
      : records_(records),
        partners_{std::vector<std::uint32_t>(records.left().records.size()),
                  std::vector<std::uint32_t>(records.one_table() ? 0 : records.right().records.size())},
        best_(records.left().records.size()) {}

  /// Adds the pairs of one left record, the likeliest first.
  void add(const std::vector<lx::Match>& row) {
    for (const lx::Match& m : row) {
      const double value = m.probability.value_or(m.score);
      const auto left = static_cast<std::uint32_t>(m.left), right = static_cast<std::uint32_t>(m.right);
      ++pairs_;
      all_.add(value, m.match);
      consider(left, {right, value, m.match, true});
      if (records_.one_table()) consider(right, {left, value, m.match, true});
      if (!m.match) continue;
      matches_.push_back({left, right, value});
      ++partners_[0][left];
      ++partners_[records_.one_table() ? 0 : 1][right];
    }
  }

  std::size_t pairs() const { return pairs_; }
  const std::vector<Pair>& matches() const { return matches_; }
  /// Of all pairs.
  const ValueHistogram& all() const { return all_; }
  /// Of the best candidate of each left record; of all records if there is one table.
  ValueHistogram best() const {
    ValueHistogram out;
    for (const Best& b : best_)
      if (b.found) out.add(b.value, b.match);
    return out;
  }
  /// Records of a table (0: left) with so many partners or more.
  std::size_t with_partners(std::size_t table, std::uint32_t least) const {
    const auto& of = partners_.at(table);
    return static_cast<std::size_t>(std::count_if(of.begin(), of.end(), [&](auto n) { return n >= least; }));
  }
  /// Left records without a candidate.
  std::size_t without_candidate() const {
    return static_cast<std::size_t>(std::count_if(best_.begin(), best_.end(), [](const Best& b) { return !b.found; }));
  }
  double mean_value() const {
    double sum = 0;
    for (const Pair& m : matches_) sum += m.value;
    return matches_.empty() ? 0 : sum / static_cast<double>(matches_.size());
  }

  /// The matches with the highest values, those with different texts first, and the ones with the lowest.
  Examples examples() const {
    const auto equal = [&](const Pair& m) { return records_.left_texts()[m.left] == records_.right_texts()[m.right]; };
    const auto places = [](const Pair& m) { return std::tuple(m.left, m.right); };
    Examples out;
    auto pairs = matches_;
    const std::size_t doubtful = std::min(most_examples, pairs.size() / 2), sure = std::min(most_examples, pairs.size() - doubtful);
    const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>(doubtful);
    std::partial_sort(pairs.begin(), middle, pairs.end(),
                      [&](const Pair& a, const Pair& b) { return std::tuple(a.value, places(a)) < std::tuple(b.value, places(b)); });
    out.doubtful.assign(pairs.begin(), middle);
    std::partial_sort(middle, middle + static_cast<std::ptrdiff_t>(sure), pairs.end(), [&](const Pair& a, const Pair& b) {
      return std::tuple(equal(a), -a.value, places(a)) < std::tuple(equal(b), -b.value, places(b));
    });
    out.sure.assign(middle, middle + static_cast<std::ptrdiff_t>(sure));
    out.equal = static_cast<std::size_t>(std::count_if(matches_.begin(), matches_.end(), equal));
    return out;
  }

  /// Left records without a partner whose best candidate has the highest value, with this candidate.
  std::vector<Pair> unmatched() const {
    std::vector<Pair> out;
    for (std::uint32_t i = 0; i < best_.size(); ++i) {
      const Best& b = best_[i];
      if (!b.found || partners_[0][i] > 0) continue;
      // Two records of one table may be the best candidates of each other: the pair is shown once.
      if (records_.one_table() && b.partner < i && partners_[0][b.partner] == 0 && best_[b.partner].partner == i) continue;
      out.push_back({i, b.partner, b.value});
    }
    const std::size_t kept = std::min(most_examples, out.size());
    std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(kept), out.end(),
                      [](const Pair& a, const Pair& b) { return std::tuple(-a.value, a.left) < std::tuple(-b.value, b.left); });
    out.resize(kept);
    return out;
  }

  /// Records of a table (0: left) that have the same partner.
  RecordGroups sharing(std::size_t table) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_partner;
    for (const Pair& m : matches_) by_partner.push_back(table == 0 ? std::pair(m.right, m.left) : std::pair(m.left, m.right));
    return grouped(std::move(by_partner), partners_.at(table).size());
  }
  /// Records of a table (0: left) with the same text, which is not empty.
  RecordGroups equal_texts(std::size_t table) const {
    const auto& texts = table == 0 ? records_.left_texts() : records_.right_texts();
    std::vector<std::uint32_t> order(texts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::erase_if(order, [&](auto i) { return texts[i].empty(); });
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return std::tie(texts[a], a) < std::tie(texts[b], b); });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_text;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool same = i > 0 && texts[order[i]] == texts[order[i - 1]];
      by_text.emplace_back(same ? by_text.back().first : static_cast<std::uint32_t>(i), order[i]);
    }
    return grouped(std::move(by_text), texts.size());
  }
  /// One table: the records that matches connect, directly or through others.
  RecordGroups duplicates() const {
    std::vector<std::uint32_t> root(best_.size());
    std::iota(root.begin(), root.end(), 0U);
    const auto find = [&](std::uint32_t i) {
      while (root[i] != i) i = root[i] = root[root[i]];
      return i;
    };
    for (const Pair& m : matches_) {
      const auto a = find(m.left), b = find(m.right);
      root[std::max(a, b)] = std::min(a, b);
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_root;
    for (std::uint32_t i = 0; i < root.size(); ++i) by_root.emplace_back(find(i), i);
    return grouped(std::move(by_root), root.size());
  }

 private:
  struct Best {
    std::uint32_t partner = 0;
    double value = 0;
    bool match = false, found = false;
  };
  void consider(std::uint32_t record, const Best& pair) {
    Best& best = best_[record];
    if (!best.found || std::tuple(pair.match, pair.value) > std::tuple(best.match, best.value)) best = pair;
  }
  /// Groups of records with the same key, from pairs (key, record).
  static RecordGroups grouped(std::vector<std::pair<std::uint32_t, std::uint32_t>> keys, std::size_t records) {
    std::sort(keys.begin(), keys.end());
    RecordGroups out;
    std::vector<bool> member(records);
    for (std::size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
      RecordGroup group{{}, keys[begin].first};
      for (; end < keys.size() && keys[end].first == group.partner; ++end) group.records.push_back(keys[end].second);
      if (group.records.size() > 1)
        for (const auto i : group.records) member[i] = true;
      out.add(std::move(group));
    }
    out.records = static_cast<std::size_t>(std::count(member.begin(), member.end(), true));
    return out;
  }

  const lx::RecordPairs& records_;
  std::size_t pairs_ = 0;
  ValueHistogram all_;
  std::vector<Pair> matches_;
  std::array<std::vector<std::uint32_t>, 2> partners_;  // of each record of a table: how many
  std::vector<Best> best_;                              // of each left record; a match before other pairs
};

}  // namespace program
