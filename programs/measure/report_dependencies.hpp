// SPDX-License-Identifier: MIT
// The sections of a report about a model with DAFA: trees, matrices, both attentions and the filter gate of one pair; the filter gate of
// all test pairs.
#pragma once

#include <lexformer/models/analysis.hpp>

#include "measure/report_attention.hpp"

namespace program {

/// The options of a model's DAFA; null if it has none.
inline const lx::DafaOptions* dafa_options(const Contender& c) {
  for (const auto& term : c.model.encoder().factories())
    if (const auto* dafa = dynamic_cast<const lx::DafaFactory<>*>(term.factory.get())) return &dafa->options();
  return nullptr;
}

/// Shows the last model with DAFA, beside the first model without it. Nothing is written if no model has DAFA.
inline void dependency_section(lx::ReportPage& page, const std::vector<Contender>& contenders, const AttentionView& view,
                               const lx::TextKnowledge& knowledge) {
  const Contender *shown = nullptr, *plain = nullptr;
  for (const auto& c : contenders) {
    if (dafa_options(c) != nullptr)
      shown = &c;
    else if (plain == nullptr)
      plain = &c;
  }
  if (shown == nullptr || knowledge.trees == nullptr) return;
  const auto& options = *dafa_options(*shown);
  const auto &a = *knowledge.trees->find(view.left), &b = *knowledge.trees->find(view.right);
  const auto m = lx::tree_similarity(a, b, options.dependency), s = lx::subgraph_similarity(a, b, options.dependency),
             fused = lx::dependency_matrix(a, b, options.counts, options.dependency);
  page.heading("Dependency trees");
  std::vector<std::string> rows, columns;
  for (const auto& w : a.words) rows.push_back(w.form);
  for (const auto& w : b.words) columns.push_back(w.form);
  lx::Csv cells({"left", "right", "M", "S", "M_F"});
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const std::size_t e = i * columns.size() + j;
      cells.row({rows[i], columns[j], lx::short_number(m[e], 9), lx::short_number(s[e], 9), lx::short_number(fused[e], 9)});
    }
  page.picture("trees", lx::tree_picture(a, b, fused, "Dependency trees and the words that M_F aligns"), cells,
               "An arc goes from a word's head to the word. A line between the texts has the width and colour of the entry of M_F.");
  const auto largest = [](const std::vector<double>& values) {
    return values.empty() ? 1.0 : std::max(1e-9, *std::max_element(values.begin(), values.end()));
  };
  page.picture("matrices",
               lx::heat_maps(rows, columns,
                             {{"M, trees", m, largest(m)}, {"S, subgraphs", s, largest(s)}, {"M_F, with weights", fused, largest(fused)}},
                             "Similarity of dependency trees"),
               cells, "M compares each word with its head and relation, S whole subtrees; M_F is (M + S) times the words' tf-idf weights.");

  const auto encoding = shown->model.tokenizer().encode_pair(view.left, view.right, shown->model.options().max_length);
  const auto batch = shown->model.batch(std::span(&encoding, 1));
  const std::size_t layer = options.first_layer;
  const auto both = lx::view_dafa(shown->model.encoder(), lx::DeviceBatch<>(batch), layer);
  const auto mean_of_heads = [](const lx::Tensor<>& maps) {
    std::vector<double> mean(maps.dim(1));
    for (std::size_t h = 0; h < maps.dim(0); ++h)
      for (std::size_t e = 0; e < mean.size(); ++e) mean[e] += static_cast<double>(maps.at(h, e)) / static_cast<double>(maps.dim(0));
    return mean;
  };
  std::vector<lx::HeatPanel> panels;
  if (plain != nullptr) {
    AttentionView first = view;
    first.layer = layer;
    first.head = -1;
    panels.push_back({plain->name, attention_of(plain->model, encoding, first)});
  }
  panels.push_back({shown->name + ", Sem", mean_of_heads(both.semantic)});
  panels.push_back({shown->name + ", Dep", mean_of_heads(both.dependency)});
  double most = 0;
  for (const auto& p : panels) most = std::max(most, largest(p.values));
  for (auto& p : panels) p.most = most;
  std::vector<std::string> tokens;
  for (const auto id : encoding.ids) tokens.push_back(shown->model.tokenizer().vocabulary().tokens()[static_cast<std::size_t>(id)]);
  lx::Csv values({"panel", "query", "key", "probability"});
  for (const auto& p : panels)
    for (std::size_t e = 0; e < p.values.size(); ++e)
      values.row({p.title, tokens[e / tokens.size()], tokens[e % tokens.size()], lx::short_number(p.values[e], 9)});
  std::string caption = lx::cat("Attention probabilities of layer ", layer, ", mean of all heads. Dep is the attention gated by M_F.");
  if (both.filter.defined())
    caption += lx::cat(" The filter gate f of this pair, its mean over tokens and heads, is ",
                       lx::short_number(both.filter_means(batch.offsets)[0], 3), ".");
  page.picture("semantic_and_dependency", lx::heat_maps(tokens, panels, "Attention of the layer with DAFA"), values, caption);
}

