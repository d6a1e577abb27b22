// SPDX-License-Identifier: MIT
// Fused attention, backward: recomputes scores and probabilities tile by tile. Four kernels differ in what a thread block owns, so that
// every sum has one owner and a fixed order: the queries of a tile, its keys, a tile of the position bias, a tile of the values of token
// pairs (pair bias, gate).
#pragma once

#include "attention_tile.cuh"

namespace lexformer::cuda {

/// The data of one tile that a block of the backward kernels holds in shared memory.
template <class T, class Products>
struct AttentionGradTile : AttentionTile<T, Products> {
  using Base = AttentionTile<T, Products>;
  using A = accumulate_t<T>;
  using Stored = typename Base::Stored;
  using Base::a, Base::cells, Base::d, Base::size;
  Stored *q, *k, *v, *dcontext;
  A* tables;  // of the lookups

  __device__ AttentionGradTile(const AttentionView<T>& view, std::size_t sequence, std::size_t head, Stored* shared)
      : Base(view, sequence, head),
        q(shared),
        k(q + Base::vectors(d)),
        v(k + Base::vectors(d)),
        dcontext(v + Base::vectors(d)),
        tables(reinterpret_cast<A*>(dcontext + Base::vectors(d))) {}
  __device__ void load_queries(std::size_t i0, const T* gradient) const {
    Base::load_part(0, i0, q);
    Base::load(gradient, a.width, i0, dcontext);
  }
  __device__ void load_keys(std::size_t j0) const {
    Base::load_part(1, j0, k);
    Base::load_part(2, j0, v);
  }
  /// delta_i = <dcontext_i, context_i> = sum_j P_ij dP_ij (Dao et al. 2022, appendix B.2), including dropout. One warp per row.
  __device__ void write_delta(std::size_t i0, const T* context, A* delta) const {
    for (std::size_t row = threadIdx.x / 32; row < size; row += attention_warps) {
      const std::size_t i = i0 + row;
      A sum{0};
      if (i < Base::n)
        for (std::size_t c = threadIdx.x % 32; c < d; c += 32)
          sum += dcontext[row * Base::stride(d) + c] * static_cast<A>(context[(Base::first + i) * a.width + Base::h * d + c]);
      sum = Warp::sum(sum);
      if (i < Base::n && threadIdx.x % 32 == 0) delta[(Base::first + i) * a.heads + Base::h] = sum;
    }
  }
  /// Adds the gradients of a row of the tile (key side: of a column), one lane per cell (i, j), to the sums of the relative terms for query
  /// i (key j). values and stride: see add_by_place.
  __device__ void add_relatives(bool key_side, std::size_t i, std::size_t j, bool used, const A* values, std::size_t stride,
                                const AttentionTableSums<T>& sums) const {
    for (unsigned t = 0; t < a.relatives; ++t) {
      const auto& r = a.relative[t];
      if (r.key_side != key_side) continue;
      const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(j);
      add_by_place(used ? static_cast<unsigned>(r.middle[distance]) : 0, used, values, stride,
                   sums.relative[t] + ((Base::first + (key_side ? j : i)) * a.heads + Base::h) * r.rows);
    }
  }
  /// Calls f(u, w, i, j, cell) for the thread's cells of the tile at (i0, j0) that are inside the sequence.
  template <class F>
  __device__ void each_gradient(std::size_t i0, std::size_t j0, const AttentionGradView<T>& grads, F&& f) const {
    A products[cells][cells], dproducts[cells][cells];
    Base::multiply(q, k, products);
    Base::multiply(dcontext, v, dproducts);
    Base::each_cell(i0, j0, [&](unsigned u, unsigned w, std::size_t i, std::size_t j) {
      f(u, w, i, j, Base::cell(i, j, products[u][w], dproducts[u][w], tables, grads));
    });
  }
};

/// A block owns the queries of a tile and computes delta, dq and the sums of tables by query.
template <class T, class Products>
__global__ void __launch_bounds__(attention_threads, sizeof(accumulate_t<T>) == 4 ? 4 : 2)
    attention_query_grad_kernel(AttentionView<T> a, AttentionGradView<T> grads, accumulate_t<T>* delta, T* dqkv,
                                AttentionTableSums<T> sums) {
  using A = accumulate_t<T>;
  using Tile = AttentionGradTile<T, Products>;
  constexpr unsigned size = Tile::size;
  LEXFORMER_DYNAMIC_SHARED(typename Tile::Stored, shared);
  const std::size_t i0 = std::size_t{blockIdx.x} * size;
  const Tile tile(a, blockIdx.z, blockIdx.y, shared);
  if (i0 >= tile.n) return;
  A *const dq = tile.tables + a.table_size(), *const raw = dq + Tile::sums(tile.d), *const gated = raw + Tile::square;
  A* const code_sums = gated + Tile::square;  // for each warp, the sums for the codes of each lookup

  const AttentionRange keys = tile.keys_of(i0, size, size);
  tile.load_queries(i0, grads.dcontext);
  tile.load_tables(tile.tables);
  tile.zero_sums(dq);
  for (std::size_t e = threadIdx.x; e < attention_warps * a.table_size(); e += attention_threads) code_sums[e] = A{0};
  if (std::is_same_v<T, A> && (a.maps_are_scores || tile.map(grads.dmaps) == nullptr)) {
    __syncthreads();
    tile.write_delta(i0, grads.context, delta);
  } else {
    // <dcontext, context> does not include a gradient of the returned probabilities; and with a rounded context, all dS of a row are
    // biased in the same direction, which is visible in the sums of tables.
    AttentionGradView<T> without_delta = grads;
    without_delta.delta = nullptr;
    for (unsigned e = threadIdx.x; e < Tile::square; e += attention_threads) raw[e] = A{0};
    for (std::size_t j0 = keys.begin; j0 < keys.end; j0 += size) {
      __syncthreads();
      tile.load_keys(j0);
      __syncthreads();
      tile.each_gradient(i0, j0, without_delta, [&](unsigned, unsigned, std::size_t i, std::size_t j, const auto& cell) {
        raw[(i - i0) * Tile::row_stride + j - j0] += cell.probability * cell.dscore;
      });
    }
    __syncthreads();
    for (unsigned row = threadIdx.x / 32; row < size; row += attention_warps) {  // one warp per row
      const unsigned column = threadIdx.x % 32;
      const A sum = Warp::sum(column < size ? raw[row * Tile::row_stride + column] : A{0});
      if (column == 0 && i0 + row < tile.n) delta[(tile.first + i0 + row) * a.heads + tile.h] = sum;
    }
  }

  for (std::size_t j0 = keys.begin; j0 < keys.end; j0 += size) {
    __syncthreads();  // in the first iteration: delta is complete
    tile.load_keys(j0);
    for (unsigned e = threadIdx.x; e < Tile::square; e += attention_threads) gated[e] = A{0};
    __syncthreads();
    tile.each_gradient(i0, j0, grads, [&](unsigned, unsigned, std::size_t i, std::size_t j, const auto& cell) {
      const std::size_t e = (i - i0) * Tile::row_stride + j - j0;
      raw[e] = cell.dscore;
      gated[e] = tile.gated(i, j, cell.dscore);
    });
    __syncthreads();
    tile.template add_product<false>(gated, tile.k, a.scale, nullptr, dq);
    for (unsigned row = threadIdx.x / 32; row < size && i0 + row < tile.n; row += attention_warps) {  // one warp per query
      const unsigned column = threadIdx.x % 32;
      const std::size_t i = i0 + row, j = j0 + column;
      const bool used = column < size && j < tile.n;
      A* to = code_sums + threadIdx.x / 32 * a.table_size();
      for (unsigned t = 0; t < a.lookups; ++t) {
        const unsigned code = used ? a.lookup[t].code[tile.pair + i * tile.n + j] : 0;
        if (sums.lookup[t] != nullptr) add_by_place(code, used && (code != 0 || a.maps_are_scores), raw + row * Tile::row_stride, 1, to);
        to += a.lookup[t].levels;
      }
      tile.add_relatives(false, i, j, used, gated + row * Tile::row_stride, 1, sums);
    }
  }
  __syncthreads();
  tile.store(dq, i0, 3 * a.width, dqkv, [](std::size_t) { return A{1}; });
  tile.write_code_sums(code_sums, attention_warps, std::size_t{blockIdx.z} * gridDim.x + blockIdx.x, sums);
}

/// A block owns the keys of a tile and computes dk, dv and the sums of tables by key.
template <class T, class Products>
__global__ void __launch_bounds__(attention_threads, sizeof(accumulate_t<T>) == 4 ? 4 : 2)
    attention_key_grad_kernel(AttentionView<T> a, AttentionGradView<T> grads, T* dqkv, AttentionTableSums<T> sums) {
  using A = accumulate_t<T>;
  using Tile = AttentionGradTile<T, Products>;
  constexpr unsigned size = Tile::size;
  LEXFORMER_DYNAMIC_SHARED(typename Tile::Stored, shared);
  const std::size_t j0 = std::size_t{blockIdx.x} * size;
  const Tile tile(a, blockIdx.z, blockIdx.y, shared);
  if (j0 >= tile.n) return;
  A *const dk = tile.tables + a.table_size(), *const dv = dk + Tile::sums(tile.d), *const gated = dv + Tile::sums(tile.d);
  A* const kept = gated + Tile::square;  // P times the factor of dropout

  const AttentionRange queries = tile.queries_of(j0, size, size);
  tile.load_keys(j0);
  tile.load_tables(tile.tables);
  tile.zero_sums(dk);
  tile.zero_sums(dv);
  for (std::size_t i0 = queries.begin; i0 < queries.end; i0 += size) {
    __syncthreads();
    tile.load_queries(i0, grads.dcontext);
    for (unsigned e = threadIdx.x; e < Tile::square; e += attention_threads) gated[e] = kept[e] = A{0};
    __syncthreads();
    tile.each_gradient(i0, j0, grads, [&](unsigned, unsigned, std::size_t i, std::size_t j, const auto& cell) {
      const std::size_t e = (i - i0) * Tile::row_stride + j - j0;
      gated[e] = tile.gated(i, j, cell.dscore);
      kept[e] = cell.probability * cell.kept;
    });
    __syncthreads();
    tile.template add_product<true>(gated, tile.q, a.scale, nullptr, dk);
    tile.template add_product<true>(kept, tile.dcontext, A{1}, nullptr, dv);
    for (unsigned column = threadIdx.x / 32; column < size && j0 + column < tile.n; column += attention_warps) {  // one warp per key
      const unsigned row = threadIdx.x % 32;
      const std::size_t i = i0 + row, j = j0 + column;
      const bool used = row < size && i < tile.n;
      tile.add_relatives(true, i, j, used, gated + column, Tile::row_stride, sums);
    }
  }
  __syncthreads();
  const auto one = [](std::size_t) { return A{1}; };
  tile.store(dk, j0, 3 * a.width, dqkv + a.width, one);
  tile.store(dv, j0, 3 * a.width, dqkv + 2 * a.width, one);
}

/// A block owns a tile of one head's position bias and sums over the sequences in order.
template <class T, class Products>
__global__ void attention_bias_grad_kernel(AttentionView<T> a, AttentionGradView<T> grads, std::size_t sequences, unsigned tiles,
                                           T* dbias) {
  using A = accumulate_t<T>;
  using Tile = AttentionGradTile<T, Products>;
  constexpr unsigned size = Tile::size;
  LEXFORMER_DYNAMIC_SHARED(typename Tile::Stored, shared);
  const std::size_t i0 = std::size_t{blockIdx.x / tiles} * size, j0 = std::size_t{blockIdx.x % tiles} * size, h = blockIdx.y;
  A sums[Tile::cells][Tile::cells] = {};
  for (std::size_t s = 0; s < sequences; ++s) {
    const Tile tile(a, s, h, shared);
    if (i0 >= tile.n || j0 >= tile.n) continue;
    __syncthreads();
    tile.load_queries(i0, grads.dcontext);
    tile.load_keys(j0);
    tile.load_tables(tile.tables);
    __syncthreads();
    tile.each_gradient(i0, j0, grads,
                       [&](unsigned u, unsigned w, std::size_t, std::size_t, const auto& cell) { sums[u][w] += cell.dscore; });
  }
  LEXFORMER_UNROLL
  for (unsigned u = 0; u < Tile::cells; ++u) {
    LEXFORMER_UNROLL
    for (unsigned w = 0; w < Tile::cells; ++w) {
      const std::size_t i = i0 + Tile::row(u), j = j0 + Tile::column(w);
      if (i < a.bias_length && j < a.bias_length) dbias[(h * a.bias_length + i) * a.bias_length + j] = static_cast<T>(sums[u][w]);
    }
  }
}

/// A block owns a tile of one sequence's pair bias and gate (null = not requested) and goes over the heads in order. It sums over them if
/// they share a pair bias.
template <class T, class Products>
__global__ void attention_pair_grad_kernel(AttentionView<T> a, AttentionGradView<T> grads, unsigned tiles, T* dbias, T* dgate) {
  using A = accumulate_t<T>;
  using Tile = AttentionGradTile<T, Products>;
  constexpr unsigned size = Tile::size;
  LEXFORMER_DYNAMIC_SHARED(typename Tile::Stored, shared);
  const std::size_t i0 = std::size_t{blockIdx.x / tiles} * size, j0 = std::size_t{blockIdx.x % tiles} * size, s = blockIdx.z;
  A bias[Tile::cells][Tile::cells] = {}, gate[Tile::cells][Tile::cells] = {};
  const Tile any(a, s, 0, shared);
  if (i0 >= any.n || j0 >= any.n) return;
  for (std::size_t h = 0; h < a.heads; ++h) {
    const Tile tile(a, s, h, shared);
    __syncthreads();
    tile.load_queries(i0, grads.dcontext);
    tile.load_keys(j0);
    tile.load_tables(tile.tables);
    __syncthreads();
    tile.each_gradient(i0, j0, grads, [&](unsigned u, unsigned w, std::size_t, std::size_t, const auto& cell) {
      bias[u][w] += cell.dscore;
      gate[u][w] += cell.dscore * cell.ungated;
    });
    if (dbias == nullptr || a.pair_bias_stride == 0) continue;
    any.each_cell(i0, j0, [&](unsigned u, unsigned w, std::size_t i, std::size_t j) {
      dbias[h * a.pairs + any.pair + i * any.n + j] = static_cast<T>(bias[u][w]);
      bias[u][w] = A{0};
    });
  }
  any.each_cell(i0, j0, [&](unsigned u, unsigned w, std::size_t i, std::size_t j) {
    const std::size_t e = any.pair + i * any.n + j;
    if (dbias != nullptr && a.pair_bias_stride == 0) dbias[e] = static_cast<T>(bias[u][w]);
    if (dgate != nullptr) dgate[e] = static_cast<T>(gate[u][w]);
  });
}

}  // namespace lexformer::cuda
