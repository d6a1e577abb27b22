// SPDX-License-Identifier: MIT
// Reads and writes whole files. A file is written under a temporary name in the same folder and renamed, so that a reader never sees a
// partial file, even after a crash or with a full disk.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"

namespace lexformer {

static_assert(std::endian::native == std::endian::little, "lexformer's files are little-endian and are read without swapping bytes");

/// The maximum size of a file that is read: 64 GiB.
inline constexpr std::size_t max_file_bytes = std::size_t{1} << 36;

namespace detail {

inline std::string system_message(int error) { return std::generic_category().message(error); }

/// Closes the descriptor on destruction.
struct FileDescriptor {
  explicit FileDescriptor(int fd) : value(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : value(std::exchange(other.value, -1)) {}
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (value >= 0) ::close(value);
  }
  int value;
};

}  // namespace detail

/// The 32-bit hash FNV-1a of the bytes of a text. Another prime gives another hash.
inline std::uint32_t fnv1a(std::string_view text, std::uint32_t prime = 0x01000193u) {
  std::uint32_t hash = 0x811c9dc5u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return hash;
}

/// CRC-32 with zlib's polynomial, equal to Python's zlib.crc32(bytes, start). crc32("123456789") is CBF43926.
std::uint32_t crc32(std::string_view bytes, std::uint32_t start = 0);

/// Whether the path exists, as a file, a folder or anything else. Errors: this cannot be determined (a folder without permission, a loop
/// of links, a name that is too long).
bool path_exists(const std::filesystem::path& path);

/// Whether the path is a folder. Errors: as path_exists().
bool is_folder(const std::filesystem::path& path);

/// Creates a folder and its missing parents. Errors: it cannot be created; the path or a parent is a file.
void make_folders(const std::filesystem::path& path);

/// Reads a file or a pipe. `check_start` receives the first 64 KiB (or all bytes) before memory for the rest is allocated; it throws if
/// they cannot start a file of the expected type. Errors: missing, a folder, unreadable, more than `limit` bytes.
std::string read_file(const std::string& path, std::size_t limit = max_file_bytes,
                      void (*check_start)(std::string_view start, const std::string& path) = nullptr);

/// Errors (file): `start`, the beginning of a file, is what stands in for a file that was not fetched: a pointer of Git LFS, or a page of
/// HTML.
void check_placeholder(std::string_view start, const std::string& path);

/// Makes the contents of a written file durable.
void sync_file(const std::string& path);

/// Makes the entries of a folder (after a rename or for a new file) durable.
void sync_folder(const std::filesystem::path& folder);

/// The id of this process, and whether a process exists; temporary names contain the id.
inline long process_id() { return ::getpid(); }
inline bool process_exists(long id) { return ::kill(static_cast<pid_t>(id), 0) == 0 || errno != ESRCH; }

/// Writes the concatenated parts to a temporary file in the same folder, syncs it and renames it to `path`. On any error the previous file
/// is unchanged and the temporary file is removed.
/// If `path` exists and is not a regular file (a pipe, /dev/stdout), it is written directly.
void write_file_atomic(const std::string& path, std::span<const std::string_view> parts);
void write_file_atomic(const std::string& path, std::string_view bytes);

/// Removes the temporary files of `path` that killed processes left. Only for a process that has a lock on `path`.
void remove_temporaries(const std::string& path);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace lexformer {

namespace detail {
/// CRC-32 tables for eight bytes per step: table[k][b] = CRC of byte b followed by k zero bytes.
inline constexpr auto crc_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> table{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t c = b;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1u) != 0 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    table[0][b] = c;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b) table[k][b] = table[0][table[k - 1][b] & 0xFFu] ^ (table[k - 1][b] >> 8);
  return table;
}();

inline constexpr std::string_view temporary_mark = ".tmp-";  // .NAME.tmp-PROCESS
}  // namespace detail

LEXFORMER_INLINE std::uint32_t crc32(std::string_view bytes, std::uint32_t start) {
  const auto& table = detail::crc_tables;
  std::uint32_t c = ~start;
  while (bytes.size() >= 8) {
    std::uint32_t low = 0, high = 0;
    std::memcpy(&low, bytes.data(), 4);
    std::memcpy(&high, bytes.data() + 4, 4);
    low ^= c;
    c = table[7][low & 0xFFu] ^ table[6][(low >> 8) & 0xFFu] ^ table[5][(low >> 16) & 0xFFu] ^ table[4][low >> 24] ^
        table[3][high & 0xFFu] ^ table[2][(high >> 8) & 0xFFu] ^ table[1][(high >> 16) & 0xFFu] ^ table[0][high >> 24];
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes) c = table[0][(c ^ static_cast<unsigned char>(byte)) & 0xFFu] ^ (c >> 8);
  return ~c;
}

LEXFORMER_INLINE bool path_exists(const std::filesystem::path& path) {
  std::error_code error;
  const bool found = std::filesystem::exists(path, error);
  if (error) fail_file(path.string(), "cannot be opened: ", error.message());
  return found;
}

LEXFORMER_INLINE bool is_folder(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error && status.type() != std::filesystem::file_type::not_found) fail_file(path.string(), "cannot be opened: ", error.message());
  return status.type() == std::filesystem::file_type::directory;
}

