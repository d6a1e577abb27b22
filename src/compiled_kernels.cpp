// SPDX-License-Identifier: MIT
// lexformer::compiled: the kernels of the CPU.
#define LEXFORMER_COMPILED
#include "lexformer/kernels/cpu.hpp"

namespace lexformer {
LEXFORMER_KERNELS(, Cpu)
}  // namespace lexformer
