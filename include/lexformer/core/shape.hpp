// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <ostream>

#include "lexformer/core/error.hpp"

namespace lexformer {

/// The sizes of a tensor, outermost first; rank 0 (a scalar) to 8. Printed as (2, 3, 4).
class Shape {
 public:
  static constexpr std::size_t max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::size_t> dims) : Shape(dims.begin(), dims.end()) {}
  template <class It>
  Shape(It first, It last) {
    for (; first != last; ++first) {
      if (rank_ == max_rank) fail("Shape", "rank is more than ", max_rank);
      dims_[rank_++] = static_cast<std::size_t>(*first);
    }
    std::size_t count = 1;
    for (std::size_t d : *this)
      if (__builtin_mul_overflow(count, d, &count)) fail("Shape", "number of elements overflows: ", *this);
  }

  std::size_t rank() const { return rank_; }
  std::size_t operator[](std::size_t axis) const { return dims_[axis]; }
  const std::size_t* begin() const { return dims_.data(); }
  const std::size_t* end() const { return dims_.data() + rank_; }

  /// Number of elements; 1 for a scalar.
  std::size_t size() const {
    std::size_t count = 1;
    for (std::size_t d : *this) count *= d;
    return count;
  }
  /// Size of the last axis (1 for a scalar): a tensor is rows() rows of last() elements.
  std::size_t last() const { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  std::size_t rows() const {
    std::size_t count = 1;
    for (std::size_t axis = 0; axis + 1 < rank_; ++axis) count *= dims_[axis];
    return count;
  }
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (std::size_t i = 0; i < a.rank_; ++i)
      if (a.dims_[i] != b.dims_[i]) return false;
    return true;
  }
  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    out << '(';
    for (std::size_t i = 0; i < shape.rank_; ++i) out << (i == 0 ? "" : ", ") << shape.dims_[i];
    return out << (shape.rank_ == 1 ? ",)" : ")");
  }

 private:
  std::array<std::size_t, max_rank> dims_{};
  std::size_t rank_ = 0;
};

}  // namespace lexformer
