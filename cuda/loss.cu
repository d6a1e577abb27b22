// SPDX-License-Identifier: MIT
// Losses and vector similarities.
#include <cmath>

#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"
#include "reduce.cuh"

namespace lexformer {
namespace cuda {
namespace {

/// The thread of the label's column writes the loss. Each element belongs to one thread, so nothing is read after it is overwritten.
template <class Team, class T>
__global__ void cross_entropy_kernel(std::size_t rows, std::size_t n, const std::int32_t* labels, accumulate_t<T> factor, T* x,
                                     accumulate_t<T>* loss) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    T* z = x + r * n;
    const auto label = static_cast<std::size_t>(labels[r]);
    const A top = row_max<Team>(n, z);
    A total{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) total += scalar::exp(z[j] - top);
    total = Team::sum(total);
    const A scale = factor / total;
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      const A shifted = z[j] - top;
      z[j] = static_cast<T>(scale * scalar::exp(shifted) - (j == label ? factor : A{0}));
      if (j == label) loss[r] = std::log(total) - shifted;
    }
  }
}

/// The weight of a row; 0 if it does not count.
template <class A>
__device__ A weight_of(const std::int32_t* labels, const A* weight, std::size_t i) {
  return labels[i] < 0 ? A{0} : weight == nullptr ? A{1} : weight[i];
}

template <class A>
struct WeightedLoss {
  std::size_t n;
  const std::int32_t* labels;
  const A *weight, *log_p;
  __device__ A operator()(std::size_t i) const {
    return labels[i] < 0 ? A{0} : -weight_of(labels, weight, i) * log_p[i * n + static_cast<std::size_t>(labels[i])];
  }
};

template <class A, class T>
__global__ void negative_log_likelihood_grad_kernel(std::size_t rows, std::size_t n, const std::int32_t* labels, const A* weight, A total,
                                                    const A* dy, const A* log_p, T* dx) {
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const A w = weight_of(labels, weight, r), factor = w == A{0} ? A{0} : w / total * *dy;
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) {
      const A p = w == A{0} ? A{0} : scalar::exp(log_p[r * n + j]);
      const bool chosen = w != A{0} && j == static_cast<std::size_t>(labels[r]);
      dx[r * n + j] = static_cast<T>(factor * p - (chosen ? factor : A{0}));
    }
  }
}

/// <p, q>; all threads of the team get the result.
template <class Team, class T>
__device__ accumulate_t<T> dot(std::size_t n, const T* p, const T* q) {
  using A = accumulate_t<T>;
  A sum{};
  for (std::size_t j = threadIdx.x; j < n; j += Team::threads) sum += static_cast<A>(p[j]) * static_cast<A>(q[j]);
  return Team::sum(sum);
}

template <class Team, class T>
__global__ void cosine_kernel(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* a, const T* b, T* y) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T *p = a + r * n, *q = b + r * n;
    const A pq = dot<Team>(n, p, q), norm = std::sqrt(dot<Team>(n, p, p) * dot<Team>(n, q, q));
    if (threadIdx.x == 0) y[r] = static_cast<T>(pq / (norm < eps ? eps : norm));
  }
}

template <class Team, class T>
__global__ void cosine_grad_kernel(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* a, const T* b, T* da,
                                   T* db) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const T *p = a + r * n, *q = b + r * n;
    const A pp = dot<Team>(n, p, p), qq = dot<Team>(n, q, q), pq = dot<Team>(n, p, q), norm = std::sqrt(pp * qq);
    const A g = static_cast<A>(dy[r]);
    const bool clamped = norm < eps;  // then the divisor is a constant
    const A inverse = A{1} / (clamped ? eps : norm), cosine = clamped ? A{0} : pq * inverse;
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      da[r * n + j] = static_cast<T>(g * (q[j] * inverse - (clamped ? A{0} : cosine * p[j] / pp)));
      db[r * n + j] = static_cast<T>(g * (p[j] * inverse - (clamped ? A{0} : cosine * q[j] / qq)));
    }
  }
}

// pairwise_cosine, with u_i = x_i / norm_i and s = the sum of the u_i of a group; norms (groups, most), s (groups, longest). blockIdx.y
// selects the group, in steps of gridDim.y.

