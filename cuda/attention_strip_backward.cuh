// SPDX-License-Identifier: MIT
// Backward pass of attention with scores in registers, in one kernel, for sequences whose P fits into shared memory
// (attention_strip_long.cuh: all others). First a warp owns 16 queries: it computes delta, then dS and dQ, and leaves P and dS in shared
// memory; then it owns 16 keys and computes dK and dV from these. Scores and dP are computed twice, because delta from a rounded context
// would bias all dS of a row in the same direction.
#pragma once

#include "attention_strip.cuh"

namespace lexformer::cuda {

/// Sums of dS for each code, of one warp. Lanes add to the same sums in any order, so they add integers: multiples of `largest` / 2^25,
/// with the strip's largest |dP| or |delta|. A row's sum of |dS| is at most twice that, so 16 rows stay within 2^30.
struct CodeSums {
  int* units;     // of the strip
  float* totals;  // of all strips so far
  float unit = 0, per_unit = 0;

  __device__ void begin(float largest) {
    unit = largest * 0x1p-25f;
    per_unit = largest > 1e-30f ? 0x1p25f / largest : 0.0f;
  }
  __device__ void add(unsigned code, float dscore) const { atomicAdd(units + code, to_integer(dscore * per_unit)); }
  __device__ void end(std::size_t count) const {
    __syncwarp();
    for (std::size_t c = threadIdx.x % 32; c < count; c += 32) {
      totals[c] += static_cast<float>(units[c]) * unit;  // NaN if `largest` is infinite or NaN
      units[c] = 0;
    }
    __syncwarp();
  }
  /// Rounds to nearest; 0 for NaN.
  static __device__ int to_integer(float x) {
#if defined(__CUDA_ARCH__)
    return __float2int_rn(x);
#else
    return x == x ? static_cast<int>(std::nearbyint(x)) : 0;
#endif
  }
};

/// The state of a warp that owns 16 queries in the backward pass.
template <unsigned d, StripTerms terms>
struct AttentionGradStrip : AttentionStrip<d, terms> {
  using Base = AttentionStrip<d, terms>;
  using Base::a, Base::first, Base::group, Base::h, Base::length, Base::pair_column;
  using typename Base::Cells;
  const bfloat16 *k, *v;  // of the keys from `panel` on
  const bfloat16* codes;  // of the strip's queries and these keys
  unsigned codes_stride;
  unsigned panel = 0;
  const float* tables;
  unsigned* bits;  // of dropout
  bool wants_tables = false;
  unsigned i0 = 0, q[Base::steps][4], dcontext[Base::steps][4];
  float log_sum[2];  // in base 2

  __device__ AttentionGradStrip(const AttentionView<bfloat16>& view, const AttentionTableSums<bfloat16>& sums) : Base(view) {
    LEXFORMER_UNROLL
    for (unsigned t = 0; t < AttentionView<bfloat16>::most; ++t) wants_tables |= sums.lookup[t] != nullptr;
  }

