// SPDX-License-Identifier: MIT
// lexformer::compiled: models of words and texts beside BERT's own, in float and bfloat16.
#define LEXFORMER_COMPILED
#include "lexformer/bfloat16.hpp"

#define LEXFORMER_WORD_MODELS(T)  \
  LEXFORMER_LOVE(, T)             \
  LEXFORMER_TEXT_CNN(, T)         \
  LEXFORMER_SENTENCE_ENCODER(, T) \
  LEXFORMER_LSTM_TAGGER(, T)      \
  LEXFORMER_BERT_TAGGER(, T)

namespace lexformer {
LEXFORMER_WORD_MODELS(float)
LEXFORMER_WORD_MODELS(bfloat16)
}  // namespace lexformer
