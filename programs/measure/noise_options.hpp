// SPDX-License-Identifier: MIT
// Options of `robustness`: which noise, how much, how often.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/metrics/bootstrap.hpp>

#include "cli/typo_flags.hpp"

namespace program {

class NoiseOptions {
 public:
  std::vector<lx::TypoMode> sources{};  // in the order given
  std::vector<double> intensities{};    // without 0, ascending
  std::size_t repeats = 3;
  std::uint64_t seed = 1;
  lx::BootstrapOptions bootstrap{};

  void visit(OptionVisitor& v) {
    v.list("noise", names_,
           "sources of noise, see lexformer help add_typos: " + lx::list_names<lx::TypoMode>() +
               " (default: all; misspellings only with --misspellings)")
        .split_at(',')
        .among(lx::all_names<lx::TypoMode>())
        .shown_as("NAME,...");
    v.list("intensity", shares_, lx::bounds::share,
           "shares of the words with noise (of the numbers, for units); the clean texts come in addition")
        .split_at(',')
        .shown_as("SHARE,...");
    misspellings_.visit(v, "list for the noise misspellings");
    v.size("repeats", repeats, 1, 1000, "copies of the texts with noise for each source and intensity");
    v.size("seed", seed, 1, std::size_t{1} << 40,
           "seed of noise and bootstrap; with 1 the copies are the same as in evaluate --test-typos");
    v.size("resamples", bootstrap.resamples, 1, 1000000, "number of bootstrap samples");
    v.number("level", bootstrap.level, 0.5, 0.999, "confidence level of the intervals");
  }
  /// Checks the options and reads --misspellings.
  void finish() {
    for (const auto& name : names_) {
      const auto source = *lx::find_name<lx::TypoMode>(name);
      if (std::find(sources.begin(), sources.end(), source) != sources.end()) lx::fail_usage("--noise", name, " is given twice");
      sources.push_back(source);
    }
    if (names_.empty())
      for (const auto& entry : lx::names_of<lx::TypoMode>)
        if (entry.value != lx::TypoMode::misspellings || misspellings_.given()) sources.push_back(entry.value);
    const bool needed = std::find(sources.begin(), sources.end(), lx::TypoMode::misspellings) != sources.end();
    if (needed && !misspellings_.given()) lx::fail_usage("--noise", "misspellings needs a list of them: --misspellings F");
    if (!needed && misspellings_.given()) lx::fail_usage("--misspellings", "needs misspellings among --noise");
    if (needed) table_ = misspellings_.load();
    intensities = shares_;
    std::sort(intensities.begin(), intensities.end());
    intensities.erase(std::unique(intensities.begin(), intensities.end()), intensities.end());
    if (!intensities.empty() && intensities.front() == 0) intensities.erase(intensities.begin());
    if (intensities.empty()) lx::fail_usage("--intensity", "names no share above 0");
    bootstrap.seed = seed;
  }
  lx::TypoOptions typos(lx::TypoMode source, double share) const {
    return {.mode = source, .word_share = share, .misspellings = source == lx::TypoMode::misspellings ? table_ : nullptr};
  }
  /// The number of a copy, for lx::with_typos(): other seeds draw other copies.
  std::size_t copy(std::size_t repeat) const { return 1 + repeat + static_cast<std::size_t>(seed - 1) * repeats; }
  lx::Json json() const {
    lx::Json all = {
        {"intensities", intensities}, {"repeats", repeats}, {"seed", seed}, {"resamples", bootstrap.resamples}, {"level", bootstrap.level}};
    for (const auto source : sources) all["noise"].push_back(lx::name_of(source));
    if (table_) all["misspellings"] = table_->source;
    return all;
  }

 private:
  std::vector<std::string> names_{};
  std::vector<double> shares_{0, 0.1, 0.2, 0.4};
  MisspellingsFlag misspellings_{};
  std::shared_ptr<const lx::MisspellingTable> table_{};
};

}  // namespace program
