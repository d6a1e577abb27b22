// SPDX-License-Identifier: MIT
// Attention on the GPU: selects the path, and for the fused path the kernels and tiles. Falls back to cuBLAS if no tiles fit.
#include <algorithm>
#include <mutex>
#include <set>

#include "attention_backward.cuh"
#include "attention_cublas.cuh"
#include "attention_forward.cuh"
#include "attention_strip_backward.cuh"
#include "attention_strip_forward.cuh"
#include "attention_strip_long.cuh"
#include "attention_tensor.cuh"
#include "attention_terms.cuh"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"
#include "packs.cuh"

namespace lexformer {
namespace cuda {
namespace {

/// The shared memory of this GPU, in bytes.
struct SharedMemory {
  std::size_t block = 0;           // the maximum of a block
  std::size_t multiprocessor = 0;  // for all blocks on it, each with `reserved` bytes besides its own
  std::size_t reserved = 0;

  bool fits(std::size_t bytes, std::size_t blocks) const { return bytes <= block && blocks * (bytes + reserved) <= multiprocessor; }
};
const SharedMemory& shared_memory_of_device() {
  static const SharedMemory memory = [] {
    int device = 0;
    LEXFORMER_CUDA_CHECK(cudaGetDevice(&device));
    const auto get = [device](cudaDeviceAttr attribute) {
      int bytes = 0;
      LEXFORMER_CUDA_CHECK(cudaDeviceGetAttribute(&bytes, attribute, device));
      return static_cast<std::size_t>(bytes);
    };
    return SharedMemory{get(cudaDevAttrMaxSharedMemoryPerBlockOptin), get(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
                        get(cudaDevAttrReservedSharedMemoryPerBlock)};
  }();
  return memory;
}

/// Bytes of shared memory that each kernel needs.
template <class T, class Products>
struct SharedBytes {
  std::size_t forward, map, grad, query_grad, key_grad;

  explicit SharedBytes(const AttentionView<T>& view) {
    using Tile = AttentionTile<T, Products>;
    constexpr std::size_t number = sizeof(accumulate_t<T>), square = Tile::square * number;
    const std::size_t vectors = Tile::vectors(view.head_size) * sizeof(typename Tile::Stored), sums = Tile::sums(view.head_size) * number;
    const std::size_t tables = view.table_size() * number;
    forward = 3 * vectors + sums + square + 3 * Tile::size * number + tables;
    map = 2 * vectors + tables;
    grad = 4 * vectors + tables;
    query_grad = grad + sums + 2 * square + attention_warps * tables;
    key_grad = grad + 2 * sums + 2 * square;
  }
};

/// Calls f(Products(), its SharedBytes). Uses tensor cores for bfloat16; else large tiles if two blocks of them fit on a multiprocessor.
/// Falls back to small tiles. Returns false if these do not fit, either. `need` selects the bytes of SharedBytes that must fit.
template <class T, class Need, class F>
bool with_products(const AttentionArgs<T>& args, const Need& need, const F& f) {
  const AttentionView<T> view(args);
  const auto if_fits = [&](auto products, std::size_t blocks) {
    const SharedBytes<T, decltype(products)> bytes(view);
    const bool fits = shared_memory_of_device().fits(need(bytes), blocks);
    if (fits) f(products, bytes);
    return fits;
  };
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (if_fits(TensorProducts(), 1)) return true;
  } else {
    if (if_fits(ScalarProducts<T, 32>(), 2)) return true;
  }
  return if_fits(ScalarProducts<accumulate_t<T>, 16>(), 1);
}

/// The launches of the kernels that keep scores in registers.
struct StripLaunch {
  StripBlocks blocks, key_blocks;
  unsigned warps;  // of the kernel whose blocks own a (sequence, head)
  StripBytes bytes;
  dim3 heads, grid, key_grid;

