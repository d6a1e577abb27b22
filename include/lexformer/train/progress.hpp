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
  double log_seconds = 30.0;                    // log: seconds after which a line is due
  double redraw_seconds = 0.1;                  // bar: minimum seconds between redraws
};

/// Formats seconds as h:mm:ss, or as m:ss below an hour.
std::string format_duration(double seconds);

/// Formats a rate, as `53.1 pairs/s  ETA 3:12`. seconds_left: below 0 without an ETA.
std::string format_rate(double per_second, const std::string& unit, double seconds_left);

/// Seconds since a fixed time.
inline double steady_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The state of a long computation: a line that is redrawn on a terminal, or a line now and then.
class Progress {
 public:
  /// `clock` returns seconds since any fixed time.
  explicit Progress(std::ostream& out, ProgressOptions options = {}, std::function<double()> clock = steady_seconds);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // finish()

  /// Shows the state, unless the last one was shown a moment ago. due: in the mode log it is shown in any case.
  void update(std::string text, bool due = false);

  /// Writes a separate line, above the progress line if there is one.
  void note(const std::string& text);

  /// Shows the last state if it is not shown yet, and ends the redrawn line. More may follow.
  void finish();

  /// Ends the redrawn line. A state that is not shown is dropped.
  void end();

 private:
  void show();

  std::ostream& out_;
  ProgressOptions options_;
  std::function<double()> clock_;
  double last_;  // time of the last output
  std::string text_;
  bool shown_ = true;      // whether text_ was shown
  std::size_t width_ = 0;  // of the redrawn line currently on the terminal
};

/// The line of a training step.
struct StepLineOptions {
  std::size_t logging_steps = 0;  // log: a line every `logging_steps` steps; 0: by time only
  std::string samples = "pairs";  // unit of the samples
};

/// Hooks that write to a stream what a run tells: lines like ` 42%  step 120/286  loss 0.3124  lr 4.20e-05  53.1 pairs/s  ETA 3:12`, with
/// rate and ETA as averages since the run began, a line for each evaluation, notes. The stream must outlive the run.
///   lx::Trainer(task, optimizer, {.out = out, .schedule = schedule, .hooks = lx::progress_hooks(std::cerr)}).run();
TrainingHooks progress_hooks(std::ostream& out, const ProgressOptions& options = {}, const StepLineOptions& line = {},
                             const std::function<double()>& clock = steady_seconds);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <memory>

namespace lexformer {

LEXFORMER_INLINE Progress::Progress(std::ostream& out, ProgressOptions options, std::function<double()> clock)
    : out_(out), options_(options), clock_(std::move(clock)), last_(clock_()) {
  if (options_.mode == ProgressMode::automatic) options_.mode = options_.is_terminal ? ProgressMode::bar : ProgressMode::log;
}

LEXFORMER_INLINE Progress::~Progress() {
  try {
    finish();
  } catch (...) {  // an error of the stream does not end the program
  }
}

LEXFORMER_INLINE void Progress::update(std::string text, bool due) {
  text_ = std::move(text);
  shown_ = false;
  const double seconds = clock_() - last_;
  const bool bar = options_.mode == ProgressMode::bar;
  due = bar ? width_ == 0 || seconds >= options_.redraw_seconds : due || seconds >= options_.log_seconds;
  if (options_.mode != ProgressMode::none && due) show();
}

LEXFORMER_INLINE void Progress::note(const std::string& text) {
  if (width_ > 0) out_ << '\r' << std::string(width_, ' ') << '\r';
  width_ = 0;
  out_ << text << '\n' << std::flush;
}

LEXFORMER_INLINE void Progress::finish() {
  if (!shown_ && options_.mode != ProgressMode::none) show();
  end();
}

LEXFORMER_INLINE void Progress::end() {
  if (width_ > 0) out_ << '\n' << std::flush;
  width_ = 0;
  shown_ = true;
}

LEXFORMER_INLINE void Progress::show() {
  if (options_.mode == ProgressMode::log) {
    out_ << text_ << '\n' << std::flush;
  } else {
    std::string text = text_.substr(0, std::max<std::size_t>(options_.columns, 2) - 1);  // in the last column it would wrap
    const std::size_t width = text.size();
    text.resize(std::max(width, width_), ' ');  // over the rest of a longer line
    out_ << '\r' << text << std::flush;
    width_ = width;
  }
  last_ = clock_();
  shown_ = true;
}

namespace detail {
/// What the lines of a run's steps need.
struct StepLines {
  Progress progress;
  StepLineOptions options;
  std::size_t first_step, total_steps, samples = 0;

