// SPDX-License-Identifier: MIT
// A trained model as the programs open it: a cross-encoder, or a CNN over word vectors.
#pragma once

#include <lexformer/io/config.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/models/text_cnn.hpp>

#include "cli/knowledge.hpp"
#include "cli/love_plug_options.hpp"
#include "cli/static_vector_options.hpp"

namespace program {

/// What a model may need besides its file.
struct ModelFlags {
  KnowledgeOptions knowledge{};
  LovePlugFlags love{};
  StaticVectorFlags vectors{};

  void visit(OptionVisitor& v) {
    knowledge.visit(v);
    love.visit(v);
    vectors.visit(v, "for a model of train_text_cnn: ");
  }
  /// Errors (usage): an option of models over word vectors was given for another one.
  void refuse_vectors(const std::string& path) const {
    if (vectors.used()) lx::fail_usage("--vectors", path, " has word embeddings of its own; the option is for models of train_text_cnn");
  }
};

/// Makes the model of a file and calls body(model). changes: an option that changes the texts, or nullptr. Errors (usage): options of the
/// other kind of model.
template <class T, class Dev, class Body>
int with_trained_model(std::optional<lx::ModelFile> file, const ModelFlags& flags, const Compute& compute, const char* changes,
                       Body&& body) {
  const std::string path = file->path;
  if (lx::get_string(file->config, "model_type", path + ": config", "bert") == "text_cnn") {
    if (flags.love.used()) lx::fail_usage("--love", path, " reads word vectors; --imputer makes those of unknown words");
    if (flags.knowledge.used()) lx::fail_usage(flags.knowledge.used(), path, " is a CNN over word vectors, which reads no knowledge");
    if (compute.precision == Precision::int8)
      lx::fail_usage("--precision", path, " is a CNN over word vectors, which has no linear layers in 8 bits; use float32 or bfloat16");
    lx::TextCnn<T, Dev> model(*file);
    model.provide(flags.vectors.load());
    return body(model);
  }
  flags.refuse_vectors(path);
  lx::CrossEncoder<T, Dev> model(*file);
  file.reset();  // its bytes are of no more use
  flags.love.apply(model);
  compute.apply(model);
  model.provide(flags.knowledge.load(changes));
  return body(model);
}

}  // namespace program