  explicit StripLaunch(const AttentionArgs<bfloat16>& args)
      : blocks(args.longest),
        key_blocks(args.longest, most_key_warps(args.width / args.heads)),
        warps(static_cast<unsigned>(std::clamp<std::size_t>((args.longest + 15) / 16, 1, attention_warps))),
        bytes(AttentionView<bfloat16>(args), args.longest, warps, blocks, key_blocks),
        heads(static_cast<unsigned>(args.heads), static_cast<unsigned>(args.sequences)),
        grid(heads.x, heads.y, blocks.count),
        key_grid(heads.x, heads.y, key_blocks.count) {}
};
/// Whether these kernels support the arguments. `vectors`: what is accessed several elements at a time, besides codes. The kernels' places
/// (i, j) have 32 bits.
bool supports_strips(const AttentionArgs<bfloat16>& args, std::size_t bytes, std::initializer_list<const void*> vectors) {
  const std::size_t d = args.width / args.heads;
  const bool copies_codes = strip_terms(AttentionView<bfloat16>(args)) == StripTerms::lookup;
  return (d == 32 || d == 64) && std::all_of(vectors.begin(), vectors.end(), aligned_to<Pack<bfloat16>>) &&
         (!copies_codes || aligned_to<Pack<std::uint16_t>>(args.lookups[0].code)) && shared_memory_of_device().fits(bytes, 1) &&
         args.longest < 65536;
}
/// Calls f(size of a head, terms), each as a constant.
template <class F>
void with_strip_kernel(const AttentionArgs<bfloat16>& args, const F& f) {
  using Terms = StripTerms;
  const auto with_terms = [&](auto d) {
    switch (strip_terms(AttentionView<bfloat16>(args))) {
      case Terms::none:
        return f(d, std::integral_constant<Terms, Terms::none>());
      case Terms::lookup:
        return f(d, std::integral_constant<Terms, Terms::lookup>());
      case Terms::all:
        return f(d, std::integral_constant<Terms, Terms::all>());
    }
  };
  if (args.width / args.heads == 32)
    with_terms(std::integral_constant<unsigned, 32>());
  else
    with_terms(std::integral_constant<unsigned, 64>());
}

/// The grid: tiles of the longest sequence x heads x sequences.
template <class T>
dim3 tile_rows(const AttentionArgs<T>& args, unsigned size) {
  return dim3(static_cast<unsigned>((args.longest + size - 1) / size), static_cast<unsigned>(args.heads),
              static_cast<unsigned>(args.sequences));
}

/// Launches a kernel of `threads` threads that uses only dynamic shared memory. Its limit is the maximum, because it applies to the whole
/// process, and other threads may launch the kernel with other sizes; it is set at the first launch.
template <class... Parameters, class... Arguments>
void launch_tiles(const NamedKernel<Parameters...>& kernel, dim3 grid, unsigned threads, std::size_t shared_bytes,
                  const Arguments&... arguments) {
  static std::mutex mutex;
  static std::set<void (*)(Parameters...)> known;
  {
    const std::lock_guard lock(mutex);
    if (!known.contains(kernel.function)) {
      check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_memory_of_device().block)),
            kernel.name, kernel.file, kernel.line);
      known.insert(kernel.function);
    }
  }
  launch(kernel, grid, dim3(threads), shared_bytes, arguments...);
}

/// The backward pass without the gradients of position bias, pair bias and gate, by the kernels that keep scores in registers: by one if
/// two of its blocks fit on a multiprocessor. False if they do not support the arguments.
template <class T>
bool grad_by_strips(const AttentionArgs<T>& args, const AttentionView<T>& view, const accumulate_t<T>* logsumexp, const T* dcontext,
                    const T* dmaps, accumulate_t<T>* delta, const AttentionGrads<T>& grads) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    const StripLaunch strips(args);
    const auto& bytes = strips.bytes;
    const bool together = shared_memory_of_device().fits(bytes.grad, 2);
    if (!args.relatives.empty() || dcontext == nullptr || dmaps != nullptr ||
        !supports_strips(args, together ? bytes.grad : std::max(bytes.query_grad, bytes.key_grad), {args.qkv, dcontext, grads.qkv}))
      return false;
    const TableGrads<T> tables(args, grads, args.sequences * (together ? 1 : strips.blocks.count), together);
    with_strip_kernel(args, [&](auto d, auto terms) {
      if (together) {
        launch_tiles(LEXFORMER_KERNEL(attention_strip_grad_kernel<d, terms>), strips.heads, 32 * strips.warps, bytes.grad, view, logsumexp,
                     dcontext, delta, grads.qkv, tables.sums);
      } else {
        launch_tiles(LEXFORMER_KERNEL(attention_strip_query_grad_kernel<d, terms>), strips.grid, 32 * strips.blocks.warps, bytes.query_grad,
                     view, logsumexp, dcontext, delta, grads.qkv, tables.sums);
        launch_tiles(LEXFORMER_KERNEL(attention_strip_key_grad_kernel<d, terms>), strips.key_grid, 32 * strips.key_blocks.warps,
                     bytes.key_grad, view, logsumexp, dcontext, static_cast<const accumulate_t<T>*>(delta), grads.qkv);
      }
    });
    tables.write(args, grads);
    return true;
  } else {
    return false;
  }
}

}  // namespace
}  // namespace cuda

