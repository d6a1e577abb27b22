// SPDX-License-Identifier: MIT
// The model card (README.md) of a LOVE model: words, model, results, command.
#pragma once

#include <lexformer/report/svg.hpp>

#include "love_options.hpp"
#include "model_card.hpp"

namespace program {

/// results: as in all_results.json; words: a description of the training words.
inline std::string love_card(const LoveTrainOptions& o, const lx::LoveOptions& love, const lx::Json& results, const std::string& words) {
  const auto rounded = [&](const char* key) {
    const lx::Json& x = results[key];
    return x.is_number() ? lx::short_number(x.get<double>(), 4) : x.get<std::string>();
  };
  StringWriter card;
  card << "# LOVE: vectors of " << love.size << " numbers for any word\n\n"
       << "Imputes the vector of a word from its letters and pieces (Chen et al., ACL 2022). " << love.rows << " letters and pieces, "
       << results["parameters"] << " parameters, trained with lexformer " << LEXFORMER_VERSION << ", seed " << o.seed << ".\n\n"
       << "```sh\necho mispelling | impute --model model.lxf\n```\n\n## Data\n\nTargets `" << o.targets << "`: " << words
       << ". Vocabulary `" << o.vocab << "`. To redistribute this model, comply with the licence of the targets.\n\n"
       << "## Results\n\n| | |\n| --- | --- |\n| training loss, mean of the run | " << rounded("train_loss") << " |\n";
  for (const auto& [key, name] : {std::pair{"eval_cosine", "cosine to the target"},
                                  {"eval_typo_cosine", "the same with a typo in the word"},
                                  {"eval_typo_top1", "share of the words with a typo whose nearest target is the right one"}})
    if (results.contains(key)) card << "| " << name << " | " << rounded(key) << " |\n";
  if (results.contains("eval_words"))
    card << "\nMeans over " << results["eval_words"] << " of the training words; with a typo, over those of them that a typo changes.\n";
  card << changed_settings(results["settings"], LoveTrainOptions().json("", ""), {"targets", "vocab", "seed"}) << how_it_was_made(o.command)
       << "\n## Citation\n\nlexformer " << LEXFORMER_VERSION << ", and Chen, Varoquaux and Suchanek, \"Imputing Out-of-Vocabulary "
       << "Embeddings with LOVE Makes Language Models Robust with Little Cost\", ACL 2022.\n";
  return card.str();
}

}  // namespace program
