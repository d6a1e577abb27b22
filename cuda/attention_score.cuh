// SPDX-License-Identifier: MIT
// Shared by all attention kernels (tiles and rows): their inputs, and the formulas of a score and of its gradient.
#pragma once

#include "device.cuh"
#include "lexformer/kernels/interface.hpp"
#include "lexformer/kernels/scalar.hpp"
#include "unroll.cuh"

namespace lexformer::cuda {

/// AttentionArgs for kernels: plain numbers and device pointers.
template <class T>
struct AttentionView {
  using A = accumulate_t<T>;
  static constexpr unsigned most = 4;  // maximum number of lookups, and of relatives
  struct Lookup {
    const T* table;             // (H, R)
    std::size_t levels;         // R
    const std::uint16_t* code;  // (P)
  };
  struct Relative {
    bool key_side;
    std::size_t rows;            // R
    const std::int32_t* middle;  // middle[i - j] = row of the table
    const A* products;           // (N, H, R): scale <q_i, table_r>, or k_j on the key side
  };
  std::size_t heads, width, head_size, tokens, pairs, bias_length, pair_bias_stride;
  const std::size_t *token_begin, *pair_begin;
  A scale;
  const T* qkv;
  unsigned lookups, relatives;
  Lookup lookup[most];
  Relative relative[most];
  const T *position_bias, *pair_bias, *gate;
  Dropout<A> dropout;
  AttentionReach reach;
  bool limited;  // by the reach
  const std::int32_t* map_row;
  bool maps_are_scores;

  explicit AttentionView(const AttentionArgs<T>& args)
      : heads(args.heads),
        width(args.width),
        head_size(args.width / args.heads),
        tokens(args.tokens),
        pairs(args.pairs),
        bias_length(args.bias_length),
        pair_bias_stride(args.pair_bias_heads == 1 ? 0 : args.pairs),
        token_begin(args.token_begin),
        pair_begin(args.pair_begin),
        scale(args.scale),
        qkv(args.qkv),
        lookups(static_cast<unsigned>(args.lookups.size())),
        relatives(static_cast<unsigned>(args.relatives.size())),
        lookup{},
        relative{},
        position_bias(args.position_bias),
        pair_bias(args.pair_bias),
        gate(args.gate),
        dropout(args.dropout),
        reach(args.reach),
        limited(reach.causal || reach.distance != 0),
        map_row(args.map_row),
        maps_are_scores(args.maps_are_scores) {
    if (lookups > most || relatives > most)
      fail("attention", lookups, " lookups and ", relatives, " relative terms; a GPU supports at most ", most, " of each");
    for (unsigned t = 0; t < lookups; ++t) lookup[t] = {args.lookups[t].table, args.lookups[t].levels, args.lookups[t].code};
    for (unsigned t = 0; t < relatives; ++t) {
      const auto& r = args.relatives[t];
      relative[t] = {r.key_side, r.rows, r.bucket + args.longest - 1, nullptr};
    }
  }
  /// Number of elements of all lookup tables of a head.
  LEXFORMER_HD std::size_t table_size() const {
    std::size_t size = 0;
    for (unsigned t = 0; t < lookups; ++t) size += lookup[t].levels;
    return size;
  }
};

/// The gradients of context and maps, and the results of the forward pass that backward needs.
template <class T>
struct AttentionGradView {
  const accumulate_t<T>*logsumexp, *delta;  // (N, H): log sum_j exp S_ij, and sum_j P_ij dP_ij
  const T *context, *dcontext, *dmaps;
};

/// Partial sums of the gradients of tables; null = not requested. lookup[t] (parts, H, R): sums of dS_ij for each code, with one part per
/// query (cuBLAS), per tile (tiles), per sequence or block of queries (strips). relative[t] (N, H, R): for query i (or key j), the sums
/// over the keys (or queries) for each row of the table.
template <class T>
struct AttentionTableSums {
  accumulate_t<T>*lookup[AttentionView<T>::most] = {}, *relative[AttentionView<T>::most] = {};
};

/// Queries or keys begin ... end - 1 of a sequence.
struct AttentionRange {
  std::size_t begin, end;
};

/// One (sequence, head).
template <class T>
struct AttentionHead {
  using A = accumulate_t<T>;

  const AttentionView<T>& a;
  std::size_t s, h, n, first, pair, d;

  __device__ AttentionHead(const AttentionView<T>& view, std::size_t sequence, std::size_t head)
      : AttentionHead(view, sequence, head, view.token_begin[sequence], view.token_begin[sequence + 1], view.pair_begin[sequence]) {}
  /// For the host, which cannot read the lists of the view.
  LEXFORMER_HD AttentionHead(const AttentionView<T>& view, std::size_t sequence, std::size_t head, std::size_t first_token,
                             std::size_t end_token, std::size_t first_pair)
      : a(view), s(sequence), h(head), n(end_token - first_token), first(first_token), pair(first_pair), d(view.head_size) {}

  /// The keys that the `count` queries from i0 on see together, and the queries that see the `count` keys from j0 on. They begin at a
  /// multiple of `step`. All kernels take their loops from these.
  __device__ AttentionRange keys_of(std::size_t i0, std::size_t count, std::size_t step) const {
    return {a.reach.begin(i0) / step * step, a.reach.end((i0 + count < n ? i0 + count : n) - 1, n)};
  }
  __device__ AttentionRange queries_of(std::size_t j0, std::size_t count, std::size_t step) const {
    return {a.reach.query_begin(j0) / step * step, a.reach.query_end((j0 + count < n ? j0 + count : n) - 1, n)};
  }
  __device__ bool sees(std::size_t i, std::size_t j) const { return !a.limited || a.reach.sees(i, j, n); }
  /// P_ij, exactly 0 for a key that is not seen.
  __device__ A probability(std::size_t i, std::size_t j, A score, A log_sum) const {
    return sees(i, j) ? scalar::exp(score - log_sum) : A{0};
  }

