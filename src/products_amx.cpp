// SPDX-License-Identifier: MIT
// lexformer::compiled: the products of AMX.
#define LEXFORMER_COMPILED
#define LEXFORMER_LEVEL 6
#include "products_level.hpp"

#if LEXFORMER_X86 && defined(__linux__)
LEXFORMER_BEGIN_TARGET("amx-tile,amx-int8,amx-bf16,avx512vnni,avx512bf16,avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#include "lexformer/kernels/products/gemm_amx.hpp"
#include "lexformer/kernels/products/gemm_int8_tile.hpp"
#include "lexformer/kernels/products/linear_bfloat16_tile.hpp"
LEXFORMER_END_TARGET

void lexformer::detail::use_amx(Products& p) {
  p.gemm_bfloat16 = BlockedGemm<AmxGemmTile>::product;
  p.gemm_rounded = BlockedGemm<AmxGemmTile>::rounded_product;
  p.linear_bfloat16 = Bfloat16Product::linear;
  p.feed_forward_bfloat16 = Bfloat16Product::feed_forward;
  p.linear_int8 = Int8Product::linear;
  p.feed_forward_int8 = Int8Product::feed_forward;
}
#endif
