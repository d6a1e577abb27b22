// SPDX-License-Identifier: MIT
// Attention with scores in memory: kernels for the rows of a chunk of sequences, between the cuBLAS products. Each value is written by one
// thread or warp only, in a fixed order.
#pragma once

#include "attention_score.cuh"

namespace lexformer::cuda {

/// Sequences whose scores are in memory at the same time: one n x n square per (sequence, head).
struct AttentionChunk {
  std::size_t begin, sequences, longest, first, pair;  // first sequence, their number, longest length, first token and pair

  /// Row stride of a square in elements. Squares and their rows are aligned to 16 bytes, which cuBLAS needs for its fast kernels.
  static LEXFORMER_HD std::size_t row(std::size_t n) { return (n + 7) / 8 * 8; }
  /// Elements reserved for all squares before the sequence that begins with this token and pair; n row(n) is at most n n + 7 n.
  LEXFORMER_HD std::size_t numbers(std::size_t heads, std::size_t token_begin, std::size_t pair_begin) const {
    return row(heads * (pair_begin - pair + 7 * (token_begin - first)));
  }
  /// The offset of a head's square.
  template <class T>
  LEXFORMER_HD std::size_t square(const AttentionHead<T>& head) const {
    return numbers(head.a.heads, head.first, head.pair) + head.h * head.n * row(head.n);
  }
};

/// tables (H, sum of R): load_tables() for each head; one block per head.
template <class T>
__global__ void attention_tables_kernel(AttentionView<T> a, accumulate_t<T>* tables) {
  AttentionHead<T>(a, 0, blockIdx.x).load_tables(tables + blockIdx.x * a.table_size());
}

/// A query, processed by one warp. The grid: queries of the longest sequence x heads x sequences.
template <class T>
struct AttentionRow : AttentionHead<T> {
  std::size_t i, at;  // query, offset of its row of the square

  __device__ AttentionRow(const AttentionView<T>& view, const AttentionChunk& chunk)
      : AttentionHead<T>(view, chunk.begin + blockIdx.z, blockIdx.y),
        i(first_row()),
        at(chunk.square(*this) + i * AttentionChunk::row(this->n)) {}
};

/// Computes S from <q_i, k_j>, its log-sum-exp, the map, and dropout(P). `probabilities` may be the memory of the scores.
template <class T>
__global__ void attention_score_kernel(AttentionView<T> a, AttentionChunk chunk, const accumulate_t<T>* tables, accumulate_t<T>* scores,
                                       T* probabilities, accumulate_t<T>* logsumexp, T* attentions) {
  using A = accumulate_t<T>;
  const AttentionRow<T> row(a, chunk);
  if (row.i >= row.n) return;  // the whole warp
  const std::size_t n = row.n;
  A* const score = scores + row.at;
  const A* const table = tables + row.h * a.table_size();
  for (std::size_t j = threadIdx.x; j < n; j += Warp::threads) {
    A ungated;
    score[j] = row.score(row.i, j, score[j], table, ungated);
  }
  const A top = row_max<Warp>(n, score);
  A total{0};
  for (std::size_t j = threadIdx.x; j < n; j += Warp::threads) total += scalar::exp(score[j] - top);
  const A log_total = top + std::log(Warp::sum(total));
  if (threadIdx.x == 0) logsumexp[(row.first + row.i) * a.heads + row.h] = log_total;
  T *const probability = probabilities + row.at, *const map = row.map(attentions);
  for (std::size_t j = threadIdx.x; j < n; j += Warp::threads) {
    const A value = score[j], p = row.probability(row.i, j, value, log_total);
    if (map != nullptr) map[row.i * n + j] = static_cast<T>(a.maps_are_scores ? value : p);
    probability[j] = static_cast<T>(p * row.dropout(row.i, j));
  }
}

/// The inputs of backward for a chunk: <q_i, k_j> and <dcontext_i, v_j> in squares, and tables as above.
template <class T>
struct AttentionProducts {
  const accumulate_t<T>*scores, *dprobabilities, *tables;

