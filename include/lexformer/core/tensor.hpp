// SPDX-License-Identifier: MIT
// Tensor: contiguous row-major data with shared storage, without gradient (see Var in autograd/var.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/core/device.hpp"
#include "lexformer/core/shape.hpp"

namespace lexformer {

namespace detail {
/// The memory that Tensors share, and how often it was opened for writing.
template <class Dev>
struct Storage {
  explicit Storage(std::size_t bytes) : block(Memory<Dev>::allocate(bytes)) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() { Memory<Dev>::release(block); }
  MemoryBlock block;
  std::uint64_t version = 0;
};
}  // namespace detail

/// A contiguous row-major array on a device. Copies share the elements; clone() copies them. A default-constructed Tensor is
/// undefined and means "no value", e.g. "no gradient".
///
/// mutable_data() increments a version number, so that backward detects changes to the values it needs (autograd/var.hpp).
template <class T = float, class Dev = Cpu>
class Tensor {
 public:
  using value_type = T;

  Tensor() = default;
  /// Allocates without initializing the elements.
  explicit Tensor(Shape shape) : shape_(shape), storage_(std::make_shared<detail::Storage<Dev>>(bytes_of(shape.size()))) {}

  static Tensor full(Shape shape, T value) { return from(std::vector<T>(shape.size(), value), shape); }
  static Tensor zeros(Shape shape) {
    Tensor t(shape);
    Memory<Dev>::zero(t.mutable_data(), t.bytes());
    return t;
  }
  static Tensor ones(Shape shape) { return full(shape, T{1}); }
  static Tensor scalar(T value) { return full({}, value); }
  /// Copies the values. Errors: their number is not shape.size().
  static Tensor from(std::span<const T> values, Shape shape) {
    if (values.size() != shape.size()) fail("Tensor::from", values.size(), " values for shape ", shape, ", which needs ", shape.size());
    Tensor t(shape);
    t.assign(values);
    return t;
  }
  static Tensor from(std::initializer_list<T> values, Shape shape) { return from(std::span(values.begin(), values.size()), shape); }
  static Tensor from(std::initializer_list<T> values) { return from(values, {values.size()}); }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  std::size_t rank() const { return shape_.rank(); }
  std::size_t size() const { return defined() ? shape_.size() : 0; }
  std::size_t dim(std::size_t axis) const {
    if (axis >= rank()) fail("Tensor::dim", "axis ", axis, " is out of range for shape ", shape_);
    return shape_[axis];
  }

  const T* data() const { return defined() ? first() : nullptr; }
  T* mutable_data() {
    if (!defined()) fail("Tensor::mutable_data", "the tensor is undefined");
    ++storage_->version;
    return first();
  }
  /// Increments the version number, after the elements were changed through a pointer that somebody kept.
  void touch() { mutable_data(); }
  std::span<const T> span() const requires std::is_same_v<Dev, Cpu> { return {data(), size()}; }
  std::span<T> mutable_span() requires std::is_same_v<Dev, Cpu> {
    T* first = mutable_data();
    return {first, size()};
  }
  std::vector<T> to_vector() const {
    std::vector<T> values(size());
    Memory<Dev>::download(values.data(), data(), bytes());
    return values;
  }
  /// Overwrites the elements. Errors: the number of values is not size().
  void assign(std::span<const T> values) {
    if (values.size() != size()) fail("Tensor::assign", values.size(), " values for shape ", shape_, ", which needs ", size());
    Memory<Dev>::upload(mutable_data(), values.data(), bytes());
  }
  /// Copies the elements to another device; on the same device, returns a Tensor that shares them.
  template <class To>
  Tensor<T, To> to() const {
    if constexpr (std::is_same_v<To, Dev>) {
      return *this;
    } else {
      if (!defined()) return {};
      Tensor<T, To> t(shape_);
      if constexpr (std::is_same_v<To, Cpu>)
        Memory<Dev>::download(t.mutable_data(), data(), bytes());
      else if constexpr (std::is_same_v<Dev, Cpu>)
        Memory<To>::upload(t.mutable_data(), data(), bytes());
      else
        t = to<Cpu>().template to<To>();
      return t;
    }
  }

  /// The only element. Errors: size() is not 1.
  T item() const {
    if (size() != 1) fail("Tensor::item", "shape ", shape_, " does not have exactly one element");
    return read(0);
  }
  /// The element at the given index, one integer per axis. Errors: the index is out of range.
  template <class... Index>
  T at(Index... index) const {
    const std::size_t ix[] = {static_cast<std::size_t>(index)..., 0};
    if (!defined()) fail("Tensor::at", "the tensor is undefined");
    if (sizeof...(index) != rank()) fail("Tensor::at", "got ", sizeof...(index), " indices for shape ", shape_);
    std::size_t flat = 0;
    for (std::size_t axis = 0; axis < rank(); ++axis) {
      if (ix[axis] >= shape_[axis]) fail("Tensor::at", "index ", ix[axis], " of axis ", axis, " is outside shape ", shape_);
      flat = flat * shape_[axis] + ix[axis];
    }
    return read(flat);
  }

