// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include "lexformer/core/device.hpp"
#include "lexformer/core/shape.hpp"

namespace lexformer {

/// Broadcasting of two shapes by NumPy's rule: the sizes of the result and each operand's strides, 0 on broadcast axes.
/// Plain data, so that it can be passed to a GPU kernel by value.
struct Broadcast {
  std::size_t rank = 0, dims[Shape::max_rank] = {}, stride_a[Shape::max_rank] = {}, stride_b[Shape::max_rank] = {};

  /// Errors (host only): the shapes do not broadcast.
  Broadcast(const char* op, const Shape& a, const Shape& b) : rank(std::max(a.rank(), b.rank())) {
    std::size_t size_a = 1, size_b = 1;
    for (std::size_t k = 1; k <= rank; ++k) {  // from the innermost axis outwards
      const std::size_t axis = rank - k;
      const std::size_t da = k <= a.rank() ? a[a.rank() - k] : 1, db = k <= b.rank() ? b[b.rank() - k] : 1;
      if (da != db && da != 1 && db != 1)
        fail(op, "shapes ", a, " and ", b, " do not broadcast: ", da, " against ", db, "; axes are matched from the last one");
      dims[axis] = da == 1 ? db : da;
      stride_a[axis] = da == 1 ? 0 : size_a;
      stride_b[axis] = db == 1 ? 0 : size_b;
      size_a *= da;
      size_b *= db;
    }
  }
  /// The shape of the result.
  Shape shape() const { return Shape(dims, dims + rank); }

  /// The result is rows() rows of last() elements; within a row, each operand advances by step_a() or step_b(), 0 or 1.
  LEXFORMER_HD std::size_t last() const { return rank == 0 ? 1 : dims[rank - 1]; }
  LEXFORMER_HD std::size_t step_a() const { return rank == 0 ? 0 : stride_a[rank - 1]; }
  LEXFORMER_HD std::size_t step_b() const { return rank == 0 ? 0 : stride_b[rank - 1]; }
  LEXFORMER_HD std::size_t rows() const {
    std::size_t count = 1;
    for (std::size_t axis = 0; axis + 1 < rank; ++axis) count *= dims[axis];
    return count;
  }
  /// Where row r begins in the operands.
  struct Begin {
    std::size_t a, b;
  };
  LEXFORMER_HD Begin row(std::size_t r) const {
    Begin begin{0, 0};
    for (std::size_t axis = rank > 0 ? rank - 1 : 0; axis-- > 0;) {
      const std::size_t i = r % dims[axis];
      r /= dims[axis];
      begin.a += i * stride_a[axis];
      begin.b += i * stride_b[axis];
    }
    return begin;
  }
};

}  // namespace lexformer
