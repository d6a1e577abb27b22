// SPDX-License-Identifier: MIT
// Attention by cuBLAS: for each chunk of sequences, cuBLAS computes the scores, a kernel processes their rows, and cuBLAS computes the
// products with them.
#include "attention_cublas.cuh"

#include <atomic>

#include "attention_products.cuh"
#include "attention_terms.cuh"

namespace lexformer::cuda {
namespace {

struct Choice {
  std::atomic<AttentionPath> path{AttentionPath::fused};
  std::atomic<std::size_t> scratch_bytes{std::size_t{64} << 20};
};
Choice& choice() {
  static Choice instance;
  return instance;
}

/// Splits the sequences of `args`, in order, into chunks that fit into the scratch memory with `bytes` per element of a square.
template <class T>
std::vector<AttentionChunk> chunks_of(const AttentionArgs<T>& args, std::size_t bytes) {
  if (args.host_token_begin == nullptr) fail("attention", "AttentionPath::cublas needs host_token_begin");
  const std::size_t most = choice().scratch_bytes / bytes;
  std::vector<AttentionChunk> chunks;
  std::size_t pair = 0;
  for (std::size_t s = 0; s < args.sequences; ++s) {
    const std::size_t token = args.host_token_begin[s], end = args.host_token_begin[s + 1], n = end - token;
    if (chunks.empty() || chunks.back().numbers(args.heads, end, pair + n * n) > most) chunks.push_back({s, 0, 0, token, pair});
    AttentionChunk& chunk = chunks.back();
    ++chunk.sequences;
    chunk.longest = std::max(chunk.longest, n);
    pair += n * n;
  }
  return chunks;
}

/// Memory for the squares of the largest chunk.
template <class T>
class Squares {
 public:
  Squares(const AttentionArgs<T>& args, const std::vector<AttentionChunk>& chunks) : Squares(largest(args, chunks)) {}
  accumulate_t<T>* exact() const { return exact_.data(); }
  /// The input of the products: the same memory, or memory for rounded values if T is only a storage type.
  T* stored() const {
    if constexpr (is_storage<T>)
      return rounded_.data();
    else
      return exact_.data();
  }
  /// Bytes per element.
  static constexpr std::size_t bytes = sizeof(accumulate_t<T>) + (is_storage<T> ? sizeof(T) : 0);

 private:
  explicit Squares(std::size_t size) : exact_(size), rounded_(is_storage<T> ? size : 0) {}
  static std::size_t largest(const AttentionArgs<T>& args, const std::vector<AttentionChunk>& chunks) {
    std::size_t size = 0;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      const bool last = c + 1 == chunks.size();
      size =
          std::max(size, chunks[c].numbers(args.heads, last ? args.tokens : chunks[c + 1].first, last ? args.pairs : chunks[c + 1].pair));
    }
    return size;
  }
  Temporary<accumulate_t<T>> exact_;
  Temporary<T> rounded_;
};

/// The common setup of forward and backward.
template <class T>
class Problem {
 public:
  const AttentionArgs<T>& args;
  const Prepared<T> prepared;
  const AttentionView<T>& view;
  const Temporary<accumulate_t<T>> tables;

  explicit Problem(const AttentionArgs<T>& given)
      : args(given), prepared(given), view(prepared.view), tables(view.heads * view.table_size()) {
    launch(LEXFORMER_KERNEL(attention_tables_kernel<T>), dim3(static_cast<unsigned>(view.heads)), dim3(block_threads), 0, view,
           tables.data());
  }
  /// Part 0 = q, 1 = k, 2 = v of args.qkv or of its gradient.
  template <class E>
  AttentionMatrices<E> part(E* qkv, unsigned part) const {
    return {qkv + part * args.width, 3 * args.width};
  }
  AttentionMatrices<const T> part(unsigned part) const { return this->part(args.qkv, part); }
  /// The grid for blocks of `per_block` tokens: blocks of the longest sequence x heads x sequences.
  dim3 grid(const AttentionChunk& chunk, std::size_t per_block) const {
    return dim3(static_cast<unsigned>((chunk.longest + per_block - 1) / per_block), static_cast<unsigned>(args.heads),
                static_cast<unsigned>(chunk.sequences));
  }
  /// Launches a kernel with one warp per query of the chunk.
  template <class... Parameters, class... Arguments>
  void launch_rows(const NamedKernel<Parameters...>& kernel, const AttentionChunk& chunk, const Arguments&... arguments) const {
    launch(kernel, grid(chunk, Warp::rows), dim3(Warp::threads, Warp::rows), 0, view, chunk, arguments...);
  }
};

}  // namespace

void set_attention_path(AttentionPath path, std::size_t scratch_bytes) {
  choice().path = path;
  choice().scratch_bytes = scratch_bytes;
}
AttentionPath attention_path() { return choice().path; }

