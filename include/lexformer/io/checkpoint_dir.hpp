// SPDX-License-Identifier: MIT
// Checkpoint folders that survive a crash, kill -9 and a full disk. A checkpoint is built in a folder `.tmp-...`, its files are synced and
// listed in MANIFEST.json (size and CRC-32), then the folder is renamed. A folder with its final name that matches its manifest is
// therefore complete.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// Builds a checkpoint. Write files into path(), then call commit(). Without commit() the destructor removes everything.
class CheckpointWriter {
 public:
  CheckpointWriter(const std::filesystem::path& parent, const std::string& name);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter();

  const std::filesystem::path& path() const { return temporary_; }

  /// Renames the checkpoint to its final name; it then survives a power failure. May replace a checkpoint of the same name (a damaged one,
  /// when a run resumes from the one before it). For a moment neither has the name, so do not replace the only good checkpoint.
  void commit();

 private:
  std::filesystem::path target_, temporary_;
};

/// Throws unless the folder matches its MANIFEST.json.
void check_checkpoint(const std::filesystem::path& folder);

struct LatestCheckpoint {
  std::optional<std::filesystem::path> path;  // empty: there is none
  std::vector<std::string> ignored;           // newer checkpoints that are damaged, each with the reason
};

/// Returns the intact `checkpoint-NUMBER` with the highest number. Errors: a file of one cannot be read (rights, memory, the disk), so it
/// may be intact.
LatestCheckpoint find_latest_checkpoint(const std::filesystem::path& parent);

/// Removes temporary files of killed processes: `.tmp-NAME-PID` and `.FILE.tmp-PID`. Call it before the first checkpoint of a run: files
/// with this process's own id are then left by an earlier process (in containers all processes may have the same id).
void remove_stale(const std::filesystem::path& parent);

/// Deletes the checkpoints newer than the newest intact one (`latest` of find_latest_checkpoint()). Otherwise keep_last() would keep them
/// instead of intact ones.
void remove_damaged(const std::filesystem::path& parent, const LatestCheckpoint& latest);

/// Deletes all but the `count` checkpoints with the highest numbers. Call it after a commit.
void keep_last(const std::filesystem::path& parent, std::size_t count);

namespace detail {
inline constexpr std::string_view checkpoint_prefix = "checkpoint-";
}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

namespace detail {

LEXFORMER_INLINE void rename_path(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) fail_file(from.string(), "cannot be renamed to ", to.string(), ": ", error.message());
}

/// The number at the end of `text` after `mark`, e.g. 120 for "checkpoint-120".
LEXFORMER_INLINE std::optional<std::size_t> number_after(std::string_view text, std::string_view mark) {
  const auto at = text.rfind(mark);
  if (at == text.npos) return {};
  const std::string_view digits = text.substr(at + mark.size());
  std::size_t number = 0;
  const auto got = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (got.ec != std::errc() || got.ptr != digits.data() + digits.size()) return {};
  return number;
}

/// Lists the folders checkpoint-<number> with their numbers, in descending order.
LEXFORMER_INLINE std::vector<std::pair<std::size_t, std::filesystem::path>> list_checkpoints(const std::filesystem::path& parent) {
  std::vector<std::pair<std::size_t, std::filesystem::path>> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    const auto number = number_after(name, checkpoint_prefix);
    // Other programs also write folders of this name; lexformer's have a manifest.
    if (number && name.starts_with(checkpoint_prefix) && std::filesystem::exists(entry.path() / "MANIFEST.json"))
      found.emplace_back(*number, entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

/// In what a checkpoint differs from its manifest; "" if it is intact. Errors: a file is there but cannot be read.
LEXFORMER_INLINE std::string damage_of(const std::filesystem::path& folder) {
  struct Entry {
    std::string file;
    std::size_t size, crc32;
  };
  std::vector<Entry> entries;
  const std::string manifest = (folder / "MANIFEST.json").string(), text = read_file(manifest);
  try {
    const Json root = parse_json(text, manifest);
    const Json* files = find_value(root, "files", true, manifest);
    if (!files->is_object()) fail_file(manifest, "'files' is ", files->type_name(), ", expected an object");
    for (const auto& [name, entry] : files->items()) {
      if (name.empty() || name.find('/') != name.npos || name[0] == '.') fail_file(manifest, in_quotes(name), " is no plain file name");
      entries.push_back({(folder / name).string(), get_size(entry, "size", 0, max_file_bytes, manifest),
                         get_size(entry, "crc32", 0, 0xFFFFFFFFu, manifest)});
    }
  } catch (const Error& error) {
    return error.what();
  }
  for (const auto& [file, size, sum] : entries) {
    std::error_code ignored;
    if (std::filesystem::status(file, ignored).type() == std::filesystem::file_type::not_found) return file + ": is missing";
    const std::string bytes = read_file(file);
    if (bytes.size() != size || crc32(bytes) != sum) return file + ": is not what MANIFEST.json says; it was changed or is damaged";
  }
  return "";
}

}  // namespace detail

LEXFORMER_INLINE CheckpointWriter::CheckpointWriter(const std::filesystem::path& parent, const std::string& name)
    : target_(parent / name), temporary_(parent / cat(".tmp-", name, "-", process_id())) {
  std::error_code error;
  std::filesystem::remove_all(temporary_, error);
  std::filesystem::create_directories(temporary_, error);
  if (error) fail_file(temporary_.string(), "cannot be created: ", error.message());
}
LEXFORMER_INLINE CheckpointWriter::~CheckpointWriter() {
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);  // after commit() this name no longer exists
}

