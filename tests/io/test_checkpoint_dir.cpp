// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include "lexformer/core/random.hpp"
#include "lexformer/io/checkpoint_dir.hpp"
#include "lexformer/io/file.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;
namespace fs = std::filesystem;

namespace {
void save(const TemporaryFolder& parent, const std::string& name, const std::string& content) {
  CheckpointWriter writer(parent.path, name);
  write_file_atomic((writer.path() / "model.lxf").string(), content);
  write_file_atomic((writer.path() / "state.json").string(), "{}");
  writer.commit();
}
std::set<std::string> names(const fs::path& folder) {
  std::set<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.insert(entry.path().filename().string());
  return out;
}
std::string latest(const TemporaryFolder& parent) {
  const auto found = find_latest_checkpoint(parent.path);
  return found.path ? found.path->filename().string() : "none";
}
/// The id of a process that has ended.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}
}  // namespace

TEST_CASE("checkpoints: commit, replace, the newest by number, keep the last") {
  const TemporaryFolder parent;
  CHECK(latest(parent) == "none");
  CHECK_FALSE(find_latest_checkpoint(parent / "missing").path.has_value());
  save(parent, "checkpoint-9", "nine");
  save(parent, "checkpoint-10", "ten");
  CHECK(latest(parent) == "checkpoint-10");
  CHECK(names(parent / "checkpoint-10") == std::set<std::string>{"MANIFEST.json", "model.lxf", "state.json"});
  save(parent, "checkpoint-10", "again");
  CHECK(read_file(parent / "checkpoint-10/model.lxf") == "again");
  fs::create_directory(parent / "checkpoint-x");
  fs::create_directory(parent / "other");
  save(parent, "checkpoint-100", "hundred");
  keep_last(parent.path, 2);
  CHECK(names(parent.path) == std::set<std::string>{"checkpoint-10", "checkpoint-100", "checkpoint-x", "other"});
  CHECK(latest(parent) == "checkpoint-100");
}

TEST_CASE("checkpoints: what is not committed is gone") {
  const TemporaryFolder parent;
  {
    CheckpointWriter writer(parent.path, "checkpoint-1");
    write_file_atomic((writer.path() / "model.lxf").string(), "x");
    CHECK(names(parent.path).size() == 1);
    CHECK(latest(parent) == "none");
  }
  CHECK(names(parent.path).empty());
  write_file_atomic(parent / "file", "x");
  expect_file_error([&] { CheckpointWriter writer(parent / "file", "checkpoint-1"); }, "cannot be created: Not a directory");
}

TEST_CASE("checkpoints: a damaged one is passed over, with the reason") {
  const TemporaryFolder parent;
  save(parent, "checkpoint-1", "one");
  const auto damaged = [&](const std::string& file, const std::string& content, const std::string& part) {
    save(parent, "checkpoint-2", "two");
    CHECK(latest(parent) == "checkpoint-2");
    write_file_atomic(parent / ("checkpoint-2/" + file), content);
    const auto found = find_latest_checkpoint(parent.path);
    CHECK(found.path == fs::path(parent / "checkpoint-1"));
    REQUIRE(found.ignored.size() == 1);
    INFO(found.ignored[0]);
    CHECK(found.ignored[0].find("checkpoint-2/" + part) != std::string::npos);
  };
  damaged("model.lxf", "twO", "model.lxf: is not what MANIFEST.json says");
  damaged("model.lxf", "two!", "model.lxf: is not what MANIFEST.json says");
  damaged("MANIFEST.json", "{", "MANIFEST.json: not JSON");
  damaged("MANIFEST.json", "{}", "MANIFEST.json: the key 'files' is missing");
  damaged("MANIFEST.json", R"({"files": ["model.lxf"]})", "MANIFEST.json: 'files' is array, expected an object");
  damaged("MANIFEST.json", R"({"files": {"": {"size": 3, "crc32": 1}}})", "MANIFEST.json: '' is no plain file name");
  damaged("MANIFEST.json", R"({"files": {".x": {"size": 3, "crc32": 1}}})", "MANIFEST.json: '.x' is no plain file name");
  damaged("MANIFEST.json", R"({"files": {"model.lxf": {"size": 3.0, "crc32": 1}}})", "MANIFEST.json: 'size' is 3.0");
  damaged("MANIFEST.json", R"({"files": {"../x": {"size": 3, "crc32": 1}}})", "MANIFEST.json: '../x' is no plain file name");
  damaged("MANIFEST.json", R"({"files": {"gone": {"size": 3, "crc32": 1}}})", "gone: is missing");
  save(parent, "checkpoint-2", "two");
  fs::remove(parent / "checkpoint-2/MANIFEST.json");
  CHECK(latest(parent) == "checkpoint-1");
}

