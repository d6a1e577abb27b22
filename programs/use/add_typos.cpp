// SPDX-License-Identifier: MIT
// Adds typos and other noise to lines of text.
#include "cli/typo_flags.hpp"

namespace lx = lexformer;

namespace {

int run_add_typos(int argc, char** argv) {
  CLI::App app("Adds typos to the tab-separated columns of each line of standard input. Same seed, same typos.", "add_typos");
  lx::TypoOptions options;
  std::uint64_t seed = 1;
  std::size_t columns = 0;
  double probability = 1;
  program::TypoFlags typo_flags;
  std::string modes;
  for (const auto& entry : lx::names_of<lx::TypoMode>)
    modes += lx::cat(modes.empty() ? "" : "; ", entry.name, ": ", program::about_mode(entry.value));
  typo_flags.add_to(app, options, "--mode", modes);
  app.add_option("--seed", seed, "random seed")->capture_default_str();
  app.add_option("--share", options.word_share, "share of the words that get a typo")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  app.add_option("--probability", probability, "probability that a line is changed")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  app.add_option("--columns", columns, "number of leading tab-separated columns to change; 0 = all")->capture_default_str();
  app.add_flag("--respace", options.respace, "put spaces between tokens, as nlpaug does; by default spacing is unchanged");
  return program::run(app, argc, argv, [&] {
    typo_flags.load(options);
    std::string line;
    for (std::uint32_t number = 0; std::getline(std::cin, line); ++number) {
      auto random = lx::typo_stream(seed, 0, number);
      const bool changed = random.uniform() < probability;
      std::size_t column = 0, begin = 0;
      for (;;) {
        const auto end = std::min(line.find('\t', begin), line.size());
        const auto text = std::string_view(line).substr(begin, end - begin);
        if (column > 0) std::cout << '\t';
        if (changed && (columns == 0 || column < columns))
          std::cout << lx::add_typos(text, options, random);
        else
          std::cout << text;
        ++column;
        if (end == line.size()) break;
        begin = end + 1;
      }
      std::cout << '\n';
    }
    return 0;
  });
}

const program::Command command{"add_typos", program::Group::use, "adds typos and other noise to texts", run_add_typos};

}  // namespace
