// SPDX-License-Identifier: MIT
// lexformer::compiled: the products of AVX-512 BF16.
#define LEXFORMER_COMPILED
#define LEXFORMER_LEVEL 5
#include "products_level.hpp"

#if LEXFORMER_X86
LEXFORMER_BEGIN_TARGET("avx512bf16,avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#include "lexformer/kernels/products/gemm_tile.hpp"
#include "lexformer/kernels/products/linear_bfloat16_tile.hpp"
LEXFORMER_END_TARGET

void lexformer::detail::use_avx512_bf16(Products& p) {
  p.gemm_bfloat16 = BlockedGemm<GemmTile<bfloat16>>::product;
  p.gemm_rounded = BlockedGemm<GemmTile<bfloat16>>::rounded_product;
  p.linear_bfloat16 = Bfloat16Product::linear;
  p.feed_forward_bfloat16 = Bfloat16Product::feed_forward;
}
#endif
