// SPDX-License-Identifier: MIT
// The part of lexformer::cuda that does not need nvcc: models on the device, compiled once for all programs.
#include "lexformer/attention/terms.hpp"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/models/causal_lm.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/encoder.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "lexformer/models/open_scorer.hpp"
#include "lexformer/models/text_encoder.hpp"
#include "lexformer/models/word_tagger.hpp"
#include "lexformer/words/love_plug.hpp"

namespace lexformer {
template TermFactories<float, Cuda>& attention_terms<float, Cuda>();
template TermFactories<bfloat16, Cuda>& attention_terms<bfloat16, Cuda>();
template class Pretrained<float, Cuda>;
template class Encoder<float, Cuda>;
template class CrossEncoder<float, Cuda>;
template class Pretrained<bfloat16, Cuda>;
template class Encoder<bfloat16, Cuda>;
template class CrossEncoder<bfloat16, Cuda>;
template class MaskedLm<float, Cuda>;
template class MaskedLm<bfloat16, Cuda>;
template class CausalLm<float, Cuda>;
template class CausalLm<bfloat16, Cuda>;
const bool love_plug_on_device = register_love_plug<float, Cuda>() && register_love_plug<bfloat16, Cuda>();
namespace detail {
LEXFORMER_INSTANCES_ON(Cuda, LEXFORMER_SCORER, )
LEXFORMER_INSTANCES_ON(Cuda, LEXFORMER_TEXT_ENCODER, )
LEXFORMER_INSTANCES_ON(Cuda, LEXFORMER_TAGGER, )
}  // namespace detail
}  // namespace lexformer
