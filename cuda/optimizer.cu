// SPDX-License-Identifier: MIT
// Kernels over many arrays in one launch: AdamW over all parameters, and the norm of all gradients.
#include <cmath>
#include <type_traits>

#include "instances.hpp"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/scalar.hpp"
#include "reduce.cuh"

namespace lexformer {
namespace cuda {
namespace {

inline constexpr std::size_t chunk = 8192;  // elements per block

/// An array of the list, and the index of its first block.
template <class Item>
struct Listed {
  Item item;
  std::size_t first_block;
};

/// The list in device memory.
template <class Item>
struct ArrayList {
  explicit ArrayList(const std::vector<Item>& items) : count(items.size()), list(items.size()) {
    std::vector<Listed<Item>> listed;
    for (const Item& item : items) {
      listed.push_back({item, blocks});
      blocks += (item.count + chunk - 1) / chunk;
    }
    Memory<Cuda>::upload(list.data(), listed.data(), listed.size() * sizeof(Listed<Item>));
  }
  std::size_t count, blocks = 0;
  Temporary<Listed<Item>> list;
};

/// The array that this block processes: the last whose first block is not after it (an empty array has the first block of the next).
template <class Item>
__device__ const Listed<Item>& array_of_block(std::size_t count, const Listed<Item>* list) {
  std::size_t low = 0, high = count;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (list[middle].first_block <= blockIdx.x ? low : high) = middle;
  }
  return list[low];
}

/// The norm, from the sum of squares.
template <class A>
struct NormOf {
  const A* loss;
  const double* before;
  __device__ double operator()(double squares) const { return scalar::gradient_norm(squares, loss, before); }
};

template <class T>
__global__ void gradient_norm_kernel(std::size_t count, const Listed<Elements<T>>* list, double* partial, unsigned* finished,
                                     NormOf<accumulate_t<T>> result, double* norm) {
  double total = 0;
  if (count > 0) {
    const auto& array = array_of_block(count, list);
    const std::size_t begin = (blockIdx.x - array.first_block) * chunk;
    const std::size_t end = begin + chunk < array.item.count ? begin + chunk : array.item.count;
    for (std::size_t i = begin + threadIdx.x; i < end; i += Block::threads) {
      const double x = static_cast<double>(static_cast<accumulate_t<T>>(array.item.data[i]));
      total += x * x;
    }
  }
  finish_sum(Block::sum(total), partial, finished, result, norm);
}

template <class T, class A>
__global__ void adamw_kernel(std::size_t count, const Listed<AdamWUpdate<T, A>>* list, GradientClip clip) {
  if (clip.norm != nullptr && !scalar::finite(*clip.norm)) return;
  const auto clipped = static_cast<A>(clip.norm == nullptr ? 1.0 : scalar::clip_factor(*clip.norm, clip.max_norm));
  const auto& array = array_of_block(count, list);
  const auto u = array.item;
  const std::size_t begin = (blockIdx.x - array.first_block) * chunk, end = begin + chunk < u.count ? begin + chunk : u.count;
  const auto decay = static_cast<A>(u.factors.decay), eps = static_cast<A>(u.factors.eps);
  const auto rest1 = static_cast<A>(1.0 - u.factors.beta1), beta2 = static_cast<A>(u.factors.beta2);
  const auto rest2 = static_cast<A>(1.0 - u.factors.beta2), step_size = static_cast<A>(u.factors.step_size);
  const auto root_correction = static_cast<A>(u.factors.root_correction);
  for (std::size_t i = begin + threadIdx.x; i < end; i += Block::threads) {
    const A g = clipped * static_cast<A>(u.gradient[i]);
    const A m = u.exp_avg[i] + rest1 * (g - u.exp_avg[i]);
    const A v = beta2 * u.exp_avg_sq[i] + rest2 * g * g;
    const A weight = u.master[i] * decay - step_size * m / (std::sqrt(v) / root_correction + eps);
    u.exp_avg[i] = m;
    u.exp_avg_sq[i] = v;
    u.master[i] = weight;
    if constexpr (!std::is_same_v<T, A>) u.parameter[i] = static_cast<T>(weight);
  }
}

}  // namespace
}  // namespace cuda

template <class T>
void ElementwiseKernels<Cuda>::gradient_norm(const std::vector<Elements<T>>& arrays, const accumulate_t<T>* loss, const double* before,
                                             double* norm) {
  using namespace cuda;
  const ArrayList<Elements<T>> all(arrays);
  const std::size_t blocks = std::max<std::size_t>(all.blocks, 1);
  const Temporary<double> partial(blocks);
  launch(LEXFORMER_KERNEL(gradient_norm_kernel<T>), dim3(static_cast<unsigned>(blocks)), dim3(Block::threads), 0, all.count,
         all.list.data(), partial.data(), finished_counters(1), NormOf<accumulate_t<T>>{loss, before}, norm);
}

template <class T, class A>
void ElementwiseKernels<Cuda>::adamw(const std::vector<AdamWUpdate<T, A>>& updates, const GradientClip& clip) {
  using namespace cuda;
  const ArrayList<AdamWUpdate<T, A>> all(updates);
  launch(LEXFORMER_KERNEL(adamw_kernel<T, A>), dim3(static_cast<unsigned>(all.blocks)), dim3(Block::threads), 0, all.count, all.list.data(),
         clip);
}

LEXFORMER_OPTIMIZER_INSTANCES(float)
LEXFORMER_OPTIMIZER_INSTANCES(double)
LEXFORMER_OPTIMIZER_INSTANCES(bfloat16)

}  // namespace lexformer
