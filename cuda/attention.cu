// SPDX-License-Identifier: MIT
// Attention on the GPU: which kernels run, with which tiles, and the products around them that belong to a whole head.
#include <deque>

#include "attention_backward.cuh"
#include "attention_forward.cuh"
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

/// Numbers of shared memory in the kernel that needs most.
template <class T, unsigned size>
std::size_t largest_shared(const AttentionView<T>& view) {
  using Tile = AttentionTile<T, size>;
  return AttentionGradTile<T, size>::shared(view) + 2 * Tile::vectors(view.head_size) + 2 * Tile::square;
}

/// Calls f(std::integral_constant<unsigned, size>) with large tiles if two blocks of them fit on a multiprocessor, else with small ones.
template <class T, class F>
void with_tile_size(const AttentionView<T>& view, F&& f) {
  const std::size_t most = most_shared();
  if (2 * largest_shared<T, 32>(view) * sizeof(accumulate_t<T>) <= most)
    f(std::integral_constant<unsigned, 32>());
  else if (largest_shared<T, 16>(view) * sizeof(accumulate_t<T>) <= most)
    f(std::integral_constant<unsigned, 16>());
  else
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

/// The view of `args`, with the products of relative terms: products[i, h, r] = scale <q_ih, table_hr>, or of k.
template <class T>
class Prepared {
 public:
  explicit Prepared(const AttentionArgs<T>& args) : view(args) {
    if (args.sequences > 65535 || args.heads > 65535)
      fail("attention", args.sequences, " sequences, ", args.heads, " heads; a GPU takes 65535 at once");
    const std::size_t d = view.head_size;
    for (unsigned t = 0; t < view.relatives; ++t) {
      const auto& r = args.relatives[t];
      const std::size_t row = args.heads * r.rows;
      accumulate_t<T>* const to = products_.emplace_back(args.tokens * row).data();
      const T* const from = args.qkv + (r.key_side ? args.width : 0);
      for (std::size_t h = 0; h < args.heads; ++h)
        Kernels<Cuda>::gemm(false, true, args.tokens, r.rows, d, r.scale, from + h * d, 3 * args.width, table(r, d, h), d, 0,
                            to + h * r.rows, row);
      view.relative[t].products = to;
    }
  }
  static const T* table(const typename AttentionArgs<T>::Relative& r, std::size_t d, std::size_t h) {
    return r.table + (r.tables == 1 ? 0 : h * r.rows * d);
  }
  AttentionView<T> view;

 private:
  std::deque<Temporary<accumulate_t<T>>> products_;
};

/// n numbers as T: x itself, or a rounded copy.
template <class T>
class Stored {
 public:
  Stored(std::size_t n, const accumulate_t<T>* x) : copy_(is_storage<T> ? n : 0) {
    if constexpr (is_storage<T>) {
      Kernels<Cuda>::cast(n, x, copy_.data());
      data_ = copy_.data();
    } else {
      data_ = x;
    }
  }
  const T* data() const { return data_; }

 private:
  Temporary<T> copy_;
  const T* data_;
};

/// The gradients of a relative term from the sums of its rows, (N, H, R): of q (or k), added, and of the table, written if wanted.
template <class T>
void relative_grad(const AttentionArgs<T>& args, const typename AttentionArgs<T>::Relative& r, const accumulate_t<T>* sums, T* dqkv,
                   T* dtable) {
  const std::size_t d = args.width / args.heads, row = args.heads * r.rows, side = r.key_side ? args.width : 0;
  const Stored<T> stored(args.tokens * row, sums);
  const std::size_t size = dtable == nullptr ? 0 : r.tables * r.rows * d;
  const Temporary<accumulate_t<T>> of_table(size);  // a table that the heads share gets the sum
  for (std::size_t h = 0; h < args.heads; ++h) {
    const T* const g = stored.data() + h * r.rows;
    Kernels<Cuda>::gemm(false, false, args.tokens, d, r.rows, r.scale, g, row, Prepared<T>::table(r, d, h), d, 1, dqkv + side + h * d,
                        3 * args.width);
    if (dtable == nullptr) continue;
    Kernels<Cuda>::gemm(true, false, r.rows, d, args.tokens, r.scale, g, row, args.qkv + side + h * d, 3 * args.width,
                        r.tables == 1 && h > 0 ? 1 : 0, of_table.data() + (r.tables == 1 ? 0 : h * r.rows * d), d);
  }
  Kernels<Cuda>::cast(size, of_table.data(), dtable);
}

template <class T>
T* zeros(std::deque<Temporary<T>>& all, std::size_t count) {
  T* const data = all.emplace_back(count).data();
  Memory<Cuda>::zero(data, count * sizeof(T));
  return data;
}

}  // namespace
}  // namespace cuda

