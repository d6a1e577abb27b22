// SPDX-License-Identifier: MIT
// Single PTX instructions and planted faults: the kernels of snippets.ptx, run on the stand-in for CUDA's runtime.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ptx_host.hpp"

// The kernels are found by these names; their bodies are not run.
extern "C" {
void integers(const int*, int*);
void floats(const float*, float*);
void reverse(const int*, int*);
void fault_barrier(const int*, int*);
void exchanges(const int*, int*);
void fault_lane(const int*, int*);
void load16(const int*, unsigned, int*);
void fault_divergent(int*);
void products(float*);
void matrices(const int*, int*);
void not_translated(int*);
void integers(const int*, int*) {}
void floats(const float*, float*) {}
void reverse(const int*, int*) {}
void fault_barrier(const int*, int*) {}
void exchanges(const int*, int*) {}
void fault_lane(const int*, int*) {}
void load16(const int*, unsigned, int*) {}
void fault_divergent(int*) {}
void products(float*) {}
void matrices(const int*, int*) {}
void not_translated(int*) {}
}

namespace {

/// An array of device memory.
template <class T>
class Values {
 public:
  explicit Values(const std::vector<T>& values) : size_(values.size()) {
    void* data = nullptr;
    cudaMallocAsync(&data, bytes(), nullptr);
    data_ = static_cast<T*>(data);
    cudaMemcpyAsync(data_, values.data(), bytes(), cudaMemcpyHostToDevice, nullptr);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() { cudaFreeAsync(data_, nullptr); }
  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> values(size_);
    cudaMemcpyAsync(values.data(), data_, bytes(), cudaMemcpyDeviceToHost, nullptr);
    return values;
  }

