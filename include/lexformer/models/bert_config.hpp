// SPDX-License-Identifier: MIT
// The settings of a BERT or Electra encoder: HuggingFace's config.json, its keys and its defaults.
#pragma once

#include <string>

#include "lexformer/io/config.hpp"
#include "lexformer/nn/activation.hpp"

namespace lexformer {

struct BertConfig {
  std::string model_type = "bert";  // "bert" or "electra": also the prefix of the tensor names
  std::size_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12, intermediate_size = 3072;
  std::size_t max_position_embeddings = 512, type_vocab_size = 2;
  std::size_t embedding_size = 768;  // Electra's may differ from hidden_size; then a projection follows the embeddings
  Activation hidden_act = Activation::gelu;
  double hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0.1, layer_norm_eps = 1e-12, initializer_range = 0.02;
  double classifier_dropout = 0.1;  // of HuggingFace's head; hidden_dropout_prob unless the config says otherwise
};

/// Reads config.json; `where` names the file in errors. Every number is checked before it sizes anything.
inline BertConfig parse_bert_config(const Json& json, const std::string& where) {
  BertConfig c;
  c.model_type = get_string(json, "model_type", where, "bert");
  if (c.model_type != "bert" && c.model_type != "electra")
    fail_file(where, "'model_type' is ", in_quotes(c.model_type), "; bert and electra are supported");
  const bool electra = c.model_type == "electra";
  c.vocab_size = get_size(json, "vocab_size", 1, 1u << 24, where, 30522);
  c.hidden_size = get_size(json, "hidden_size", 1, 1u << 16, where, electra ? 256 : 768);
  c.num_hidden_layers = get_size(json, "num_hidden_layers", 1, 256, where, 12);
  c.num_attention_heads = get_size(json, "num_attention_heads", 1, 1024, where, electra ? 4 : 12);
  c.intermediate_size = get_size(json, "intermediate_size", 1, 1u << 18, where, electra ? 1024 : 3072);
  c.max_position_embeddings = get_size(json, "max_position_embeddings", 1, 1u << 20, where, 512);
  c.type_vocab_size = get_size(json, "type_vocab_size", 1, 1024, where, 2);
  c.embedding_size = electra ? get_size(json, "embedding_size", 1, 1u << 16, where, 128) : c.hidden_size;
  c.hidden_act = get_name<Activation>(json, "hidden_act", where, Activation::gelu);
  c.hidden_dropout_prob = get_number(json, "hidden_dropout_prob", 0, 0.99, where, 0.1);
  c.attention_probs_dropout_prob = get_number(json, "attention_probs_dropout_prob", 0, 0.99, where, 0.1);
  c.classifier_dropout = get_number(json, "classifier_dropout", 0, 0.99, where, c.hidden_dropout_prob);
  c.layer_norm_eps = get_number(json, "layer_norm_eps", 0, 1, where, 1e-12);
  c.initializer_range = get_number(json, "initializer_range", 0, 10, where, 0.02);
  if (c.hidden_size % c.num_attention_heads != 0)
    fail_file(where, "'hidden_size' ", c.hidden_size, " is not divisible by 'num_attention_heads' ", c.num_attention_heads);
  const std::string positions = get_string(json, "position_embedding_type", where, "absolute");
  if (positions != "absolute")
    fail_file(where, "'position_embedding_type' is ", in_quotes(positions), "; only absolute is supported so far");
  return c;
}

}  // namespace lexformer
