// SPDX-License-Identifier: MIT
// The models of a report, and its section about attention.
#pragma once

#include <filesystem>

#include "evaluation.hpp"
#include "lexformer/report/attention_picture.hpp"
#include "lexformer/report/page.hpp"

namespace program {

/// One of the models that are compared: a folder of train_matcher (with seed-* folders when it had several seeds), or a file.
struct Contender {
  std::string name, path;
  std::vector<std::string> seeds;  // the models of all seeds; at least one
  lx::CrossEncoder<> model;        // the one that is shown: the best by its validation score

  /// From "name=path", or "path" alone, whose last part is the name then.
  static Contender open(const std::string& argument) {
    namespace fs = std::filesystem;
    const auto equals = argument.find('=');
    const std::string path = equals == argument.npos ? argument : argument.substr(equals + 1);
    std::string name = equals == argument.npos ? fs::path(path).filename().string() : argument.substr(0, equals);
    std::vector<std::string> seeds;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(path, none))
      if (entry.path().filename().string().starts_with("seed-") && fs::exists(entry.path() / "model.lxf"))
        seeds.push_back(entry.path().string());
    std::sort(seeds.begin(), seeds.end());
    if (seeds.empty()) seeds.push_back(path);
    return {name, path, seeds, lx::CrossEncoder<>::load(path)};
  }
};

/// The scores of all pairs, as probabilities of class 1.
inline std::vector<double> scores_of(const lx::CrossEncoder<>& model, const std::vector<lx::PairExample>& examples) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& e : examples) pairs.emplace_back(e.left, e.right);
  return model.predict(pairs);
}

struct AttentionView {
  std::string left, right, word;  // word: of the left text, for the strips; empty = the one with the likest unequal partner
  std::size_t layer = 0;
  int head = -1;  // -1: the mean of the heads
};

/// The probabilities of one layer for one pair (n x n, row after row): of one head, or the mean of all.
inline std::vector<double> attention_of(const lx::CrossEncoder<>& model, const lx::Encoding& encoding, const AttentionView& view) {
  const lx::NoGrad no_grad;
  const auto maps =
      model(model.batch(std::span(&encoding, 1)), {}, {.maps = lx::AttentionMaps::probabilities}).encoder.maps[view.layer].value();
  std::vector<double> mean(maps.dim(1));
  const std::size_t first = view.head < 0 ? 0 : static_cast<std::size_t>(view.head), last = view.head < 0 ? maps.dim(0) : first + 1;
  for (std::size_t h = first; h < last; ++h)
    for (std::size_t e = 0; e < mean.size(); ++e) mean[e] += static_cast<double>(maps.at(h, e)) / static_cast<double>(last - first);
  return mean;
}

