// SPDX-License-Identifier: MIT
// Row and column kernels of matrices, on the CPU. Work is split into fixed blocks, so the order of sums is fixed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "lexformer/kernels/elementwise_cpu.hpp"

namespace lexformer {

template <>
template <class T, class To>
void RowKernels<Cpu>::column_sum(std::size_t rows, std::size_t columns, const T* x, std::size_t stride, To* out) {
  parallel_for(columns, 64, [&](std::size_t begin, std::size_t end) {
    accumulate_t<T> acc[64] = {};
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = begin; j < end; ++j) acc[j - begin] += x[i * stride + j];
    for (std::size_t j = begin; j < end; ++j) out[j] = static_cast<To>(acc[j - begin]);
  });
}

template <>
template <class T>
void RowKernels<Cpu>::fill_rows(std::size_t rows, std::size_t n, const T* x, T* y) {
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) std::copy_n(x, n, y + i * n);
  });
}

template <>
template <class T>
void RowKernels<Cpu>::copy_columns(std::size_t rows, std::size_t n, const T* x, std::size_t stride_x, T* y, std::size_t stride_y) {
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) std::copy_n(x + i * stride_x, n, y + i * stride_y);
  });
}

template <>
template <class T>
void RowKernels<Cpu>::expand_rows(std::size_t rows, std::size_t n, const T* x, T* y) {
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) std::fill_n(y + i * n, n, x[i]);
  });
}

template <>
template <class T>
void RowKernels<Cpu>::row_sum(std::size_t rows, std::size_t n, const T* x, T* y) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      y[i] = static_cast<T>(row::lane_sum<A>(n, [&](std::size_t j) { return static_cast<A>(x[i * n + j]); }));
  });
}

