// SPDX-License-Identifier: MIT
// Kernels of columns by number, of means, maxima and windows of sequences, and of positions.
#include "device.cuh"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"
#include "unroll.cuh"

namespace lexformer {
namespace cuda {
namespace {

template <class T>
__global__ void place_rows_kernel(std::size_t count, std::size_t n, const T* x, const std::int32_t* ids, T* y) {
  for (std::size_t i = first_row(); i < count; i += row_step()) {
    T* row = y + static_cast<std::size_t>(ids[i]) * n;
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) row[j] = x == nullptr ? T{0} : x[i * n + j];
  }
}

template <class T>
__global__ void gather_columns_kernel(std::size_t rows, std::size_t n, std::size_t count, const T* x, const std::int32_t* columns, T* y) {
  for (std::size_t h = first_row(); h < rows; h += row_step())
    for (std::size_t c = threadIdx.x; c < count; c += blockDim.x) y[h * count + c] = x[h * n + static_cast<std::size_t>(columns[c])];
}

/// A block finds all occurrences of one column of y (grid: column, row).
template <class T>
__global__ void scatter_add_columns_kernel(std::size_t rows, std::size_t n, std::size_t count, const T* x, const std::int32_t* columns,
                                           accumulate_t<T>* y) {
  using A = accumulate_t<T>;
  for (std::size_t h = blockIdx.y; h < rows; h += gridDim.y)
    for (std::size_t column = blockIdx.x; column < n; column += gridDim.x) {
      A sum{};
      for (std::size_t c = threadIdx.x; c < count; c += Block::threads)
        if (static_cast<std::size_t>(columns[c]) == column) sum += static_cast<A>(x[h * count + c]);
      sum = Block::sum(sum);
      if (threadIdx.x == 0) y[h * n + column] += sum;
    }
}

/// A thread sums a column of a sequence.
template <class T>
__global__ void sequence_mean_kernel(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* x, T* y) {
  using A = accumulate_t<T>;
  constexpr std::size_t together = 8;  // rows whose loads do not wait for each other
  for (std::size_t s = blockIdx.x; s < sequences; s += gridDim.x) {
    const std::size_t first = begin[s], end = begin[s + 1];
    for (std::size_t j = blockIdx.y * blockDim.x + threadIdx.x; j < n; j += std::size_t{gridDim.y} * blockDim.x) {
      A sum{};
      LEXFORMER_NO_UNROLL
      for (std::size_t i = first; i < end; i += together) {
        T values[together];
        LEXFORMER_UNROLL
        for (std::size_t k = 0; k < together; ++k) values[k] = x[(i + k < end ? i + k : i) * n + j];
        LEXFORMER_UNROLL
        for (std::size_t k = 0; k < together; ++k) sum += i + k < end ? static_cast<A>(values[k]) : A{};
      }
      y[s * n + j] = static_cast<T>(sum / static_cast<A>(end - first));
    }
  }
}

/// blockIdx.y selects the sequence (in steps of gridDim.y); the blocks of a sequence share its rows.
template <class T>
__global__ void sequence_mean_grad_kernel(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* dy, T* dx) {
  for (std::size_t s = blockIdx.y; s < sequences; s += gridDim.y) {
    const auto factor = accumulate_t<T>{1} / static_cast<accumulate_t<T>>(begin[s + 1] - begin[s]);
    for (std::size_t i = begin[s] + first_row(); i < begin[s + 1]; i += row_step())
      for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) dx[i * n + j] = static_cast<T>(factor * dy[s * n + j]);
  }
}

template <class T>
__global__ void sequence_max_kernel(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* x, T* y, std::int32_t* index) {
  using A = accumulate_t<T>;
  for (std::size_t s = first_row(); s < sequences; s += row_step())
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) {
      std::size_t best = begin[s];
      for (std::size_t i = best + 1; i < begin[s + 1]; ++i)
        if (scalar::precedes(true, static_cast<A>(x[i * n + j]), static_cast<A>(x[best * n + j]))) best = i;
      y[s * n + j] = x[best * n + j];
      index[s * n + j] = static_cast<std::int32_t>(best - begin[s]);
    }
}