  /// The cell (i, j), at offset `at` in the squares.
  __device__ auto cell(const AttentionHead<T>& head, std::size_t i, std::size_t j, std::size_t at, const AttentionGradView<T>& g) const {
    return head.cell(i, j, scores[at], dprobabilities[at], tables + head.h * head.a.table_size(), g);
  }
};

/// Computes delta; one warp per query.
template <class T>
__global__ void attention_delta_kernel(AttentionView<T> a, AttentionChunk chunk, AttentionProducts<T> products, AttentionGradView<T> grads,
                                       accumulate_t<T>* delta) {
  using A = accumulate_t<T>;
  const AttentionRow<T> row(a, chunk);
  if (row.i >= row.n) return;
  grads.delta = nullptr;
  A sum{0};
  for (std::size_t j = threadIdx.x; j < row.n; j += Warp::threads) {
    const auto cell = products.cell(row, row.i, j, row.at + j, grads);
    sum += cell.probability * cell.dscore;
  }
  sum = Warp::sum(sum);
  if (threadIdx.x == 0) delta[(row.first + row.i) * a.heads + row.h] = sum;
}

/// sums (H, bias_length, bias_length) += dS; one thread per element, the sequences in order.
template <class T>
__global__ void attention_bias_sum_kernel(AttentionView<T> a, AttentionChunk chunk, AttentionProducts<T> products,
                                          AttentionGradView<T> grads, accumulate_t<T>* sums) {
  const std::size_t longest = chunk.longest;
  for (std::size_t e = first_element(); e < a.heads * longest * longest; e += element_step()) {
    const std::size_t h = e / (longest * longest), i = e / longest % longest, j = e % longest;
    accumulate_t<T>& to = sums[(h * a.bias_length + i) * a.bias_length + j];
    accumulate_t<T> sum = to;
    for (std::size_t s = chunk.begin; s < chunk.begin + chunk.sequences; ++s) {
      const AttentionHead<T> head(a, s, h);
      if (i < head.n && j < head.n)
        sum += products.cell(head, i, j, chunk.square(head) + i * AttentionChunk::row(head.n) + j, grads).dscore;
    }
    to = sum;
  }
}

/// Gradients of pair bias and gate (null = not requested); one thread per token pair, the heads in order; sums over them if they share it.
/// The grid: pairs x 1 x sequences.
template <class T>
__global__ void attention_pair_sum_kernel(AttentionView<T> a, AttentionChunk chunk, AttentionProducts<T> products,
                                          AttentionGradView<T> grads, T* dbias, T* dgate) {
  const std::size_t s = chunk.begin + blockIdx.z;
  const AttentionHead<T> any(a, s, 0);
  for (std::size_t e = first_element(); e < any.n * any.n; e += element_step()) {
    const std::size_t i = e / any.n, j = e % any.n;
    accumulate_t<T> bias{0}, gate{0};
    for (std::size_t h = 0; h < a.heads; ++h) {
      const AttentionHead<T> head(a, s, h);
      const auto cell = products.cell(head, i, j, chunk.square(head) + i * AttentionChunk::row(head.n) + j, grads);
      bias += cell.dscore;
      gate += cell.dscore * cell.ungated;
      if (dbias != nullptr && a.pair_bias_stride != 0) dbias[h * a.pairs + any.pair + e] = static_cast<T>(cell.dscore);
    }
    if (dbias != nullptr && a.pair_bias_stride == 0) dbias[any.pair + e] = static_cast<T>(bias);
    if (dgate != nullptr) dgate[any.pair + e] = static_cast<T>(gate);
  }
}

/// to[place] += value for the lanes with `used`, in order. Called by all lanes of a warp. Lane l owns the places with place % 32 = l.
template <class A>
__device__ void add_lanes(A value, unsigned place, bool used, A* to) {
  for (unsigned users = __ballot_sync(all_lanes, used), lane = 0; users != 0; users >>= 1, ++lane) {
    if ((users & 1) == 0) continue;
    const A other = __shfl_sync(all_lanes, value, static_cast<int>(lane));
    const unsigned there = __shfl_sync(all_lanes, place, static_cast<int>(lane));
    if (there % Warp::threads == threadIdx.x) to[there] += other;
  }
}

/// Writes kept = dropout(P), gated = the gradient of the scores before the gate, stored = gated rounded to T for the products, and the sums
/// of tables by query. The outputs may be the memory of the inputs: a lane writes after it has read.
template <class T>
__global__ void attention_row_grad_kernel(AttentionView<T> a, AttentionChunk chunk, AttentionProducts<T> products,
                                          AttentionGradView<T> grads, AttentionTableSums<T> sums, accumulate_t<T>* gated, T* kept,
                                          T* stored) {
  using A = accumulate_t<T>;
  const AttentionRow<T> row(a, chunk);
  if (row.i >= row.n) return;
  const std::size_t i = row.i, n = row.n, query = (row.first + i) * a.heads + row.h;
  A others[AttentionView<T>::most] = {};
  for (std::size_t j0 = 0; j0 < n; j0 += Warp::threads) {
    const std::size_t j = j0 + threadIdx.x, at = row.at + j;
    const bool used = j < n;
    A dscore{0}, dgated{0};
    if (used) {
      const auto cell = products.cell(row, i, j, at, grads);
      dscore = cell.dscore;
      dgated = row.gated(i, j, dscore);
      gated[at] = dgated;
      stored[at] = static_cast<T>(dgated);
      kept[at] = static_cast<T>(cell.probability * cell.kept);
    }
    for (unsigned t = 0; t < a.lookups; ++t) {
      if (sums.lookup[t] == nullptr) continue;
      const unsigned code = used ? a.lookup[t].code[row.pair + i * n + j] : 0;
      const bool counts = used && (code != 0 || a.maps_are_scores);
      add_lanes(dscore, code, counts, sums.lookup[t] + query * a.lookup[t].levels);
      if (counts) others[t] += dscore;
    }
    for (unsigned t = 0; t < a.relatives; ++t) {
      const auto& r = a.relative[t];
      if (r.key_side) continue;
      const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(j);
      add_lanes(dgated, used ? static_cast<unsigned>(r.middle[distance]) : 0, used, sums.relative[t] + query * r.rows);
    }
  }
  for (unsigned t = 0; t < a.lookups; ++t) {
    if (sums.lookup[t] == nullptr || a.maps_are_scores) continue;
    const A sum = Warp::sum(others[t]);
    if (threadIdx.x == 0) sums.lookup[t][query * a.lookup[t].levels] -= sum;  // the gradients of a row of scores sum to 0
  }
}

/// The sums of tables by key; one thread per key. The grid: keys of the longest sequence x heads x sequences.
template <class T>
__global__ void attention_key_sum_kernel(AttentionView<T> a, AttentionChunk chunk, const accumulate_t<T>* gated,
                                         AttentionTableSums<T> sums) {
  const AttentionHead<T> head(a, chunk.begin + blockIdx.z, blockIdx.y);
  const std::size_t j = first_element();
  if (j >= head.n) return;
  const accumulate_t<T>* const column = gated + chunk.square(head) + j;
  for (unsigned t = 0; t < a.relatives; ++t) {
    const auto& r = a.relative[t];
    if (!r.key_side) continue;
    accumulate_t<T>* const to = sums.relative[t] + ((head.first + j) * a.heads + head.h) * r.rows;
    for (std::size_t i = 0; i < head.n; ++i)
      to[r.middle[static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(j)]] += column[i * AttentionChunk::row(head.n)];
  }
}

}  // namespace lexformer::cuda
