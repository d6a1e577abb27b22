// SPDX-License-Identifier: MIT
// Uploads, devices and shared memory, on the stand-in for the CUDA runtime, which shows what a GPU would not.
#include <algorithm>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/batches.hpp"
#include "../support/error_message.hpp"
#include "cuda_runtime.h"
#include "launch.cuh"
#include "lexformer/attention/lea.hpp"
#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

__global__ void reverse_kernel(const int* x, int* y) { y[threadIdx.x] = x[63 - threadIdx.x]; }

std::vector<int> counted(int n) {
  std::vector<int> values;
  for (int i = 0; i < n; ++i) values.push_back(i);
  return values;
}

}  // namespace

TEST_CASE("stand-in: uploads do not wait for the device, and each keeps its values although the device reads them late") {
  cuda_host::delay_uploads(true);
  constexpr std::size_t megabyte = std::size_t{1} << 20;
  std::vector<char> values(70 * megabyte);
  const auto fill = [&](std::size_t number) {
    for (std::size_t i = 0; i < values.size(); i += 997) values[i] = static_cast<char>(i * 31 + number * 7);
  };
  // Together more than all staging memory (64 MB); of the codes' size for 128 pairs of 128 tokens (4 MB); larger ones; many small ones.
  for (const std::size_t size : {4 * megabyte, 5 * megabyte, 33 * megabyte, std::size_t{1000}, 70 * megabyte}) {
    const std::size_t count = size < megabyte ? 3000 : 1 + 80 * megabyte / size;
    CAPTURE(size);
    const auto block = Memory<Cuda>::allocate(count * size);
    const std::size_t waits = cuda_host::waits();
    for (std::size_t n = 0; n < count; ++n) {
      if (size >= megabyte || n % 100 == 0) fill(n);
      if (size < megabyte) std::fill_n(values.begin(), size, static_cast<char>(n));
      Memory<Cuda>::upload(static_cast<char*>(block.data) + n * size, values.data(), size);
    }
    CHECK(cuda_host::waits() == waits + (size > 64 * megabyte ? count : 0));
    std::vector<char> found(size);
    for (std::size_t n = 0; n < count; ++n) {
      Memory<Cuda>::download(found.data(), static_cast<char*>(block.data) + n * size, size);
      if (size < megabyte) {
        REQUIRE(found == std::vector<char>(size, static_cast<char>(n)));
        continue;
      }
      fill(n);
      REQUIRE(std::equal(found.begin(), found.end(), values.begin()));
    }
    Memory<Cuda>::release(block);
  }
  cuda_host::delay_uploads(false);
}

TEST_CASE("stand-in: a thread whose current device is another one works on the device of the first use") {
  const Array<int, Cuda> x(counted(64));
  const Array<double, Cuda> number({3}), square({0});
  const auto multiply = [&] { OnCuda::gemm(false, false, 1, 1, 1, 1.0, number.data(), 1, number.data(), 1, 0.0, square.data(), 1); };
  multiply();  // makes cuBLAS's handle
  cuda_host::set_devices(2);
  std::string error = "none";
  std::vector<int> found;
  std::thread([&] {
    cudaSetDevice(1);
    error = error_message([&] {
      const Array<int, Cuda> y(x.values());
      cuda::launch(LEXFORMER_KERNEL(reverse_kernel), dim3(1), dim3(64), 0, x.data(), y.data());
      found = y.values();
    });
  }).join();
  auto expected = counted(64);
  std::reverse(expected.begin(), expected.end());
  CHECK(error == "no error");
  CHECK(found == expected);
  int device_of_product = 1;
  std::thread([&] {
    cudaSetDevice(1);
    multiply();
    cudaGetDevice(&device_of_product);
  }).join();
  CHECK(device_of_product == 0);
  cudaSetDevice(1);  // a user who changes it later is told
  CHECK(error_message([&] { Memory<Cuda>::zero(x.data(), 4); }).find("the stream is device 0's, the thread uses device 1") !=
        std::string::npos);
  cudaSetDevice(0);
  cuda_host::set_devices(1);
}

