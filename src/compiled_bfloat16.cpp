// SPDX-License-Identifier: MIT
// Second file of lexformer::compiled, so that both compile in parallel.
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/masked_lm.hpp"

namespace lexformer {
template class CrossEncoder<bfloat16, Cpu>;
template class MaskedLm<bfloat16, Cpu>;
}  // namespace lexformer
