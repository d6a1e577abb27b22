// SPDX-License-Identifier: MIT
// The options of pretrain.
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

  PretrainOptions() {
    warmup = 0.01;
    eval_batch = 8;
  }

  void visit(OptionVisitor& v) {
    v.inputs("text", texts, "text files, one document per line").required();
    visit_out(v);

    v.group("Model");
    v.input("model", model, "initial model: a .lxf file or a HuggingFace folder; a missing head is initialized")
        .shown_as("M.lxf")
        .identity(true);
    v.input("model_config", model_config, "sizes of a new model: a JSON file with HuggingFace's keys (hidden_size, num_hidden_layers, ...)")
        .shown_as("C.json")
        .default_text("BERT base")
        .excludes("model");
    v.input("vocab", vocab, "vocabulary of a new model, one token per line").shown_as("V.txt").excludes("model").identity(true);
    v.size("vocab_size", vocab_size, 0, "without --vocab: size of a vocabulary trained on the text")
        .excludes("model")
        .excludes("vocab")
        .identity(model.empty() && vocab.empty());
    v.flag("cased", cased, "keep upper case and accents").excludes("model");

    v.group("Text");
    v.size("max_length", stream.max_length, 3, 1 << 20, "maximum number of tokens per document");
    v.size("min_words", stream.min_words, 0, "skip documents with fewer words");
    v.size("block", stream.block, 0, "number of documents that are kept in memory, shuffled and sorted by length");
    v.input("valid", valid, "validation text, instead of held-out documents");
    v.size("held_out", stream.held_out, 0, "hold out every n-th document for validation; 0 = none").excludes("valid");
    v.size("eval_documents", eval_documents, 1, "maximum number of validation documents");
    v.number("mask_probability", masking.probability, lx::bounds::share, "share of the tokens to predict (whole-word masking)");
    v.size("max_predictions", masking.max_predictions, 0, "maximum number of predicted tokens per document; 0 = no limit");

    v.group("Training");
    visit_batch(v, "documents");
    visit_training(v, "at the end");
    visit_gradient_checkpointing(v);
    visit_warmup(v);
    v.number("weight_decay", weight_decay, lx::bounds::non_negative, "AdamW's decoupled weight decay, not applied to biases and LayerNorm");
    v.size("seed", seed, 0, "seed of new weights, order, masks and dropout");
    v.number("token_cosine", mth.token_weight, lx::bounds::any, "weight of MTH's token cosine, alpha1; the paper's is 1");
    v.number("head_cosine", mth.head_weight, lx::bounds::any, "weight of MTH's head cosine, alpha2; the paper's is 0.01");
    v.size("cosine_tokens", mth.tokens, 2, 1 << 20, "tokens per document that the token cosine samples").needs("token_cosine");
    v.size("cosine_heads", mth.heads, 2, 1024, "heads per layer that the head cosine samples").needs("head_cosine");
    v.flag("cosine_probabilities", mth.probabilities, "compute the head cosine of attention probabilities instead of scores")
        .needs("head_cosine");
    visit_run(v);
  }
  void finish(const OptionVisitor&) {
    if (gradient_checkpointing && mth.head_weight != 0)
      lx::fail_usage("--gradient-checkpointing", "has no effect with --head-cosine, which needs the attentions of all layers");
    finish_run();
    if (!valid.empty()) stream.held_out = 0;
  }

  /// The settings that identify a run; a resumed run must have the same. Text is identified by the documents, not by file names.
  lx::Json json(const std::string& text, const std::string& validation, const lx::Json& config) const {
    lx::Json all = identity_of(*this);
    all["config"] = config;
    all["text"] = text;
    all["valid"] = validation;
    return all;
  }
};

}  // namespace program
