// SPDX-License-Identifier: MIT
// lexformer::compiled: the 8-bit products of AVX-512 VNNI.
#define LEXFORMER_COMPILED
#define LEXFORMER_LEVEL 4
#include "products_level.hpp"

#if LEXFORMER_X86
LEXFORMER_BEGIN_TARGET("avx512vnni,avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#include "lexformer/kernels/products/gemm_int8_tile.hpp"
LEXFORMER_END_TARGET

void lexformer::detail::use_avx512_vnni(Products& p) {
  p.linear_int8 = Int8Product::linear;
  p.feed_forward_int8 = Int8Product::feed_forward;
}
#endif
