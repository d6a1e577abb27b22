// SPDX-License-Identifier: MIT
// The training loop: steps, schedule, evaluation, best model, checkpoints, resume, log. Programs supply a task.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/background.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/data/masked_batch.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/train/gradient_sum.hpp"
#include "lexformer/train/graph_check.hpp"
#include "lexformer/train/hooks.hpp"
#include "lexformer/train/run_folder.hpp"
#include "lexformer/train/run_log.hpp"
#include "lexformer/train/schedule.hpp"
#include "lexformer/train/state.hpp"

namespace lexformer {

/// The size of a batch.
struct BatchSize {
  std::size_t samples = 0, tokens = 0;
};
inline BatchSize batch_size(const Batch& batch) { return {batch.size(), batch.offsets.tokens()}; }
inline BatchSize batch_size(const MaskedBatch& batch) { return batch_size(batch.batch); }

struct TrainerOptions {
  std::string out;             // folder for model.lxf, log.jsonl and checkpoints; "": nothing is written
  Schedule schedule{};         // schedule.total: steps of the run
  std::size_t accumulate = 1;  // batches (shards) per step
  double clip = 1.0;           // maximum gradient norm
  std::uint64_t seed = 1;      // of dropout
  std::size_t eval_steps = 0;  // evaluate every `eval_steps` steps; 0: after each epoch, if eval_epochs. Always at the end
  bool eval_epochs = true;
  std::size_t patience = 0;    // stop after this many evaluations without a better value; 0: never
  std::size_t save_steps = 0;  // checkpoint every `save_steps` steps; 0: only at the end and when interrupted, where there always is one
  std::size_t save_total_limit = 2;          // number of checkpoints to keep; 0: all
  std::size_t logging_steps = 50;            // write a line in log.jsonl every `logging_steps` steps; 0: never
  std::size_t batch_size = 0;                // for trainer_state.json only
  bool resume = false;                       // resume from the newest checkpoint in `out`, if there is one
  JsonValue settings = JsonValue::object();  // settings that define the run; a resumed run must have the same
  std::set<std::string> frozen{};            // names of parameters that are frozen on purpose
  /// Refuses the Measurement::state of the best evaluation in a checkpoint if it is damaged; `where` names it.
  std::function<void(const Json& state, const std::string& where)> check_best{};
  TrainingHooks hooks{};
};

struct TrainResult {
  bool finished = false;                 // false: stopped by Control::stop, and saved
  std::size_t first_step = 0, step = 0;  // steps done when this process started and ended
  std::size_t samples = 0;               // processed by this process
  std::size_t tokens = 0;                // processed in the whole run
  double epochs = 0, seconds = 0;
  double loss = 0;               // mean over all steps of the run
  JsonValue best{}, measured{};  // Measurement::state of the best and of the last evaluation; null if there was none
};

/// The state of the loop besides the counters of TrainerState; stored as JSON in TrainerState::loop.
struct LoopState {
  std::optional<double> best{};  // the best value of an evaluation
  JsonValue best_state{};        // its Measurement::state
  JsonValue measured{};          // Measurement::state of the last evaluation
  std::size_t measured_step = std::numeric_limits<std::size_t>::max(), since_best = 0;
  LossSums losses{};
};
JsonValue to_json(const LoopState& s);
LoopState parse_loop_state(const Json& json, const std::string& where);

/// Trains a task. A task is a struct with
///   std::size_t batches();                                   number of batches in an epoch; constant
///   Batch batch(std::uint32_t epoch, std::size_t number);    a pure function of its arguments (train/batches.hpp). On a GPU another thread
///                                                            calls it for the next step while this one calls the other functions, so
///                                                            they must not read what it changes; the last batch may not be used
///   Var loss(const Batch&, const ForwardOptions&);           mean loss of a batch, or a std::vector of parts that are added
///   double weights(const Batch&);                            number of examples, tokens, ... in the mean; a vector for parts.
///                                                            A batch (or part) of weight 0 is left out of the step
///   void save(const std::string& path);                      writes the model
///   void load(const std::string& path);                      loads the weights of a saved model
/// and optionally
///   Measurement evaluate();
///   bool calibrate(const Batch&, const ForwardOptions&);     measures on the first batch, or on the next one if it returns false
///   BatchSize size(const Batch&);                            required if Batch is a custom type
/// The folder gets model.lxf (the best by evaluate(), or the last), log.jsonl and checkpoints. Without a folder a finished run leaves the
/// best weights in the task's model. The same task and options give the same bytes, whether or not the run was interrupted and resumed.
/// Errors: a parameter that cannot learn (graph_check.hpp); a loss, gradient
/// or weight that is not finite, with the module it comes from.
template <class Task, class T, class Dev>
class Trainer {
 public:
  using A = accumulate_t<T>;
  using Batch = std::decay_t<decltype(std::declval<Task&>().batch(0u, std::size_t{0}))>;

