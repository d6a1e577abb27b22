// SPDX-License-Identifier: MIT
// Hooks of a training run: they report to the caller, and let the caller steer the run.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "lexformer/io/json_value.hpp"

namespace lexformer {

/// The result of an evaluation of the task.
struct Measurement {
  JsonValue log = JsonValue::object();  // keys and values for log.jsonl, e.g. {"eval_f1": 0.81}; log_number() for values that may be NaN
  std::optional<double> value{};        // higher is better; the best model is kept. Without a value the last model is kept
  std::string text{};                   // shown with the progress, e.g. "f1 81.2"
  JsonValue state{};                    // returned in TrainResult::best and measured, also by a resumed run
};

struct StepReport {
  std::size_t step = 0;     // steps done, including this one
  std::size_t samples = 0;  // pairs or documents in this step
  double loss = 0.0;
  double lr = 0.0;
};

struct EvaluationReport {
  std::size_t step = 0;
  double epochs = 0;
  const Measurement& measurement;
  bool best = false;  // better than all before
};

/// The action of a run after a step. stop: saves and ends. An evaluation counts for the best model and for patience.
struct Control {
  bool stop = false, save = false, evaluate = false;
};

/// All are optional and called on the thread of the run. An exception from a hook ends the run without saving and arrives at its caller.
struct TrainingHooks {
  std::function<void(std::size_t first_step, std::size_t total_steps)> on_begin{};  // steps of the run that this one resumes; of the whole
  std::function<void(const StepReport&)> on_step{};
  std::function<void(const JsonValue&)> on_log{};  // a line of log.jsonl
  std::function<void(const EvaluationReport&)> on_evaluation{};
  std::function<void(std::size_t samples)> on_evaluated{};  // after each batch of an evaluation; of an encoder, with the number of texts
  std::function<void(const std::string& path)> on_save{};   // model.lxf, or the folder of a checkpoint
  std::function<void(const std::string& text)> on_note{};   // damaged checkpoints, warnings about the data
  std::function<void()> on_end{};                           // the steps are done, or stopped
  std::function<Control()> control{};                       // asked after each step and its evaluation
};

}  // namespace lexformer