template <class T>
void AttentionKernels<Cuda>::attention(const AttentionArgs<T>& args, T* context, accumulate_t<T>* log_sum, T* maps) {
  using namespace cuda;
  const Prepared<T> prepared(args);
  const AttentionView<T>& view = prepared.view;
  with_tile_size(view, [&](auto tile) {
    constexpr unsigned size = tile;
    using Tile = AttentionTile<T, size>;
    const dim3 rows = tile_rows(args, size), squares(rows.x * rows.x, rows.y, rows.z);
    const std::size_t vectors = Tile::vectors(view.head_size);
    launch_tiles(LEXFORMER_KERNEL(attention_forward_kernel<T, size>), rows,
                 (4 * vectors + Tile::square + 3 * size + view.table_size()) * sizeof(accumulate_t<T>), view, context, log_sum);
    if (maps != nullptr && args.map_row != nullptr)
      launch_tiles(LEXFORMER_KERNEL(attention_map_kernel<T, size>), squares, (2 * vectors + view.table_size()) * sizeof(accumulate_t<T>),
                   view, static_cast<const accumulate_t<T>*>(log_sum), rows.x, maps);
  });
}

template <class T>
void AttentionKernels<Cuda>::attention_grad(const AttentionArgs<T>& args, const accumulate_t<T>* log_sum, const T* dcontext, const T* dmaps,
                                            const AttentionGrads<T>& grads) {
  using namespace cuda;
  using A = accumulate_t<T>;
  const Prepared<T> prepared(args);
  const AttentionView<T>& view = prepared.view;
  std::deque<Temporary<A>> memory;
  AttentionTableSums<T> sums;
  for (unsigned t = 0; t < view.lookups; ++t)
    if (grads.lookups[t] != nullptr) sums.lookup[t] = zeros(memory, args.tokens * args.heads * args.lookups[t].levels);
  for (unsigned t = 0; t < view.relatives; ++t) sums.relative[t] = zeros(memory, args.tokens * args.heads * args.relatives[t].rows);
  A* const delta = memory.emplace_back(args.tokens * args.heads).data();
  const AttentionGradView<T> grad_view{log_sum, delta, dcontext, dmaps};

  with_tile_size(view, [&](auto tile) {
    constexpr unsigned size = tile;
    using Tile = AttentionTile<T, size>;
    const dim3 rows = tile_rows(args, size), squares(rows.x * rows.x, rows.y, rows.z);
    const std::size_t vectors = Tile::vectors(view.head_size), shared = AttentionGradTile<T, size>::shared(view);
    launch_tiles(LEXFORMER_KERNEL(attention_query_grad_kernel<T, size>), rows, (shared + vectors + 2 * Tile::square) * sizeof(A), view,
                 grad_view, delta, grads.qkv, sums);
    launch_tiles(LEXFORMER_KERNEL(attention_key_grad_kernel<T, size>), rows, (shared + 2 * vectors + 2 * Tile::square) * sizeof(A), view,
                 grad_view, grads.qkv, sums);
    if (grads.position_bias != nullptr) {
      Memory<Cuda>::zero(grads.position_bias, args.heads * args.bias_length * args.bias_length * sizeof(T));
      launch_tiles(LEXFORMER_KERNEL(attention_bias_grad_kernel<T, size>), dim3(squares.x, squares.y), shared * sizeof(A), view, grad_view,
                   args.sequences, rows.x, grads.position_bias);
    }
    if (grads.gate != nullptr)
      launch_tiles(LEXFORMER_KERNEL(attention_gate_grad_kernel<T, size>), dim3(squares.x, 1, squares.z), shared * sizeof(A), view,
                   grad_view, rows.x, grads.gate);
  });
  for (unsigned t = 0; t < view.relatives; ++t) relative_grad(args, args.relatives[t], sums.relative[t], grads.qkv, grads.relatives[t]);
  for (unsigned t = 0; t < view.lookups; ++t) {
    if (sums.lookup[t] == nullptr) continue;
    const std::size_t columns = args.heads * args.lookups[t].levels;
    RowKernels<Cuda>::column_sum(args.tokens, columns, sums.lookup[t], columns, grads.lookups[t]);
  }
}

LEXFORMER_ATTENTION_INSTANCES(float)
LEXFORMER_ATTENTION_INSTANCES(double)
LEXFORMER_ATTENTION_INSTANCES(bfloat16)

}  // namespace lexformer