  Trainer(Task& task, AdamW<T, Dev>& optimizer, TrainerOptions options)
      : task_(task), optimizer_(optimizer), options_(std::move(options)), best_path_(options_.out + "/model.lxf") {
    if (options_.out.empty() && options_.resume) fail_usage("out", "is missing; a run is resumed from its folder");
    if (task_.batches() == 0) fail("Trainer", "there are no batches");
    steps_per_epoch_ = steps_per_epoch(task_.batches(), options_.accumulate);
  }

  TrainResult run() {
    begin();
    const std::size_t first = state_.global_step, total = options_.schedule.total;
    step_ = first;
    tell(options_.hooks.on_begin, first, total);
    RunLog log(has_folder() ? options_.out + "/log.jsonl" : "", state_.log_history, options_.hooks.on_log);
    log_ = &log;
    StepLog<Dev, Batch, A> steps(log, [&](const auto& s) { compute(s.batches, s.step - 1); });
    steps_ = &steps;
    if (first > 0) steps.resume(loop_.losses);
    const auto start = std::chrono::steady_clock::now();

    TrainResult result{.first_step = first};
    bool stop = stopped_early();
    if (first == 0 && total > 0 && !stop) calibrate();
    while (step_ < total && !stop) {
      const std::size_t samples = take_step();
      result.samples += samples;
      tell(options_.hooks.on_step, StepReport{.step = step_, .samples = samples, .loss = steps.loss(), .lr = optimizer_.lr()});
      const bool due = options_.eval_steps > 0 ? step_ % options_.eval_steps == 0 : options_.eval_epochs && state_.batch_index == 0;
      if (due || step_ == total) evaluate();  // before save(), so that the last checkpoint has the last evaluation
      const Control control = options_.hooks.control ? options_.hooks.control() : Control{};
      if (control.evaluate && loop_.measured_step != step_) evaluate();
      stop = stopped_early();
      if (control.stop || control.save || (options_.save_steps > 0 && step_ % options_.save_steps == 0)) save();
      if (control.stop) return finish(result);
    }
    if (loop_.measured_step != step_) evaluate();
    if (step_ > state_.global_step) save();  // resuming a finished run trains nothing
    result.finished = true;
    finish(result);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!loop_.best && has_folder()) save_model();
    if (!best_weights_.empty()) restore_best();
    return result;
  }

 private:
  bool has_folder() const { return !options_.out.empty(); }

  template <class Hook, class... Values>
  static void tell(const Hook& hook, const Values&... values) {
    if (hook) hook(values...);
  }

  /// Prepares the folder and the state of the run: new, or from a checkpoint.
  void begin() {
    if (has_folder()) {
      std::filesystem::create_directories(options_.out);
      remove_stale(options_.out);
      if (!options_.resume) keep_last(options_.out, 0);
    }
    state_.max_steps = options_.schedule.total;
    state_.num_train_epochs = static_cast<double>(options_.schedule.total) / static_cast<double>(steps_per_epoch_);
    state_.train_batch_size = options_.batch_size;
    state_.seed = options_.seed;
    state_.settings = options_.settings;
    check_trainable(optimizer_.parameters(), options_.frozen);
    if (!options_.resume) return;
    const auto latest = find_checkpoint(options_.out, options_.hooks.on_note);
    drop_damaged(options_.out, latest, options_.hooks.on_note);
    if (!latest.path) return;
    state_ = load_checkpoint(*latest.path, options_.settings, optimizer_, [&](const std::string& path) { task_.load(path); });
    const std::string file = *latest.path / "trainer_state.json";
    loop_ = parse_loop_state(state_.loop, file);
    if (loop_.best && options_.check_best) options_.check_best(loop_.best_state, file + ": 'loop': 'best': 'state'");
    if (loop_.best && !std::filesystem::exists(best_path_))
      fail_file(best_path_, "the best model of the run to resume is gone; begin anew with `overwrite`");
    // The run may have ended after a save and before deleting the surplus checkpoint.
    if (options_.save_total_limit > 0) keep_last(options_.out, options_.save_total_limit);
  }