/// The picture of the method: similarity | plain | with LEA, and one word's row of the three.
inline void attention_section(lx::ReportPage& page, const std::vector<Contender>& contenders, AttentionView view) {
  const Contender* with = nullptr;
  const Contender* without = nullptr;
  for (const auto& c : contenders) (c.model.options().has("lea") ? with : without) = &c;
  const auto& main = with != nullptr ? with->model : without->model;
  const std::size_t layers = main.encoder().config.num_hidden_layers, heads = main.encoder().config.num_attention_heads;
  if (view.layer >= layers) lx::fail_usage("--layer", view.layer, " of a model with ", layers, " layers; they count from 0");
  if (view.head >= static_cast<int>(heads)) lx::fail_usage("--head", view.head, " of a model with ", heads, " heads; they count from 0");

  const auto& tokenizer = main.tokenizer();
  const auto encoding = tokenizer.encode_pair(view.left, view.right, main.options().max_length);
  const std::size_t n = encoding.size();
  std::vector<std::string> tokens;
  for (const std::int32_t id : encoding.ids) tokens.push_back(tokenizer.vocabulary().token(id));
  const auto lexical = lx::lexical_matrix(tokenizer, encoding, main.lexical_options().value_or(lx::LexicalOptions{}));
  std::vector<double> similarity;
  for (const std::uint16_t code : lexical.code) similarity.push_back(lexical.level[code]);

  std::vector<lx::HeatPanel> panels{{"similarity of the words", similarity, std::max(1.0, lexical.level.back())}};
  const auto add = [&](const std::string& name, const lx::CrossEncoder<>& model) {
    if (model.tokenizer().encode_pair(view.left, view.right, model.options().max_length).ids != encoding.ids)
      lx::fail_usage(name, "reads the pair as other tokens than ", with->name, "; compare models of one vocabulary and --max-length");
    panels.push_back({name, attention_of(model, encoding, view), 0});
  };
  if (without != nullptr) {
    add(without->name, without->model);
  } else {  // the same weights with the bias left out
    auto options = with->model.options();
    options.attention.clear();
    add(with->name + " without its bias", lx::CrossEncoder<>(lx::ModelFile::open(with->path), options, true));
  }
  if (with != nullptr) add(with->name, with->model);
  // One scale for both; [CLS] and [SEP] draw much and would leave the rest white, so they do not count.
  double most = 0;
  for (std::size_t k = 1; k < panels.size(); ++k)
    for (std::size_t e = 0; e < n * n; ++e)
      if (encoding.word_ids[e / n] >= 0 && encoding.word_ids[e % n] >= 0) most = std::max(most, panels[k].values[e]);
  for (std::size_t k = 1; k < panels.size(); ++k) panels[k].most = std::max(most, 1e-9);

  const std::string where = lx::cat("layer ", view.layer + 1, " of ", layers,
                                    view.head < 0 ? lx::cat(", mean of ", heads, " heads") : lx::cat(", head ", view.head + 1));
  lx::Csv cells({"panel", "row", "row_token", "column", "column_token", "value"});
  for (const auto& p : panels)
    for (std::size_t e = 0; e < n * n; ++e)
      cells.row({p.title, lx::cat(e / n), tokens[e / n], lx::cat(e % n), tokens[e % n], lx::short_number(p.values[e], 6)});
  page.heading("What attention looks at");
  page.paragraph(lx::cat("Left: ", view.left));
  page.paragraph(lx::cat("Right: ", view.right));
  page.picture("attention", lx::heat_maps(tokens, panels, "Attention, " + where), cells,
               "Rows attend to columns. The two attention panels share a scale; values above it, mostly of [CLS] and [SEP], are cut off.");

  // The row of one word: the mean over its pieces, to the words of the right text.
  std::size_t first = n, last = n;
  double likest = -1;
  for (std::size_t i = 0; i < n; ++i) {
    if (encoding.type_ids[i] != 0 || encoding.word_ids[i] < 0 || (i > 0 && encoding.word_ids[i - 1] == encoding.word_ids[i])) continue;
    std::size_t end = i + 1;
    while (end < n && encoding.type_ids[end] == 0 && encoding.word_ids[end] == encoding.word_ids[i]) ++end;
    double best = 0;
    for (std::size_t j = 0; j < n; ++j) best = std::max(best, similarity[i * n + j]);
    const double rank = view.word.empty() ? (best < 1 ? best : 0) : tokenizer.word_text(encoding, i, end) == view.word ? 2 : -1;
    if (rank <= likest) continue;
    likest = rank;
    first = i;
    last = end;
  }
  if (first == n) lx::fail_usage("--word", "the left text has no word '", view.word, "'");
  const std::string word = tokenizer.word_text(encoding, first, last);
  std::vector<std::string> right;
  std::vector<lx::Strip> strips;
  lx::Csv row({"strip", "token", "value"});
  for (const auto& p : panels) {
    auto& strip = strips.emplace_back(lx::Strip{p.title, {}});
    for (std::size_t j = 0; j < n; ++j) {
      if (encoding.type_ids[j] != 1 || encoding.word_ids[j] < 0) continue;
      if (strips.size() == 1) right.push_back(tokens[j]);
      double sum = 0;
      for (std::size_t i = first; i < last; ++i) sum += p.values[i * n + j] / static_cast<double>(last - first);
      strip.values.push_back(sum);
      row.row({p.title, tokens[j], lx::short_number(sum, 6)});
    }
  }
  const auto similar = strips.front();
  strips.erase(strips.begin());  // it has a scale of its own
  page.picture("word", lx::token_strips(right, strips, lx::cat("Where '", word, "' looks in the right text, ", where)), row,
               "The row of one word of the left text, mean over its pieces.");
}

}  // namespace program