/// Plots the distribution of the filter gate (eq. 9) over the test pairs, by class, and by right and wrong predictions. Nothing is written
/// if no model has DAFA's filter gate. evaluations: of each contender on the examples.
inline void filter_section(lx::ReportPage& page, const std::vector<Contender>& contenders, const std::vector<lx::Evaluation>& evaluations,
                           const std::vector<lx::PairExample>& examples) {
  const auto shown = std::find_if(contenders.rbegin(), contenders.rend(),
                                  [](const Contender& c) { return dafa_options(c) != nullptr && !dafa_options(c)->fusion.without_filter; });
  if (shown == contenders.rend()) return;
  const auto& model = shown->model;
  const std::size_t layer = dafa_options(*shown)->first_layer, batch_size = 64;
  const bool regression = model.task().kind == lx::TaskKind::regression;
  const auto& scores = evaluations[static_cast<std::size_t>(contenders.rend() - shown) - 1].scores;
  std::vector<double> gates;
  for (std::size_t first = 0; first < examples.size(); first += batch_size) {
    std::vector<lx::Encoding> encodings;
    for (std::size_t i = first; i < std::min(first + batch_size, examples.size()); ++i)
      encodings.push_back(model.tokenizer().encode_pair(examples[i].left, examples[i].right, model.options().max_length));
    const auto batch = model.batch(encodings);
    const auto means = lx::view_dafa(model.encoder(), lx::DeviceBatch<>(batch), layer).filter_means(batch.offsets);
    gates.insert(gates.end(), means.begin(), means.end());
  }
  page.heading("Filter gate of the test pairs");
  const auto extremes = std::minmax_element(gates.begin(), gates.end());
  const double low = *extremes.first, high = *extremes.second;
  page.paragraph(lx::cat("Mean of f over tokens and heads of layer ", layer, " of ", shown->name, "; from ", lx::short_number(low, 3),
                         " to ", lx::short_number(high, 3), ", mean ", lx::short_number(lx::mean_and_deviation(gates).mean, 3), "."));
  const auto predicted = [&](std::size_t i) {
    return static_cast<std::int32_t>(model.task().labels == 2 ? lx::is_match(scores[i], model.threshold.value_or(lx::argmax_threshold))
                                                              : scores[i]);
  };
  auto names = regression ? std::vector<std::string>{"all pairs"} : class_names(model.task());
  lx::Csv csv({"pair", "label", "score", "filter"});
  for (std::size_t i = 0; i < gates.size(); ++i)
    csv.row({lx::cat(i + 1),
             regression ? lx::short_number(static_cast<double>(examples[i].target), 9) : names[static_cast<std::size_t>(examples[i].label)],
             lx::short_number(scores[i], 9), lx::short_number(gates[i], 9)});
  const double width = std::max(1e-6, (high - low) / 20);
  std::vector<double> edges;
  for (int b = 0; b <= 20; ++b) edges.push_back(low + b * width);
  const auto draw = [&](const std::string& name, const std::vector<std::string>& groups, const std::string& title, auto&& group_of) {
    std::vector<std::vector<double>> heights(groups.size(), std::vector<double>(20));
    std::vector<double> total(groups.size());
    for (std::size_t i = 0; i < gates.size(); ++i) ++total[group_of(i)];
    for (std::size_t i = 0; i < gates.size(); ++i)
      heights[group_of(i)][std::min<std::size_t>(19, static_cast<std::size_t>((gates[i] - low) / width))] += 100 / total[group_of(i)];
    page.picture(
        name,
        lx::bar_chart(groups, edges, heights,
                      {.title = title, .x_label = "filter gate f, mean over tokens and heads", .y_label = "pairs of the group, %"}),
        csv, "f = 1 keeps all of the fused attention, f = 0 none.");
  };
  draw("filter_by_class", names, "Filter gate by class",
       [&](std::size_t i) { return regression ? 0 : static_cast<std::size_t>(examples[i].label); });
  if (!regression)
    draw("filter_by_prediction", {"right", "wrong"}, "Filter gate of right and wrong predictions",
         [&](std::size_t i) -> std::size_t { return predicted(i) == examples[i].label ? 0 : 1; });
}

}  // namespace program
