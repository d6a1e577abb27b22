// SPDX-License-Identifier: MIT
// Shared by the programs: compute device, tables, signals.
#pragma once

#include <unistd.h>
#include <lexformer/bfloat16.hpp>

#include <cmath>
#include <csignal>
#include <sstream>
#include <string>

#include "cli/command_line.hpp"

namespace program {

enum class Device { cpu, cuda };
enum class Precision { float32, tf32, bfloat16, int8 };

/// Compute device and precision.
struct Compute {
  Device device = Device::cpu;
  Precision precision = Precision::float32;
  bool scores = false;                   // whether the program has int8
  std::vector<std::string> int8_skip{};  // lexformer::QuantizeOptions::skip

  /// Rounds a model to 8 bits if this was asked for. Called when the model is complete.
  template <class Model>
  void apply(Model& model) const {
    if (precision == Precision::int8 && !(model.quantized() && int8_skip.empty())) model.quantize({.skip = int8_skip});
  }
};

}  // namespace program

template <>
inline constexpr lexformer::Named<program::Device> lexformer::names_of<program::Device>[] = {{"cpu", program::Device::cpu},
                                                                                             {"cuda", program::Device::cuda}};
template <>
inline constexpr lexformer::Named<program::Precision> lexformer::names_of<program::Precision>[] = {
    {"float32", program::Precision::float32},
    {"tf32", program::Precision::tf32},
    {"bfloat16", program::Precision::bfloat16},
    {"int8", program::Precision::int8}};

namespace program {

/// A string stream. Throws std::bad_alloc where a plain std::ostringstream would continue with a part missing.
struct StringWriter : std::ostringstream {
  StringWriter() { exceptions(std::ios::badbit); }
};

/// "1 match", "2 matches".
inline std::string counted(std::size_t count, const char* one, const char* many) { return lx::cat(count, " ", count == 1 ? one : many); }

/// Set by SIGINT and SIGTERM. A training loop checks it after each step, saves and exits with 130.
inline volatile std::sig_atomic_t interrupted = 0;

inline void catch_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

/// Adds --device and --precision; for a program that scores also --int8-skip.
inline void add_compute(CLI::App& app, Compute& compute, bool scores = false) {
  add_choice(app, "--device", compute.device, "compute device");
  add_choice(
      app, "--precision", compute.precision,
      std::string("numeric precision; bfloat16: tensors and, with AMX or AVX-512 BF16, factors of products in 16 bits; sums are float") +
          (scores ? "; int8: linear layers of the encoder in 8 bits, the rest is float32" : "; int8 is for scoring alone"),
      app.get_option_no_throw("--min-precision") != nullptr ? "; for a wanted precision: --min-precision" : "");
  compute.scores = scores;
  if (scores)
    app.add_option("--int8-skip", compute.int8_skip,
                   "with --precision int8: layers that stay in float; numbers from 0, or parts of names, e.g. 0,intermediate.dense")
        ->delimiter(',')
        ->type_name("LAYER,...");
}

#if defined(LEXFORMER_WITH_CUDA)
inline constexpr bool with_cuda = true;
#else
inline constexpr bool with_cuda = false;  // no templates for the device: halves the compile time
#endif

/// f(T(), Dev()) with T = float or lx::bfloat16 and Dev = lx::Cpu or, in a build with CUDA, lx::Cuda.
template <class F>
auto compute_with(const Compute& compute, F&& f) {
  if (compute.precision == Precision::tf32 && compute.device == Device::cpu)
    lx::fail_usage("--precision", "tf32 is a precision of GPUs; with --device cpu use float32 or bfloat16");
  if (compute.precision == Precision::int8 && !compute.scores)
    lx::fail_usage("--precision",
                   "int8 is for scoring (match, score_pairs, evaluate, robustness, rank, encode); train in float32 or bfloat16");
  if (compute.precision == Precision::int8 && compute.device != Device::cpu)
    lx::fail_usage("--precision", "int8 needs --device cpu; with --device ", lx::name_of(compute.device), " use bfloat16");
  if (compute.precision != Precision::int8 && !compute.int8_skip.empty()) lx::fail_usage("--int8-skip", "needs --precision int8");
  const auto with = [&](auto device) { return compute.precision == Precision::bfloat16 ? f(lx::bfloat16(), device) : f(float(), device); };
  if constexpr (with_cuda) {
    lx::cuda::set_tf32(compute.precision == Precision::tf32);
    if (compute.device == Device::cuda) return with(lx::Cuda());
  } else if (compute.device == Device::cuda) {
    lx::fail("--device", "this build of lexformer has no CUDA; configure with -DLEXFORMER_CUDA=ON and build again, or use --device cpu");
  }
  return with(lx::Cpu());
}

inline void add_threads(CLI::App& app) {
  app.add_option_function<int>(
         "--threads", [](int n) { lx::set_threads(n); }, "number of threads; does not change results")
      ->check(CLI::Range(1, 1024))
      ->default_str("all cores");
}

/// Adds the options for reading tables: columns and header. texts: of a row; 0: as many as the model reads.
inline void add_table_options(CLI::App& app, lx::TableOptions& table, std::size_t texts = 0) {
  const std::string columns = texts == 1   ? "columns of text and label"
                              : texts == 2 ? "columns of left text, right text and label"
                                           : "columns of left text, right text and label; of text and label for a model of single texts";
  const std::string records = texts == 1 ? "" : "; with --left, the columns of the records: NAME or LEFT=RIGHT (default: all but the id)";
  app.add_option("--columns", table.columns, columns + ": names, or numbers from 1" + records)->delimiter(',');
  add_choice(app, "--header", table.header, "whether tables have a header row");
}

}  // namespace program
