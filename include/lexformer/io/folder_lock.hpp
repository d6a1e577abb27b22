// SPDX-License-Identifier: MIT
// A lock that admits one process at a time to an output folder.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/io/file.hpp"

namespace lexformer {

/// Locks a folder for its lifetime; creates the folder if it does not exist. The lock is flock() on a file `.lock`, so it ends when the
/// process ends for any reason. The destructor removes the file and those created folders that are still empty.
/// Errors: another process holds the lock (kind usage; the message names the process); the folder cannot be created, or is a file.
/// On a file system without locks (some network drives) it has no effect.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  /// Tries to lock. Returns false if the file was removed between opening and locking it.
  bool take(const std::string& folder);

  /// Writes the holder into the file, through a separate descriptor, since the lock's own descriptor stays open until the end.
  void describe() const;

  std::string path_;
  std::vector<std::filesystem::path> made_;  // innermost first
  detail::FileDescriptor file_{-1};
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE FolderLock::FolderLock(const std::filesystem::path& folder) : path_((folder / ".lock").string()) {
  for (auto missing = folder; !missing.empty() && !path_exists(missing); missing = missing.parent_path()) made_.push_back(missing);
  make_folders(folder);
  while (!take(folder.string())) {
  }
  describe();
}

LEXFORMER_INLINE FolderLock::~FolderLock() {
  ::unlink(path_.c_str());  // before unlocking, so that a waiting process sees that its file was removed
  std::error_code ignored;
  for (const auto& folder : made_) std::filesystem::remove(folder, ignored);  // fails if it is not empty
}

LEXFORMER_INLINE bool FolderLock::take(const std::string& folder) {
  if (file_.value >= 0) ::close(file_.value);
  file_.value = ::open(path_.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_.value < 0) fail_file(path_, "cannot be created: ", detail::system_message(errno));
  if (::flock(file_.value, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    char text[128];  // by the lock's own descriptor: the file may just have been removed
    const ssize_t size = ::pread(file_.value, text, sizeof text, 0);
    std::string holder(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));  // another process may not have written it yet
    while (holder.ends_with('\n')) holder.pop_back();
    fail_usage(folder, "is in use by ", holder.empty() ? "another process" : holder, "; wait for it, or name another folder");
  }
  struct stat opened {};
  struct stat named {};
  return ::fstat(file_.value, &opened) == 0 && ::stat(path_.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

LEXFORMER_INLINE void FolderLock::describe() const {
  char since[64] = "";
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (::gmtime_r(&now, &parts) != nullptr) std::strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S UTC", &parts);
  const std::string text = cat("process ", process_id(), ", since ", since, "\n");
  detail::FileDescriptor file(::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  bool good = file.value >= 0;
  for (std::string_view rest = text; good && !rest.empty();) {
    const ssize_t put = ::write(file.value, rest.data(), rest.size());
    good = put >= 0 || errno == EINTR;
    if (put > 0) rest.remove_prefix(static_cast<std::size_t>(put));
  }
  if (good && ::close(std::exchange(file.value, -1)) == 0) return;
  const int error = errno;
  ::unlink(path_.c_str());
  fail_file(path_, "cannot be written: ", detail::system_message(error));
}

}  // namespace lexformer
#endif
