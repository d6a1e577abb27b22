// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <type_traits>
#include <vector>

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

}  // namespace lexformer
