// SPDX-License-Identifier: MIT
// Row and column kernels of matrices. A row belongs to a warp or a block (device.cuh). Each of its elements is read and written by one
// thread only, so results may be written in place.
#include <cmath>

#include "columns.cuh"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"

namespace lexformer {
namespace cuda {
namespace {

template <class T>
__global__ void fill_rows_kernel(std::size_t rows, std::size_t n, const T* x, T* y) {
  for (std::size_t r = first_row(); r < rows; r += row_step())
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) y[r * n + j] = x[j];
}

template <class T>
__global__ void copy_columns_kernel(std::size_t rows, std::size_t n, const T* x, std::size_t stride_x, T* y, std::size_t stride_y) {
  for (std::size_t r = first_row(); r < rows; r += row_step())
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) y[r * stride_y + j] = x[r * stride_x + j];
}

template <class T>
__global__ void expand_rows_kernel(std::size_t rows, std::size_t n, const T* x, T* y) {
  for (std::size_t r = first_row(); r < rows; r += row_step())
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) y[r * n + j] = x[r];
}

template <class Team, class T>
__global__ void row_sum_kernel(std::size_t rows, std::size_t n, const T* x, T* y) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    A total{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) total += static_cast<A>(x[r * n + j]);
    total = Team::sum(total);
    if (threadIdx.x == 0) y[r] = static_cast<T>(total);
  }
}

/// A block transposes 32 x 32 tiles in shared memory, so that it reads and writes along rows. The grid: tiles of all matrices.
template <class T>
__global__ void transpose_kernel(std::size_t batch, std::size_t rows, std::size_t columns, const T* x, T* y) {
  constexpr unsigned size = 32;
  __shared__ T tile[size][size + 1];
  const std::size_t down = (rows + size - 1) / size, across = (columns + size - 1) / size;
  for (std::size_t t = blockIdx.x; t < batch * down * across; t += gridDim.x) {
    const std::size_t matrix = t / (down * across) * rows * columns, i0 = t / across % down * size, j0 = t % across * size;
    __syncthreads();  // all threads have read the previous tile
    for (std::size_t i = threadIdx.y; i < size && i0 + i < rows; i += blockDim.y)
      if (j0 + threadIdx.x < columns) tile[i][threadIdx.x] = x[matrix + (i0 + i) * columns + j0 + threadIdx.x];
    __syncthreads();
    for (std::size_t j = threadIdx.y; j < size && j0 + j < columns; j += blockDim.y)
      if (i0 + threadIdx.x < rows) y[matrix + (j0 + j) * rows + i0 + threadIdx.x] = tile[threadIdx.x][j];
  }
}

/// One warp per row.
template <class T>
__global__ void row_extreme_kernel(std::size_t rows, std::size_t n, bool largest, const T* x, T* y, std::int32_t* index) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T* const in = x + r * n;
    std::size_t place = threadIdx.x < n ? threadIdx.x : 0;  // lanes beyond a short row use its first element
    A best = static_cast<A>(in[place]);
    for (std::size_t j = place + Warp::threads; j < n; j += Warp::threads)
      if (scalar::precedes(largest, static_cast<A>(in[j]), best)) best = static_cast<A>(in[place = j]);
    for (int bits = 16; bits > 0; bits /= 2) {
      const A other = __shfl_xor_sync(all_lanes, best, bits);
      const std::size_t there = __shfl_xor_sync(all_lanes, place, bits);
      if (scalar::precedes(largest, other, best) || (!scalar::precedes(largest, best, other) && there < place)) {
        best = other;
        place = there;
      }
    }
    if (threadIdx.x == 0) {
      y[r] = in[place];
      index[r] = static_cast<std::int32_t>(place);
    }
  }
}

template <class T>
__global__ void row_extreme_grad_kernel(std::size_t rows, std::size_t n, const std::int32_t* index, const T* dy, T* dx) {
  for (std::size_t r = first_row(); r < rows; r += row_step())
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) dx[r * n + j] = j == static_cast<std::size_t>(index[r]) ? dy[r] : T{0};
}

template <class Team, class T>
__global__ void log_sum_exp_kernel(std::size_t rows, std::size_t n, const T* x, accumulate_t<T>* y) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T* const in = x + r * n;
    const A top = row_max<Team>(n, in), base = scalar::finite(top) ? top : A{0};
    A total{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) total += scalar::Exp()(static_cast<A>(in[j]) - base);
    total = Team::sum(total);
    if (threadIdx.x == 0) y[r] = base + std::log(total);
  }
}