 private:
  std::size_t bytes() const { return size_ * sizeof(T); }
  std::size_t size_;
  T* data_ = nullptr;
};

/// "" or the message of the error.
template <class Kernel, class... Arguments>
std::string run(Kernel* kernel, unsigned threads, std::size_t shared_bytes, const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

std::vector<int> counted(int n, int factor = 1) {
  std::vector<int> values;
  for (int i = 0; i < n; ++i) values.push_back(i * factor);
  return values;
}

}  // namespace

TEST_CASE("ptx: instructions on integers") {
  const int x = -1234567, y = 54321;
  const Values<int> in({x, y}), out(std::vector<int>(28));
  REQUIRE(run(integers, 1, 0, in.data(), out.data()) == "");
  const auto found = out.values();
  const long long wide = static_cast<long long>(x) * y;
  const auto bits = static_cast<unsigned>(x);
  const auto high = [](unsigned long long product) { return static_cast<int>(product >> 32); };
  const std::vector<int> expected = {
      x - y,
      static_cast<int>(wide),
      static_cast<int>(wide),
      high(static_cast<unsigned long long>(wide)),  //
      high(static_cast<unsigned long long>(bits) * 54321u),
      3 * x + y,
      x / y,
      x % y,  //
      x >> 4,
      static_cast<int>(bits >> 4),
      0,
      -1,  // shifts, by more than 31 too
      static_cast<int>(0x8C2B0000u),
      16,                                                                                 // 54321 = 0xD431 reversed; its highest bit is 15
      static_cast<int>((0xD431u & ~0xF00u) | ((bits & 0xFu) << 8)),                       // bfi
      static_cast<int>(0x00ul << 24 | 0xFFul << 16 | 0xD4ul << 8 | (bits >> 8 & 0xFFu)),  // prmt: bytes 1, 5, sign of 3, 7
      x,
      x,
      11,
      33,  // as unsigned, x is larger
      static_cast<std::int16_t>(x + 1),
      static_cast<std::uint16_t>(x + 1),  //
      static_cast<int>(bits << 16 | bits >> 16),
      -1,  // halves exchanged; the sign of a byte
      high(static_cast<unsigned long long>(wide)),
      7,
      -1,
      std::popcount(bits)};
  CHECK(found == expected);
}

TEST_CASE("ptx: instructions on floats, also with NaN") {
  const float a = -3.7f, b = 2.5f, nan = std::numeric_limits<float>::quiet_NaN();
  const Values<float> in({a, b, nan}), out(std::vector<float>(12));
  REQUIRE(run(floats, 1, 0, in.data(), out.data()) == "");
  const auto found = out.values();
  CHECK(found[0] == std::fma(a, b, 1.0f));
  CHECK(found[1] == a / b);
  CHECK(found[2] == a);      // max ignores NaN
  CHECK(found[3] == 22.0f);  // of lt, ltu, nan, ne, neu the comparisons that NaN makes true
  CHECK(found[4] == 2.0f);   // to even
  CHECK(std::bit_cast<int>(found[5]) == -3);
  CHECK(std::bit_cast<unsigned>(found[6]) == 0xC06D7FFFu);
  CHECK(found[7] == -b);
  CHECK(found[8] == doctest::Approx(std::exp2(2.5)));
  CHECK(found[9] == 5.0f);
  CHECK(found[10] == std::sqrt(3.7f));
  CHECK(found[11] == a);
}

TEST_CASE("ptx: shared, local and generic memory, barriers, and products of tensor cores") {
  const Values<int> in(counted(64, 7)), out(std::vector<int>(64));
  auto expected = counted(64, 7);
  std::reverse(expected.begin(), expected.end());
  for (std::uint64_t order = 0; order < 4; ++order) {
    cuda_host::set_order(order);
    CHECK(run(reverse, 64, 256, in.data(), out.data()) == "");
    CHECK(out.values() == expected);
  }
  cuda_host::set_order(0);
  CHECK(run(reverse, 64, 255, in.data(), out.data()).find("access outside of shared memory, 4 bytes at 0xfc") != std::string::npos);
  const Values<float> sums(std::vector<float>(128));
  CHECK(run(products, 32, 0, sums.data()) == "");
  CHECK(sums.values() == std::vector<float>(128, 35.0f));
}

TEST_CASE("ptx: exchanges of a warp") {
  std::vector<int> x;
  for (int i = 0; i < 32; ++i) x.push_back(i * i % 11);
  const Values<int> in(x), out(std::vector<int>(160));
  for (std::uint64_t order = 0; order < 3; ++order) {
    cuda_host::set_order(order);
    REQUIRE(run(exchanges, 32, 0, in.data(), out.data()) == "");
    const auto found = out.values();
    int sum = 0;
    unsigned odd = 0;
    for (unsigned i = 0; i < 32; ++i) {
      sum += x[i];
      odd |= (static_cast<unsigned>(x[i]) & 1u) << i;
    }
    for (unsigned i = 0; i < 32; ++i) {
      unsigned same = 0;
      for (unsigned j = 0; j < 32; ++j) same |= static_cast<unsigned>(x[i] == x[j]) << j;
      CHECK(found[5 * i] == sum);
      CHECK(found[5 * i + 1] == (i < 31 ? x[i + 1] : 1000));
      CHECK(static_cast<unsigned>(found[5 * i + 2]) == odd);
      CHECK(static_cast<unsigned>(found[5 * i + 3]) == same);
      CHECK(found[5 * i + 4] == x[5]);
    }
  }
  cuda_host::set_order(0);
}

TEST_CASE("ptx: asynchronous copies, matrices from shared memory, integer sums in shared memory") {
  std::vector<int> words(126);  // element e of the warp's 256 is e; the last four are not there
  for (int i = 0; i < 126; ++i) words[static_cast<std::size_t>(i)] = (2 * i + 1) << 16 | 2 * i;
  const Values<int> in(words), out(std::vector<int>(32 * 12 + 1));
  REQUIRE(run(matrices, 32, 516, in.data(), out.data()) == "");
  const auto found = out.values();
  const auto element = [](int matrix, int row, int column) {
    const int e = 64 * matrix + 8 * row + column;
    return e < 252 ? e : 0;
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int* const of_lane = found.data() + 12 * lane;
    const int g = lane / 4, t = lane % 4 * 2;
    for (int m = 0; m < 4; ++m) {
      CHECK(of_lane[m] == (element(m, g, t + 1) << 16 | element(m, g, t)));
      CHECK(of_lane[4 + m] == (element(m, t + 1, g) << 16 | element(m, t, g)));
    }
    CHECK(of_lane[8] == 32 * 33 / 2);
    CHECK(of_lane[9] == words[4 * static_cast<std::size_t>(lane)]);
    CHECK(of_lane[10] == 0x12345678);
    CHECK(of_lane[11] == lane);
  }
  CHECK(found[32 * 12] == 32 * 33 / 2);
}

TEST_CASE("ptx: planted faults are noticed: a missing barrier, a wrong lane, a misaligned load, an access too far") {
  const Values<int> in(counted(64, 7)), out(std::vector<int>(64));
  auto expected = counted(64, 7);
  std::reverse(expected.begin(), expected.end());
  for (std::uint64_t order = 0; order < 4; ++order) {
    cuda_host::set_order(order);
    CHECK(run(fault_barrier, 64, 256, in.data(), out.data()) == "");
    CHECK(out.values() != expected);
  }
  cuda_host::set_order(0);
  std::vector<int> powers;
  for (int i = 0; i < 32; ++i) powers.push_back(i < 31 ? 1 << i : 0);
  const Values<int> lanes(powers);
  CHECK(run(fault_lane, 32, 0, lanes.data(), out.data()) == "");
  CHECK(out.values()[0] != 0x7FFFFFFF);

  CHECK(run(load16, 1, 0, in.data(), 16u, out.data()) == "");
  CHECK(out.values()[0] == 28);
  CHECK(run(load16, 1, 0, in.data(), 4u, out.data()).find("misaligned access to global memory, 16 bytes at 0x") != std::string::npos);
  const std::string message = run(load16, 1, 0, in.data(), 256u, out.data());
  CHECK_MESSAGE(message.find("ptx: snippets.ptx:") == 0, message);
  CHECK_MESSAGE(message.find("block 0 0 0 thread 0 0 0: access outside of device memory, 16 bytes at 0x") != std::string::npos, message);
  CHECK(run(fault_divergent, 64, 0, out.data()).find("threads 32-63 ended") != std::string::npos);
}

TEST_CASE("ptx: launches that do not fit the translation are errors") {
  const Values<int> out(std::vector<int>(4));
  CHECK(run(not_translated, 1, 0, out.data()).find("there is no translated PTX of the kernel") != std::string::npos);
  auto* const wrong = reinterpret_cast<void (*)(int*)>(reinterpret_cast<void*>(&integers));
  CHECK(run(wrong, 1, 0, out.data()).find("the host passes 8 bytes of parameters, nvcc expects 16") != std::string::npos);
  ptx_host::choose_set("no such set");
  CHECK(run(products, 32, 0, static_cast<float*>(nullptr)).find("there is no set 'no such set'") != std::string::npos);
  ptx_host::choose_set("");
}

TEST_CASE("ptx: instructions are counted by warp") {
  const Values<int> in(counted(64)), out(std::vector<int>(64));
  ptx_host::take_counts();
  REQUIRE(run(reverse, 64, 256, in.data(), out.data()) == "");
  const auto counts = ptx_host::take_counts();
  REQUIRE(counts.size() == 1);
  CHECK(counts[0].kernel == "reverse");
  CHECK(counts[0].launches == 1);
  CHECK(counts[0].blocks == 1);
  CHECK(counts[0].instructions == 2 * 23);
  CHECK(counts[0].global_accesses == 2 * 4);  // two of them by generic addresses
  CHECK(counts[0].shared_accesses == 2);
  CHECK(ptx_host::take_counts().empty());
}
