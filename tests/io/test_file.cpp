// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "lexformer/io/file.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;
namespace fs = std::filesystem;

namespace {
/// The definition, bit by bit.
std::uint32_t naive_crc32(std::string_view bytes) {
  std::uint32_t c = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    c ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) c = (c & 1u) != 0 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
  }
  return ~c;
}
auto entries(const fs::path& folder) { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); }
}  // namespace

TEST_CASE("crc32: known answers, the bitwise definition, pieces") {
  CHECK(crc32("") == 0);
  CHECK(crc32("123456789") == 0xCBF43926u);
  CHECK(crc32("The quick brown fox jumps over the lazy dog") == 0x414FA339u);
  std::string bytes;
  for (unsigned i = 0; i < 300; ++i) {
    CHECK(crc32(bytes) == naive_crc32(bytes));
    const std::string_view view = bytes;
    CHECK(crc32(view.substr(i / 3), crc32(view.substr(0, i / 3))) == crc32(bytes));
    bytes += static_cast<char>(i * 151 + 7);
  }
}

TEST_CASE("write_file_atomic, read_file: round trip, replace, permissions, symbolic link") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.bin", bytes("x\0y\n", 4);
  write_file_atomic(path, bytes);
  CHECK(read_file(path) == bytes);
  write_file_atomic(path, "");
  CHECK(read_file(path).empty());
  const std::string big(300000, 'q');
  const std::string_view parts[] = {"head", "", big};
  fs::permissions(path, fs::perms(0640));
  write_file_atomic(path, parts);
  CHECK(read_file(path) == "head" + big);
  CHECK(fs::status(path).permissions() == fs::perms(0640));
  fs::create_symlink(path, folder / "link");
  write_file_atomic(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_file(path) == "new");
  CHECK(entries(folder.path) == 2);
}

TEST_CASE("write_file_atomic: a pipe is written directly, by its own name and by a link to it, as /dev/stdout is") {
  const TemporaryFolder folder;
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const std::string name = "/dev/fd/" + std::to_string(ends[1]);
  fs::create_symlink(name, folder / "link");
  write_file_atomic(name, "some ");
  write_file_atomic(folder / "link", "text");
  ::close(ends[1]);
  const std::string reader = "/dev/fd/" + std::to_string(ends[0]);
  CHECK(read_file(reader) == "some text");
  expect_file_error([&] { read_file(reader); }, reader + ": the pipe is empty, or was read already; save its text in a file");
  ::close(ends[0]);
  CHECK(entries(folder.path) == 1);
  CHECK(fs::is_symlink(folder / "link"));
}

TEST_CASE("read_file: errors") {
  const TemporaryFolder folder;
  expect_file_error([&] { read_file(folder / "none"); }, "none: cannot be opened: No such file");
  expect_file_error([&] { read_file(folder.path.string()); }, "is a folder");
  write_file_atomic(folder / "a", "12345");
  expect_file_error([&] { read_file(folder / "a", 4); }, "a: has more than 4 bytes");
  CHECK(read_file(folder / "a", 5) == "12345");
  expect_file_error([] { read_file("/dev/zero", 1000000); }, "/dev/zero: has more than 1000000 bytes");
  if (fs::exists("/proc/self/mem"))  // can be opened, but address 0 cannot be read
    expect_file_error([] { read_file("/proc/self/mem"); }, "/proc/self/mem: cannot be read: ");
  expect_file_error([&] { sync_file(folder / "none"); }, "none: cannot be synced: No such file");
  expect_file_error([&] { sync_folder(folder / "none"); }, "none: cannot be synced: No such file");
  CHECK_NOTHROW(sync_folder(""));  // the current folder
}

TEST_CASE("write_file_atomic: a failed write leaves the old file and nothing else") {
  const TemporaryFolder folder;
  const std::string path = folder / "a";
  write_file_atomic(path, "old");
  expect_file_error([&] { write_file_atomic(folder / "no/such/folder/a", "x"); }, "folder/a: cannot be written: No such file");
  expect_file_error([&] { write_file_atomic(folder.path.string(), "x"); }, "is a folder");
  if (fs::exists("/dev/full")) {
    expect_file_error([] { write_file_atomic("/dev/full", "x"); }, "/dev/full: cannot be written: No space left on device");
    CHECK_FALSE(fs::is_regular_file("/dev/full"));
  }
  // A file size limit simulates a disk that becomes full while the file is written.
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{65536, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string big(100000, 'q');
  expect_file_error([&] { write_file_atomic(path, big); }, "a: cannot be written: File too large");
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, old_handler);
  CHECK(read_file(path) == "old");
  CHECK(entries(folder.path) == 1);
}

TEST_CASE("read_file: the start is checked before the rest takes memory") {
  const TemporaryFolder folder;
  const auto check = [](std::string_view start, const std::string& path) {
    if (!start.starts_with("good")) fail_file(path, "begins with ", start.size(), " other bytes");
  };
  write_file_atomic(folder / "small", "good");
  write_file_atomic(folder / "good", "good" + std::string(200000, 'x'));
  write_file_atomic(folder / "bad", "bad" + std::string(30, 'x'));
  CHECK(read_file(folder / "small", max_file_bytes, check) == "good");
  CHECK(read_file(folder / "good", max_file_bytes, check) == "good" + std::string(200000, 'x'));
  expect_file_error([&] { read_file(folder / "bad", max_file_bytes, check); }, "bad: begins with 33 other bytes");
  fs::resize_file(folder / "bad", 40ull << 30);  // a sparse file of 40 GiB
  expect_file_error([&] { read_file(folder / "bad", max_file_bytes, check); }, "bad: begins with 65536 other bytes");
}

TEST_CASE("path_exists, is_folder, make_folders: what cannot be looked at is an error of kind file") {
  const TemporaryFolder folder;
  write_file_atomic(folder / "file", "x");
  fs::create_symlink(folder / "loop", folder / "loop");
  CHECK(path_exists(folder / "file"));
  CHECK_FALSE(path_exists(folder / "none"));
  CHECK_FALSE(path_exists(folder / "file/below"));
  CHECK(is_folder(folder.path));
  CHECK_FALSE(is_folder(folder / "file"));
  CHECK_FALSE(is_folder(folder / "none"));
  for (const std::string& bad : {folder / "loop", folder / std::string(300, 'x')}) {
    expect_file_error([&] { path_exists(bad); }, "cannot be opened: ");
    expect_file_error([&] { is_folder(bad); }, "cannot be opened: ");
    expect_file_error([&] { make_folders(bad); }, "cannot be ");
  }
  make_folders(folder / "a/b");
  make_folders(folder / "a/b");
  CHECK(is_folder(folder / "a/b"));
  expect_file_error([&] { make_folders(folder / "file"); }, "file: ");
  expect_file_error([&] { make_folders(folder / "file/below"); }, "below: cannot be created: Not a directory");
}
