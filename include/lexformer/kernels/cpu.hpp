// SPDX-License-Identifier: MIT
// What the ops compute, on the CPU: pointers and sizes, no shapes. Work is cut in fixed blocks; a sum always has the same order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lexformer/core/device.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/gemm.hpp"
#include "lexformer/kernels/scalar.hpp"

namespace lexformer {

namespace detail {

inline constexpr std::size_t element_block = 16384;  // elements of one block of an elementwise loop

/// Rows of one block, so that a block is about element_block elements.
inline std::size_t row_block(std::size_t columns) { return std::max<std::size_t>(1, element_block / std::max<std::size_t>(1, columns)); }

/// f(0) + ... + f(n-1) in 16 lanes, so that it becomes vector code and has one order everywhere.
template <class A, class F>
A lane_sum(std::size_t n, F&& f) {
  constexpr std::size_t lanes = 16;
  A acc[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l) acc[l] += f(i + l);
  for (std::size_t l = 0; i < n; ++i, ++l) acc[l] += f(i);
  for (std::size_t half = lanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) acc[l] += acc[l + half];
  return acc[0];
}

/// max(x[0..n-1]), n > 0. A NaN may be passed over: softmax finds it in x - max.
template <class T>
T row_max(const T* x, std::size_t n) {
  constexpr std::size_t lanes = 16;
  if (n < lanes) {
    T best = x[0];
    for (std::size_t i = 1; i < n; ++i) best = best > x[i] ? best : x[i];
    return best;
  }
  T acc[lanes];
  for (std::size_t l = 0; l < lanes; ++l) acc[l] = x[l];
  std::size_t i = lanes;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l) acc[l] = acc[l] > x[i + l] ? acc[l] : x[i + l];
  for (std::size_t l = 0; i < n; ++i, ++l) acc[l] = acc[l] > x[i] ? acc[l] : x[i];
  for (std::size_t half = lanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) acc[l] = acc[l] > acc[l + half] ? acc[l] : acc[l + half];
  return acc[0];
}

}  // namespace detail

/// Dropout with probability p, decided by the counter generator: element e is kept when its 16 bits are >= round(p 2^16).
struct DropoutMask {
  float p = 0;
  RandomKey key{};

  bool active() const {
    if (!(p >= 0 && p < 1)) fail("dropout", "p must be in [0, 1), got ", p);
    return p > 0;
  }
  std::uint32_t threshold() const { return static_cast<std::uint32_t>(std::lround(p * 65536.0f)); }

