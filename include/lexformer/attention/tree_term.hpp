// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "lexformer/attention/term_factory.hpp"
#include "lexformer/knowledge/dependency_features.hpp"
#include "lexformer/knowledge/knowledge.hpp"

namespace lexformer {

/// The base of factories whose features are computed from dependency trees.
template <class T = float, class Dev = Cpu>
class TreeTermFactory : public TermFactory<T, Dev> {
 public:
  void provide(const TextKnowledge& knowledge) override {
    if (knowledge.trees != nullptr) trees_ = knowledge.trees;
  }
  void check_texts(std::span<const std::string> texts, const std::string& where) const override { require_trees(texts, *trees(), where); }

 protected:
  /// name: of the attention term, for messages.
  explicit TreeTermFactory(std::string name) : name_(std::move(name)) {}

  /// The trees. Errors (usage): none were given.
  const std::shared_ptr<const DependencyTable>& trees() const {
    if (trees_ == nullptr)
      fail_usage(name_,
                 "the model reads dependency trees: give them with `parses` FILE.conllu (in C++: provide({.trees = read_conllu(...)}))");
    return trees_;
  }

 private:
  std::string name_;
  std::shared_ptr<const DependencyTable> trees_;
};

}  // namespace lexformer