  /// Changes the shape and shares the elements. Errors: the number of elements differs.
  Tensor reshape(Shape shape) const {
    if (shape.size() != size()) fail("Tensor::reshape", "cannot reshape ", shape_, " to ", shape, ": the numbers of elements differ");
    Tensor t = *this;
    t.shape_ = shape;
    return t;
  }
  /// Rows begin .. end-1 of the first axis, sharing the elements. Errors: the range is not within the axis.
  Tensor slice(std::size_t begin, std::size_t end) const {
    if (rank() == 0 || begin > end || end > shape_[0])
      fail("Tensor::slice", "rows ", begin, " to ", end, " are out of range for shape ", shape_);
    std::vector<std::size_t> dims(shape_.begin(), shape_.end());
    Tensor t = *this;
    t.offset_ += begin * (shape_[0] == 0 ? 0 : size() / shape_[0]) * sizeof(T);
    dims[0] = end - begin;
    t.shape_ = Shape(dims.begin(), dims.end());
    return t;
  }
  /// Reads the memory from element `begin` on as a tensor of another element type, sharing it. Errors: it is not aligned for U, or ends
  /// before the shape does.
  template <class U>
  Tensor<U, Dev> view(std::size_t begin, Shape shape) const {
    Tensor<U, Dev> t;
    std::size_t needed = 0;
    if (!defined() || begin > size() || (offset_ + begin * sizeof(T)) % alignof(U) != 0 ||
        __builtin_mul_overflow(shape.size(), sizeof(U), &needed) || needed > (size() - begin) * sizeof(T))
      fail("Tensor::view", "the elements from ", begin, " on of shape ", shape_, " do not hold shape ", shape, " of the other type");
    t.shape_ = shape;
    t.storage_ = storage_;
    t.offset_ = offset_ + begin * sizeof(T);
    return t;
  }
  Tensor clone() const {
    if (!defined()) return {};
    Tensor t(shape_);
    Memory<Dev>::copy(t.mutable_data(), data(), bytes());
    return t;
  }

  /// The number of times the storage was opened for writing.
  std::uint64_t version() const { return defined() ? storage_->version : 0; }
  /// Where version() is stored; keeps the storage alive. Null for an undefined Tensor.
  std::shared_ptr<const std::uint64_t> version_counter() const {
    return defined() ? std::shared_ptr<const std::uint64_t>(storage_, &storage_->version) : nullptr;
  }
  /// Whether no other Tensor shares the elements.
  bool unique() const { return storage_.use_count() == 1; }
  bool shares_storage(const Tensor& other) const { return defined() && storage_ == other.storage_; }

 private:
  template <class U, class D>
  friend class Tensor;
  static_assert(std::is_trivially_copyable_v<T>);

  static std::size_t bytes_of(std::size_t count) {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) fail("Tensor", count, " elements do not fit into memory");
    return bytes;
  }
  std::size_t bytes() const { return size() * sizeof(T); }
  T* first() const { return reinterpret_cast<T*>(static_cast<std::byte*>(storage_->block.data) + offset_); }
  T read(std::size_t at) const {
    T value;
    Memory<Dev>::download(&value, data() + at, sizeof(T));
    return value;
  }

  Shape shape_;
  std::shared_ptr<detail::Storage<Dev>> storage_;
  std::size_t offset_ = 0;  // in bytes
};

/// Prints values and shape; for an axis of more than 8 elements, the first and last three.
template <class T>
std::ostream& operator<<(std::ostream& out, const Tensor<T, Cpu>& t) {
  if (!t.defined()) return out << "Tensor(undefined)";
  const auto precision = out.precision(6);
  const auto print = [&](const auto& self, std::size_t axis, std::size_t flat) -> void {
    if (axis == t.rank()) {
      out << +t.data()[flat];
      return;
    }
    const std::size_t count = t.shape()[axis];
    std::size_t stride = 1;
    for (std::size_t a = axis + 1; a < t.rank(); ++a) stride *= t.shape()[a];
    out << '[';
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out << (axis + 1 < t.rank() ? ",\n" + std::string(axis + 1, ' ') : ", ");
      if (count > 8 && i == 3) {
        out << "...";
        i = count - 4;
        continue;
      }
      self(self, axis + 1, flat + i * stride);
    }
    out << ']';
  };
  print(print, 0, 0);
  out.precision(precision);
  return out << " shape " << t.shape();
}

/// Errors: a row of the matrix contains NaN or infinity (exit code 4). The message has `where`, `what` and the row's number, counted from
/// `first`. Such results can come from finite weights that overflow in products.
template <class T>
void require_finite(const Tensor<T>& rows, const std::string& where, const char* what, std::size_t first) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!std::isfinite(static_cast<double>(rows.data()[i])))
      fail_numeric(where, what, " ", first + i / rows.dim(1), ": the model's result is ", static_cast<double>(rows.data()[i]),
                   "; its weights overflow");
}

}  // namespace lexformer
