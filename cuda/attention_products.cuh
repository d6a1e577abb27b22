// SPDX-License-Identifier: MIT
// The matrix products of attention for all heads of a chunk of sequences, by cuBLAS.
#pragma once

#include <cstdint>
#include <vector>

#include "attention_rows.cuh"
#include "cublas.cuh"

namespace lexformer::cuda {

/// A matrix for each (sequence, head) of a chunk: its square, or its columns of token rows, which are `stride` apart.
template <class E>
struct AttentionMatrices {
  E* data;
  std::size_t stride = 0;  // 0: squares

  LEXFORMER_HD bool squares() const { return stride == 0; }
  LEXFORMER_HD std::size_t row(std::size_t n) const { return squares() ? AttentionChunk::row(n) : stride; }
  template <class T>
  LEXFORMER_HD E* at(const AttentionChunk& chunk, const AttentionHead<T>& head) const {
    return data + (squares() ? chunk.square(head) : head.first * stride + head.h * head.d);
  }
  /// Distance between the matrices of consecutive heads.
  std::size_t step(std::size_t n, std::size_t head_size) const { return squares() ? n * row(n) : head_size; }
};

/// The pointers to the matrices for the grouped product.
template <class T>
struct AttentionPointers {
  const T **left, **right;
  T** out;
};
template <class T>
__global__ void attention_pointers_kernel(AttentionView<T> a, AttentionChunk chunk, AttentionMatrices<const T> left,
                                          AttentionMatrices<const T> right, AttentionMatrices<T> out, AttentionPointers<T> to) {
  for (std::size_t e = first_element(); e < chunk.sequences * a.heads; e += element_step()) {
    const AttentionHead<T> head(a, chunk.begin + e / a.heads, e % a.heads);
    to.left[e] = left.at(chunk, head);
    to.right[e] = right.at(chunk, head);
    to.out[e] = out.at(chunk, head);
  }
}

/// Computes out = alpha left right for each (sequence, head) of a chunk. There are three kinds, with squares (n, n) and columns (n, d):
/// squares = columns columns^T, columns = squares columns, and columns = squares^T columns.
template <class T>
class AttentionMultiply {
 public:
  using A = accumulate_t<T>;

  AttentionMultiply(const AttentionArgs<T>& args, const AttentionView<T>& view, const AttentionChunk& chunk) : view_(view), chunk_(chunk) {
    std::size_t pair = chunk.pair;
    for (std::size_t s = chunk.begin; s < chunk.begin + chunk.sequences; ++s) {
      const auto& head = heads_.emplace_back(view, s, 0, args.host_token_begin[s], args.host_token_begin[s + 1], pair);
      pair += head.n * head.n;
    }
  }

  template <class C>
  void operator()(A alpha, AttentionMatrices<const T> left, bool transposed, AttentionMatrices<const T> right,
                  AttentionMatrices<C> out) const {
#if CUBLAS_VERSION >= 120500
    // Grouped products need equal input and output types, and addresses aligned to 16 bytes if they can use tensor cores.
    if constexpr (std::is_same_v<T, C>)
      if (aligned(left) && aligned(right) && aligned(out)) return grouped(alpha, left, transposed, right, out);
#endif
    for (const auto& head : heads_) {
      const Sizes z(head, left, right, out);
      const A beta{0};
      LEXFORMER_CUBLAS_CHECK(cublasGemmStridedBatchedEx_64(
          cublas(), of_right(out), of_left(transposed), z.columns, z.rows, z.inner, &alpha, right.at(chunk_, head), type_of<T>, z.right,
          step(right, head), left.at(chunk_, head), type_of<T>, z.left, step(left, head), &beta, out.at(chunk_, head), type_of<C>, z.out,
          step(out, head), size(view_.heads), compute_type<T>(), CUBLAS_GEMM_DEFAULT));
    }
  }

 private:
  static std::int64_t size(std::size_t value) { return static_cast<std::int64_t>(value); }
  template <class E>
  static long long step(const AttentionMatrices<E>& m, const AttentionHead<T>& head) {
    return static_cast<long long>(m.step(head.n, head.d));
  }
  // cuBLAS is column-major: it sees the transposed matrices, so we compute out^T = right^T left^T.
  template <class C>
  static cublasOperation_t of_right(const AttentionMatrices<C>& out) {
    return out.squares() ? CUBLAS_OP_T : CUBLAS_OP_N;
  }
  static cublasOperation_t of_left(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

  struct Sizes {
    std::int64_t columns, rows, inner, left, right, out;
    template <class C>
    Sizes(const AttentionHead<T>& head, const AttentionMatrices<const T>& l, const AttentionMatrices<const T>& r,
          const AttentionMatrices<C>& o)
        : columns(size(o.squares() ? head.n : head.d)),
          rows(size(head.n)),
          inner(size(l.squares() ? head.n : head.d)),
          left(size(l.row(head.n))),
          right(size(r.row(head.n))),
          out(size(o.row(head.n))) {}
  };

  template <class E>
  bool aligned(const AttentionMatrices<E>& m) const {
    const auto whole = [](std::size_t bytes) { return bytes % 16 == 0; };
    return whole(reinterpret_cast<std::uintptr_t>(m.data)) && (m.squares() || whole(view_.head_size * sizeof(T)));
  }

#if CUBLAS_VERSION >= 120500
  /// One group per sequence, one product per head. The lists of sizes are in host memory, the lists of pointers in device memory.
  void grouped(A alpha, AttentionMatrices<const T> left, bool transposed, AttentionMatrices<const T> right,
               AttentionMatrices<T> out) const {
    const std::size_t count = heads_.size() * view_.heads;
    const Temporary<const T*> lefts(count), rights(count);
    const Temporary<T*> outs(count);
    launch(LEXFORMER_KERNEL(attention_pointers_kernel<T>), dim3(blocks_for(count, block_threads)), dim3(block_threads), 0, view_, chunk_,
           left, right, out, AttentionPointers<T>{lefts.data(), rights.data(), outs.data()});
    std::vector<std::int64_t> columns, rows, inner, left_row, right_row, out_row;
    for (const auto& head : heads_) {
      const Sizes z(head, left, right, out);
      columns.push_back(z.columns);
      rows.push_back(z.rows);
      inner.push_back(z.inner);
      left_row.push_back(z.left);
      right_row.push_back(z.right);
      out_row.push_back(z.out);
    }
    const std::size_t groups = heads_.size();
    const std::vector<cublasOperation_t> right_operation(groups, of_right(out)), left_operation(groups, of_left(transposed));
    const std::vector<std::int64_t> products(groups, size(view_.heads));
    const std::vector<A> alphas(groups, alpha), betas(groups);
    const auto list = [](const auto* pointers) { return reinterpret_cast<const void* const*>(pointers); };
    LEXFORMER_CUBLAS_CHECK(cublasGemmGroupedBatchedEx_64(
        cublas(), right_operation.data(), left_operation.data(), columns.data(), rows.data(), inner.data(), alphas.data(),
        list(rights.data()), type_of<T>, right_row.data(), list(lefts.data()), type_of<T>, left_row.data(), betas.data(),
        reinterpret_cast<void* const*>(outs.data()), type_of<T>, out_row.data(), size(groups), products.data(), compute_type<T>()));
  }
#endif

  const AttentionView<T>& view_;
  AttentionChunk chunk_;
  std::vector<AttentionHead<T>> heads_;  // head 0 of each sequence
};

}  // namespace lexformer::cuda