  __device__ void begin(unsigned row, const float* logsumexp, const bfloat16* gradient) {
    i0 = row;
    this->load_left(a.qkv, 3 * a.width, i0, q);
    this->load_left(gradient, a.width, i0, dcontext);
    if (a.dropout.active && i0 < length) this->draw(i0, bits);
    LEXFORMER_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned i = i0 + group + 8 * half;  // after the end of the sequence P is 0
      log_sum[half] = i < length ? Base::log2e * logsumexp[(first + i) * a.heads + h] : std::numeric_limits<float>::infinity();
    }
  }
  /// P and its gradient for the keys from j0 on. If there is dropout, the gradient contains it, and P does not. Returns the codes.
  __device__ typename Base::Codes probabilities(unsigned j0, Cells& p, Cells& dp) const {
    Base::multiply(q, k + (j0 - panel) * Base::stride, p);
    const auto found = this->load_codes(i0, codes + (j0 - panel), codes_stride);
    this->score(i0, j0, found, tables, p);
    Base::multiply(dcontext, v + (j0 - panel) * Base::stride, dp);
    LEXFORMER_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      LEXFORMER_UNROLL
      for (unsigned e = 0; e < 4; ++e) p[c][e] = power_of_two(p[c][e] - log_sum[e / 2]);
    }
    if (!a.dropout.active) return found;
    this->drop(i0, j0, bits, dp);
    LEXFORMER_UNROLL
    for (unsigned c = 0; c < 2; ++c)
      for (float& x : dp[c]) x *= a.dropout.keep;
    return found;
  }
  /// delta_i = sum_j P_ij dP_ij of the lane's rows, and the bits of the largest |dP| or |delta| of the strip; the bits of a NaN are
  /// larger than all others.
  struct Delta {
    float sums[2] = {};
    unsigned largest = 0;

    __device__ void larger(float x) {
      const unsigned magnitude = std::bit_cast<unsigned>(x) & 0x7FFFFFFFu;
      largest = magnitude > largest ? magnitude : largest;
    }
    /// Of the row, from the parts of the lanes.
    __device__ void finish() {
      LEXFORMER_UNROLL
      for (float& sum : sums) {
        sum = Base::row_sum(sum);
        larger(sum);
      }
      for (int lanes = 16; lanes > 0; lanes /= 2) {
        const unsigned other = __shfl_xor_sync(all_lanes, largest, lanes);
        largest = other > largest ? other : largest;
      }
    }
  };
  /// Adds the keys begin ... end - 1 to the lane's part.
  __device__ void add_delta(unsigned begin, unsigned end, Delta& delta) const {
    LEXFORMER_NO_UNROLL
    for (unsigned j0 = begin; j0 < end; j0 += Base::size) {
      Cells p, dp;
      probabilities(j0, p, dp);
      LEXFORMER_UNROLL
      for (unsigned c = 0; c < 2; ++c) {
        LEXFORMER_UNROLL
        for (unsigned e = 0; e < 4; ++e) {
          delta.sums[e / 2] += p[c][e] * dp[c][e];
          delta.larger(dp[c][e]);
        }
      }
    }
  }
  __device__ void write_delta(const Delta& delta, float* to) const {
    LEXFORMER_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned i = i0 + group + 8 * half;
      if (i < length && pair_column == 0) to[(first + i) * a.heads + h] = delta.sums[half];
    }
  }
  /// P with dropout, and the gradient of the scores before the gate, whose sums it adds to the sums of the codes.
  __device__ void gradients(unsigned j0, const Delta& delta, const AttentionTableSums<bfloat16>& sums, const CodeSums& of_codes, Cells& p,
                            Cells& ds) const {
    const auto found = probabilities(j0, p, ds);
    LEXFORMER_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      LEXFORMER_UNROLL
      for (unsigned e = 0; e < 4; ++e) {
        ds[c][e] = p[c][e] * (ds[c][e] - delta.sums[e / 2]);
        if constexpr (terms == StripTerms::lookup) {
          const unsigned code = found(c, e);
          if (wants_tables && (code != 0 || a.maps_are_scores)) of_codes.add(code, ds[c][e]);
        } else if constexpr (terms == StripTerms::all) {
          const auto [i, j] = this->place(i0, j0, c, e);
          if (i >= length || j >= length) continue;
          const std::size_t cell = this->pair + i * length + j;
          CodeSums of_lookup = of_codes;
          LEXFORMER_UNROLL
          for (unsigned t = 0; t < AttentionView<bfloat16>::most; ++t) {
            if (t >= a.lookups) break;
            const unsigned code = a.lookup[t].code[cell];
            if (sums.lookup[t] != nullptr && (code != 0 || a.maps_are_scores)) of_lookup.add(code, ds[c][e]);
            of_lookup.units += a.lookup[t].levels;
          }
          ds[c][e] = this->gated(i, j, ds[c][e]);
        }
      }
    }
    __syncwarp();  // the lanes have taken different branches; and all have read their codes, where the caller may write P
    if (a.dropout.active) this->drop(i0, j0, bits, p);
  }
};

