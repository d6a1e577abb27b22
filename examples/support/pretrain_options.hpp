// SPDX-License-Identifier: MIT
// The options of pretrain: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/io/json.hpp>

#include "program.hpp"

namespace program {

struct PretrainOptions {
  std::vector<std::string> texts;
  std::string valid, out, model, model_config, vocab, command;
  lx::TextStreamOptions stream;
  lx::MaskingOptions masking;
  lx::MthOptions mth;
  lx::ScheduleKind schedule = lx::ScheduleKind::linear;
  lx::ProgressMode progress = lx::ProgressMode::automatic;
  bool resume = false, overwrite = false, cased = false, quiet = false;
  double epochs = 1, lr = 1e-4, warmup = 0.01, weight_decay = 0.01, clip = 1.0;
  Compute compute;
  std::size_t vocab_size = 30522, max_steps = 0, batch = 32, accumulate = 1, eval_batch = 8, eval_documents = 1000, eval_steps = 0,
              save_steps = 0, save_total_limit = 2, logging_steps = 50;
  std::uint64_t seed = 1;

  void add_to(CLI::App& app) {
    app.add_option("--text", texts, "text files, one document per line")->required()->type_name("F");
    app.add_option("--out", out, "folder for model.lxf, all_results.json, log.jsonl and checkpoints")->required()->type_name("DIR");
    app.add_flag("--overwrite", overwrite, "start again in a folder with an earlier run");

    auto* group = app.add_option_group("Model");
    auto* start = group->add_option("--model", model, "initial model: a .lxf file or a HuggingFace folder; a missing head is initialized")
                      ->type_name("M.lxf");
    group
        ->add_option("--model-config", model_config,
                     "sizes of a new model: a JSON file with HuggingFace's keys (hidden_size, num_hidden_layers, ...)")
        ->type_name("C.json")
        ->default_str("BERT base")
        ->excludes(start);
    auto* words = group->add_option("--vocab", vocab, "vocabulary of a new model, one token per line")->type_name("V.txt")->excludes(start);
    number(*group, "--vocab-size", vocab_size, "without --vocab: size of a vocabulary trained on the text")
        ->excludes(start)
        ->excludes(words);
    group->add_flag("--cased", cased, "keep upper case and accents")->excludes(start);

    group = app.add_option_group("Text");
    number(*group, "--max-length", stream.max_length, "maximum number of tokens per document")->check(CLI::Range(3, 1 << 20));
    number(*group, "--min-words", stream.min_words, "skip documents with fewer words");
    number(*group, "--block", stream.block, "number of documents that are kept in memory, shuffled and sorted by length");
    auto* file = group->add_option("--valid", valid, "validation text, instead of held-out documents")->type_name("F");
    number(*group, "--held-out", stream.held_out, "hold out every n-th document for validation; 0 = none")->excludes(file);
    number(*group, "--eval-documents", eval_documents, "maximum number of validation documents")->check(program::positive());
    group->add_option("--mask-probability", masking.probability, "share of the tokens to predict (whole-word masking)")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    number(*group, "--max-predictions", masking.max_predictions, "maximum number of predicted tokens per document; 0 = no limit");

    group = app.add_option_group("Training");
    group->add_option("--epochs", epochs, "epochs; may be fractional")->check(program::positive())->capture_default_str();
    number(*group, "--max-steps", max_steps, "number of optimizer steps, instead of --epochs");
    number(*group, "--batch", batch, "documents per batch")->check(program::positive());
    number(*group, "--accumulation,--accumulate", accumulate, "batches per step")->check(program::positive());
    number(*group, "--lr", lr, "learning rate");
    add_choice(*group, "--schedule", schedule, "learning rate schedule; exponential: x 0.97 in each epoch");
    group->add_option("--warmup", warmup, "share of the steps with linear warm-up")->check(CLI::Range(0.0, 1.0))->capture_default_str();
    number(*group, "--weight-decay", weight_decay, "AdamW's decoupled weight decay, not applied to biases and LayerNorm");
    group->add_option("--clip", clip, "maximum gradient norm")->check(program::positive())->capture_default_str();
    number(*group, "--seed", seed, "seed of new weights, order, masks and dropout");
    auto* tokens = group->add_option("--token-cosine", mth.token_weight, "weight of MTH's token cosine, alpha1; the paper's is 1")
                       ->capture_default_str();
    auto* heads = group->add_option("--head-cosine", mth.head_weight, "weight of MTH's head cosine, alpha2; the paper's is 0.01")
                      ->capture_default_str();
    number(*group, "--cosine-tokens", mth.tokens, "tokens per document that the token cosine samples")
        ->check(CLI::Range(2, 1 << 20))
        ->needs(tokens);
    number(*group, "--cosine-heads", mth.heads, "heads per layer that the head cosine samples")->check(CLI::Range(2, 1024))->needs(heads);
    group->add_flag("--cosine-probabilities", mth.probabilities, "compute the head cosine of attention probabilities instead of scores")
        ->needs(heads);
    number(*group, "--eval-batch", eval_batch, "documents per batch in evaluation")->check(program::positive());
    number(*group, "--eval-steps", eval_steps, "steps between evaluations; 0 = at the end");
    number(*group, "--save-steps", save_steps, "steps between checkpoints; one is always written at the end and on interruption");
    number(*group, "--save-total-limit", save_total_limit, "number of checkpoints to keep");
    app.add_flag("--resume", resume, "continue from the newest checkpoint in --out, to the same bytes as an uninterrupted run");
    number(app, "--logging-steps", logging_steps, "steps between lines of log.jsonl");
    add_choice(app, "--progress", progress, "progress display");
    app.add_flag("--quiet", quiet, "no progress, only the results");
    add_compute(app, compute);
    add_threads(app);
  }
  void finish() {
    if (quiet) progress = lx::ProgressMode::none;
    if (!valid.empty()) stream.held_out = 0;
  }

