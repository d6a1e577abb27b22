// SPDX-License-Identifier: MIT
// lexformer::compiled: the functions that are not templates, and the matrix product.
#if !defined(__clang_analyzer__)  // clang-tidy does not see that no other file defines these functions
#define LEXFORMER_INLINE
#endif
#include "lexformer/kernels/gemm.hpp"
#include "lexformer/lexformer.hpp"

namespace lexformer {
template void gemm<float>(bool, bool, std::size_t, std::size_t, std::size_t, float, const float*, std::size_t, const float*, std::size_t,
                          float, float*, std::size_t, const float*);
template void gemm<double>(bool, bool, std::size_t, std::size_t, std::size_t, double, const double*, std::size_t, const double*,
                           std::size_t, double, double*, std::size_t, const double*);
}  // namespace lexformer