  Tensor<A, Dev> compute(const std::vector<Batch>& batches, std::size_t step, std::vector<GraphLeaf>* leaves = nullptr) {
    return step_gradient(task_, optimizer_.parameters(), batches, options_.accumulate, options_.seed, static_cast<std::uint32_t>(step),
                         leaves);
  }

  /// Calibrates the model before the first step of a run, with the forward options of that step.
  void calibrate() {
    if constexpr (requires(const Batch& b, const ForwardOptions& f) { task_.calibrate(b, f); }) {
      for (std::size_t number = 0; number < task_.batches(); ++number)
        if (task_.calibrate(task_.batch(0, number), {.training = true, .seed = options_.seed, .step = 0})) return;
      fail("Trainer", "none of the ", task_.batches(), " batches of the first epoch has what the model is calibrated on");
    }
  }

  /// Makes the batches of a step that begins with this batch of the epoch.
  std::vector<Batch> make_batches(std::size_t epoch, std::size_t begin) {
    std::vector<Batch> batches;
    for (std::size_t number = begin; number < std::min(begin + options_.accumulate, task_.batches()); ++number)
      batches.push_back(task_.batch(static_cast<std::uint32_t>(epoch), number));
    return batches;
  }

  /// Takes one step; returns its number of samples.
  std::size_t take_step() {
    std::vector<Batch> batches;
    if (background_ != nullptr) {
      background_->wait();
      batches = std::move(made_ahead_);
    } else {
      batches = make_batches(state_.epoch_index, state_.batch_index);
    }
    std::size_t samples = 0;
    for (const Batch& batch : batches) {
      const BatchSize size = size_of(batch);
      samples += size.samples;
      state_.num_input_tokens_seen += size.tokens;
    }
    state_.batch_index += batches.size();
    if (state_.batch_index == task_.batches()) {
      ++state_.epoch_index;
      state_.batch_index = 0;
    }
    // A GPU would wait while the host makes a batch; on a CPU both would share the cores.
    if constexpr (!std::is_same_v<Dev, Cpu>) {
      const auto make = [this, epoch = state_.epoch_index, begin = state_.batch_index] { made_ahead_ = make_batches(epoch, begin); };
      background_ = step_ + 1 < options_.schedule.total ? std::make_unique<Background>(make) : nullptr;
    }
    std::vector<GraphLeaf> leaves;
    const auto loss = compute(batches, step_, checked_ ? nullptr : &leaves);
    if (!leaves.empty()) {
      check_graph(optimizer_.parameters(), leaves, [&] { return named_leaves(batches); });
      checked_ = true;
    }
    optimizer_.set_lr(options_.schedule(step_));
    const auto norm = optimizer_.clip_and_step(options_.clip, loss);
    ++step_;
    steps_->add({step_, epochs(), optimizer_.lr(), loss, norm, std::move(batches)});
    if (options_.logging_steps > 0 && step_ % options_.logging_steps == 0) steps_->write();
    return samples;
  }

  std::vector<GraphLeaf> named_leaves(const std::vector<Batch>& batches) {
    const CheckFinite names;
    std::vector<GraphLeaf> leaves;
    compute(batches, step_, &leaves);
    return leaves;
  }

  BatchSize size_of(const Batch& batch) {
    if constexpr (requires(Task & task) { task.size(batch); }) {
      return task_.size(batch);
    } else {
      return batch_size(batch);
    }
  }

  void evaluate() {
    if constexpr (requires { task_.evaluate(); }) {
      check_weights();
      const Measurement m = task_.evaluate();
      loop_.measured_step = step_;
      loop_.measured = m.state;
      log_->add_evaluation(step_, epochs(), m.log);
      if (m.value && !std::isfinite(*m.value))
        fail_numeric(cat("step ", step_), "the evaluation gave ", *m.value, ", expected a finite number");
      const bool better = m.value && (!loop_.best || *m.value > *loop_.best);
      tell(options_.hooks.on_evaluation, EvaluationReport{step_, epochs(), m, better});
      if (!m.value) return;
      loop_.since_best = better ? 0 : loop_.since_best + 1;
      if (!better) return;
      has_folder() ? save_model() : keep_weights();
      loop_.best = m.value;
      loop_.best_state = m.state;
    }
  }
  void save_model() {
    task_.save(best_path_);
    tell(options_.hooks.on_save, best_path_);
  }
  void keep_weights() {
    best_weights_.clear();
    for (const auto& p : optimizer_.parameters()) best_weights_.push_back(p.var.value().clone().template to<Cpu>());
  }
  void restore_best() {
    for (std::size_t i = 0; i < best_weights_.size(); ++i) {
      auto weights = optimizer_.parameters()[i].var;
      weights.mutable_value().assign(std::as_const(best_weights_[i]).span());
    }
  }
  bool stopped_early() const { return options_.patience > 0 && loop_.since_best >= options_.patience; }