  /// out[i] = 0 or 1 / (1 - p) for elements begin ... begin + count - 1.
  template <class T>
  void fill(std::uint64_t begin, std::size_t count, T* out) const {
    const std::uint32_t limit = threshold();
    const T keep = T{1} / (T{1} - static_cast<T>(limit) / T{65536});
    // Eight counters a round, 64 decisions, as plain arrays that become vector code.
    constexpr std::size_t width = 8, span = 8 * width;
    std::uint64_t c0[width], c1[width], c2[width], c3[width];
    T decided[span];
    const std::uint64_t end = begin + count;
    for (std::uint64_t base = begin / span * span; base < end; base += span) {
      for (std::size_t l = 0; l < width; ++l) {
        const std::uint64_t block = base / 8 + l;
        c0[l] = block & 0xFFFFFFFFu;
        c1[l] = block >> 32;
        c2[l] = key.step;
        c3[l] = key.site;
      }
      std::uint32_t k0 = static_cast<std::uint32_t>(key.seed), k1 = static_cast<std::uint32_t>(key.seed >> 32);
      for (int round = 0; round < 10; ++round) {
        for (std::size_t l = 0; l < width; ++l) {
          const std::uint64_t a = 0xD2511F53u * c0[l], b = 0xCD9E8D57u * c2[l];
          c0[l] = (b >> 32) ^ c1[l] ^ k0;
          c2[l] = (a >> 32) ^ c3[l] ^ k1;
          c1[l] = b & 0xFFFFFFFFu;
          c3[l] = a & 0xFFFFFFFFu;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
      }
      for (std::size_t l = 0; l < width; ++l) {
        const std::uint64_t words[4] = {c0[l], c1[l], c2[l], c3[l]};
        for (std::size_t w = 0; w < 4; ++w) {
          decided[8 * l + 2 * w] = static_cast<std::uint32_t>(words[w] & 0xFFFFu) >= limit ? keep : T{0};
          decided[8 * l + 2 * w + 1] = static_cast<std::uint32_t>(words[w] >> 16) >= limit ? keep : T{0};
        }
      }
      const std::uint64_t from = std::max(base, begin), to = std::min(base + span, end);
      for (std::uint64_t e = from; e < to; ++e) out[e - begin] = decided[e - base];
    }
  }
};

template <class Dev>
struct Kernels;

template <>
struct Kernels<Cpu> {
  /// y = F(x)
  template <class F, class T>
  static void map(std::size_t n, const T* x, T* y) {
    parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) y[i] = F{}(x[i]);
    });
  }
  /// y = F(a, b)
  template <class F, class T>
  static void map(std::size_t n, const T* a, const T* b, T* y) {
    parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) y[i] = F{}(a[i], b[i]);
    });
  }
  /// y = scale x + offset
  template <class T>
  static void affine(std::size_t n, T scale, const T* x, T offset, T* y) {
    parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) y[i] = scale * x[i] + offset;
    });
  }
  /// y += x
  template <class T>
  static void add_to(std::size_t n, const T* x, T* y) {
    parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) y[i] += x[i];
    });
  }
  /// y = x * mask
  template <class T>
  static void dropout(std::size_t n, const DropoutMask& mask, const T* x, T* y) {
    parallel_for(n, detail::element_block, [&](std::size_t begin, std::size_t end) {
      mask.fill(begin, end - begin, y + begin);
      for (std::size_t i = begin; i < end; ++i) y[i] *= x[i];
    });
  }

  template <class T>
  static bool all_finite(std::size_t n, const T* x) {
    return detail::lane_sum<T>(n, [x](std::size_t i) { return x[i] - x[i]; }) == T{0};  // x - x is NaN unless x is finite
  }
  /// Sum of all elements: blocks in order.
  template <class T>
  static accumulate_t<T> sum(std::size_t n, const T* x) {
    return reduce<accumulate_t<T>>(n, [x](std::size_t i) { return static_cast<accumulate_t<T>>(x[i]); });
  }
  /// Sum of squares in double.
  template <class T>
  static double sum_squares(std::size_t n, const T* x) {
    return reduce<double>(n, [x](std::size_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); });
  }

  /// out[j] = sum over rows of x[i, j] (row stride given); rows in order.
  template <class T>
  static void column_sum(std::size_t rows, std::size_t columns, const T* x, std::size_t stride, T* out) {
    parallel_for(columns, 64, [&](std::size_t begin, std::size_t end) {
      accumulate_t<T> acc[64] = {};
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = begin; j < end; ++j) acc[j - begin] += x[i * stride + j];
      for (std::size_t j = begin; j < end; ++j) out[j] = static_cast<T>(acc[j - begin]);
    });
  }

  /// Every row of y (row stride given) = x.
  template <class T>
  static void fill_rows(std::size_t rows, std::size_t n, const T* x, T* y, std::size_t stride) {
    parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) std::copy_n(x, n, y + i * stride);
    });
  }
  /// y[i, 0..n-1] = x[i, 0..n-1], each with its own row stride
  template <class T>
  static void copy_columns(std::size_t rows, std::size_t n, const T* x, std::size_t stride_x, T* y, std::size_t stride_y) {
    parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) std::copy_n(x + i * stride_x, n, y + i * stride_y);
    });
  }
  /// y[i, j] = x[i]
  template <class T>
  static void expand_rows(std::size_t rows, std::size_t n, const T* x, T* y) {
    parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) std::fill_n(y + i * n, n, x[i]);
    });
  }
  /// y[i] = sum of row i
  template <class T>
  static void row_sum(std::size_t rows, std::size_t n, const T* x, T* y) {
    using A = accumulate_t<T>;
    parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        y[i] = static_cast<T>(detail::lane_sum<A>(n, [&](std::size_t j) { return static_cast<A>(x[i * n + j]); }));
    });
  }

  /// Rows of y = softmax(x), or log-softmax.
  template <class T>
  static void softmax(std::size_t rows, std::size_t n, bool log, const T* x, T* y) {
    using A = accumulate_t<T>;
    parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        const T* in = x + r * n;
        T* out = y + r * n;
        const T top = detail::row_max(in, n);
        for (std::size_t j = 0; j < n; ++j) out[j] = scalar::exp(in[j] - top);
        const A total = detail::lane_sum<A>(n, [out](std::size_t j) { return static_cast<A>(out[j]); });
        if (log) {
          const A log_total = std::log(total);  // apart from top, whose size would swallow it
          for (std::size_t j = 0; j < n; ++j) out[j] = (in[j] - top) - log_total;
        } else {
          for (std::size_t j = 0; j < n; ++j) out[j] /= total;
        }
      }
    });
  }
  /// dx = y (dy - <y, dy>), or for log-softmax dx = dy - exp(y) sum(dy).
  template <class T>
  static void softmax_grad(std::size_t rows, std::size_t n, bool log, const T* dy, const T* y, T* dx) {
    using A = accumulate_t<T>;
    parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        const T *g = dy + r * n, *p = y + r * n;
        T* d = dx + r * n;
        const A dot = detail::lane_sum<A>(n, [&](std::size_t j) { return log ? static_cast<A>(g[j]) : static_cast<A>(g[j]) * p[j]; });
        for (std::size_t j = 0; j < n; ++j) d[j] = log ? g[j] - scalar::exp(p[j]) * dot : p[j] * (g[j] - dot);
      }
    });
  }

  /// z = residual + dropout(x) (residual and dropout may be absent);  xhat = (z - mean z) rstd;  y = xhat gamma + beta.
  template <class T>
  static void layer_norm(std::size_t rows, std::size_t n, T eps, const DropoutMask& mask, const T* x, const T* residual, const T* gamma,
                         const T* beta, T* xhat, T* rstd, T* y) {
    using A = accumulate_t<T>;
    parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        const T* in = x + r * n;
        T *h = xhat + r * n, *out = y + r * n;
        if (mask.active()) {
          mask.fill(r * n, n, h);
          for (std::size_t j = 0; j < n; ++j) h[j] *= in[j];
        } else {
          std::copy_n(in, n, h);
        }
        if (residual != nullptr)
          for (std::size_t j = 0; j < n; ++j) h[j] += residual[r * n + j];
        const A mean = detail::lane_sum<A>(n, [h](std::size_t j) { return static_cast<A>(h[j]); }) / static_cast<A>(n);
        const A variance = detail::lane_sum<A>(n, [h, mean](std::size_t j) { return (h[j] - mean) * (h[j] - mean); }) / static_cast<A>(n);
        const A inverse = A{1} / std::sqrt(variance + eps);
        rstd[r] = inverse;
        for (std::size_t j = 0; j < n; ++j) {
          h[j] = (h[j] - mean) * inverse;
          out[j] = h[j] * gamma[j] + beta[j];
        }
      }
    });
  }
  /// dz = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gamma;  dx = dz * mask;  dgamma = sum dy xhat;  dbeta = sum dy.
  /// Without dropout dx may be dz.
  template <class T>
  static void layer_norm_grad(std::size_t rows, std::size_t n, const DropoutMask& mask, const T* dy, const T* gamma, const T* xhat,
                              const T* rstd, T* dz, T* dx, T* dgamma, T* dbeta) {
    using A = accumulate_t<T>;
    parallel_for(rows, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        const T *g = dy + r * n, *h = xhat + r * n;
        const A sum = detail::lane_sum<A>(n, [&](std::size_t j) { return static_cast<A>(g[j]) * gamma[j]; }) / static_cast<A>(n);
        const A dot = detail::lane_sum<A>(n, [&](std::size_t j) { return static_cast<A>(g[j]) * gamma[j] * h[j]; }) / static_cast<A>(n);
        for (std::size_t j = 0; j < n; ++j) dz[r * n + j] = rstd[r] * (g[j] * gamma[j] - sum - h[j] * dot);
        if (mask.active()) {
          mask.fill(r * n, n, dx + r * n);
          for (std::size_t j = 0; j < n; ++j) dx[r * n + j] *= dz[r * n + j];
        }
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
        dgamma[j] = dg[j - begin];
        dbeta[j] = db[j - begin];
      }
    });
  }

  /// y[i] = table[ids[i]], rows of n elements.
  template <class T>
  static void gather(std::size_t count, std::size_t n, const T* table, const std::int32_t* ids, T* y) {
    parallel_for(count, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) std::copy_n(table + static_cast<std::size_t>(ids[i]) * n, n, y + i * n);
    });
  }
  /// table[ids[i]] += x[i], rows in order; parallel over columns.
  template <class T>
  static void scatter_add(std::size_t count, std::size_t n, const T* x, const std::int32_t* ids, T* table) {
    parallel_for(n, 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = 0; i < count; ++i) {
        T* row = table + static_cast<std::size_t>(ids[i]) * n;
        for (std::size_t j = begin; j < end; ++j) row[j] += x[i * n + j];
      }
    });
  }

 private:
  template <class A, class F>
  static A reduce(std::size_t n, F&& f) {
    constexpr std::size_t block = detail::element_block;
    const std::size_t blocks = (n + block - 1) / block;
    std::vector<A> partial(blocks);
    parallel_for(blocks, 1, [&](std::size_t b, std::size_t) {
      const std::size_t begin = b * block, count = std::min(block, n - begin);
      partial[b] = detail::lane_sum<A>(count, [&](std::size_t i) { return f(begin + i); });
    });
    A total{};
    for (const A& p : partial) total += p;
    return total;
  }
};

}  // namespace lexformer
