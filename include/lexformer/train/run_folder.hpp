// SPDX-License-Identifier: MIT
// The output folder of a run: existing files are overwritten only on request, and a run resumes from the newest intact checkpoint.
#pragma once

#include <functional>
#include <string>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/checkpoint_dir.hpp"

namespace lexformer {

/// The files that a run writes into its folder, beside checkpoints.
inline constexpr const char* run_files[] = {"model.lxf", "log.jsonl", "all_results.json", "README.md"};

/// Errors: the folder contains files of an earlier run or of another program.
void check_out(const std::string& folder);

/// Returns the checkpoint to resume, if there is one. Errors: there is a model but no checkpoint; `note`, if it is set, is told of damaged
/// ones.
LatestCheckpoint find_checkpoint(const std::string& out, const std::function<void(const std::string&)>& note);

/// Deletes the checkpoints that cannot be read and reports them; also reports if none is left.
void drop_damaged(const std::string& out, const LatestCheckpoint& latest, const std::function<void(const std::string&)>& note);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <filesystem>
#include <iterator>

#include "lexformer/core/error.hpp"

namespace lexformer {

LEXFORMER_INLINE void check_out(const std::string& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (std::find(std::begin(run_files), std::end(run_files), name) != std::end(run_files) || name.starts_with(detail::checkpoint_prefix))
      fail_usage(folder, "holds ", name, " already; `resume` goes on with an earlier run, `overwrite` begins anew");
  }
}

LEXFORMER_INLINE LatestCheckpoint find_checkpoint(const std::string& out, const std::function<void(const std::string&)>& note) {
  auto latest = find_latest_checkpoint(out);
  if (!latest.path && std::filesystem::exists(out + "/model.lxf")) {
    for (const auto& why : latest.ignored)
      if (note) note("damaged: " + why);
    fail_usage(out, "holds a model but no checkpoint to resume; `overwrite` begins anew");
  }
  return latest;
}

LEXFORMER_INLINE void drop_damaged(const std::string& out, const LatestCheckpoint& latest,
                                   const std::function<void(const std::string&)>& note) {
  for (const auto& why : latest.ignored)
    if (note) note("damaged, deleted: " + why);
  remove_damaged(out, latest);
  if (!latest.path && note) note(out + ": there is no checkpoint to resume; the run begins anew");
}

}  // namespace lexformer
#endif
