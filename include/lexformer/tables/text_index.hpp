// SPDX-License-Identifier: MIT
// Comparing all texts of two lists by their vectors: groups of equal texts, an inverted index, and the best partners within a block.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lexformer/core/parallel.hpp"
#include "lexformer/tables/best_partners.hpp"
#include "lexformer/tables/blocking_keys.hpp"
#include "lexformer/tables/text_vectors.hpp"

namespace lexformer::detail {

/// The texts of a list in groups of equal vectors and keys, so that equal texts are compared once. The groups are in the order of their
/// keys, then of their first texts.
struct EqualTexts {
  std::size_t first_row;              // of TextVectors: the list's first text
  std::vector<std::uint32_t> rows;    // of TextVectors: the first text of each group
  std::vector<std::uint32_t> starts;  // group g has the texts members[starts[g]] ... members[starts[g + 1] - 1], ascending
  std::vector<std::uint32_t> members;
  std::vector<std::uint32_t> groups;  // of each first text

  /// All texts of a list.
  EqualTexts(const TextVectors& vectors, std::size_t texts, std::size_t list_row, const BlockingKeys& keys)
      : EqualTexts(vectors, numbers(texts), list_row, keys) {}
  /// These texts of a list, each once.
  EqualTexts(const TextVectors& vectors, std::vector<std::uint32_t> some, std::size_t list_row, const BlockingKeys& keys)
      : first_row(list_row), members(std::move(some)), groups(members.empty() ? 0 : 1 + *std::max_element(members.begin(), members.end())) {
    const std::size_t texts = members.size();
    const auto key = [](const TextVectors::Component& c) { return std::pair(c.feature, c.weight); };
    const auto order = [&](std::uint32_t a, std::uint32_t b) -> std::partial_ordering {
      if (const int compared = keys.compare(first_row + a, first_row + b); compared != 0) return compared <=> 0;
      const auto &x = vectors[first_row + a], &y = vectors[first_row + b];
      return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end(),
                                                    [&](const auto& c, const auto& d) { return key(c) <=> key(d); });
    };
    std::sort(members.begin(), members.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto compared = order(a, b);
      return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> firsts;  // first text, and where the group begins in members
    for (std::uint32_t at = 0; at < texts; ++at)
      if (at == 0 || order(members[at - 1], members[at]) != 0) firsts.emplace_back(members[at], at);
    std::sort(firsts.begin(), firsts.end(), [&](const auto& a, const auto& b) {
      const int compared = keys.compare(first_row + a.first, first_row + b.first);
      return compared != 0 ? compared < 0 : a < b;
    });
    const std::vector<std::uint32_t> sorted = std::exchange(members, {});
    for (const auto& [first, at] : firsts) {
      groups[first] = static_cast<std::uint32_t>(rows.size());
      rows.push_back(static_cast<std::uint32_t>(first_row + first));
      starts.push_back(static_cast<std::uint32_t>(members.size()));
      for (std::uint32_t k = at; k < texts && (k == at || order(sorted[k - 1], sorted[k]) == 0); ++k) members.push_back(sorted[k]);
    }
    starts.push_back(static_cast<std::uint32_t>(members.size()));
  }
  std::size_t size() const { return rows.size(); }
  std::uint32_t first(std::size_t group) const { return members[starts[group]]; }
  std::span<const std::uint32_t> of(std::size_t group) const {
    return std::span(members).subspan(starts[group], starts[group + 1] - starts[group]);
  }

 private:
  static std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
};

/// Where blocks of groups begin, and the number of all: a block has at most `most` groups, and ends where the keys change once it has
/// `least`.
inline std::vector<std::size_t> block_bounds(const EqualTexts& texts, const BlockingKeys& keys, std::size_t least, std::size_t most) {
  std::vector<std::size_t> bounds{0};
  for (std::size_t g = 1; g < texts.size(); ++g) {
    const std::size_t size = g - bounds.back();
    if (size == most || (size >= least && keys.compare(texts.rows[g - 1], texts.rows[g]) != 0)) bounds.push_back(g);
  }
  if (texts.size() > 0) bounds.push_back(texts.size());
  return bounds;
}

/// The `most` best texts of partners that are first texts of groups: the highest scores first, of equal scores the earlier text.
inline std::vector<BestPartners::Entry> best_texts(std::span<const BestPartners::Entry> partners, const EqualTexts& texts,
                                                   std::size_t most) {
  std::vector<BestPartners::Entry> all;
  for (std::size_t begin = 0, end = 0; begin < partners.size() && all.size() < most; begin = end) {
    const std::size_t before = all.size();
    for (; end < partners.size() && partners[end].score == partners[begin].score; ++end) {
      const auto group = texts.of(texts.groups[partners[end].partner]);
      for (const std::uint32_t text : group.first(std::min(most - before, group.size()))) all.push_back({partners[begin].score, text});
    }
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  }
  if (all.size() > most) all.resize(most);
  return all;
}

/// An inverted index of groups of texts: for each feature the groups that have it, and their weights.
struct Postings {
  std::vector<std::uint32_t> starts;
  std::vector<std::uint16_t> texts;
  std::vector<float> weights;

