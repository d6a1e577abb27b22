// SPDX-License-Identifier: MIT
// Pairs in, scores out: one a line, in the same order, in a stream of any length.
#include <iomanip>

#include "support/program.hpp"

namespace lx = lexformer;

namespace {

/// A value as a column of .tsv, which has no way to write a tab or the end of a line: they become spaces.
std::string cell(std::string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Scores pairs of standard input. Two classes: the probability of class 1; more: the most probable class; regression: the value.",
      "score_pairs");
  std::string model_path;
  lx::TableFormat format = lx::TableFormat::tsv;
  bool logits = false;
  std::size_t batch = 32, window = 4096;
  lx::TableOptions table;
  app.add_option("--model", model_path, "a trained model: a .lxf file, or a folder that holds one or a HuggingFace classifier")
      ->required()
      ->type_name("M.lxf");
  app.add_flag("--logits", logits, "write the logits of all classes, separated by tabs");
  program::add_choice(app, "--format", format, "of the input");
  app.add_option("--batch", batch, "pairs computed together")->check(program::positive())->capture_default_str();
  app.add_option("--window", window,
                 "pairs read ahead and sorted by length; their scores are written together, those before a bad row's window stay written")
      ->check(program::positive())
      ->capture_default_str();
  program::add_table_options(app, table);
  app.add_option("--keep", table.keep,
                 "columns to write before each score, e.g. ids: names, or numbers from 1. The output is then a table with tabs and a "
                 "header line; a tab or line end in a value becomes a space")
      ->delimiter(',')
      ->type_name("COLUMN,...");
  program::Compute compute;
  program::add_compute(app, compute);
  program::add_threads(app);
  const auto score = [&](auto number, auto device) {
    const auto model = lx::CrossEncoder<decltype(number), decltype(device)>::load(model_path);
    table.labels = false;
    lx::PairReader reader(std::cin, "standard input", format, table);
    std::cout << std::setprecision(9);
    bool header = !table.keep.empty();
    std::size_t scored = 0;
    for (bool more = true; more;) {
      std::vector<std::pair<std::string, std::string>> pairs;
      std::vector<std::string> kept;  // of each pair, with the tabs behind them
      for (lx::PairRow row; pairs.size() < window && (more = reader.next(row));) {
        pairs.emplace_back(row.left, row.right);
        kept.emplace_back();
        for (const auto& value : row.kept) kept.back() += cell(value) + '\t';
      }
      const auto y = model.logits(pairs, batch);
      lx::require_finite(y, "standard input", "pair", scored + 1);
      scored += pairs.size();
      if (std::exchange(header, false)) {
        for (const auto& name : reader.kept_names()) std::cout << cell(name) << '\t';
        for (std::size_t c = 0; logits && c < y.dim(1); ++c) std::cout << "logit_" << c << (c + 1 < y.dim(1) ? '\t' : '\n');
        if (!logits) std::cout << "score\n";
      }
      const auto scores = model.scores_of(y);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        std::cout << kept[i];
        for (std::size_t c = 0; logits && c < y.dim(1); ++c) std::cout << y.at(i, c) << (c + 1 < y.dim(1) ? '\t' : '\n');
        if (!logits) std::cout << scores[i] << '\n';
      }
      std::cout.flush();
    }
    return 0;
  };
  return program::run(app, argc, argv, [&] { return program::compute_with(compute, score); });
}
