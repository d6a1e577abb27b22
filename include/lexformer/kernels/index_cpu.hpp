// SPDX-License-Identifier: MIT
// Kernels of rows and columns by number, of means, maxima and windows of sequences, and of positions, on the CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "lexformer/kernels/rows_cpu.hpp"

namespace lexformer {

template <>
template <class T>
void IndexKernels<Cpu>::gather_sum(std::size_t count, std::size_t n, const std::type_identity_t<T>* base,
                                   const std::vector<RowLookup<T>>& lookups, T* y) {
  const std::size_t first_added = base == nullptr ? 1 : 0;  // the lookup before it begins the sum
  parallel_for(count, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    row::Wide<T> wide;
    for (std::size_t i = begin; i < end; ++i) {
      const auto row_of = [&](const RowLookup<T>& lookup) { return lookup.table + static_cast<std::size_t>(lookup.ids[i]) * n; };
      const T* const first = base == nullptr ? row_of(lookups[0]) : base + i * n;
      if (lookups.size() == first_added) {
        std::copy_n(first, n, y + i * n);
        continue;
      }
      auto* const sum = wide.read(n, first, y + i * n);
      for (std::size_t k = first_added; k < lookups.size(); ++k) {
        const T* const row = row_of(lookups[k]);
        for (std::size_t j = 0; j < n; ++j) sum[j] += row[j];
      }
      wide.write(y + i * n);
    }
  });
}

template <>
template <class T>
void IndexKernels<Cpu>::gather_sum_grad(std::size_t count, std::size_t n, const T* dy, const std::vector<RowLookupGrad<T>>& lookups) {
  using A = accumulate_t<T>;
  const auto sum = [&](std::size_t rows, const std::int32_t* ids, A* table) {
    parallel_for(n, 64, [=](std::size_t begin, std::size_t end) {
      for (std::size_t r = 0; r < rows; ++r) std::fill(table + r * n + begin, table + r * n + end, A{0});
      for (std::size_t i = 0; i < count; ++i) {
        A* const row = table + static_cast<std::size_t>(ids[i]) * n;
        for (std::size_t j = begin; j < end; ++j) row[j] += dy[i * n + j];
      }
    });
  };
  for (const RowLookupGrad<T>& lookup : lookups) {
    if constexpr (std::is_same_v<T, A>) {
      sum(lookup.rows, lookup.ids, lookup.gradient);
    } else {
      Tensor<A, Cpu> sums({lookup.rows, n});
      sum(lookup.rows, lookup.ids, sums.mutable_data());
      ElementwiseKernels<Cpu>::cast(sums.size(), sums.data(), lookup.gradient);
    }
  }
}

template <>
template <class T>
void IndexKernels<Cpu>::place_rows(std::size_t count, std::size_t n, const T* x, const std::int32_t* ids, T* y) {
  parallel_for(count, detail::row_block(n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      T* const to = y + static_cast<std::size_t>(ids[i]) * n;
      if (x == nullptr)
        std::fill_n(to, n, T{0});
      else
        std::copy_n(x + i * n, n, to);
    }
  });
}

template <>
template <class T>
void IndexKernels<Cpu>::gather_columns(std::size_t rows, std::size_t n, std::size_t count, const T* x, const std::int32_t* columns, T* y) {
  for (std::size_t h = 0; h < rows; ++h)
    for (std::size_t c = 0; c < count; ++c) y[h * count + c] = x[h * n + static_cast<std::size_t>(columns[c])];
}

template <>
template <class T>
void IndexKernels<Cpu>::scatter_add_columns(std::size_t rows, std::size_t n, std::size_t count, const T* x, const std::int32_t* columns,
                                            accumulate_t<T>* y) {
  for (std::size_t h = 0; h < rows; ++h)
    for (std::size_t c = 0; c < count; ++c) y[h * n + static_cast<std::size_t>(columns[c])] += x[h * count + c];
}

template <>
template <class T>
void IndexKernels<Cpu>::sequence_mean(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* x, T* y) {
  using A = accumulate_t<T>;
  std::vector<A> sum(n);
  for (std::size_t s = 0; s < sequences; ++s) {
    const std::size_t length = begin[s + 1] - begin[s];
    RowKernels<Cpu>::column_sum(length, n, x + begin[s] * n, n, sum.data());
    for (std::size_t j = 0; j < n; ++j) y[s * n + j] = static_cast<T>(sum[j] * (A{1} / static_cast<A>(length)));
  }
}

template <>
template <class T>
void IndexKernels<Cpu>::sequence_mean_grad(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* dy, T* dx) {
  for (std::size_t s = 0; s < sequences; ++s) {
    const std::size_t length = begin[s + 1] - begin[s];
    T* first = dx + begin[s] * n;
    ElementwiseKernels<Cpu>::affine(n, accumulate_t<T>{1} / static_cast<accumulate_t<T>>(length), dy + s * n, 0, first);
    RowKernels<Cpu>::fill_rows(length - 1, n, first, first + n);
  }
}