  Postings(const TextVectors& vectors, std::span<const std::uint32_t> rows) : starts(vectors.features() + 1, 0) {
    for (const std::uint32_t row : rows)
      for (const auto& c : vectors[row]) ++starts[c.feature + 1];
    for (std::size_t f = 0; f < vectors.features(); ++f) starts[f + 1] += starts[f];
    texts.resize(starts.back());
    weights.resize(starts.back());
    std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
    for (std::size_t t = 0; t < rows.size(); ++t)
      for (const auto& c : vectors[rows[t]]) {
        const std::uint32_t at = next[c.feature]++;
        texts[at] = static_cast<std::uint16_t>(t);
        weights[at] = c.weight;
      }
  }
};

/// Adds what the right groups begin ... end - 1 share with these left groups, ascending, to the best partners of both, as first texts of
/// groups. Pairs whose keys do not agree are left out. With one list both lists of partners are one.
inline void compare_block(const TextVectors& vectors, const BlockingKeys& keys, const EqualTexts& left, const EqualTexts& right,
                          std::span<const std::uint32_t> lefts, std::size_t begin, std::size_t end, bool one_list, BestPartners& left_best,
                          BestPartners& right_best) {
  constexpr std::size_t chunk = 16;                // sums that are compared at once
  const std::size_t shift = one_list ? begin : 0;  // row of right group `begin` in right_best
  const Postings postings(vectors, std::span(right.rows).subspan(begin, end - begin));
  std::vector<float> sums((end - begin + chunk - 1) / chunk * chunk, 0.0f), least(sums.size(), 2.0f);
  std::copy_n(right_best.least() + shift, end - begin, least.begin());
  for (const std::uint32_t i : lefts) {
    if (one_list && i >= end) break;
    for (const auto& c : vectors[left.rows[i]]) {
      const std::uint32_t stop = postings.starts[c.feature + 1];
      for (std::uint32_t p = postings.starts[c.feature]; p < stop; ++p) sums[postings.texts[p]] += c.weight * postings.weights[p];
    }
    for (std::size_t at = 0; at < sums.size(); at += chunk) {
      const float of_left = left_best.least(i);
      int any = 0;
      for (std::size_t j = at; j < at + chunk; ++j) any |= static_cast<int>(sums[j] >= std::min(of_left, least[j]));
      for (std::size_t j = at; any != 0 && j < at + chunk; ++j) {
        if (!(sums[j] >= std::min(left_best.least(i), least[j]))) continue;
        if (one_list && (begin + j < i || (begin + j == i && left.of(i).size() == 1))) continue;
        if (!keys.agree(left.rows[i], right.rows[begin + j])) continue;
        left_best.add(i, {sums[j], right.first(begin + j)});
        if (!one_list || begin + j != i) right_best.add(shift + j, {sums[j], left.first(i)});
        least[j] = right_best.least(shift + j);
      }
      std::fill_n(sums.begin() + static_cast<std::ptrdiff_t>(at), chunk, 0.0f);
    }
  }
}

/// Compares all left groups with all right groups whose keys agree, which is parallel. The best partners of a right group, as first texts
/// of groups, are given to right_done(group, partners), by one thread at a time and in any order; the partners of the left groups are
/// returned, or nothing without a right group. progress is called with the part that is done. one_list: left is right, and the returned
/// partners are of all groups.
template <class Done, class Progress>
std::optional<BestPartners> compare_groups(const TextVectors& vectors, const BlockingKeys& keys, const EqualTexts& left,
                                           const EqualTexts& right, bool one_list, std::size_t left_top, std::size_t right_top,
                                           Done&& right_done, Progress&& progress) {
  constexpr std::size_t least = 256, most = 4096;  // groups of an index
  const auto bounds = block_bounds(right, keys, least, std::clamp((right.size() + 7) / 8, least, most));
  const std::size_t blocks = bounds.size() - 1;
  std::vector<std::unique_ptr<BestPartners>> lists;  // the best partners of left groups; a task takes one that is free
  std::mutex mutex;
  std::size_t done = 0;
  parallel_for(blocks, 1, [&](std::size_t block, std::size_t) {
    const std::size_t begin = bounds[block], end = bounds[block + 1];
    // What each list holds depends on scheduling; their union does not.
    std::unique_ptr<BestPartners> list;
    {
      const std::lock_guard lock(mutex);
      if (!lists.empty()) {
        list = std::move(lists.back());
        lists.pop_back();
      }
    }
    if (!list) list = std::make_unique<BestPartners>(left.size(), left_top);
    BestPartners of_block(one_list ? 0 : end - begin, right_top);
    std::vector<std::uint32_t> lefts;
    AgreeingTexts(keys, left.rows).find(std::span(right.rows).subspan(begin, end - begin), lefts);
    compare_block(vectors, keys, left, right, lefts, begin, end, one_list, *list, one_list ? *list : of_block);
    const std::lock_guard lock(mutex);
    for (std::size_t j = begin; !one_list && j < end; ++j) right_done(j, of_block.of(j - begin));
    lists.push_back(std::move(list));
    progress(static_cast<double>(++done) / static_cast<double>(blocks));
  });
  if (lists.empty()) return std::nullopt;
  BestPartners& best = *lists[0];
  for (std::size_t k = 1; k < lists.size(); ++k)
    for (std::size_t i = 0; i < left.size(); ++i)
      for (const auto& entry : lists[k]->of(i)) best.add(i, entry);
  return std::move(best);
}

}  // namespace lexformer::detail