TEST_CASE("stand-in: several lists go to the device in one copy, or if they are large in some") {
  for (const std::size_t count : {0u, 100u, 3'000'000u}) {
    std::vector<std::uint16_t> codes(count);
    for (std::size_t i = 0; i < count; ++i) codes[i] = static_cast<std::uint16_t>(i * 7919);
    const std::vector<std::int32_t> ids{-5, 2, 9};
    Indices<std::uint16_t, Cuda> device_codes;
    Indices<std::int32_t, Cuda> device_ids, last;
    ListUpload<Cuda> lists;
    lists.add(std::span(ids), device_ids);
    lists.add(std::span<const std::uint16_t>(codes), device_codes);
    lists.add(std::span(ids), last);
    const std::size_t before = cuda_host::uploads();
    lists.run();
    const std::size_t copies = cuda_host::uploads() - before;
    const bool large = count == 3'000'000;  // then the codes take two or three pieces of pinned memory
    CHECK(copies >= (large ? 4u : 1u));
    CHECK(copies <= (large ? 5u : 1u));
    CHECK(device_codes.to_vector() == codes);
    CHECK(device_ids.to_vector() == ids);
    CHECK(last.to_vector() == ids);
  }
}

TEST_CASE("stand-in: LEA uploads the sinusoids of its levels once for all layers") {
  Init init(5, 1.0);
  const LeaOptions options{.dimension = 8, .alpha = LeaAlpha::constant, .alpha_value = 1.7};
  const Lea<float, Cuda> first(options, 2, init), second(options, 2, init, &first);
  Batch batch = batch_of_lengths({3, 4});
  const auto contribute = [&](const Lea<float, Cuda>& term, const std::vector<double>& levels) {
    batch.features["lexical"] = {Per::pair, Codes{std::vector<std::uint16_t>(25), levels}};
    const DeviceBatch<float, Cuda> on_device(batch);
    const Var<float, Cuda> qkv(Tensor<float, Cuda>::ones({7, 12}));
    const std::size_t before = cuda_host::uploads();
    ScoreTerms<float, Cuda> terms;
    term.contribute({qkv, on_device, 2, {}}, terms);
    return cuda_host::uploads() - before;
  };
  for (const auto* term : {&first, &second}) contribute(*term, {0, 0.5, 1});  // reads alpha, too
  CHECK(contribute(first, {0, 0.5, 1}) == 0);
  CHECK(contribute(first, {0, 0.25, 1}) == 1);
  CHECK(contribute(first, {0, 0.25, 1}) == 0);
  CHECK(contribute(second, {0, 0.25, 1}) == 0);
}

TEST_CASE("stand-in: attention takes large tiles only where two blocks of them fit on a multiprocessor, with what is reserved for each") {
  constexpr std::size_t n = 32, d = 32;  // one large tile, two small ones
  const std::vector<std::size_t> token{0, n}, pair{0, n * n};
  const Array<std::size_t, Cuda> token_begin(token), pair_begin(pair);
  const Array<std::uint16_t, Cuda> codes(std::vector<std::uint16_t>(n * n));
  const Array<float, Cuda> qkv(random_values<float>(n * 3 * d)), context(zeros<float>(n * d)), log_sum(zeros<float>(n));
  // The bytes of shared memory and the number of tiles for a table of so many levels.
  const auto launched = [&](std::size_t levels) {
    const Array<float, Cuda> table(zeros<float>(levels));
    AttentionArgs<float> a;
    a.sequences = 1;
    a.tokens = a.longest = n;
    a.pairs = n * n;
    a.token_begin = token_begin.data();
    a.pair_begin = pair_begin.data();
    a.host_token_begin = token.data();
    a.heads = 1;
    a.width = d;
    a.scale = 1;
    a.qkv = qkv.data();
    a.lookups.push_back({table.data(), levels, codes.data()});
    AttentionKernels<Cuda>::attention<float>(a, context.data(), log_sum.data(), nullptr);
    return std::pair{cuda_host::last_launch().dynamicSmemBytes, cuda_host::last_launch().gridDim.x};
  };
  const std::size_t limit = (cuda_host::shared_of_multiprocessor - 2 * cuda_host::reserved_shared) / 2;
  const auto [bytes, tiles] = launched(1000);
  REQUIRE(tiles == 1);
  const std::size_t levels = 1000 + (limit - bytes) / sizeof(float);  // the most with which two blocks fit
  CHECK(launched(levels) == std::pair{limit, 1u});
  CHECK(launched(levels + 1).second == 2);
  CHECK(launched(levels + 200).second == 2);  // their own shared memory alone would still fit twice
}

