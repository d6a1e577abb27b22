// SPDX-License-Identifier: MIT
// Tests of the stand-in for the CUDA runtime: it must detect the errors that it is made for.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "../support/error_message.hpp"
#include "cublasLt.h"
#include "elementwise.cuh"
#include "example/square.hpp"
#include "fiber.hpp"
#include "on_device.hpp"

using namespace lexformer;
using test::Array;
using test::error_message;

namespace {

/// y = x reversed, through shared memory: correct, and without the barrier.
template <bool with_barrier>
__global__ void reverse_kernel(const int* x, int* y) {
  __shared__ int values[64];
  values[threadIdx.x] = x[threadIdx.x];
  if (with_barrier) __syncthreads();
  y[threadIdx.x] = values[63 - threadIdx.x];
}

/// y = the sum of x over all threads, then of 2 x, through the same shared memory: correct, and without the barrier in between.
template <bool with_barrier>
__global__ void two_sums_kernel(const int* x, int* y) {
  __shared__ int partial[2];
  for (int turn = 1; turn <= 2; ++turn) {
    const int sum = cuda::Warp::sum(turn * x[threadIdx.x]);
    if (with_barrier) __syncthreads();  // all threads have read the values of the last iteration
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    y[(turn - 1) * 64 + static_cast<int>(threadIdx.x)] = partial[0] + partial[1];
  }
}

__global__ void divergent_kernel(int* y) {
  if (threadIdx.x < 32) __syncthreads();
  y[threadIdx.x] = 1;
}
__global__ void two_barriers_kernel(int* y) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
  y[threadIdx.x] = 1;
}
__global__ void half_warp_kernel(int* y) {
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(0xFFFFFFFFu, 1, 1);
}
__global__ void foreign_lane_kernel(int* y) { y[threadIdx.x] = __shfl_xor_sync(threadIdx.x < 16 ? 0xFFFFu : 0xFFFF0000u, 1, 16); }

__global__ void votes_kernel(unsigned* y) {
  const unsigned ballot = __ballot_sync(0xFFFFFFFFu, threadIdx.x % 3 == 0);
  const int down = __shfl_down_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x), 3);
  const int from5 = __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x), 5);
  const int any = __syncthreads_or(threadIdx.x == 17), none = __syncthreads_or(0);
  y[threadIdx.x] = ballot == 0x49249249u && from5 == 5 && any == 1 && none == 0 ? static_cast<unsigned>(down) : 99u;
  atomicAdd(&y[32], 1u);
}

/// Sums 0 .. n - 1 in dynamic shared memory.
__global__ void dynamic_kernel(int* out) {
  LEXFORMER_DYNAMIC_SHARED(int, values);
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *out = values[0];
}

std::vector<int> counted(int n) {
  std::vector<int> values;
  for (int i = 0; i < n; ++i) values.push_back(i);
  return values;
}

template <bool with_barrier>
bool reverses(std::uint64_t order) {
  auto expected = counted(64);
  for (int& x : expected) x += static_cast<int>(100 * order);  // otherwise the values of the last launch would pass
  const Array<int, Cuda> x(expected), y(std::vector<int>(64, -1));
  std::reverse(expected.begin(), expected.end());
  cuda_host::set_order(order);
  cuda::launch(LEXFORMER_KERNEL(reverse_kernel<with_barrier>), dim3(1), dim3(64), 0, x.data(), y.data());
  cuda_host::set_order(0);
  return y.values() == expected;
}

}  // namespace

TEST_CASE("stand-in: a kernel whose barrier is missing gives wrong numbers, with it the right ones") {
  for (std::uint64_t order = 0; order < 5; ++order) {
    CHECK(reverses<true>(order));
    CHECK_FALSE(reverses<false>(order));
  }
}

namespace {
template <bool with_barrier>
bool sums_twice(std::uint64_t order) {
  const Array<int, Cuda> x(counted(64)), y(std::vector<int>(128));
  cuda_host::set_order(order);
  cuda::launch(LEXFORMER_KERNEL(two_sums_kernel<with_barrier>), dim3(1), dim3(64), 0, x.data(), y.data());
  cuda_host::set_order(0);
  std::vector<int> expected(64, 63 * 64 / 2);
  expected.resize(128, 63 * 64);
  return y.values() == expected;
}
}  // namespace

