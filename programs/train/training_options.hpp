// SPDX-License-Identifier: MIT
// The options that all training programs have: names, help texts, and keys in all_results.json.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/train/settings.hpp>

#include "cli/program.hpp"

namespace program {

/// TableOptions::label_advice of trainings without --labels.
inline constexpr const char* label_advice = " (`labels` names others: no,yes)";

/// Where a run goes, and what it shows.
struct RunOptions {
  std::string out, command;  // command: the command line, for the model card
  bool resume = false, overwrite = false, quiet = false;
  lx::ProgressMode progress = lx::ProgressMode::automatic;
  Compute compute;

  void visit_out(OptionVisitor& v) {
    v.folder("out", out, "folder for model.lxf, all_results.json, log.jsonl and checkpoints")
        .required()
        .writes({std::begin(lx::run_files), std::end(lx::run_files)});
    v.flag("overwrite", overwrite, "start again in a folder with an earlier run").identity(false);
  }
  void visit_run(OptionVisitor& v, lx::TrainingSettings& settings) {
    v.group("");
    v.flag("resume", resume, "continue from the newest checkpoint in --out, to the same bytes as an uninterrupted run").identity(false);
    settings.visit_logging(v);
    v.choice("progress", progress, "progress display").identity(false);
    v.flag("quiet", quiet, "no progress, only the results").identity(false);
    compute.visit(v);
  }
  void finish_run() {
    if (quiet) progress = lx::ProgressMode::none;
  }
};

/// Moves an option, in help, behind one that was added before it.
inline void move_behind(OptionVisitor& v, const std::string& name, const std::string& other) {
  auto& options = v.options();
  const auto at = [&](const std::string& n) { return options.begin() + (v.find(n) - options.data()); };
  std::rotate(at(other) + 1, at(name), at(name) + 1);
}

/// The options of a run that identify it; a resumed run must have the same.
template <class Options>
lx::Json identity_of(const Options& options) {
  return lx::identity_json([o = options](OptionVisitor& v) mutable { o.visit(v); });
}

}  // namespace program