TEST_CASE("stand-in: attention in bfloat16 keeps scores in registers, whatever the length") {
  constexpr std::size_t heads = 2, d = 64, width = heads * d;
  // The blocks of a head, and the threads of each, of the last kernel of the forward and of the backward pass.
  struct Launches {
    std::size_t forward, forward_blocks, forward_threads, backward, backward_blocks, backward_threads;
    bool operator==(const Launches&) const = default;
  };
  const auto launched = [&](const std::vector<std::size_t>& token, std::size_t longest) {
    std::vector<std::size_t> pair{0};
    for (std::size_t s = 1; s < token.size(); ++s) pair.push_back(pair.back() + (token[s] - token[s - 1]) * (token[s] - token[s - 1]));
    const Array<std::size_t, Cuda> token_begin(token), pair_begin(pair);
    const std::size_t tokens = token.back();
    const Array<bfloat16, Cuda> qkv(random_values<bfloat16>(tokens * 3 * width)), x(zeros<bfloat16>(tokens * width)),
        dqkv(zeros<bfloat16>(tokens * 3 * width));
    const Array<float, Cuda> log_sum(zeros<float>(tokens * heads));
    AttentionArgs<bfloat16> a;
    a.sequences = token.size() - 1;
    a.tokens = tokens;
    a.longest = longest;
    a.pairs = pair.back();
    a.token_begin = token_begin.data();
    a.pair_begin = pair_begin.data();
    a.host_token_begin = token.data();
    a.heads = heads;
    a.width = width;
    a.scale = 1;
    a.qkv = qkv.data();
    AttentionGrads<bfloat16> g;
    g.qkv = dqkv.data();
    Launches counts{};
    const std::size_t before = cuda_host::launches();
    AttentionKernels<Cuda>::attention<bfloat16>(a, x.data(), log_sum.data(), nullptr);
    counts.forward = cuda_host::launches() - before;
    const auto of_head = [] { return std::pair{cuda_host::last_launch().gridDim.z, cuda_host::last_launch().blockDim.x}; };
    std::tie(counts.forward_blocks, counts.forward_threads) = of_head();
    AttentionKernels<Cuda>::attention_grad<bfloat16>(a, x.data(), log_sum.data(), x.data(), nullptr, g);
    counts.backward = cuda_host::launches() - before - counts.forward;
    std::tie(counts.backward_blocks, counts.backward_threads) = of_head();
    return counts;
  };
  // A warp has 16 queries, and a block at most 8 warps; 6 if it owns keys.
  CHECK(launched({0, 100}, 100) == Launches{1, 1, 224, 1, 1, 224});
  CHECK(launched({0, 128, 130}, 128) == Launches{1, 1, 256, 1, 1, 256});
  CHECK(launched({0, 2, 131}, 129) == Launches{1, 2, 160, 2, 2, 160});
  CHECK(launched({0, 300}, 300) == Launches{1, 3, 224, 2, 4, 160});
}
