// SPDX-License-Identifier: MIT
// The linear-chain conditional random field (formulas: ops/crf.hpp). One block of one warp for each sequence: its threads share the labels
// of a token, tokens follow one another.
#include "device.cuh"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"
#include "reduce.cuh"

namespace lexformer {
namespace cuda {
namespace {

constexpr unsigned team = 32;

__device__ inline float log_of(float x) { return logf(x); }
__device__ inline double log_of(double x) { return log(x); }

/// log sum_k exp(x(k)), k < n; -infinity if all are.
template <class A, class X>
__device__ A log_sum_exp(std::size_t n, const X& x) {
  A top = x(0);
  for (std::size_t k = 1; k < n; ++k) top = x(k) > top ? x(k) : top;
  if (top == -std::numeric_limits<A>::infinity()) return top;
  A sum{0};
  for (std::size_t k = 0; k < n; ++k) sum += scalar::exp(x(k) - top);
  return top + log_of(sum);
}

/// alpha, log_z, and losses[s] = log_z - score of sequence s.
template <class A>
__global__ void crf_forward_kernel(CrfArgs<A> c, const std::int32_t* labels, A* alpha, A* log_z, A* losses) {
  const std::size_t s = blockIdx.x, n = c.labels, first = c.token_begin[s], last = c.token_begin[s + 1] - 1;
  for (std::size_t t = first; t <= last; ++t) {
    for (std::size_t j = threadIdx.x; j < n; j += team) {
      const auto through = [&](std::size_t i) { return alpha[(t - 1) * n + i] + c.transitions[i * n + j]; };
      const A paths = t == first ? c.start[j] : log_sum_exp<A>(n, through);
      alpha[t * n + j] = c.emissions[t * n + j] + paths;
    }
    __syncthreads();
  }
  if (threadIdx.x > 0) return;
  const A z = log_sum_exp<A>(n, [&](std::size_t j) { return alpha[last * n + j] + c.end[j]; });
  std::size_t label = static_cast<std::size_t>(labels[first]);
  A score = c.start[label] + c.emissions[first * n + label];
  for (std::size_t t = first + 1; t <= last; ++t) {
    const auto next = static_cast<std::size_t>(labels[t]);
    score += c.emissions[t * n + next] + c.transitions[label * n + next];
    label = next;
  }
  log_z[s] = z;
  losses[s] = z - (score + c.end[label]);
}

/// beta, and the gradients of the emissions.
template <class A>
__global__ void crf_backward_kernel(CrfArgs<A> c, const std::int32_t* labels, const A* alpha, const A* log_z, const A* dy, A* beta, A* dx) {
  const std::size_t s = blockIdx.x, n = c.labels, first = c.token_begin[s], last = c.token_begin[s + 1] - 1;
  const A factor = *dy / static_cast<A>(c.sequences), z = log_z[s];
  for (std::size_t t = last + 1; t-- > first;) {
    const A* const after = c.emissions + (t + 1) * n;
    for (std::size_t i = threadIdx.x; i < n; i += team) {
      const auto through = [&](std::size_t j) { return c.transitions[i * n + j] + after[j] + beta[(t + 1) * n + j]; };
      const A b = t == last ? c.end[i] : log_sum_exp<A>(n, through);
      beta[t * n + i] = b;
      const A observed = static_cast<std::size_t>(labels[t]) == i ? A{1} : A{0};
      dx[t * n + i] = factor * (scalar::exp(alpha[t * n + i] + b - z) - observed);
    }
    __syncthreads();
  }
}

/// The gradients of row i = blockIdx.x of the transitions, and of start and end of label i, summed over the tokens in order.
template <class A>
__global__ void crf_transitions_kernel(CrfArgs<A> c, const std::int32_t* labels, const A* alpha, const A* beta, const A* log_z, const A* dy,
                                       CrfGrads<A> d) {
  const std::size_t i = blockIdx.x, n = c.labels;
  const A factor = *dy / static_cast<A>(c.sequences);
  for (std::size_t j = threadIdx.x; j < n; j += team) {
    const A w = c.transitions[i * n + j];
    A sum{0};
    for (std::size_t s = 0; s < c.sequences; ++s)
      for (std::size_t t = c.token_begin[s] + 1; t < c.token_begin[s + 1]; ++t) {
        sum += scalar::exp(alpha[(t - 1) * n + i] - log_z[s] + w + c.emissions[t * n + j] + beta[t * n + j]);
        if (static_cast<std::size_t>(labels[t - 1]) == i && static_cast<std::size_t>(labels[t]) == j) sum -= A{1};
      }
    d.transitions[i * n + j] = factor * sum;
  }
  if (threadIdx.x > 0) return;
  A at_start{0}, at_end{0};
  for (std::size_t s = 0; s < c.sequences; ++s) {
    at_start += d.emissions[c.token_begin[s] * n + i];
    at_end += d.emissions[(c.token_begin[s + 1] - 1) * n + i];
  }
  d.start[i] = at_start;
  d.end[i] = at_end;
}

/// score (N, L): of the best path to each label of each token; from (N, L): the label before it.
template <class A>
__global__ void crf_decode_kernel(CrfArgs<A> c, A* score, std::int32_t* from, std::int32_t* best) {
  const std::size_t s = blockIdx.x, n = c.labels, first = c.token_begin[s], last = c.token_begin[s + 1] - 1;
  for (std::size_t t = first; t <= last; ++t) {
    const A* const before = score + (t > first ? t - 1 : t) * n;  // read after the first token only
    for (std::size_t j = threadIdx.x; j < n; j += team) {
      std::size_t top = 0;
      if (t > first)
        for (std::size_t i = 1; i < n; ++i)
          if (before[i] + c.transitions[i * n + j] > before[top] + c.transitions[top * n + j]) top = i;
      from[t * n + j] = static_cast<std::int32_t>(top);
      score[t * n + j] = (t == first ? c.start[j] : before[top] + c.transitions[top * n + j]) + c.emissions[t * n + j];
    }
    __syncthreads();
  }
  if (threadIdx.x > 0) return;
  std::size_t label = 0;
  for (std::size_t j = 1; j < n; ++j)
    if (score[last * n + j] + c.end[j] > score[last * n + label] + c.end[label]) label = j;
  for (std::size_t t = last + 1; t-- > first;) {
    best[t] = static_cast<std::int32_t>(label);
    label = static_cast<std::size_t>(from[t * n + label]);
  }
}

}  // namespace
}  // namespace cuda

template <>
template <class A>
void CrfKernels<Cuda>::crf_forward(const CrfArgs<A>& c, const std::int32_t* labels, A* alpha, A* log_z, A* loss) {
  using namespace cuda;
  const Temporary<A> losses(c.sequences);
  launch(LEXFORMER_KERNEL(crf_forward_kernel<A>), dim3(static_cast<unsigned>(c.sequences)), dim3(team), 0, c, labels, alpha, log_z,
         losses.data());
  sum_values<A>(c.sequences, Plain<A, A>{losses.data()}, static_cast<A>(c.sequences), loss);
}

template <>
template <class A>
void CrfKernels<Cuda>::crf_grad(const CrfArgs<A>& c, const std::int32_t* labels, const A* alpha, const A* log_z, const A* dy, A* beta,
                                const CrfGrads<A>& d) {
  using namespace cuda;
  launch(LEXFORMER_KERNEL(crf_backward_kernel<A>), dim3(static_cast<unsigned>(c.sequences)), dim3(team), 0, c, labels, alpha, log_z, dy,
         beta, d.emissions);
  launch(LEXFORMER_KERNEL(crf_transitions_kernel<A>), dim3(static_cast<unsigned>(c.labels)), dim3(team), 0, c, labels, alpha, beta, log_z,
         dy, d);
}

template <>
template <class A>
void CrfKernels<Cuda>::crf_decode(const CrfArgs<A>& c, std::int32_t* best) {
  using namespace cuda;
  const Temporary<A> score(c.tokens * c.labels);
  const Temporary<std::int32_t> from(c.tokens * c.labels);
  launch(LEXFORMER_KERNEL(crf_decode_kernel<A>), dim3(static_cast<unsigned>(c.sequences)), dim3(team), 0, c, score.data(), from.data(),
         best);
}

LEXFORMER_CRF_INSTANCES(, Cuda, float)
LEXFORMER_CRF_INSTANCES(, Cuda, double)

}  // namespace lexformer