LEXFORMER_INLINE void CheckpointWriter::commit() {
  namespace fs = std::filesystem;
  Json files = Json::object();
  for (const auto& entry : fs::directory_iterator(temporary_)) {
    const std::string file = entry.path().string(), bytes = read_file(file);
    files[entry.path().filename().string()] = {{"size", bytes.size()}, {"crc32", crc32(bytes)}};
    sync_file(file);
  }
  const std::string manifest = (temporary_ / "MANIFEST.json").string();
  write_file_atomic(manifest, dump_json({{"files", files}}, manifest) + "\n");
  const fs::path old = temporary_.string() + "-old";
  if (path_exists(target_)) detail::rename_path(target_, old);  // rename() cannot replace a folder that is not empty
  detail::rename_path(temporary_, target_);
  sync_folder(target_.parent_path());
  std::error_code ignored;
  fs::remove_all(old, ignored);
}

LEXFORMER_INLINE void check_checkpoint(const std::filesystem::path& folder) {
  if (const std::string damage = detail::damage_of(folder); !damage.empty()) throw Error(ErrorKind::file, damage);
}

LEXFORMER_INLINE LatestCheckpoint find_latest_checkpoint(const std::filesystem::path& parent) {
  LatestCheckpoint latest;
  for (const auto& [number, path] : detail::list_checkpoints(parent)) {
    std::string damage = detail::damage_of(path);
    if (damage.empty()) {
      latest.path = path;
      return latest;
    }
    latest.ignored.push_back(std::move(damage));
  }
  return latest;
}

LEXFORMER_INLINE void remove_stale(const std::filesystem::path& parent) {
  std::vector<std::filesystem::path> stale;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with("-old")) name.resize(name.size() - 4);
    const bool folder = name.starts_with(".tmp-"), file = name.starts_with(".") && name.find(".tmp-") != name.npos;
    const auto pid = detail::number_after(name, "-");
    if ((!folder && !file) || !pid || *pid > 0x7FFFFFFF) continue;
    const auto process = static_cast<long>(*pid);
    if (process == process_id() || !process_exists(process)) stale.push_back(entry.path());
  }
  for (const auto& path : stale) std::filesystem::remove_all(path, error);
}

LEXFORMER_INLINE void remove_damaged(const std::filesystem::path& parent, const LatestCheckpoint& latest) {
  std::error_code ignored;
  for (const auto& [number, path] : detail::list_checkpoints(parent)) {
    if (path == latest.path) break;
    std::filesystem::remove_all(path, ignored);
  }
}

LEXFORMER_INLINE void keep_last(const std::filesystem::path& parent, std::size_t count) {
  const auto all = detail::list_checkpoints(parent);
  for (std::size_t i = count; i < all.size(); ++i) {
    // Renamed first, so that a checkpoint's name never refers to a half-deleted folder.
    const auto going = parent / cat(".tmp-", all[i].second.filename().string(), "-", process_id());
    detail::rename_path(all[i].second, going);
    std::error_code ignored;
    std::filesystem::remove_all(going, ignored);
  }
}

}  // namespace lexformer
#endif
