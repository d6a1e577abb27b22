// SPDX-License-Identifier: MIT
// Runs the thread blocks of cuda_runtime.h.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cuda_runtime.h"
#include "fiber.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

#if defined(__x86_64__) && defined(__ELF__)
asm(R"(
.pushsection .text
.globl cuda_host_switch
.type cuda_host_switch, @function
cuda_host_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cuda_host_switch, .-cuda_host_switch
.popsection
)");
#endif

namespace cuda_host {
namespace {

using lexformer::cat;

// ---- threads

enum class State { ready, at_barrier, in_exchange, ended };

struct Thread {
  uint3 index;
  State state = State::ready;
  const char* file = "";  // of the call at which it waits
  int line = 0;
  Exchange given{};
  Exchanged got{};
  int predicate = 0;  // of __syncthreads_or
};

struct Machine {
  std::mutex mutex;
  std::deque<Fiber> fibers;     // number i runs thread i of the block; reused by later launches
  std::vector<Thread> threads;  // of the current block
  std::size_t current = 0;
  const std::function<void()>* body = nullptr;
  std::uint64_t seed = 0;
  std::size_t launches = 0;
  cudaLaunchConfig_t last;
  std::unique_ptr<char[]> shared;
  int any = 0;        // result of the last __syncthreads_or
  std::string error;  // of fail_kernel
};
Machine& machine() {
  static auto* instance = new Machine;
  return *instance;
}
Thread& self() { return machine().threads[machine().current]; }

void thread_main() {
  (*machine().body)();
  self().state = State::ended;
  Fiber::yield();
}

void wait(State state, const char* file, int line) {
  Thread& t = self();
  t.state = state;
  t.file = file;
  t.line = line;
  Fiber::yield();
}

/// What the threads of [first, last) are doing, e.g. "threads 0-31, 64 at rows.cuh:12; threads 32-63 ended".
std::string whereabouts(std::size_t first, std::size_t last) {
  const auto& threads = machine().threads;
  const auto place = [&](std::size_t i) {
    const Thread& t = threads[i];
    const std::string file = t.file;
    return t.state == State::ended ? std::string("ended") : cat("at ", file.substr(file.find_last_of('/') + 1), ":", t.line);
  };
  std::map<std::string, std::string> lists;
  for (std::size_t i = first; i < last;) {
    std::size_t end = i + 1;
    while (end < last && place(end) == place(i)) ++end;
    std::string& list = lists[place(i)];
    list += cat(list.empty() ? "" : ", ", i, end - i > 1 ? cat("-", end - 1) : "");
    i = end;
  }
  std::string text;
  for (const auto& [where, list] : lists) text += cat(text.empty() ? "" : "; ", "threads ", list, " ", where);
  return text;
}

/// Gives the lanes of a complete exchange their values. Returns whether any lane was released; throws for a mask that cannot be satisfied.
bool release_warp(std::size_t first, std::size_t last) {
  auto& threads = machine().threads;
  bool released = false;
  for (std::size_t i = first; i < last; ++i) {
    if (threads[i].state != State::in_exchange) continue;
    const unsigned mask = threads[i].given.mask;
    unsigned there = 0, ballot = 0;
    for (std::size_t j = first; j < last; ++j) {
      const Thread& t = threads[j];
      if (t.state != State::in_exchange || t.given.mask != mask || t.line != threads[i].line || std::strcmp(t.file, threads[i].file) != 0)
        continue;
      there |= 1u << (j - first);
      if (t.given.value != 0) ballot |= 1u << (j - first);
    }
    if ((mask >> (i - first) & 1u) == 0) lexformer::fail("warp", "thread ", i, " is not in its own mask, ", whereabouts(first, last));
    if ((there & mask) != mask) continue;
    for (std::size_t j = first; j < last; ++j) {
      if ((mask >> (j - first) & 1u) == 0) continue;
      const unsigned source = threads[j].given.source;
      if ((mask >> source & 1u) == 0) lexformer::fail("warp", "thread ", j, " asks for lane ", source, ", which is not in the mask");
      threads[j].got = {threads[first + source].given.value, ballot};
      threads[j].state = State::ready;
    }
    released = true;
  }
  return released;
}

/// Runs the threads of one warp in any order until all of them wait or have ended.
void run_warp(std::size_t first, std::size_t last, lexformer::RandomStream* order) {
  Machine& m = machine();
  std::vector<std::size_t> lanes(last - first);
  std::iota(lanes.begin(), lanes.end(), first);
  do {
    if (order != nullptr) order->shuffle(lanes);
    for (const std::size_t i : lanes) {
      if (m.threads[i].state != State::ready) continue;
      m.current = i;
      threadIdx = m.threads[i].index;
      m.fibers[i].resume();
      if (!m.error.empty()) throw lexformer::Error(lexformer::ErrorKind::failure, std::exchange(m.error, {}));
    }
  } while (release_warp(first, last));
}

/// Runs all threads of one block to the end. Each warp runs ahead of the others as far as it can. This shows a missing barrier of either
/// kind: before a read of other threads' data, and before a write to data that others still have to read.
void run_block(lexformer::RandomStream* order) {
  Machine& m = machine();
  std::vector<std::size_t> warps((m.threads.size() + 31) / 32);
  std::iota(warps.begin(), warps.end(), std::size_t{0});
  for (Thread& t : m.threads) t.state = State::ready;
  for (;;) {
    if (order != nullptr) order->shuffle(warps);
    for (const std::size_t w : warps) run_warp(32 * w, std::min(32 * w + 32, m.threads.size()), order);
    const Thread& first = m.threads.front();
    const bool same = std::all_of(m.threads.begin(), m.threads.end(), [&](const Thread& t) {
      return t.state == first.state && (t.state == State::ended || (t.line == first.line && std::strcmp(t.file, first.file) == 0));
    });
    if (same && first.state == State::ended) return;
    if (!same || first.state != State::at_barrier)
      lexformer::fail("barrier", "the threads of a block wait for each other for ever: ", whereabouts(0, m.threads.size()));
    m.any = 0;
    for (Thread& t : m.threads) {
      t.state = State::ready;
      m.any |= t.predicate;
    }
  }
}

}  // namespace

void set_order(std::uint64_t seed) { machine().seed = seed; }
std::size_t launches() { return machine().launches; }
void count_launch() { ++machine().launches; }
const cudaLaunchConfig_t& last_launch() { return machine().last; }
void fail_kernel(const char* text) {
  machine().error = text;
  Fiber::yield();
  std::abort();  // never resumed
}
void* dynamic_shared() { return machine().shared.get(); }
void barrier(const char* file, int line) { wait(State::at_barrier, file, line); }
unsigned lane() { return static_cast<unsigned>(machine().current % 32); }
Exchanged exchange(const Exchange& given, const char* file, int line) {
  self().given = given;
  wait(State::in_exchange, file, line);
  return self().got;
}
cudaError_t run(const cudaLaunchConfig_t& config, std::size_t allowed, const std::function<void()>& thread) {
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  const dim3 g = config.gridDim, b = config.blockDim;
  const std::size_t count = std::size_t{b.x} * b.y * b.z, blocks = std::size_t{g.x} * g.y * g.z;
  if (count == 0 || count > 1024 || b.z > 64 || blocks == 0 || g.x > 0x7FFFFFFFu || g.y > 65535 || g.z > 65535 ||
      config.dynamicSmemBytes > allowed || allowed > most_shared)
    return failed(cudaErrorInvalidValue, cat("a grid of ", g.x, " x ", g.y, " x ", g.z, " blocks of ", b.x, " x ", b.y, " x ", b.z,
                                             " threads with ", config.dynamicSmemBytes, " bytes is not possible"));
  if (const cudaError_t error = begin_work(config.stream); error != cudaSuccess) return error;
  ++m.launches;
  m.last = config;
  gridDim = g;
  blockDim = b;
  m.body = &thread;
  m.threads.assign(count, Thread{});
  for (std::size_t i = 0; i < count; ++i)
    m.threads[i].index = {static_cast<unsigned>(i % b.x), static_cast<unsigned>(i / b.x % b.y), static_cast<unsigned>(i / b.x / b.y)};
  while (m.fibers.size() < count) m.fibers.emplace_back(&thread_main);
  m.shared.reset(new char[config.dynamicSmemBytes]);
  std::memset(m.shared.get(), 0xFF, config.dynamicSmemBytes);
  lexformer::RandomStream random(m.seed, lexformer::random_site::user);
  std::vector<std::size_t> order(blocks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (m.seed != 0) random.shuffle(order);
  const OpenMemory open;
  cudaError_t result = cudaSuccess;
  for (const std::size_t i : order) {
    blockIdx = {static_cast<unsigned>(i % g.x), static_cast<unsigned>(i / g.x % g.y), static_cast<unsigned>(i / g.x / g.y)};
    try {
      run_block(m.seed != 0 ? &random : nullptr);
    } catch (const lexformer::Error& error) {
      result = failed(cudaErrorLaunchFailure, error.what());
      m.fibers.clear();  // they are suspended inside the kernel
      break;
    }
  }
  return result;
}

}  // namespace cuda_host

int __syncthreads_or(int predicate, const char* file, int line) {
  cuda_host::self().predicate = predicate != 0;
  cuda_host::barrier(file, line);
  cuda_host::self().predicate = 0;
  return cuda_host::machine().any;
}

unsigned __match_any_sync(unsigned mask, unsigned value, const char* file, int line) {
  static unsigned values[32];  // safe, because a warp runs alone until all its lanes wait for the block
  values[cuda_host::lane()] = value;
  __syncwarp(mask, file, line);
  unsigned same = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1u) != 0 && values[lane] == value) same |= 1u << lane;
  __syncwarp(mask, file, line);
  return same;
}