  StepLines(std::ostream& out, const ProgressOptions& shown, const std::function<double()>& clock, StepLineOptions line, std::size_t first,
            std::size_t total)
      : progress(out, shown, clock), options(std::move(line)), first_step(first), total_steps(total) {}

  void update(const StepReport& r, double seconds) {
    samples += r.samples;
    const auto steps = static_cast<double>(r.step - std::min(first_step, r.step));
    std::string text;
    if (total_steps > 0) text += cat(std::setw(3), 100 * r.step / total_steps, "%  ");
    text += cat("step ", r.step);
    if (total_steps > 0) text += cat("/", total_steps);
    text += cat("  loss ", std::fixed, std::setprecision(4), r.loss, "  lr ", std::scientific, std::setprecision(2), r.lr, "  ");
    seconds = std::max(seconds, 1e-9);
    const double left = total_steps >= r.step && steps > 0 ? static_cast<double>(total_steps - r.step) * seconds / steps : -1;
    progress.update(text + format_rate(static_cast<double>(samples) / seconds, options.samples, left),
                    options.logging_steps > 0 && r.step % options.logging_steps == 0);
  }
};
}  // namespace detail

LEXFORMER_INLINE TrainingHooks progress_hooks(std::ostream& out, const ProgressOptions& options, const StepLineOptions& line,
                                              const std::function<double()>& clock) {
  const auto lines = std::make_shared<std::unique_ptr<detail::StepLines>>();
  const auto start = std::make_shared<double>();
  TrainingHooks hooks;
  hooks.on_begin = [=, &out](std::size_t first_step, std::size_t total_steps) {
    *start = clock();
    *lines = std::make_unique<detail::StepLines>(out, options, clock, line, first_step, total_steps);
  };
  hooks.on_step = [=](const StepReport& step) { (*lines)->update(step, clock() - *start); };
  hooks.on_evaluation = [=](const EvaluationReport& e) {
    if (e.measurement.text.empty()) return;
    (*lines)->progress.note(
        cat("epoch ", std::setprecision(3), e.epochs, "  step ", e.step, "  ", e.measurement.text, e.best ? "  (best so far)" : ""));
  };
  hooks.on_note = [=, &out](const std::string& text) {
    if (*lines)
      (*lines)->progress.note(text);
    else
      out << text << '\n' << std::flush;  // before the first step
  };
  hooks.on_end = [=] { (*lines)->progress.finish(); };
  return hooks;
}

LEXFORMER_INLINE std::string format_rate(double per_second, const std::string& unit, double seconds_left) {
  return cat(std::fixed, std::setprecision(1), per_second, " ", unit, "/s", seconds_left < 0 ? "" : "  ETA ",
             seconds_left < 0 ? "" : format_duration(seconds_left));
}

LEXFORMER_INLINE std::string format_duration(double seconds) {
  const auto total = std::llround(std::clamp(seconds, 0.0, 1e12));
  const auto two = [](long long x) { return cat(x < 10 ? "0" : "", x); };
  const long long h = total / 3600, m = total / 60 % 60, s = total % 60;
  return h > 0 ? cat(h, ":", two(m), ":", two(s)) : cat(m, ":", two(s));
}

}  // namespace lexformer
#endif