TEST_CASE("checkpoints: damaged ones newer than the last whole one go, folders of others stay") {
  const TemporaryFolder parent;
  for (const auto& name : {"checkpoint-1", "checkpoint-2", "checkpoint-3", "checkpoint-4"}) save(parent, name, name);
  for (const auto& name : {"checkpoint-1", "checkpoint-3", "checkpoint-4"})
    write_file_atomic(parent / (std::string(name) + "/model.lxf"), "x");
  fs::create_directory(parent / "checkpoint-500");  // no manifest: not a lexformer checkpoint
  remove_damaged(parent.path, find_latest_checkpoint(parent.path));
  CHECK(names(parent.path) == std::set<std::string>{"checkpoint-1", "checkpoint-2", "checkpoint-500"});
  keep_last(parent.path, 1);
  CHECK(names(parent.path) == std::set<std::string>{"checkpoint-2", "checkpoint-500"});
}

TEST_CASE("checkpoints: left-overs of dead processes are removed, those of living ones stay") {
  const TemporaryFolder parent;
  const std::string dead = std::to_string(dead_process()), own = std::to_string(::getpid()), living = std::to_string(::getppid());
  for (const auto& name :
       {".tmp-checkpoint-5-" + dead, ".tmp-checkpoint-6-" + own, ".tmp-checkpoint-7-" + living, ".tmp-checkpoint-8-" + dead + "-old",
        std::string(".tmp-checkpoint"), std::string(".hidden"), "checkpoint-" + dead})
    fs::create_directory(parent / name);
  write_file_atomic(parent / (".model.lxf.tmp-" + dead), "x");
  write_file_atomic(parent / (".model.lxf.tmp-" + living), "x");
  remove_stale(parent.path);
  CHECK(names(parent.path) == std::set<std::string>{".tmp-checkpoint-7-" + living, ".tmp-checkpoint", ".hidden", "checkpoint-" + dead,
                                                    ".model.lxf.tmp-" + living});
}

TEST_CASE("checkpoints: a full disk leaves the old one") {
  const TemporaryFolder parent;
  save(parent, "checkpoint-1", "one");
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{1000, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  expect_file_error([&] { save(parent, "checkpoint-2", std::string(2000, 'x')); }, "cannot be written: File too large");
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, old_handler);
  CHECK(names(parent.path) == std::set<std::string>{"checkpoint-1"});
}

TEST_CASE("checkpoints: what stands in the way of a rename leaves the old one") {
  const TemporaryFolder parent;
  save(parent, "checkpoint-1", "one");
  const std::string in_the_way = cat(".tmp-checkpoint-1-", ::getpid(), "-old");
  fs::create_directories(parent / (in_the_way + "/x"));
  expect_file_error([&] { save(parent, "checkpoint-1", "two"); }, "checkpoint-1: cannot be renamed to ");
  CHECK(names(parent.path) == std::set<std::string>{in_the_way, "checkpoint-1"});
  CHECK(read_file(parent / "checkpoint-1/model.lxf") == "one");
  CHECK(latest(parent) == "checkpoint-1");
}

TEST_CASE("checkpoints: kill -9 at random moments never costs one") {
  const TemporaryFolder parent;
  const auto start = std::chrono::steady_clock::now();
  save(parent, "checkpoint-0", "content 0");
  const std::chrono::duration<double, std::micro> one_save = std::chrono::steady_clock::now() - start;
  double longest = 5 * std::min(one_save.count(), 1e5);  // microseconds
  RandomStream random(1, random_site::user);
  std::size_t last = 0;
  for (int trial = 0; trial < 20 || (last == 0 && trial < 100); ++trial) {
    if (last == 0) longest = std::min(1.5 * longest, 9e5);  // the machine may be slower now
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (std::size_t n = last + 1;; ++n) {
        save(parent, cat("checkpoint-", n), cat("content ", n));
        keep_last(parent.path, 2);
      }
    }
    ::usleep(static_cast<useconds_t>(random.uniform() * longest));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    remove_stale(parent.path);
    const auto found = find_latest_checkpoint(parent.path);
    REQUIRE(found.path.has_value());
    CHECK(found.ignored.empty());
    const auto number = std::stoull(found.path->filename().string().substr(11));
    CHECK(number >= last);
    CHECK(read_file((*found.path / "model.lxf").string()) == cat("content ", number));
    for (const auto& name : names(parent.path)) CHECK(name.starts_with("checkpoint-"));
    last = number;
  }
  CHECK(last > 0);
}

TEST_CASE("checkpoints: one that cannot be read is not taken for a damaged one") {
  const TemporaryFolder parent;
  save(parent, "checkpoint-1", "one");
  save(parent, "checkpoint-2", "two");
  fs::remove(parent / "checkpoint-2/model.lxf");
  fs::create_directory(parent / "checkpoint-2/model.lxf");  // as root, a file without rights could be read
  expect_file_error([&] { find_latest_checkpoint(parent.path); }, "checkpoint-2/model.lxf: is a folder, expected a file");
}
