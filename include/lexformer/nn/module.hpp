// SPDX-License-Identifier: MIT
// A layer is a struct with its parameters, a const call operator for the forward pass, and a `visit` that names the parameters.
// Everything that needs names (saving, loading, the optimizer, counting, freezing) uses visit.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/autograd/var.hpp"

namespace lexformer {

/// Options of a forward pass. The default is inference: no dropout, no dependence on the seed.
struct ForwardOptions {
  bool training = false;
  std::uint64_t seed = 0;
  std::uint32_t step = 0;

  /// The dropout mask of one site: `site` is a fixed number given by the position in the model.
  DropoutMask dropout(double p, std::uint32_t site) const { return {training ? static_cast<float>(p) : 0.0f, {seed, step, site}}; }
};

/// Numbers the dropout sites of a model. Each layer with dropout takes the next number when it is constructed, so equal configs have
/// equal sites. Errors: the block of numbers is used up.
class DropoutSites {
 public:
  DropoutSites(std::uint32_t first, std::uint32_t count) : next_(first), end_(first + count) {}
  std::uint32_t next() {
    if (next_ == end_) fail("DropoutSites", "all sites below ", end_, " are in use; reserve a larger block");
    return next_++;
  }

 private:
  std::uint32_t next_, end_;
};

template <class T = float, class Dev = Cpu>
struct NamedParameter {
  std::string name;
  Var<T, Dev> var;
  bool buffer = false;  // saved with the model but never trained (LEA's alpha)
};

/// Collects the parameters of a module under dotted names, identical to HuggingFace's.
template <class T = float, class Dev = Cpu>
class ParameterVisitor {
 public:
  void operator()(const std::string& name, Var<T, Dev>& parameter) { found_.push_back({path(name), parameter, false}); }
  void buffer(const std::string& name, Var<T, Dev>& value) { found_.push_back({path(name), value, true}); }
  template <class Module>
  void operator()(const std::string& name, Module& module) {
    const std::string before = std::exchange(prefix_, path(name));
    module.visit(*this);
    prefix_ = before;
  }
  std::vector<NamedParameter<T, Dev>> take() { return std::move(found_); }

 private:
  std::string path(const std::string& name) const { return prefix_.empty() || name.empty() ? prefix_ + name : prefix_ + "." + name; }
  std::string prefix_;
  std::vector<NamedParameter<T, Dev>> found_;
};

/// All parameters and buffers of a module, in the order of its visit. The Vars share their values with the module: changes to one
/// affect the other.
template <class T = float, class Dev = Cpu, class Module>
std::vector<NamedParameter<T, Dev>> named_parameters(Module& module) {
  ParameterVisitor<T, Dev> visitor;
  module.visit(visitor);
  return visitor.take();
}

/// The parameters that an optimizer trains, without the buffers.
template <class T, class Dev>
std::vector<NamedParameter<T, Dev>> without_buffers(std::vector<NamedParameter<T, Dev>> all) {
  std::erase_if(all, [](const auto& p) { return p.buffer; });
  return all;
}

/// Total number of elements of all parameters, without buffers.
template <class T, class Dev>
std::size_t count(const std::vector<NamedParameter<T, Dev>>& parameters) {
  std::size_t total = 0;
  for (const auto& p : parameters) total += p.buffer ? 0 : p.var.size();
  return total;
}

}  // namespace lexformer