  /// Loads the lookup tables of this head times `factor`. Unless maps are scores, subtracts lookup_base() from all entries.
  __device__ void load_tables(A* to, A factor = A{1}) const {
    for (unsigned t = 0; t < a.lookups; ++t) {
      const auto& l = a.lookup[t];
      const T* const from = l.table + h * l.levels;
      for (std::size_t c = threadIdx.x; c < l.levels; c += blockDim.x)
        to[c] = factor * (a.maps_are_scores ? static_cast<A>(from[c]) : static_cast<A>(from[c]) - lookup_base(static_cast<A>(from[0])));
      to += l.levels;
    }
  }

  /// The score of (i, j) from <q_i, k_j>, -inf if i does not see j; `ungated` = the score before the gate.
  __device__ A score(std::size_t i, std::size_t j, A product, const A* tables, A& ungated) const {
    A value = a.scale * product;
    const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(j);
    for (unsigned t = 0; t < a.relatives; ++t) {
      const auto& r = a.relative[t];
      value += r.products[((first + (r.key_side ? j : i)) * a.heads + h) * r.rows + static_cast<std::size_t>(r.middle[distance])];
    }
    ungated = value;
    if (a.gate != nullptr) value *= a.gate[pair + i * n + j];
    for (unsigned t = 0; t < a.lookups; ++t) {
      value += tables[a.lookup[t].code[pair + i * n + j]];
      tables += a.lookup[t].levels;
    }
    if (a.position_bias != nullptr) value += a.position_bias[(h * a.bias_length + i) * a.bias_length + j];
    if (a.pair_bias != nullptr) value += a.pair_bias[h * a.pair_bias_stride + pair + i * n + j];
    return sees(i, j) ? value : -std::numeric_limits<A>::infinity();
  }

  __device__ A dropout(std::size_t i, std::size_t j) const { return a.dropout.active ? a.dropout(h * a.pairs + pair + i * n + j) : A{1}; }
  /// The map of this head, or null.
  template <class P>
  __device__ P* map(P* attentions) const {
    if (attentions == nullptr || a.map_row == nullptr || a.map_row[h] < 0) return nullptr;
    return attentions + static_cast<std::size_t>(a.map_row[h]) * a.pairs + pair;
  }

  /// The values of a cell for backward: P, the dropout factor, the gradient dS of the score, and the score before the gate.
  struct Cell {
    A probability, kept, dscore, ungated;
  };
  /// The cell (i, j) from <q_i, k_j> and <dcontext_i, v_j>. If g.delta is null, dscore is dP instead.
  __device__ Cell cell(std::size_t i, std::size_t j, A product, A dproduct, const A* tables, const AttentionGradView<T>& g) const {
    Cell out;
    const A value = score(i, j, product, tables, out.ungated);
    const std::size_t row = (first + i) * a.heads + h;
    out.probability = probability(i, j, value, g.logsumexp[row]);
    out.kept = dropout(i, j);
    const T* const dmap = map(g.dmaps);
    const A from_map = dmap != nullptr && sees(i, j) ? static_cast<A>(dmap[i * n + j]) : A{0};
    const A dprobability = out.kept * dproduct + (a.maps_are_scores ? A{0} : from_map);
    if (g.delta == nullptr)
      out.dscore = dprobability;
    else
      out.dscore = out.probability * (dprobability - g.delta[row]) + (a.maps_are_scores ? from_map : A{0});
    return out;
  }
  /// Writes the sums of dS for each code of each lookup, as part `part` of this head's sums: the sums of the block's warps in their
  /// order. code_sums (warps, sum of R); its entries of code 0 are 0 unless maps are scores. One warp per lookup.
  __device__ void write_code_sums(const A* code_sums, unsigned warps, std::size_t part, const AttentionTableSums<T>& sums) const {
    const std::size_t all = a.table_size();
    // Unrolled, since an index that the compiler does not know would put `sums` into local memory.
    LEXFORMER_UNROLL
    for (unsigned t = 0; t < AttentionView<T>::most; ++t) {
      if (t >= a.lookups) break;
      const std::size_t levels = a.lookup[t].levels;
      const A* const of_lookup = code_sums;
      code_sums += levels;
      if (sums.lookup[t] == nullptr || t % warps != threadIdx.x / 32) continue;
      A* const to = sums.lookup[t] + (part * a.heads + h) * levels;
      A others{0};
      for (std::size_t c = threadIdx.x % 32; c < levels; c += 32) {
        A sum{0};
        for (unsigned warp = 0; warp < warps; ++warp) sum += of_lookup[warp * all + c];
        to[c] = sum;
        others += sum;
      }
      others = Warp::sum(others);
      // The gradients of a row of scores sum to 0.
      if (!a.maps_are_scores && threadIdx.x % 32 == 0) to[0] = -others;
    }
  }

  /// The gradient of the score before the gate, from the gradient of the score.
  __device__ A gated(std::size_t i, std::size_t j, A dscore) const {
    return a.gate == nullptr ? dscore : dscore * a.gate[pair + i * n + j];
  }
};

}  // namespace lexformer::cuda
