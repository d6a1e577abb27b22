// SPDX-License-Identifier: MIT
// The lines that `match` shows.
#pragma once

#include <iomanip>

#include "cli/program.hpp"

namespace program {

/// The scoring of a run: pairs and left records in all, and those that an earlier run has scored.
struct MatchProgress {
  std::size_t pairs, rows, first_pairs;
  double start = lx::steady_seconds();

  /// The state after these pairs and left records.
  std::string scored(std::size_t done_pairs, std::size_t done_rows) const {
    const double rate = static_cast<double>(done_pairs - first_pairs) / std::max(lx::steady_seconds() - start, 1e-9);
    return lx::cat(std::setw(3), 100 * done_pairs / std::max<std::size_t>(pairs, 1), "%  rows ", done_rows, "/", rows, "  candidates ",
                   done_pairs, "/", pairs, "  ",
                   lx::format_rate(rate, "pairs", static_cast<double>(pairs - done_pairs) / std::max(rate, 1e-9)));
  }
  /// Says where the results of an interrupted run are. page: the run was to write one, which needs all rows. Returns the exit code.
  int interrupted(lx::Progress& progress, std::size_t done_rows, const std::string& out, bool page) const {
    progress.end();
    progress.note(lx::cat("interrupted after ", done_rows, " of ", rows, " left records; saved in ", out, ".part, continue with --resume",
                          page ? " and without --report, or begin again with --overwrite" : ""));
    return 130;
  }
  std::string finished(std::size_t matches, double threshold, const std::string& out) const {
    return lx::cat(out, ": ", counted(pairs, "pair", "pairs"), " scored, ", counted(matches, "match", "matches"), " at threshold ",
                   threshold, first_pairs > 0 ? " since the run was resumed" : "");
  }
};

}  // namespace program