template <class T>
__global__ void log_sum_exp_grad_kernel(std::size_t rows, std::size_t n, const T* dy, const T* x, const accumulate_t<T>* y, T* dx) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const A base = y[r] == -std::numeric_limits<A>::infinity() ? A{0} : y[r], g = dy[r];
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x)
      dx[r * n + j] = static_cast<T>(g * scalar::Exp()(static_cast<A>(x[r * n + j]) - base));
  }
}

template <class Team, class T>
__global__ void l2_normalize_kernel(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* x, T* y, accumulate_t<T>* norm) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    A squares{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) squares += static_cast<A>(x[r * n + j]) * static_cast<A>(x[r * n + j]);
    const A length = std::sqrt(Team::sum(squares)), divisor = length < eps ? eps : length;
    if (threadIdx.x == 0) norm[r] = length;
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) y[r * n + j] = static_cast<T>(static_cast<A>(x[r * n + j]) / divisor);
  }
}

template <class Team, class T>
__global__ void l2_normalize_grad_kernel(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* y,
                                         const accumulate_t<T>* norm, T* dx) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T *g = dy + r * n, *unit = y + r * n;
    A dot{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) dot += static_cast<A>(unit[j]) * static_cast<A>(g[j]);
    dot = Team::sum(dot);
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads)
      dx[r * n + j] = static_cast<T>(norm[r] < eps ? g[j] / eps : (g[j] - unit[j] * dot) / norm[r]);
  }
}

template <class Team, class T>
__global__ void standardize_kernel(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* x, T* y, accumulate_t<T>* deviation) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T* from = x + r * n;
    A sum{}, squares{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) sum += static_cast<A>(from[j]);
    const A mean = Team::sum(sum) / static_cast<A>(n);
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) squares += (from[j] - mean) * (from[j] - mean);
    const A s = std::sqrt(Team::sum(squares) / static_cast<A>(n - 1)), factor = A{1} / (s + eps);
    if (threadIdx.x == 0) deviation[r] = s;
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) y[r * n + j] = static_cast<T>((from[j] - mean) * factor);
  }
}

template <class Team, class T>
__global__ void standardize_grad_kernel(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* y,
                                        const accumulate_t<T>* deviation, T* dx) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T *g = dy + r * n, *h = y + r * n;
    A sum{}, dot{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      sum += static_cast<A>(g[j]);
      dot += static_cast<A>(g[j]) * static_cast<A>(h[j]);
    }
    const A mean = Team::sum(sum) / static_cast<A>(n), s = deviation[r], factor = A{1} / (s + eps);
    dot = Team::sum(dot);
    const A slope = s > 0 ? dot / (static_cast<A>(n - 1) * s) : A{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) dx[r * n + j] = static_cast<T>((g[j] - mean) * factor - h[j] * slope);
  }
}

template <class Team, class T, class To>
__global__ void softmax_kernel(std::size_t rows, std::size_t n, bool log, const T* x, To* y) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T* in = x + r * n;
    To* out = y + r * n;
    const A top = row_max<Team>(n, in);
    A total{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) total += scalar::exp(in[j] - top);
    total = Team::sum(total);
    // log_total is subtracted after top, not added to it: a large top would absorb it.
    const A log_total = std::log(total), factor = A{1} / total;
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads)
      out[j] = static_cast<To>(log ? in[j] - top - log_total : scalar::exp(in[j] - top) * factor);
  }
}

template <class Team, class T>
__global__ void softmax_grad_kernel(std::size_t rows, std::size_t n, bool log, const T* dy, const T* y, T* dx) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T *g = dy + r * n, *p = y + r * n;
    A sum{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) sum += static_cast<A>(g[j]) * (log ? A{1} : static_cast<A>(p[j]));
    sum = Team::sum(sum);
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads)
      dx[r * n + j] = static_cast<T>(log ? g[j] - scalar::exp(A{p[j]}) * sum : p[j] * (g[j] - sum));
  }
}

template <class A, class T>
struct Strided {
  const T* x;
  std::size_t stride;
  __device__ A operator()(std::size_t i, std::size_t j) const { return static_cast<A>(x[i * stride + j]); }
};

}  // namespace
}  // namespace cuda

template <>
template <class T, class To>
void RowKernels<Cuda>::column_sum(std::size_t rows, std::size_t columns, const T* x, std::size_t stride, To* out) {
  using A = accumulate_t<T>;
  cuda::sum_columns<A>(rows, columns, cuda::Strided<A, T>{x, stride}, out);
}

