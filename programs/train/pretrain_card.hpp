// SPDX-License-Identifier: MIT
// The model card (README.md) of a pre-trained encoder: model, data, results, command.
#pragma once

#include "cli/model_card.hpp"
#include "lexformer/io/json.hpp"
#include "report/svg.hpp"
#include "train/pretrain_options.hpp"

namespace program {

/// results: as in all_results.json; text: a description of the text files.
template <class Model>
std::string pretrain_card(const PretrainOptions& o, const Model& model, std::size_t parameters, const lx::Json& results,
                          const std::string& text) {
  const auto& config = model.config();
  const auto rounded = [](const lx::Json& x) { return x.is_number() ? lx::short_number(x.get<double>(), 4) : x.get<std::string>(); };
  StringWriter card;
  card << "# A " << lx::name_of(o.objective) << " language model, " << config.num_hidden_layers << " layers of width " << config.hidden_size
       << "\n\n"
       << (o.causal() ? "A GPT decoder with " : "A BERT encoder with ") << config.num_attention_heads << " heads, positions `"
       << model.encoder().positions() << "`, " << config.vocab_size << " tokens ("
       << (model.tokenizer().options().lowercase ? "lower case" : "cased") << "), " << parameters << " parameters. "
       << (o.model.empty() ? "Trained from scratch" : lx::cat("Trained starting from `", o.model, "`")) << " with lexformer "
       << LEXFORMER_VERSION << ", seed " << o.settings.seed << ".\n\n"
       << "```sh\n"
       << (o.causal() ? "" : "echo 'the [MASK] is red' | lexformer fill_mask --model model.lxf\n")
       << "lexformer train_matcher --model model.lxf --train train.tsv --valid valid.tsv --out matcher\n```\n\n"
       << "## Data\n\n";
  for (const auto& file : o.texts) card << (&file == &o.texts.front() ? "`" : ", `") << file << "`";
  card << ": " << text << ". The vocabulary "
       << (!o.model.empty()  ? "is the model's"
           : o.vocab.empty() ? "was trained on the same text"
                             : lx::cat("is `", o.vocab, "`"))
       << (o.valid.empty() ? "" : lx::cat(". Measured on `", o.valid, "`"))
       << ". To redistribute this model, comply with the licences of the text and of the initial model.\n\n";
  card << "## Results\n\n| | |\n| --- | --- |\n| training tokens | " << results["num_input_tokens_seen"]
       << " |\n| training loss, mean of the run | " << rounded(results["train_loss"]) << " |\n";
  for (const auto& [key, name] : {std::pair{"eval_loss", "loss"},
                                  {"eval_perplexity", "perplexity"},
                                  {"eval_accuracy", "accuracy"},
                                  {"eval_token_similarity", "similarity of tokens, f(S)"},
                                  {"eval_head_similarity", "similarity of heads, f(H)"}})
    if (results.contains(key)) card << "| " << name << " | " << rounded(results[key]) << " |\n";
  card << "\nAll results except the training loss are for " << results["eval_samples"]
       << " held-out documents (the similarities for at most 100 of them). Losses are in nats per " << (o.causal() ? "" : "masked ")
       << "token"
       << (o.settings.mth.token_weight != 0 || o.settings.mth.head_weight != 0 ? "; the training loss includes the weighted cosines" : "")
       << ".\n"
       << changed_settings(results["settings"], PretrainOptions().identity("", lx::Json::object()),
                           {"model", "text", "valid", "vocab", "seed"})
       << how_it_was_made(o.command) << "\n## Citation\n\nlexformer " << LEXFORMER_VERSION
       << ", and the papers of its position scheme and losses:\n"
       << "lexformer's docs/paper-map.md lists them.\n";
  return card.str();
}

}  // namespace program
