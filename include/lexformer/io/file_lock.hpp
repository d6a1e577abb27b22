// SPDX-License-Identifier: MIT
// Locks that admit one process at a time to an output: a file or a folder.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/io/file.hpp"

namespace lexformer {

namespace detail {
/// Opens the regular file `path`, creates it if it does not exist, and locks it by flock(): the lock ends when the process ends for any
/// reason. `subject`: what the message says is in use. On a file system without locks (some network drives) nothing is locked.
/// Errors: another process holds the lock (kind usage; the message names it if the file begins with "process "); the path is a link or
/// no regular file; it cannot be opened.
FileDescriptor open_locked(const std::string& path, const std::string& subject);
}  // namespace detail

/// Locks something for its lifetime, by a file of this name, which holds the id of the process and is removed at the end.
/// Errors: as of open_locked(); a file of that name is not a lock.
class FileLock {
 public:
  FileLock(std::string path, const std::string& subject);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  /// Locks one output file, by `.NAME.lock` beside it.
  static FileLock of_output(const std::string& path) {
    const std::filesystem::path file(path);
    return FileLock((file.parent_path() / cat(".", file.filename().string(), ".lock")).string(), path);
  }

 private:
  void write_holder() const;

  std::string path_;
  detail::FileDescriptor file_;
};

/// Locks a folder for its lifetime, by `.lock` in it; creates the folder if it does not exist. The destructor removes those created folders
/// that are still empty. Errors: as of FileLock; the folder cannot be created, or is a file.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  std::vector<std::filesystem::path> made_;  // innermost first
  std::optional<FileLock> lock_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <ctime>
#include <string_view>
#include <system_error>
#include <utility>

namespace lexformer {

namespace detail {
/// The first bytes of a file; by the descriptor, since a file of that name may be another one by now.
inline std::string first_bytes(int file) {
  char text[128];
  return std::string(text, static_cast<std::size_t>(std::max<ssize_t>(::pread(file, text, sizeof text, 0), 0)));
}
}  // namespace detail

LEXFORMER_INLINE detail::FileDescriptor detail::open_locked(const std::string& path, const std::string& subject) {
  while (true) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    struct stat opened {};
    struct stat named {};
    std::error_code none;
    if (file.value < 0 && std::filesystem::is_symlink(path, none)) fail_file(path, "is a link, expected a file of its own; remove it");
    if (file.value < 0 || ::fstat(file.value, &opened) != 0) fail_file(path, "cannot be written: ", system_message(errno));
    if (!S_ISREG(opened.st_mode)) fail_file(path, "is not a regular file; remove it, or name another output");
    if (::flock(file.value, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      std::string holder = first_bytes(file.value);
      holder = holder.starts_with("process ") ? holder.substr(0, holder.find('\n')) : "another process";
      fail_usage(subject, "is in use by ", holder, "; wait for it, or name another output");
    }
    // The process that had the lock may have removed or renamed the file between opening and locking it.
    if (::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) return file;
  }
}

LEXFORMER_INLINE FileLock::FileLock(std::string path, const std::string& subject)
    : path_(std::move(path)), file_(detail::open_locked(path_, subject)) {
  const std::string before = detail::first_bytes(file_.value);  // of a process that was killed
  if (!before.empty() && !before.starts_with("process "))
    fail_file(path_, "is not a lock, but a file that lexformer did not write; rename it, or name another output");
  write_holder();
}

LEXFORMER_INLINE FileLock::~FileLock() {
  ::unlink(path_.c_str());  // before unlocking, so that a waiting process sees that its file was removed
}

LEXFORMER_INLINE void FileLock::write_holder() const {
  char since[64] = "";
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (::gmtime_r(&now, &parts) != nullptr) std::strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S UTC", &parts);
  const std::string text = cat("process ", process_id(), ", since ", since, "\n");
  bool good = ::ftruncate(file_.value, 0) == 0;
  for (std::string_view rest = text; good && !rest.empty();) {
    const ssize_t put = ::write(file_.value, rest.data(), rest.size());
    good = put >= 0 || errno == EINTR;
    if (put > 0) rest.remove_prefix(static_cast<std::size_t>(put));
  }
  if (good) return;
  const int error = errno;
  ::unlink(path_.c_str());
  fail_file(path_, "cannot be written: ", detail::system_message(error));
}

LEXFORMER_INLINE FolderLock::FolderLock(const std::filesystem::path& folder) {
  for (auto missing = folder; !missing.empty() && !path_exists(missing); missing = missing.parent_path()) made_.push_back(missing);
  make_folders(folder);
  lock_.emplace((folder / ".lock").string(), folder.string());
}

LEXFORMER_INLINE FolderLock::~FolderLock() {
  lock_.reset();
  std::error_code ignored;
  for (const auto& folder : made_) std::filesystem::remove(folder, ignored);  // fails if it is not empty
}

}  // namespace lexformer
#endif
