// SPDX-License-Identifier: MIT
// What an output was made from: FILE.origin.json beside it has the options and the checksums of the inputs. A job that runs again with
// --resume does nothing if they are the same.
#pragma once

#include <lexformer/io/file.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/io/options.hpp>

#include <fstream>
#include <set>

#include "cli/command_line.hpp"
#include "cli/program.hpp"

namespace program {

/// The checksum of a file; of a folder with a model, of its model.lxf, or of all its files if it is HuggingFace's.
inline std::uint32_t checksum_of_input(const std::string& path) {
  std::set<std::string> files{path};
  if (lx::path_exists(path + "/model.lxf")) {
    files = {path + "/model.lxf"};
  } else if (lx::is_folder(path)) {
    files.clear();
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.is_regular_file()) files.insert(entry.path().string());
  }
  std::uint32_t sum = 0;
  std::vector<char> block(std::size_t{1} << 20);
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) lx::fail_file(file, "cannot be opened");
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0)
      sum = lx::crc32({block.data(), static_cast<std::size_t>(in.gcount())}, sum);
  }
  return sum;
}

class Origin {
 public:
  /// parsed: the options of a command. kept: whether outputs get a file beside them. Inputs that can be read only once, such as pipes,
  /// never count as the same.
  Origin(const OptionVisitor& parsed, bool kept) : parsed_(parsed), kept_(kept) {
    if (!kept) return;
    for (const Option& option : parsed.options()) {
      if (option.role == Option::Role::output || option.role == Option::Role::folder || no_matter.contains(option.name)) continue;
      lx::write_option(option, made_from_);
      if (option.role != Option::Role::input) continue;
      const lx::Json value = made_from_[option.name];
      for (const lx::Json& path : option.is_list() ? value : lx::Json::array({value}))
        if (path.is_string() && !path.get<std::string>().empty()) add_input(path.get<std::string>());
    }
  }
  /// Whether `path` is there and was made from the same; if it was made from other inputs or options, `changed` names one.
  bool made(const std::string& path, std::string& changed) const {
    if (!lx::path_exists(path) || !lx::path_exists(beside(path))) return false;
    const lx::Json before = lx::parse_json(lx::read_file(beside(path)), beside(path));
    for (const auto& item : made_from_.items())
      if (!before.is_object() || !before.contains(item.key()) || before[item.key()] != item.value()) changed = item.key();
    if (const Option* option = parsed_.find(changed)) changed = flag_of(*option);
    return changed.empty() && !once_;
  }
  /// Calls `finish`, which gives `path` its new content, and writes the file beside it.
  template <class Finish>
  void replace(const std::string& path, Finish&& finish) const {
    std::filesystem::remove(beside(path));
    finish();
    if (kept_) lx::write_file_atomic(beside(path), made_from_.dump(2) + "\n");
  }

 private:
  using Option = lx::Option;
  static inline const std::set<std::string> no_matter{"resume", "overwrite", "quiet", "threads"};
  static std::string beside(const std::string& path) { return path + ".origin.json"; }

  void add_input(const std::string& path) {
    if (lx::is_folder(path) || std::filesystem::is_regular_file(path))
      made_from_[path] = checksum_of_input(path);
    else
      once_ = true;
  }

  const OptionVisitor& parsed_;
  lx::Json made_from_ = lx::Json::object();  // option or file -> value or checksum
  bool kept_, once_ = false;                 // once_: an input can be read only once
};

}  // namespace program
