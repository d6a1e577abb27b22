// SPDX-License-Identifier: MIT
// lexformer::compiled: models in float.
#define LEXFORMER_COMPILED
#include "lexformer/attention/terms.hpp"
#include "lexformer/models/causal_lm.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/encoder.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "lexformer/words/love_plug.hpp"

namespace lexformer {
template TermFactories<float, Cpu>& attention_terms<float, Cpu>();
template struct Transformer<float, Cpu>;
template class Pretrained<float, Cpu>;
template class Encoder<float, Cpu>;
template class CrossEncoder<float, Cpu>;
template class MaskedLm<float, Cpu>;
template class CausalLm<float, Cpu>;
const bool love_plug = register_love_plug<float, Cpu>();
}  // namespace lexformer
