// SPDX-License-Identifier: MIT
// Saves a run so that it resumes as if it had not stopped. checkpoint-<step>/ (io/checkpoint_dir.hpp) contains
//   model.lxf               the weights
//   optimizer.safetensors   exp_avg.<name>, exp_avg_sq.<name>, step.<name>, in full precision
//   trainer_state.json      the state of the run, with HuggingFace's keys; lexformer's keys are under "lexformer"
// Random numbers need no state (core/random.hpp). The log is part of the state: log_history in trainer_state.json is the content of
// log.jsonl up to that step. Resuming rewrites log.jsonl from it, so the file is byte-identical to the log of an uninterrupted run.
// For the same reason log.jsonl contains no timings; speeds are in all_results.json and the progress line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/checkpoint_dir.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/io/safetensors.hpp"
#include "lexformer/train/optimizer.hpp"

namespace lexformer {

/// The format of trainer_state.json. lexformer 0.1.0 wrote version 1 and did not store the number.
inline constexpr std::size_t trainer_state_format = 2;

struct TrainerState {
  std::size_t global_step = 0;  // optimizer steps done
  double epoch = 0.0;           // epochs done, including the fraction of the current one
  std::size_t max_steps = 0;
  double num_train_epochs = 0.0;
  std::size_t train_batch_size = 0;
  std::size_t num_input_tokens_seen = 0;
  std::optional<double> best_metric{};
  std::string best_model_checkpoint;
  JsonValue log_history = JsonValue::array();