TEST_CASE("stand-in: shared memory that a warp overwrites before all have read it gives wrong numbers") {
  for (std::uint64_t order = 0; order < 5; ++order) {
    CHECK(sums_twice<true>(order));
    CHECK_FALSE(sums_twice<false>(order));
  }
}

TEST_CASE("stand-in: a barrier that not all threads reach is an error that says who waits where") {
  const Array<int, Cuda> y(std::vector<int>(64));
  const auto run = [&](auto kernel) { return error_message([&] { cuda::launch(kernel, dim3(1), dim3(64), 0, y.data()); }); };
  auto message = run(LEXFORMER_KERNEL(divergent_kernel));
  CHECK_MESSAGE(message.find("divergent_kernel at stand_in.cpp:") != std::string::npos, message);
  CHECK_MESSAGE(message.find("threads 0-31 at stand_in.cpp:") != std::string::npos, message);
  CHECK_MESSAGE(message.find("threads 32-63 ended") != std::string::npos, message);
  message = run(LEXFORMER_KERNEL(two_barriers_kernel));
  CHECK_MESSAGE(message.find("threads 32-63 at stand_in.cpp:") != std::string::npos, message);
  message = run(LEXFORMER_KERNEL(half_warp_kernel));
  CHECK_MESSAGE(message.find("threads 0-15 at stand_in.cpp:") != std::string::npos, message);
  message = run(LEXFORMER_KERNEL(foreign_lane_kernel));
  CHECK_MESSAGE(message.find("not in the mask") != std::string::npos, message);
  CHECK(reverses<true>(1));  // still works afterwards
}

TEST_CASE("stand-in: launches and pointers that CUDA would refuse") {
  const Array<int, Cuda> y(std::vector<int>(64));
  const auto run = [](dim3 grid, dim3 block, std::size_t shared, int* p) {
    return error_message([&] { cuda::launch(LEXFORMER_KERNEL(divergent_kernel), grid, block, shared, p); });
  };
  CHECK(run(dim3(1), dim3(1025), 0, y.data()).find("1025 x 1 x 1 threads") != std::string::npos);
  CHECK(run(dim3(1, 70000), dim3(1), 0, y.data()).find("not possible") != std::string::npos);
  CHECK(run(dim3(1), dim3(1), 300000, y.data()).find("300000 bytes") != std::string::npos);
  int on_host[64] = {};
  CHECK(run(dim3(1), dim3(64), 0, on_host).find("argument 1 does not point to device memory") != std::string::npos);
  CHECK(error_message([&] { Memory<Cuda>::upload(on_host, on_host, 4); }).find("argument 1 does not") != std::string::npos);
  CHECK(error_message([&] { Memory<Cuda>::copy(y.data(), on_host, 4); }).find("argument 2 does not") != std::string::npos);
  CHECK(error_message([&] { Memory<Cuda>::zero(y.data(), 65 * sizeof(int)); }).find("argument 1 does not") != std::string::npos);
  CHECK(run(dim3(0), dim3(64), 0, y.data()) == "no error");  // nothing to do
}

TEST_CASE("stand-in: exchanges in a warp, votes, atomics and shared memory") {
  for (std::uint64_t order = 0; order < 3; ++order) {
    cuda_host::set_order(order);
    const Array<unsigned, Cuda> y(std::vector<unsigned>(33));
    cuda::launch(LEXFORMER_KERNEL(votes_kernel), dim3(1), dim3(32), 0, y.data());
    const auto found = y.values();
    for (unsigned i = 0; i < 32; ++i) CHECK(found[i] == (i + 3 < 32 ? i + 3 : i));
    CHECK(found[32] == 32u);
    const Array<int, Cuda> sum(std::vector<int>(1));
    cuda::launch(LEXFORMER_KERNEL(dynamic_kernel), dim3(1), dim3(128), 128 * sizeof(int), sum.data());
    CHECK(sum.values()[0] == 127 * 128 / 2);
  }
  cuda_host::set_order(0);
}

TEST_CASE("stand-in: a function of one's own, and AdamW over many arrays in one launch") {
  const Array<float, Cuda> x({1, 2, 3, 4, 5}), y(std::vector<float>(5));
  Kernels<Cuda>::map<Square>(5, x.data(), y.data());
  CHECK(y.values() == std::vector<float>{1, 4, 9, 16, 25});
  const std::size_t before = cuda_host::launches();
  const AdamWUpdate<float> update{5, {1, 0.9, 0.999, 1e-3, 1, 1e-8}, y.data(), y.data(), y.data(), x.data(), x.data()};
  Kernels<Cuda>::adamw(std::vector{update, update, update}, {});
  CHECK(cuda_host::launches() == before + 1);
}

