// SPDX-License-Identifier: MIT
// Runs a harness without libFuzzer on the files given, or on all files of the folders given, once each.
#include <filesystem>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "lexformer/io/file.hpp"

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const fs::path path : std::vector<std::string>(arguments + 1, arguments + count))
    if (fs::is_directory(path)) {
      for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path().string());
    } else {
      files.push_back(path.string());
    }
  for (const std::string& file : files) {
    std::fprintf(stderr, "%s\n", file.c_str());  // the last name printed is the finding
    const std::string bytes = lexformer::read_file(file);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
