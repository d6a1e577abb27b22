// SPDX-License-Identifier: MIT
// The section of a report about a model with DAFA: trees, matrices, both attentions and the filter gate of one pair.
#pragma once

#include <lexformer/models/dafa_analysis.hpp>

#include "report_attention.hpp"

namespace program {

/// Shows the last model with DAFA, beside the first model without it. Nothing is written if no model has DAFA.
inline void dependency_section(lx::ReportPage& page, const std::vector<Contender>& contenders, const AttentionView& view,
                               const lx::TextKnowledge& knowledge) {
  const auto factory_of = [](const Contender& c) -> const lx::DafaFactory<>* {
    for (const auto& term : c.model.encoder().factories())
      if (const auto* dafa = dynamic_cast<const lx::DafaFactory<>*>(term.factory.get())) return dafa;
    return nullptr;
  };
  const Contender *shown = nullptr, *plain = nullptr;
  for (const auto& c : contenders) {
    if (factory_of(c) != nullptr)
      shown = &c;
    else if (plain == nullptr)
      plain = &c;
  }
  if (shown == nullptr || knowledge.trees == nullptr) return;
  const auto& options = factory_of(*shown)->options();
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

}  // namespace program
