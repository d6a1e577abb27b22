// SPDX-License-Identifier: MIT
// Additive attention on the GPU. Each tanh(P_j + U_i) is computed once in forward and once in backward, in registers. Each value is written
// by one thread or warp only, in a fixed order.
#include "device.cuh"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"

namespace lexformer {
namespace cuda {
namespace {

/// One (sequence, head): number `unit` of B H.
template <class T>
struct AdditiveHead {
  std::size_t n, key, value, pair;  // tokens; the first element in keys, in values, in probabilities
  const T* weights;

  __device__ AdditiveHead(const AdditiveArgs<T>& a, std::size_t unit) {
    const std::size_t s = unit / a.heads, h = unit % a.heads, first = a.token_begin[s];
    n = a.token_begin[s + 1] - first;
    key = first * a.keys_width() + h * a.key_size;
    value = first * a.values_width() + h * a.value_size;
    pair = h * a.pairs + a.pair_begin[s];
    weights = a.weights + (a.weight_rows == 1 ? 0 : h * a.key_size);
  }
};

/// Calls body(head, unit, i) for the rows i of each (sequence, head), one warp per row. The grid: AdditiveRows.
template <class T, class Body>
__device__ void for_additive_rows(const AdditiveArgs<T>& a, const Body& body) {
  for (std::size_t unit = blockIdx.x; unit < a.sequences * a.heads; unit += gridDim.x) {
    const AdditiveHead<T> head(a, unit);
    for (std::size_t i = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y; i < head.n; i += std::size_t{gridDim.y} * blockDim.y)
      body(head, i);
  }
}
template <class T>
dim3 additive_rows(const AdditiveArgs<T>& a) {
  return dim3(blocks_for(a.sequences * a.heads, 1), blocks_for(a.longest, Warp::rows, 64));
}

/// p_i = softmax_j(w . tanh(P_j + U_i)). Lane j % 32 reads and writes element j.
template <class T>
__global__ void additive_probabilities_kernel(AdditiveArgs<T> a, accumulate_t<T>* probabilities) {
  using A = accumulate_t<T>;
  for_additive_rows(a, [&](const AdditiveHead<T>& head, std::size_t i) {
    A* const p = probabilities + head.pair + i * head.n;
    const T* const query = a.queries + head.key + i * a.keys_width();
    for (std::size_t j = 0; j < head.n; ++j) {
      const T* const key = a.keys + head.key + j * a.keys_width();
      A score{};
      for (std::size_t e = threadIdx.x; e < a.key_size; e += Warp::threads)
        score += static_cast<A>(head.weights[e]) * scalar::tanh(static_cast<A>(key[e]) + static_cast<A>(query[e]));
      score = Warp::sum(score);
      if (threadIdx.x == j % Warp::threads) p[j] = score;
    }
    const A top = row_max<Warp>(head.n, p);
    A total{};
    for (std::size_t j = threadIdx.x; j < head.n; j += Warp::threads) total += p[j] = scalar::exp(p[j] - top);
    total = Warp::sum(total);
    for (std::size_t j = threadIdx.x; j < head.n; j += Warp::threads) p[j] /= total;
  });
}

/// y_i = sum_j p_ij x_j, or p_ji with `transposed`; x and y (N, H d).
template <class T, bool transposed>
__global__ void additive_mix_kernel(AdditiveArgs<T> a, const accumulate_t<T>* probabilities, const T* x, T* y) {
  using A = accumulate_t<T>;
  for_additive_rows(a, [&](const AdditiveHead<T>& head, std::size_t i) {
    const A* const p = probabilities + head.pair + (transposed ? i : i * head.n);
    for (std::size_t e = threadIdx.x; e < a.value_size; e += Warp::threads) {
      A sum{};
      for (std::size_t j = 0; j < head.n; ++j)
        sum += p[transposed ? j * head.n : j] * static_cast<A>(x[head.value + j * a.values_width() + e]);
      y[head.value + i * a.values_width() + e] = static_cast<T>(sum);
    }
  });
}

/// dS_ij = p_ij (dp_ij - <p_i, dp_i>), dp_ij = <dout_i, x_j>. Lane j % 32 reads and writes element j.
template <class T>
__global__ void additive_score_grad_kernel(AdditiveArgs<T> a, const accumulate_t<T>* probabilities, const T* dout,
                                           accumulate_t<T>* dscores) {
  using A = accumulate_t<T>;
  for_additive_rows(a, [&](const AdditiveHead<T>& head, std::size_t i) {
    const A* const p = probabilities + head.pair + i * head.n;
    A* const to = dscores + head.pair + i * head.n;
    const T* const dy = dout + head.value + i * a.values_width();
    A along{};
    for (std::size_t j = 0; j < head.n; ++j) {
      const T* const x = a.values + head.value + j * a.values_width();
      A product{};
      for (std::size_t e = threadIdx.x; e < a.value_size; e += Warp::threads) product += static_cast<A>(dy[e]) * static_cast<A>(x[e]);
      product = Warp::sum(product);
      if (threadIdx.x != j % Warp::threads) continue;
      to[j] = product;
      along += p[j] * product;
    }
    along = Warp::sum(along);
    for (std::size_t j = threadIdx.x; j < head.n; j += Warp::threads) to[j] = p[j] * (to[j] - along);
  });
}

inline constexpr unsigned additive_warps = 8, additive_tile = 16;

/// The gradients of keys, queries and weights. A block processes 32 features of a (sequence, head), a warp every eighth key; queries come
/// in tiles whose sums are in registers. dkey_sums (N, H a) holds the sums of the keys between tiles; dweights (B, H, a) are partial sums.
template <class T>
__global__ void additive_grad_kernel(AdditiveArgs<T> a, const accumulate_t<T>* dscores, accumulate_t<T>* dkey_sums, T* dkeys, T* dqueries,
                                     accumulate_t<T>* dweights) {
  using A = accumulate_t<T>;
  __shared__ A part[additive_warps][additive_tile][Warp::threads];
  const unsigned lane = threadIdx.x, warp = threadIdx.y;
  const std::size_t e = std::size_t{blockIdx.y} * Warp::threads + lane, stride = a.keys_width();
  const bool used = e < a.key_size;
  for (std::size_t unit = blockIdx.x; unit < a.sequences * a.heads; unit += gridDim.x) {
    const AdditiveHead<T> head(a, unit);
    const A w = used ? static_cast<A>(head.weights[e]) : A{0};
    A dw{};
    for (std::size_t begin = 0; begin < head.n; begin += additive_tile) {
      A query[additive_tile], dquery[additive_tile];
      for (unsigned q = 0; q < additive_tile; ++q) {
        query[q] = used && begin + q < head.n ? static_cast<A>(a.queries[head.key + (begin + q) * stride + e]) : A{0};
        dquery[q] = A{0};
      }
      for (std::size_t j = warp; used && j < head.n; j += additive_warps) {
        const std::size_t at = head.key + j * stride + e;
        const A key = static_cast<A>(a.keys[at]);
        A dkey = begin == 0 ? A{0} : dkey_sums[at];
        for (unsigned q = 0; q < additive_tile; ++q) {
          const A ds = begin + q < head.n ? dscores[head.pair + (begin + q) * head.n + j] : A{0};
          const A t = scalar::tanh(key + query[q]), slope = ds * (A{1} - t * t);
          dkey += slope;
          dquery[q] += slope;
          dw += ds * t;
        }
        dkey_sums[at] = dkey;
        if (begin + additive_tile >= head.n) dkeys[at] = static_cast<T>(w * dkey);
      }
      __syncthreads();  // all threads have read the previous tile
      for (unsigned q = 0; q < additive_tile; ++q) part[warp][q][lane] = dquery[q];
      __syncthreads();
      for (std::size_t q = warp; used && q < additive_tile && begin + q < head.n; q += additive_warps) {
        A sum{};
        for (unsigned v = 0; v < additive_warps; ++v) sum += part[v][q][lane];
        dqueries[head.key + (begin + q) * stride + e] = static_cast<T>(w * sum);
      }
    }
    __syncthreads();
    part[warp][0][lane] = dw;
    __syncthreads();
    if (warp != 0 || !used) continue;
    A sum{};
    for (unsigned v = 0; v < additive_warps; ++v) sum += part[v][0][lane];
    dweights[unit * a.key_size + e] = sum;
  }
}

}  // namespace
}  // namespace cuda

template <>
template <class T>
void AdditiveKernels<Cuda>::additive_attention(const AdditiveArgs<T>& args, accumulate_t<T>* probabilities, T* out) {
  using namespace cuda;
  const dim3 grid = additive_rows(args), block(Warp::threads, Warp::rows);
  launch(LEXFORMER_KERNEL(additive_probabilities_kernel<T>), grid, block, 0, args, probabilities);
  launch(LEXFORMER_KERNEL(additive_mix_kernel<T, false>), grid, block, 0, args, static_cast<const accumulate_t<T>*>(probabilities),
         args.values, out);
}

template <>
template <class T>
void AdditiveKernels<Cuda>::additive_attention_grad(const AdditiveArgs<T>& args, const accumulate_t<T>* probabilities, const T* dout,
                                                    const AdditiveGrads<T>& grads) {
  using namespace cuda;
  using A = accumulate_t<T>;
  const dim3 grid = additive_rows(args), block(Warp::threads, Warp::rows);
  const std::size_t columns = args.weight_rows * args.key_size, units = args.sequences * args.heads;
  const Temporary<A> dscores(args.heads * args.pairs), dkey_sums(args.tokens * args.keys_width()), dweights(units * args.key_size);
  launch(LEXFORMER_KERNEL(additive_mix_kernel<T, true>), grid, block, 0, args, probabilities, dout, grads.values);
  launch(LEXFORMER_KERNEL(additive_score_grad_kernel<T>), grid, block, 0, args, probabilities, dout, dscores.data());
  launch(LEXFORMER_KERNEL(additive_grad_kernel<T>),
         dim3(grid.x, static_cast<unsigned>((args.key_size + Warp::threads - 1) / Warp::threads)), dim3(Warp::threads, additive_warps), 0,
         args, static_cast<const A*>(dscores.data()), dkey_sums.data(), grads.keys, grads.queries, dweights.data());
  RowKernels<Cuda>::column_sum(units / args.weight_rows, columns, dweights.data(), columns, grads.weights);
}

LEXFORMER_ADDITIVE_INSTANCES(, Cuda, float)
LEXFORMER_ADDITIVE_INSTANCES(, Cuda, double)
LEXFORMER_ADDITIVE_INSTANCES(, Cuda, bfloat16)

}  // namespace lexformer