template <>
template <class T>
void RowKernels<Cpu>::transpose(std::size_t batch, std::size_t rows, std::size_t columns, const T* x, T* y) {
  constexpr std::size_t tile = 32;
  const std::size_t strips = (rows + tile - 1) / tile;
  parallel_for(batch * strips, detail::row_block(tile * columns), [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      const T* const from = x + s / strips * rows * columns;
      T* const to = y + s / strips * rows * columns;
      const std::size_t first = s % strips * tile, last = std::min(first + tile, rows);
      for (std::size_t j0 = 0; j0 < columns; j0 += tile)
        for (std::size_t i = first; i < last; ++i)
          for (std::size_t j = j0; j < std::min(j0 + tile, columns); ++j) to[j * rows + i] = from[i * columns + j];
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::row_extreme(std::size_t rows, std::size_t n, bool largest, const T* x, T* y, std::int32_t* index) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const T* const from = x + i * n;
      std::size_t best = 0;
      for (std::size_t j = 1; j < n; ++j)
        if (scalar::precedes(largest, static_cast<A>(from[j]), static_cast<A>(from[best]))) best = j;
      y[i] = from[best];
      index[i] = static_cast<std::int32_t>(best);
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::row_extreme_grad(std::size_t rows, std::size_t n, const std::int32_t* index, const T* dy, T* dx) {
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::fill_n(dx + i * n, n, T{0});
      dx[i * n + static_cast<std::size_t>(index[i])] = dy[i];
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::log_sum_exp(std::size_t rows, std::size_t n, const T* x, accumulate_t<T>* y) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const T* const from = x + i * n;
      const A top = row::max(from, n), base = scalar::finite(top) ? top : A{0};
      y[i] = base + std::log(row::lane_sum<A>(n, [&](std::size_t j) { return scalar::Exp()(static_cast<A>(from[j]) - base); }));
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::log_sum_exp_grad(std::size_t rows, std::size_t n, const T* dy, const T* x, const accumulate_t<T>* y, T* dx) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const A base = y[i] == -std::numeric_limits<A>::infinity() ? A{0} : y[i], g = dy[i];  // a row of -inf has gradient 0
      for (std::size_t j = 0; j < n; ++j) dx[i * n + j] = static_cast<T>(g * scalar::Exp()(static_cast<A>(x[i * n + j]) - base));
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::l2_normalize(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* x, T* y, accumulate_t<T>* norm) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const T* const from = x + i * n;
      norm[i] = std::sqrt(row::lane_sum<A>(n, [from](std::size_t j) { return static_cast<A>(from[j]) * static_cast<A>(from[j]); }));
      const A divisor = norm[i] < eps ? eps : norm[i];
      for (std::size_t j = 0; j < n; ++j) y[i * n + j] = static_cast<T>(static_cast<A>(from[j]) / divisor);
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::l2_normalize_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* y,
                                        const accumulate_t<T>* norm, T* dx) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const T *const g = dy + i * n, *const unit = y + i * n;
      const bool small = norm[i] < eps;
      const A dot = row::lane_sum<A>(n, [=](std::size_t j) { return static_cast<A>(unit[j]) * static_cast<A>(g[j]); });
      for (std::size_t j = 0; j < n; ++j) dx[i * n + j] = static_cast<T>(small ? g[j] / eps : (g[j] - unit[j] * dot) / norm[i]);
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::standardize(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* x, T* y, accumulate_t<T>* deviation) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const T* const from = x + i * n;
      const A mean = row::lane_sum<A>(n, [from](std::size_t j) { return static_cast<A>(from[j]); }) / static_cast<A>(n);
      const A squares = row::lane_sum<A>(n, [from, mean](std::size_t j) { return (from[j] - mean) * (from[j] - mean); });
      deviation[i] = std::sqrt(squares / static_cast<A>(n - 1));
      const A factor = A{1} / (deviation[i] + eps);
      for (std::size_t j = 0; j < n; ++j) y[i * n + j] = static_cast<T>((from[j] - mean) * factor);
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::standardize_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* y,
                                       const accumulate_t<T>* deviation, T* dx) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const T *const g = dy + i * n, *const h = y + i * n;
      const A mean = row::lane_sum<A>(n, [=](std::size_t j) { return static_cast<A>(g[j]); }) / static_cast<A>(n);
      const A dot = row::lane_sum<A>(n, [=](std::size_t j) { return static_cast<A>(g[j]) * static_cast<A>(h[j]); });
      const A factor = A{1} / (deviation[i] + eps), slope = deviation[i] > 0 ? dot / (static_cast<A>(n - 1) * deviation[i]) : A{0};
      for (std::size_t j = 0; j < n; ++j) dx[i * n + j] = static_cast<T>((g[j] - mean) * factor - h[j] * slope);
    }
  });
}

