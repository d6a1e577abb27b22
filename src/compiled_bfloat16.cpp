// SPDX-License-Identifier: MIT
// lexformer::compiled: models in bfloat16.
#define LEXFORMER_COMPILED
#include "lexformer/bfloat16.hpp"

namespace lexformer {
template TermFactories<bfloat16, Cpu>& attention_terms<bfloat16, Cpu>();
template struct Transformer<bfloat16, Cpu>;
template class Pretrained<bfloat16, Cpu>;
template class Encoder<bfloat16, Cpu>;
template class CrossEncoder<bfloat16, Cpu>;
template class MaskedLm<bfloat16, Cpu>;
template class CausalLm<bfloat16, Cpu>;
const bool love_plug_of_bfloat16 = register_love_plug<bfloat16, Cpu>();
}  // namespace lexformer