TEST_CASE_TEMPLATE("stand-in: cuBLASLt adds the bias of a product, and a kernel where it has no algorithm", T, float, bfloat16) {
  const Array<T, Cuda> a(std::vector<T>(8)), b(std::vector<T>(8)), c(std::vector<T>(4)), bias(std::vector<T>(3, T(2.0f)));
  for (const std::size_t shift : {0u, 1u}) {
    const std::size_t products = cuda_host::lt_products(), launches = cuda_host::launches();
    Kernels<Cuda>::gemm(false, true, 2, 2, 4, 1.0f, a.data(), 4, b.data(), 4, 0.0f, c.data(), 2, bias.data() + shift);
    CHECK(cuda_host::lt_products() == products + 1);
    CHECK(cuda_host::launches() == launches + shift);
    CHECK(c.values() == std::vector<T>(4, T(2.0f)));
  }
}

TEST_CASE_TEMPLATE("stand-in: one search of cuBLASLt's algorithms serves a class of sizes", T, float, bfloat16) {
  // In the first product the number of tokens is m, in the second, of a weight's gradient, it is k.
  const std::size_t most = 400, width = 8;
  const Array<T, Cuda> x(std::vector<T>(most * width, T(1.0f))), w(std::vector<T>(width * width, T(0.5f))), y(std::vector<T>(most * width));
  const auto multiply = [&](std::size_t tokens) {
    const std::size_t before = cuda_host::lt_searches();
    Kernels<Cuda>::gemm(false, true, tokens, width, width, 1.0f, x.data(), width, w.data(), width, 0.0f, y.data(), width);
    CHECK(y.values()[tokens * width - 1] == T(4.0f));
    Kernels<Cuda>::gemm(true, false, width, width, tokens, 1.0f, x.data(), width, x.data(), width, 0.0f, y.data(), width);
    CHECK(y.values()[width * width - 1] == T(static_cast<float>(tokens)));
    return cuda_host::lt_searches() - before;
  };
  multiply(272);  // may be known from another test
  CHECK(multiply(257) == 0);
  CHECK(multiply(288) == 0);
  CHECK(multiply(289) <= 2);
  CHECK(multiply(320) == 0);
  cuda_host::set_lt_exact(true);  // the class's algorithm does not support all of its sizes
  CHECK(multiply(290) == 1);
  CHECK(multiply(290) == 0);
  cuda_host::set_lt_exact(false);
}

TEST_CASE("stand-in: device memory that nobody has written is NaN, and is counted") {
  const std::size_t before = Memory<Cuda>::in_use();
  const auto block = Memory<Cuda>::allocate(1000);
  CHECK(Memory<Cuda>::in_use() == before + 1024);
  CHECK(Memory<Cuda>::peak() >= before + 1024);
  std::vector<float> values(250);
  Memory<Cuda>::download(values.data(), block.data, 1000);
  for (const float x : values) CHECK(std::isnan(x));
  Memory<Cuda>::release(block);
  Memory<Cuda>::trim();
  CHECK(Memory<Cuda>::in_use() == before);
  Memory<Cuda>::reset_peak();
  CHECK(Memory<Cuda>::peak() == before);
  CHECK(cuda::available());
}

#if defined(CUDA_HOST_ASAN)
namespace {
/// Writes row r of a matrix at r * stride.
__global__ void stride_kernel(std::size_t stride, int* y) { y[blockIdx.x * stride + threadIdx.x] = 1; }

/// Whether the address sanitizer stops a process that runs body().
template <class Body>
bool stopped(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    fclose(stderr);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
}  // namespace

TEST_CASE("stand-in: under the address sanitizer a wrong stride stops the program, and so does the host in device memory") {
  const Array<int, Cuda> y(std::vector<int>(3 * 8));
  const auto write = [&](std::size_t stride) { cuda::launch(LEXFORMER_KERNEL(stride_kernel), dim3(3), dim3(8), 0, stride, y.data()); };
  CHECK_FALSE(stopped([&] { write(8); }));
  CHECK(stopped([&] { write(9); }));
  CHECK(stopped([&] { const_cast<volatile int*>(y.data())[0] = 1; }));
}
#endif
