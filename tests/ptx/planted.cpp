// SPDX-License-Identifier: MIT
// Faults that ptx_to_cpp.py --plant puts into nvcc's PTX of the softmax of long rows: the comparison with the CPU must notice each.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "cuda/on_device.hpp"
#include "ptx_host.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

// Exchanges 0 to 4 find the maximum, 5 to 9 the sum. A wrong maximum would leave the softmax as it is; barriers 0 and 2 only matter if a
// block has several rows.

/// "the same" as on the CPU, "other numbers", or the message of the error.
std::string softmax(std::uint64_t order) {
  constexpr std::size_t rows = 3, n = 1500;
  auto values = random_values<float>(rows * n);
  for (float& x : values) x *= 10;  // the maximum of each warp's part differs
  const Array<float, Cpu> x(values), y(zeros<float>(rows * n));
  const Array<float, Cuda> device_x(values), device_y(zeros<float>(rows * n));
  Kernels<Cpu>::softmax(rows, n, false, x.data(), y.data());
  std::string result = "the same";
  cuda_host::set_order(order);
  try {
    Kernels<Cuda>::softmax(rows, n, false, device_x.data(), device_y.data());
    if (!(difference(y.values(), device_y.values()) <= tolerance<float>)) result = "other numbers";
  } catch (const Error& error) {
    result = error.what();
  }
  cuda_host::set_order(0);
  return result;
}

struct WithSet {
  explicit WithSet(const std::string& name) { ptx_host::choose_set(name); }
  WithSet(const WithSet&) = delete;
  WithSet& operator=(const WithSet&) = delete;
  ~WithSet() { ptx_host::choose_set(""); }
};

}  // namespace

TEST_CASE("ptx: faults planted in nvcc's code are noticed: missing barriers, a wrong lane, a misaligned load") {
  CHECK(softmax(0) == "the same");
  CHECK(softmax(5) == "the same");
  for (const std::string set : {"no_barrier_1", "no_barrier_3", "wrong_lane_5"}) {
    CAPTURE(set);
    const WithSet chosen(set);
    CHECK(softmax(5) == "other numbers");
  }
  const WithSet chosen("misaligned_0");
  const std::string message = softmax(0);
  CHECK_MESSAGE(message.find("softmax_kernel<Block, T, To>") != std::string::npos, message);
  CHECK_MESSAGE(message.find("rows.ptx:") != std::string::npos, message);
  CHECK_MESSAGE(message.find("misaligned access to global memory, 4 bytes") != std::string::npos, message);
}
