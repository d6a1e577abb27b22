// SPDX-License-Identifier: MIT
// Kernels over many arrays in one launch: AdamW over all parameters, and the norm of all gradients.
#include <cmath>
#include <type_traits>

#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"
#include "lexformer/kernels/scalar.hpp"
#include "packs.cuh"
#include "reduce.cuh"

namespace lexformer {
namespace cuda {
namespace {

/// An array of the list, and the index of its first block.
template <class Item>
struct Listed {
  Item item;
  std::size_t first_block;
};

/// The list in device memory. A block processes `chunk` elements.
template <class Item, std::size_t chunk>
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

inline constexpr std::size_t norm_chunk = 32768, adamw_chunk = 8192;

template <class T>
__global__ void gradient_norm_kernel(std::size_t count, const Listed<Elements<T>>* list, double* partial, unsigned* finished,
                                     NormOf<accumulate_t<T>> result, double* norm) {
  double total = 0;
  const auto add = [&](T value) {
    const auto x = static_cast<double>(static_cast<accumulate_t<T>>(value));
    total += x * x;
  };
  if (count > 0) {
    constexpr std::size_t size = Pack<T>::size, together = 4;
    const auto& array = array_of_block(count, list);
    const std::size_t begin = (blockIdx.x - array.first_block) * norm_chunk;
    const std::size_t end = begin + norm_chunk < array.item.count ? begin + norm_chunk : array.item.count;
    const T* const x = array.item.data;
    const std::size_t packs_end = aligned_to<Pack<T>>(x) ? end / size * size : begin;  // begin is a multiple of size
    std::size_t i = begin + threadIdx.x * size;
    for (; i + (together - 1) * Block::threads * size < packs_end; i += together * Block::threads * size) {
      Pack<T> values[together];
      LEXFORMER_UNROLL
      for (std::size_t k = 0; k < together; ++k) values[k] = load_pack<size>(x + i + k * Block::threads * size);
      LEXFORMER_UNROLL
      for (std::size_t k = 0; k < together; ++k)
        for (const T value : values[k].at) add(value);
    }
    for (; i < packs_end; i += Block::threads * size)
      for (const T value : load_pack<size>(x + i).at) add(value);
    for (i = packs_end + threadIdx.x; i < end; i += Block::threads) add(x[i]);
  }
  finish_sum(Block::sum(total), partial, finished, result, norm);
}

template <class T, class A>
__global__ void adamw_kernel(std::size_t count, const Listed<AdamWUpdate<T, A>>* list, GradientClip clip) {
  if (clip.norm != nullptr && !scalar::finite(*clip.norm)) return;
  const auto clipped = static_cast<A>(clip.norm == nullptr ? 1.0 : scalar::clip_factor(*clip.norm, clip.max_norm));
  const auto& array = array_of_block(count, list);
  const auto u = array.item;
  const std::size_t begin = (blockIdx.x - array.first_block) * adamw_chunk,
                    end = begin + adamw_chunk < u.count ? begin + adamw_chunk : u.count;
  const auto decay = static_cast<A>(u.factors.decay), eps = static_cast<A>(u.factors.eps);
  const auto rest1 = static_cast<A>(1.0 - u.factors.beta1), beta2 = static_cast<A>(u.factors.beta2);
  const auto rest2 = static_cast<A>(1.0 - u.factors.beta2), step_size = static_cast<A>(u.factors.step_size);
  const auto root_correction = static_cast<A>(u.factors.root_correction);
  const auto update = [&](T gradient, A& exp_avg, A& exp_avg_sq, A& weight) {
    const A g = clipped * static_cast<A>(gradient);
    const A m = exp_avg + rest1 * (g - exp_avg);
    const A v = beta2 * exp_avg_sq + rest2 * g * g;
    weight = weight * decay - step_size * m / (std::sqrt(v) / root_correction + eps);
    exp_avg = m;
    exp_avg_sq = v;
  };
  constexpr std::size_t size = 4;  // elements of a pack: 16 bytes of float, the type of most of the memory
  bool aligned = aligned_to<Pack<T, size>>(u.gradient);
  for (const A* const x : {u.exp_avg, u.exp_avg_sq, u.master}) aligned = aligned && aligned_to<Pack<A, size>>(x);
  if constexpr (!std::is_same_v<T, A>) aligned = aligned && aligned_to<Pack<T, size>>(u.parameter);
  const std::size_t packs_end = aligned ? end / size * size : begin;  // begin is a multiple of size
  for (std::size_t i = begin + threadIdx.x * size; i < packs_end; i += Block::threads * size) {
    const auto gradient = load_pack<size>(u.gradient + i);
    auto m = load_pack<size>(u.exp_avg + i), v = load_pack<size>(u.exp_avg_sq + i), weight = load_pack<size>(u.master + i);
    LEXFORMER_UNROLL
    for (std::size_t k = 0; k < size; ++k) update(gradient.at[k], m.at[k], v.at[k], weight.at[k]);
    store_pack(m, u.exp_avg + i);
    store_pack(v, u.exp_avg_sq + i);
    store_pack(weight, u.master + i);
    if constexpr (!std::is_same_v<T, A>) store_pack(rounded<T>(weight.at), u.parameter + i);
  }
  for (std::size_t i = packs_end + threadIdx.x; i < end; i += Block::threads) {
    update(u.gradient[i], u.exp_avg[i], u.exp_avg_sq[i], u.master[i]);
    if constexpr (!std::is_same_v<T, A>) u.parameter[i] = static_cast<T>(u.master[i]);
  }
}

}  // namespace
}  // namespace cuda

template <>
template <class T>
void ElementwiseKernels<Cuda>::gradient_norm(const std::vector<Elements<T>>& arrays, const accumulate_t<T>* loss, const double* before,
                                             double* norm) {
  using namespace cuda;
  const ArrayList<Elements<T>, norm_chunk> all(arrays);
  const std::size_t blocks = std::max<std::size_t>(all.blocks, 1);
  const Temporary<double> partial(blocks);
  launch(LEXFORMER_KERNEL(gradient_norm_kernel<T>), dim3(static_cast<unsigned>(blocks)), dim3(Block::threads), 0, all.count,
         all.list.data(), partial.data(), finished_counters(1), NormOf<accumulate_t<T>>{loss, before}, norm);
}

template <>
template <class T, class A>
void ElementwiseKernels<Cuda>::adamw(const std::vector<AdamWUpdate<T, A>>& updates, const GradientClip& clip) {
  using namespace cuda;
  const ArrayList<AdamWUpdate<T, A>, adamw_chunk> all(updates);
  launch(LEXFORMER_KERNEL(adamw_kernel<T, A>), dim3(static_cast<unsigned>(all.blocks)), dim3(Block::threads), 0, all.count, all.list.data(),
         clip);
}

LEXFORMER_OPTIMIZER_INSTANCES(, Cuda, float)
LEXFORMER_OPTIMIZER_INSTANCES(, Cuda, double)
LEXFORMER_OPTIMIZER_INSTANCES(, Cuda, bfloat16)

}  // namespace lexformer
