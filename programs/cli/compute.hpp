// SPDX-License-Identifier: MIT
// --device and --precision: where and with which numbers a model computes.
#pragma once

#include <lexformer/bfloat16.hpp>

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace program {

enum class Device { cpu, cuda };
enum class Precision { float32, tf32, bfloat16, int8 };

/// Compute device and precision.
struct Compute {
  Device device = Device::cpu;
  Precision precision = Precision::float32;
  bool scores = false;                   // whether the command has int8
  std::vector<std::string> int8_skip{};  // lexformer::QuantizeOptions::skip

  /// scores: with --int8-skip. Of both, precision is part of a run's identity.
  void visit(OptionVisitor& v, bool scores = false);

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

}  // namespace program
