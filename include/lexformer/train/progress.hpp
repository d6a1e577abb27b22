// SPDX-License-Identifier: MIT
// Progress of a run: one redrawn line on a terminal, plain lines elsewhere. No colours or escape sequences.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iomanip>
#include <ostream>
#include <string>
#include <utility>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/train/hooks.hpp"

namespace lexformer {

enum class ProgressMode { automatic, bar, log, none };

template <>
inline constexpr Named<ProgressMode> names_of<ProgressMode>[] = {
    {"auto", ProgressMode::automatic}, {"bar", ProgressMode::bar}, {"log", ProgressMode::log}, {"none", ProgressMode::none}};

struct ProgressOptions {
  ProgressMode mode = ProgressMode::automatic;  // automatic: bar on a terminal, else log
  bool is_terminal = false;                     // whether the stream is a terminal; the program calls isatty
  std::size_t columns = 80;                     // of the terminal; longer lines are truncated
  std::size_t first_step = 0;                   // steps done by the run that this one resumes
  std::size_t total_steps = 0;                  // 0: unknown, so there is no percentage and no ETA
  std::size_t logging_steps = 0;                // log: a line every `logging_steps` steps; 0: by time only
  double log_seconds = 30.0;                    // log: seconds after which a line is due
  double redraw_seconds = 0.1;                  // bar: minimum seconds between redraws
  std::string samples = "pairs";                // unit of the samples
};

/// Formats seconds as h:mm:ss, or as m:ss below an hour.
std::string format_duration(double seconds);

/// Writes lines like ` 42%  step 120/286  loss 0.3124  lr 4.20e-05  53.1 pairs/s  ETA 3:12`. Rate and ETA are averages since
/// construction.
class Progress {
 public:
  /// `clock` returns seconds since any fixed time.
  explicit Progress(std::ostream& out, ProgressOptions options = {}, std::function<double()> clock = steady_seconds);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void update(const StepReport& report);

  /// Writes a separate line, above the progress line if there is one.
  void note(const std::string& text);

  /// Shows the last step if it is not shown yet, and ends the redrawn line. More steps may follow.
  void finish();

  static double steady_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

 private:
  void show(double now);

  std::string line(double now) const;

  void erase();

  std::ostream& out_;
  ProgressOptions options_;
  std::function<double()> clock_;
  double start_, last_;  // last_: time of the last output
  std::size_t samples_ = 0;
  StepReport report_;
  bool shown_ = true;      // whether report_ was shown
  std::size_t width_ = 0;  // of the redrawn line currently on the terminal
};

/// Hooks that write to a stream what a run tells: the progress line, a line for each evaluation, notes. The stream must outlive the run.
///   lx::Trainer(task, optimizer, {.out = out, .schedule = schedule, .hooks = lx::progress_hooks(std::cerr)}).run();
TrainingHooks progress_hooks(std::ostream& out, ProgressOptions options = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <memory>
#include <optional>

namespace lexformer {

LEXFORMER_INLINE Progress::Progress(std::ostream& out, ProgressOptions options, std::function<double()> clock)
    : out_(out), options_(std::move(options)), clock_(std::move(clock)), start_(clock_()), last_(start_) {
  if (options_.mode == ProgressMode::automatic) options_.mode = options_.is_terminal ? ProgressMode::bar : ProgressMode::log;
}

LEXFORMER_INLINE Progress::~Progress() {
  try {
    finish();
  } catch (...) {  // an error of the stream does not end the program
  }
}

LEXFORMER_INLINE void Progress::update(const StepReport& report) {
  samples_ += report.samples;
  report_ = report;
  shown_ = false;
  const double now = clock_();
  const bool bar = options_.mode == ProgressMode::bar;
  const bool due = bar ? width_ == 0 || now - last_ >= options_.redraw_seconds
                       : now - last_ >= options_.log_seconds || (options_.logging_steps > 0 && report.step % options_.logging_steps == 0);
  if (options_.mode != ProgressMode::none && due) show(now);
}

LEXFORMER_INLINE void Progress::note(const std::string& text) {
  erase();
  out_ << text << '\n' << std::flush;
}

LEXFORMER_INLINE void Progress::finish() {
  if (!shown_ && options_.mode != ProgressMode::none) show(clock_());
  if (width_ > 0) out_ << '\n' << std::flush;
  width_ = 0;
}

LEXFORMER_INLINE void Progress::show(double now) {
  std::string text = line(now);
  if (options_.mode == ProgressMode::log) {
    out_ << text << '\n' << std::flush;
  } else {
    text.resize(std::min(text.size(), std::max<std::size_t>(options_.columns, 2) - 1));  // in the last column it would wrap
    const std::size_t width = text.size();
    text.resize(std::max(width, width_), ' ');  // over the rest of a longer line
    out_ << '\r' << text << std::flush;
    width_ = width;
  }
  last_ = now;
  shown_ = true;
}

LEXFORMER_INLINE std::string Progress::line(double now) const {
  const double seconds = std::max(now - start_, 1e-9);
  const auto steps = static_cast<double>(report_.step - std::min(options_.first_step, report_.step));
  std::string text;
  if (options_.total_steps > 0) text += cat(std::setw(3), 100 * report_.step / options_.total_steps, "%  ");
  text += cat("step ", report_.step);
  if (options_.total_steps > 0) text += cat("/", options_.total_steps);
  text += cat("  loss ", std::fixed, std::setprecision(4), report_.loss, "  lr ", std::scientific, std::setprecision(2), report_.lr);
  text += cat("  ", std::fixed, std::setprecision(1), static_cast<double>(samples_) / seconds, " ", options_.samples, "/s");
  if (options_.total_steps >= report_.step && steps > 0)
    text += cat("  ETA ", format_duration(static_cast<double>(options_.total_steps - report_.step) * seconds / steps));
  return text;
}

LEXFORMER_INLINE void Progress::erase() {
  if (width_ > 0) out_ << '\r' << std::string(width_, ' ') << '\r';
  width_ = 0;
}

LEXFORMER_INLINE TrainingHooks progress_hooks(std::ostream& out, ProgressOptions options) {
  const auto shown = std::make_shared<std::optional<Progress>>();
  TrainingHooks hooks;
  hooks.on_begin = [shown, &out, options](std::size_t first_step, std::size_t total_steps) mutable {
    options.first_step = first_step;
    options.total_steps = total_steps;
    shown->emplace(out, options);
  };
  hooks.on_step = [shown](const StepReport& step) { (*shown)->update(step); };
  hooks.on_evaluation = [shown](const EvaluationReport& e) {
    if (e.measurement.text.empty()) return;
    (*shown)->note(
        cat("epoch ", std::setprecision(3), e.epochs, "  step ", e.step, "  ", e.measurement.text, e.best ? "  (best so far)" : ""));
  };
  hooks.on_note = [&out](const std::string& text) { out << text << '\n' << std::flush; };
  hooks.on_end = [shown] { (*shown)->finish(); };
  return hooks;
}

LEXFORMER_INLINE std::string format_duration(double seconds) {
  const auto total = std::llround(std::clamp(seconds, 0.0, 1e12));
  const auto two = [](long long x) { return cat(x < 10 ? "0" : "", x); };
  const long long h = total / 3600, m = total / 60 % 60, s = total % 60;
  return h > 0 ? cat(h, ":", two(m), ":", two(s)) : cat(m, ":", two(s));
}

}  // namespace lexformer
#endif
