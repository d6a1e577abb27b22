// SPDX-License-Identifier: MIT
// The matrix product by Eigen, where gemm_tile.hpp has no instructions. The only file that includes Eigen.
#pragma once

#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE  // parallel_for provides the threads (Eigen's busy-wait, and change the bits)
#endif
#include <Eigen/Core>
#include <algorithm>

#include "lexformer/core/parallel.hpp"

namespace lexformer::detail {

/// See gemm.hpp.
template <class T>
void gemm_eigen(bool trans_a, bool trans_b, std::size_t rows, std::size_t n, std::size_t k, T alpha, const T* a_rows, std::size_t lda,
                const T* b, std::size_t ldb, T beta, T* c_rows, std::size_t ldc, const T* bias) {
  // Blocks of rows, large enough to amortize packing B for each block.
  const std::size_t block = std::clamp<std::size_t>((rows / 8 + 7) / 8 * 8, 96, 256);
  parallel_for(rows, block, [&](std::size_t begin, std::size_t end) {
    const std::size_t m = end - begin;
    const T* a = a_rows + begin * (trans_a ? 1 : lda);
    T* c = c_rows + begin * ldc;
    using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Stride = Eigen::OuterStride<>;
    const auto ix = [](std::size_t value) { return static_cast<Eigen::Index>(value); };
    const Eigen::Map<const Matrix, 0, Stride> av(a, ix(trans_a ? k : m), ix(trans_a ? m : k), Stride(ix(lda)));
    const Eigen::Map<const Matrix, 0, Stride> bv(b, ix(trans_b ? n : k), ix(trans_b ? k : n), Stride(ix(ldb)));
    Eigen::Map<Matrix, 0, Stride> cv(c, ix(m), ix(n), Stride(ix(ldc)));
    if (bias != nullptr)
      cv.rowwise() = Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>(bias, ix(n));
    else if (beta == T{0})
      cv.setZero();
    else if (beta != T{1})
      cv *= beta;
    if (k == 0) return;
    if (trans_a && trans_b)
      cv.noalias() += alpha * (av.transpose() * bv.transpose());
    else if (trans_a)
      cv.noalias() += alpha * (av.transpose() * bv);
    else if (trans_b)
      cv.noalias() += alpha * (av * bv.transpose());
    else
      cv.noalias() += alpha * (av * bv);
  });
}

}  // namespace lexformer::detail
