// SPDX-License-Identifier: MIT
// Models in double, for gradient checks. Include it after linking lexformer::double, and they are compiled once, in that library.
#pragma once

#include "lexformer/attention/terms.hpp"
#include "lexformer/models/causal_lm.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/encoder.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/words/love_plug.hpp"

/// The word is extern in programs.
#define LEXFORMER_DOUBLE_MODELS(word)                                       \
  word template TermFactories<double, Cpu>& attention_terms<double, Cpu>(); \
  word template struct Transformer<double, Cpu>;                            \
  word template class Pretrained<double, Cpu>;                              \
  word template class Encoder<double, Cpu>;                                 \
  word template class CrossEncoder<double, Cpu>;                            \
  word template class MaskedLm<double, Cpu>;                                \
  word template class CausalLm<double, Cpu>;                                \
  word template class AdamW<double, Cpu>;

#if defined(LEXFORMER_COMPILED_DOUBLE)
namespace lexformer {
LEXFORMER_DOUBLE_MODELS(extern)
}
#else
namespace lexformer {
inline const bool love_plug_of_double = register_love_plug<double, Cpu>();
}
#endif
