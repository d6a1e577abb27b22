// SPDX-License-Identifier: MIT
// One description of options for files, messages and the command line: an options struct has `visit(OptionVisitor&)`, which names each
// option with its range and help text. File readers and writers (io/options.hpp) and program options are derived from it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lexformer/core/names.hpp"

namespace lexformer {

/// Visits options by name. Names are lower case with underscores; on a command line `-` stands for `_`.
class OptionVisitor {
 public:
  OptionVisitor() = default;
  OptionVisitor(const OptionVisitor&) = delete;
  OptionVisitor& operator=(const OptionVisitor&) = delete;
  virtual ~OptionVisitor() = default;

  virtual void flag(const char* name, bool& value, const char* help) = 0;
  /// An integer in min .. max.
  virtual void size(const char* name, std::size_t& value, std::size_t min, std::size_t max, const char* help) = 0;
  /// A real number in [min, max].
  virtual void number(const char* name, double& value, double min, double max, const char* help) = 0;
  virtual void text(const char* name, std::string& value, const char* help) = 0;
  /// Numbers counted on the training data: a total, and the counts of words. Saved with a model; not an option of a program.
  virtual void counts(const char* name, std::size_t& total, std::map<std::string, std::size_t>& words) = 0;
  /// A range of layers, first .. last - 1, as "first_layer" and "last_layer". Both 0 = the reader's default.
  virtual void layers(std::size_t& first, std::size_t& last, const char* help) = 0;
  /// An enum value, by name (core/names.hpp).
  template <class E>
  void choice(const char* name, E& value, const char* help) {
    const auto set = [](void* target, std::size_t i) { *static_cast<E*>(target) = names_of<E>[i].value; };
    choice_of(name, name_of(value), all_names<E>(), {&value, set}, help);
  }

 protected:
  /// Sets a value by its index in the list of names. Not std::function, which is slow to compile for each enum.
  struct Select {
    void* value;
    void (*set)(void* value, std::size_t i);
    void operator()(std::size_t i) const { set(value, i); }
  };
  /// `select(i)` selects names[i].
  virtual void choice_of(const char* name, const std::string& current, const std::vector<std::string>& names, Select select,
                         const char* help) = 0;
};

/// A type-erased call of `visit` on an options struct.
using VisitOptions = std::function<void(OptionVisitor&)>;

}  // namespace lexformer
