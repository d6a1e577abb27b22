// SPDX-License-Identifier: MIT
// What programs that train share: what they do not write over, and how a run ends that went wrong.
#pragma once

#include <filesystem>

#include "program.hpp"

namespace program {

/// Nothing of an earlier run, or of another program, is written over unasked.
inline void check_out(const std::string& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name == "log.jsonl" || name == "model.lxf" || name == "all_results.json" || name == "README.md" ||
        name.starts_with(lx::detail::checkpoint_prefix))
      lx::fail_usage(folder, "holds ", name, " already; --resume goes on with an earlier run, --overwrite begins anew");
  }
}

/// A weight can overflow in the update itself, with finite gradients. A later step would show it, but neither a checkpoint nor the best
/// model may be replaced by such weights before.
template <class T, class Dev>
void check_weights(const std::vector<lx::NamedParameter<T, Dev>>& parameters, lx::RunLog& log, std::size_t step, double epoch, double lr) {
  for (const auto& p : parameters) {
    const T* weights = p.var.value().data();
    if (weights == nullptr || lx::Kernels<Dev>::all_finite(p.var.size(), weights)) continue;
    log.add({{"step", step}, {"epoch", epoch}, {"not_finite", p.name}});
    lx::fail_numeric(lx::cat("step ", step), "AdamW: '", p.name, "' is not finite after the update with learning rate ", lr,
                     "; it was not saved");
  }
}

/// Says what a model did not find in its file, and what it did not take from there.
template <class Model>
void report_tensors(const std::string& path, const Model& model) {
  std::cerr << lx::one_line(path) << ": " << model.new_tensors().size() << " new tensors";
  if (!model.new_tensors().empty()) std::cerr << " (" << lx::one_line(model.new_tensors().front(), 80) << " ...)";
  if (!model.unused_tensors().empty())
    std::cerr << ", " << model.unused_tensors().size() << " not used (" << lx::one_line(model.unused_tensors().front(), 80) << " ...)";
  std::cerr << "\n";
}

/// The checkpoint that --resume goes on with, if there is one.
inline lx::LatestCheckpoint find_checkpoint(const std::string& out) {
  auto latest = lx::find_latest_checkpoint(out);
  if (!latest.path && std::filesystem::exists(out + "/model.lxf")) {
    for (const auto& why : latest.ignored) std::cerr << "damaged: " << why << "\n";
    lx::fail_usage(out, "holds a model but no checkpoint to resume; --overwrite begins anew");
  }
  return latest;
}

/// Deletes the checkpoints that cannot be read, and says where none is left.
inline void drop_damaged(const std::string& out, const lx::LatestCheckpoint& latest) {
  for (const auto& why : latest.ignored) std::cerr << "damaged, deleted: " << why << "\n";
  lx::remove_damaged(out, latest);
  if (!latest.path) std::cerr << out << ": there is no checkpoint to resume; the run begins anew\n";
}

inline void say_interrupted(lx::Progress& progress, const std::string& when, const std::string& out) {
  progress.finish();
  std::cerr << "interrupted after " << when << "; saved in " << out << ", go on with --resume\n";
}

}  // namespace program