template <unsigned d, StripTerms terms>
__global__ void __launch_bounds__(attention_threads, 2)
    attention_strip_grad_kernel(AttentionView<bfloat16> a, const float* logsumexp, const bfloat16* dcontext, float* delta, bfloat16* dqkv,
                                AttentionTableSums<bfloat16> sums) {
  using Strip = AttentionGradStrip<d, terms>;
  constexpr unsigned size = Strip::size;
  Strip strip(a, sums);
  const unsigned n = strip.length, rows = (n + size - 1) / size * size, square_row = square_stride(rows);
  const std::size_t table_size = a.table_size();
  LEXFORMER_DYNAMIC_SHARED(bfloat16, k);
  // The square of P first has the codes. P of 16 keys replaces columns whose codes have been read: codes of later keys begin after them.
  bfloat16 *const v = k + rows * Strip::stride, *const p = v + rows * Strip::stride, *const ds = p + square_size(rows);
  float* const tables = reinterpret_cast<float*>(ds + square_size(rows));
  float* const code_sums = tables + table_size;  // (warps, table_size)
  int* const units = reinterpret_cast<int*>(code_sums + strip.warps * table_size);
  CodeSums of_codes{units + strip.warp * table_size, code_sums + strip.warp * table_size};
  strip.k = k;
  strip.v = v;
  strip.codes_stride = square_row;
  strip.tables = tables;
  strip.bits = reinterpret_cast<unsigned*>(units + strip.warps * table_size) + strip.warp * bit_words(n);

  strip.stage(a.qkv + a.width, 3 * a.width, 0, rows, k);
  strip.stage(a.qkv + 2 * a.width, 3 * a.width, 0, rows, v);
  strip.stage_codes(0, rows, 0, rows, square_row, p);
  strip.load_score_tables(tables);
  for (std::size_t e = threadIdx.x; e < strip.warps * table_size; e += blockDim.x) {
    code_sums[e] = 0;
    units[e] = 0;
  }
  wait_for_copies();
  __syncthreads();
  LEXFORMER_NO_UNROLL
  for (unsigned i0 = strip.warp * size; i0 < n; i0 += strip.warps * size) {
    strip.begin(i0, logsumexp, dcontext);
    strip.codes = p + i0 * square_row;
    typename Strip::Delta deltas;
    const auto keys = strip.keys_of(i0, size);
    strip.add_delta(keys.begin, keys.end, deltas);
    deltas.finish();
    of_codes.begin(std::bit_cast<float>(deltas.largest));
    strip.write_delta(deltas, delta);
    float dq[Strip::tiles][4] = {};
    LEXFORMER_NO_UNROLL
    for (unsigned j0 = keys.begin; j0 < keys.end; j0 += size) {
      unsigned left[4];
      typename Strip::Cells cells, gradients;
      strip.gradients(j0, deltas, sums, of_codes, cells, gradients);
      const auto leave = [&](bfloat16* square) {  // `left`, at the strip's place in a square of all queries and keys
        bfloat16* const to = square + (i0 + strip.group) * square_row + j0 + strip.pair_column;
        LEXFORMER_UNROLL
        for (unsigned e = 0; e < 4; ++e) copy_words<4>(left + e, to + e % 2 * 8 * square_row + e / 2 * 8);
      };
      Strip::round(cells, left);
      leave(p);
      Strip::round(gradients, left);
      leave(ds);
      Strip::add_product(left, k + j0 * Strip::stride, dq);
    }
    strip.store(dq, a.scale, i0, 3 * a.width, dqkv);
    if (strip.wants_tables) of_codes.end(table_size);
  }

  __syncthreads();  // P and dS are complete; keys and values are not needed any more
  bfloat16 *const q = k, *const gradients = v;
  strip.stage(a.qkv, 3 * a.width, 0, rows, q);
  strip.stage(dcontext, a.width, 0, rows, gradients);
  strip.write_code_sums(code_sums, strip.warps, strip.s, sums);
  wait_for_copies();
  __syncthreads();
  LEXFORMER_NO_UNROLL
  for (unsigned j0 = strip.warp * size; j0 < n; j0 += strip.warps * size) {
    const auto queries = strip.queries_of(j0, size);  // the squares above whose keys are these
    float dk[Strip::tiles][4] = {}, dv[Strip::tiles][4] = {};
    LEXFORMER_NO_UNROLL
    for (unsigned i0 = queries.begin; i0 < queries.end; i0 += size) {
      unsigned left[4];
      load_matrices<true>(Strip::square(ds + i0 * square_row + j0, square_row, false), left);
      Strip::add_product(left, q + i0 * Strip::stride, dk);
      load_matrices<true>(Strip::square(p + i0 * square_row + j0, square_row, false), left);
      Strip::add_product(left, gradients + i0 * Strip::stride, dv);
    }
    strip.store(dk, a.scale, j0, 3 * a.width, dqkv + a.width);
    strip.store(dv, a.dropout.active ? a.dropout.keep : 1.0f, j0, 3 * a.width, dqkv + 2 * a.width);
  }
}

}  // namespace lexformer::cuda