/// As sequence_mean_grad_kernel.
template <class T>
__global__ void sequence_max_grad_kernel(std::size_t sequences, std::size_t n, const std::size_t* begin, const std::int32_t* index,
                                         const T* dy, T* dx) {
  for (std::size_t s = blockIdx.y; s < sequences; s += gridDim.y)
    for (std::size_t i = begin[s] + first_row(); i < begin[s + 1]; i += row_step())
      for (std::size_t j = threadIdx.x; j < n; j += blockDim.x)
        dx[i * n + j] = i - begin[s] == static_cast<std::size_t>(index[s * n + j]) ? dy[s * n + j] : T{0};
}

/// As sequence_mean_grad_kernel.
template <class T>
__global__ void window_kernel(std::size_t sequences, std::size_t n, std::size_t before, std::size_t width, const std::size_t* begin,
                              const T* x, T* y) {
  for (std::size_t s = blockIdx.y; s < sequences; s += gridDim.y)
    for (std::size_t i = begin[s] + first_row(); i < begin[s + 1]; i += row_step())
      for (std::size_t w = 0; w < width; ++w) {
        const bool inside = i + w >= begin[s] + before && i + w < begin[s + 1] + before;
        for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) y[(i * width + w) * n + j] = inside ? x[(i + w - before) * n + j] : T{0};
      }
}

template <class T>
__global__ void window_grad_kernel(std::size_t sequences, std::size_t n, std::size_t before, std::size_t width, const std::size_t* begin,
                                   const T* dy, T* dx) {
  using A = accumulate_t<T>;
  for (std::size_t s = blockIdx.y; s < sequences; s += gridDim.y)
    for (std::size_t i = begin[s] + first_row(); i < begin[s + 1]; i += row_step())
      for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) {
        A sum{};
        for (std::size_t w = 0; w < width; ++w)
          if (i + before >= begin[s] + w && i + before < begin[s + 1] + w)
            sum += static_cast<A>(dy[((i + before - w) * width + w) * n + j]);
        dx[i * n + j] = static_cast<T>(sum);
      }
}

template <class T>
__global__ void rotary_kernel(std::size_t rows, std::size_t width, std::size_t d, const accumulate_t<T>* turn,
                              const std::int32_t* positions, accumulate_t<T> direction, const T* x, T* y) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T* in = x + r * 3 * width;
    const A* angles = turn + static_cast<std::size_t>(positions[r]) * d;
    T* out = y + r * 3 * width;
    for (std::size_t j = 2 * threadIdx.x; j < 3 * width; j += 2 * std::size_t{blockDim.x}) {  // features j and j + 1
      const A a = in[j], b = in[j + 1], c = angles[j % d], s = direction * angles[j % d + 1];
      out[j] = static_cast<T>(j < 2 * width ? a * c - b * s : a);  // v is unchanged
      out[j + 1] = static_cast<T>(j < 2 * width ? b * c + a * s : b);
    }
  }
}

template <class T>
__global__ void distance_bias_kernel(std::size_t heads, std::size_t n, const double* slopes, T* y) {
  for (std::size_t r = first_row(); r < heads * n; r += row_step()) {
    const std::size_t h = r / n, i = r % n;
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x)
      y[r * n + j] = static_cast<T>(-slopes[h] * static_cast<double>(i > j ? i - j : j - i));
  }
}

/// For kernels whose blocks process rows of one sequence: 8 rows at a time, sequences along y.
RowLaunch launch_by_sequence(std::size_t sequences, std::size_t n) {
  RowLaunch rows(8, n);
  rows.grid.y = blocks_for(sequences, 1);
  return rows;
}

}  // namespace
}  // namespace cuda

template <>
template <class T>
void IndexKernels<Cuda>::place_rows(std::size_t count, std::size_t n, const T* x, const std::int32_t* ids, T* y) {
  using namespace cuda;
  const RowLaunch by_rows(count, n);
  launch(LEXFORMER_KERNEL(place_rows_kernel<T>), by_rows.grid, by_rows.block, 0, count, n, x, ids, y);
}

