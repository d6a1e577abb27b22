// SPDX-License-Identifier: MIT
// Forward pass of attention with scores in registers: a warp loops over the keys for its 16 queries with an online softmax.
#pragma once

#include "attention_strip.cuh"

namespace lexformer::cuda {

template <unsigned d, StripTerms terms>
__global__ void __launch_bounds__(attention_threads, d == 32 ? 3 : 2)
    attention_strip_forward_kernel(AttentionView<bfloat16> a, bfloat16* context, float* logsumexp) {
  using Strip = AttentionStrip<d, terms>;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Strip strip(a);
  const unsigned n = strip.length, panel = strip.warps * Strip::size, codes_stride = square_stride(panel), block = blockIdx.z * panel,
                 i0 = block + strip.warp * Strip::size;
  if (block >= n) return;
  LEXFORMER_DYNAMIC_SHARED(bfloat16, k);
  bfloat16* const v = k + panel * Strip::stride;
  bfloat16* const codes = v + panel * Strip::stride;
  float* const tables = reinterpret_cast<float*>(codes + Strip::codes_size(panel));
  unsigned* const bits = reinterpret_cast<unsigned*>(tables + a.table_size()) + strip.warp * bit_words(n);

  const auto stage = [&](unsigned begin) {
    const unsigned rows = strip.panel_rows(begin, panel);
    strip.stage(a.qkv + a.width, 3 * a.width, begin, rows, k);
    strip.stage(a.qkv + 2 * a.width, 3 * a.width, begin, rows, v);
    strip.stage_codes(block, strip.panel_rows(block, panel), begin, rows, codes_stride, codes);
  };
  const auto keys = strip.keys_of(block, panel), own = strip.keys_of(i0, Strip::size);
  stage(keys.begin);
  strip.load_score_tables(tables);
  unsigned q[Strip::steps][4];
  strip.load_left(a.qkv, 3 * a.width, i0, q);
  if (a.dropout.active && i0 < n) strip.draw(i0, bits);
  float sums[Strip::tiles][4] = {}, top[2] = {-infinity, -infinity}, total[2] = {};
  strip.each_panel(keys, panel, stage, [&](unsigned begin) {
    const auto [first, end] = own.within(begin, panel);
    LEXFORMER_NO_UNROLL
    for (unsigned j0 = first; j0 < end; j0 += Strip::size) {
      const unsigned row = j0 - begin;
      typename Strip::Cells p;
      Strip::multiply(q, k + row * Strip::stride, p);
      strip.score(i0, j0, strip.load_codes(i0, codes + strip.warp * Strip::size * codes_stride + row, codes_stride), tables, p);
      LEXFORMER_UNROLL
      for (unsigned half = 0; half < 2; ++half) {
        float now = top[half];
        LEXFORMER_UNROLL
        for (unsigned c = 0; c < 2; ++c) {
          LEXFORMER_UNROLL
          for (unsigned e = 2 * half; e < 2 * half + 2; ++e) now = std::fmax(now, p[c][e]);
        }
        now = Strip::row_max(now);
        const float base = now == -infinity ? 0.0f : now;  // all scores so far are -inf
        const float shrink = power_of_two(top[half] - base);
        top[half] = now;
        total[half] *= shrink;
        LEXFORMER_UNROLL
        for (unsigned c = 0; c < Strip::tiles; ++c) {
          sums[c][2 * half] *= shrink;
          sums[c][2 * half + 1] *= shrink;
        }
        LEXFORMER_UNROLL
        for (unsigned c = 0; c < 2; ++c) {
          LEXFORMER_UNROLL
          for (unsigned e = 2 * half; e < 2 * half + 2; ++e) {
            p[c][e] = power_of_two(p[c][e] - base);
            total[half] += p[c][e];
          }
        }
      }
      if (a.dropout.active) strip.drop(i0, j0, bits, p);
      unsigned left[4];
      Strip::round(p, left);
      Strip::add_product(left, v + row * Strip::stride, sums);
    }
  });
  if (i0 >= n) return;
  // If all scores of a query are -inf, its total is 0 and the result NaN, as on the CPU.
  float factors[2];
  LEXFORMER_UNROLL
  for (unsigned half = 0; half < 2; ++half) {
    total[half] = Strip::row_sum(total[half]);
    factors[half] = (a.dropout.active ? a.dropout.keep : 1.0f) / total[half];
    const unsigned i = i0 + strip.group + 8 * half;
    if (i < n && strip.pair_column == 0)
      logsumexp[(strip.first + i) * a.heads + strip.h] = top[half] * std::numbers::ln2_v<float> + std::log(total[half]);
  }
  strip.store(sums, factors, i0, a.width, context);
}

}  // namespace lexformer::cuda
