// SPDX-License-Identifier: MIT
// The supported encoder architectures: one row per architecture, from which all other code reads the differences.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/error.hpp"

namespace lexformer {

struct Architecture {
  std::string_view model_type;  // in config.json; with a dot, the prefix of the encoder's tensors
  std::string_view name;        // in HuggingFace's class names: BertForMaskedLM, ...

  // HuggingFace's defaults for keys missing in a config.
  std::size_t hidden_size, num_attention_heads, intermediate_size;
  std::size_t embedding_size;  // 0: always hidden_size; else a projection follows the embeddings if the two differ

  // HuggingFace's classification head on the first token:  out(dropout(act(dense(x)))). If `pooler`, act is tanh and x is the token vector;
  // else act is gelu and dropout is also applied to x.
  bool pooler;
  std::string_view head_dense, head_out;

  bool masked_lm;  // HuggingFace's masked language model is supported
};

inline constexpr std::array architectures{
    Architecture{"bert", "Bert", 768, 12, 3072, 0, true, "bert.pooler.dense", "classifier", true},
    Architecture{"electra", "Electra", 256, 4, 1024, 128, false, "classifier.dense", "classifier.out_proj", false},
};

/// Lists all supported models, for messages.
inline std::string supported_models() {
  std::vector<std::string_view> types;
  for (const auto& a : architectures) types.push_back(a.model_type);
  return cat("lexformer reads BERT's WordPiece (model types ", join(types, " and "), ")");
}

/// Returns the architecture of a config's "model_type". Errors: it is not supported; `where` names the file.
inline const Architecture& find_architecture(std::string_view model_type, const std::string& where) {
  for (const auto& a : architectures)
    if (a.model_type == model_type) return a;
  fail_file(where, "'model_type' is ", in_quotes(model_type), ", which is not supported; ", supported_models());
}

}  // namespace lexformer
