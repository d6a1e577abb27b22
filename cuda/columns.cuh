// SPDX-License-Identifier: MIT
// Column sums: out[j] = sum over rows i of values(i, j). Rows are split into chunks whose number depends only on the number of rows; the
// block that finishes last adds the sums of the chunks, in their order.
#pragma once

#include "device.cuh"

namespace lexformer::cuda {

/// Sum of rows begin ... end - 1 for 32 columns, by a block of 32 x 8 threads: 8 threads share the rows of a column. The threads with
/// threadIdx.y = 0 get the result.
template <class A, class Values, unsigned turns>
__device__ A sum_of_rows(std::size_t begin, std::size_t end, std::size_t j, std::size_t columns, const Values& values,
                         A (&partial)[turns][32]) {
  A total{};
  if (j < columns)
    for (std::size_t i = begin + threadIdx.y; i < end; i += turns) total += values(i, j);
  partial[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y == 0)
    for (unsigned t = 1; t < turns; ++t) total += partial[t][threadIdx.x];
  return total;
}

/// The sums of the chunks, rows of `columns` elements.
template <class A>
struct ChunkSums {
  A* x;
  std::size_t columns;
  __device__ A operator()(std::size_t i, std::size_t j) const { return __ldcg(x + i * columns + j); }
};

/// A block sums 32 columns of one chunk of rows. finished[blockIdx.x] counts the chunks that are done (last_block).
template <class A, class Values, class To>
__global__ void column_sum_kernel(std::size_t rows, std::size_t columns, std::size_t chunk, Values values, ChunkSums<A> of_chunks,
                                  unsigned* finished, To* out) {
  __shared__ A partial[8][32];
  const std::size_t j = std::size_t{blockIdx.x} * 32 + threadIdx.x, begin = blockIdx.y * chunk;
  A total = sum_of_rows(begin, begin + chunk < rows ? begin + chunk : rows, j, columns, values, partial);
  if (gridDim.y > 1) {
    if (threadIdx.y == 0 && j < columns) of_chunks.x[blockIdx.y * columns + j] = total;
    if (!last_block(finished + blockIdx.x, gridDim.y)) return;
    total = sum_of_rows(0, gridDim.y, j, columns, of_chunks, partial);
  }
  if (threadIdx.y == 0 && j < columns) out[j] = static_cast<To>(total);
}

template <class A, class Values, class To>
void sum_columns(std::size_t rows, std::size_t columns, const Values& values, To* out) {
  const std::size_t across = (columns + 31) / 32,
                    chunk = rows <= 256 ? std::max<std::size_t>(rows, 1) : std::max<std::size_t>(64, (rows + 255) / 256);
  const std::size_t chunks = std::max<std::size_t>((rows + chunk - 1) / chunk, 1);
  const Temporary<A> partial(chunks > 1 ? chunks * columns : 0);
  launch(LEXFORMER_KERNEL(column_sum_kernel<A, Values, To>), dim3(static_cast<unsigned>(across), static_cast<unsigned>(chunks)),
         dim3(32, 8), 0, rows, columns, chunk, values, ChunkSums<A>{partial.data(), columns},
         chunks > 1 ? finished_counters(across) : nullptr, out);
}

}  // namespace lexformer::cuda