  std::uint64_t seed = 0;
  std::size_t epoch_index = 0, batch_index = 0;  // of the next batch
  JsonValue settings = JsonValue::object();      // must be equal in a resumed run: options, data (describe)
  JsonValue loop = JsonValue::object();          // other state of the training loop
};

/// Converts to and from the content of trainer_state.json. Errors: another format; a key is missing or out of range. `where` names the
/// file.
Json to_json(const TrainerState& s);
TrainerState parse_trainer_state(const Json& json, const std::string& where);
void write_trainer_state(const TrainerState& state, const std::string& file);
TrainerState read_trainer_state(const std::string& file);

/// Throws a usage error that names the first setting that differs from the run to resume.
void check_same_settings(const Json& saved, const Json& now, const std::string& where);

/// Returns an optimizer's moments in the form in which they are saved, on the CPU; CPU tensors share storage with the optimizer.
template <class T, class Dev>
TensorFile optimizer_tensors(const AdamW<T, Dev>& optimizer) {
  TensorFile file;
  for (const auto& slot : optimizer.state()) {
    file.set("step." + slot.name, Tensor<std::int64_t>::scalar(slot.step));
    if (slot.step == 0) continue;
    file.set("exp_avg." + slot.name, slot.exp_avg.template to<Cpu>());
    file.set("exp_avg_sq." + slot.name, slot.exp_avg_sq.template to<Cpu>());
    if (slot.master.defined()) file.set("master." + slot.name, slot.master.template to<Cpu>());
  }
  return file;
}

/// Reads the saved moments of an optimizer's parameters, for its load_state(). Errors: a tensor is missing, surplus, or has another shape
/// or type.
template <class T, class Dev>
std::vector<typename AdamW<T, Dev>::Slot> read_optimizer_tensors(const TensorFile& file, const AdamW<T, Dev>& optimizer,
                                                                 const std::string& where) {
  using A = accumulate_t<T>;
  std::vector<typename AdamW<T, Dev>::Slot> slots;
  std::size_t used = 0;
  const auto check = [&](const std::string& name, Dtype dtype, const Shape& shape) {
    if (file.dtype(name) != dtype || !(file.shape(name) == shape))
      fail_file(where, in_quotes(name), " is ", file.shape(name), " of ", dtype_info(file.dtype(name)).name, ", expected ", shape, " of ",
                dtype_info(dtype).name);
    ++used;
  };
  for (const auto& p : optimizer.parameters()) {
    const auto get = [&](const std::string& kind) {
      check(kind + p.name, dtype_of<A>, p.var.shape());
      return file.template get<A>(kind + p.name).template to<Dev>();
    };
    auto& slot = slots.emplace_back();
    slot.name = p.name;
    check("step." + p.name, Dtype::i64, {});
    slot.step = file.template get<std::int64_t>("step." + p.name).item();
    if (slot.step == 0) continue;
    slot.exp_avg = get("exp_avg.");
    slot.exp_avg_sq = get("exp_avg_sq.");
    if constexpr (!std::is_same_v<T, A>) slot.master = get("master.");
  }
  if (used != file.size()) fail_file(where, "holds ", file.size(), " tensors, the parameters that are trained here need ", used);
  return slots;
}

/// Writes `checkpoint-STEP` into the folder of a run atomically, then deletes all but the newest `keep` (0: deletes none).
/// write_model(path) writes the model file. A run that is killed here may leave a temporary folder or one checkpoint too many: call
/// remove_stale() and keep_last() before the first step.
template <class T, class Dev, class WriteModel>
void save_checkpoint(const std::string& folder, const TrainerState& state, const AdamW<T, Dev>& optimizer, WriteModel&& write_model,
                     std::size_t keep = 0) {
  CheckpointWriter writer(folder, cat("checkpoint-", state.global_step));
  write_model((writer.path() / "model.lxf").string());
  optimizer_tensors(optimizer).write((writer.path() / "optimizer.safetensors").string());
  write_trainer_state(state, (writer.path() / "trainer_state.json").string());
  writer.commit();
  if (keep > 0) keep_last(folder, keep);
}

/// Loads a checkpoint: checks its manifest and that `settings` equal the settings of the saved run, then calls read_model(path of
/// model.lxf), which must load the weights into the optimizer's parameters, and loads the moments.
template <class T, class Dev, class ReadModel>
TrainerState load_checkpoint(const std::filesystem::path& checkpoint, const Json& settings, AdamW<T, Dev>& optimizer,
                             ReadModel&& read_model) {
  check_checkpoint(checkpoint);
  const std::string file = (checkpoint / "trainer_state.json").string(), moments = (checkpoint / "optimizer.safetensors").string();
  TrainerState state = read_trainer_state(file);
  check_same_settings(state.settings, settings, checkpoint.string());
  // A moment may have overflowed harmlessly: its weight then no longer changes.
  auto slots = read_optimizer_tensors(TensorFile::read(moments, {.allow_non_finite = true}), optimizer, moments);
  read_model((checkpoint / "model.lxf").string());
  optimizer.load_state(std::move(slots));
  return state;
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE Json to_json(const TrainerState& s) {
  return {{"global_step", s.global_step},
          {"epoch", s.epoch},
          {"max_steps", s.max_steps},
          {"num_train_epochs", s.num_train_epochs},
          {"train_batch_size", s.train_batch_size},
          {"num_input_tokens_seen", s.num_input_tokens_seen},
          {"best_metric", s.best_metric ? Json(*s.best_metric) : Json()},
          {"best_model_checkpoint", s.best_model_checkpoint.empty() ? Json() : Json(s.best_model_checkpoint)},
          {"log_history", s.log_history},
          {"lexformer",
           {{"format", trainer_state_format},
            {"seed", s.seed},
            {"epoch_index", s.epoch_index},
            {"batch_index", s.batch_index},
            {"settings", s.settings},
            {"loop", s.loop}}}};
}

LEXFORMER_INLINE TrainerState parse_trainer_state(const Json& json, const std::string& where) {
  constexpr std::size_t many = std::size_t{1} << 53;  // a double represents all integers up to here
  constexpr double huge = 1e300;
  const Json& own = *detail::find_value(json, "lexformer", true, where);
  if (!own.contains("format")) fail_file(where, "was written by lexformer 0.1.0; finish that run with it, or start from its model.lxf");
  if (const auto format = get_size(own, "format", 0, many, where); format != trainer_state_format)
    fail_file(where, "has format ", format, ", this version reads ", trainer_state_format,
              "; finish the run with the version that wrote it");
  TrainerState s;
  s.global_step = get_size(json, "global_step", 0, many, where);
  s.epoch = get_number(json, "epoch", 0.0, huge, where);
  s.max_steps = get_size(json, "max_steps", 0, many, where);
  s.num_train_epochs = get_number(json, "num_train_epochs", 0.0, huge, where);
  s.train_batch_size = get_size(json, "train_batch_size", 0, many, where);
  s.num_input_tokens_seen = get_size(json, "num_input_tokens_seen", 0, many, where);
  if (const Json* best = detail::find_value(json, "best_metric", false, where); best != nullptr)
    s.best_metric = get_number(json, "best_metric", -huge, huge, where);
  s.best_model_checkpoint = get_string(json, "best_model_checkpoint", where, "");
  s.log_history = *detail::find_value(json, "log_history", true, where);
  s.seed = get_size(own, "seed", 0, ~std::size_t{0}, where);
  s.epoch_index = get_size(own, "epoch_index", 0, many, where);
  s.batch_index = get_size(own, "batch_index", 0, many, where);
  s.settings = *detail::find_value(own, "settings", true, where);
  s.loop = *detail::find_value(own, "loop", true, where);
  if (!s.log_history->is_array() || !s.settings->is_object() || !s.loop->is_object())
    fail_file(where, "expected an array 'log_history' and objects 'settings' and 'loop'");
  return s;
}

LEXFORMER_INLINE void write_trainer_state(const TrainerState& state, const std::string& file) {
  write_file_atomic(file, dump_json(to_json(state), file) + "\n");
}
LEXFORMER_INLINE TrainerState read_trainer_state(const std::string& file) {
  return parse_trainer_state(parse_json(read_file(file), file, {.bytes = std::size_t{1} << 30, .values = std::size_t{1} << 28}), file);
}

LEXFORMER_INLINE void check_same_settings(const Json& saved, const Json& now, const std::string& where) {
  const auto text = [](const Json& settings, const std::string& key) {
    return settings.contains(key) ? settings[key].dump(-1, ' ', true, Json::error_handler_t::replace) : "not set";  // ASCII
  };
  Json all = saved;
  all.update(now);
  for (const auto& item : all.items())
    if (text(saved, item.key()) != text(now, item.key()))
      fail_usage(where, "cannot be resumed: ", item.key(), " was ", text(saved, item.key()), " in that run, now it is ",
                 text(now, item.key()), "; set it as it was, or begin a new run in another folder");
}

}  // namespace lexformer
#endif