template <>
template <class T>
void AttentionKernels<Cuda>::attention(const AttentionArgs<T>& args, T* context, accumulate_t<T>* logsumexp, T* attentions) {
  using namespace cuda;
  if (attention_path() == AttentionPath::cublas) return cublas_attention(args, context, logsumexp, attentions);
  const bool maps = attentions != nullptr && args.map_row != nullptr;
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (const StripLaunch strips(args); !maps && supports_strips(args, strips.bytes.forward, {args.qkv, context})) {
      const Prepared<T> prepared(args);
      with_strip_kernel(args, [&](auto d, auto terms) {
        launch_tiles(LEXFORMER_KERNEL(attention_strip_forward_kernel<d, terms>), strips.grid, 32 * strips.blocks.warps,
                     strips.bytes.forward, prepared.view, context, logsumexp);
      });
      return;
    }
  }
  const bool fits = with_products(
      args, [](const auto& bytes) { return bytes.forward; },
      [&](auto products, const auto& bytes) {
        using Products = decltype(products);
        const Prepared<T> prepared(args);
        const AttentionView<T>& view = prepared.view;
        const dim3 rows = tile_rows(args, Products::size), squares(rows.x * rows.x, rows.y, rows.z);
        launch_tiles(LEXFORMER_KERNEL(attention_forward_kernel<T, Products>), rows, attention_threads, bytes.forward, view, context,
                     logsumexp);
        if (maps)
          launch_tiles(LEXFORMER_KERNEL(attention_map_kernel<T, Products>), squares, attention_threads, bytes.map, view,
                       static_cast<const accumulate_t<T>*>(logsumexp), rows.x, attentions);
      });
  if (!fits) cublas_attention(args, context, logsumexp, attentions);
}

template <>
template <class T>
void AttentionKernels<Cuda>::attention_grad(const AttentionArgs<T>& args, const T* context, const accumulate_t<T>* logsumexp,
                                            const T* dcontext, const T* dmaps, const AttentionGrads<T>& grads) {
  using namespace cuda;
  if (attention_path() == AttentionPath::cublas) return cublas_attention_grad(args, logsumexp, dcontext, dmaps, grads);
  const bool fits = with_products(
      args, [](const auto& bytes) { return std::max(bytes.query_grad, bytes.key_grad); },
      [&](auto products, const auto& bytes) {
        using Products = decltype(products);
        const Prepared<T> prepared(args);
        const AttentionView<T>& view = prepared.view;
        const Temporary<accumulate_t<T>> delta(args.tokens * args.heads);
        const AttentionGradView<T> grad_view{logsumexp, delta.data(), context, dcontext, dmaps};
        const dim3 rows = tile_rows(args, Products::size), squares(rows.x * rows.x, rows.y, rows.z);
        const auto launch_all = [&](const auto& kernel, dim3 grid, std::size_t shared_bytes, const auto&... arguments) {
          launch_tiles(kernel, grid, attention_threads, shared_bytes, view, grad_view, arguments...);
        };
        if (!grad_by_strips(args, view, logsumexp, dcontext, dmaps, delta.data(), grads)) {
          const TableGrads<T> tables(args, grads, rows.x * rows.z, false);
          launch_all(LEXFORMER_KERNEL(attention_query_grad_kernel<T, Products>), rows, bytes.query_grad, delta.data(), grads.qkv,
                     tables.sums);
          launch_all(LEXFORMER_KERNEL(attention_key_grad_kernel<T, Products>), rows, bytes.key_grad, grads.qkv, tables.sums);
          tables.write(args, grads);
        }
        if (grads.position_bias != nullptr) {
          Memory<Cuda>::zero(grads.position_bias, args.heads * args.bias_length * args.bias_length * sizeof(T));
          launch_all(LEXFORMER_KERNEL(attention_bias_grad_kernel<T, Products>), dim3(squares.x, squares.y), bytes.grad, args.sequences,
                     rows.x, grads.position_bias);
        }
        if (grads.pair_bias != nullptr || grads.gate != nullptr)
          launch_all(LEXFORMER_KERNEL(attention_pair_grad_kernel<T, Products>), dim3(squares.x, 1, squares.z), bytes.grad, rows.x,
                     grads.pair_bias, grads.gate);
      });
  if (!fits) cublas_attention_grad(args, logsumexp, dcontext, dmaps, grads);
}

LEXFORMER_ATTENTION_INSTANCES(, Cuda, float)
LEXFORMER_ATTENTION_INSTANCES(, Cuda, double)
LEXFORMER_ATTENTION_INSTANCES(, Cuda, bfloat16)

}  // namespace lexformer
