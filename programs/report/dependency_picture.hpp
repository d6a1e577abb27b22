// SPDX-License-Identifier: MIT
// A picture of the dependency trees of two texts and of the words that DAFA's matrix aligns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "lexformer/knowledge/dependency.hpp"
#include "report/svg.hpp"

namespace lexformer {

namespace detail {
inline constexpr double tree_font = 13, tree_small_font = 10, tree_level = 22;

struct TreeLayout {
  std::vector<double> middle;       // x of each word
  std::vector<std::size_t> height;  // of the arc to each word's head
  double width = 20;
  std::size_t highest = 0;
};

inline TreeLayout lay_out_tree(const DependencyTrees& t) {
  TreeLayout out;
  for (std::size_t i = 0; i < t.words.size(); ++i) {
    const auto& w = t.words[i];
    if (w.head >= 0 && static_cast<std::size_t>(w.head) >= t.words.size())
      fail("tree_picture", "the head of word ", i, ", '", w.form, "', is ", w.head, "; expected an index below ", t.words.size(),
           ", or -1 for a root");
    const double wide = std::max(text_width(w.form, tree_font), text_width(w.relation, tree_small_font)) + 18;
    out.middle.push_back(out.width + wide / 2);
    out.width += wide;
  }
  // An arc is one level above the highest arc inside it; short arcs come first.
  out.height.assign(t.words.size(), 0);
  const auto ends = [&](std::size_t i) { return std::minmax({i, static_cast<std::size_t>(t.words[i].head)}); };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < t.words.size(); ++i)
    if (t.words[i].head >= 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return ends(i).second - ends(i).first < ends(j).second - ends(j).first; });
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto [first, last] = ends(order[k]);
    std::size_t below = 0;
    for (std::size_t j = 0; j < k; ++j)
      if (ends(order[j]).first < last && first < ends(order[j]).second) below = std::max(below, out.height[order[j]]);
    out.height[order[k]] = below + 1;
    out.highest = std::max(out.highest, below + 1);
  }
  return out;
}

/// Draws words with their tree. base: y of the words; direction: -1 draws the tree above them, 1 below.
inline void draw_tree(Svg& svg, const DependencyTrees& t, const TreeLayout& layout, double base, double direction) {
  const TextStyle of_relation{.size = tree_small_font, .anchor = "middle", .halo = true};
  for (std::size_t i = 0; i < t.words.size(); ++i) {
    const auto& w = t.words[i];
    const double x = layout.middle[i], foot = base + (direction < 0 ? -14 : 6);
    if (w.head < 0) {
      svg.path({{x, foot}, {x, foot + direction * tree_level}}, "#555555", 1.2);
      svg.label(x, foot + direction * tree_level + (direction < 0 ? -3 : 11), w.relation, of_relation);
    } else {
      // The ends are moved apart a little, so that arcs of one word do not meet; the head of the arrow is at the word.
      const double from = layout.middle[static_cast<std::size_t>(w.head)], side = from < x ? -4 : 4;
      const double peak = foot + direction * tree_level * static_cast<double>(layout.height[i]), left = from - side, right = x + side;
      std::vector<Svg::Point> arc;
      for (int k = 0; k <= 24; ++k) {
        const double angle = 3.14159265358979 * k / 24;
        arc.emplace_back((left + right) / 2 - (right - left) / 2 * std::cos(angle), foot + (peak - foot) * std::sin(angle));
      }
      svg.path(arc, "#555555", 1.2);
      svg.area({{right, foot}, {right - 3, foot + direction * 6}, {right + 3, foot + direction * 6}}, "#555555", 1);
      svg.label((left + right) / 2, peak + (direction < 0 ? -3 : 10), w.relation, of_relation);
    }
    svg.label(x, base + (direction < 0 ? 4 : -4), w.form, {.size = tree_font, .anchor = "middle", .halo = true});
  }
}
}  // namespace detail

/// Draws the first text with its tree above it, the second with its tree below it: an arc from each head to its word, named by the
/// relation; a root has a short stroke. Lines between the texts connect words whose entry in `similarity` (n x m, row-major) is above 0,
/// darker for larger entries. Errors: `similarity` has another size; a head is not a word of its text.
inline std::string tree_picture(const DependencyTrees& a, const DependencyTrees& b, const std::vector<double>& similarity,
                                const std::string& title) {
  const std::size_t n = a.words.size(), m = b.words.size();
  if (similarity.size() != n * m) fail("tree_picture", "the matrix has ", similarity.size(), " entries for ", n, " x ", m, " words");
  const auto upper = detail::lay_out_tree(a), lower = detail::lay_out_tree(b);
  const double top = 44 + detail::tree_level * static_cast<double>(upper.highest + 1), bottom = top + 110;
  const double end = bottom + detail::tree_level * static_cast<double>(lower.highest + 1);
  Svg svg(std::max({upper.width, lower.width, text_width(title, 14) + 8}) + 20, end + 40, title);
  svg.label(8, 20, title, {.size = 14, .bold = true});

  double most = 1e-9;
  for (const double x : similarity) most = std::max(most, x);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j)
      if (const double x = similarity[i * m + j]; x > 0)
        svg.path({{upper.middle[i], top + 10}, {lower.middle[j], bottom - 18}}, heat_colour(0.25 + 0.75 * x / most), 1 + 4 * x / most);
  detail::draw_tree(svg, a, upper, top, -1);
  detail::draw_tree(svg, b, lower, bottom, 1);
  svg.label(8, end + 30, cat("lines between the texts: M_F up to ", short_number(most, 3), "; no line: 0"), {.size = 11});
  return svg.str();
}

}  // namespace lexformer
