// SPDX-License-Identifier: MIT
// What differs between the encoder architectures that are supported: one row of facts for each. Everything else reads it from here.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/error.hpp"

namespace lexformer {

struct Architecture {
  std::string_view model_type;  // of config.json; with a dot, the prefix of the encoder's tensors
  std::string_view name;        // of HuggingFace's classes: BertForMaskedLM, ...

  // HuggingFace's defaults, for keys that a config leaves out.
  std::size_t hidden_size, num_attention_heads, intermediate_size;
  std::size_t embedding_size;  // 0: always hidden_size; else a projection follows the embeddings where the two differ

  // HuggingFace's classification head on the first token:  out(dropout(act(dense(x)))). Where `pooler`, act is tanh and x the token as it
  // is; else act is gelu and x has dropout, too.
  bool pooler;
  std::string_view head_dense, head_out;

  bool masked_lm;                         // the head "cls.predictions" is supported
  std::array<std::string_view, 5> heads;  // prefixes of the tensors of all of its heads; a model leaves out those of others
};

inline constexpr std::array architectures{
    Architecture{"bert",
                 "Bert",
                 768,
                 12,
                 3072,
                 0,
                 true,
                 "bert.pooler.dense",
                 "classifier",
                 true,
                 {"bert.pooler.", "classifier.", "cls.", "qa_outputs.", "lexformer.head."}},
    Architecture{"electra",
                 "Electra",
                 256,
                 4,
                 1024,
                 128,
                 false,
                 "classifier.dense",
                 "classifier.out_proj",
                 false,
                 {"classifier.", "discriminator_predictions.", "generator_", "qa_outputs.", "lexformer.head."}},
};

/// What can be read at all, for messages.
inline std::string supported_models() {
  std::vector<std::string_view> types;
  for (const auto& a : architectures) types.push_back(a.model_type);
  return cat("lexformer reads BERT's WordPiece (model types ", join(types, " and "), ")");
}

/// The architecture of a config's "model_type". Errors: it is not supported; `where` names the file.
inline const Architecture& find_architecture(std::string_view model_type, const std::string& where) {
  for (const auto& a : architectures)
    if (a.model_type == model_type) return a;
  fail_file(where, "'model_type' is ", in_quotes(model_type), ", which is not supported; ", supported_models());
}

/// Whether a tensor belongs to one of the heads of this architecture.
inline bool is_head_tensor(const Architecture& a, std::string_view name) {
  for (const auto& prefix : a.heads)
    if (name.starts_with(prefix)) return true;
  return false;
}

}  // namespace lexformer
