// SPDX-License-Identifier: MIT
// One block of a matrix product, by Eigen. This is the only file that includes Eigen.
#pragma once

#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE  // threads are ours, above the product (Eigen's busy-wait, and change the bits)
#endif
#include <Eigen/Core>

#include "lexformer/kernels/gemm.hpp"

namespace lexformer {

template <class T>
void gemm_serial(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda, const T* b,
                 std::size_t ldb, T beta, T* c, std::size_t ldc) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Stride = Eigen::OuterStride<>;
  using View = Eigen::Map<const Matrix, 0, Stride>;
  const auto ix = [](std::size_t value) { return static_cast<Eigen::Index>(value); };
  const View av(a, ix(trans_a ? k : m), ix(trans_a ? m : k), Stride(ix(lda)));
  const View bv(b, ix(trans_b ? n : k), ix(trans_b ? k : n), Stride(ix(ldb)));
  Eigen::Map<Matrix, 0, Stride> cv(c, ix(m), ix(n), Stride(ix(ldc)));
  if (beta == T{0})
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
}

}  // namespace lexformer
