// SPDX-License-Identifier: MIT
// Saving and loading of the models that have no BERT inside: models of words, and models over fixed word vectors.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "lexformer/core/device.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/io/tensor_check.hpp"
#include "lexformer/nn/module.hpp"

namespace lexformer {

/// Copies tensors of a file into the parameters of the same names. Errors: one is missing or has another shape.
template <class T, class Dev>
void load_parameters(std::vector<NamedParameter<T, Dev>>& parameters, const TensorFile& file, const std::string& where) {
  std::vector<ExpectedTensor> needed;
  for (const auto& p : parameters) needed.push_back({p.name, p.var.shape()});
  require_tensors(file, needed, where);
  for (auto& p : parameters) {
    Tensor<T, Dev>& value = p.var.mutable_value();
    if constexpr (std::is_same_v<Dev, Cpu>)
      file.copy_to(p.name, value.mutable_span());  // without a copy in between: a table of words may be half of a model
    else
      value.assign(file.template get<T>(p.name).span());
  }
}

/// The base of a model that is saved as one file. Model has
///   write_settings(ModelFile&)          writes all but the tensors
///   visit(v)                      its parameters
/// and a constructor from a ModelFile.
template <class Model, class T, class Dev>
class SavedModel {
 public:
  static Model load(const std::string& path) { return stored(ModelFile::open(path)); }
  /// Model(file). Settings of the file that the model refuses are errors of the file.
  static Model stored(const ModelFile& file) {
    return with_stored_settings(file.path, [&] { return Model(file); });
  }

  /// The parameters under their names in a file.
  std::vector<NamedParameter<T, Dev>> parameters() { return named_parameters<T, Dev>(self()); }

  /// The model in the form in which it is saved (docs/format.md).
  ModelFile file() {
    ModelFile out;
    self().write_settings(out);
    for (const auto& p : parameters()) out.tensors.set(p.name, p.var.value().template to<Cpu>());
    return out;
  }
  void save(const std::string& path) { file().save(path); }
  /// Copies all parameters from a saved model, but no options. Errors: one is missing or has another shape.
  void restore(const ModelFile& saved) {
    auto all = parameters();
    load_parameters(all, saved.tensors, saved.path);
  }

 protected:
  SavedModel() = default;
  /// restore(). Errors also: the file holds tensors that the model does not have.
  void restore_all(const ModelFile& saved) {
    restore(saved);
    std::vector<ExpectedTensor> all;
    for (const auto& p : parameters()) all.push_back({p.name, p.var.shape()});
    if (const auto others = compare_tensors(saved.tensors, all).unexpected; !others.empty())
      fail_file(saved.path, "holds tensors that its options do not use: ", others.front(), others.size() > 1 ? ", ..." : "");
  }

 private:
  Model& self() { return static_cast<Model&>(*this); }
};

}  // namespace lexformer
