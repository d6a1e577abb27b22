// SPDX-License-Identifier: MIT
// The options of pretrain.
#pragma once

#include <lexformer/train/pretraining.hpp>

#include "train/training_options.hpp"

namespace program {

/// masked: of an encoder; causal: of a decoder, the next token.
enum class Objective { masked, causal };

}  // namespace program

template <>
inline constexpr lexformer::Named<program::Objective> lexformer::names_of<program::Objective>[] = {{"masked", program::Objective::masked},
                                                                                                   {"causal", program::Objective::causal}};

namespace program {

struct PretrainOptions : RunOptions {
  Objective objective = Objective::masked;
  std::vector<std::string> texts;
  std::string valid, model, model_config, vocab;
  lx::TextStreamOptions stream;
  lx::PretrainingSettings settings;
  bool cased = false;
  std::size_t vocab_size = 30522, eval_documents = 1000;

  void visit(OptionVisitor& v) {
    v.inputs("text", texts, "text files, one document per line").required();
    visit_out(v);

    v.group("Model");
    v.choice("objective", objective, "what is predicted: masked tokens by an encoder, or the next token by a decoder (gpt2, gpt_neo)")
        .identity(causal());
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
    for (lx::Option& option : v.nested("", [&](OptionVisitor& of_masks) { settings.visit_masking(of_masks); }))
      option.only_if(!causal(), "belongs to --objective masked");

    settings.visit_training(v);
    visit_run(v, settings);
  }
  bool causal() const { return objective == Objective::causal; }
  void finish(const OptionVisitor&) {
    settings.check();
    finish_run();
    if (!valid.empty()) stream.held_out = 0;
  }

  /// The settings that identify a run, besides its text. validation: describes the file of it, if there is one.
  lx::JsonValue identity(const std::string& validation, const lx::Json& config) const {
    lx::Json all = identity_of(*this);
    all["config"] = config;
    all["valid"] = validation;
    return lx::JsonValue(std::move(all));
  }
};

}  // namespace program
