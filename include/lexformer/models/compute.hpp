// SPDX-License-Identifier: MIT
// The device and the precision of a model as values instead of template arguments. models/scorer.hpp, models/text_encoder.hpp and
// models/word_tagger.hpp open models by them. These headers instantiate every number type and device, so lexformer.hpp does not include
// them; lexformer::compiled contains the instances.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/bfloat16.hpp"
#include "lexformer/core/device_cuda.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/knowledge/knowledge.hpp"
#include "lexformer/words/love.hpp"
#include "lexformer/words/love_plug.hpp"
#include "lexformer/words/static_vectors.hpp"

// INSTANCE(word, T, Dev) for all number types on a device: `word` is extern in programs that link the library with the instances.
#define LEXFORMER_INSTANCES_ON(Dev, INSTANCE, word) INSTANCE(word, float, Dev) INSTANCE(word, bfloat16, Dev)
#if !defined(LEXFORMER_COMPILED)
#define LEXFORMER_EXTERN_INSTANCES(INSTANCE)
#elif !defined(LEXFORMER_WITH_CUDA)
#define LEXFORMER_EXTERN_INSTANCES(INSTANCE) LEXFORMER_INSTANCES_ON(Cpu, INSTANCE, extern)
#else
#define LEXFORMER_EXTERN_INSTANCES(INSTANCE) LEXFORMER_INSTANCES_ON(Cpu, INSTANCE, extern) LEXFORMER_INSTANCES_ON(Cuda, INSTANCE, extern)
#endif

namespace lexformer {

enum class Device { cpu, cuda };
/// tf32: float32, whose products round their factors to 11 significant bits, on GPUs. int8: the encoder's linear layers in 8 bits
/// (Pretrained::quantize), the rest float32; for scoring on the CPU.
enum class Precision { float32, tf32, bfloat16, int8 };
template <>
inline constexpr Named<Device> names_of<Device>[] = {{"cpu", Device::cpu}, {"cuda", Device::cuda}};
template <>
inline constexpr Named<Precision> names_of<Precision>[] = {
    {"float32", Precision::float32}, {"tf32", Precision::tf32}, {"bfloat16", Precision::bfloat16}, {"int8", Precision::int8}};

struct Compute {
  Device device = Device::cpu;
  Precision precision = Precision::float32;
  std::vector<std::string> int8_skip{};  // QuantizeOptions::skip
};

/// What a model may need besides its file. Errors (usage), when a model is opened: it cannot use what is given.
struct ModelExtras {
  TextKnowledge knowledge{};       // of attention terms: Pretrained::provide()
  std::string love{};              // the file of a LOVE model: plug_in()
  LovePlugOptions love_options{};  // with `love`
  /// Word vectors, for a model that reads them. Called once such a model is opened.
  std::function<std::shared_ptr<const StaticVectors>()> vectors{};
};

/// f(T(), Dev()), with T = bfloat16 for that precision and else float, Dev = Cpu or, where lexformer::cuda is linked, Cuda.
/// Errors (usage): the device has no such precision. Errors: the build has no CUDA.
template <class F>
auto with_compute(const Compute& compute, F&& f) {
  if (compute.device == Device::cpu && compute.precision == Precision::tf32)
    fail_usage("precision", "tf32 is a precision of GPUs; on the device cpu use float32 or bfloat16");
  if (compute.device != Device::cpu && compute.precision == Precision::int8)
    fail_usage("precision", "int8 needs the device cpu; on ", name_of(compute.device), " use bfloat16");
  if (compute.precision != Precision::int8 && !compute.int8_skip.empty()) fail_usage("int8_skip", "needs the precision int8");
  const auto on = [&](auto device) { return compute.precision == Precision::bfloat16 ? f(bfloat16(), device) : f(float(), device); };
#if defined(LEXFORMER_WITH_CUDA)
  cuda::set_tf32(compute.precision == Precision::tf32);
  if (compute.device == Device::cuda) return on(Cuda());
#else  // no templates for the device: halves the compile time
  if (compute.device == Device::cuda)
    fail("device", "this build of lexformer has no CUDA; configure with -DLEXFORMER_CUDA=ON and build again, or use the device cpu");
#endif
  return on(Cpu());
}

/// Rounds the layers of a complete model to 8 bits, if that is the precision and the file has not.
template <class Model>
void apply_precision(Model& model, const Compute& compute) {
  if (compute.precision == Precision::int8 && !(model.quantized() && compute.int8_skip.empty()))
    model.quantize({.skip = compute.int8_skip});
}

namespace detail {

/// Makes an encoder's model as it is used: with LOVE, in 8 bits if that is the precision, with what its terms know.
template <class T, class Dev, template <class, class> class Model>
void complete(Model<T, Dev>& model, const std::string& path, const Compute& compute, const ModelExtras& extras) {
  if (extras.vectors) fail_usage("vectors", path, " has word embeddings of its own; they are for a model that reads word vectors");
  if (!model.calibrated())
    fail_file(path, "a value of an attention term that training measures is not set (LEA: `alpha` is 0); train the model");
  if (!extras.love.empty()) plug_in(model, Love<T, Dev>::load(extras.love), extras.love_options);
  apply_precision(model, compute);
  model.provide(extras.knowledge);
}

/// The vectors for a model of words. kind: what the model is, for messages.
inline std::shared_ptr<const StaticVectors> vectors_for(const std::string& path, const char* kind, const Compute& compute,
                                                        const ModelExtras& extras) {
  if (!extras.love.empty()) fail_usage("love", path, " reads word vectors, which an imputer can complete; love is for encoders");
  for (const auto& [name, given] :
       {std::pair("parses", extras.knowledge.trees != nullptr), {"wordnet", extras.knowledge.wordnet != nullptr}})
    if (given) fail_usage(name, path, " is ", kind, " over word vectors, which reads no knowledge");
  if (compute.precision == Precision::int8)
    fail_usage("precision", path, " is ", kind, " over word vectors, which has no linear layers in 8 bits; use float32 or bfloat16");
  if (!extras.vectors) fail_usage("vectors", "is missing; ", path, " is ", kind, " over word vectors");
  return extras.vectors();
}

}  // namespace detail
}  // namespace lexformer
