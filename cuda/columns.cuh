// SPDX-License-Identifier: MIT
// Column sums of several matrices of the same size at once: out[k][j] = sum over rows i of values(i, j)[k]. Rows are split into chunks
// whose number depends only on the number of rows; the block that finishes last adds the sums of the chunks, in their order.
#pragma once

#include "device.cuh"

namespace lexformer::cuda {

/// K values of type A.
template <class A, std::size_t K>
struct Tuple {
  A at[K] = {};
};
/// The K outputs.
template <class To, std::size_t K>
struct ColumnSums {
  To* out[K];
};

/// Sums of rows begin ... end - 1 for 32 columns, by a block of 32 x 8 threads: 8 threads share the rows of a column. The threads with
/// threadIdx.y = 0 get the result.
template <class A, std::size_t K, class Values, unsigned turns>
__device__ Tuple<A, K> sum_of_rows(std::size_t begin, std::size_t end, std::size_t j, std::size_t columns, const Values& values,
                                   A (&partial)[K][turns][32]) {
  Tuple<A, K> total;
  if (j < columns)
    for (std::size_t i = begin + threadIdx.y; i < end; i += turns) {
      const Tuple<A, K> value = values(i, j);
      for (std::size_t k = 0; k < K; ++k) total.at[k] += value.at[k];
    }
  for (std::size_t k = 0; k < K; ++k) partial[k][threadIdx.y][threadIdx.x] = total.at[k];
  __syncthreads();
  for (std::size_t k = 0; threadIdx.y == 0 && k < K; ++k) {
    total.at[k] = partial[k][0][threadIdx.x];
    for (unsigned t = 1; t < turns; ++t) total.at[k] += partial[k][t][threadIdx.x];
  }
  return total;
}

/// The sums of the chunks: matrix k is at x + k * size, with rows of `columns` elements.
template <class A, std::size_t K>
struct ChunkSums {
  A* x;
  std::size_t columns, size;
  __device__ Tuple<A, K> operator()(std::size_t i, std::size_t j) const {
    Tuple<A, K> value;
    for (std::size_t k = 0; k < K; ++k) value.at[k] = __ldcg(x + k * size + i * columns + j);
    return value;
  }
};

/// A block sums 32 columns of one chunk of rows. finished[blockIdx.x] counts the chunks that are done (last_block).
template <class A, std::size_t K, class Values, class To>
__global__ void column_sum_kernel(std::size_t rows, std::size_t columns, std::size_t chunk, Values values, ChunkSums<A, K> of_chunks,
                                  unsigned* finished, ColumnSums<To, K> sums) {
  __shared__ A partial[K][8][32];
  const std::size_t j = std::size_t{blockIdx.x} * 32 + threadIdx.x, begin = blockIdx.y * chunk;
  Tuple<A, K> total = sum_of_rows<A, K>(begin, begin + chunk < rows ? begin + chunk : rows, j, columns, values, partial);
  if (gridDim.y > 1) {
    if (threadIdx.y == 0 && j < columns)
      for (std::size_t k = 0; k < K; ++k) of_chunks.x[k * of_chunks.size + blockIdx.y * columns + j] = total.at[k];
    if (!last_block(finished + blockIdx.x, gridDim.y)) return;
    total = sum_of_rows<A, K>(0, gridDim.y, j, columns, of_chunks, partial);
  }
  if (threadIdx.y != 0 || j >= columns) return;
  for (std::size_t k = 0; k < K; ++k) sums.out[k][j] = static_cast<To>(total.at[k]);
}

template <class A, std::size_t K, class Values, class To>
void sum_columns(std::size_t rows, std::size_t columns, const Values& values, const ColumnSums<To, K>& sums) {
  const std::size_t across = (columns + 31) / 32,
                    chunk = rows <= 256 ? std::max<std::size_t>(rows, 1) : std::max<std::size_t>(64, (rows + 255) / 256);
  const std::size_t chunks = std::max<std::size_t>((rows + chunk - 1) / chunk, 1);
  const Temporary<A> partial(chunks > 1 ? K * chunks * columns : 0);
  launch(LEXFORMER_KERNEL(column_sum_kernel<A, K, Values, To>), dim3(static_cast<unsigned>(across), static_cast<unsigned>(chunks)),
         dim3(32, 8), 0, rows, columns, chunk, values, ChunkSums<A, K>{partial.data(), columns, chunks * columns},
         chunks > 1 ? finished_counters(across) : nullptr, sums);
}

}  // namespace lexformer::cuda
