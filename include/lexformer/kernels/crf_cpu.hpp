// SPDX-License-Identifier: MIT
// The linear-chain conditional random field, on the CPU (formulas: ops/crf.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lexformer/kernels/elementwise_cpu.hpp"

namespace lexformer {

namespace detail {

/// log sum_k exp(x(k)), k < n; -infinity if all are.
template <class A, class X>
A log_sum_of(std::size_t n, X&& x) {
  A top = x(0);
  for (std::size_t k = 1; k < n; ++k) top = x(k) > top ? x(k) : top;
  if (top == -std::numeric_limits<A>::infinity()) return top;
  A sum{0};
  for (std::size_t k = 0; k < n; ++k) sum += std::exp(x(k) - top);
  return top + std::log(sum);
}

/// The number of sequences for one thread.
template <class A>
std::size_t crf_block(const CrfArgs<A>& c) {
  return row_block(c.tokens / c.sequences * c.labels * c.labels);
}

}  // namespace detail

template <>
template <class A>
void CrfKernels<Cpu>::crf_forward(const CrfArgs<A>& c, const std::int32_t* labels, A* alpha, A* log_z, A* loss) {
  const std::size_t n = c.labels;
  std::vector<A> scores(c.sequences);
  parallel_for(c.sequences, detail::crf_block(c), [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      const std::size_t first = c.token_begin[s], last = c.token_begin[s + 1] - 1;
      for (std::size_t t = first; t <= last; ++t)
        for (std::size_t j = 0; j < n; ++j) {
          const auto through = [&](std::size_t i) { return alpha[(t - 1) * n + i] + c.transitions[i * n + j]; };
          const A paths = t == first ? c.start[j] : detail::log_sum_of<A>(n, through);
          alpha[t * n + j] = c.emissions[t * n + j] + paths;
        }
      log_z[s] = detail::log_sum_of<A>(n, [&](std::size_t j) { return alpha[last * n + j] + c.end[j]; });
      const auto label = [&](std::size_t t) { return static_cast<std::size_t>(labels[t]); };
      A score = c.start[label(first)] + c.end[label(last)];
      for (std::size_t t = first; t <= last; ++t) {
        score += c.emissions[t * n + label(t)];
        if (t > first) score += c.transitions[label(t - 1) * n + label(t)];
      }
      scores[s] = score;
    }
  });
  A total{0};
  for (std::size_t s = 0; s < c.sequences; ++s) total += log_z[s] - scores[s];
  *loss = total / static_cast<A>(c.sequences);
}

template <>
template <class A>
void CrfKernels<Cpu>::crf_grad(const CrfArgs<A>& c, const std::int32_t* labels, const A* alpha, const A* log_z, const A* dy, A* beta,
                               const CrfGrads<A>& d) {
  const std::size_t n = c.labels;
  const A factor = *dy / static_cast<A>(c.sequences);
  parallel_for(c.sequences, detail::crf_block(c), [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      const std::size_t first = c.token_begin[s], last = c.token_begin[s + 1] - 1;
      for (std::size_t t = last + 1; t-- > first;)
        for (std::size_t i = 0; i < n; ++i) {
          const auto through = [&](std::size_t j) {
            return c.transitions[i * n + j] + c.emissions[(t + 1) * n + j] + beta[(t + 1) * n + j];
          };
          beta[t * n + i] = t == last ? c.end[i] : detail::log_sum_of<A>(n, through);
          const A marginal = std::exp(alpha[t * n + i] + beta[t * n + i] - log_z[s]);
          const A observed = static_cast<std::size_t>(labels[t]) == i ? A{1} : A{0};
          d.emissions[t * n + i] = factor * (marginal - observed);
        }
    }
  });
  // Each thread sums over all tokens for its labels, so that the order of a sum does not depend on the number of threads.
  parallel_for(n, detail::row_block(c.tokens * n), [&](std::size_t begin, std::size_t end) {
    std::vector<A> sums(n);
    for (std::size_t i = begin; i < end; ++i) {
      std::fill(sums.begin(), sums.end(), A{0});
      A at_start{0}, at_end{0};
      for (std::size_t s = 0; s < c.sequences; ++s) {
        const std::size_t first = c.token_begin[s], last = c.token_begin[s + 1] - 1;
        at_start += d.emissions[first * n + i];
        at_end += d.emissions[last * n + i];
        for (std::size_t t = first + 1; t <= last; ++t) {
          const A from = alpha[(t - 1) * n + i] - log_z[s];
          for (std::size_t j = 0; j < n; ++j)
            sums[j] += std::exp(from + c.transitions[i * n + j] + c.emissions[t * n + j] + beta[t * n + j]);
          if (static_cast<std::size_t>(labels[t - 1]) == i) sums[static_cast<std::size_t>(labels[t])] -= A{1};
        }
      }
      for (std::size_t j = 0; j < n; ++j) d.transitions[i * n + j] = factor * sums[j];
      d.start[i] = at_start;
      d.end[i] = at_end;
    }
  });
}

template <>
template <class A>
void CrfKernels<Cpu>::crf_decode(const CrfArgs<A>& c, std::int32_t* best) {
  const std::size_t n = c.labels;
  parallel_for(c.sequences, detail::crf_block(c), [&](std::size_t begin, std::size_t end) {
    std::vector<A> score(n), next(n);
    std::vector<std::int32_t> from;
    for (std::size_t s = begin; s < end; ++s) {
      const std::size_t first = c.token_begin[s], length = c.token_begin[s + 1] - first;
      from.assign(length * n, 0);
      for (std::size_t j = 0; j < n; ++j) score[j] = c.start[j] + c.emissions[first * n + j];
      for (std::size_t t = 1; t < length; ++t) {
        for (std::size_t j = 0; j < n; ++j) {
          std::size_t top = 0;
          for (std::size_t i = 1; i < n; ++i)
            if (score[i] + c.transitions[i * n + j] > score[top] + c.transitions[top * n + j]) top = i;
          from[t * n + j] = static_cast<std::int32_t>(top);
          next[j] = score[top] + c.transitions[top * n + j] + c.emissions[(first + t) * n + j];
        }
        score.swap(next);
      }
      std::size_t label = 0;
      for (std::size_t j = 1; j < n; ++j)
        if (score[j] + c.end[j] > score[label] + c.end[label]) label = j;
      for (std::size_t t = length; t-- > 0;) {
        best[first + t] = static_cast<std::int32_t>(label);
        label = static_cast<std::size_t>(from[t * n + label]);
      }
    }
  });
}

}  // namespace lexformer