template <class T>
void cublas_attention(const AttentionArgs<T>& args, T* context, accumulate_t<T>* logsumexp, T* attentions) {
  using A = accumulate_t<T>;
  const auto chunks = chunks_of(args, Squares<T>::bytes);
  const Problem<T> problem(args);
  const Squares<T> scores(args, chunks);
  for (const AttentionChunk& chunk : chunks) {
    const AttentionMultiply<T> multiply(args, problem.view, chunk);
    multiply(A{1}, problem.part(0), false, problem.part(1), AttentionMatrices<A>{scores.exact()});
    problem.launch_rows(LEXFORMER_KERNEL(attention_score_kernel<T>), chunk, problem.tables.data(), scores.exact(), scores.stored(),
                        logsumexp, attentions);
    multiply(A{1}, {scores.stored()}, false, problem.part(2), AttentionMatrices<T>{context, args.width});
  }
}

template <class T>
void cublas_attention_grad(const AttentionArgs<T>& args, const accumulate_t<T>* logsumexp, const T* dcontext, const T* dmaps,
                           const AttentionGrads<T>& grads) {
  using A = accumulate_t<T>;
  const auto chunks = chunks_of(args, 2 * Squares<T>::bytes);
  const Problem<T> problem(args);
  const AttentionView<T>& view = problem.view;
  const Squares<T> scores(args, chunks), dprobabilities(args, chunks);
  const TableGrads<T> tables(args, grads, args.tokens, false);
  const Temporary<A> delta(args.tokens * args.heads);
  const Temporary<T> nothing(dcontext == nullptr ? args.tokens * args.width : 0);
  if (dcontext == nullptr) {
    Memory<Cuda>::zero(nothing.data(), args.tokens * args.width * sizeof(T));
    dcontext = nothing.data();
  }
  const std::size_t bias_size = grads.position_bias == nullptr ? 0 : args.heads * args.bias_length * args.bias_length;
  const Temporary<A> bias_sums(bias_size);
  Memory<Cuda>::zero(bias_sums.data(), bias_size * sizeof(A));
  bool key_side = false;
  for (const auto& r : args.relatives) key_side = key_side || r.key_side;

  const AttentionGradView<T> given{logsumexp, delta.data(), nullptr, dcontext, dmaps};
  const AttentionProducts<T> products{scores.exact(), dprobabilities.exact(), problem.tables.data()};
  const AttentionMatrices<const T> dout{dcontext, args.width};
  for (const AttentionChunk& chunk : chunks) {
    const AttentionMultiply<T> multiply(args, view, chunk);
    multiply(A{1}, problem.part(0), false, problem.part(1), AttentionMatrices<A>{scores.exact()});
    multiply(A{1}, dout, false, problem.part(2), AttentionMatrices<A>{dprobabilities.exact()});
    problem.launch_rows(LEXFORMER_KERNEL(attention_delta_kernel<T>), chunk, products, given, delta.data());
    if (bias_size != 0)
      launch(LEXFORMER_KERNEL(attention_bias_sum_kernel<T>), dim3(blocks_for(args.heads * chunk.longest * chunk.longest, block_threads)),
             dim3(block_threads), 0, view, chunk, products, given, bias_sums.data());
    if (grads.pair_bias != nullptr || grads.gate != nullptr)
      launch(LEXFORMER_KERNEL(attention_pair_sum_kernel<T>),
             dim3(blocks_for(chunk.longest * chunk.longest, block_threads), 1, static_cast<unsigned>(chunk.sequences)), dim3(block_threads),
             0, view, chunk, products, given, grads.pair_bias, grads.gate);
    // From here on, the squares hold dropout(P) and dS times the gate.
    problem.launch_rows(LEXFORMER_KERNEL(attention_row_grad_kernel<T>), chunk, products, given, tables.sums, dprobabilities.exact(),
                        scores.stored(), dprobabilities.stored());
    if (key_side)
      launch(LEXFORMER_KERNEL(attention_key_sum_kernel<T>), problem.grid(chunk, block_threads), dim3(block_threads), 0, view, chunk,
             static_cast<const A*>(dprobabilities.exact()), tables.sums);
    multiply(view.scale, {dprobabilities.stored()}, false, problem.part(1), problem.part(grads.qkv, 0));
    multiply(view.scale, {dprobabilities.stored()}, true, problem.part(0), problem.part(grads.qkv, 1));
    multiply(A{1}, {scores.stored()}, true, dout, problem.part(grads.qkv, 2));
  }
  ElementwiseKernels<Cuda>::cast(bias_size, bias_sums.data(), grads.position_bias);
  tables.write(args, grads);
}

#define LEXFORMER_CUBLAS_ATTENTION_INSTANCES(T)                                         \
  template void cublas_attention<T>(const AttentionArgs<T>&, T*, accumulate_t<T>*, T*); \
  template void cublas_attention_grad<T>(const AttentionArgs<T>&, const accumulate_t<T>*, const T*, const T*, const AttentionGrads<T>&);
LEXFORMER_CUBLAS_ATTENTION_INSTANCES(float)
LEXFORMER_CUBLAS_ATTENTION_INSTANCES(double)
LEXFORMER_CUBLAS_ATTENTION_INSTANCES(bfloat16)

}  // namespace lexformer::cuda
