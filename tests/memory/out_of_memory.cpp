// SPDX-License-Identifier: MIT
// A separate program, because it replaces operator new. The n-th allocation fails, alone or with all that follow, for n from 1 until the
// action succeeds. Each failure must throw an exception, leak nothing and allow the action to be repeated. LEXFORMER_LONG=1 tries every n.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <execinfo.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>

#include "lexformer/train/optimizer.hpp"
#include "models/tiny.hpp"

namespace {

std::atomic<long> live{0};       // blocks not yet freed
std::atomic<long> countdown{0};  // 1: the next allocation fails; 0: none does
std::atomic<long> failed{0};
std::atomic<bool> for_good{false};

/// The destructor of nlohmann's JSON allocates and terminates the program if that fails. This cannot be fixed here, so its allocations
/// succeed.
bool in_destructor_of_json() noexcept {
  const long counting = countdown.exchange(0);
  void* frames[24];
  bool found = false;
  for (int i = ::backtrace(frames, 24) - 1; i >= 0; --i) {
    Dl_info info{};
    if (::dladdr(frames[i], &info) == 0 || info.dli_sname == nullptr || std::strstr(info.dli_sname, "10basic_json") == nullptr) continue;
    found = found || std::strstr(info.dli_sname, "7destroyE") != nullptr || std::strstr(info.dli_sname, "D2Ev") != nullptr;
  }
  countdown = counting;
  return found;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (countdown == 1 && !in_destructor_of_json()) {
    if (!for_good) countdown = 0;
    ++failed;
    return nullptr;
  }
  if (countdown > 1) --countdown;
  void* const block =
      alignment == 0 ? std::malloc(bytes + (bytes == 0)) : std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
  if (block != nullptr) ++live;
  return block;
}
void* take_or_throw(std::size_t bytes, std::size_t alignment = 0) {
  if (void* const block = take(bytes, alignment)) return block;
  throw std::bad_alloc();
}
void give(void* block) noexcept {
  if (block != nullptr) --live;
  std::free(block);
}

}  // namespace

void* operator new(std::size_t n) { return take_or_throw(n); }
void* operator new[](std::size_t n) { return take_or_throw(n); }
void* operator new(std::size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return take(n, 0); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return take(n, 0); }
void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, std::size_t) noexcept { give(p); }
void operator delete[](void* p, std::size_t) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give(p); }

namespace {

using namespace lexformer;

/// Makes allocations of `action` fail as described at the top. After each failure calls `again`, which repeats the action, checks the
/// result and restores the previous state. Returns the number of failures.
long fail_each(const std::string& name, const std::function<void()>& action, const std::function<void()>& again) {
  action();  // makes the allocations that are made once and kept
  again();
  const bool all = std::getenv("LEXFORMER_LONG") != nullptr;
  long failures = 0, last = 0;
  for (const bool following : {false, true}) {
    bool reached = true;
    for (long n = 1; reached && n <= 5000; n += all || n < 20 ? 1 : 7) {
      const long before = live;
      {
        std::string message;
        failed = 0;
        for_good = following;
        countdown = n;
        try {
          action();
          countdown = 0;
        } catch (const std::bad_alloc&) {
          countdown = 0;
          message = "out of memory";
        } catch (const Error& error) {  // from code that names what the memory was for
          countdown = 0;
          message = error.what();
        }
        reached = failed > 0;  // the action may still have succeeded
        failures += reached;
        last = n;
        if (!message.empty() && message.find("memory") == message.npos) FAIL(cat(name, ": allocation ", n, ": ", message));
        again();
      }
      if (live != before) {
        const long leaked = live - before;
        FAIL(cat(name, ": allocation ", n, following ? " and all that follow" : "", ": ", leaked, " blocks leaked"));
      }
    }
  }
  MESSAGE(cat(name, ": ", failures, " failures, ", all ? "each allocation to " : "a sample of those to ", last));
  return failures;
}

}  // namespace

TEST_CASE("a model is loaded, or there is an exception") {
  set_threads(1);
  const std::string path = (std::filesystem::temp_directory_path() / cat("lexformer-memory-", process_id(), ".lxf")).string();
  test::tiny_model<float>({.attention = {"lea"}, .task = {.labels = 3}}).save(path);
  const auto bytes = [](CrossEncoder<float> model) {
    std::vector<float> all;
    for (const auto& p : model.parameters()) all.insert(all.end(), p.var.value().data(), p.var.value().data() + p.var.size());
    return all;
  };
  const auto want = bytes(CrossEncoder<float>::load(path));
  CHECK(fail_each(
            "load", [&] { CrossEncoder<float>::load(path); }, [&] { CHECK(bytes(CrossEncoder<float>::load(path)) == want); }) > 50);
  std::filesystem::remove(path);
}

TEST_CASE("a step of the training is done, or there is an exception and it can be done again") {
  set_threads(1);
  auto model = test::tiny_model<float>({.attention = {"lea"}});
  const auto batch = test::tiny_batch(model);
  auto parameters = model.parameters();
  const auto weights = [&] {
    std::vector<std::vector<float>> all;
    for (const auto& p : parameters) all.push_back(p.var.value().to_vector());
    return all;
  };
  const auto begin = weights();
  std::optional<AdamW<float>> optimizer(std::in_place, parameters, AdamWOptions{.lr = 1e-2});
  const auto step = [&] {
    const auto loss = cross_entropy(model(batch, {.training = true, .seed = 1}).logits, std::span<const std::int32_t>(batch.labels));
    loss.backward();
    static_cast<void>(optimizer->clip_and_step(1.0, loss.value()));
  };
  const auto anew = [&] {
    for (auto& p : parameters) p.var.clear_grad();
    for (std::size_t i = 0; i < parameters.size(); ++i)
      std::copy_n(begin[i].data(), begin[i].size(), parameters[i].var.mutable_value().mutable_data());
    optimizer.emplace(parameters, AdamWOptions{.lr = 1e-2});
  };
  step();
  const auto want = weights();
  anew();

  // After each failure the same optimizer and weights take the step as if there had been no failure.
  bool done = false;
  const auto action = [&] {
    done = false;
    step();
    done = true;
  };
  const auto again = [&] {
    for (auto& p : parameters) p.var.clear_grad();
    if (!done) step();
    CHECK(weights() == want);
    anew();
  };
  CHECK(fail_each("step", action, again) > 50);
}

TEST_CASE("a text is whole, or there is an exception") {
  const std::string name(300, 'x');
  std::size_t size = 0;
  CHECK(fail_each(
            "cat", [&] { size = cat("checkpoint-", 7, name, name).size(); }, [&] { CHECK(size == 612); }) > 2);
}