template <>
template <class T>
void IndexKernels<Cuda>::gather_columns(std::size_t rows, std::size_t n, std::size_t count, const T* x, const std::int32_t* columns, T* y) {
  using namespace cuda;
  const RowLaunch by_rows(rows, count);
  launch(LEXFORMER_KERNEL(gather_columns_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, count, x, columns, y);
}
template <>
template <class T>
void IndexKernels<Cuda>::scatter_add_columns(std::size_t rows, std::size_t n, std::size_t count, const T* x, const std::int32_t* columns,
                                             accumulate_t<T>* y) {
  using namespace cuda;
  const dim3 grid(blocks_for(n, 1), blocks_for(rows, 1));
  launch(LEXFORMER_KERNEL(scatter_add_columns_kernel<T>), grid, dim3(Block::threads), 0, rows, n, count, x, columns, y);
}

template <>
template <class T>
void IndexKernels<Cuda>::sequence_mean(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* x, T* y) {
  using namespace cuda;
  const unsigned threads = n <= 32 ? 32 : 128;
  launch(LEXFORMER_KERNEL(sequence_mean_kernel<T>), dim3(blocks_for(sequences, 1), blocks_for(n, threads)), dim3(threads), 0, sequences, n,
         begin, x, y);
}
template <>
template <class T>
void IndexKernels<Cuda>::sequence_mean_grad(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* dy, T* dx) {
  using namespace cuda;
  const RowLaunch by_sequence = launch_by_sequence(sequences, n);
  launch(LEXFORMER_KERNEL(sequence_mean_grad_kernel<T>), by_sequence.grid, by_sequence.block, 0, sequences, n, begin, dy, dx);
}

template <>
template <class T>
void IndexKernels<Cuda>::sequence_max(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* x, T* y,
                                      std::int32_t* index) {
  using namespace cuda;
  const RowLaunch by_rows(sequences, n);
  launch(LEXFORMER_KERNEL(sequence_max_kernel<T>), by_rows.grid, by_rows.block, 0, sequences, n, begin, x, y, index);
}
template <>
template <class T>
void IndexKernels<Cuda>::sequence_max_grad(std::size_t sequences, std::size_t n, const std::size_t* begin, const std::int32_t* index,
                                           const T* dy, T* dx) {
  using namespace cuda;
  const RowLaunch by_sequence = launch_by_sequence(sequences, n);
  launch(LEXFORMER_KERNEL(sequence_max_grad_kernel<T>), by_sequence.grid, by_sequence.block, 0, sequences, n, begin, index, dy, dx);
}

template <>
template <class T>
void IndexKernels<Cuda>::window(std::size_t sequences, std::size_t n, std::size_t before, std::size_t after, const std::size_t* begin,
                                const T* x, T* y) {
  using namespace cuda;
  const RowLaunch by_sequence = launch_by_sequence(sequences, n);
  launch(LEXFORMER_KERNEL(window_kernel<T>), by_sequence.grid, by_sequence.block, 0, sequences, n, before, before + 1 + after, begin, x, y);
}
template <>
template <class T>
void IndexKernels<Cuda>::window_grad(std::size_t sequences, std::size_t n, std::size_t before, std::size_t after, const std::size_t* begin,
                                     const T* dy, T* dx) {
  using namespace cuda;
  const RowLaunch by_sequence = launch_by_sequence(sequences, n);
  launch(LEXFORMER_KERNEL(window_grad_kernel<T>), by_sequence.grid, by_sequence.block, 0, sequences, n, before, before + 1 + after, begin,
         dy, dx);
}

template <>
template <class T>
void IndexKernels<Cuda>::rotary(std::size_t rows, std::size_t heads, std::size_t d, const accumulate_t<T>* turn,
                                const std::int32_t* positions, accumulate_t<T> direction, const T* x, T* y) {
  using namespace cuda;
  const std::size_t width = heads * d;
  const RowLaunch by_rows(rows, 3 * width / 2);
  launch(LEXFORMER_KERNEL(rotary_kernel<T>), by_rows.grid, by_rows.block, 0, rows, width, d, turn, positions, direction, x, y);
}
template <>
template <class T>
void IndexKernels<Cuda>::distance_bias(std::size_t heads, std::size_t n, const double* slopes, T* y) {
  using namespace cuda;
  const RowLaunch by_rows(heads * n, n);
  launch(LEXFORMER_KERNEL(distance_bias_kernel<T>), by_rows.grid, by_rows.block, 0, heads, n, slopes, y);
}

LEXFORMER_INDEX_INSTANCES(, Cuda, float)
LEXFORMER_INDEX_INSTANCES(, Cuda, double)
LEXFORMER_INDEX_INSTANCES(, Cuda, bfloat16)

}  // namespace lexformer
