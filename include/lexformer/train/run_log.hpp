// SPDX-License-Identifier: MIT
// log.jsonl: the lines of a training run, and the watch over its losses and gradient norms.
#pragma once

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

/// A number for the log. JSON knows no NaN, but a log must show it: as the text "nan", "inf" or "-inf".
inline Json log_number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

/// log.jsonl: one JSON object a line. Begins with the entries of `history`, whatever the file held before.
class RunLog {
 public:
  explicit RunLog(const std::string& path, Json history = Json::array()) : path_(path), history_(std::move(history)) {
    std::string text;
    for (const Json& entry : history_) text += dump_json(entry, path_) + "\n";
    write_file_atomic(path_, text);
    out_.open(path_, std::ios::binary | std::ios::app);
    check();
  }
  void add(const Json& entry) {
    out_ << dump_json(entry, path_) << '\n' << std::flush;
    check();
    history_.push_back(entry);
  }
  /// All entries, for TrainerState::log_history.
  const Json& history() const { return history_; }

 private:
  void check() const {
    if (!out_) fail_file(path_, "cannot be written: ", detail::system_message(errno));
  }
  std::string path_;
  Json history_;
  std::ofstream out_;
};

/// A step that was taken. Its results may not be there yet: asking for them waits for the device. A: type of the loss.
template <class Dev, class Batch, class A = float>
struct TakenStep {
  std::size_t step = 0;  // 1 is the first
  double epoch = 0, lr = 0;
  Tensor<A, Dev> loss{};       // undefined where no batch had anything to learn: 0
  Tensor<double, Dev> norm{};  // what AdamW::clip_and_step returned
  std::vector<Batch> batches{};
};

/// Losses and gradient norms of a run: their lines in log.jsonl, and the run's end where one is not finite. The CPU's are looked at in
/// every step. Another device goes on with its work meanwhile, and is waited for after the first step, where a line is written, something
/// is saved or measured, and when the batches of `most_waiting` steps are kept: clip_and_step changes nothing from the first step on that
/// is not finite, so that it can be computed again then.
template <class Dev, class Batch, class A = float>
class StepLog {
 public:
  using Step = TakenStep<Dev, Batch, A>;
  static constexpr std::size_t most_waiting = 16;

  /// again(step) computes a step's loss and gradients once more.
  StepLog(RunLog& log, std::function<void(const Step&)> again) : log_(log), again_(std::move(again)) {}

  void add(Step step) {
    waiting_.push_back(std::move(step));
    if (std::is_same_v<Dev, Cpu> || step_ == 0 || waiting_.size() == most_waiting) look();
  }

  /// Looks at all steps that were taken. Throws the error of the first one that is not finite.
  void look() {
    for (; !waiting_.empty(); waiting_.erase(waiting_.begin())) {
      const Step& s = waiting_.front();
      step_ = s.step;
      epoch_ = s.epoch;
      lr_ = s.lr;
      loss_ = s.loss.defined() ? static_cast<double>(s.loss.item()) : 0.0;
      norm_ = s.norm.item();
      if (!std::isfinite(loss_) || !std::isfinite(norm_)) stop(s);
      sum_ += loss_;
      total_ += loss_;
      ++steps_;
    }
  }

  /// The line in log.jsonl: the mean loss of the steps since the line before.
  void write() {
    look();
    log_.add({{"step", step_},
              {"epoch", epoch_},
              {"loss", log_number(sum_ / static_cast<double>(steps_))},
              {"learning_rate", lr_},
              {"grad_norm", log_number(norm_)}});
    sum_ = 0;
    steps_ = 0;
  }

  /// Of the last step that was looked at.
  double loss() const { return loss_; }
  /// Of all steps together, those that a resumed run had taken before included.
  double total_loss() {
    look();
    return total_;
  }

  /// What a checkpoint keeps, and a resumed run goes on with.
  Json state() {
    look();
    return {{"logged_loss", sum_}, {"logged_steps", steps_}, {"loss_sum", total_}};
  }
  void resume(const Json& state) {
    sum_ = state["logged_loss"];
    steps_ = state["logged_steps"];
    total_ = state["loss_sum"];
  }

 private:
  [[noreturn]] void stop(const Step& s) {
    // The norm tells nothing where the loss is bad: clip_and_step gives NaN there.
    const bool bad_loss = !std::isfinite(loss_);
    Json line = {{"step", step_}, {"epoch", epoch_}, {"loss", log_number(loss_)}};
    if (!bad_loss) line["grad_norm"] = log_number(norm_);
    log_.add(line);
    const CheckFinite check;
    try {
      again_(s);
    } catch (const Error& e) {
      fail_numeric(cat("step ", step_), e.what(), "; stopped before the update");
    }
    fail_numeric(cat("step ", step_), bad_loss ? "the loss is " : "the gradient norm is ", bad_loss ? loss_ : norm_,
                 ", but every single value and gradient is finite; a smaller --lr may help");
  }

  RunLog& log_;
  std::function<void(const Step&)> again_;
  std::vector<Step> waiting_;
  std::size_t step_ = 0, steps_ = 0;
  double epoch_ = 0, lr_ = 0, loss_ = 0, norm_ = 0, sum_ = 0, total_ = 0;
};

}  // namespace lexformer
