// SPDX-License-Identifier: MIT
// Models in double, which many tests check. They are compiled once, in double_models.cpp.
#pragma once

#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/encoder.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "lexformer/train/optimizer.hpp"

// The word is extern in test programs.
#define LEXFORMER_DOUBLE_MODELS(word)                                           \
  word template const TermFactories<double, Cpu>& library_terms<double, Cpu>(); \
  word template struct BertEncoder<double, Cpu>;                                \
  word template class Pretrained<double, Cpu>;                                  \
  word template class Encoder<double, Cpu>;                                     \
  word template class CrossEncoder<double, Cpu>;                                \
  word template class MaskedLm<double, Cpu>;                                    \
  word template class AdamW<double, Cpu>;

#if !defined(LEXFORMER_DEFINES_DOUBLE_MODELS)
namespace lexformer {
LEXFORMER_DOUBLE_MODELS(extern)
}
#endif
