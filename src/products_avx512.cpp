// SPDX-License-Identifier: MIT
// lexformer::compiled: the products of AVX-512.
#define LEXFORMER_COMPILED
#define LEXFORMER_LEVEL 3
#include "products_level.hpp"

#if LEXFORMER_X86
LEXFORMER_BEGIN_TARGET("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#include "lexformer/kernels/products/gemm_tile.hpp"
#include "lexformer/kernels/products/linear_bfloat16_tile.hpp"
LEXFORMER_END_TARGET

void lexformer::detail::use_avx512(Products& p) {
  p.gemm_float = BlockedGemm<GemmTile<float>>::product;
  p.gemm_double = BlockedGemm<GemmTile<double>>::product;
  p.gemm_bfloat16 = BlockedGemm<WideTile>::product;
  p.gemm_rounded = BlockedGemm<WideTile>::rounded_product;
  p.feed_forward_float = BlockedGemm<GemmTile<float>>::feed_forward;
  p.feed_forward_double = BlockedGemm<GemmTile<double>>::feed_forward;
  p.linear_bfloat16 = Bfloat16Product::linear;
  p.feed_forward_bfloat16 = Bfloat16Product::feed_forward;
}
#endif
