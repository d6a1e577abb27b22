// SPDX-License-Identifier: MIT
// Attention on the GPU: which path it takes, and of the fused one which kernels run, with which tiles.
#include "attention_backward.cuh"
#include "attention_cublas.cuh"
#include "attention_forward.cuh"
#include "attention_tensor.cuh"
#include "attention_terms.cuh"
#include "instances.hpp"
#include "lexformer/kernels/cuda.hpp"

namespace lexformer {
namespace cuda {
namespace {

/// Bytes of shared memory that this GPU gives to a block.
std::size_t most_shared() {
  static const std::size_t most = [] {
    int device = 0, bytes = 0;
    LEXFORMER_CUDA_CHECK(cudaGetDevice(&device));
    LEXFORMER_CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    return static_cast<std::size_t>(bytes);
  }();
  return most;
}

/// Whether this GPU multiplies matrices of bfloat16 by itself.
bool has_tensor_cores() {
  static const bool has = [] {
    int device = 0, major = 0;
    LEXFORMER_CUDA_CHECK(cudaGetDevice(&device));
    LEXFORMER_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return major >= 8;
  }();
  return has;
}

/// Bytes of shared memory in the kernel that needs most.
template <class T, class Products>
std::size_t largest_shared(const AttentionView<T>& view) {
  using Tile = AttentionTile<T, Products>;
  const std::size_t sums = Tile::sums(view.head_size), of_keys = 2 * sums, of_queries = sums + attention_warps * view.table_size();
  return AttentionGradTile<T, Products>::shared(view) + (std::max(of_keys, of_queries) + 2 * Tile::square) * sizeof(accumulate_t<T>);
}

/// Calls f(Products()): for bfloat16 by tensor cores; else large tiles if two blocks of them fit on a multiprocessor, or small ones.
template <class T, class F>
void with_products(const AttentionView<T>& view, F&& f) {
  using Small = ScalarProducts<accumulate_t<T>, 16>;
  const std::size_t most = most_shared();
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (has_tensor_cores() && largest_shared<T, TensorProducts>(view) <= most) return f(TensorProducts());
  } else {
    using Large = ScalarProducts<T, 32>;
    if (2 * largest_shared<T, Large>(view) <= most) return f(Large());
  }
  if (largest_shared<T, Small>(view) <= most) return f(Small());
  fail("attention", "heads of ", view.head_size, " numbers and ", view.table_size(), " levels need more than the ", most,
       " bytes of shared memory that this GPU gives to a thread block; use more heads or fewer levels");
}

/// Tiles along the longest sequence x heads x sequences.
template <class T>
dim3 tile_rows(const AttentionArgs<T>& args, unsigned size) {
  return dim3(static_cast<unsigned>((args.longest + size - 1) / size), static_cast<unsigned>(args.heads),
              static_cast<unsigned>(args.sequences));
}

/// The kernel is always allowed all of the shared memory: what it is allowed holds for the whole process, and other threads launch it with
/// other sizes.
template <class... Parameters, class... Arguments>
void launch_tiles(const NamedKernel<Parameters...>& kernel, dim3 grid, std::size_t shared_bytes, const Arguments&... arguments) {
  check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most_shared())), kernel.name,
        kernel.file, kernel.line);
  launch(kernel, grid, dim3(attention_threads), shared_bytes, arguments...);
}

}  // namespace
}  // namespace cuda

template <class T>
void AttentionKernels<Cuda>::attention(const AttentionArgs<T>& args, T* context, accumulate_t<T>* log_sum, T* maps) {
  using namespace cuda;
  using A = accumulate_t<T>;
  if (attention_path() == AttentionPath::cublas) return cublas_attention(args, context, log_sum, maps);
  const Prepared<T> prepared(args);
  const AttentionView<T>& view = prepared.view;
  with_products(view, [&](auto products) {
    using Products = decltype(products);
    using Tile = AttentionTile<T, Products>;
    const dim3 rows = tile_rows(args, Tile::size), squares(rows.x * rows.x, rows.y, rows.z);
    const std::size_t vectors = Tile::vectors(view.head_size) * sizeof(typename Tile::Stored), tables = view.table_size() * sizeof(A);
    launch_tiles(LEXFORMER_KERNEL(attention_forward_kernel<T, Products>), rows,
                 3 * vectors + (Tile::sums(view.head_size) + Tile::square + 3 * Tile::size) * sizeof(A) + tables, view, context, log_sum);
    if (maps != nullptr && args.map_row != nullptr)
      launch_tiles(LEXFORMER_KERNEL(attention_map_kernel<T, Products>), squares, 2 * vectors + tables, view, static_cast<const A*>(log_sum),
                   rows.x, maps);
  });
}

template <class T>
void AttentionKernels<Cuda>::attention_grad(const AttentionArgs<T>& args, const T* context, const accumulate_t<T>* log_sum,
                                            const T* dcontext, const T* dmaps, const AttentionGrads<T>& grads) {
  using namespace cuda;
  if (attention_path() == AttentionPath::cublas) return cublas_attention_grad(args, log_sum, dcontext, dmaps, grads);
  using A = accumulate_t<T>;
  const Prepared<T> prepared(args);
  const AttentionView<T>& view = prepared.view;
  const Temporary<A> delta(args.tokens * args.heads);
  const AttentionGradView<T> grad_view{log_sum, delta.data(), context, dcontext, dmaps};

  with_products(view, [&](auto products) {
    using Products = decltype(products);
    using Tile = AttentionTile<T, Products>;
    const dim3 rows = tile_rows(args, Tile::size), squares(rows.x * rows.x, rows.y, rows.z);
    const std::size_t shared = AttentionGradTile<T, Products>::shared(view), sums_of_vectors = Tile::sums(view.head_size) * sizeof(A);
    const std::size_t two_squares = 2 * Tile::square * sizeof(A), codes = attention_warps * view.table_size() * sizeof(A);
    const TableGrads<T> tables(args, grads, rows.x * rows.z);
    launch_tiles(LEXFORMER_KERNEL(attention_query_grad_kernel<T, Products>), rows, shared + sums_of_vectors + two_squares + codes, view,
                 grad_view, delta.data(), grads.qkv, tables.sums);
    launch_tiles(LEXFORMER_KERNEL(attention_key_grad_kernel<T, Products>), rows, shared + 2 * sums_of_vectors + two_squares, view,
                 grad_view, grads.qkv, tables.sums);
    if (grads.position_bias != nullptr) {
      Memory<Cuda>::zero(grads.position_bias, args.heads * args.bias_length * args.bias_length * sizeof(T));
      launch_tiles(LEXFORMER_KERNEL(attention_bias_grad_kernel<T, Products>), dim3(squares.x, squares.y), shared, view, grad_view,
                   args.sequences, rows.x, grads.position_bias);
    }
    if (grads.gate != nullptr)
      launch_tiles(LEXFORMER_KERNEL(attention_gate_grad_kernel<T, Products>), dim3(squares.x, 1, squares.z), shared, view, grad_view,
                   rows.x, grads.gate);
    tables.write(args, grads);
  });
}

LEXFORMER_ATTENTION_INSTANCES(float)
LEXFORMER_ATTENTION_INSTANCES(double)
LEXFORMER_ATTENTION_INSTANCES(bfloat16)

}  // namespace lexformer
