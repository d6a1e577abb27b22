// SPDX-License-Identifier: MIT
// Pairs in, scores out: one a line, in the same order, in a stream of any length.
#include <iomanip>

#include "support/program.hpp"

namespace lx = lexformer;

int main(int argc, char** argv) {
  CLI::App app(
      "Scores pairs of standard input. Two classes: the probability of class 1; more: the most probable class; regression: the value.",
      "score_pairs");
  std::string model_path, format = "tsv";
  bool logits = false;
  std::size_t batch = 32, window = 4096;
  lx::TableOptions table;
  app.add_option("--model", model_path, "a trained .lxf file")->required()->type_name("M.lxf");
  app.add_flag("--logits", logits, "write the logits of all classes, separated by tabs");
  app.add_option("--format", format, "of the input: tsv, csv, jsonl")->capture_default_str();
  app.add_option("--batch", batch, "pairs computed together")->check(program::positive())->capture_default_str();
  app.add_option("--window", window,
                 "pairs read ahead and sorted by length; their scores are written together, those before a bad row's window stay written")
      ->check(program::positive())
      ->capture_default_str();
  program::add_table_options(app, table);
  program::Compute compute;
  program::add_compute(app, compute);
  program::add_threads(app);
  const auto score = [&](auto number, auto device) {
    const auto model = lx::CrossEncoder<decltype(number), decltype(device)>::load(model_path);
    table.labels = false;
    lx::PairReader reader(std::cin, "standard input", lx::table_format("." + format), table);
    std::cout << std::setprecision(9);
    for (bool more = true; more;) {
      std::vector<std::pair<std::string, std::string>> pairs;
      for (lx::PairRow row; pairs.size() < window && (more = reader.next(row));) pairs.emplace_back(row.left, row.right);
      const auto y = model.logits(pairs, batch);
      if (logits) {
        for (std::size_t i = 0; i < y.dim(0); ++i)
          for (std::size_t c = 0; c < y.dim(1); ++c) std::cout << y.at(i, c) << (c + 1 < y.dim(1) ? '\t' : '\n');
      } else {
        for (const double x : model.scores_of(y)) std::cout << x << '\n';
      }
      std::cout.flush();
    }
    return 0;
  };
  return program::run(app, argc, argv, [&] { return program::compute_with(compute, score); });
}
