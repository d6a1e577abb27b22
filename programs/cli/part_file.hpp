// SPDX-License-Identifier: MIT
// An output that grows while the program runs: FILE.part, and FILE.part.json, which says how far it is known to be complete. A run that is
// killed at any time can be resumed to the same bytes; at the end FILE.part becomes FILE.
#pragma once

#include <cstdio>
#include <lexformer/io/json.hpp>
#include <system_error>

#include "cli/program.hpp"

namespace program {

class PartFile {
 public:
  /// Opens FILE.part before the work begins, so that a file that cannot be written is refused at once. From then on FILE, if there is one,
  /// is from an earlier run. Errors (usage): there is an interrupted run, and neither `resume` nor `overwrite`.
  PartFile(std::string path, bool resume, bool overwrite) : path_(std::move(path)) {
    if (lx::is_folder(path_)) lx::fail_file(path_, "is a folder, expected the name of a file to write");
    had_part_ = lx::path_exists(part());
    resumes_ = !overwrite && had_part_ && lx::path_exists(state());
    if (resumes_ && !resume) lx::fail_usage(part(), "has results of an interrupted run; --resume continues it, --overwrite starts again");
    if (!had_part_) std::filesystem::remove(state());
    file_ = std::fopen(part().c_str(), "ab");
    if (file_ == nullptr) fail("written");
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::error_code none;
    if (!begun_ && !had_part_) std::filesystem::remove(part(), none);
  }

  /// Whether FILE is there and no run that would replace it has begun.
  static bool is_finished(const std::string& path) { return lx::path_exists(path) && !lx::path_exists(path + ".part"); }

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
      std::filesystem::resize_file(part(), bytes_);
    } else {
      std::filesystem::remove(state());
      std::filesystem::resize_file(part(), 0);
    }
    begun_ = true;
  }

  /// How many units of work are in the file.
  std::size_t done() const { return done_; }
  std::size_t bytes() const { return bytes_; }

  /// Appends text, after which `done` units are complete. If the program is killed, either all of it counts or nothing.
  void append(const std::string& text, std::size_t done) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0) fail("written");
    lx::sync_file(part());
    bytes_ += text.size();
    done_ = done;
    lx::write_file_atomic(state(), lx::Json{{"bytes", bytes_}, {"done", done_}, {"settings", settings_}}.dump(2) + "\n");
  }

  /// Gives the file its name.
  void finish() {
    if (std::fclose(std::exchange(file_, nullptr)) != 0) fail("closed");
    std::error_code error;
    std::filesystem::rename(part(), path_, error);
    if (error) lx::fail_file(path_, "cannot be put in its place: ", error.message());
    lx::sync_folder(std::filesystem::path(path_).parent_path());
    std::filesystem::remove(state());
  }

 private:
  std::string part() const { return path_ + ".part"; }
  std::string state() const { return path_ + ".part.json"; }
  [[noreturn]] void fail(const char* what) const {
    lx::fail_file(part(), "cannot be ", what, ": ", std::generic_category().message(errno));
  }
  std::string difference(const lx::Json& earlier) const {
    for (const auto& item : settings_.items())
      if (!earlier.is_object() || earlier.value(item.key(), lx::Json()) != item.value()) return lx::cat(" (", item.key(), " differs)");
    return "";
  }

  std::string path_;
  lx::Json settings_;
  std::FILE* file_ = nullptr;
  bool had_part_ = false, resumes_ = false, begun_ = false;
  std::size_t bytes_ = 0, done_ = 0;
};

}  // namespace program
