// SPDX-License-Identifier: MIT
// Reads the output of training: log.jsonl, and the seeds in all_results.json.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

/// Reads the lines of a log.jsonl, each with its location for messages. Ignores an incomplete last line: the run may still be writing, or
/// may have been killed.
std::vector<std::pair<std::string, Json>> read_log(const std::string& file);

/// Returns the folders of a run's seeds. They are listed in all_results.json, which train_matcher writes last; folders of earlier runs may
/// exist beside them. Without that file: all seed-* folders with a model if the folder itself has no model, else none.
std::vector<std::string> seed_folders(const std::string& path);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <filesystem>
#include <limits>

#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<std::pair<std::string, Json>> read_log(const std::string& file) {
  const std::string text = read_file(file);
  std::vector<std::pair<std::string, Json>> entries;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    const std::string where = cat(file, ": line ", entries.size() + 1);
    entries.emplace_back(where, parse_json(text.substr(begin, end - begin), where));
  }
  return entries;
}

LEXFORMER_INLINE std::vector<std::string> seed_folders(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> seeds;
  if (const std::string file = path + "/all_results.json"; fs::exists(file)) {
    const Json results = parse_json(read_file(file), file);
    if (results.contains("runs"))
      for (const Json& run : results["runs"])
        seeds.push_back(cat(path, "/seed-", get_size(run, "seed", 0, std::numeric_limits<std::size_t>::max(), file)));
  } else if (fs::is_directory(path) && !fs::exists(path + "/model.lxf")) {
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().filename().string().starts_with("seed-") && fs::exists(entry.path() / "model.lxf"))
        seeds.push_back(entry.path().string());
    std::sort(seeds.begin(), seeds.end());
  }
  return seeds;
}

}  // namespace lexformer
#endif
