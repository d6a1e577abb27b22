// SPDX-License-Identifier: MIT
// A plug changes the word embeddings of a model. It is saved with the model.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/features.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/nn/module.hpp"
#include "lexformer/text/tokenizer.hpp"

namespace lexformer {

/// Changes the rows of the word table that a batch reads, e.g. gives words of several pieces vectors of their own (words/love_plug.hpp).
template <class T = float, class Dev = Cpu>
struct EmbeddingPlug {
  EmbeddingPlug() = default;
  EmbeddingPlug(const EmbeddingPlug&) = delete;
  EmbeddingPlug& operator=(const EmbeddingPlug&) = delete;
  virtual ~EmbeddingPlug() = default;

  /// Its key in embedding_plugs(), and in the object `lexformer` of the config. Its parameters are called lexformer.encoder.NAME. ...
  virtual std::string name() const = 0;
  /// The numbers of an embedding, E.
  virtual std::size_t size() const = 0;
  /// rows (N, E) -> (N, E), before the sum with the other embeddings.
  virtual Var<T, Dev> operator()(const Var<T, Dev>& rows, const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward) const = 0;
  virtual void visit(ParameterVisitor<T, Dev>& v) = 0;
  /// The input of a batch that it reads.
  virtual FeatureMaker feature() const = 0;
  /// Changes the model's tokenizer, e.g. which words of several pieces are one token.
  virtual void adapt(Tokenizer& tokenizer) const = 0;
  /// Adds its description to a model's file: an object with the key `plug` at config["lexformer"][name()].
  virtual void write(ModelFile& file) = 0;
  /// Called after its parameters were changed from outside.
  virtual void reset() {}
};

/// Makes a plug from the description in a model's file, without its parameters.
template <class T, class Dev>
using PlugReader = std::function<std::shared_ptr<EmbeddingPlug<T, Dev>>(const ModelFile& file, const Tokenizer& tokenizer)>;

/// The plugs that models of these types may have, by name. A header that brings a plug adds it.
template <class T, class Dev>
std::map<std::string, PlugReader<T, Dev>>& embedding_plugs() {
  static std::map<std::string, PlugReader<T, Dev>> all;
  return all;
}

namespace detail {
/// The name of the plug that a file describes, "" for none.
std::string plug_name(const ModelFile& file);
}  // namespace detail

/// The plug of a file; null if it has none. Errors (file): it is not in embedding_plugs().
template <class T, class Dev>
std::shared_ptr<EmbeddingPlug<T, Dev>> read_plug(const ModelFile& file, const Tokenizer& tokenizer) {
  const std::string name = detail::plug_name(file);
  if (name.empty()) return nullptr;
  const auto found = embedding_plugs<T, Dev>().find(name);
  if (found == embedding_plugs<T, Dev>().end())
    fail_file(file.path, "has ", in_quotes(name), " plugged in, which this program does not know; include the header that brings it ",
              "(lexformer/words/love_plug.hpp: 'love')");
  return found->second(file, tokenizer);
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/json.hpp"

namespace lexformer::detail {

LEXFORMER_INLINE std::string plug_name(const ModelFile& file) {
  const Json& config = file.config;
  const auto ours = config.find("lexformer");
  if (ours == config.end() || !ours->is_object()) return "";
  for (const auto& [name, value] : ours->items())
    if (value.is_object() && value.contains("plug")) return name;
  return "";
}

}  // namespace lexformer::detail
#endif