LEXFORMER_INLINE void make_folders(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail_file(path.string(), "cannot be created: ", error.message());
  if (!is_folder(path)) fail_file(path.string(), "is a file, expected a folder");
}

LEXFORMER_INLINE std::string read_file(const std::string& path, std::size_t limit,
                                       void (*check_start)(std::string_view start, const std::string& path)) {
  const detail::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value < 0) fail_file(path, "cannot be opened: ", detail::system_message(errno));
  struct stat info {};
  if (::fstat(file.value, &info) != 0) fail_file(path, "cannot be read: ", detail::system_message(errno));
  if (S_ISDIR(info.st_mode)) fail_file(path, "is a folder, expected a file");
  const auto size = static_cast<std::size_t>(S_ISREG(info.st_mode) ? info.st_size : 0);
  std::string bytes;
  try {
    for (std::size_t used = 0;;) {
      if (std::max(used, size) > limit) fail_file(path, "has more than ", limit, " bytes, the most that is read of such a file");
      // One byte more than the expected size detects the end of the file without growing the string.
      if (used == bytes.size()) bytes.resize(used == 0 ? std::size_t{65536} : std::max(size + 1, used + used / 2));
      const ssize_t got = ::read(file.value, bytes.data() + used, bytes.size() - used);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_file(path, "cannot be read: ", detail::system_message(errno));
      if (got == 0) {
        if (used == 0 && S_ISFIFO(info.st_mode)) fail_file(path, "the pipe is empty, or was read already; save its text in a file");
        bytes.resize(used);
        return bytes;
      }
      used += static_cast<std::size_t>(got);
      if (check_start != nullptr && used >= 16) std::exchange(check_start, nullptr)(std::string_view(bytes).substr(0, used), path);
    }
  } catch (const std::bad_alloc&) {
    fail_file(path, "does not fit into memory (", size, " bytes)");
  }
}

LEXFORMER_INLINE void check_placeholder(std::string_view start, const std::string& path) {
  if (start.starts_with("version https://git-lfs"))
    fail_file(path, "is a pointer of Git LFS and not the file itself; fetch it: git lfs pull");
  std::string text(start.substr(std::min(start.find_first_not_of(" \t\r\n"), start.size()), 14));
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (text.starts_with("<!doctype html") || text.starts_with("<html"))
    fail_file(path, "is a page of HTML and not the file itself; download it again, from the link to the raw file");
}

LEXFORMER_INLINE void sync_file(const std::string& path) {
  const detail::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value < 0 || ::fsync(file.value) != 0) fail_file(path, "cannot be synced: ", detail::system_message(errno));
}

LEXFORMER_INLINE void sync_folder(const std::filesystem::path& folder) {
  const std::string name = folder.empty() ? "." : folder.string();
  const detail::FileDescriptor file(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder and return EINVAL; this is not an error.
  if (file.value < 0 || (::fsync(file.value) != 0 && errno != EINVAL)) fail_file(name, "cannot be synced: ", detail::system_message(errno));
}

LEXFORMER_INLINE void write_file_atomic(const std::string& path, std::span<const std::string_view> parts) {
  namespace fs = std::filesystem;
  std::error_code wrong;
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) fail_file(path, "is a folder, expected the name of a file to write");
  const bool direct = exists && !S_ISREG(info.st_mode);
  fs::path target = path;
  if (!direct && fs::is_symlink(path, wrong)) target = fs::weakly_canonical(path, wrong);  // a pipe's link leads to no name
  if (target.empty()) fail_file(path, "cannot be written: ", wrong.message());
  const fs::path temporary =
      direct ? target : target.parent_path() / cat(".", target.filename().string(), detail::temporary_mark, process_id());

  if (!direct) ::unlink(temporary.c_str());  // may be left by a killed process with this id
  bool created = false;
  const auto stop = [&](const char* what) {
    const int error = errno;
    if (created) ::unlink(temporary.c_str());
    fail_file(path, "cannot be ", what, ": ", detail::system_message(error));
  };
  detail::FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CLOEXEC | (direct ? 0 : O_CREAT | O_EXCL), 0666));
  if (file.value < 0) stop("written");
  created = !direct;
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const ssize_t put = ::write(file.value, part.data(), part.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) stop("written");
      part.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  if (!direct) {
    if (exists && ::fchmod(file.value, info.st_mode & 07777) != 0) stop("given its old permissions");
    if (::fsync(file.value) != 0) stop("synced");
  }
  if (::close(std::exchange(file.value, -1)) != 0) stop("closed");
  if (!direct) {
    if (::rename(temporary.c_str(), target.c_str()) != 0) stop("put in its place");
    sync_folder(target.parent_path());
  }
}

LEXFORMER_INLINE void remove_temporaries(const std::string& path) {
  const std::filesystem::path file(path), folder = file.has_parent_path() ? file.parent_path() : ".";
  const std::string prefix = cat(".", file.filename().string(), detail::temporary_mark);
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with(prefix)) ::unlink(entry.path().c_str());
}

LEXFORMER_INLINE void write_file_atomic(const std::string& path, std::string_view bytes) {
  write_file_atomic(path, std::span<const std::string_view>(&bytes, 1));
}

}  // namespace lexformer
#endif
