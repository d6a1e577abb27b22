// SPDX-License-Identifier: MIT
// Column sums of several matrices of the same size at once: out[k][j] = sum over rows i of values(i, j)[k]. Rows are split into chunks
// whose number depends only on the number of rows; a second launch adds the sums of the chunks.
#pragma once

#include "device.cuh"

namespace lexformer::cuda {

/// K values of type A.
template <class A, std::size_t K>
struct Tuple {
  A at[K] = {};
};
/// The K outputs: row c of out[k] is the sum of chunk c.
template <class To, std::size_t K>
struct ColumnSums {
  To* out[K];
};

/// A block sums 32 columns of one chunk of rows; 8 threads share the rows of a column.
template <class A, std::size_t K, class Values, class To>
__global__ void column_sum_kernel(std::size_t rows, std::size_t columns, std::size_t chunk, Values values, ColumnSums<To, K> sums) {
  constexpr unsigned turns = 8;
  __shared__ A partial[K][turns][32];
  const std::size_t j = std::size_t{blockIdx.x} * 32 + threadIdx.x;
  const std::size_t begin = blockIdx.y * chunk, end = begin + chunk < rows ? begin + chunk : rows;
  Tuple<A, K> total;
  if (j < columns)
    for (std::size_t i = begin + threadIdx.y; i < end; i += turns) {
      const Tuple<A, K> value = values(i, j);
      for (std::size_t k = 0; k < K; ++k) total.at[k] += value.at[k];
    }
  for (std::size_t k = 0; k < K; ++k) partial[k][threadIdx.y][threadIdx.x] = total.at[k];
  __syncthreads();
  if (threadIdx.y != 0 || j >= columns) return;
  for (std::size_t k = 0; k < K; ++k) {
    A sum = partial[k][0][threadIdx.x];
    for (unsigned t = 1; t < turns; ++t) sum += partial[k][t][threadIdx.x];
    sums.out[k][blockIdx.y * columns + j] = static_cast<To>(sum);
  }
}

/// The sums of the chunks as input: matrix k is at x + k * size, with rows of `columns` elements.
template <class A, std::size_t K>
struct ChunkSums {
  const A* x;
  std::size_t columns, size;
  __device__ Tuple<A, K> operator()(std::size_t i, std::size_t j) const {
    Tuple<A, K> value;
    for (std::size_t k = 0; k < K; ++k) value.at[k] = x[k * size + i * columns + j];
    return value;
  }
};

template <class A, std::size_t K, class Values, class To>
void sum_columns(std::size_t rows, std::size_t columns, const Values& values, const ColumnSums<To, K>& sums) {
  const dim3 block(32, 8);
  const unsigned across = static_cast<unsigned>((columns + 31) / 32);
  if (rows <= 256) {
    launch(LEXFORMER_KERNEL(column_sum_kernel<A, K, Values, To>), dim3(across), block, 0, rows, columns, std::max<std::size_t>(rows, 1),
           values, sums);
    return;
  }
  const std::size_t chunk = std::max<std::size_t>(64, (rows + 255) / 256), chunks = (rows + chunk - 1) / chunk;
  const Temporary<A> partial(K * chunks * columns);
  ColumnSums<A, K> to{};
  for (std::size_t k = 0; k < K; ++k) to.out[k] = partial.data() + k * chunks * columns;
  launch(LEXFORMER_KERNEL(column_sum_kernel<A, K, Values, A>), dim3(across, static_cast<unsigned>(chunks)), block, 0, rows, columns, chunk,
         values, to);
  const ChunkSums<A, K> of_chunks{partial.data(), columns, chunks * columns};
  launch(LEXFORMER_KERNEL(column_sum_kernel<A, K, ChunkSums<A, K>, To>), dim3(across), block, 0, chunks, columns, chunks, of_chunks, sums);
}

}  // namespace lexformer::cuda
