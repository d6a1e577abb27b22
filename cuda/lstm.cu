// SPDX-License-Identifier: MIT
// The elementwise part of one LSTM step.
#include "device.cuh"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"

namespace lexformer {
namespace cuda {
namespace {

template <class T>
__global__ void lstm_step_kernel(std::size_t rows, std::size_t n, const accumulate_t<T>* before, accumulate_t<T>* gates, accumulate_t<T>* c,
                                 T* h) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    A* const row = gates + r * 4 * n;
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) {
      const A i = scalar::sigmoid(row[j]), f = scalar::sigmoid(row[n + j]), g = scalar::tanh(row[2 * n + j]),
              o = scalar::sigmoid(row[3 * n + j]);
      const A cell = f * before[r * n + j] + i * g;
      row[j] = i;
      row[n + j] = f;
      row[2 * n + j] = g;
      row[3 * n + j] = o;
      c[r * n + j] = cell;
      h[r * n + j] = static_cast<T>(o * scalar::tanh(cell));
    }
  }
}

template <class T>
__global__ void lstm_step_grad_kernel(std::size_t rows, std::size_t n, const accumulate_t<T>* gates, const accumulate_t<T>* before,
                                      const accumulate_t<T>* c, const T* dy, const accumulate_t<T>* dh, accumulate_t<T>* dc, T* dgates) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const A* const row = gates + r * 4 * n;
    T* const out = dgates + r * 4 * n;
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) {
      const std::size_t e = r * n + j;
      const A i = row[j], f = row[n + j], g = row[2 * n + j], o = row[3 * n + j];
      const A squashed = scalar::tanh(c[e]), dstate = static_cast<A>(dy[e]) + dh[e];
      const A dcell = dc[e] + dstate * o * (A{1} - squashed * squashed);
      out[j] = static_cast<T>(dcell * g * i * (A{1} - i));
      out[n + j] = static_cast<T>(dcell * before[e] * f * (A{1} - f));
      out[2 * n + j] = static_cast<T>(dcell * i * (A{1} - g * g));
      out[3 * n + j] = static_cast<T>(dstate * squashed * o * (A{1} - o));
      dc[e] = dcell * f;
    }
  }
}

}  // namespace
}  // namespace cuda

template <>
template <class T>
void LstmKernels<Cuda>::lstm_step(std::size_t rows, std::size_t n, const accumulate_t<T>* before, accumulate_t<T>* gates,
                                  accumulate_t<T>* c, T* h) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(lstm_step_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, before, gates, c, h);
}

template <>
template <class T>
void LstmKernels<Cuda>::lstm_step_grad(std::size_t rows, std::size_t n, const accumulate_t<T>* gates, const accumulate_t<T>* before,
                                       const accumulate_t<T>* c, const T* dy, const accumulate_t<T>* dh, accumulate_t<T>* dc, T* dgates) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(lstm_step_grad_kernel<T>), by_rows.grid, by_rows.block, 0, rows, n, gates, before, c, dy, dh, dc, dgates);
}

LEXFORMER_LSTM_INSTANCES(, Cuda, float)
LEXFORMER_LSTM_INSTANCES(, Cuda, double)
LEXFORMER_LSTM_INSTANCES(, Cuda, bfloat16)

}  // namespace lexformer