template <>
template <class T, class To>
void RowKernels<Cpu>::softmax(std::size_t rows, std::size_t n, bool log, const T* x, To* y) {
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    row::Wide<To> wide;
    for (std::size_t r = begin; r < end; ++r) {
      auto* const out = wide.read(n, x + r * n, y + r * n);
      if (log)
        row::log_softmax(n, out);
      else
        row::softmax(n, out);
      wide.write(y + r * n);
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::softmax_grad(std::size_t rows, std::size_t n, bool log, const T* dy, const T* y, T* dx) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    row::Wide<T> wide;
    for (std::size_t r = begin; r < end; ++r) {
      const T *g = dy + r * n, *p = y + r * n;
      A* const d = wide.place(n, dx + r * n);
      if (log) {
        const A sum = row::lane_sum<A>(n, [g](std::size_t j) { return static_cast<A>(g[j]); });
        for (std::size_t j = 0; j < n; ++j) d[j] = g[j] - scalar::exp(p[j]) * sum;
      } else {
        std::copy_n(g, n, d);
        row::softmax_grad(n, p, d);
      }
      wide.write(dx + r * n);
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::layer_norm(std::size_t rows, std::size_t n, accumulate_t<T> eps, const DropoutMask& mask,
                                 const DropoutMask& output_mask, const T* x, const T* residual, const T* gamma, const T* beta, T* xhat,
                                 accumulate_t<T>* rstd, T* y) {
  using A = accumulate_t<T>;
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    row::Wide<T> wide;
    for (std::size_t r = begin; r < end; ++r) {
      A* const h = wide.place(n, xhat + r * n);
      T* const out = y + r * n;
      if (mask.active()) {
        row::masked(mask, r * n, n, x + r * n, h);
        for (std::size_t j = 0; residual != nullptr && j < n; ++j) h[j] += residual[r * n + j];
      } else if (residual != nullptr) {
        for (std::size_t j = 0; j < n; ++j) h[j] = static_cast<A>(x[r * n + j]) + static_cast<A>(residual[r * n + j]);
      } else {
        std::copy_n(x + r * n, n, h);
      }
      const A mean = row::lane_sum<A>(n, [h](std::size_t j) { return static_cast<A>(h[j]); }) / static_cast<A>(n);
      const A variance = row::lane_sum<A>(n, [h, mean](std::size_t j) { return (h[j] - mean) * (h[j] - mean); }) / static_cast<A>(n);
      const A inverse = A{1} / std::sqrt(variance + eps);
      rstd[r] = inverse;
      for (std::size_t j = 0; j < n; ++j) h[j] = (h[j] - mean) * inverse;
      if (static_cast<const void*>(h) == out)  // a loop of its own, since the compiler does not vectorize one over arrays that overlap
        for (std::size_t j = 0; j < n; ++j) out[j] = static_cast<T>(out[j] * gamma[j] + beta[j]);
      else
        for (std::size_t j = 0; j < n; ++j) out[j] = static_cast<T>(h[j] * gamma[j] + beta[j]);
      if (output_mask.active()) row::masked(output_mask, r * n, n, out, out);
      if (xhat != y) wide.write(xhat + r * n);
    }
  });
}

template <>
template <class T>
void RowKernels<Cpu>::layer_norm_grad(std::size_t rows, std::size_t n, const DropoutMask& mask, const DropoutMask& output_mask, const T* dy,
                                      const T* gamma, const T* xhat, const accumulate_t<T>* rstd, T* dz, T* dx, T* dgamma, T* dbeta) {
  using A = accumulate_t<T>;
  Tensor<T, Cpu> kept;
  if (output_mask.active()) {
    kept = Tensor<T, Cpu>({rows, n});
    ElementwiseKernels<Cpu>::dropout(rows * n, output_mask, dy, kept.mutable_data());
    dy = kept.data();
  }
  parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const T *g = dy + r * n, *h = xhat + r * n;
      const A sum = row::lane_sum<A>(n, [&](std::size_t j) { return static_cast<A>(g[j]) * gamma[j]; }) / static_cast<A>(n);
      const A dot = row::lane_sum<A>(n, [&](std::size_t j) { return static_cast<A>(g[j]) * gamma[j] * h[j]; }) / static_cast<A>(n);
      for (std::size_t j = 0; j < n; ++j) dz[r * n + j] = static_cast<T>(rstd[r] * (g[j] * gamma[j] - sum - h[j] * dot));
      if (mask.active()) row::masked(mask, r * n, n, dz + r * n, dx + r * n);
    }
  });
  parallel_for(n, 64, [&](std::size_t begin, std::size_t end) {
    A dg[64] = {}, db[64] = {};
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = begin; j < end; ++j) {
        dg[j - begin] += dy[r * n + j] * xhat[r * n + j];
        db[j - begin] += dy[r * n + j];
      }
    for (std::size_t j = begin; j < end; ++j) {
      dgamma[j] = static_cast<T>(dg[j - begin]);
      dbeta[j] = static_cast<T>(db[j - begin]);
    }
  });
}

}  // namespace lexformer
