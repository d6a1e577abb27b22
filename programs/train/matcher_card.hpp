// SPDX-License-Identifier: MIT
// The model card (README.md) of a trained matcher: model, data, results, command.
#pragma once

#include <lexformer/io/json.hpp>

#include "cli/model_card.hpp"
#include "train/matcher_options.hpp"

namespace program {

/// settings: the values that identify the run; rows: of its table; data: its files with their numbers of examples.
inline std::string model_card(const MatcherOptions& o, const lx::Json& settings,
                              const std::vector<std::pair<std::string, lx::Evaluation>>& rows,
                              const std::vector<std::pair<std::string, std::size_t>>& data) {
  StringWriter card;
  const bool lea = o.encoder.has("lea");
  const bool trees = o.encoder.has("dafa") || o.encoder.has("syntax"), wordnet = o.encoder.has("uerbert");
  const bool single = o.encoder.task.texts == 1;
  const std::string examples = lx::examples_name(o.encoder.task.texts);
  card << (single ? "# A model that reads single texts" : "# A cross-encoder for pairs of texts")
       << (lea ? ", with lexical attention (LEA)" : "") << "\n\n"
       << "Trained with lexformer " << LEXFORMER_VERSION << ", starting from `" << o.model << "`, seed " << settings["seed"] << ".\n\n"
       << "```sh\nlexformer score_pairs --model model.lxf" << (trees ? " --parses trees.conllu" : "")
       << (wordnet ? " --wordnet /usr/share/wordnet" : "") << " < " << examples << ".tsv > scores.tsv\n```\n\n"
       << "## Data\n\n| file | " << examples << " |\n| --- | --- |\n";
  for (const auto& [file, size] : data) card << "| " << table_cell(file) << " | " << size << " |\n";

  card << "\n## Results\n\nIn percent" << (o.encoder.task.kind == lx::TaskKind::regression ? " (mse unscaled)" : "") << ". The best model"
       << (rows[0].second.primary == "f1" ? " and its threshold were" : " was") << " chosen on the validation " << examples
       << " (first row)" << (single ? " by " + rows[0].second.primary : "") << ", so that row is optimistic.\n\n";
  card << metric_table(rows);

  MatcherOptions untouched;
  untouched.encoder.task.texts = o.encoder.task.texts;
  untouched.finish(OptionVisitor());
  untouched.encoder.attention = o.encoder.attention;
  card << "\n" << changed_settings(settings, untouched.identity(), {"model", "train", "valid", "seed"}) << how_it_was_made(o.command);
  card << "\n## Citation\n\nThe base model, and";
  if (lea)
    card
        << " M. Almagro, E. Almazán, D. Ortego, D. Jiménez: LEA: Improving Sentence Similarity Robustness to Typos Using Lexical Attention "
           "Bias, KDD 2023 (doi 10.1145/3580305.3599402);";
  if (o.encoder.has("dafa"))
    card << " J. Song, D. Liang, R. Li, Y. Li, S. Wang, M. Peng, W. Wu, Y. Yu: Improving Semantic Matching through Dependency-Enhanced "
            "Pre-trained Model with Adaptive Fusion, Findings of EMNLP 2022;";
  card << (lea || o.encoder.has("dafa") ? " for the program" : "") << " lexformer " << LEXFORMER_VERSION << ".\n";
  return card.str();
}

}  // namespace program
