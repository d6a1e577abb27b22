// SPDX-License-Identifier: MIT
// The model card (README.md) of a model that makes vectors for any word: words, model, results, command.
#pragma once

#include "report/svg.hpp"

#include "cli/model_card.hpp"
#include "train/imputer_options.hpp"

namespace program {

/// The texts of a card for one kind of model.
struct ImputerTexts {
  std::string name, about, data, paper;
};

/// results: as in all_results.json; defaults: settings of a run without options.
inline std::string imputer_card(const ImputerTrainOptions& o, const ImputerTexts& texts, std::size_t size, const lx::Json& results,
                                const lx::Json& defaults) {
  const auto rounded = [&](const char* key) {
    const lx::Json& x = results[key];
    return x.is_number() ? lx::short_number(x.get<double>(), 4) : x.get<std::string>();
  };
  StringWriter card;
  card << "# " << texts.name << ": vectors of " << size << " numbers for any word\n\n"
       << texts.about << results["parameters"] << " parameters, trained with lexformer " << LEXFORMER_VERSION << ", seed "
       << o.settings.seed << ".\n\n"
       << "```sh\necho photovoltaic | lexformer impute --model model.lxf\n```\n\n## Data\n\nTargets `" << o.targets << "`: " << texts.data
       << " To redistribute this model, comply with the licence of the targets.\n\n"
       << "## Results\n\n| | |\n| --- | --- |\n| training loss, mean of the run | " << rounded("train_loss") << " |\n";
  for (const auto& [key, name] : {std::pair{"eval_cosine", "cosine to the target"},
                                  {"eval_typo_cosine", "the same with a typo in the word"},
                                  {"eval_typo_top1", "share of the words with a typo whose nearest target is the right one"}})
    if (results.contains(key)) card << "| " << name << " | " << rounded(key) << " |\n";
  if (results.contains("eval_words"))
    card << "\nMeans over " << results["eval_words"] << " of the training words; with a typo, over the words that a typo changes.\n";
  card << changed_settings(results["settings"], defaults, {"targets", "vocab", "seed"}) << how_it_was_made(o.command)
       << "\n## Citation\n\nlexformer " << LEXFORMER_VERSION << ", and " << texts.paper << ".\n";
  return card.str();
}

}  // namespace program
