// SPDX-License-Identifier: MIT
// lexformer::compiled: the definitions that programs compiled with LEXFORMER_COMPILED only declare.
#include "lexformer/kernels/gemm.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/masked_lm.hpp"

namespace lexformer {
template void gemm<float>(bool, bool, std::size_t, std::size_t, std::size_t, float, const float*, std::size_t, const float*, std::size_t,
                          float, float*, std::size_t, const float*);
template void gemm<double>(bool, bool, std::size_t, std::size_t, std::size_t, double, const double*, std::size_t, const double*,
                           std::size_t, double, double*, std::size_t, const double*);
template class CrossEncoder<float, Cpu>;
template class MaskedLm<float, Cpu>;
}  // namespace lexformer
