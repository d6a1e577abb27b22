// SPDX-License-Identifier: MIT
// Adds typos and other noise to lines of text.
#include "cli/typo_flags.hpp"

namespace lx = lexformer;

namespace {

class AddTypos final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    std::string modes;
    for (const auto& entry : lx::names_of<lx::TypoMode>)
      modes += lx::cat(modes.empty() ? "" : "; ", entry.name, ": ", program::about_mode(entry.value));
    typo_flags_.visit(v, options_, "mode", modes);
    v.size("seed", seed_, 0, "random seed");
    v.number("share", options_.word_share, lx::bounds::share, "share of the words that get a typo");
    v.number("probability", probability_, lx::bounds::share, "probability that a line is changed");
    v.size("columns", columns_, 0, "number of leading tab-separated columns to change; 0 = all");
    v.flag("respace", options_.respace, "put spaces between tokens, as nlpaug does; by default spacing is unchanged");
  }
  int run() override {
    typo_flags_.load(options_);
    std::string line;
    for (std::uint32_t number = 0; std::getline(std::cin, line); ++number) {
      auto random = lx::typo_stream(seed_, 0, number);
      if (number == 0 && line.starts_with(lx::detail::byte_order_mark)) line.erase(0, lx::detail::byte_order_mark.size());
      const bool changed = random.uniform() < probability_;
      std::size_t column = 0, begin = 0;
      for (;;) {
        const auto end = std::min(line.find('\t', begin), line.size());
        const auto text = std::string_view(line).substr(begin, end - begin);
        if (column > 0) std::cout << '\t';
        if (changed && (columns_ == 0 || column < columns_))
          std::cout << lx::add_typos(text, options_, random);
        else
          std::cout << text;
        ++column;
        if (end == line.size()) break;
        begin = end + 1;
      }
      std::cout << '\n';
    }
    return 0;
  }

 private:
  lx::TypoOptions options_;
  program::TypoFlags typo_flags_;
  std::uint64_t seed_ = 1;
  std::size_t columns_ = 0;
  double probability_ = 1;
};

const program::Registered<AddTypos> command{
    "add_typos", program::Group::use, "adds typos and other noise to texts",
    "Adds typos to the tab-separated columns of each line of standard input. Same seed, same typos."};

}  // namespace
