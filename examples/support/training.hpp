// SPDX-License-Identifier: MIT
// Shared by the training programs: trainer settings and messages.
#pragma once

#include "program.hpp"

namespace program {

/// Reports the tensors that a file lacks and those that the model does not use.
template <class Model>
void report_tensors(const std::string& path, const Model& model) {
  std::cerr << lx::one_line(path) << ": " << model.new_tensors().size() << " new tensors";
  if (!model.new_tensors().empty()) std::cerr << " (" << lx::one_line(model.new_tensors().front(), 80) << " ...)";
  if (!model.unused_tensors().empty())
    std::cerr << ", " << model.unused_tensors().size() << " not used (" << lx::one_line(model.unused_tensors().front(), 80) << " ...)";
  std::cerr << "\n";
}

/// Trainer options from a program's options with these members; the program sets the others.
template <class Options>
lx::TrainerOptions trainer_options(const Options& o, const std::string& out, std::uint64_t seed) {
  lx::TrainerOptions t;
  t.out = out;
  t.accumulate = o.accumulate;
  t.clip = o.clip;
  t.seed = seed;
  t.eval_steps = o.eval_steps;
  t.save_steps = o.save_steps;
  t.save_total_limit = o.save_total_limit;
  t.logging_steps = o.logging_steps;
  t.batch_size = o.batch;
  t.resume = o.resume;
  t.messages = &std::cerr;
  t.progress.mode = o.progress;
  t.progress.is_terminal = isatty(2) != 0;
  t.quiet = o.quiet;
  t.interrupted = [] { return interrupted != 0; };
  return t;
}

inline void say_interrupted(const std::string& when, const std::string& out) {
  std::cerr << "interrupted after " << when << "; saved in " << out << ", continue with --resume\n";
}

}  // namespace program
