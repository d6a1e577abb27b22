// SPDX-License-Identifier: MIT
// log.jsonl: the log of a training run, and the check of its losses and gradient norms.
#pragma once

#include <cmath>
#include <cstddef>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

/// Converts a number for the log. JSON has no NaN or infinity, so these become the strings "nan", "inf" and "-inf".
Json log_number(double x);

/// Writes log.jsonl: one JSON object per line. Starts with the entries of `history` and discards the previous contents of the file.
/// path: "" writes no file. on_line: called with each line that is added.
class RunLog {
 public:
  explicit RunLog(const std::string& path, JsonValue history = JsonValue::array(), std::function<void(const JsonValue&)> on_line = {});
  void add(const Json& entry);
  /// Adds a line for some steps: their mean loss, and the learning rate and gradient norm of the last one.
  void add_step(std::size_t step, double epoch, double loss, double learning_rate, double grad_norm);
  /// Adds a line for a step whose loss or gradient norm is not finite.
  void add_not_finite(std::size_t step, double epoch, double loss, std::optional<double> grad_norm);
  /// Adds a line for a step after which the tensor `name` is not finite.
  void add_not_finite(std::size_t step, double epoch, const std::string& name);
  /// Adds a line for an evaluation, unless `log` is empty.
  void add_evaluation(std::size_t step, double epoch, const Json& log);
  /// All entries, for TrainerState::log_history.
  const JsonValue& history() const { return history_; }

 private:
  void check() const;
  std::string path_;
  JsonValue history_;
  std::function<void(const JsonValue&)> on_line_;
  std::ofstream out_;
};

/// Sums of losses, restored in a resumed run: over the steps since the last log line, and over all steps of the run.
struct LossSums {
  double logged_loss = 0;
  std::size_t logged_steps = 0;
  double loss_sum = 0;
};

/// A step of the run. Reading its results may synchronize with the device. A: type of the loss.
template <class Dev, class Batch, class A = float>
struct TakenStep {
  std::size_t step = 0;  // from 1
  double epoch = 0, lr = 0;
  Tensor<A, Dev> loss{};       // undefined (counts as 0) if all weights of the step are 0
  Tensor<double, Dev> norm{};  // returned by AdamW::clip_and_step
  std::vector<Batch> batches{};
};

/// Logs the losses and gradient norms of a run in log.jsonl, and ends the run if one is not finite. On the CPU every step is checked at
/// once. Another device continues to work; it is synchronized after the first step, when a line is written, when something is saved or
/// evaluated, and when the batches of `most_waiting` steps are kept. This is safe because clip_and_step changes nothing from the first
/// step on that is not finite, so that this step can be computed again.
template <class Dev, class Batch, class A = float>
class StepLog {
 public:
  using Step = TakenStep<Dev, Batch, A>;
  static constexpr std::size_t most_waiting = 16;

  /// again(step) recomputes the loss and gradients of a step.
  StepLog(RunLog& log, std::function<void(const Step&)> again) : log_(log), again_(std::move(again)) {}

  void add(Step step) {
    waiting_.push_back(std::move(step));
    if (std::is_same_v<Dev, Cpu> || step_ == 0 || waiting_.size() == most_waiting) sync();
  }

  /// Checks all pending steps. Throws the error of the first one that is not finite.
  void sync() {
    for (; !waiting_.empty(); waiting_.erase(waiting_.begin())) {
      const Step& s = waiting_.front();
      step_ = s.step;
      epoch_ = s.epoch;
      lr_ = s.lr;
      loss_ = s.loss.defined() ? static_cast<double>(s.loss.item()) : 0.0;
      norm_ = s.norm.item();
      if (!std::isfinite(loss_) || !std::isfinite(norm_)) stop(s);
      sums_.logged_loss += loss_;
      sums_.loss_sum += loss_;
      ++sums_.logged_steps;
    }
  }

  /// Writes a line in log.jsonl: the mean loss of the steps since the previous line.
  void write() {
    sync();
    log_.add_step(step_, epoch_, sums_.logged_loss / static_cast<double>(sums_.logged_steps), lr_, norm_);
    sums_.logged_loss = 0;
    sums_.logged_steps = 0;
  }

  /// The loss of the last step that was checked.
  double loss() const { return loss_; }
  /// The sum of the losses of all steps, including those before a run was resumed.
  double total_loss() {
    sync();
    return sums_.loss_sum;
  }

  /// The sums to keep in a checkpoint for a resumed run.
  const LossSums& sums() {
    sync();
    return sums_;
  }
  void resume(const LossSums& sums) { sums_ = sums; }

 private:
  [[noreturn]] void stop(const Step& s) {
    // The norm is not informative if the loss is not finite: clip_and_step then returns NaN.
    const bool bad_loss = !std::isfinite(loss_);
    log_.add_not_finite(step_, epoch_, loss_, bad_loss ? std::nullopt : std::optional(norm_));
    const CheckFinite check;
    try {
      again_(s);
    } catch (const Error& e) {
      fail_numeric(cat("step ", step_), e.what(), "; stopped before the update");
    }
    fail_numeric(cat("step ", step_), bad_loss ? "the loss is " : "the gradient norm is ", bad_loss ? loss_ : norm_,
                 ", but every single value and gradient is finite; a smaller `lr` may help");
  }

  RunLog& log_;
  std::function<void(const Step&)> again_;
  std::vector<Step> waiting_;
  LossSums sums_;
  std::size_t step_ = 0;
  double epoch_ = 0, lr_ = 0, loss_ = 0, norm_ = 0;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <cerrno>

#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE Json log_number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

LEXFORMER_INLINE RunLog::RunLog(const std::string& path, JsonValue history, std::function<void(const JsonValue&)> on_line)
    : path_(path), history_(std::move(history)), on_line_(std::move(on_line)) {
  if (path_.empty()) return;
  std::string text;
  for (const Json& entry : static_cast<const Json&>(history_)) text += dump_json(entry, path_) + "\n";
  write_file_atomic(path_, text);
  out_.open(path_, std::ios::binary | std::ios::app);
  check();
}

LEXFORMER_INLINE void RunLog::add(const Json& entry) {
  if (!path_.empty()) {
    out_ << dump_json(entry, path_) << '\n' << std::flush;
    check();
  }
  history_->push_back(entry);
  if (on_line_) on_line_(JsonValue(entry));
}

LEXFORMER_INLINE void RunLog::add_step(std::size_t step, double epoch, double loss, double learning_rate, double grad_norm) {
  add({{"step", step},
       {"epoch", epoch},
       {"loss", log_number(loss)},
       {"learning_rate", learning_rate},
       {"grad_norm", log_number(grad_norm)}});
}

LEXFORMER_INLINE void RunLog::add_not_finite(std::size_t step, double epoch, double loss, std::optional<double> grad_norm) {
  Json line = {{"step", step}, {"epoch", epoch}, {"loss", log_number(loss)}};
  if (grad_norm) line["grad_norm"] = log_number(*grad_norm);
  add(line);
}

LEXFORMER_INLINE void RunLog::add_not_finite(std::size_t step, double epoch, const std::string& name) {
  add({{"step", step}, {"epoch", epoch}, {"not_finite", name}});
}

LEXFORMER_INLINE void RunLog::add_evaluation(std::size_t step, double epoch, const Json& log) {
  if (log.empty()) return;
  Json line = {{"step", step}, {"epoch", epoch}};
  line.update(log);
  add(line);
}

LEXFORMER_INLINE void RunLog::check() const {
  if (!out_) fail_file(path_, "cannot be written: ", detail::system_message(errno));
}

}  // namespace lexformer
#endif
