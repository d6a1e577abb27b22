// SPDX-License-Identifier: MIT
// A second file of lexformer::compiled, so that both compile at once.
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/masked_lm.hpp"

namespace lexformer {
template class CrossEncoder<bfloat16, Cpu>;
template class MaskedLm<bfloat16, Cpu>;
}  // namespace lexformer