/// norm_i = max(|x_i|, 1e-8)
template <class T, class A>
__global__ void norms_kernel(VectorGroups all, const T* x, A* norms) {
  for (std::size_t k = blockIdx.y; k < all.groups; k += gridDim.y) {
    const VectorGroup g = all.list[k];
    for (std::size_t i = first_row(); i < g.count; i += row_step()) {
      const T* v = x + g.first + i * g.stride;
      const A norm = std::sqrt(dot<Warp>(g.length, v, v));
      if (threadIdx.x == 0) norms[k * all.most + i] = norm < A(1e-8) ? A(1e-8) : norm;
    }
  }
}

template <class T, class A>
__global__ void unit_sum_kernel(VectorGroups all, const T* x, const A* norms, A* sums) {
  for (std::size_t k = blockIdx.y; k < all.groups; k += gridDim.y) {
    const VectorGroup g = all.list[k];
    for (std::size_t e = first_element(); e < g.length; e += element_step()) {
      A sum{};
      for (std::size_t i = 0; i < g.count; ++i) sum += static_cast<A>(x[g.first + i * g.stride + e]) / norms[k * all.most + i];
      sums[k * all.longest + e] = sum;
    }
  }
}

/// values[k] = (|s|^2 - sum |u_i|^2) / (n (n - 1)); one block per group.
template <class T, class A>
__global__ void pairwise_cosine_kernel(VectorGroups all, const T* x, const A* norms, const A* sums, A* values) {
  for (std::size_t k = blockIdx.x; k < all.groups; k += gridDim.x) {
    const VectorGroup g = all.list[k];
    A value{};
    for (std::size_t e = threadIdx.x; e < g.length; e += Block::threads) {
      const A s = sums[k * all.longest + e];
      value += s * s;
      for (std::size_t i = 0; i < g.count; ++i) {
        const A u = static_cast<A>(x[g.first + i * g.stride + e]) / norms[k * all.most + i];
        value -= u * u;
      }
    }
    value = Block::sum(value);
    if (threadIdx.x == 0) values[k] = value / (static_cast<A>(g.count) * static_cast<A>(g.count - 1));
  }
}

template <class T, class A>
__global__ void pairwise_cosine_grad_kernel(VectorGroups all, const A* dy, const T* x, const A* norms, const A* sums, T* dx) {
  for (std::size_t k = blockIdx.y; k < all.groups; k += gridDim.y) {
    const VectorGroup g = all.list[k];
    const A* s = sums + k * all.longest;
    const A factor = *dy * A{2} / (static_cast<A>(g.count) * static_cast<A>(g.count - 1) * static_cast<A>(all.groups));
    for (std::size_t i = first_row(); i < g.count; i += row_step()) {
      const T* v = x + g.first + i * g.stride;
      T* d = dx + g.first + i * g.stride;
      const A norm = norms[k * all.most + i], inverse = A{1} / norm;
      A along{};
      for (std::size_t e = threadIdx.x; e < g.length; e += Warp::threads) along += s[e] * static_cast<A>(v[e]);
      along = Warp::sum(along) * inverse * inverse;
      if (!(norm > A(1e-8))) along = inverse;  // the divisor is a constant: subtract the vector's own part of s
      for (std::size_t e = threadIdx.x; e < g.length; e += Warp::threads)
        d[e] = static_cast<T>(static_cast<A>(d[e]) + factor * inverse * (s[e] - along * static_cast<A>(v[e])));
    }
  }
}

/// The norms and sums of all groups.
template <class T, class A>
struct UnitSums {
  Temporary<A> norms, sums;
  UnitSums(const VectorGroups& all, const T* x) : norms(all.groups * all.most), sums(all.groups * all.longest) {
    launch(LEXFORMER_KERNEL(norms_kernel<T, A>), by_vectors(all), dim3(Warp::threads, Warp::rows), 0, all, x, norms.data());
    const dim3 by_elements(blocks_for(all.longest, block_threads), blocks_for(all.groups, 1));
    launch(LEXFORMER_KERNEL(unit_sum_kernel<T, A>), by_elements, dim3(block_threads), 0, all, x, static_cast<const A*>(norms.data()),
           sums.data());
  }
  static dim3 by_vectors(const VectorGroups& all) { return dim3(blocks_for(all.most, Warp::rows), blocks_for(all.groups, 1)); }
};

}  // namespace
}  // namespace cuda

