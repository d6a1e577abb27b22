// SPDX-License-Identifier: MIT
// The elementwise part of one LSTM step, on the CPU (formulas: ops/lstm.hpp).
#pragma once

#include <cstddef>

#include "lexformer/kernels/elementwise_cpu.hpp"

namespace lexformer {

template <>
template <class T>
void LstmKernels<Cpu>::lstm_step(std::size_t rows, std::size_t n, const accumulate_t<T>* before, accumulate_t<T>* gates, accumulate_t<T>* c,
                                 T* h) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(4 * n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      A *const i = gates + r * 4 * n, *const f = i + n, *const g = f + n, *const o = g + n, *const cell = c + r * n;
      for (std::size_t j = 0; j < 2 * n; ++j) i[j] = scalar::sigmoid(i[j]);  // i and f
      for (std::size_t j = 0; j < n; ++j) g[j] = scalar::tanh(g[j]);
      for (std::size_t j = 0; j < n; ++j) o[j] = scalar::sigmoid(o[j]);
      for (std::size_t j = 0; j < n; ++j) cell[j] = f[j] * before[r * n + j] + i[j] * g[j];
      for (std::size_t j = 0; j < n; ++j) h[r * n + j] = static_cast<T>(o[j] * scalar::tanh(cell[j]));
    }
  });
}

template <>
template <class T>
void LstmKernels<Cpu>::lstm_step_grad(std::size_t rows, std::size_t n, const accumulate_t<T>* gates, const accumulate_t<T>* before,
                                      const accumulate_t<T>* c, const T* dy, const accumulate_t<T>* dh, accumulate_t<T>* dc, T* dgates) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(4 * n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const A *const i = gates + r * 4 * n, *const f = i + n, *const g = f + n, *const o = g + n;
      T *const di = dgates + r * 4 * n, *const df = di + n, *const dg = df + n, *const d_o = dg + n;
      for (std::size_t j = 0; j < n; ++j) {
        const std::size_t e = r * n + j;
        const A squashed = scalar::tanh(c[e]), dstate = static_cast<A>(dy[e]) + dh[e];
        const A dcell = dc[e] + dstate * o[j] * (A{1} - squashed * squashed);
        di[j] = static_cast<T>(dcell * g[j] * i[j] * (A{1} - i[j]));
        df[j] = static_cast<T>(dcell * before[e] * f[j] * (A{1} - f[j]));
        dg[j] = static_cast<T>(dcell * i[j] * (A{1} - g[j] * g[j]));
        d_o[j] = static_cast<T>(dstate * squashed * o[j] * (A{1} - o[j]));
        dc[e] = dcell * f[j];
      }
    }
  });
}

}  // namespace lexformer