  /// The settings that identify a run; a resumed run must have the same. Text is identified by the documents, not by
  /// file names.
  lx::Json json(const std::string& text, const std::string& validation, const lx::Json& config) const {
    lx::Json all = lx::Json::object();
    all["model"] = model;
    all["config"] = config;
    all["text"] = text;
    all["valid"] = validation;
    all["vocab"] = vocab;
    if (model.empty() && vocab.empty()) all["vocab_size"] = vocab_size;
    all["cased"] = cased;
    all["max_length"] = stream.max_length;
    all["min_words"] = stream.min_words;
    all["block"] = stream.block;
    all["held_out"] = stream.held_out;
    all["eval_documents"] = eval_documents;
    all["mask_probability"] = masking.probability;
    all["max_predictions"] = masking.max_predictions;
    all["num_train_epochs"] = epochs;
    all["max_steps"] = max_steps;
    all["per_device_train_batch_size"] = batch;
    all["gradient_accumulation_steps"] = accumulate;
    all["learning_rate"] = lr;
    all["lr_scheduler_type"] = lx::name_of(schedule);
    all["warmup_ratio"] = warmup;
    all["weight_decay"] = weight_decay;
    all["max_grad_norm"] = clip;
    all["eval_batch"] = eval_batch;
    all["eval_steps"] = eval_steps;
    all["logging_steps"] = logging_steps;
    all["token_cosine"] = mth.token_weight;
    all["head_cosine"] = mth.head_weight;
    all["cosine_tokens"] = mth.tokens;
    all["cosine_heads"] = mth.heads;
    all["cosine_probabilities"] = mth.probabilities;
    all["precision"] = lx::name_of(compute.precision);
    all["seed"] = seed;
    return all;
  }

 private:
  template <class Group, class Value>
  static CLI::Option* number(Group& group, const char* flag, Value& value, const char* text) {
    return group.add_option(flag, value, text)->check(program::non_negative())->capture_default_str();
  }
};

}  // namespace program
