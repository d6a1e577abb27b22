// SPDX-License-Identifier: MIT
// Fused attention, forward: a thread block loops over the keys for `size` queries of one (sequence, head), with an online softmax
// (Milakov & Gimelshein 2018; Dao et al., "FlashAttention", 2022).
#pragma once

#include "attention_tile.cuh"

namespace lexformer::cuda {

template <class T, class Products>
__global__ void __launch_bounds__(attention_threads, sizeof(accumulate_t<T>) == 4 ? 4 : 2)
    attention_forward_kernel(AttentionView<T> a, T* context, accumulate_t<T>* logsumexp) {
  using A = accumulate_t<T>;
  using Tile = AttentionTile<T, Products>;
  using Stored = typename Tile::Stored;
  constexpr unsigned size = Tile::size;
  const std::size_t i0 = std::size_t{blockIdx.x} * size;
  const Tile tile(a, blockIdx.z, blockIdx.y);
  if (i0 >= tile.n) return;  // the whole block
  const std::size_t vectors = Tile::vectors(tile.d);
  LEXFORMER_DYNAMIC_SHARED(Stored, q);
  Stored *const k = q + vectors, *const v = k + vectors;
  A *const sums = reinterpret_cast<A*>(v + vectors), *const p = sums + Tile::sums(tile.d);
  A *const top = p + Tile::square, *const total = top + size, *const shrink = total + size, *const tables = shrink + size;

  tile.load_part(0, i0, q);
  tile.load_tables(tables);
  tile.zero_sums(sums);
  for (unsigned row = threadIdx.x; row < size; row += attention_threads) {
    top[row] = -std::numeric_limits<A>::infinity();
    total[row] = A{0};
  }
  const AttentionRange keys = tile.keys_of(i0, size, size);
  for (std::size_t j0 = keys.begin; j0 < keys.end; j0 += size) {
    __syncthreads();  // all threads are done with the previous keys
    tile.load_part(1, j0, k);
    tile.load_part(2, j0, v);
    __syncthreads();
    A products[Tile::cells][Tile::cells];
    tile.multiply(q, k, products);
    tile.each_cell(i0, j0, [&](unsigned u, unsigned w, std::size_t i, std::size_t j) {
      A ungated;
      p[(i - i0) * Tile::row_stride + j - j0] = tile.score(i, j, products[u][w], tables, ungated);
    });
    __syncthreads();
    for (unsigned row = threadIdx.x / 32; row < size; row += attention_warps) {  // one warp per row
      const unsigned column = threadIdx.x % 32;
      const bool used = column < size && j0 + column < tile.n && i0 + row < tile.n;
      const A value = used ? p[row * Tile::row_stride + column] : -std::numeric_limits<A>::infinity();
      const A before = top[row], now = i0 + row < tile.n ? Warp::max(value > before ? value : before) : A{0};
      const A base = now == -std::numeric_limits<A>::infinity() ? A{0} : now;  // all scores so far are -inf
      const A power = used ? scalar::exp(value - base) : A{0};
      const A sum = Warp::sum(power);
      if (column < size) p[row * Tile::row_stride + column] = used ? power * tile.dropout(i0 + row, j0 + column) : A{0};
      __syncwarp();  // all lanes have read top[row]
      if (column == 0) {
        shrink[row] = j0 == keys.begin ? A{0} : scalar::exp(before - base);
        total[row] = total[row] * shrink[row] + sum;
        top[row] = now;
      }
    }
    __syncthreads();
    tile.template add_product<false>(p, v, A{1}, shrink, sums);
  }
  __syncthreads();
  // If all scores of a query are -inf, so is top, and the result is NaN, as on the CPU.
  tile.store(sums, i0, a.width, context, [&](std::size_t row) { return (A{1} + (top[row] - top[row])) / total[row]; });
  for (unsigned row = threadIdx.x; row < size; row += attention_threads)
    if (i0 + row < tile.n) logsumexp[(tile.first + i0 + row) * a.heads + tile.h] = top[row] + std::log(total[row]);
}

/// Writes the scores or probabilities of the heads in map_row; one block per tile.
template <class T, class Products>
__global__ void attention_map_kernel(AttentionView<T> a, const accumulate_t<T>* logsumexp, unsigned tiles, T* attentions) {
  using A = accumulate_t<T>;
  using Tile = AttentionTile<T, Products>;
  using Stored = typename Tile::Stored;
  constexpr unsigned size = Tile::size;
  const Tile tile(a, blockIdx.z, blockIdx.y);
  const std::size_t i0 = std::size_t{blockIdx.x / tiles} * size, j0 = std::size_t{blockIdx.x % tiles} * size;
  T* const map = tile.map(attentions);
  if (i0 >= tile.n || j0 >= tile.n || map == nullptr) return;
  const std::size_t vectors = Tile::vectors(tile.d);
  LEXFORMER_DYNAMIC_SHARED(Stored, q);
  Stored* const k = q + vectors;
  A* const tables = reinterpret_cast<A*>(k + vectors);
  tile.load_part(0, i0, q);
  tile.load_part(1, j0, k);
  tile.load_tables(tables);
  __syncthreads();
  A products[Tile::cells][Tile::cells];
  tile.multiply(q, k, products);
  tile.each_cell(i0, j0, [&](unsigned u, unsigned w, std::size_t i, std::size_t j) {
    A ungated;
    const A value = tile.score(i, j, products[u][w], tables, ungated);
    map[i * tile.n + j] =
        static_cast<T>(a.maps_are_scores ? value : tile.probability(i, j, value, logsumexp[(tile.first + i) * a.heads + tile.h]));
  });
}

}  // namespace lexformer::cuda