  /// Checks that all weights are finite: a weight can overflow in the update although the gradients are finite. A later step would find it,
  /// but such weights must not replace a checkpoint or the best model before that.
  void check_weights() {
    steps_->sync();
    for (const auto& p : optimizer_.parameters()) {
      const T* weights = p.var.value().data();
      if (weights == nullptr || Kernels<Dev>::all_finite(p.var.size(), weights)) continue;
      log_->add_not_finite(step_, epochs(), p.name);
      fail_numeric(cat("step ", step_), "AdamW: '", p.name, "' is not finite after the update with learning rate ", optimizer_.lr(),
                   "; it was not saved");
    }
  }

  void save() {
    check_weights();
    state_.global_step = step_;
    if (!has_folder()) return;
    state_.epoch = epochs();
    state_.log_history = log_->history();
    state_.best_metric = loop_.best;
    state_.best_model_checkpoint = loop_.best ? "model.lxf" : "";
    loop_.losses = steps_->sums();
    state_.loop = to_json(loop_);
    save_checkpoint(
        options_.out, state_, optimizer_, [&](const std::string& path) { task_.save(path); }, options_.save_total_limit);
    tell(options_.hooks.on_save, cat(options_.out, "/checkpoint-", step_));
  }

  TrainResult& finish(TrainResult& result) {
    tell(options_.hooks.on_end);
    background_.reset();
    result.step = step_;
    result.epochs = epochs();
    result.tokens = state_.num_input_tokens_seen;
    result.loss = step_ == 0 ? 0 : steps_->total_loss() / static_cast<double>(step_);
    result.best = loop_.best_state;
    result.measured = loop_.measured;
    return result;
  }

  double epochs() const { return static_cast<double>(step_) / static_cast<double>(steps_per_epoch_); }

  Task& task_;
  AdamW<T, Dev>& optimizer_;
  TrainerOptions options_;
  std::string best_path_;
  std::size_t steps_per_epoch_ = 0, step_ = 0;
  TrainerState state_;
  bool checked_ = false;                    // whether this process has checked the graph
  std::vector<Batch> made_ahead_;           // the batches of the next step, made by `background_`
  std::unique_ptr<Background> background_;  // null on a CPU
  LoopState loop_;
  std::vector<Tensor<T>> best_weights_;  // of the optimizer's parameters, without a folder
  // Set during run().
  RunLog* log_ = nullptr;
  StepLog<Dev, Batch, A>* steps_ = nullptr;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE JsonValue to_json(const LoopState& s) {
  return JsonValue(
      Json{{"best", s.best ? Json{{"value", *s.best}, {"state", s.best_state}} : Json()},
           {"since_best", s.since_best},
           {"measured", s.measured},
           {"measured_step", s.measured_step},
           {"losses", {{"logged_loss", s.losses.logged_loss}, {"logged_steps", s.losses.logged_steps}, {"loss_sum", s.losses.loss_sum}}}});
}

LEXFORMER_INLINE LoopState parse_loop_state(const Json& json, const std::string& where) {
  constexpr std::size_t many = std::numeric_limits<std::size_t>::max();
  constexpr double huge = std::numeric_limits<double>::max();
  const auto find = [&](const Json& object, const char* key) -> const Json& { return *detail::find_value(object, key, true, where); };
  LoopState s;
  if (const Json& best = find(json, "best"); !best.is_null()) {
    s.best = get_number(best, "value", -huge, huge, where);
    s.best_state = find(best, "state");
  }
  s.since_best = get_size(json, "since_best", 0, many, where);
  s.measured = find(json, "measured");
  s.measured_step = get_size(json, "measured_step", 0, many, where);
  const Json& losses = find(json, "losses");
  s.losses = {get_number(losses, "logged_loss", -huge, huge, where), get_size(losses, "logged_steps", 0, many, where),
              get_number(losses, "loss_sum", -huge, huge, where)};
  return s;
}

}  // namespace lexformer
#endif
