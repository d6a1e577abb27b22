// SPDX-License-Identifier: MIT
// The options of pretrain: names, help texts, and keys in all_results.json.
#pragma once

#include "train/training_options.hpp"

namespace program {

struct PretrainOptions : TrainingOptions {
  std::vector<std::string> texts;
  std::string valid, model, model_config, vocab;
  lx::TextStreamOptions stream;
  lx::MaskingOptions masking;
  lx::MthOptions mth;
  bool cased = false;
  double weight_decay = 0.01;
  std::size_t vocab_size = 30522, eval_documents = 1000;
  std::uint64_t seed = 1;

  PretrainOptions() {
    warmup = 0.01;
    eval_batch = 8;
  }

  void add_to(CLI::App& app) {
    app.add_option("--text", texts, "text files, one document per line")->required()->type_name("F");
    add_out(app);

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
    add_batch(*group, "documents");
    add_training(*group, "at the end");
    add_gradient_checkpointing(*group);
    add_warmup(*group);
    number(*group, "--weight-decay", weight_decay, "AdamW's decoupled weight decay, not applied to biases and LayerNorm");
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
    add_run(app);
  }
  void finish() {
    if (gradient_checkpointing && mth.head_weight != 0)
      lx::fail_usage("--gradient-checkpointing", "has no effect with --head-cosine, which needs the attentions of all layers");
    finish_training();
    if (!valid.empty()) stream.held_out = 0;
  }

  /// The settings that identify a run; a resumed run must have the same. Text is identified by the documents, not by
  /// file names.
  lx::Json json(const std::string& text, const std::string& validation, const lx::Json& config) const {
    lx::Json all = training_json(seed);
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
    all["per_device_train_batch_size"] = batch;
    all["warmup_ratio"] = warmup;
    all["weight_decay"] = weight_decay;
    all["eval_batch"] = eval_batch;
    all["token_cosine"] = mth.token_weight;
    all["head_cosine"] = mth.head_weight;
    all["cosine_tokens"] = mth.tokens;
    all["cosine_heads"] = mth.heads;
    all["cosine_probabilities"] = mth.probabilities;
    return all;
  }
};

}  // namespace program
