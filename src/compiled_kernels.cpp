// SPDX-License-Identifier: MIT
// lexformer::compiled: the kernels of the CPU, and the optimizer.
#define LEXFORMER_COMPILED
#include "lexformer/kernels/cpu.hpp"
#include "lexformer/train/optimizer.hpp"

namespace lexformer {
LEXFORMER_KERNELS(, Cpu)
template class AdamWRows<float>;
template class AdamWRows<bfloat16>;
template class AdamW<float, Cpu>;
template class AdamW<bfloat16, Cpu>;
}  // namespace lexformer
