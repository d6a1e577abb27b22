// SPDX-License-Identifier: MIT
// The progress of `match`: one redrawn line on a terminal, else a line now and then.
#pragma once

#include <iomanip>

#include "program.hpp"

namespace program {

class MatchProgress {
 public:
  MatchProgress(std::ostream& out, bool shown, bool is_terminal) : out_(out), shown_(shown), terminal_(is_terminal) {}
  MatchProgress(const MatchProgress&) = delete;
  MatchProgress& operator=(const MatchProgress&) = delete;

  /// A line of its own.
  void note(const std::string& text) {
    end();
    if (shown_) out_ << text << '\n' << std::flush;
  }
  /// The search for candidates is done to this part.
  void searching(double done) { show(lx::cat("candidates ", std::fixed, std::setprecision(0), 100 * done, "%")); }
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
    show(lx::cat(std::setw(3), 100 * pairs / std::max<std::size_t>(pairs_, 1), "%  rows ", rows, "/", rows_, "  candidates ", pairs, "/",
                 pairs_, "  ", std::fixed, std::setprecision(1), rate, " pairs/s  ETA ",
                 lx::format_duration(static_cast<double>(pairs_ - pairs) / rate)));
  }
  /// Ends the redrawn line.
  void end() {
    if (width_ > 0) out_ << '\n' << std::flush;
    width_ = 0;
  }

 private:
  void show(std::string text) {
    const double now = lx::Progress::steady_seconds();
    if (!shown_ || now - last_ < (terminal_ ? 0.1 : 10.0)) return;
    last_ = now;
    const std::size_t width = text.size();
    text.resize(std::max(width, width_), ' ');  // over the rest of a longer line
    out_ << (terminal_ ? "\r" : "") << text << (terminal_ ? "" : "\n") << std::flush;
    width_ = terminal_ ? width : 0;
  }

  std::ostream& out_;
  bool shown_, terminal_;
  std::size_t pairs_ = 0, rows_ = 0, first_ = 0, width_ = 0;
  double start_ = 0, last_ = lx::Progress::steady_seconds();
};

}  // namespace program
