// SPDX-License-Identifier: MIT
// The models of a report, and its attention section.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "cli/compared_models.hpp"
#include "cli/evaluation.hpp"
#include "lexformer/io/json.hpp"
#include "report/report.hpp"

namespace program {

/// One of the compared models: an output folder of train_matcher or train_text (with folders seed-* if it had several seeds), or a file.
struct Contender {
  std::string name;
  std::vector<std::string> seeds;  // the models of all seeds; at least one
  std::string path;                // of the shown model: the best by validation score, or the first
  lx::CrossEncoder<> model;
  std::function<void(lx::CrossEncoder<>&)> prepare;  // gives a model what it needs besides its file

  /// argument: NAME=PATH or PATH.
  static Contender open(const std::string& argument, const std::function<void(lx::CrossEncoder<>&)>& prepare) {
    const auto [name, path] = name_and_path(argument);
    std::vector<std::string> seeds = lx::seed_folders(path);  // separate runs; the first is shown if there is no best one
    const std::string shown = std::filesystem::exists(path + "/model.lxf") || seeds.empty() ? path : seeds.front();
    if (seeds.empty()) seeds.push_back(path);
    Contender c{name, seeds, shown, lx::CrossEncoder<>::load(shown), prepare};
    prepare(c.model);
    return c;
  }
  /// The results of the training in a folder; an empty object for a file.
  static lx::Json results(const std::string& run) {
    const std::string file = run + "/all_results.json";
    return std::filesystem::exists(file) ? lx::parse_json(lx::read_file(file), file) : lx::Json::object();
  }
  /// "lea: runs/lea/seed-1 (seed 1), ...": the models and, if known, their seeds.
  std::string origin() const {
    std::string text = name + ":";
    for (const auto& run : seeds) {
      text += (text.back() == ':' ? " " : ", ") + run;
      if (const lx::Json r = results(run); r.contains("seed")) text += lx::cat(" (seed ", r["seed"].dump(), ")");
    }
    return text;
  }
  /// "lea: seed 2, the best of 3 by its validation score": the shown seed.
  std::string shown() const {
    const lx::Json r = results(path);
    const std::string seed = r.contains("seed") ? "seed " + r["seed"].dump() : path;
    if (seeds.size() == 1) return lx::cat(name, ": ", seed);
    return lx::cat(name, ": ", seed, r.contains("runs") ? ", the best of " : ", the first of ", seeds.size(),
                   r.contains("runs") ? " by its validation score" : "");
  }
  /// Whether a run was trained on these examples.
  bool trained_on(const std::vector<lx::PairExample>& examples) const {
    return std::any_of(seeds.begin(), seeds.end(), [&](const std::string& run) {
      const lx::Json r = results(run);
      return r.contains("settings") && r["settings"].value("train", "") == lx::describe(examples, model.task().texts);
    });
  }
  /// "lea was trained with augment 0.5, ...": the settings of the shown run; empty if there are none.
  std::string settings() const {
    const lx::Json r = results(path);
    std::string text;
    if (!r.contains("settings")) return text;
    for (const auto& [key, value] : r["settings"].items()) {
      if (value.is_null() || value == lx::Json::array() || key == "train" || key == "valid" || key == "seed") continue;  // shown elsewhere
      text +=
          lx::cat(text.empty() ? name + " was trained with " : ", ", key, " ", value.is_string() ? value.get<std::string>() : value.dump());
    }
    return text;
  }
};

/// The class names in plots.
inline std::vector<std::string> class_names(const lx::Task& task) {
  if (task.label_names.empty() && task.labels == 2)
    return task.texts == 1 ? std::vector<std::string>{"class 0", "class 1"} : std::vector<std::string>{"no match", "match"};
  return task.label_names;
}

struct AttentionView {
  std::string left, right, word;       // word: of the left text, for the strips; empty: the one with the most similar different word
  std::optional<std::size_t> layer{};  // from 0; default: the last
  int head = -1;                       // from 0; -1: mean of the heads
};

/// The attention probabilities of one layer for one example, (n, n), row-major: of one head, or the mean of all.
inline std::vector<double> attention_of(const lx::CrossEncoder<>& model, const lx::Encoding& encoding, const AttentionView& view) {
  const auto& config = model.encoder().config;
  const std::size_t layer = view.layer.value_or(config.num_hidden_layers - 1);
  if (layer >= config.num_hidden_layers)
    lx::fail_usage("--layer", layer, " of a model with ", config.num_hidden_layers, " layers; they are numbered from 0");
  if (view.head >= static_cast<int>(config.num_attention_heads))
    lx::fail_usage("--head", view.head, " of a model with ", config.num_attention_heads, " heads; they are numbered from 0");
  return lx::mean_attention(model, encoding, layer, view.head < 0 ? std::optional<std::size_t>() : static_cast<std::size_t>(view.head));
}

/// A word of one of the two texts: its tokens first ... last - 1.
struct TokenWord {
  std::size_t first, last;
  std::string text;  // as normalized by the tokenizer
};
/// Of a repeated text only the second copy counts, which sees the other text.
inline std::vector<TokenWord> words_of(const lx::Encoding& e, std::uint8_t type) {
  std::vector<TokenWord> words;
  bool other_before = false;
  for (const lx::Word& word : e.words) {
    if (word.type == type && other_before) words.clear();
    if (word.type == type) words.push_back({word.first, word.last, lx::to_utf8(e.text(word))});
    other_before = word.type != type;
  }
  return words;
}

/// The requested word of `left` (not empty); by default the one that is most similar to a word of `right` without occurring there.
inline const TokenWord& chosen_word(const std::vector<TokenWord>& left, const std::vector<TokenWord>& right, const std::string& asked) {
  std::string known;
  const TokenWord* chosen = &left.front();
  double likest = -1;
  std::vector<std::u32string> others;
  for (const auto& r : right) others.push_back(lx::to_utf32(r.text));
  for (const auto& word : left) {
    known += (known.empty() ? "" : ", ") + word.text;
    double rank = asked == word.text ? 2 : 0;
    if (asked.empty() && std::none_of(right.begin(), right.end(), [&](const auto& r) { return r.text == word.text; }))
      for (const std::u32string text = lx::to_utf32(word.text); const auto& other : others)
        rank = std::max(rank, lx::similarity(lx::Similarity::levenshtein, text, other));
    if (rank > likest) {
      likest = rank;
      chosen = &word;
    }
  }
  if (!asked.empty() && likest < 2) lx::fail_usage("--word", "the left text has no word '", asked, "'; its words are: ", known);
  return *chosen;
}

/// Plots similarity, attention without LEA and with LEA side by side, and the rows of one word in both.
inline void attention_section(lx::ReportPage& page, const std::vector<Contender>& contenders, const AttentionView& view) {
  const Contender* with = nullptr;
  const Contender* without = nullptr;
  for (const auto& c : contenders) (c.model.options().has("lea") ? with : without) = &c;
  const auto& main = with != nullptr ? with->model : contenders.back().model;
  const auto& config = main.encoder().config;
  const auto& tokenizer = main.tokenizer();
  const auto encoding = main.encode(view.left, view.right);
  const bool single = main.task().texts == 1;
  const std::size_t n = encoding.size();
  std::vector<std::string> tokens;
  for (const std::int32_t id : encoding.ids) tokens.push_back(tokenizer.vocabulary().token(id));
  auto batch = main.batch(std::span(&encoding, 1));
  if (!batch.features.contains("lexical")) lx::lexical_feature({.self_attention = single})(std::span(&encoding, 1), batch);
  const auto& lexical = batch.codes("lexical");
  std::vector<double> similarity;
  for (const std::uint16_t code : lexical.codes) similarity.push_back(lexical.levels[code]);

  page.heading("Attention");
  page.paragraph((single ? "Text: " : "Left: ") + view.left);
  if (!single) page.paragraph("Right: " + view.right);
  if (with != nullptr && without != nullptr) {
    const auto& other = without->model.encoder().config;
    if (without->model.encode(view.left, view.right).ids != encoding.ids || other.num_hidden_layers != config.num_hidden_layers ||
        other.num_attention_heads != config.num_attention_heads) {
      page.paragraph(without->name + " has other tokens for this example or other layers, so it is not shown here.");
      without = nullptr;
    }
  }
  std::vector<lx::HeatPanel> panels{{"similarity of the words", similarity, std::max(1.0, lexical.levels.back())}};
  if (without != nullptr) {
    panels.push_back({without->name, attention_of(without->model, encoding, view), 0});
  } else if (with != nullptr) {  // the same weights without the bias
    auto options = with->model.options();
    options.attention.clear();
    lx::CrossEncoder<> bare(lx::ModelFile::open(with->path), options);
    with->prepare(bare);
    panels.push_back({with->name + " without its bias", attention_of(bare, encoding, view), 0});
  }
  if (with != nullptr) panels.push_back({with->name, attention_of(with->model, encoding, view), 0});
  // One scale for both. It ignores [CLS] and [SEP], whose large values would leave the rest white.
  double most = 1e-9;
  for (std::size_t k = 1; k < panels.size(); ++k)
    for (std::size_t e = 0; e < n * n; ++e)
      if (encoding.word_ids[e / n] >= 0 && encoding.word_ids[e % n] >= 0) most = std::max(most, panels[k].values[e]);
  for (std::size_t k = 1; k < panels.size(); ++k) panels[k].most = most;

  const std::size_t layers = config.num_hidden_layers, layer = view.layer.value_or(layers - 1);
  const std::string where =
      lx::cat("layer ", layer, " of 0 to ", layers - 1,
              view.head < 0 ? lx::cat(", mean of ", config.num_attention_heads, " heads") : lx::cat(", head ", view.head));
  lx::Csv cells({"panel", "row", "row_token", "column", "column_token", "value"});
  for (const auto& p : panels)
    for (std::size_t e = 0; e < n * n; ++e)
      cells.row({p.title, lx::cat(e / n), tokens[e / n], lx::cat(e % n), tokens[e % n], lx::short_number(p.values[e], 6)});
  page.picture("attention", lx::heat_maps(tokens, panels, "Attention, " + where), cells,
               "Rows attend to columns. The attention panels share a scale; values above it, mostly of [CLS] and [SEP], are clipped.");

  const auto left = words_of(encoding, 0), right = words_of(encoding, 1);
  if (left.empty() || right.empty()) return;
  const auto& word = chosen_word(left, right, view.word);
  std::vector<std::string> shown;
  std::vector<lx::Strip> strips;
  lx::Csv row({"strip", "token", "value"});
  for (const auto& p : panels) {
    lx::Strip strip{p.title, {}};
    for (std::size_t j = right.front().first; j < right.back().last; ++j) {
      double sum = 0;
      for (std::size_t i = word.first; i < word.last; ++i) sum += p.values[i * n + j] / static_cast<double>(word.last - word.first);
      strip.values.push_back(sum);
      row.row({p.title, tokens[j], lx::short_number(sum, 6)});
    }
    if (&p != &panels.front()) strips.push_back(strip);  // the similarity has a scale of its own
  }
  for (std::size_t j = right.front().first; j < right.back().last; ++j) shown.push_back(tokens[j]);
  page.picture("word", lx::token_strips(shown, strips, lx::cat("Attention of '", word.text, "' to the right text, ", where)), row,
               "The row of one word of the left text, mean over its word pieces.");
}

}  // namespace program