template <>
template <class T>
void LossKernels<Cuda>::cross_entropy(std::size_t rows, std::size_t n, const std::int32_t* labels, accumulate_t<T> factor, T* x,
                                      accumulate_t<T>* loss) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(cross_entropy_kernel, T, rows, n, rows, n, labels, factor, x, loss);
}
template <>
template <class A>
void LossKernels<Cuda>::mean_loss(std::size_t rows, const A* loss, A* out) {
  cuda::sum_values(rows, cuda::Plain<A, A>{loss}, static_cast<A>(rows), out);
}

template <>
template <class A>
void LossKernels<Cuda>::negative_log_likelihood(std::size_t rows, std::size_t n, const std::int32_t* labels, const A* weight, A total,
                                                const A* log_p, A* out) {
  cuda::sum_values(rows, cuda::WeightedLoss<A>{n, labels, weight, log_p}, total == A{0} ? A{1} : total, out);
}
template <>
template <class A, class T>
void LossKernels<Cuda>::negative_log_likelihood_grad(std::size_t rows, std::size_t n, const std::int32_t* labels, const A* weight, A total,
                                                     const A* dy, const A* log_p, T* dx) {
  using namespace cuda;
  const RowLaunch by_rows(rows, n);
  launch(LEXFORMER_KERNEL(negative_log_likelihood_grad_kernel<A, T>), by_rows.grid, by_rows.block, 0, rows, n, labels, weight, total, dy,
         log_p, dx);
}

template <>
template <class T>
void LossKernels<Cuda>::cosine_similarity(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* a, const T* b, T* y) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(cosine_kernel, T, rows, n, rows, n, eps, a, b, y);
}
template <>
template <class T>
void LossKernels<Cuda>::cosine_similarity_grad(std::size_t rows, std::size_t n, accumulate_t<T> eps, const T* dy, const T* a, const T* b,
                                               T* da, T* db) {
  using namespace cuda;
  LEXFORMER_LAUNCH_TEAMS(cosine_grad_kernel, T, rows, n, rows, n, eps, dy, a, b, da, db);
}

template <>
template <class T>
void LossKernels<Cuda>::pairwise_cosine(const VectorGroups& all, const T* x, accumulate_t<T>* out) {
  using namespace cuda;
  using A = accumulate_t<T>;
  if (all.groups == 0) return Memory<Cuda>::zero(out, sizeof(A));
  const UnitSums<T, A> units(all, x);
  const Temporary<A> values(all.groups);
  launch(LEXFORMER_KERNEL(pairwise_cosine_kernel<T, A>), dim3(blocks_for(all.groups, 1)), dim3(Block::threads), 0, all, x,
         static_cast<const A*>(units.norms.data()), static_cast<const A*>(units.sums.data()), values.data());
  sum_values(all.groups, Plain<A, A>{values.data()}, static_cast<A>(all.groups), out);
}
template <>
template <class T>
void LossKernels<Cuda>::pairwise_cosine_grad(const VectorGroups& all, const accumulate_t<T>* dy, const T* x, T* dx) {
  using namespace cuda;
  using A = accumulate_t<T>;
  if (all.groups == 0) return;
  const UnitSums<T, A> units(all, x);
  launch(LEXFORMER_KERNEL(pairwise_cosine_grad_kernel<T, A>), (UnitSums<T, A>::by_vectors(all)), dim3(Warp::threads, Warp::rows), 0, all,
         dy, x, static_cast<const A*>(units.norms.data()), static_cast<const A*>(units.sums.data()), dx);
}

LEXFORMER_LOSS_INSTANCES(, Cuda, float)
LEXFORMER_LOSS_INSTANCES(, Cuda, double)
LEXFORMER_LOSS_INSTANCES(, Cuda, bfloat16)
LEXFORMER_COMPUTE_LOSS_INSTANCES(, Cuda)

}  // namespace lexformer
