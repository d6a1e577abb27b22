// SPDX-License-Identifier: MIT
// The state of a long computation: one redrawn line on a terminal, else a line now and then.
#pragma once

#include "cli/program.hpp"

namespace program {

class StatusLine {
 public:
  StatusLine(std::ostream& out, bool shown, bool is_terminal) : out_(out), shown_(shown), terminal_(is_terminal) {}
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { end(); }

  /// Shows the text unless the last one was shown a moment ago.
  void show(std::string text) {
    const double now = lx::Progress::steady_seconds();
    if (!shown_ || now - last_ < (terminal_ ? 0.1 : 10.0)) return;
    last_ = now;
    const std::size_t width = text.size();
    text.resize(std::max(width, width_), ' ');  // over the rest of a longer line
    out_ << (terminal_ ? "\r" : "") << text << (terminal_ ? "" : "\n") << std::flush;
    width_ = terminal_ ? width : 0;
  }
  /// A line of its own.
  void note(const std::string& text) {
    end();
    if (shown_) out_ << text << '\n' << std::flush;
  }
  /// Ends the redrawn line.
  void end() {
    if (width_ > 0) out_ << '\n' << std::flush;
    width_ = 0;
  }

 private:
  std::ostream& out_;
  bool shown_, terminal_;
  double last_ = lx::Progress::steady_seconds();
  std::size_t width_ = 0;
};

}  // namespace program
