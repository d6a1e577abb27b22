// SPDX-License-Identifier: MIT
// README.md beside a pre-trained encoder: what it is, what it was made of, how good it is, how it was made.
#pragma once

#include "lexformer/io/json.hpp"
#include "lexformer/report/svg.hpp"
#include "model_card.hpp"
#include "pretrain_options.hpp"

namespace program {

/// `results` are those of all_results.json; `text` says what the files held.
template <class T, class Dev>
std::string pretrain_card(const PretrainOptions& o, const lx::MaskedLm<T, Dev>& model, std::size_t parameters, const lx::Json& results,
                          const std::string& text) {
  const auto& config = model.config();
  const auto rounded = [](const lx::Json& x) { return x.is_number() ? lx::short_number(x.get<double>(), 4) : x.get<std::string>(); };
  StringWriter card;
  card << "# A masked language model, " << config.num_hidden_layers << " layers of width " << config.hidden_size << "\n\n"
       << "A BERT encoder with " << config.num_attention_heads << " heads, positions `" << model.encoder().positions() << "`, "
       << config.vocab_size << " tokens (" << (model.tokenizer().options().lowercase ? "lower case" : "cased") << "), " << parameters
       << " parameters. " << (o.model.empty() ? "Trained from nothing" : lx::cat("Trained beginning with `", o.model, "`"))
       << " with lexformer " << LEXFORMER_VERSION << ", seed " << o.seed << ".\n\n"
       << "```sh\necho 'the [MASK] is red' | fill_mask --model model.lxf\n"
       << "train_matcher --model model.lxf --train train.tsv --valid valid.tsv --out matcher\n```\n\n"
       << "## Data\n\n";
  for (const auto& file : o.texts) card << (&file == &o.texts.front() ? "`" : ", `") << file << "`";
  card << ": " << text << ". The vocabulary "
       << (!o.model.empty()  ? "is that of the model"
           : o.vocab.empty() ? "was trained on the same text"
                             : lx::cat("is `", o.vocab, "`"))
       << (o.valid.empty() ? "" : lx::cat(". Measured on `", o.valid, "`"))
       << ". Who passes this model on keeps to the licences of the text and of what it began with.\n\n";
  card << "## Figures\n\n| | |\n| --- | --- |\n| tokens read | " << results["num_input_tokens_seen"]
       << " |\n| training loss, mean of the run | " << rounded(results["train_loss"]) << " |\n";
  for (const auto& [key, name] : {std::pair{"eval_loss", "loss"},
                                  {"eval_perplexity", "perplexity"},
                                  {"eval_accuracy", "accuracy"},
                                  {"eval_token_similarity", "similarity of tokens, f(S)"},
                                  {"eval_head_similarity", "similarity of heads, f(H)"}})
    if (results.contains(key)) card << "| " << name << " | " << rounded(results[key]) << " |\n";
  card << "\nAll but the training loss are of " << results["eval_samples"]
       << " documents that were not trained on (the similarities of 100 of them at the most). Losses are in nats for each masked token"
       << (o.mth.token_weight != 0 || o.mth.head_weight != 0 ? "; that of the training has the weighted cosines in it" : "") << ".\n"
       << changed_settings(results["settings"], PretrainOptions().json("", "", lx::Json::object()),
                           {"model", "text", "valid", "vocab", "seed"})
       << how_it_was_made(o.command) << "\n## To cite\n\nlexformer " << LEXFORMER_VERSION
       << ", and what its position scheme and its losses come from:\n"
       << "docs/paper-map.md of lexformer has the list.\n";
  return card.str();
}

}  // namespace program
