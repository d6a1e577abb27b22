// SPDX-License-Identifier: MIT
#include "lexformer/io/file_lock.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <memory>
#include <string>

#include "support/expect_error.hpp"

using namespace lexformer;
namespace fs = std::filesystem;

TEST_CASE("FolderLock: the second one is refused and names the holder, until the first one ends") {
  const TemporaryFolder folder;
  const std::string out = folder / "a/b";
  {
    const FolderLock first(out);
    CHECK(fs::is_directory(out));
    expect_error(
        ErrorKind::usage, [&] { FolderLock second(out); }, cat("a/b: is in use by process ", process_id(), ", since 2"));
    expect_error(
        ErrorKind::usage, [&] { FolderLock second(out); }, " UTC; wait for it, or name another output");
    const FolderLock other(folder / "c");  // another folder is free
    write_file_atomic(out + "/model.lxf", "x");
  }
  CHECK(fs::exists(out + "/model.lxf"));
  CHECK_FALSE(fs::exists(out + "/.lock"));
  CHECK_NOTHROW(FolderLock{out});
  CHECK(fs::exists(out));  // it existed before
}

TEST_CASE("FolderLock: folders that it made and nobody used go again") {
  const TemporaryFolder folder;
  { const FolderLock lock(folder / "a/b/c"); }
  CHECK_FALSE(fs::exists(folder / "a"));
  fs::create_directory(folder / "d");
  { const FolderLock lock(folder / "d/e"); }
  CHECK(fs::exists(folder / "d"));
  CHECK_FALSE(fs::exists(folder / "d/e"));
}

TEST_CASE("FolderLock: the lock ends with a process that is killed") {
  const TemporaryFolder folder;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = std::make_unique<FolderLock>(folder.path);
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  expect_error(
      ErrorKind::usage, [&] { FolderLock lock(folder.path); }, cat("is in use by process ", child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(fs::exists(folder / ".lock"));  // left behind, but not locked
  CHECK_NOTHROW(FolderLock{folder.path});
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("FolderLock: a folder that cannot be") {
  const TemporaryFolder folder;
  write_file_atomic(folder / "file", "x");
  expect_file_error([&] { FolderLock lock(folder / "file"); }, "file: ");
  expect_file_error([&] { FolderLock lock(folder / "file/below"); }, "file/below: cannot be created: Not a directory");
  expect_file_error([&] { FolderLock lock(folder / std::string(300, 'x')); }, "File name too long");
  fs::create_symlink(folder / "loop", folder / "loop");
  expect_file_error([&] { FolderLock lock(folder / "loop"); }, "Too many levels of symbolic links");
}

TEST_CASE("FileLock: of an output; a link or a file of the user in its place is refused and stays") {
  const TemporaryFolder folder;
  const std::string out = folder / "m.csv", lock = folder / ".m.csv.lock";
  {
    const auto first = FileLock::of_output(out);
    expect_error(
        ErrorKind::usage, [&] { FileLock::of_output(out); }, cat("m.csv: is in use by process ", process_id()));
    CHECK(fs::exists(lock));
  }
  CHECK_FALSE(fs::exists(lock));
  write_file_atomic(lock, "process 1, since 2020\n");  // left by a killed process
  { const auto again = FileLock::of_output(out); }
  CHECK_FALSE(fs::exists(lock));

  write_file_atomic(lock, "mine");
  expect_file_error([&] { FileLock::of_output(out); }, ".m.csv.lock: is not a lock");
  CHECK(read_file(lock) == "mine");
  fs::remove(lock);
  write_file_atomic(folder / "other", "mine");
  fs::create_symlink(folder / "other", lock);
  expect_file_error([&] { FileLock::of_output(out); }, ".m.csv.lock: is a link");
  CHECK(read_file(folder / "other") == "mine");
  fs::remove(lock);
  REQUIRE(::mkfifo(lock.c_str(), 0600) == 0);
  expect_file_error([&] { FileLock::of_output(out); }, ".m.csv.lock: is not a regular file");
}

TEST_CASE("remove_temporaries: those of one file") {
  const TemporaryFolder folder;
  for (const char* name : {".a.csv.tmp-1", ".a.csv.tmp-22", ".b.csv.tmp-1", "a.csv"}) write_file_atomic(folder / name, "x");
  remove_temporaries(folder / "a.csv");
  CHECK_FALSE(fs::exists(folder / ".a.csv.tmp-1"));
  CHECK_FALSE(fs::exists(folder / ".a.csv.tmp-22"));
  CHECK(fs::exists(folder / ".b.csv.tmp-1"));
  CHECK(fs::exists(folder / "a.csv"));
}
