// SPDX-License-Identifier: MIT
// Rows and columns of a matrix. A row belongs to a warp or a block (device.cuh); each of its elements is read and written by one thread
// alone, so that a result may take the place of what it is made from.
#include <cmath>

#include "columns.cuh"
#include "instances.hpp"
#include "lexformer/kernels/cuda.hpp"

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

template <class Team, class T>
__global__ void softmax_kernel(std::size_t rows, std::size_t n, bool log, const T* x, T* y) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T* in = x + r * n;
    T* out = y + r * n;
    const A top = row_max<Team>(n, in);
    A total{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) total += scalar::exp(in[j] - top);
    total = Team::sum(total);
    // The logarithm is taken off after top, whose size would swallow it.
    const A log_total = std::log(total), factor = A{1} / total;
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads)
      out[j] = static_cast<T>(log ? in[j] - top - log_total : scalar::exp(in[j] - top) * factor);
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

template <class Team, class T>
__global__ void layer_norm_kernel(std::size_t rows, std::size_t n, accumulate_t<T> eps, Dropout<accumulate_t<T>> dropout, const T* x,
                                  const T* residual, const T* gamma, const T* beta, T* xhat, accumulate_t<T>* rstd, T* y) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    T* h = xhat + r * n;
    A sum{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      A z = x[r * n + j];
      if (dropout.active) z *= dropout(r * n + j);
      if (residual != nullptr) z += residual[r * n + j];
      h[j] = static_cast<T>(z);
      sum += static_cast<A>(h[j]);
    }
    const A mean = Team::sum(sum) / static_cast<A>(n);
    A squares{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) squares += (h[j] - mean) * (h[j] - mean);
    const A inverse = A{1} / std::sqrt(Team::sum(squares) / static_cast<A>(n) + eps);
    if (threadIdx.x == 0) rstd[r] = inverse;
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      const A normed = (h[j] - mean) * inverse;
      h[j] = static_cast<T>(normed);
      y[r * n + j] = static_cast<T>(normed * gamma[j] + beta[j]);
    }
  }
}

template <class Team, class T>
__global__ void layer_norm_grad_kernel(std::size_t rows, std::size_t n, Dropout<accumulate_t<T>> dropout, const T* dy, const T* gamma,
                                       const T* xhat, const accumulate_t<T>* rstd, T* dz, T* dx) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T *g = dy + r * n, *h = xhat + r * n;
    A sum{}, dot{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      const A scaled = static_cast<A>(g[j]) * gamma[j];
      sum += scaled;
      dot += scaled * h[j];
    }
    sum = Team::sum(sum) / static_cast<A>(n);
    dot = Team::sum(dot) / static_cast<A>(n);
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      const T d = static_cast<T>(rstd[r] * (g[j] * gamma[j] - sum - h[j] * dot));
      dz[r * n + j] = d;
      if (dropout.active) dx[r * n + j] = static_cast<T>(dropout(r * n + j) * d);
    }
  }
}

template <class A, class T>
struct Strided {
  const T* x;
  std::size_t stride;
  __device__ Tuple<A, 1> operator()(std::size_t i, std::size_t j) const { return {{static_cast<A>(x[i * stride + j])}}; }
};
/// dy xhat, of which dgamma is the sum, and dy, whose sum is dbeta.
template <class A, class T>
struct LayerNormTerms {
  const T *dy, *xhat;
  std::size_t n;
  __device__ Tuple<A, 2> operator()(std::size_t i, std::size_t j) const {
    const A g = static_cast<A>(dy[i * n + j]);
    return {{g * xhat[i * n + j], g}};
  }
};

}  // namespace
}  // namespace cuda

template <class T, class To>
void RowKernels<Cuda>::column_sum(std::size_t rows, std::size_t columns, const T* x, std::size_t stride, To* out) {
  using A = accumulate_t<T>;
  cuda::sum_columns<A>(rows, columns, cuda::Strided<A, T>{x, stride}, cuda::ColumnSums<To, 1>{{out}});
}

template <class T>
void RowKernels<Cuda>::fill_rows(std::size_t rows, std::size_t n, const T* x, T* y) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(fill_rows_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, x, y);
}
template <class T>
void RowKernels<Cuda>::copy_columns(std::size_t rows, std::size_t n, const T* x, std::size_t stride_x, T* y, std::size_t stride_y) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(copy_columns_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, x, stride_x, y, stride_y);
}
template <class T>
void RowKernels<Cuda>::expand_rows(std::size_t rows, std::size_t n, const T* x, T* y) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(expand_rows_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, x, y);
}

template <class T>
void RowKernels<Cuda>::row_sum(std::size_t rows, std::size_t n, const T* x, T* y) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(row_sum_kernel, T, rows, n, rows, n, x, y);
}
template <class T>
void RowKernels<Cuda>::softmax(std::size_t rows, std::size_t n, bool log, const T* x, T* y) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(softmax_kernel, T, rows, n, rows, n, log, x, y);
}
template <class T>
void RowKernels<Cuda>::softmax_grad(std::size_t rows, std::size_t n, bool log, const T* dy, const T* y, T* dx) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(softmax_grad_kernel, T, rows, n, rows, n, log, dy, y, dx);
}

template <class T>
void RowKernels<Cuda>::layer_norm(std::size_t rows, std::size_t n, accumulate_t<T> eps, const DropoutMask& mask, const T* x,
                                  const T* residual, const T* gamma, const T* beta, T* xhat, accumulate_t<T>* rstd, T* y) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(layer_norm_kernel, T, rows, n, rows, n, eps, Dropout<accumulate_t<T>>(mask), x, residual, gamma, beta, xhat, rstd,
                         y);
}
template <class T>
void RowKernels<Cuda>::layer_norm_grad(std::size_t rows, std::size_t n, const DropoutMask& mask, const T* dy, const T* gamma, const T* xhat,
                                       const accumulate_t<T>* rstd, T* dz, T* dx, T* dgamma, T* dbeta) {
  using namespace cuda;
  using A = accumulate_t<T>;
  sum_columns<A>(rows, n, LayerNormTerms<A, T>{dy, xhat, n}, ColumnSums<T, 2>{{dgamma, dbeta}});
  LEXFORMER_LAUNCH_TEAMS(layer_norm_grad_kernel, T, rows, n, rows, n, Dropout<accumulate_t<T>>(mask), dy, gamma, xhat, rstd, dz, dx);
}

LEXFORMER_ROW_INSTANCES(float)
LEXFORMER_ROW_INSTANCES(double)
LEXFORMER_ROW_INSTANCES(bfloat16)
LEXFORMER_COLUMN_SUM_INSTANCES

}  // namespace lexformer
