// SPDX-License-Identifier: MIT
// Shared by the tests of this folder: arrays on the device, and the comparison of a kernel with the CPU version.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "../support/random_tensor.hpp"
#include "lexformer/kernels/cpu.hpp"
#include "lexformer/kernels/cuda.hpp"

namespace cuda_host {
void set_order(std::uint64_t seed);  // of the stand-in; on a GPU nothing (device_main.cpp), which chooses its own order
}  // namespace cuda_host

namespace lexformer::test {

using OnCpu = Kernels<Cpu>;
using OnCuda = Kernels<Cuda>;

/// Sizes around those of warps, blocks and packs.
inline const std::vector<std::size_t> odd_sizes = {1, 2, 3, 7, 31, 32, 33, 63, 65, 127, 257, 1000};

template <class T>
std::vector<T> random_values(std::size_t n, std::uint32_t stream = 0) {
  RandomStream random(11, random_site::user, stream);
  std::vector<T> values(n);
  for (T& x : values) x = static_cast<T>(random.normal());
  return values;
}
template <class T>
std::vector<T> zeros(std::size_t n) {
  return std::vector<T>(n);
}
inline std::vector<std::int32_t> random_ids(std::size_t n, std::size_t rows, std::uint32_t stream = 0) {
  RandomStream random(12, random_site::user, stream);
  std::vector<std::int32_t> ids(n);
  for (auto& id : ids) id = static_cast<std::int32_t>(random.below(rows));
  return ids;
}

/// An array in the memory of Dev.
template <class T, class Dev>
class Array {
 public:
  explicit Array(const std::vector<T>& values) : size_(values.size()), block_(Memory<Dev>::allocate(size_ * sizeof(T))) {
    Memory<Dev>::upload(block_.data, values.data(), size_ * sizeof(T));
  }
  Array(const Array& other) : Array(other.values()) {}
  Array& operator=(const Array&) = delete;
  ~Array() { Memory<Dev>::release(block_); }
  T* data() const { return static_cast<T*>(block_.data); }
  std::vector<T> values() const {
    std::vector<T> values(size_);
    Memory<Dev>::download(values.data(), block_.data, size_ * sizeof(T));
    return values;
  }

 private:
  std::size_t size_;
  MemoryBlock block_;
};

/// Selects an attention path until the end of the scope.
struct AttentionBy {
  explicit AttentionBy(cuda::AttentionPath path, std::size_t scratch_bytes = 0) { cuda::set_attention_path(path, scratch_bytes); }
  AttentionBy(const AttentionBy&) = delete;
  AttentionBy& operator=(const AttentionBy&) = delete;
  ~AttentionBy() { cuda::set_attention_path(cuda::AttentionPath::fused); }
};

/// The elements of several arrays, concatenated; a double represents each exactly.
template <class... T>
std::vector<double> joined(const std::vector<T>&... lists) {
  std::vector<double> all;
  const auto add = [&all](const auto& list) {
    for (const auto x : list) all.push_back(static_cast<double>(x));
  };
  (add(lists), ...);
  return all;
}

/// max |a - b| / max(1, |a|, |b|); equal infinities do not differ.
template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return 1e30;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    const double e = std::abs(x - y) / std::max({1.0, std::abs(x), std::abs(y)});
    if (x != y && !(e <= worst) && !(std::isnan(x) && std::isnan(y))) worst = e;
  }
  return worst;
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
constexpr double tolerance = sizeof(T) == 2   ? 0.02
                             : sizeof(T) == 4 ? 1e-5
                                              : 1e-13;

/// body(device) computes with Kernels<decltype(device)> on tensors of T and returns a vector of numbers. The GPU's must equal the CPU's up
/// to rounding, and have the same bits for any order of threads and blocks.
template <class T, class Body>
void compare(const Body& body, double allowed = tolerance<T>) {
  const auto expected = body(Cpu{});
  cuda_host::set_order(0);
  const auto found = body(Cuda{});
  CHECK(difference(expected, found) <= allowed);
  cuda_host::set_order(1);
  CHECK(same_bits(body(Cuda{}), found));
  cuda_host::set_order(0);
}

}  // namespace lexformer::test