template <>
template <class T>
void IndexKernels<Cpu>::sequence_max(std::size_t sequences, std::size_t n, const std::size_t* begin, const T* x, T* y,
                                     std::int32_t* index) {
  using A = accumulate_t<T>;
  parallel_for(sequences, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t s = first; s < last; ++s) {
      T* const best = y + s * n;
      std::copy_n(x + begin[s] * n, n, best);
      std::fill_n(index + s * n, n, 0);
      for (std::size_t i = begin[s] + 1; i < begin[s + 1]; ++i)
        for (std::size_t j = 0; j < n; ++j)
          if (scalar::precedes(true, static_cast<A>(x[i * n + j]), static_cast<A>(best[j]))) {
            best[j] = x[i * n + j];
            index[s * n + j] = static_cast<std::int32_t>(i - begin[s]);
          }
    }
  });
}

template <>
template <class T>
void IndexKernels<Cpu>::sequence_max_grad(std::size_t sequences, std::size_t n, const std::size_t* begin, const std::int32_t* index,
                                          const T* dy, T* dx) {
  parallel_for(sequences, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t s = first; s < last; ++s) {
      std::fill(dx + begin[s] * n, dx + begin[s + 1] * n, T{0});
      for (std::size_t j = 0; j < n; ++j) dx[(begin[s] + static_cast<std::size_t>(index[s * n + j])) * n + j] = dy[s * n + j];
    }
  });
}

template <>
template <class T>
void IndexKernels<Cpu>::window(std::size_t sequences, std::size_t n, std::size_t before, std::size_t after, const std::size_t* begin,
                               const T* x, T* y) {
  const std::size_t width = before + 1 + after;
  parallel_for(sequences, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t s = first; s < last; ++s)
      for (std::size_t i = begin[s]; i < begin[s + 1]; ++i)
        for (std::size_t w = 0; w < width; ++w) {
          const bool inside = i + w >= begin[s] + before && i + w < begin[s + 1] + before;
          T* const to = y + (i * width + w) * n;
          if (inside)
            std::copy_n(x + (i + w - before) * n, n, to);
          else
            std::fill_n(to, n, T{0});
        }
  });
}

template <>
template <class T>
void IndexKernels<Cpu>::window_grad(std::size_t sequences, std::size_t n, std::size_t before, std::size_t after, const std::size_t* begin,
                                    const T* dy, T* dx) {
  using A = accumulate_t<T>;
  const std::size_t width = before + 1 + after;
  parallel_for(sequences, 1, [&](std::size_t first, std::size_t last) {
    std::vector<A> sum(n);
    for (std::size_t s = first; s < last; ++s)
      for (std::size_t i = begin[s]; i < begin[s + 1]; ++i) {
        std::fill(sum.begin(), sum.end(), A{0});
        for (std::size_t w = 0; w < width; ++w) {  // part w of the window of row i + before - w
          if (i + before < begin[s] + w || i + before >= begin[s + 1] + w) continue;
          const T* const from = dy + ((i + before - w) * width + w) * n;
          for (std::size_t j = 0; j < n; ++j) sum[j] += static_cast<A>(from[j]);
        }
        for (std::size_t j = 0; j < n; ++j) dx[i * n + j] = static_cast<T>(sum[j]);
      }
  });
}

template <>
template <class T>
void IndexKernels<Cpu>::rotary(std::size_t rows, std::size_t heads, std::size_t d, const accumulate_t<T>* turn,
                               const std::int32_t* positions, accumulate_t<T> direction, const T* x, T* y) {
  using A = accumulate_t<T>;
  const std::size_t width = heads * d;
  parallel_for(rows, 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const T* from = x + i * 3 * width;
      const A* angles = turn + static_cast<std::size_t>(positions[i]) * d;
      T* to = y + i * 3 * width;
      for (std::size_t head = 0; head < 2 * heads; ++head, from += d, to += d)  // heads of q, then of k
        for (std::size_t e = 0; e < d; e += 2) {
          const A c = angles[e], s = direction * angles[e + 1];
          to[e] = static_cast<T>(from[e] * c - from[e + 1] * s);
          to[e + 1] = static_cast<T>(from[e + 1] * c + from[e] * s);
        }
      std::copy_n(from, width, to);
    }
  });
}

template <>
template <class T>
void IndexKernels<Cpu>::distance_bias(std::size_t heads, std::size_t n, const double* slopes, T* y) {
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) *y++ = static_cast<T>(-slopes[h] * static_cast<double>(i > j ? i - j : j - i));
}

}  // namespace lexformer
