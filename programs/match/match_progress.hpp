// SPDX-License-Identifier: MIT
// The progress of `match`: candidates, then scores.
#pragma once

#include <iomanip>

#include "cli/status_line.hpp"

namespace program {

class MatchProgress {
 public:
  MatchProgress(std::ostream& out, bool shown, bool is_terminal) : out_(out), shown_(shown), line_(out, shown, is_terminal) {}

  /// A line of its own.
  void note(const std::string& text) { line_.note(text); }
  /// The search for candidates is done to this part.
  void searching(double done) { line_.show(lx::cat("candidates ", std::fixed, std::setprecision(0), 100 * done, "%")); }
  /// Starts the scoring; the first pairs and left records are done.
  void scoring(std::size_t pairs, std::size_t rows, std::size_t done_pairs, std::size_t done_rows) {
    pairs_ = pairs;
    rows_ = rows;
    first_ = done_pairs;
    start_ = lx::Progress::steady_seconds();
    if (done_rows > 0) note(lx::cat(done_rows, " of ", rows, " left records are done already"));
  }
  void scored(std::size_t pairs, std::size_t rows) {
    const double seconds = std::max(lx::Progress::steady_seconds() - start_, 1e-9);
    const double rate = static_cast<double>(pairs - first_) / seconds;
    line_.show(lx::cat(std::setw(3), 100 * pairs / std::max<std::size_t>(pairs_, 1), "%  rows ", rows, "/", rows_, "  candidates ", pairs,
                       "/", pairs_, "  ", std::fixed, std::setprecision(1), rate, " pairs/s  ETA ",
                       lx::format_duration(static_cast<double>(pairs_ - pairs) / rate)));
  }
  /// Says where the results of an interrupted run are. Returns the exit code.
  int interrupted(std::size_t done_rows, const std::string& out) {
    line_.end();
    out_ << "interrupted after " << done_rows << " of " << rows_ << " left records; saved in " << out << ".part, continue with --resume\n";
    return 130;
  }
  void finished(std::size_t matches, double threshold, const std::string& out, bool resumed) {
    line_.end();
    if (!shown_) return;
    out_ << out << ": " << counted(pairs_, "pair", "pairs") << " scored, " << counted(matches, "match", "matches") << " at threshold "
         << threshold << (resumed ? " since the run was resumed" : "") << "\n";
  }

 private:
  std::ostream& out_;
  bool shown_;
  StatusLine line_;
  std::size_t pairs_ = 0, rows_ = 0, first_ = 0;
  double start_ = 0;
};

}  // namespace program
