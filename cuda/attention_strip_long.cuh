// SPDX-License-Identifier: MIT
// Backward pass of attention with scores in registers for sequences of any length, in two kernels. In the first a warp owns 16 queries and
// computes delta, dQ and the sums of dS for the codes; in the second it owns 16 keys and computes dK and dV, from scores whose rows are
// keys. Each computes scores and dP itself: nothing of the size of P is stored.
#pragma once

#include "attention_strip_backward.cuh"

namespace lexformer::cuda {

template <unsigned d, StripTerms terms>
__global__ void __launch_bounds__(attention_threads, 2)
    attention_strip_query_grad_kernel(AttentionView<bfloat16> a, const float* logsumexp, const bfloat16* dcontext, float* delta,
                                      bfloat16* dqkv, AttentionTableSums<bfloat16> sums) {
  using Strip = AttentionGradStrip<d, terms>;
  constexpr unsigned size = Strip::size;
  Strip strip(a, sums);
  const unsigned n = strip.length, panel = strip.warps * size, block = blockIdx.z * panel;
  if (block >= n) return;
  const std::size_t table_size = a.table_size();
  LEXFORMER_DYNAMIC_SHARED(bfloat16, k);
  bfloat16 *const v = k + panel * Strip::stride, *const codes = v + panel * Strip::stride;
  float* const tables = reinterpret_cast<float*>(codes + Strip::codes_size(panel));
  float* const code_sums = tables + table_size;  // (warps, table_size)
  int* const units = reinterpret_cast<int*>(code_sums + strip.warps * table_size);
  CodeSums of_codes{units + strip.warp * table_size, code_sums + strip.warp * table_size};
  strip.k = k;
  strip.v = v;
  strip.codes_stride = square_stride(panel);
  strip.codes = codes + strip.warp * size * strip.codes_stride;
  strip.tables = tables;
  strip.bits = reinterpret_cast<unsigned*>(units + strip.warps * table_size) + strip.warp * bit_words(n);

  const auto stage = [&](unsigned begin) {
    const unsigned rows = strip.panel_rows(begin, panel);
    strip.stage(a.qkv + a.width, 3 * a.width, begin, rows, k);
    strip.stage(a.qkv + 2 * a.width, 3 * a.width, begin, rows, v);
    strip.stage_codes(block, strip.panel_rows(block, panel), begin, rows, strip.codes_stride, codes);
    strip.panel = begin;
  };
  const unsigned i0 = block + strip.warp * size;
  const auto keys = strip.keys_of(block, panel), own = strip.keys_of(i0, size);
  stage(keys.begin);
  strip.load_score_tables(tables);
  for (std::size_t e = threadIdx.x; e < strip.warps * table_size; e += blockDim.x) {
    code_sums[e] = 0;
    units[e] = 0;
  }
  strip.begin(i0, logsumexp, dcontext);
  typename Strip::Delta deltas;
  strip.each_panel(keys, panel, stage, [&](unsigned begin) {
    const auto part = own.within(begin, panel);
    strip.add_delta(part.begin, part.end, deltas);
  });
  deltas.finish();
  of_codes.begin(std::bit_cast<float>(deltas.largest));
  if (strip.i0 < n) strip.write_delta(deltas, delta);

  float dq[Strip::tiles][4] = {};
  LEXFORMER_NO_UNROLL
  while (true) {  // in reverse: the last panel is still in shared memory
    const auto [first, end] = own.within(strip.panel, panel);
    LEXFORMER_NO_UNROLL
    for (unsigned j0 = first; j0 < end; j0 += size) {
      unsigned left[4];
      typename Strip::Cells cells, gradients;
      strip.gradients(j0, deltas, sums, of_codes, cells, gradients);
      Strip::round(gradients, left);
      Strip::add_product(left, k + (j0 - strip.panel) * Strip::stride, dq);
    }
    if (strip.panel == keys.begin) break;
    __syncthreads();
    stage(strip.panel - panel);
    wait_for_copies();
    __syncthreads();
  }
  if (strip.i0 < n) strip.store(dq, a.scale, strip.i0, 3 * a.width, dqkv);
  if (!strip.wants_tables) return;
  of_codes.end(table_size);
  __syncthreads();
  strip.write_code_sums(code_sums, strip.warps, strip.s * gridDim.z + blockIdx.z, sums);
}

/// The warps of a block of the kernel below: registers for 16 vectors of K, V, dK and dV each leave room for fewer if they are long.
inline constexpr unsigned most_key_warps(std::size_t d) { return d == 32 ? 8 : 6; }

template <unsigned d, StripTerms terms>
__global__ void __launch_bounds__(32 * most_key_warps(d), 2)
    attention_strip_key_grad_kernel(AttentionView<bfloat16> a, const float* logsumexp, const bfloat16* dcontext, const float* delta,
                                    bfloat16* dqkv) {
  using Strip = AttentionStrip<d, terms>;
  constexpr unsigned size = Strip::size;
  const Strip strip(a);
  const unsigned n = strip.length, panel = strip.warps * size, codes_stride = square_stride(panel), block = blockIdx.z * panel,
                 j0 = block + strip.warp * size;
  if (block >= n) return;
  LEXFORMER_DYNAMIC_SHARED(bfloat16, q);
  bfloat16* const gradients = q + panel * Strip::stride;
  bfloat16* const codes = gradients + panel * Strip::stride;
  float* const of_queries = reinterpret_cast<float*>(codes + Strip::codes_size(panel));  // logsumexp in base 2, and delta
  float* const tables = of_queries + 2 * panel;
  unsigned* const bits = reinterpret_cast<unsigned*>(tables + a.table_size());  // of dropout: for each query the bits of the block's keys

  const auto stage = [&](unsigned begin) {
    const unsigned rows = strip.panel_rows(begin, panel);
    strip.stage(a.qkv, 3 * a.width, begin, rows, q);
    strip.stage(dcontext, a.width, begin, rows, gradients);
    strip.stage_codes(begin, rows, block, strip.panel_rows(block, panel), codes_stride, codes);
    for (unsigned row = threadIdx.x; row < rows; row += blockDim.x) {
      const bool used = begin + row < n;  // after the end of the sequence P is 0
      const std::size_t i = (strip.first + begin + row) * a.heads + strip.h;
      of_queries[2 * row] = used ? Strip::log2e * logsumexp[i] : std::numeric_limits<float>::infinity();
      of_queries[2 * row + 1] = used ? delta[i] : 0.0f;
    }
    if (a.dropout.active) strip.draw_columns(begin, rows, block, bits);
  };
  const auto all = strip.queries_of(block, panel), own = strip.queries_of(j0, size);
  stage(all.begin);
  strip.load_score_tables(tables);
  unsigned k[Strip::steps][4], v[Strip::steps][4];
  strip.load_left(a.qkv + a.width, 3 * a.width, j0, k);
  strip.load_left(a.qkv + 2 * a.width, 3 * a.width, j0, v);
  float dk[Strip::tiles][4] = {}, dv[Strip::tiles][4] = {};
  strip.each_panel(all, panel, stage, [&](unsigned begin) {
    const auto [first, end] = own.within(begin, panel);
    LEXFORMER_NO_UNROLL
    for (unsigned i0 = first; i0 < end; i0 += size) {
      const unsigned row = i0 - begin;
      unsigned left[4];
      typename Strip::Cells p, ds;
      Strip::multiply(k, q + row * Strip::stride, p);
      Strip::multiply(v, gradients + row * Strip::stride, ds);
      const auto found = strip.template load_codes<true>(i0, codes + row * codes_stride + strip.warp * size, codes_stride);
      strip.template score<true>(i0, j0, found, tables, p);
      const auto differentiate = [&](auto dropout) {
        LEXFORMER_UNROLL
        for (unsigned c = 0; c < 2; ++c) {
          alignas(16) float of_two[4];
          copy_words<16>(of_queries + 2 * (row + strip.pair_column + 8 * c), of_two);
          LEXFORMER_UNROLL
          for (unsigned e = 0; e < 4; ++e) {
            const float probability = power_of_two(p[c][e] - of_two[e % 2 * 2]);
            bool kept = true;
            if constexpr (dropout.value) {
              kept = strip.kept_of_column(i0, row, c, e, bits);
              ds[c][e] = kept ? ds[c][e] * a.dropout.keep : 0.0f;
            }
            ds[c][e] = probability * (ds[c][e] - of_two[e % 2 * 2 + 1]);
            p[c][e] = kept ? probability : 0.0f;
            if constexpr (terms == StripTerms::all) {
              const auto [i, j] = strip.template place<true>(i0, j0, c, e);
              if (i < n && j < n) ds[c][e] = strip.gated(i, j, ds[c][e]);
            }
          }
        }
      };
      if (a.dropout.active)
        differentiate(std::true_type());
      else
        differentiate(std::false_type());
      __syncwarp();  // the lanes have taken different branches
      Strip::round(p, left);
      Strip::add_product(left, gradients + row * Strip::stride, dv);
      Strip::round(ds, left);
      Strip::add_product(left, q + row * Strip::stride, dk);
    }
  });
  if (j0 >= n) return;
  strip.store(dk, a.scale, j0, 3 * a.width, dqkv + a.width);
  strip.store(dv, a.dropout.active ? a.dropout.keep : 1.0f, j0, 3 * a.width, dqkv + 2 * a.width);
}

}  // namespace lexformer::cuda
