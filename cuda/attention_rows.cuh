// SPDX-License-Identifier: MIT
// Attention where scores lie in memory, between products: kernels for the rows of a chunk of sequences. What a thread or warp writes, it
// alone writes, in one order.
#pragma once

#include "attention_score.cuh"

namespace lexformer::cuda {

/// Sequences whose scores are in memory together: one n x n square for each (sequence, head).
struct AttentionChunk {
  std::size_t begin, sequences, longest, first, pair;  // the first sequence, how many, tokens of the longest; their first token and pair

  /// Numbers from one row of a square to the next. Squares and their rows begin at 16 bytes, which cuBLAS needs to take the fast ways.
  static LEXFORMER_HD std::size_t row(std::size_t n) { return (n + 7) / 8 * 8; }
  /// Numbers of all squares before the sequence that begins with this token and pair: n row(n) is at most n n + 7 n.
  LEXFORMER_HD std::size_t numbers(std::size_t heads, std::size_t token_begin, std::size_t pair_begin) const {
    return row(heads * (pair_begin - pair + 7 * (token_begin - first)));
  }
  /// Where a head's square begins.
  template <class T>
  LEXFORMER_HD std::size_t square(const AttentionHead<T>& head) const {
    return numbers(head.a.heads, head.first, head.pair) + head.h * head.n * row(head.n);
  }
};

/// tables (H, sum of R): load_tables() of every head; a block for each.
template <class T>
__global__ void attention_tables_kernel(AttentionView<T> a, accumulate_t<T>* tables) {
  AttentionHead<T>(a, 0, blockIdx.x).load_tables(tables + blockIdx.x * a.table_size());
}

/// A query, for which a warp works. The grid: queries up to the longest sequence's x heads x sequences.
template <class T>
struct AttentionRow : AttentionHead<T> {
  std::size_t i, at;  // where its row of the square begins

  __device__ AttentionRow(const AttentionView<T>& view, const AttentionChunk& chunk)
      : AttentionHead<T>(view, chunk.begin + blockIdx.z, blockIdx.y),
        i(first_row()),
        at(chunk.square(*this) + i * AttentionChunk::row(this->n)) {}
};

/// score_row: S from <q_i, k_j>, its log-sum-exp, the map, and dropout(P). `probabilities` may be the scores' own memory.
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
    const A value = score[j], p = scalar::exp(value - log_total);
    if (map != nullptr) map[row.i * n + j] = static_cast<T>(a.maps_are_scores ? value : p);
    probability[j] = static_cast<T>(p * row.dropout(row.i, j));
  }
}

/// What backward knows of a chunk: <q_i, k_j> and <dcontext_i, v_j> in squares, and tables as above.
template <class T>
struct AttentionProducts {
  const accumulate_t<T>*scores, *dprobabilities, *tables;

  /// The cell (i, j), whose number in the squares is `at`.
  __device__ auto cell(const AttentionHead<T>& head, std::size_t i, std::size_t j, std::size_t at, const AttentionGradView<T>& g) const {
    return head.cell(i, j, scores[at], dprobabilities[at], tables + head.h * head.a.table_size(), g);
  }
};

/// delta, a warp for each query.
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

/// sums (H, bias_length, bias_length) += dS: a thread for each number, the sequences in order.
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

/// dbias, of the pair bias, and dgate (null: not wanted): a thread for each pair of tokens, the heads in order. The grid: pairs x 1 x
/// sequences.
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
    }
    if (dbias != nullptr) dbias[any.pair + e] = static_cast<T>(bias);
    if (dgate != nullptr) dgate[any.pair + e] = static_cast<T>(gate);
  }
}

/// to[place] += value for the lanes in order, where used; all of a warp call it. A lane owns the places that leave its number.
template <class A>
__device__ void add_lanes(A value, unsigned place, bool used, A* to) {
  for (unsigned users = __ballot_sync(all_lanes, used), lane = 0; users != 0; users >>= 1, ++lane) {
    if ((users & 1) == 0) continue;
    const A other = __shfl_sync(all_lanes, value, static_cast<int>(lane));
    const unsigned there = __shfl_sync(all_lanes, place, static_cast<int>(lane));
    if (there % Warp::threads == threadIdx.x) to[there] += other;
  }
}

/// dropout(P) and the gradient of what the gate multiplies, as T for products and, where `gated` is not the same memory, that in full;
/// and the sums of tables by query. They may lie where the products do: a lane writes after it has read.
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
    if (threadIdx.x == 0) sums.lookup[t][query * a.lookup[t].levels] -= sum;  // table[code] - table[0] was added
  }
}

/// The sums of tables by key: a thread for each. The grid: keys up to the longest sequence's x heads x sequences.
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