template <>
template <class T>
void RowKernels<Cuda>::fill_rows(std::size_t rows, std::size_t n, const T* x, T* y) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(fill_rows_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, x, y);
}
template <>
template <class T>
void RowKernels<Cuda>::copy_columns(std::size_t rows, std::size_t n, const T* x, std::size_t stride_x, T* y, std::size_t stride_y) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(copy_columns_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, x, stride_x, y, stride_y);
}
template <>
template <class T>
void RowKernels<Cuda>::expand_rows(std::size_t rows, std::size_t n, const T* x, T* y) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(expand_rows_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, x, y);
}

template <>
template <class T>
void RowKernels<Cuda>::row_sum(std::size_t rows, std::size_t n, const T* x, T* y) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(row_sum_kernel, T, rows, n, rows, n, x, y);
}
template <>
template <class T>
void RowKernels<Cuda>::transpose(std::size_t batch, std::size_t rows, std::size_t columns, const T* x, T* y) {
  using namespace cuda;
  const std::size_t tiles = batch * ((rows + 31) / 32) * ((columns + 31) / 32);
  launch(LEXFORMER_KERNEL(transpose_kernel<T>), dim3(blocks_for(tiles, 1)), dim3(32, 8), 0, batch, rows, columns, x, y);
}
template <>
template <class T>
void RowKernels<Cuda>::row_extreme(std::size_t rows, std::size_t n, bool largest, const T* x, T* y, std::int32_t* index) {
  using namespace cuda;
  launch(LEXFORMER_KERNEL(row_extreme_kernel<T>), dim3(blocks_for(rows, Warp::rows)), dim3(Warp::threads, Warp::rows), 0, rows, n, largest,
         x, y, index);
}
template <>
template <class T>
void RowKernels<Cuda>::row_extreme_grad(std::size_t rows, std::size_t n, const std::int32_t* index, const T* dy, T* dx) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(row_extreme_grad_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, index, dy, dx);
}
template <>
template <class T>
void RowKernels<Cuda>::log_sum_exp(std::size_t rows, std::size_t n, const T* x, accumulate_t<T>* y) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(log_sum_exp_kernel, T, rows, n, rows, n, x, y);
}
template <>
template <class T>
void RowKernels<Cuda>::log_sum_exp_grad(std::size_t rows, std::size_t n, const T* dy, const T* x, const accumulate_t<T>* y, T* dx) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(log_sum_exp_grad_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, dy, x, y, dx);
}
template <>
template <class T>
void RowKernels<Cuda>::l2_normalize(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* x, T* y, accumulate_t<T>* norm) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(l2_normalize_kernel, T, rows, n, rows, n, eps, x, y, norm);
}
template <>
template <class T>
void RowKernels<Cuda>::l2_normalize_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* y,
                                         const accumulate_t<T>* norm, T* dx) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(l2_normalize_grad_kernel, T, rows, n, rows, n, eps, dy, y, norm, dx);
}
template <>
template <class T>
void RowKernels<Cuda>::standardize(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* x, T* y, accumulate_t<T>* deviation) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(standardize_kernel, T, rows, n, rows, n, eps, x, y, deviation);
}
template <>
template <class T>
void RowKernels<Cuda>::standardize_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* y,
                                        const accumulate_t<T>* deviation, T* dx) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(standardize_grad_kernel, T, rows, n, rows, n, eps, dy, y, deviation, dx);
}
template <>
template <class T, class To>
void RowKernels<Cuda>::softmax(std::size_t rows, std::size_t n, bool log, const T* x, To* y) {
  using namespace cuda;
  launch_teams(rows, n, LEXFORMER_KERNEL(softmax_kernel<Warp, T, To>), LEXFORMER_KERNEL(softmax_kernel<Block, T, To>), rows, n, log, x, y);
}
template <>
template <class T>
void RowKernels<Cuda>::softmax_grad(std::size_t rows, std::size_t n, bool log, const T* dy, const T* y, T* dx) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(softmax_grad_kernel, T, rows, n, rows, n, log, dy, y, dx);
}

LEXFORMER_ROW_INSTANCES(, Cuda, float)
LEXFORMER_ROW_INSTANCES(, Cuda, double)
LEXFORMER_ROW_INSTANCES(, Cuda, bfloat16)
LEXFORMER_COLUMN_SUM_INSTANCES(, Cuda)
LEXFORMER_SOFTMAX_INSTANCES(, Cuda)

}  // namespace lexformer
