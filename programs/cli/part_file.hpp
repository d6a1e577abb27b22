// SPDX-License-Identifier: MIT
// An output that grows while the program runs: FILE.part, and FILE.part.json, which says how far it is known to be complete. A run that is
// killed at any time can be resumed to the same bytes; at the end FILE.part becomes FILE.
#pragma once

#include <unistd.h>

#include <lexformer/io/file_lock.hpp>
#include <lexformer/io/json.hpp>
#include <string_view>
#include <system_error>

#include "cli/program.hpp"

namespace program {

class PartFile {
 public:
  /// Opens and locks FILE.part before the work begins, so that a file that cannot be written, or that another process writes, is refused at
  /// once. From then on FILE, if there is one, is from an earlier run. If FILE is a link, the file it leads to is written.
  /// Errors: there is an interrupted run, and neither `resume` nor `overwrite`; FILE.part is of no run.
  PartFile(const std::string& path, bool resume, bool overwrite) : path_(target_of(path)), file_(open(part(), had_part_)) {
    lx::remove_temporaries(state());
    resumes_ = !overwrite && had_part_ && lx::path_exists(state());
    if (resumes_ && !resume) lx::fail_usage(part(), "has results of an interrupted run; --resume continues it, --overwrite starts again");
    if (!lx::path_exists(state()) && !overwrite && std::filesystem::file_size(part()) > 0)
      lx::fail_usage(part(), "was not written by an interrupted run; rename it, or name another output");
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile() {
    std::error_code none;
    if (!begun_ && !had_part_) std::filesystem::remove(part(), none);
  }

  /// settings: all that determines the output; a resumed run must have the same. Otherwise the output starts empty.
  void begin(lx::Json settings) {
    settings_ = std::move(settings);
    if (resumes_) {
      const lx::Json saved = lx::parse_json(lx::read_file(state()), state());
      const auto number = [&](const char* key) { return lx::get_size(saved, key, 0, lx::max_file_bytes, state()); };
      done_ = number("done");
      bytes_ = number("bytes");
      const lx::Json earlier = saved.value("settings", lx::Json::object());
      if (earlier != settings_)
        lx::fail_usage("--resume", part(), " was begun with other tables, options or another model", difference(earlier));
      if (std::filesystem::file_size(part()) < bytes_) lx::fail_file(part(), "has fewer than the ", bytes_, " bytes that were written");
    } else {
      save_state();  // before the first bytes: a file with bytes and without a state is of another program
    }
    std::filesystem::resize_file(part(), bytes_);
    begun_ = true;
  }

  /// How many units of work are in the file.
  std::size_t done() const { return done_; }
  std::size_t bytes() const { return bytes_; }
  std::string part() const { return path_ + ".part"; }

  /// Appends text, after which `done` units are complete. If the program is killed, either all of it counts or nothing.
  void append(std::string_view text, std::size_t done) {
    bytes_ += text.size();
    while (!text.empty()) {
      const ssize_t put = ::write(file_.value, text.data(), text.size());
      if (put < 0 && errno != EINTR) fail("written");
      text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
    }
    if (::fsync(file_.value) != 0) fail("synced");
    done_ = done;
    save_state();
  }

  /// Gives the file its name, and the permissions of the file that it replaces.
  void finish() {
    namespace fs = std::filesystem;
    std::error_code error;
    if (lx::path_exists(path_)) fs::permissions(part(), fs::status(path_).permissions(), error);
    if (!error) fs::rename(part(), path_, error);
    if (error) lx::fail_file(path_, "cannot be put in its place: ", error.message());
    fs::remove(state());
    lx::sync_folder(fs::path(path_).parent_path());
  }

 private:
  static std::string target_of(const std::string& path) {
    namespace fs = std::filesystem;
    std::string target = fs::is_symlink(path) ? fs::weakly_canonical(path).string() : path;
    if (lx::is_folder(target)) lx::fail_file(path, "is a folder, expected the name of a file to write");
    if (lx::path_exists(target) && !fs::is_regular_file(target))
      lx::fail_file(path, "is not a regular file; the output replaces it when it is complete, so name a file");
    return target;
  }
  static lx::detail::FileDescriptor open(const std::string& part, bool& existed) {
    existed = lx::path_exists(part);
    if (!existed) std::filesystem::remove(part + ".json");  // of a run that was killed when the file had its name already
    return lx::detail::open_locked(part, part);
  }
  std::string state() const { return path_ + ".part.json"; }
  void save_state() const {
    lx::write_file_atomic(state(), lx::Json{{"bytes", bytes_}, {"done", done_}, {"settings", settings_}}.dump(2) + "\n");
  }
  [[noreturn]] void fail(const char* what) const {
    lx::fail_file(part(), "cannot be ", what, ": ", std::generic_category().message(errno));
  }
  std::string difference(const lx::Json& earlier) const {
    for (const auto& item : settings_.items())
      if (!earlier.is_object() || earlier.value(item.key(), lx::Json()) != item.value()) return lx::cat(" (", item.key(), " differs)");
    return "";
  }

  bool had_part_ = false, resumes_ = false, begun_ = false;
  std::string path_;
  lx::detail::FileDescriptor file_;
  lx::Json settings_;
  std::size_t bytes_ = 0, done_ = 0;
};

}  // namespace program
