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

/// What an output is made from: the values of options and the checksums of inputs, but for the options of these names. Inputs that can be
/// read only once, such as pipes, have no checksum.
class MadeFrom {
 public:
  lx::Json values = lx::Json::object();  // option or file -> value or checksum
  bool once = false;                     // an input can be read only once

  MadeFrom() = default;
  MadeFrom(const OptionVisitor& parsed, const std::set<std::string>& left_out) {
    for (const lx::Option& option : parsed.options()) {
      if (option.role == lx::Option::Role::output || option.role == lx::Option::Role::folder || left_out.contains(option.name)) continue;
      lx::write_option(option, values);
      if (option.role != lx::Option::Role::input) continue;
      const lx::Json value = values[option.name];
      for (const lx::Json& path : option.is_list() ? value : lx::Json::array({value}))
        if (path.is_string() && !path.get<std::string>().empty()) add_input(path.get<std::string>());
    }
  }
  /// The option or input in which `before` differs, as the command line has it, or "".
  std::string difference(const lx::Json& before, const OptionVisitor& parsed) const {
    std::string changed;
    for (const auto& item : values.items())
      if (!before.is_object() || !before.contains(item.key()) || before[item.key()] != item.value()) changed = item.key();
    const lx::Option* const option = parsed.find(changed);
    return option != nullptr ? flag_of(*option) : changed;
  }

 private:
  void add_input(const std::string& path) {
    if (lx::is_folder(path) || std::filesystem::is_regular_file(path))
      values[path] = checksum_of_input(path);
    else
      once = true;
  }
};

class Origin {
 public:
  /// parsed: the options of a command. kept: whether outputs get a file beside them. Inputs that can be read only once, such as pipes,
  /// never count as the same.
  Origin(const OptionVisitor& parsed, bool kept) : parsed_(parsed), kept_(kept) {
    if (kept) made_from_ = MadeFrom(parsed, {"resume", "overwrite", "quiet", "threads"});
  }
  /// Whether `path` is there and was made from the same; if it was made from other inputs or options, `changed` names one.
  bool made(const std::string& path, std::string& changed) const {
    if (!lx::path_exists(path) || !lx::path_exists(beside(path))) return false;
    const lx::Json before = lx::parse_json(lx::read_file(beside(path)), beside(path));
    changed = made_from_.difference(before, parsed_);
    return changed.empty() && !made_from_.once;
  }
  /// Calls `finish`, which gives `path` its new content, and writes the file beside it.
  template <class Finish>
  void replace(const std::string& path, Finish&& finish) const {
    std::filesystem::remove(beside(path));
    finish();
    if (kept_) lx::write_file_atomic(beside(path), made_from_.values.dump(2) + "\n");
  }

 private:
  static std::string beside(const std::string& path) { return path + ".origin.json"; }

  const OptionVisitor& parsed_;
  MadeFrom made_from_;
  bool kept_;
};

}  // namespace program
