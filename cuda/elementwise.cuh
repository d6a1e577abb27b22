// SPDX-License-Identifier: MIT
// map(): y = F(x) and y = F(a, b), with F a struct whose operator() is marked LEXFORMER_HD. For your own F, write a .cu file with
//
//   #include "elementwise.cuh"
//   template void lexformer::ElementwiseKernels<lexformer::Cuda>::map<Square, float>(std::size_t, const float*, float*);
//
// and compile it with nvcc; see example/square.cu.
#pragma once

#include "lexformer/kernels/cuda.hpp"
#include "packs.cuh"

namespace lexformer {
namespace cuda {

/// y = f(x), in the compute type; y may be x.
template <class F, class T>
__global__ void map_kernel(std::size_t n, std::size_t packs, F f, const T* x, T* y) {
  constexpr std::size_t size = Pack<T>::size;
  for (std::size_t i = first_element(); i < packs; i += element_step()) {
    const Pack<T> given = load_pack<size>(x + i * size);
    accumulate_t<T> values[size];
    LEXFORMER_UNROLL
    for (std::size_t k = 0; k < size; ++k) values[k] = f(static_cast<accumulate_t<T>>(given.at[k]));
    store_pack(rounded<T>(values), y + i * size);
  }
  for (std::size_t i = packs * size + first_element(); i < n; i += element_step())
    y[i] = static_cast<T>(f(static_cast<accumulate_t<T>>(x[i])));
}

template <class F, class T>
__device__ T combine(const F& f, T a, T b) {
  return static_cast<T>(f(static_cast<accumulate_t<T>>(a), static_cast<accumulate_t<T>>(b)));
}

/// y = f(a, b); y may be a or b.
template <class F, class T>
__global__ void map2_kernel(std::size_t n, std::size_t packs, F f, const T* a, const T* b, T* y) {
  constexpr std::size_t size = Pack<T>::size;
  for (std::size_t i = first_element(); i < packs; i += element_step()) {
    const Pack<T> left = load_pack<size>(a + i * size), right = load_pack<size>(b + i * size);
    accumulate_t<T> values[size];
    LEXFORMER_UNROLL
    for (std::size_t k = 0; k < size; ++k)
      values[k] = f(static_cast<accumulate_t<T>>(left.at[k]), static_cast<accumulate_t<T>>(right.at[k]));
    store_pack(rounded<T>(values), y + i * size);
  }
  for (std::size_t i = packs * size + first_element(); i < n; i += element_step()) y[i] = combine(f, a[i], b[i]);
}

/// y = f(a, b), with a and b broadcast by the plan.
template <class F, class T>
__global__ void map_broadcast_kernel(std::size_t rows, std::size_t n, Broadcast plan, F f, const T* a, const T* b, T* y) {
  const std::size_t step_a = plan.step_a(), step_b = plan.step_b();
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const auto begin = plan.row(r);
    for (std::size_t j = threadIdx.x; j < n; j += blockDim.x) y[r * n + j] = combine(f, a[begin.a + j * step_a], b[begin.b + j * step_b]);
  }
}

/// y = f(x) for a function object with state.
template <class F, class T>
void map_with(F f, std::size_t n, const T* x, T* y) {
  const std::size_t packs = packs_of<T>(n, x, y), work = packs > 0 ? packs : n;
  launch(LEXFORMER_KERNEL(map_kernel<F, T>), dim3(blocks_for(work, block_threads)), dim3(block_threads), 0, n, packs, f, x, y);
}

}  // namespace cuda

template <>
template <class F, class T>
void ElementwiseKernels<Cuda>::map(std::size_t n, const T* x, T* y) {
  cuda::map_with(F{}, n, x, y);
}

template <>
template <class F, class T>
void ElementwiseKernels<Cuda>::map(std::size_t n, const T* a, const T* b, T* y) {
  using namespace cuda;
  const std::size_t packs = packs_of<T>(n, a, b, y), work = packs > 0 ? packs : n;
  launch(LEXFORMER_KERNEL(map2_kernel<F, T>), dim3(blocks_for(work, block_threads)), dim3(block_threads), 0, n, packs, F{}, a, b, y);
}

template <>
template <class F, class T>
void ElementwiseKernels<Cuda>::map_broadcast(const Broadcast& plan, const T* a, const T* b, T* y) {
  using namespace cuda;
  const RowLaunch by_rows(plan.rows(), plan.last());
  launch(LEXFORMER_KERNEL(map_broadcast_kernel<F, T>), by_rows.grid, by_rows.block, 0, plan.rows(), plan.last(), plan, F{}, a, b, y);
}

}  // namespace lexformer
